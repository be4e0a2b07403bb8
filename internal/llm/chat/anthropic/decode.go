package anthropic

import (
	"cmp"
	"encoding/json"
	"io"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
	"github.com/spiced-sql/spiced/tools"
)

// event is an event of a stream; each type has some of the fields.
type event struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Message json.RawMessage `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   json.RawMessage `json:"delta"`
	Usage   *usage          `json:"usage"`
	Error   *wireError      `json:"error"`
}

type wireError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// piece is the delta of a block, or of the message.
type piece struct {
	Type       string          `json:"type"`
	Text       string          `json:"text"`
	Thinking   string          `json:"thinking"`
	Signature  string          `json:"signature"`
	JSON       string          `json:"partial_json"`
	Citation   json.RawMessage `json:"citation"`
	StopReason *string         `json:"stop_reason"`
}

// message is an answer: whole, or as in message_start.
type message struct {
	Type       string            `json:"type"`
	Content    []json.RawMessage `json:"content"`
	StopReason *string           `json:"stop_reason"`
	StopText   *string           `json:"stop_sequence"`
	Usage      usage             `json:"usage"`
	Error      *wireError        `json:"error"`
}

// failure is the error of an answer.
type failure struct {
	code   errcode.Code
	format string // its arguments may be the provider's
	args   []any
}

func broken(format string, args ...any) *failure {
	return &failure{errcode.StreamBroken, "the provider's answer is invalid: " + format, args}
}

// decoder converts the events of one answer to deltas.
type decoder struct {
	fail   func(errcode.Code, string, ...any) *chat.Error
	out    []chat.Delta   // of the current event
	open   map[int]*piled // blocks that have begun and not ended, by index
	blocks int            // number of blocks begun
	stored int            // bytes of signatures and citations
	calls  int
	text   bool // the last block is text
	began  bool
	done   bool
	usage  usage
	finish chat.Delta
}

// piled is the state of an open block.
type piled struct {
	block
	raw       json.RawMessage // its content_block_start
	call      int
	thinking  strings.Builder
	signature strings.Builder
	input     strings.Builder
	said      strings.Builder // the text
	citations []json.RawMessage
}

// Event decodes an event.
func (d *decoder) Event(e upstream.Event) ([]chat.Delta, bool, error) {
	d.out = d.out[:0]
	read := d.event
	if e.Type == upstream.EventJSON {
		read = d.whole
	}
	if failed := read(e.Data); failed != nil {
		return d.out, false, d.fail(failed.code, failed.format, failed.args...)
	}
	return d.out, d.done, nil
}

// End reports that message_stop is missing.
func (d *decoder) End() ([]chat.Delta, error) {
	failed := d.fail(errcode.StreamBroken, "the provider's answer ended before message_stop")
	failed.Cause = io.ErrUnexpectedEOF
	return nil, failed
}

func (d *decoder) event(data []byte) *failure {
	var e event
	if json.Unmarshal(data, &e) != nil {
		return broken("an event is not JSON, or has fields of the wrong type")
	}
	switch e.Type {
	case "message_start":
		return d.start(e.Message)
	case "content_block_start":
		return d.openBlock(e.Index, e.Block)
	case "content_block_delta":
		return d.piece(e.Index, e.Delta)
	case "content_block_stop":
		return d.closeBlock(e.Index)
	case "message_delta":
		return d.change(e)
	case "message_stop":
		return d.stop()
	case "error":
		return providerFailure(e.Error)
	}
	return nil // ping, and future types
}

func providerFailure(e *wireError) *failure {
	if e == nil {
		e = &wireError{}
	}
	code := cmp.Or(errorCodes[e.Type], errcode.ProviderError)
	what := cmp.Or(e.Type, "an error")
	return &failure{
		code, "the provider failed in the middle of the answer: %s: %s",
		[]any{what, cmp.Or(e.Message, "no message")},
	}
}

func (d *decoder) emit(delta chat.Delta) { d.out = append(d.out, delta) }

// begin emits DeltaStart once.
func (d *decoder) begin() {
	if !d.began {
		d.began = true
		d.emit(chat.Delta{Kind: chat.DeltaStart})
	}
}

func (d *decoder) start(raw json.RawMessage) *failure {
	if d.began {
		return broken("a second message_start")
	}
	var m message
	if json.Unmarshal(raw, &m) != nil {
		return broken("message_start without a message")
	}
	d.begin()
	d.count(m.Usage)
	return nil
}

func (d *decoder) count(u usage) {
	d.usage.update(u)
	d.emit(chat.Delta{Kind: chat.DeltaUsage, Usage: d.usage.neutral()})
}

// change handles a message_delta: the stop reason, and the usage so far.
func (d *decoder) change(e event) *failure {
	d.begin()
	if e.Usage != nil {
		d.count(*e.Usage)
	}
	var p piece
	if e.Delta != nil && json.Unmarshal(e.Delta, &p) != nil {
		return broken("an invalid message_delta")
	}
	if p.StopReason != nil {
		d.finish = chat.Delta{Kind: chat.DeltaFinish, Reason: reasonOf(*p.StopReason), Raw: e.Delta, Form: chat.FormAnthropic}
	}
	return nil
}

// stop ends the answer. A call whose block is open is incomplete.
func (d *decoder) stop() *failure {
	for index, b := range d.open {
		if b.Type == "tool_use" {
			return broken("message_stop before the end of the call in block %d", index)
		}
	}
	d.begin()
	d.done = true
	if d.finish.Kind == 0 {
		d.finish = chat.Delta{Kind: chat.DeltaFinish, Reason: chat.ReasonStop}
		if d.calls > 0 {
			d.finish.Reason = chat.ReasonCalls
		}
	}
	d.emit(d.finish)
	return nil
}

// whole decodes an answer that is not streamed.
func (d *decoder) whole(data []byte) *failure {
	var m message
	if json.Unmarshal(data, &m) != nil {
		return broken("the document is not a message; check params.endpoint")
	}
	if m.Error != nil || m.Type == "error" {
		return providerFailure(m.Error)
	}
	if m.Type != "message" {
		return broken("the document has type %q, not message; check params.endpoint", m.Type)
	}
	d.begin()
	for i, raw := range m.Content {
		if failed := d.openBlock(i, raw); failed != nil {
			return failed
		}
		if failed := d.closeBlock(i); failed != nil {
			return failed
		}
	}
	d.count(m.Usage)
	if m.StopReason != nil {
		raw, _ := tools.Encode(finishForm{m.StopReason, m.StopText})
		d.finish = chat.Delta{Kind: chat.DeltaFinish, Reason: reasonOf(*m.StopReason), Raw: raw, Form: chat.FormAnthropic}
	}
	return d.stop()
}

// finishForm is the delta of a message_delta.
type finishForm struct {
	StopReason *string `json:"stop_reason"`
	StopText   *string `json:"stop_sequence"`
}
