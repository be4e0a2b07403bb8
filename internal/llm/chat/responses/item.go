package responses

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
)

// item is an item of an answer being written.
type item struct {
	index   int
	kind    string
	id      string
	status  string
	content []*content      // of a message
	call    *chat.Call      // without arguments
	text    strings.Builder // arguments of a call, summary of reasoning
	sealed  string          // encrypted_content of reasoning
	raw     json.RawMessage // the item as written by the provider
}

// content is a part of a message.
type content struct {
	refusal     bool
	text        strings.Builder
	annotations []json.RawMessage
	logprobs    []json.RawMessage
	done        bool
}

// encode returns the current item.
func (it *item) encode() any {
	switch {
	case it.raw != nil:
		return it.raw
	case it.kind == itemCall:
		return callItem{it.id, it.kind, it.status, it.call.ID, it.call.Name, it.call.Namespace, it.text.String()}
	case it.kind == itemReasoning:
		return reasoningItem{it.id, it.kind, it.summary(), it.sealed}
	}
	m := messageItem{ID: it.id, Type: it.kind, Status: it.status, Role: "assistant", Content: []any{}}
	for _, c := range it.content {
		m.Content = append(m.Content, c.encode())
	}
	return m
}

func (it *item) summary() []summaryText {
	if it.text.Len() == 0 {
		return []summaryText{}
	}
	return []summaryText{{"summary_text", it.text.String()}}
}

func (c *content) encode() any {
	if c.refusal {
		return refusal{"refusal", c.text.String()}
	}
	return outputText{"output_text", c.text.String(), orEmpty(c.annotations), orEmpty(c.logprobs)}
}

func orEmpty(list []json.RawMessage) []json.RawMessage {
	if list == nil {
		return []json.RawMessage{}
	}
	return list
}

// prefixes are the prefixes of item ids; OpenAI's server rejects others when items are
// sent back. ownMark follows it in ids that we make, so that they can be recognized: no
// server has ever seen those.
var prefixes = map[string]string{itemMessage: "msg_", itemCall: "fc_", itemReasoning: "rs_"}

const ownMark = "spiced_"

// newItem begins an item. Its id combines the response id and its index, so that it is
// unique among all answers.
func (e *encoder) newItem(kind string) *item {
	it := &item{index: len(e.output), kind: kind, status: statusInProgress}
	it.id = prefixes[kind] + ownMark + strings.TrimPrefix(e.options.ID, "resp_") + "_" + strconv.Itoa(it.index)
	e.output = append(e.output, it)
	return it
}

// added writes the event of an item that has begun.
func (e *encoder) added(it *item) {
	e.emit(event{Type: "response.output_item.added", OutputIndex: &it.index, Item: it.encode()})
}

// ensure returns the open item if it has that kind, else closes it and begins one.
func (e *encoder) ensure(kind string) *item { return e.ensureNamed(kind, "") }

// ensureNamed is ensure with the provider's id for a new item.
func (e *encoder) ensureNamed(kind, id string) *item {
	if e.open != nil && e.open.kind == kind {
		return e.open
	}
	e.closeOpen(statusCompleted)
	e.open = e.newItem(kind)
	if id != "" {
		e.open.id = id
	}
	e.added(e.open)
	return e.open
}

// ensureContent returns the last part of the open message if it has that kind, else
// begins one.
func (e *encoder) ensureContent(isRefusal bool) (*item, *content, int) {
	it := e.ensure(itemMessage)
	last := len(it.content) - 1
	if last >= 0 && it.content[last].refusal == isRefusal {
		return it, it.content[last], last
	}
	e.closeContent(it)
	c := &content{refusal: isRefusal}
	it.content = append(it.content, c)
	last++
	e.emit(event{
		Type: "response.content_part.added", OutputIndex: &it.index, ItemID: it.id, ContentIndex: &last,
		Part: c.encode(),
	})
	return it, c, last
}

// detail is what a text delta of this form has in addition. ID is that of the reasoning
// item that begins with it.
type detail struct {
	ID         string            `json:"id,omitempty"`
	Logprobs   []json.RawMessage `json:"logprobs,omitempty"`
	Annotation json.RawMessage   `json:"annotation,omitempty"`

	cited []json.RawMessage // annotations of Chat Completions, in this form
}

func detailOf(d chat.Delta) detail {
	var more detail
	if d.Form == chat.FormOpenAI {
		more.Logprobs, more.cited = wire.Logprobs(d), wire.Citations(d)
	}
	if d.Raw != nil && d.Form == chat.FormResponses && json.Unmarshal(d.Raw, &more) != nil {
		return detail{}
	}
	return more
}

func (e *encoder) text(d chat.Delta) {
	more := detailOf(d)
	annotations := more.cited
	if more.Annotation != nil {
		annotations = append(annotations, more.Annotation)
	}
	if d.Text == "" && annotations == nil && more.Logprobs == nil {
		return
	}
	it, c, at := e.ensureContent(false)
	c.text.WriteString(d.Text)
	c.logprobs = append(c.logprobs, more.Logprobs...)
	if d.Text != "" {
		e.emit(event{
			Type: "response.output_text.delta", OutputIndex: &it.index, ItemID: it.id, ContentIndex: &at,
			Delta: &d.Text, Logprobs: orEmpty(more.Logprobs),
		})
	}
	for _, annotation := range annotations {
		number := len(c.annotations)
		c.annotations = append(c.annotations, annotation)
		e.emit(event{
			Type: "response.output_text.annotation.added", OutputIndex: &it.index, ItemID: it.id, ContentIndex: &at,
			AnnotationIndex: &number, Annotation: annotation,
		})
	}
}

