package chattest

import (
	"encoding/json"
	"net/http"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// anthropic implements POST /v1/messages.
type anthropic struct {
	*exchange
	pinged bool
}

func (a *anthropic) headers(h http.Header) {
	h.Set("Request-Id", a.identifier("req_"))
	h.Set("Anthropic-Organization-Id", "org_test")
}

// typed writes an event, whose name is its type.
func (a *anthropic) typed(name string, data object) {
	data["type"] = name
	a.event(name, data)
}

func (a *anthropic) begin() {
	m := a.message([]any{}, nil)
	u := a.tokens()
	u["output_tokens"] = min(1, a.usage().Output) // known by now
	m["usage"] = u
	a.typed("message_start", object{"message": m})
}

func (a *anthropic) open(p *part) {
	block := object{"type": "text", "text": ""}
	switch p.kind {
	case stepThinking:
		block = object{"type": "thinking", "thinking": "", "signature": ""}
	case stepBegin:
		block = object{"type": "tool_use", "id": p.id, "name": p.name, "input": object{}}
	}
	a.typed("content_block_start", object{"index": p.index, "content_block": block})
	if !a.pinged {
		a.pinged = true
		a.typed("ping", object{})
	}
	if p.kind == stepBegin {
		a.piece(p, "") // as Anthropic's own streams do
	}
}

func (a *anthropic) delta(p *part, kind, field, piece string) {
	a.typed("content_block_delta", object{"index": p.index, "delta": object{"type": kind, field: piece}})
}

func (a *anthropic) piece(p *part, piece string) {
	switch p.kind {
	case stepText:
		a.delta(p, "text_delta", "text", piece)
	case stepThinking:
		a.delta(p, "thinking_delta", "thinking", piece)
	default:
		a.delta(p, "input_json_delta", "partial_json", piece)
	}
}

func (a *anthropic) shut(p *part) {
	if p.kind == stepThinking {
		a.delta(p, "signature_delta", "signature", a.signature())
	}
	a.typed("content_block_stop", object{"index": p.index})
}

func (a *anthropic) signature() string { return a.identifier("signature-") }

func (a *anthropic) end() {
	a.typed("message_delta", object{
		"delta": object{"stop_reason": a.stop(), "stop_sequence": nil}, "usage": a.tokens(),
	})
	a.typed("message_stop", object{})
}

func (a *anthropic) fail(message string) {
	a.typed("error", object{"error": object{"type": "overloaded_error", "message": message}})
}

func (a *anthropic) stop() string {
	switch a.reason() {
	case chat.ReasonCalls:
		return "tool_use"
	case chat.ReasonLength:
		return "max_tokens"
	case chat.ReasonFilter:
		return "refusal"
	case chat.ReasonPause:
		return "pause_turn"
	}
	return "end_turn"
}

// tokens excludes cached tokens from the input, as Anthropic does.
func (a *anthropic) tokens() object {
	u := a.usage()
	return object{
		"input_tokens": u.Input - u.CacheRead - u.CacheWrite, "output_tokens": u.Output,
		"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
	}
}

func (a *anthropic) message(blocks []any, stop any) object {
	return object{
		"id": a.identifier("msg_"), "type": "message", "role": "assistant", "model": a.request.Model,
		"content": blocks, "stop_reason": stop, "stop_sequence": nil, "usage": a.tokens(),
	}
}

func (a *anthropic) whole() object {
	blocks := []any{}
	for _, p := range a.parts {
		blocks = append(blocks, a.block(p))
	}
	return a.message(blocks, a.stop())
}

func (a *anthropic) block(p *part) object {
	switch p.kind {
	case stepText:
		return object{"type": "text", "text": p.text}
	case stepThinking:
		return object{"type": "thinking", "thinking": p.text, "signature": a.signature()}
	}
	return object{"type": "tool_use", "id": p.id, "name": p.name, "input": inputOf(p.text)}
}

// inputOf returns the arguments as JSON. Invalid arguments cannot be sent in an answer
// that is not streamed; they become a string.
func inputOf(arguments string) any {
	if arguments == "" {
		return object{}
	}
	if !json.Valid([]byte(arguments)) {
		return arguments
	}
	return json.RawMessage(arguments)
}

func (a *anthropic) failure(f fault) object {
	return object{
		"type": "error", "request_id": a.identifier("req_"),
		"error": object{"type": faults[f.kind].anthropicType, "message": f.message},
	}
}
