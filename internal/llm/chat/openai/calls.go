package openai

import (
	"crypto/rand"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
)

// calls tracks the calls of one answer. Each begins with a DeltaCall as soon as its
// name is known, and ends with a DeltaCallEnd as soon as its arguments are a whole
// object, or at the end of the answer.
type calls struct {
	all   []*call
	begun int // calls with a DeltaCall
}

type call struct {
	wire  int // the provider's index; -1 if it sent none
	index int // ours
	id    string
	named string
	begun bool
	ended bool

	object chat.ObjectScanner
	// held are arguments not passed on yet: before the name is known, and while the
	// object is empty, as some servers send {} first.
	held strings.Builder
}

// add handles a piece of a call. It returns a message if the answer exceeds a limit, or "".
func (s *calls) add(w *wireCall, emit func(chat.Delta)) (exceeded string) {
	if *w == (wireCall{}) {
		return ""
	}
	c := s.find(w)
	if c == nil {
		if len(s.all) == upstream.MaxCalls {
			return upstream.CallsExceeded
		}
		s.nextBegins(emit)
		c = s.open(w)
	}
	if c.named == "" {
		c.named = w.Function.Name
	}
	s.begin(c, emit)
	c.take(string(w.Function.Arguments), emit)
	if c.held.Len() > upstream.MaxArgumentBytes {
		return upstream.ArgumentsExceeded
	}
	return ""
}

// find returns the call that a piece continues; nil if it begins one.
func (s *calls) find(w *wireCall) *call {
	for i := len(s.all) - 1; i >= 0; i-- {
		c := s.all[i]
		here := w.Index != nil && c.wire == *w.Index
		if w.Index == nil {
			here = w.ID == "" || w.ID == c.id
		}
		if !here {
			continue
		}
		if c.continuedBy(w) {
			return c
		}
		return nil
	}
	// Some servers number the pieces of a call other than its beginning.
	if last := len(s.all) - 1; last >= 0 && w.ID == "" && w.Function.Name == "" && !s.all[last].object.Done() {
		return s.all[last]
	}
	return nil
}

// continuedBy reports whether a piece continues the call, rather than beginning another
// one at the same index. A piece without a name always does. One with a name does if it
// repeats the call's: some servers repeat it in every piece.
func (c *call) continuedBy(w *wireCall) bool {
	name := w.Function.Name
	switch {
	case name == "" || c.named == "":
		return true
	case w.ID != "":
		return w.ID == c.id && name == c.named
	}
	return name == c.named && !c.object.Done()
}

// nextBegins ends calls whose arguments are whole: an object that was empty so far is
// empty. Others stay open, because calls may be interleaved.
func (s *calls) nextBegins(emit func(chat.Delta)) {
	for _, c := range s.all {
		if c.begun && c.object.Done() {
			c.end(emit)
		}
	}
}

func (s *calls) open(w *wireCall) *call {
	c := &call{wire: -1, id: w.ID}
	if w.Index != nil {
		c.wire = *w.Index
	}
	for _, other := range s.all {
		if other.id == c.id {
			c.id = ""
		}
	}
	if c.id == "" {
		c.id = "call_" + strings.ToLower(rand.Text())
	}
	s.all = append(s.all, c)
	return c
}

func (s *calls) begin(c *call, emit func(chat.Delta)) {
	if c.begun || c.named == "" {
		return
	}
	c.begun = true
	c.index = s.begun
	s.begun++
	emit(chat.Delta{Kind: chat.DeltaCall, Index: c.index, Call: &chat.Call{ID: c.id, Name: c.named}})
}

// take handles a piece of the arguments. What follows the object is dropped.
func (c *call) take(piece string, emit func(chat.Delta)) {
	if c.ended || piece == "" {
		return
	}
	if c.object.Done() {
		if !c.object.Empty() || !strings.HasPrefix(strings.TrimSpace(piece), "{") {
			return
		}
		c.object = chat.ObjectScanner{}
		c.held.Reset()
	}
	if end := c.object.Write(piece); end >= 0 {
		piece = piece[:end]
	}
	if c.object.Empty() {
		piece = strings.TrimSpace(piece) // models can append white space for a long time
	}
	c.held.WriteString(piece)
	if !c.begun || c.object.Empty() {
		return
	}
	c.pass(emit)
	if c.object.Done() {
		c.end(emit)
	}
}

func (c *call) pass(emit func(chat.Delta)) {
	if c.held.Len() > 0 {
		emit(chat.Delta{Kind: chat.DeltaArguments, Index: c.index, Text: c.held.String()})
		c.held.Reset()
	}
}

// end ends the call, once. Missing arguments become an empty object.
func (c *call) end(emit func(chat.Delta)) {
	if c.ended {
		return
	}
	c.ended = true
	if c.object.Empty() && blank(c.held.String()) {
		c.held.Reset()
		c.held.WriteString("{}")
	}
	c.pass(emit)
	emit(chat.Delta{Kind: chat.DeltaCallEnd, Index: c.index})
}

func blank(arguments string) bool {
	t := strings.TrimSpace(arguments)
	return t == "" || t == "null"
}

// end ends all calls; false means that one has no name.
func (s *calls) end(emit func(chat.Delta)) bool {
	for _, c := range s.all {
		if !c.begun {
			return false
		}
		c.end(emit)
	}
	return true
}
