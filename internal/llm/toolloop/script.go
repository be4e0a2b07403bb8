package toolloop

import (
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// script records an answer as the parts of a message.
type script struct {
	parts []chat.Part
	kind  chat.PartKind // of the part being written, "" between parts
	text  strings.Builder
	bytes int // total
}

// write appends a piece of text, thinking or refusal.
func (s *script) write(kind chat.PartKind, text string) {
	if text == "" {
		return
	}
	if s.kind != kind {
		s.close()
		s.kind = kind
	}
	s.bytes += len(text)
	s.text.WriteString(text)
}

// add appends a whole part; a whole part of thinking replaces what was streamed.
func (s *script) add(p chat.Part) {
	if p.Kind == chat.PartThinking && s.kind == chat.PartThinking {
		s.drop()
	}
	s.close()
	s.bytes += len(p.Text) + len(p.Raw)
	if p.Call != nil {
		s.bytes += len(p.Call.ID) + len(p.Call.Name)
	}
	s.parts = append(s.parts, p)
}

// close ends the part being written.
func (s *script) close() {
	if s.kind != "" {
		s.parts = append(s.parts, chat.Part{Kind: s.kind, Text: s.text.String()})
	}
	s.drop()
}

func (s *script) drop() {
	s.kind = ""
	s.text.Reset()
}
