package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
	"github.com/spiced-sql/spiced/tools"
)

// EncoderOptions are fields of every chunk of an answer.
type EncoderOptions struct {
	ID           string // chatcmpl-…
	Model        string // as named by the client
	Created      time.Time
	IncludeUsage bool // send a chunk with the usage at the end
}

// NewEncoder returns an encoder that writes chat.completion.chunk events. Close writes
// the reason and the usage, as only then no other answer of the model can follow.
//
// [chat.Encoder.Event] writes a chunk with an empty delta and the event in the field
// spiced_event: clients ignore both.
func NewEncoder(w io.Writer, o EncoderOptions) chat.Encoder {
	e := &encoder{out: wire.NewEvents(w), include: o.IncludeUsage, calls: map[int]int{}}
	e.head = chunk{ID: o.ID, Object: "chat.completion.chunk", Created: o.Created.Unix(), Model: o.Model}
	if o.IncludeUsage {
		e.head.Usage = json.RawMessage("null")
	}
	return e
}

// chunk is the data of one event.
type chunk struct {
	ID      string          `json:"id"`
	Object  string          `json:"object"`
	Created int64           `json:"created"`
	Model   string          `json:"model"`
	Choices []chunkChoice   `json:"choices"`
	Usage   json.RawMessage `json:"usage,omitempty"`
	Spiced  json.RawMessage `json:"spiced_event,omitempty"`
}

type chunkChoice struct {
	Index        int             `json:"index"`
	Delta        any             `json:"delta"`
	Logprobs     json.RawMessage `json:"logprobs"`
	FinishReason *string         `json:"finish_reason"`
}

// chunkRole is the first delta of an answer.
type chunkRole struct {
	Role    string  `json:"role"`
	Content string  `json:"content"`
	Refusal *string `json:"refusal"`
}

type chunkDelta struct {
	Content     string          `json:"content,omitempty"`
	Reasoning   string          `json:"reasoning_content,omitempty"`
	Refusal     string          `json:"refusal,omitempty"`
	ToolCalls   []chunkCall     `json:"tool_calls,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

type chunkCall struct {
	Index    int          `json:"index"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function callFunction `json:"function"`
}

type callFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// more is Raw of our deltas: fields of the API that a delta does not have.
type more struct {
	Logprobs    json.RawMessage `json:"logprobs,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

// encoder writes one answer, one write per event.
type encoder struct {
	out  *wire.Events
	head chunk

	began   bool
	ended   bool
	written int         // number of calls
	calls   map[int]int // their index here, by the index in the model's answer
	spoke   bool        // text was written
	parted  bool        // the next text belongs to another answer
	reason  chat.Reason
	usage   chat.Usage
	include bool
}

var _ chat.Encoder = (*encoder)(nil)

// Write writes a delta; Close writes what has no separate chunk.
func (e *encoder) Write(d chat.Delta) error {
	switch d.Kind {
	case chat.DeltaStart:
		return e.begin()
	case chat.DeltaText:
		return e.delta(chunkDelta{Content: e.text(d.Text)}, d)
	case chat.DeltaThinking:
		return e.delta(chunkDelta{Reasoning: d.Text}, d)
	case chat.DeltaRefusal:
		return e.delta(chunkDelta{Refusal: d.Text}, d)
	case chat.DeltaCall:
		return e.call(d)
	case chat.DeltaArguments:
		return e.arguments(d)
	case chat.DeltaPart:
		if d.Form == chat.FormOpenAI && d.Raw != nil {
			return e.delta(chunkDelta{}, d)
		}
	case chat.DeltaUsage:
		e.usage = d.Usage
	case chat.DeltaFinish:
		e.reason = d.Reason
	case chat.DeltaRound:
		e.calls, e.parted = map[int]int{}, e.spoke
	}
	return nil
}

// text inserts a blank line between the texts of two answers of the model.
func (e *encoder) text(text string) string {
	if text == "" {
		return ""
	}
	if e.parted {
		text = "\n\n" + text
	}
	e.spoke, e.parted = true, false
	return text
}

func (e *encoder) call(d chat.Delta) error {
	index := e.written
	e.calls[d.Index] = index
	e.written++
	return e.delta(chunkDelta{ToolCalls: []chunkCall{{
		Index: index, ID: d.Call.ID, Type: "function", Function: callFunction{Name: d.Call.Name},
	}}}, d)
}

func (e *encoder) arguments(d chat.Delta) error {
	index, ok := e.calls[d.Index]
	if !ok || d.Text == "" {
		return nil
	}
	return e.delta(chunkDelta{ToolCalls: []chunkCall{{Index: index, Function: callFunction{Arguments: d.Text}}}}, d)
}

// begin writes the chunk with the role, once.
func (e *encoder) begin() error {
	if e.began {
		return nil
	}
	e.began = true
	return e.choice(chunkChoice{Delta: chunkRole{Role: "assistant"}})
}

func (e *encoder) delta(delta chunkDelta, d chat.Delta) error {
	if err := e.begin(); err != nil {
		return err
	}
	c := chunkChoice{}
	if d.Form == chat.FormOpenAI && d.Raw != nil {
		var m more
		if json.Unmarshal(d.Raw, &m) == nil {
			c.Logprobs, delta.Annotations = m.Logprobs, m.Annotations
		}
	} else {
		if list := wire.Logprobs(d); list != nil {
			c.Logprobs, _ = tools.Encode(logprobs{Content: list, Refusal: []json.RawMessage{}})
		}
		if list := wire.Citations(d); list != nil {
			delta.Annotations, _ = tools.Encode(list)
		}
	}
	c.Delta = delta
	return e.choice(c)
}

func (e *encoder) choice(c chunkChoice) error {
	out := e.head
	out.Choices = []chunkChoice{c}
	return e.write(out)
}

func (e *encoder) write(data any) error {
	if e.ended {
		return nil
	}
	if err := e.out.Add("", data); err != nil {
		return err
	}
	return e.out.Flush()
}

// Event writes {"type": name, …data} in a chunk with an empty delta.
func (e *encoder) Event(name string, data json.RawMessage) error {
	if err := e.begin(); err != nil {
		return err
	}
	out := e.head
	out.Choices = []chunkChoice{{Delta: chunkDelta{}}}
	out.Spiced = named(name, data)
	return e.write(out)
}

// named adds the type to an object; any other value becomes the field data.
func named(name string, data json.RawMessage) json.RawMessage {
	o := wire.Writer{}
	o.Value("type", name)
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0 || wire.IsNull(data):
	case data[0] != '{':
		o.Raw("data", data)
	default:
		o.Fields(data)
	}
	return o.End()
}

// Fail writes the error as OpenAI does in the middle of a stream: an event with the
// field error, for which clients raise an exception.
func (e *encoder) Fail(failed *chat.Error) error {
	err := e.write(json.RawMessage(EncodeError(failed)))
	e.ended = true
	return err
}

// Close writes the reason, the tokens and [DONE].
func (e *encoder) Close() error {
	if e.ended {
		return nil
	}
	if err := e.begin(); err != nil {
		return err
	}
	reason := finishReason(e.reason, e.written > 0)
	if err := e.choice(chunkChoice{Delta: chunkDelta{}, FinishReason: &reason}); err != nil {
		return err
	}
	if e.include {
		if err := e.tokens(); err != nil {
			return err
		}
	}
	e.ended = true
	e.out.AddText("[DONE]")
	return e.out.Flush()
}

func (e *encoder) tokens() error {
	out := e.head
	out.Choices = []chunkChoice{}
	out.Usage, _ = json.Marshal(usageOf(e.usage))
	return e.write(out)
}

// finishReason returns OpenAI's name of the reason. Without calls for the client,
// tool_calls would leave it nothing to do.
func finishReason(r chat.Reason, calls bool) string {
	switch {
	case r == chat.ReasonLength:
		return "length"
	case r == chat.ReasonFilter:
		return "content_filter"
	case r == chat.ReasonCalls && calls:
		return "tool_calls"
	}
	return "stop"
}
