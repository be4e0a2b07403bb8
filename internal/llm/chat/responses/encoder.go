package responses

import (
	"encoding/json"
	"io"
	"time"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
)

// EncoderOptions are fields of the response.
type EncoderOptions struct {
	ID      string    // resp_…
	Model   string    // as named by the client
	Created time.Time // the time the answer began
	Request *Request  // its fields are echoed; nil: their defaults
}

// encoder writes an answer as events of the Responses API. The name of a server-sent
// event is its type.
type encoder struct {
	out     *wire.Events // nil: only the response is needed
	options EncoderOptions
	echo    *echo

	sequence int
	output   []*item
	open     *item         // the message or reasoning being written
	calls    map[int]*item // of this round, by the index of their deltas
	usage    *usage
	reason   chat.Reason
	begun    bool
	ended    bool
	fault    error // an error of encoding JSON
}

var _ chat.Encoder = (*encoder)(nil)

// NewEncoder returns an encoder that writes the events of a streamed answer to w.
//
// Interleaved calls are items that are open at the same time. Thinking is a reasoning
// item with a summary; thinking of other providers is in its encrypted_content, so that
// the client sends it back. Events of the runtime have the type spiced.<name> and their data
// under the key data: the official clients treat a top-level key error as the end of
// the stream.
func NewEncoder(w io.Writer, o EncoderOptions) chat.Encoder { return newEncoder(wire.NewEvents(w), o) }

func newEncoder(out *wire.Events, o EncoderOptions) *encoder {
	return &encoder{out: out, options: o, echo: newEcho(o.Request), calls: map[int]*item{}}
}

// Write writes the events of a delta.
func (e *encoder) Write(d chat.Delta) error {
	if e.ended {
		return nil
	}
	e.begin()
	switch d.Kind {
	case chat.DeltaText:
		e.text(d)
	case chat.DeltaThinking:
		e.thinking(d.Text, detailOf(d).ID)
	case chat.DeltaRefusal:
		e.refusal(d.Text)
	case chat.DeltaCall:
		e.call(d)
	case chat.DeltaArguments:
		e.arguments(d)
	case chat.DeltaCallEnd:
		e.callEnd(d.Index)
	case chat.DeltaPart:
		e.part(d.Part)
	case chat.DeltaUsage:
		e.usage = newUsage(d.Usage)
	case chat.DeltaFinish:
		e.reason = d.Reason
	case chat.DeltaRound:
		e.closeOpen(statusCompleted)
		clear(e.calls)
	}
	return e.flush()
}

// Event writes an event of the runtime; data that is not an object is dropped. It is a
// keepalive with the event in the field spiced_event: OpenAI's JavaScript client throws
// on unknown types but ignores this one.
func (e *encoder) Event(name string, data json.RawMessage) error {
	if e.ended {
		return nil
	}
	ours := map[string]json.RawMessage{}
	if json.Unmarshal(data, &ours) != nil || ours == nil {
		ours = map[string]json.RawMessage{}
	}
	ours["type"], _ = json.Marshal(name) // encoding a string cannot fail
	e.begin()
	e.emit(event{Type: "keepalive", Spiced: ours})
	return e.flush()
}

// Close ends the answer with response.completed, or with response.incomplete if it was
// cut off.
func (e *encoder) Close() error {
	if e.ended {
		return nil
	}
	e.begin()
	e.finish()
	status, _ := e.status()
	e.emit(event{Type: "response." + status, Response: e.response(status)})
	return e.flush()
}

// Fail ends the answer with response.failed, for clients that read to the end of the
// response, and an error event, for which the official clients throw.
func (e *encoder) Fail(fault *chat.Error) error {
	if e.ended {
		return nil
	}
	e.begin()
	e.ended = true
	e.emit(event{Type: "response.failed", Response: e.failed(fault)})
	o := newError(fault)
	e.emit(event{Type: "error", Code: o.Code, Message: o.Message, Param: o.Param, Error: &o})
	return e.flush()
}

