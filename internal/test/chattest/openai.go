package chattest

import (
	"net/http"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// openAI implements POST /v1/chat/completions.
type openAI struct {
	*exchange
	spoke bool // the chunk with the role was sent
}

func (o *openAI) headers(h http.Header) {
	h.Set("X-Request-Id", o.identifier("req_"))
	h.Set("Openai-Processing-Ms", "1")
}

func (o *openAI) frame(kind string, choices ...any) object {
	return object{
		"id": o.identifier("chatcmpl-"), "object": kind, "created": created, "model": o.request.Model,
		"service_tier": "default", "system_fingerprint": "fp_test", "choices": append([]any{}, choices...),
	}
}

// chunk writes a delta. If the usage comes at the end, every chunk before has a null
// usage.
func (o *openAI) chunk(delta object, finish any) {
	c := o.frame("chat.completion.chunk", object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish})
	if o.request.usage {
		c["usage"] = nil
	}
	o.event("", c)
}

func (o *openAI) begin() {}

// role writes the chunk that precedes all others; content is null in an answer that
// begins with calls.
func (o *openAI) role(content any) {
	if !o.spoke {
		o.spoke = true
		o.chunk(object{"role": "assistant", "content": content, "refusal": nil}, nil)
	}
}

func (o *openAI) open(p *part) {
	if p.kind != stepBegin {
		o.role("")
		return
	}
	o.role(nil)
	o.call(object{
		"index": p.call, "id": p.id, "type": "function",
		"function": object{"name": p.name, "arguments": ""},
	})
}

func (o *openAI) call(delta object) { o.chunk(object{"tool_calls": []any{delta}}, nil) }

func (o *openAI) piece(p *part, piece string) {
	switch p.kind {
	case stepText:
		o.chunk(object{"content": piece}, nil)
	case stepThinking:
		o.chunk(object{"reasoning_content": piece}, nil)
	default:
		o.call(object{"index": p.call, "function": object{"arguments": piece}})
	}
}

func (o *openAI) shut(*part) {}

func (o *openAI) end() {
	o.role("")
	o.chunk(object{}, o.finish())
	if o.request.usage {
		last := o.frame("chat.completion.chunk")
		last["usage"] = o.tokens()
		o.event("", last)
	}
	o.write([]byte("data: [DONE]\n\n"))
}

func (o *openAI) fail(message string) {
	o.event("", object{"error": object{"message": message, "type": "server_error", "param": nil, "code": nil}})
}

func (o *openAI) finish() string {
	switch o.reason() {
	case chat.ReasonCalls:
		return "tool_calls"
	case chat.ReasonLength:
		return "length"
	case chat.ReasonFilter:
		return "content_filter"
	}
	return "stop"
}

func (o *openAI) tokens() object {
	u := o.usage()
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite, "audio_tokens": 0},
		"completion_tokens_details": object{"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
	}
}

func (o *openAI) whole() object {
	message := object{"role": "assistant", "content": nil, "refusal": nil, "annotations": []any{}}
	if text := o.text(stepText); text != "" || len(o.calls()) == 0 {
		message["content"] = text
	}
	if thinking := o.text(stepThinking); thinking != "" {
		message["reasoning_content"] = thinking
	}
	var calls []any
	for _, p := range o.calls() {
		calls = append(calls, object{"id": p.id, "type": "function", "function": object{"name": p.name, "arguments": p.text}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	c := o.frame("chat.completion", object{"index": 0, "message": message, "logprobs": nil, "finish_reason": o.finish()})
	c["usage"] = o.tokens()
	return c
}

func (o *openAI) failure(f fault) object { return openAIFailure(f) }

func openAIFailure(f fault) object {
	name := faults[f.kind]
	return object{"error": object{"message": f.message, "type": name.openAIType, "param": nil, "code": name.openAICode}}
}
