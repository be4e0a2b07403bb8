package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
)

// decoder converts the events of one answer to deltas.
type decoder struct {
	fail func(errcode.Code, string, ...any) *chat.Error

	out      []chat.Delta
	began    bool
	finished bool   // DeltaFinish was emitted
	reason   string // the provider's; "" until it is known
	calls    calls
}

// Event decodes an event.
func (d *decoder) Event(e upstream.Event) ([]chat.Delta, bool, error) {
	d.out = d.out[:0]
	if failed := d.event(e.Type, bytes.TrimSpace(e.Data)); failed != nil {
		return d.out, false, failed
	}
	return d.out, d.finished, nil
}

func (d *decoder) event(kind string, data []byte) *chat.Error {
	switch {
	case len(data) == 0:
		return nil
	case string(data) == "[DONE]":
		return d.finish()
	}
	var c wireChunk
	if err := json.Unmarshal(data, &c); err != nil {
		return d.fail(errcode.StreamBroken, "the provider's answer is invalid: %s", err)
	}
	if message, code, found := c.failure(); found || kind == "error" {
		return d.failed(message, code)
	}
	if kind == upstream.EventJSON {
		return d.whole(&c)
	}
	return d.chunk(&c)
}

// End handles the end of the stream. An answer with a finish reason is complete, with
// or without [DONE].
func (d *decoder) End() ([]chat.Delta, error) {
	d.out = d.out[:0]
	if d.reason == "" {
		return nil, d.fail(errcode.StreamBroken, "the provider's answer ended unexpectedly: it has no finish_reason")
	}
	if failed := d.finish(); failed != nil {
		return d.out, failed
	}
	return d.out, nil
}

func (d *decoder) emit(delta chat.Delta) { d.out = append(d.out, delta) }

func (d *decoder) start() {
	if !d.began {
		d.began = true
		d.emit(chat.Delta{Kind: chat.DeltaStart})
	}
}

func (d *decoder) chunk(c *wireChunk) *chat.Error {
	d.start()
	for i := range c.Choices {
		if choice := &c.Choices[i]; choice.Index == 0 {
			if failed := d.choice(choice); failed != nil {
				return failed
			}
		}
	}
	d.usage(c.Usage)
	return nil
}

func (d *decoder) choice(c *wireChoice) *chat.Error {
	if c.Delta == nil {
		c.Delta = c.Whole
	}
	if c.Delta != nil {
		if failed := d.delta(c.Delta, d.raw(c)); failed != nil {
			return failed
		}
	}
	d.usage(c.Usage)
	if c.FinishReason == "" {
		return nil
	}
	d.reason = c.FinishReason
	switch d.reason {
	case "error", "insufficient_system_resource", "network_error": // of OpenRouter, DeepSeek and Z.AI
		return d.fail(errcode.ProviderError, "the provider failed in the middle of the answer")
	}
	return d.endCalls()
}

// raw returns the fields of the chunk that a delta does not have, usually nil.
func (d *decoder) raw(c *wireChoice) json.RawMessage {
	var m more
	if c.Logprobs != nil && !wire.IsNull(c.Logprobs) {
		m.Logprobs = c.Logprobs
	}
	if notes := c.Delta.Annotations; notes != nil && !wire.IsNull(notes) && string(notes) != "[]" {
		m.Annotations = notes
	}
	if m.Logprobs == nil && m.Annotations == nil {
		return nil
	}
	encoded, _ := json.Marshal(m)
	return encoded
}