// failed returns the response at the time of an error.
func (e *encoder) failed(fault *chat.Error) *response {
	for _, it := range e.output {
		if it.status == statusInProgress {
			it.status = statusIncomplete
		}
	}
	r := e.response(statusFailed)
	r.Error = &responseError{failedCode(fault.Code), fault.Message}
	r.Cut = nil
	return r
}

// finish closes what is open. A call that has not ended was cut off.
func (e *encoder) finish() {
	e.ended = true
	status, _ := e.status()
	e.closeOpen(status)
	for _, it := range e.output {
		if it.call != nil && it.status == statusInProgress {
			e.closeItem(it, statusIncomplete)
		}
	}
}

// status returns how the answer ended, and why if it is incomplete. A refusal in the
// model's own words is an answer.
func (e *encoder) status() (string, *incomplete) {
	switch {
	case e.reason == chat.ReasonLength:
		return statusIncomplete, &incomplete{"max_output_tokens"}
	case e.reason == chat.ReasonFilter && !e.refused():
		return statusIncomplete, &incomplete{"content_filter"}
	}
	return statusCompleted, nil
}

func (e *encoder) refused() bool {
	for _, it := range e.output {
		for _, c := range it.content {
			if c.refusal {
				return true
			}
		}
	}
	return false
}

// begin writes the first two events, once.
func (e *encoder) begin() {
	if e.begun {
		return
	}
	e.begun = true
	e.emit(event{Type: "response.created", Response: e.response(statusInProgress)})
	e.emit(event{Type: "response.in_progress", Response: e.response(statusInProgress)})
}

// response returns the current response object.
func (e *encoder) response(status string) *response {
	r := &response{
		ID: e.options.ID, Object: "response", CreatedAt: e.options.Created.Unix(), Status: status,
		Model: e.options.Model, Output: []any{}, echo: e.echo,
	}
	for _, it := range e.output {
		r.Output = append(r.Output, it.encode())
	}
	if status != statusInProgress {
		_, r.Cut = e.status()
		r.Usage = e.usage
		if r.Usage == nil {
			r.Usage = newUsage(chat.Usage{})
		}
	}
	return r
}

// flush writes the buffered events at once.
func (e *encoder) flush() error {
	if e.out == nil || e.fault != nil {
		return e.fault
	}
	return e.out.Flush()
}

// event has the keys of all event types.
type event struct {
	Type            string                     `json:"type"`
	Sequence        int                        `json:"sequence_number"` // from 0, incremented by one
	OutputIndex     *int                       `json:"output_index,omitempty"`
	ItemID          string                     `json:"item_id,omitempty"`
	ContentIndex    *int                       `json:"content_index,omitempty"`
	SummaryIndex    *int                       `json:"summary_index,omitempty"`
	AnnotationIndex *int                       `json:"annotation_index,omitempty"`
	Delta           *string                    `json:"delta,omitempty"`
	Text            *string                    `json:"text,omitempty"`
	Refusal         *string                    `json:"refusal,omitempty"`
	Arguments       *string                    `json:"arguments,omitempty"`
	Logprobs        []json.RawMessage          `json:"logprobs,omitzero"`
	Annotation      json.RawMessage            `json:"annotation,omitempty"`
	Part            any                        `json:"part,omitempty"`
	Item            any                        `json:"item,omitempty"`
	Response        *response                  `json:"response,omitempty"`
	Code            *string                    `json:"code,omitempty"`
	Message         string                     `json:"message,omitempty"`
	Param           *string                    `json:"param,omitempty"`
	Error           *wire.Error                `json:"error,omitempty"`
	Spiced          map[string]json.RawMessage `json:"spiced_event,omitempty"`
}

// emit appends an event to the buffer.
func (e *encoder) emit(v event) {
	if e.out == nil {
		return
	}
	v.Sequence = e.sequence
	e.sequence++
	if err := e.out.Add(v.Type, v); err != nil {
		e.fault = err
	}
}
