package chat

import (
	"iter"
	"strings"
)

// Response is a whole answer.
type Response struct {
	Parts  []Part
	Reason Reason
	Usage  Usage
	// Raw are the Raw of the deltas, in order, for an encoder of that form.
	Raw []Delta
}

// Message returns the answer as a message of the chat.
func (r *Response) Message() Message { return Message{Role: RoleAssistant, Parts: r.Parts} }

// Collect reads a stream to its end. On an error, the response has what came before.
func Collect(stream iter.Seq2[Delta, error]) (*Response, error) {
	var c Collector
	for d, err := range stream {
		if err != nil {
			return c.Response(), err
		}
		c.Add(d)
	}
	return c.Response(), nil
}

// Collector builds a [Response] from deltas. The zero value is ready to use.
type Collector struct {
	response Response
	text     growing          // of the last part, while it grows
	calls    map[int]*growing // arguments of this answer's calls, by index
	round    bool             // the next text belongs to another answer
}

// growing is a text that arrives in pieces, and its destination.
type growing struct {
	text strings.Builder
	into func(string)
}

// Add adds the next delta.
func (c *Collector) Add(d Delta) {
	if d.Raw != nil {
		c.response.Raw = append(c.response.Raw, d)
	}
	switch d.Kind {
	case DeltaText:
		c.write(PartText, d.Text)
	case DeltaThinking:
		c.write(PartThinking, d.Text)
	case DeltaRefusal:
		c.write(PartRefusal, d.Text)
	case DeltaCall:
		c.call(d)
	case DeltaArguments:
		if g := c.calls[d.Index]; g != nil {
			g.text.WriteString(d.Text)
		}
	case DeltaPart:
		c.part(*d.Part)
	case DeltaUsage:
		c.response.Usage = d.Usage
	case DeltaFinish:
		c.response.Reason = d.Reason
	case DeltaRound:
		c.flush()
		c.calls, c.round = nil, true
	}
}

// write appends to the current part if it has that kind, else begins one.
func (c *Collector) write(kind PartKind, text string) {
	last := len(c.response.Parts) - 1
	if c.text.into == nil || c.round || c.response.Parts[last].Kind != kind {
		c.append(Part{Kind: kind})
		last++
		c.text.into = func(s string) { c.response.Parts[last].Text = s }
	}
	c.text.text.WriteString(text)
}

// append ends the current text and appends another part.
func (c *Collector) append(p Part) {
	c.text.flush()
	c.text = growing{}
	c.round = false
	c.response.Parts = append(c.response.Parts, p)
}

func (c *Collector) call(d Delta) {
	call := *d.Call
	if c.calls == nil {
		c.calls = map[int]*growing{}
	}
	c.append(Part{Kind: PartCall, Call: &call})
	g := &growing{into: func(s string) { call.Arguments = s }}
	g.text.WriteString(call.Arguments)
	c.calls[d.Index] = g
}

// part appends a part that has ended; a part of thinking replaces what was streamed.
func (c *Collector) part(p Part) {
	last := len(c.response.Parts) - 1
	if p.Kind == PartThinking && c.text.into != nil && !c.round && c.response.Parts[last].Kind == PartThinking {
		c.response.Parts[last], c.text = p, growing{}
		return
	}
	c.append(p)
}

// flush stores the text received so far. More may follow.
func (g *growing) flush() {
	if g.into != nil {
		g.into(g.text.String())
	}
}

func (c *Collector) flush() {
	c.text.flush()
	for _, g := range c.calls {
		g.flush()
	}
}

// Response returns what was collected so far.
func (c *Collector) Response() *Response {
	c.flush()
	return &c.response
}
