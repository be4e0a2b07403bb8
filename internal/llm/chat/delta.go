package chat

import (
	"context"
	"encoding/json"
	"iter"
)

// Provider answers requests.
type Provider interface {
	// Form is the API that the provider speaks: Raw of that form is sent to it
	// unchanged.
	Form() Form
	// Chat sends the request and yields the answer as it arrives. The stream ends after
	// a [DeltaFinish], or with an [*Error] in the last pair. A consumer that stops
	// early, or ends ctx, ends the request. Requests are retried only until something
	// has been yielded.
	Chat(ctx context.Context, r *Request) iter.Seq2[Delta, error]
}

// DeltaKind is the kind of a [Delta].
type DeltaKind int

// The kinds of deltas. A provider yields one DeltaStart, then any of the others, and
// one DeltaFinish at the end. DeltaUsage may come at any time; the last one counts.
const (
	DeltaStart     DeltaKind = iota + 1
	DeltaText                // Text
	DeltaThinking            // Text
	DeltaRefusal             // Text
	DeltaCall                // Index, Call: a call begins; its arguments follow
	DeltaArguments           // Index, Text: more of the arguments
	DeltaCallEnd             // Index: the arguments are complete
	// DeltaPart is a part that has ended, as the history must have it: thinking with
	// its signature, and other parts of the provider. Text and calls are not repeated.
	DeltaPart
	DeltaUsage
	DeltaFinish // Reason
	// DeltaRound begins the model's next answer, after results of tools. Providers do
	// not yield it.
	DeltaRound
)

// Delta is a piece of an answer.
type Delta struct {
	Kind   DeltaKind
	Text   string
	Index  int   // of the call in the answer, from 0 in order of arrival
	Call   *Call // with DeltaCall: ID, Name and Namespace
	Part   *Part
	Usage  Usage
	Reason Reason
	// Raw is what the provider sent, in Form, if an encoder of that form can use more
	// of it: log probabilities, annotations. It may be nil.
	Raw  json.RawMessage
	Form Form
}

// Reason is why an answer ended.
type Reason string

// The reasons.
const (
	ReasonStop   Reason = "stop"
	ReasonCalls  Reason = "calls"  // of tools
	ReasonLength Reason = "length" // max_tokens or the context window
	ReasonFilter Reason = "filter" // the provider withholds the rest, or the model refuses
	ReasonPause  Reason = "pause"  // a tool of the provider takes long: send the request again
)

// Usage is the number of tokens of an answer.
type Usage struct {
	Input      int64 // the whole request, cached or not
	Output     int64 // the whole answer, including Reasoning
	CacheRead  int64 // of Input
	CacheWrite int64 // of Input
	Reasoning  int64 // of Output
}

// Plus returns the sum.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead,
		u.CacheWrite + v.CacheWrite, u.Reasoning + v.Reasoning,
	}
}

// Encoder writes an answer to a client as server-sent events. Every method
// writes whole events; an error is the writer's.
type Encoder interface {
	Write(Delta) error
	// Event writes an event that the API does not define, in a way that clients ignore if they do not know
	// it.
	Event(name string, data json.RawMessage) error
	// Fail ends the stream with an error.
	Fail(*Error) error
	// Close ends the stream.
	Close() error
}
