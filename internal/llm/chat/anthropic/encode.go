package anthropic

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
	"github.com/spiced-sql/spiced/tools"
)

// EncoderOptions are fields of the answer.
type EncoderOptions struct {
	ID    string // msg_…
	Model string // as named by the client
}

// encoder writes server-sent events. Clients expect blocks one after another, so deltas
// of any block but the first open one wait.
type encoder struct {
	out     *wire.Events
	o       EncoderOptions
	started bool
	ended   bool // by Fail or Close
	index   int  // of the first queued block
	line    []*sending
	calls   map[int]*sending
	usage   chat.Usage
	finish  chat.Delta
}

// sending is a block that is being sent, or waits.
type sending struct {
	kind    string
	start   json.RawMessage   // content_block_start
	waiting []json.RawMessage // deltas not sent yet
	began   bool
	ended   bool
}

// NewEncoder returns an encoder for the stream of an answer. It does not flush w; every
// method calls Write at most once.
//
// [chat.Encoder.Event] writes events named spiced.<name> with the data
// {"type":"spiced.<name>","data":…}. Anthropic's clients ignore unknown names and
// types.
func NewEncoder(w io.Writer, o EncoderOptions) chat.Encoder {
	return &encoder{out: wire.NewEvents(w), o: o, calls: map[int]*sending{}}
}

// Write writes a delta. The message begins with the first delta that has content, so
// that message_start can have the usage.
func (e *encoder) Write(d chat.Delta) error {
	if e.ended {
		return nil
	}
	switch d.Kind {
	case chat.DeltaStart:
		return nil
	case chat.DeltaUsage:
		e.usage = d.Usage
	}
	if err := errors.Join(e.start(), e.delta(d), e.drain()); err != nil {
		return err
	}
	return e.out.Flush()
}

func (e *encoder) delta(d chat.Delta) error {
	switch d.Kind {
	case chat.DeltaText, chat.DeltaRefusal:
		return e.text(d)
	case chat.DeltaThinking:
		return e.prose("thinking", deltaForm{Type: "thinking_delta", Thinking: &d.Text})
	case chat.DeltaCall:
		return e.call(d)
	case chat.DeltaArguments:
		if b := e.calls[d.Index]; b != nil && d.Text != "" {
			return b.add(deltaForm{Type: "input_json_delta", JSON: &d.Text})
		}
	case chat.DeltaCallEnd:
		if b := e.calls[d.Index]; b != nil {
			b.ended = true
		}
	case chat.DeltaPart:
		return e.part(*d.Part)
	case chat.DeltaRound:
		e.endAll()
	case chat.DeltaFinish:
		e.endAll()
		e.finish = d
	}
	return nil
}

// deltaForm is the delta of a content_block_delta.
type deltaForm struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature *string         `json:"signature,omitempty"`
	JSON      *string         `json:"partial_json,omitempty"`
	Citation  json.RawMessage `json:"citation,omitempty"`
}

func (b *sending) add(d deltaForm) error {
	raw, err := tools.Encode(d)
	b.waiting = append(b.waiting, raw)
	return err
}

// text appends to the text block, or ends it where the provider's own block ended.
func (e *encoder) text(d chat.Delta) error {
	if d.Text != "" {
		if err := e.prose("text", deltaForm{Type: "text_delta", Text: &d.Text}); err != nil {
			return err
		}
	}
	if d.Raw == nil || d.Form != chat.FormAnthropic {
		return nil
	}
	for _, citation := range textBorder(d.Raw).citations {
		if err := e.prose("text", deltaForm{Type: "citations_delta", Citation: citation}); err != nil {
			return err
		}
	}
	e.endProse()
	return nil
}

// border is the end of a provider's text block.
type border struct {
	text      string
	citations []json.RawMessage
}

func textBorder(raw json.RawMessage) (b border) {
	var form block
	if json.Unmarshal(raw, &form) == nil && form.Type == "text" && json.Unmarshal(form.Citations, &b.citations) == nil {
		b.text = value(form.Text)
	}
	return b
}

// prose appends to the last block if it is of that kind, text or thinking, else begins
// one.
func (e *encoder) prose(kind string, d deltaForm) error {
	if n := len(e.line); n > 0 && e.line[n-1].kind == kind && !e.line[n-1].ended {
		return e.line[n-1].add(d)
	}
	empty := ""
	form := block{Type: kind, Text: &empty}
	if kind == "thinking" {
		form = block{Type: kind, Thinking: &empty, Signature: &empty}
	}
	b, err := e.push(kind, form)
	if err != nil {
		return err
	}
	return b.add(d)
}

// push queues a block. Text and thinking before it have ended.
func (e *encoder) push(kind string, form any) (*sending, error) {
	e.endProse()
	raw, err := tools.Encode(form)
	b := &sending{kind: kind, start: raw}
	e.line = append(e.line, b)
	return b, err
}

func (e *encoder) endProse() {
	if n := len(e.line); n > 0 && e.line[n-1].kind != "tool_use" {
		e.line[n-1].ended = true
	}
}

func (e *encoder) endAll() {
	for _, b := range e.line {
		b.ended = true
	}
	clear(e.calls)
}

func (e *encoder) call(d chat.Delta) error {
	b, err := e.push("tool_use", block{Type: "tool_use", ID: d.Call.ID, Name: d.Call.Name, Input: json.RawMessage("{}")})
	e.calls[d.Index] = b
	return err
}

// part writes a part that has ended: the signature of streamed thinking, or a whole
// block of the provider. Parts of other APIs have no block.
func (e *encoder) part(p chat.Part) error {
	if p.Raw == nil || p.Form != chat.FormAnthropic {
		e.endProse()
		return nil
	}
	var form block
	if p.Kind != chat.PartThinking || json.Unmarshal(p.Raw, &form) != nil || form.Type != "thinking" {
		b, err := e.push("whole", p.Raw)
		b.ended = true
		return err
	}
	n := len(e.line)
	if streamed := n > 0 && e.line[n-1].kind == "thinking" && !e.line[n-1].ended; !streamed {
		if err := e.prose("thinking", deltaForm{Type: "thinking_delta", Thinking: form.Thinking}); err != nil {
			return err
		}
	}
	err := e.prose("thinking", deltaForm{Type: "signature_delta", Signature: form.Signature})
	e.endProse()
	return err
}

// drain sends what the first queued block has, and continues with the next one while
// blocks have ended.
func (e *encoder) drain() error {
	for len(e.line) > 0 {
		b := e.line[0]
		if !b.began {
			b.began = true
			if err := e.out.Add("content_block_start", startForm{"content_block_start", e.index, b.start}); err != nil {
				return err
			}
		}
		for _, d := range b.waiting {
			if err := e.out.Add("content_block_delta", pieceForm{"content_block_delta", e.index, d}); err != nil {
				return err
			}
		}
		b.waiting = b.waiting[:0]
		if !b.ended {
			return nil
		}
		if err := e.out.Add("content_block_stop", stopForm{"content_block_stop", e.index}); err != nil {
			return err
		}
		e.line = e.line[1:]
		e.index++
	}
	return nil
}
