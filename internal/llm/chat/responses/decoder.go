package responses

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
	"github.com/spiced-sql/spiced/tools"
)

// decoder converts the events of a response to deltas, whether a server sends an item
// in pieces, whole at its end, or both.
type decoder struct {
	fail  func(errcode.Code, string, ...any) *chat.Error
	began bool
	ended bool
	items map[string]*incoming
	calls int
	out   []chat.Delta // of the current event
}

// incoming is the state of an item being received.
type incoming struct {
	id    string // of a reasoning item
	call  int    // index of the call; -1 for other items
	ended bool   // the call has ended
	done  bool
	text  strings.Builder // arguments of a call
	valid int             // length of text at the last check
	seen  bool            // some of the text was streamed
}

// wireEvent has the fields of all supported events.
type wireEvent struct {
	Type        string            `json:"type"`
	OutputIndex *int              `json:"output_index"`
	ItemID      string            `json:"item_id"`
	Summary     int               `json:"summary_index"`
	Delta       string            `json:"delta"`
	Arguments   string            `json:"arguments"`
	Logprobs    []json.RawMessage `json:"logprobs"`
	Annotation  json.RawMessage   `json:"annotation"`
	Item        json.RawMessage   `json:"item"`
	Response    *wireResponse     `json:"response"`

	// Error events have these, or the same under error.
	Code    any        `json:"code"` // a string; some servers send a number
	Message string     `json:"message"`
	Error   *wireError `json:"error"`

	// Of a whole response that is not streamed.
	Object string `json:"object"`
}

type wireResponse struct {
	Status string            `json:"status"`
	Error  *wireError        `json:"error"`
	Cut    *incomplete       `json:"incomplete_details"`
	Output []json.RawMessage `json:"output"`
	Usage  *usage            `json:"usage"`
}

type wireError struct {
	Code    any    `json:"code"`
	Type    string `json:"type"`
	Message string `json:"message"`
}