func (d *decoder) delta(w *wireDelta, raw json.RawMessage) *chat.Error {
	thinking := w.Reasoning
	if thinking == "" {
		thinking = w.Thinking
	}
	before := len(d.out)
	d.text(chat.DeltaThinking, thinking)
	d.text(chat.DeltaText, w.Content)
	d.text(chat.DeltaRefusal, w.Refusal)
	if raw != nil {
		if len(d.out) == before { // no delta to attach it to
			d.emit(chat.Delta{Kind: chat.DeltaText})
		}
		last := &d.out[len(d.out)-1]
		last.Raw, last.Form = raw, chat.FormOpenAI
	}
	if w.Function != nil {
		index := 0
		w.ToolCalls = append(w.ToolCalls, wireCall{Index: &index, Function: *w.Function})
	}
	for i := range w.ToolCalls {
		if exceeded := d.calls.add(&w.ToolCalls[i], d.emit); exceeded != "" {
			return d.fail(errcode.StreamBroken, "%s", exceeded)
		}
	}
	return nil
}

func (d *decoder) text(kind chat.DeltaKind, t text) {
	if t != "" {
		d.emit(chat.Delta{Kind: kind, Text: string(t)})
	}
}

func (d *decoder) usage(u *gotUsage) {
	if u == nil || u.Prompt == 0 && u.Completion == 0 {
		return
	}
	usage := chat.Usage{Input: u.Prompt, Output: u.Completion, CacheRead: max(u.Cached, u.CacheHit)}
	if u.Input != nil {
		usage.CacheRead = max(usage.CacheRead, u.Input.Cached)
		usage.CacheWrite = u.Input.Written
	}
	if u.Output != nil {
		usage.Reasoning = u.Output.Reasoning
	}
	d.emit(chat.Delta{Kind: chat.DeltaUsage, Usage: usage})
}

// whole handles an answer that is not a stream.
func (d *decoder) whole(c *wireChunk) *chat.Error {
	if len(c.Choices) == 0 {
		return d.fail(errcode.StreamBroken, "the provider's answer is invalid: it has no choices")
	}
	for i := range c.Choices {
		if m := c.Choices[i].Whole; m != nil {
			for j := range m.ToolCalls {
				m.ToolCalls[j].Index = &j
			}
		}
	}
	if failed := d.chunk(c); failed != nil {
		return failed
	}
	return d.finish()
}

func (d *decoder) endCalls() *chat.Error {
	if !d.calls.end(d.emit) {
		return d.fail(errcode.StreamBroken, "the provider's answer has a tool call without a name")
	}
	return nil
}

func (d *decoder) finish() *chat.Error {
	d.start()
	if failed := d.endCalls(); failed != nil {
		return failed
	}
	d.finished = true
	d.emit(chat.Delta{Kind: chat.DeltaFinish, Reason: reasonOf(d.reason, d.calls.begun > 0)})
	return nil
}

// reasonOf returns the reason. Servers send stop although there are calls, and vice
// versa; those of Amazon, Google and Z.AI have names of their own for what a filter withholds.
// Other names mean a normal end.
func reasonOf(finish string, calls bool) chat.Reason {
	switch strings.ToLower(finish) {
	case "length", "max_tokens", "model_length", "model_context_window_exceeded":
		return chat.ReasonLength
	case "content_filter", "content_filtered", "guardrail_intervened", "sensitive", "safety", "recitation", "blocklist",
		"prohibited_content", "spii", "refusal":
		return chat.ReasonFilter
	}
	if calls {
		return chat.ReasonCalls
	}
	return chat.ReasonStop
}

// failed returns an error that the provider reports within its answer.
func (d *decoder) failed(message, kind string) *chat.Error {
	has := func(marks ...string) bool {
		for _, m := range marks {
			if strings.Contains(kind, m) {
				return true
			}
		}
		return false
	}
	code := errcode.ProviderError
	switch {
	case has("429", "rate_limit", "insufficient_quota"):
		code = errcode.RateLimited
	case has("401", "403", "authentication", "permission"):
		code = errcode.ProviderRefused
	case has("400", "422", "invalid_request", "context_length", "badrequest"):
		code = errcode.InvalidRequest
	}
	if message == "" {
		message = "no message"
	}
	return d.fail(code, "the provider failed in the middle of the answer: %s", message)
}
