package xmltools

import (
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/tools"
)

// scanner separates calls from text in an answer that arrives in pieces of any size:
// the same answer gives the same calls and text, however it is split. It buffers calls
// and possible beginnings of tags.
type scanner struct {
	out   *answer
	tools map[string]chat.Tool
	state state

	opening opening // with starting
	quoting quoting
	held    string // with tagging, opened, calling and closing: the tag so far, and the space after it
	skip    bool   // skip white space after a call

	// In state calling.
	name   string // in the tag
	end    string // the closing tag
	body   []byte
	object chat.ObjectScanner
	text   jsonText
}

// state is the state of a scanner.
type state int

const (
	starting state = iota // the answer may be code blocks of calls
	passing               // text
	tagging               // in a possible tag
	opened                // between a tag and its object
	calling               // in the object
	closing               // after the object, before the closing tag
)

// maxRescans limits how many calls at the end of an answer are closed within a string,
// as when a quotation mark is missing.
const maxRescans = 64

const functionTag = "<function="

func newScanner(list []chat.Tool, out *answer) *scanner {
	s := &scanner{out: out, tools: map[string]chat.Tool{}}
	for _, t := range list {
		s.tools[t.Name] = t
	}
	return s
}

// write scans the next piece of the answer.
func (s *scanner) write(text string) {
	for text != "" {
		text = s.step(text)
	}
}

// step scans part of text and returns the rest.
func (s *scanner) step(text string) string {
	switch s.state {
	case starting:
		return s.start(text)
	case tagging:
		return s.tag(text)
	case opened:
		return s.gap(text)
	case calling:
		return s.call(text)
	case closing:
		return s.after(text)
	default:
		return s.plain(text)
	}
}

// start scans while the answer may be calls in code blocks.
func (s *scanner) start(text string) string {
	for i := range len(text) {
		if !s.opening.step(text[i:i+1], s.known) {
			s.state = passing
			return string(s.opening.seen) + text[i:]
		}
	}
	return ""
}

func (s *scanner) known(c chat.Call) bool { return s.tools[c.Name].Name != "" }

// plain passes text up to a possible tag.
func (s *scanner) plain(text string) string {
	if s.skip {
		text = strings.TrimLeft(text, " \t\r\n")
		s.skip = text == ""
	}
	at := strings.IndexByte(text, '<')
	if at < 0 {
		s.release(text)
		return ""
	}
	s.release(text[:at])
	if s.quoting.quoted() {
		s.release("<")
	} else {
		s.state, s.held = tagging, "<"
	}
	return text[at+1:]
}

// release passes text that is not part of a call.
func (s *scanner) release(text string) {
	s.quoting.pass(text)
	s.out.text(text)
	s.state, s.held = passing, ""
}

// tag scans while held is the beginning of a tag.
func (s *scanner) tag(text string) string {
	longer := s.held + text[:1]
	name, isFunction := strings.CutPrefix(longer, functionTag)
	switch {
	case longer == callTag:
		s.state, s.name, s.end = opened, "", callEnd
	case isFunction && text[0] == '>' && name != ">":
		s.state, s.name, s.end = opened, strings.TrimSuffix(name, ">"), "</function>"
	case isFunction && (name == "" || tools.ValidName(name)):
	case strings.HasPrefix(callTag, longer), strings.HasPrefix(functionTag, longer):
	default:
		s.release(s.held)
		return text
	}
	s.held = longer
	return text[1:]
}

// gap skips the space between a tag and its object. A tag without an object is text.
func (s *scanner) gap(text string) string {
	switch {
	case text[0] == '{':
		s.open()
		return text
	case isSpace(text[0]) && len(s.held) < MaxSpace:
		s.held += text[:1]
		return text[1:]
	}
	s.release(s.held)
	return text
}

// open begins an object.
func (s *scanner) open() {
	s.state, s.body, s.object, s.text = calling, nil, chat.ObjectScanner{}, jsonText{}
}

// call scans to the end of the object, or to a closing tag within it but outside of a
// string, which valid JSON cannot have.
func (s *scanner) call(text string) string {
	from := len(s.body)
	piece := text[:min(len(text), MaxCall-from)]
	if end := s.object.Write(piece); end >= 0 {
		piece = piece[:end]
	}
	rest := text[len(piece):]
	s.body = append(s.body, piece...)
	if s.text.bracket(piece, from) {
		searched := max(s.text.at, from-len(s.end))
		if at := strings.Index(string(s.body[searched:]), s.end); at >= 0 {
			return s.closeAt(searched+at) + rest
		}
	}
	switch {
	case s.object.Done():
		s.endCall(true)
	case len(s.body) == MaxCall:
		s.release(s.held + string(s.body))
	}
	return rest
}

// closeAt ends the call at the closing tag in the body, and returns what follows the
// tag.
func (s *scanner) closeAt(at int) string {
	rest := string(s.body[at+len(s.end):])
	s.body = s.body[:at]
	if s.endCall(true) {
		s.state, s.skip = passing, true
	} else {
		s.release(s.end)
	}
	return rest
}

// endCall yields the call, or its text if it cannot be parsed. complete means that no
// part of the call is missing.
func (s *scanner) endCall(complete bool) (ok bool) {
	c, ok := readCall(s.name, string(s.body))
	if !ok {
		s.release(s.held + string(s.body))
		return false
	}
	s.yield(c, complete)
	s.state, s.held = closing, ""
	s.quoting.newLine()
	return true
}

func (s *scanner) yield(c chat.Call, complete bool) {
	c.Namespace = s.tools[c.Name].Namespace
	s.out.call(c, complete)
}

// after skips the closing tag, which may be missing. Another object is another call.
func (s *scanner) after(text string) string {
	longer := s.held + text[:1]
	switch {
	case longer == s.end:
		s.state, s.held, s.skip = passing, "", true
		return text[1:]
	case strings.HasPrefix(s.end, longer):
		s.held = longer
		return text[1:]
	case s.held == "" && isSpace(text[0]):
		return text[1:]
	case longer == "{" && s.end == callEnd:
		s.open()
		return text
	}
	text = s.held + text
	s.state, s.held = passing, ""
	return text
}

// close ends the answer. cut means that the model could not finish it: then an
// unfinished call gets no end.
func (s *scanner) close(cut bool) {
	for range maxRescans {
		at := strings.Index(string(s.body), s.end)
		if s.state != calling || at < 0 {
			break
		}
		s.write(s.closeAt(at)) // the string is not terminated
	}
	switch s.state {
	case starting:
		s.block()
	case tagging, opened:
		s.release(s.held)
	case calling:
		s.endCall(!cut)
	}
}

// block yields the calls of an answer that consists of code blocks of calls.
func (s *scanner) block() {
	if !s.opening.complete() {
		s.release(string(s.opening.seen))
		return
	}
	for _, c := range s.opening.calls {
		s.yield(c, true)
	}
}

// abandon ends an answer that failed: held text that is not yet a call becomes text,
// and the beginning of a call is dropped.
func (s *scanner) abandon() {
	switch s.state {
	case starting:
		s.release(string(s.opening.seen))
	case tagging, opened:
		s.release(s.held)
	}
}
