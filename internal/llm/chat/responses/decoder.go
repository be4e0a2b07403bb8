package responses

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// decoder turns the events of a response into deltas. It does not matter
// whether a server sends an item in pieces, whole at its end, or both.
type decoder struct {
	fail  func(chat.Code, string) *chat.Error
	began bool
	ended bool
	items map[string]*incoming
	calls int
	out   []chat.Delta // of the event at hand
}

// incoming is what has been seen of an item.
type incoming struct {
	id    string // of reasoning
	call  int    // index of the call; -1 for other items
	ended bool   // of a call
	done  bool
	text  strings.Builder // arguments of a call
	seen  bool            // some of its text was streamed
}

// wireEvent has the fields of all events that are read.
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

	// An error event has these, or the same under error.
	Code    any        `json:"code"` // a word; some servers send a number
	Message string     `json:"message"`
	Error   *wireError `json:"error"`

	// Of a whole response, which is no event.
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

// event takes the data of the next event. The deltas count also when there is
// an error; after it, or once ended is set, nothing follows.
func (d *decoder) event(data []byte) ([]chat.Delta, error) {
	d.out = nil
	if bytes.Equal(bytes.TrimSpace(data), []byte("[DONE]")) {
		return nil, nil
	}
	var e wireEvent
	err := json.Unmarshal(data, &e)
	if e.Object == "response" {
		return d.whole(data)
	}
	read := readers[e.Type]
	if read == nil && errors.As(err, new(*json.UnmarshalTypeError)) {
		return nil, nil // an event that is not needed, with fields of other types
	}
	if err != nil {
		return nil, d.unreadable("event", err)
	}
	if e.Type == "" && e.Error != nil {
		read = readers["error"]
	}
	if read != nil {
		err = read(d, &e)
	}
	return d.out, err
}

func (d *decoder) unreadable(what string, err error) *chat.Error {
	return d.fail(chat.CodeBroken, "the provider sent an unreadable "+what+": "+err.Error())
}

// emit adds a delta. The first one is preceded by DeltaStart, so that a
// failure before it can still get a status of its own.
func (d *decoder) emit(delta chat.Delta) {
	if !d.began {
		d.began = true
		d.out = append(d.out, chat.Delta{Kind: chat.DeltaStart})
	}
	d.out = append(d.out, delta)
}

// whole takes a response that was not streamed.
func (d *decoder) whole(data []byte) ([]chat.Delta, error) {
	r := &wireResponse{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, d.unreadable("response", err)
	}
	err := d.finish(r)
	return d.out, err
}

// readers is the table of the events that are read. Events that only announce
// or repeat what others bring are not in it.
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

// at is what has been seen of the item of an event. Servers that leave out
// output_index have ids (llama.cpp, of calls the call_id alone); those that
// change ids on the way have the index.
func (d *decoder) at(e *wireEvent) *incoming {
	key := e.ItemID
	switch {
	case e.OutputIndex != nil:
		key = strconv.Itoa(*e.OutputIndex)
	case e.Item != nil:
		item, _ := d.parse(e.Item) // whoever reads the item says what is wrong with it
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
		raw, err := encode(more)
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

// paragraph stands between two parts of a summary.
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

// parse reads an item. One whose fields are of other types than here is none
// that matters here, unless it says it is.
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
	d.emit(chat.Delta{Kind: chat.DeltaCall, Index: in.call, Call: &chat.Call{ID: id, Name: item.Name, Namespace: item.Namespace}})
}

func (d *decoder) arguments(in *incoming, text string) error {
	if in.call >= 0 && !in.ended && text != "" {
		in.text.WriteString(text)
		d.emit(chat.Delta{Kind: chat.DeltaArguments, Index: in.call, Text: text})
	}
	return nil
}

// argumentsDone ends a call early when its arguments can be used. Otherwise
// the item's end says whether the model wrote them so or was cut off.
func (d *decoder) argumentsDone(in *incoming, all string) error {
	if in.call < 0 || in.ended {
		return nil
	}
	err := d.catchUp(in, all)
	if json.Valid([]byte(in.text.String())) {
		d.end(in)
	}
	return err
}

// catchUp adds what the whole arguments have beyond those that were streamed.
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

// itemDone takes a whole item.
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

// message yields the texts of a message that were not streamed.
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

// part keeps an item for the next request.
func (d *decoder) part(kind chat.PartKind, text string, raw json.RawMessage) {
	d.emit(chat.Delta{Kind: chat.DeltaPart, Part: &chat.Part{
		Kind: kind, Text: text, Raw: raw, Form: chat.FormResponses,
	}})
}

func (d *decoder) ending(e *wireEvent) error {
	if e.Response == nil {
		return d.fail(chat.CodeBroken, "the provider ended the stream without a response")
	}
	e.Response.Status = cmp.Or(e.Response.Status, strings.TrimPrefix(e.Type, "response."))
	return d.finish(e.Response)
}

// finish takes the response as it ended. Its items count when none was
// streamed.
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
		return d.fail(chat.CodeUpstream, "the provider left the response "+r.Status)
	}
	d.ended = true
	d.emit(chat.Delta{Kind: chat.DeltaFinish, Reason: d.reason(r)})
	return nil
}

// reason is why the answer ended.
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

// broken is the error of a stream that just ends.
func (d *decoder) broken() *chat.Error {
	return d.fail(chat.CodeBroken, "the provider's answer broke off before its end")
}
