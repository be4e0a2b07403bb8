package chat

import "iter"

// Response is a whole answer.
type Response struct {
	Parts  []Part
	Reason Reason
	Usage  Usage
	// Raw are the deltas' Raw, in order, for the door of that form.
	Raw []Delta
}

// Message is the answer as a message of the chat.
func (r *Response) Message() Message { return Message{Role: RoleAssistant, Parts: r.Parts} }

// Collect reads a stream to its end. An error leaves what came before it in
// the response.
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

// Collector makes a [Response] of deltas. The zero value is ready to use.
type Collector struct {
	response Response
	calls    map[int]*Call // of this answer, by index
	round    bool          // the next text belongs to another answer
}

// Add takes the next delta.
func (c *Collector) Add(d Delta) {
	if d.Raw != nil {
		c.response.Raw = append(c.response.Raw, d)
	}
	switch d.Kind {
	case DeltaText:
		c.text(PartText, d.Text)
	case DeltaThinking:
		c.text(PartThinking, d.Text)
	case DeltaRefusal:
		c.text(PartRefusal, d.Text)
	case DeltaCall:
		call := *d.Call
		if c.calls == nil {
			c.calls = map[int]*Call{}
		}
		c.calls[d.Index] = &call
		c.response.Parts = append(c.response.Parts, Part{Kind: PartCall, Call: &call})
	case DeltaArguments:
		if call := c.calls[d.Index]; call != nil {
			call.Arguments += d.Text
		}
	case DeltaPart:
		c.part(*d.Part)
	case DeltaUsage:
		c.response.Usage = d.Usage
	case DeltaFinish:
		c.response.Reason = d.Reason
	case DeltaRound:
		c.calls, c.round = nil, true
	}
}

// text adds to the part of that kind that is being written, or begins one.
func (c *Collector) text(kind PartKind, text string) {
	last := len(c.response.Parts) - 1
	if last < 0 || c.round || c.response.Parts[last].Kind != kind || c.response.Parts[last].Raw != nil {
		c.response.Parts = append(c.response.Parts, Part{Kind: kind})
		last++
	}
	c.round = false
	c.response.Parts[last].Text += text
}

// part takes a part that has ended; of thinking it replaces what was streamed.
func (c *Collector) part(p Part) {
	last := len(c.response.Parts) - 1
	if p.Kind == PartThinking && last >= 0 && !c.round && c.response.Parts[last].Kind == PartThinking && c.response.Parts[last].Raw == nil {
		c.response.Parts[last] = p
		return
	}
	c.round = false
	c.response.Parts = append(c.response.Parts, p)
}

// Response is what was collected.
func (c *Collector) Response() *Response { return &c.response }
