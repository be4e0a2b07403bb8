package chattest

import (
	"fmt"
	"net/http"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// responses implements POST /v1/responses.
type responses struct {
	*exchange
	sequence int // of the next event
}

func (r *responses) headers(h http.Header) {
	h.Set("X-Request-Id", r.identifier("req_"))
	h.Set("Openai-Processing-Ms", "1")
}

// typed writes a numbered event, whose name is its type.
func (r *responses) typed(name string, data object) {
	data["type"], data["sequence_number"] = name, r.sequence
	r.sequence++
	r.event(name, data)
}

// of writes an event about a part.
func (r *responses) of(p *part, name string, more object) {
	data := object{"item_id": r.item(p), "output_index": p.index}
	for key, value := range more {
		data[key] = value
	}
	r.typed(name, data)
}

// item returns the id of a part.
func (r *responses) item(p *part) string {
	prefix := map[stepKind]string{stepText: "msg_", stepThinking: "rs_", stepBegin: "fc_"}[p.kind]
	return fmt.Sprintf("%s_%d", r.identifier(prefix), p.index)
}

func (r *responses) begin() {
	r.typed("response.created", object{"response": r.response("in_progress")})
	r.typed("response.in_progress", object{"response": r.response("in_progress")})
}

func (r *responses) open(p *part) {
	r.typed("response.output_item.added", object{"output_index": p.index, "item": r.output(p, "in_progress")})
	switch p.kind {
	case stepText:
		r.of(p, "response.content_part.added", object{"content_index": 0, "part": outputText("")})
	case stepThinking:
		r.of(p, "response.reasoning_summary_part.added", object{"summary_index": 0, "part": summaryText("")})
	}
}

func outputText(text string) object {
	return object{"type": "output_text", "annotations": []any{}, "logprobs": []any{}, "text": text}
}

func summaryText(text string) object { return object{"type": "summary_text", "text": text} }

func (r *responses) piece(p *part, piece string) {
	switch p.kind {
	case stepText:
		r.of(p, "response.output_text.delta", object{"content_index": 0, "delta": piece, "logprobs": []any{}})
	case stepThinking:
		r.of(p, "response.reasoning_summary_text.delta", object{"summary_index": 0, "delta": piece})
	default:
		r.of(p, "response.function_call_arguments.delta", object{"delta": piece})
	}
}

func (r *responses) shut(p *part) {
	switch p.kind {
	case stepText:
		r.of(p, "response.output_text.done", object{"content_index": 0, "text": p.text, "logprobs": []any{}})
		r.of(p, "response.content_part.done", object{"content_index": 0, "part": outputText(p.text)})
	case stepThinking:
		r.of(p, "response.reasoning_summary_text.done", object{"summary_index": 0, "text": p.text})
		r.of(p, "response.reasoning_summary_part.done", object{"summary_index": 0, "part": summaryText(p.text)})
	default:
		r.of(p, "response.function_call_arguments.done", object{"name": p.name, "arguments": p.text})
	}
	r.typed("response.output_item.done", object{"output_index": p.index, "item": r.output(p, "completed")})
}

// output returns a part as an item of the output.
func (r *responses) output(p *part, status string) object {
	done := status == "completed"
	item := object{"id": r.item(p), "status": status}
	switch p.kind {
	case stepText:
		item["type"], item["role"], item["content"] = "message", "assistant", []any{}
		if done {
			item["content"] = []any{outputText(p.text)}
		}
	case stepThinking:
		item["type"], item["summary"] = "reasoning", []any{}
		delete(item, "status") // reasoning has it only when it is sent back
		if done {
			item["summary"] = []any{summaryText(p.text)}
		}
		if r.request.encrypted {
			item["encrypted_content"] = r.identifier("encrypted-")
		}
	default:
		item["type"], item["call_id"], item["name"], item["arguments"] = "function_call", p.id, p.name, ""
		if done {
			item["arguments"] = p.text
		}
	}
	return item
}

func (r *responses) end() {
	status := r.status()
	r.typed("response."+status, object{"response": r.whole()})
}

func (r *responses) status() string {
	if r.incomplete() != nil {
		return "incomplete"
	}
	return "completed"
}

// incomplete returns why an answer is incomplete.
func (r *responses) incomplete() any {
	switch r.reason() {
	case chat.ReasonLength:
		return object{"reason": "max_output_tokens"}
	case chat.ReasonFilter:
		return object{"reason": "content_filter"}
	}
	return nil
}

func (r *responses) fail(message string) {
	r.typed("error", object{"code": "server_error", "message": message, "param": nil})
}

func (r *responses) response(status string) object {
	return object{
		"id": r.identifier("resp_"), "object": "response", "created_at": created, "status": status, "model": r.request.Model,
		"error": nil, "incomplete_details": nil, "instructions": nil, "metadata": object{}, "output": []any{},
		"parallel_tool_calls": true, "previous_response_id": nil, "store": false, "temperature": 1, "top_p": 1,
		"text": object{"format": object{"type": "text"}}, "tool_choice": "auto", "tools": []any{}, "truncation": "disabled", "usage": nil,
	}
}

func (r *responses) whole() object {
	response := r.response(r.status())
	output := []any{}
	for _, p := range r.parts {
		output = append(output, r.output(p, "completed"))
	}
	u := r.usage()
	response["output"], response["incomplete_details"] = output, r.incomplete()
	response["usage"] = object{
		"input_tokens": u.Input, "output_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"input_tokens_details":  object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		"output_tokens_details": object{"reasoning_tokens": 0},
	}
	return response
}

func (r *responses) failure(f fault) object { return openAIFailure(f) }
