package anthropic

import (
	"encoding/json"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/tools"
)

// The JSON of events.
type (
	startForm struct {
		Type  string          `json:"type"`
		Index int             `json:"index"`
		Block json.RawMessage `json:"content_block"`
	}
	pieceForm struct {
		Type  string          `json:"type"`
		Index int             `json:"index"`
		Delta json.RawMessage `json:"delta"`
	}
	stopForm struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
	}
	beginForm struct {
		Type    string       `json:"type"`
		Message responseForm `json:"message"`
	}
	changeForm struct {
		Type  string          `json:"type"`
		Delta json.RawMessage `json:"delta"`
		Usage usage           `json:"usage"`
	}
	endForm struct {
		Type string `json:"type"`
	}
	oursForm struct {
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	}
)

func (e *encoder) start() error {
	if e.started {
		return nil
	}
	e.started = true
	m := e.o.response()
	m.Usage = usageOf(e.usage)
	return e.out.Add("message_start", beginForm{"message_start", m})
}

// Event writes an event of the runtime, before, in or after the message.
func (e *encoder) Event(name string, data json.RawMessage) error {
	if e.ended {
		return nil
	}
	name = "spiced." + name
	if err := e.out.Add(name, oursForm{name, data}); err != nil {
		return err
	}
	return e.out.Flush()
}

// Fail ends the stream with an error event, for which clients raise an exception.
func (e *encoder) Fail(failed *chat.Error) error {
	if e.ended {
		return nil
	}
	e.ended = true
	if err := e.out.Add("error", errorOf(failed)); err != nil {
		return err
	}
	return e.out.Flush()
}

// Close ends the message with the reason of the last DeltaFinish.
func (e *encoder) Close() error {
	if e.ended {
		return nil
	}
	e.ended = true
	if err := e.start(); err != nil {
		return err
	}
	e.endAll()
	if err := e.drain(); err != nil {
		return err
	}
	delta, err := tools.Encode(finishOf(e.finish))
	if err != nil {
		return err
	}
	if err := e.out.Add("message_delta", changeForm{"message_delta", delta, usageOf(e.usage)}); err != nil {
		return err
	}
	if err := e.out.Add("message_stop", endForm{"message_stop"}); err != nil {
		return err
	}
	return e.out.Flush()
}

// finishOf returns how the message ends, as the provider wrote it if that still
// applies.
func finishOf(d chat.Delta) any {
	var own finishForm
	if d.Form == chat.FormAnthropic && json.Unmarshal(d.Raw, &own) == nil && own.StopReason != nil &&
		reasonOf(*own.StopReason) == d.Reason {
		return d.Raw
	}
	reason := stopReason(d.Reason)
	return finishForm{StopReason: &reason}
}