// wireItem is any item.
type wireItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Status    string `json:"status"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Arguments string `json:"arguments"`
	Content   []struct {
		Type        string            `json:"type"`
		Text        string            `json:"text"`
		Refusal     string            `json:"refusal"`
		Annotations []json.RawMessage `json:"annotations"`
		Logprobs    []json.RawMessage `json:"logprobs"`
	} `json:"content"`
	Summary []struct {
		Text string `json:"text"`
	} `json:"summary"`
}

// Event decodes an event.
func (d *decoder) Event(e upstream.Event) ([]chat.Delta, bool, error) {
	d.out = d.out[:0]
	err := d.event(e.Data)
	return d.out, d.ended, err
}

// End reports that the final event is missing.
func (d *decoder) End() ([]chat.Delta, error) {
	return nil, d.fail(errcode.StreamBroken, "the provider's answer ended unexpectedly")
}

func (d *decoder) event(data []byte) error {
	if string(bytes.TrimSpace(data)) == "[DONE]" {
		return nil
	}
	var e wireEvent
	err := json.Unmarshal(data, &e)
	if e.Object == "response" {
		return d.whole(data)
	}
	read := readers[e.Type]
	switch {
	case read == nil && errors.As(err, new(*json.UnmarshalTypeError)):
		return nil // an unsupported event whose fields have other types
	case err != nil:
		return d.unreadable("event", err)
	case e.Type == "" && e.Error != nil:
		return d.failed(e.fault())
	case read == nil:
		return nil
	case len(d.items) > maxItems:
		return d.fail(errcode.StreamBroken, "the provider's answer is too large: it has more than %d items", maxItems)
	}
	return read(d, &e)
}

// maxItems limits the items of a response.
const maxItems = 10_000

func (d *decoder) unreadable(what string, err error) *chat.Error {
	return d.fail(errcode.StreamBroken, "the provider sent an invalid "+what+": %s", err)
}

// emit appends a delta. DeltaStart precedes only the first one, so that an earlier
// error can still set the HTTP status.
func (d *decoder) emit(delta chat.Delta) {
	if !d.began {
		d.began = true
		d.out = append(d.out, chat.Delta{Kind: chat.DeltaStart})
	}
	d.out = append(d.out, delta)
}

// whole decodes a response that was not streamed.
func (d *decoder) whole(data []byte) error {
	r := &wireResponse{}
	if err := json.Unmarshal(data, r); err != nil {
		return d.unreadable("response", err)
	}
	return d.finish(r)
}

// readers are the supported events. Events that only announce or repeat others are not
// supported.
var readers = map[string]func(*decoder, *wireEvent) error{
	"response.output_item.added": (*decoder).itemAdded,
	"response.output_item.done": func(d *decoder, e *wireEvent) error {
		return d.itemDone(d.at(e), e.Item)
	},
	"response.output_text.delta": func(d *decoder, e *wireEvent) error {
		return d.text(d.at(e), chat.DeltaText, e.Delta, detail{Logprobs: e.Logprobs})
	},
	"response.output_text.annotation.added": func(d *decoder, e *wireEvent) error {
		return d.text(d.at(e), chat.DeltaText, "", detail{Annotation: e.Annotation})
	},
	"response.refusal.delta": func(d *decoder, e *wireEvent) error {
		return d.text(d.at(e), chat.DeltaRefusal, e.Delta, detail{})
	},
	"response.reasoning_summary_text.delta": (*decoder).thinking,
	"response.reasoning_text.delta":         (*decoder).thinking,
	"response.reasoning_summary_part.added": (*decoder).paragraph,
	"response.function_call_arguments.delta": func(d *decoder, e *wireEvent) error {
		return d.arguments(d.at(e), e.Delta)
	},
	"response.function_call_arguments.done": func(d *decoder, e *wireEvent) error {
		return d.argumentsDone(d.at(e), e.Arguments)
	},
	"response.completed":  (*decoder).ending,
	"response.incomplete": (*decoder).ending,
	"response.failed":     (*decoder).ending,
	"response.cancelled":  (*decoder).ending,
	"error":               func(d *decoder, e *wireEvent) error { return d.failed(e.fault()) },
}

// at returns the state of an event's item. Servers that omit output_index send ids
// (llama.cpp only the call_id of calls); those that change ids along the way send the
// index.
func (d *decoder) at(e *wireEvent) *incoming {
	key := e.ItemID
	switch {
	case e.OutputIndex != nil:
		key = strconv.Itoa(*e.OutputIndex)
	case e.Item != nil:
		item, _ := d.parse(e.Item) // the reader of the item reports errors
		key = cmp.Or(item.ID, item.CallID)
	}
	if d.items == nil {
		d.items = map[string]*incoming{}
	}
	if d.items[key] == nil {
		d.items[key] = &incoming{call: -1}
	}
	return d.items[key]
}

func (d *decoder) text(in *incoming, kind chat.DeltaKind, text string, more detail) error {
	if !in.seen {
		more.ID = in.id
	}
	in.seen = true
	delta := chat.Delta{Kind: kind, Text: text}
	if len(more.Logprobs) > 0 || more.Annotation != nil || more.ID != "" {
		raw, err := tools.Encode(more)
		if err != nil {
			return err
		}
		delta.Raw, delta.Form = raw, chat.FormResponses
	}
	if text != "" || delta.Raw != nil {
		d.emit(delta)
	}
	return nil
}

func (d *decoder) thinking(e *wireEvent) error {
	return d.text(d.at(e), chat.DeltaThinking, e.Delta, detail{})
}

// paragraph separates two parts of a summary.
func (d *decoder) paragraph(e *wireEvent) error {
	if e.Summary == 0 {
		return nil
	}
	return d.text(d.at(e), chat.DeltaThinking, "\n\n", detail{})
}

func (d *decoder) itemAdded(e *wireEvent) error {
	item, err := d.parse(e.Item)
	switch {
	case err != nil:
	case item.Type == itemCall:
		d.begin(d.at(e), item)
	case item.Type == itemReasoning:
		d.at(e).id = item.ID
	}
	return err
}

// parse decodes an item. An item whose fields have unexpected types is ignored, unless
// it claims a supported type.
func (d *decoder) parse(raw json.RawMessage) (*wireItem, error) {
	item := &wireItem{}
	err := json.Unmarshal(raw, item)
	switch item.Type {
	case itemMessage, itemCall, itemReasoning:
		if err != nil {
			return item, d.unreadable("item", err)
		}
	}
	return item, nil
}

// begin begins a call.
func (d *decoder) begin(in *incoming, item *wireItem) {
	if in.call >= 0 || in.done {
		return
	}
	in.call = d.calls
	d.calls++
	id := cmp.Or(item.CallID, item.ID)
	if id == "" {
		id = "call_" + rand.Text()
	}
	d.emit(chat.Delta{
		Kind: chat.DeltaCall, Index: in.call,
		Call: &chat.Call{ID: id, Name: item.Name, Namespace: item.Namespace},
	})
}

func (d *decoder) arguments(in *incoming, text string) error {
	if in.call >= 0 && !in.ended && text != "" {
		in.text.WriteString(text)
		d.emit(chat.Delta{Kind: chat.DeltaArguments, Index: in.call, Text: text})
	}
	return nil
}

// argumentsDone ends a call early if its arguments are usable. Otherwise the end of the
// item shows whether the model wrote them so or was cut off.
func (d *decoder) argumentsDone(in *incoming, all string) error {
	if in.call < 0 || in.ended {
		return nil
	}
	err := d.catchUp(in, all)
	if in.valid < in.text.Len() && json.Valid([]byte(in.text.String())) {
		d.end(in)
	}
	in.valid = in.text.Len()
	return err
}

// catchUp emits the arguments that were not streamed.
func (d *decoder) catchUp(in *incoming, all string) error {
	if rest, ok := strings.CutPrefix(all, in.text.String()); ok {
		return d.arguments(in, rest)
	}
	return nil
}

func (d *decoder) end(in *incoming) {
	if !in.ended {
		in.ended = true
		d.emit(chat.Delta{Kind: chat.DeltaCallEnd, Index: in.call})
	}
}

// itemDone handles a whole item.
func (d *decoder) itemDone(in *incoming, raw json.RawMessage) error {
	item, err := d.parse(raw)
	if err != nil || in.done {
		return err
	}
	switch item.Type {
	case "":
	case itemCall:
		d.begin(in, item)
		err = d.catchUp(in, item.Arguments)
		if item.Status != statusIncomplete {
			d.end(in)
		}
	case itemMessage:
		err = d.message(in, item)
	case itemReasoning:
		d.part(chat.PartThinking, item.thinking(), raw)
	default:
		d.part(chat.PartOther, "", raw)
	}
	in.done = true
	return err
}

// message emits the texts of a message that were not streamed.
func (d *decoder) message(in *incoming, item *wireItem) error {
	if in.seen {
		return nil
	}
	for _, c := range item.Content {
		kind, text := chat.DeltaText, c.Text
		if c.Type == "refusal" {
			kind, text = chat.DeltaRefusal, c.Refusal
		}
		if err := d.text(in, kind, text, detail{Logprobs: c.Logprobs}); err != nil {
			return err
		}
		for _, annotation := range c.Annotations {
			if err := d.text(in, kind, "", detail{Annotation: annotation}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (item *wireItem) thinking() string {
	var paragraphs []string
	for _, s := range item.Summary {
		paragraphs = append(paragraphs, s.Text)
	}
	if len(paragraphs) == 0 {
		for _, c := range item.Content {
			paragraphs = append(paragraphs, c.Text)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// part records an item for the next request.
func (d *decoder) part(kind chat.PartKind, text string, raw json.RawMessage) {
	d.emit(chat.Delta{Kind: chat.DeltaPart, Part: &chat.Part{
		Kind: kind, Text: text, Raw: raw, Form: chat.FormResponses,
	}})
}

func (d *decoder) ending(e *wireEvent) error {
	if e.Response == nil {
		return d.fail(errcode.StreamBroken, "the provider ended the stream without a response")
	}
	e.Response.Status = cmp.Or(e.Response.Status, strings.TrimPrefix(e.Type, "response."))
	return d.finish(e.Response)
}

// finish handles the final response. Its items are used only if none was streamed.
func (d *decoder) finish(r *wireResponse) error {
	if len(d.items) == 0 {
		for _, raw := range r.Output {
			if err := d.itemDone(&incoming{call: -1}, raw); err != nil {
				return err
			}
		}
	}
	if r.Usage != nil {
		d.emit(chat.Delta{Kind: chat.DeltaUsage, Usage: r.Usage.neutral()})
	}
	switch r.Status {
	case statusFailed:
		return d.failed(r.Error)
	case "cancelled", "queued", statusInProgress:
		return d.fail(errcode.ProviderError, "the provider ended the response with status %s", r.Status)
	}
	d.ended = true
	d.emit(chat.Delta{Kind: chat.DeltaFinish, Reason: d.reason(r)})
	return nil
}

// reason returns why the answer ended.
func (d *decoder) reason(r *wireResponse) chat.Reason {
	switch {
	case r.Status == statusIncomplete && r.Cut != nil && r.Cut.Reason == "content_filter":
		return chat.ReasonFilter
	case r.Status == statusIncomplete:
		return chat.ReasonLength
	case d.calls > 0:
		return chat.ReasonCalls
	}
	return chat.ReasonStop
}
