package chat

import (
	"context"
	"encoding/json"
	"iter"
)

// Provider answers requests.
type Provider interface {
	// Form is what it speaks: Raw of that form reaches it unchanged.
	Form() Form
	// Chat sends the request and yields the answer as it arrives. The stream
	// ends after a [DeltaFinish], or with an error, which is an [*Error] and
	// the last pair. Whoever stops early, or ends ctx, ends the request.
	// Requests are sent again only while nothing has been yielded.
	Chat(ctx context.Context, r *Request) iter.Seq2[Delta, error]
}

// DeltaKind says what a [Delta] tells.
type DeltaKind int

// The kinds of deltas. A provider yields one DeltaStart, then any of the
// others, one DeltaFinish at the end; DeltaUsage may come at any time, the
// last one counts.
const (
	DeltaStart     DeltaKind = iota + 1
	DeltaText                // Text
	DeltaThinking            // Text
	DeltaRefusal             // Text
	DeltaCall                // Index, Call: a call begins; its arguments follow
	DeltaArguments           // Index, Text: more of the arguments
	DeltaCallEnd             // Index: the arguments are complete
	// DeltaPart is a part that has ended, as it must stand in the history:
	// thinking with its signature, and what a provider yields besides. Text
	// and calls are not repeated.
	DeltaPart
	DeltaUsage
	DeltaFinish // Reason
	// DeltaRound says that what follows is the model's next answer, after
	// results of tools. Providers do not yield it.
	DeltaRound
)

// Delta is a piece of an answer.
type Delta struct {
	Kind   DeltaKind
	Text   string
	Index  int   // of the call in the answer, from 0 in the order of their beginning
	Call   *Call // with DeltaCall: ID, Name and Namespace
	Part   *Part
	Usage  Usage
	Reason Reason
	// Raw is what the provider sent, in Form, when a door of that form can
	// tell more by it: log probabilities, annotations. It may be nil.
	Raw  json.RawMessage
	Form Form
}

// Reason is why an answer ended.
type Reason string

// The reasons.
const (
	ReasonStop   Reason = "stop"
	ReasonCalls  Reason = "calls"  // of tools
	ReasonLength Reason = "length" // max_tokens, or the model's context
	ReasonFilter Reason = "filter" // the provider withholds the rest, or the model refuses
	ReasonPause  Reason = "pause"  // a tool of the provider takes long: ask again
)

// Usage is what an answer cost, in tokens.
type Usage struct {
	Input      int64 // all of the request, from a cache or not
	Output     int64 // all of the answer, with Reasoning
	CacheRead  int64 // of Input
	CacheWrite int64 // of Input
	Reasoning  int64 // of Output
}

// Plus is the sum.
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
	// Event writes something of ours beside the answer, in a way that clients
	// which do not know it pass over.
	Event(name string, data json.RawMessage) error
	// Fail ends the stream with an error.
	Fail(*Error) error
	// Close ends the stream.
	Close() error
}