func (e *encoder) refusal(text string) {
	if text == "" {
		return
	}
	it, c, at := e.ensureContent(true)
	c.text.WriteString(text)
	e.emit(event{Type: "response.refusal.delta", OutputIndex: &it.index, ItemID: it.id, ContentIndex: &at, Delta: &text})
}

// thinking appends to the summary of a reasoning item.
func (e *encoder) thinking(text, id string) {
	if text == "" {
		return
	}
	it, first := e.ensureNamed(itemReasoning, id), 0
	if it.text.Len() == 0 {
		e.emit(event{
			Type: "response.reasoning_summary_part.added", OutputIndex: &it.index, ItemID: it.id,
			SummaryIndex: &first, Part: summaryText{"summary_text", ""},
		})
	}
	it.text.WriteString(text)
	e.emit(event{
		Type: "response.reasoning_summary_text.delta", OutputIndex: &it.index, ItemID: it.id,
		SummaryIndex: &first, Delta: &text,
	})
}

func (e *encoder) call(d chat.Delta) {
	e.closeOpen(statusCompleted)
	it := e.newItem(itemCall)
	it.call = d.Call
	e.calls[d.Index] = it
	e.added(it)
}

func (e *encoder) arguments(d chat.Delta) {
	it := e.calls[d.Index]
	if it == nil || it.status != statusInProgress || d.Text == "" {
		return
	}
	it.text.WriteString(d.Text)
	e.emit(event{Type: "response.function_call_arguments.delta", OutputIndex: &it.index, ItemID: it.id, Delta: &d.Text})
}

func (e *encoder) callEnd(index int) {
	if it := e.calls[index]; it != nil && it.status == statusInProgress {
		e.closeItem(it, statusCompleted)
	}
}

// part handles a part that has ended: thinking with its signature, or an item of this
// form.
func (e *encoder) part(p *chat.Part) {
	switch {
	case p == nil:
	case p.Kind == chat.PartThinking:
		e.thought(p)
	case p.Kind == chat.PartOther && p.Form == chat.FormResponses && json.Valid(p.Raw):
		e.closeOpen(statusCompleted)
		it := e.newItem("")
		it.raw = p.Raw
		e.added(it)
		e.closeItem(it, statusCompleted)
	}
}

func (e *encoder) thought(p *chat.Part) {
	var id string
	if p.Form == chat.FormResponses {
		id = itemID(p.Raw)
	}
	it := e.ensureNamed(itemReasoning, id)
	if it.text.Len() == 0 {
		e.thinking(p.Text, id)
	}
	switch {
	case p.Raw != nil && p.Form == chat.FormResponses:
		e.closeSummary(it)
		it.raw = p.Raw
		if id != it.id {
			it.raw = withID(p.Raw, it.id)
		}
	case p.Raw != nil:
		it.sealed = seal(p.Form, p.Raw)
	}
	e.closeOpen(statusCompleted)
}

// closeOpen ends the message or reasoning being written.
func (e *encoder) closeOpen(status string) {
	if e.open != nil {
		e.closeItem(e.open, status)
		e.open = nil
	}
}

// closeItem writes the events that end an item.
func (e *encoder) closeItem(it *item, status string) {
	it.status = status
	switch it.kind {
	case itemMessage:
		e.closeContent(it)
	case itemReasoning:
		if it.raw == nil {
			e.closeSummary(it)
		}
	case itemCall:
		arguments := it.text.String()
		e.emit(event{
			Type: "response.function_call_arguments.done", OutputIndex: &it.index, ItemID: it.id,
			Arguments: &arguments,
		})
	}
	e.emit(event{Type: "response.output_item.done", OutputIndex: &it.index, Item: it.encode()})
}

// closeContent ends the last part of a message.
func (e *encoder) closeContent(it *item) {
	last := len(it.content) - 1
	if last < 0 || it.content[last].done {
		return
	}
	c := it.content[last]
	c.done = true
	text := c.text.String()
	done := event{
		Type: "response.output_text.done", OutputIndex: &it.index, ItemID: it.id, ContentIndex: &last,
		Text: &text, Logprobs: orEmpty(c.logprobs),
	}
	if c.refusal {
		done = event{
			Type: "response.refusal.done", OutputIndex: &it.index, ItemID: it.id, ContentIndex: &last,
			Refusal: &text,
		}
	}
	e.emit(done)
	e.emit(event{
		Type: "response.content_part.done", OutputIndex: &it.index, ItemID: it.id, ContentIndex: &last,
		Part: c.encode(),
	})
}

func (e *encoder) closeSummary(it *item) {
	if it.text.Len() == 0 {
		return
	}
	first, text := 0, it.text.String()
	e.emit(event{
		Type: "response.reasoning_summary_text.done", OutputIndex: &it.index, ItemID: it.id, SummaryIndex: &first,
		Text: &text,
	})
	e.emit(event{
		Type: "response.reasoning_summary_part.done", OutputIndex: &it.index, ItemID: it.id, SummaryIndex: &first,
		Part: summaryText{"summary_text", text},
	})
}
