package responses

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/translation"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
	"github.com/spiced-sql/spiced/tools"
)

// response is the response object, in OpenAI's order of keys.
type response struct {
	ID        string         `json:"id"`
	Object    string         `json:"object"`
	CreatedAt int64          `json:"created_at"` // seconds since the Unix epoch
	Status    string         `json:"status"`
	Error     *responseError `json:"error"`
	Cut       *incomplete    `json:"incomplete_details"`
	Model     string         `json:"model"`
	Output    []any          `json:"output"`
	Usage     *usage         `json:"usage"`
	*echo
}

// echo are the fields of the request, or their defaults, that the response repeats.
type echo struct {
	Background        json.RawMessage `json:"background"`
	Instructions      json.RawMessage `json:"instructions"`
	MaxOutputTokens   json.RawMessage `json:"max_output_tokens"`
	MaxToolCalls      json.RawMessage `json:"max_tool_calls"`
	Metadata          json.RawMessage `json:"metadata"`
	ParallelToolCalls json.RawMessage `json:"parallel_tool_calls"`
	PreviousID        json.RawMessage `json:"previous_response_id"`
	PromptCacheKey    json.RawMessage `json:"prompt_cache_key"`
	Reasoning         json.RawMessage `json:"reasoning"`
	SafetyIdentifier  json.RawMessage `json:"safety_identifier"`
	ServiceTier       json.RawMessage `json:"service_tier"`
	Store             json.RawMessage `json:"store"`
	Temperature       json.RawMessage `json:"temperature"`
	Text              json.RawMessage `json:"text"`
	ToolChoice        json.RawMessage `json:"tool_choice"`
	Tools             json.RawMessage `json:"tools"`
	TopLogprobs       json.RawMessage `json:"top_logprobs"`
	TopP              json.RawMessage `json:"top_p"`
	Truncation        json.RawMessage `json:"truncation"`
	User              json.RawMessage `json:"user"`
}

// newEcho returns the fields that were honoured. What the request does not have, and the
// runtime does not decide, is null: it is the provider's.
func newEcho(r *Request) *echo {
	var raw map[string]json.RawMessage
	var ignored []string
	if r != nil {
		raw, ignored = r.raw, r.Ignored
	}
	of := func(key, fallback string) json.RawMessage {
		if value, ok := raw[key]; ok && !wire.IsNull(value) && !slices.Contains(ignored, key) {
			return honoured(key, value, ignored)
		}
		return json.RawMessage(fallback)
	}
	return &echo{
		Background: of("background", "false"), Instructions: of("instructions", "null"),
		MaxOutputTokens: of("max_output_tokens", "null"), MaxToolCalls: of("max_tool_calls", "null"),
		Metadata: of("metadata", "{}"), ParallelToolCalls: of("parallel_tool_calls", "true"),
		PreviousID: of("previous_response_id", "null"), PromptCacheKey: of("prompt_cache_key", "null"),
		Reasoning: of("reasoning", `{"effort":null,"summary":null}`), SafetyIdentifier: of("safety_identifier", "null"),
		ServiceTier: of("service_tier", "null"), Store: of("store", "true"),
		Temperature: of("temperature", "null"), Text: of("text", `{"format":{"type":"text"}}`),
		ToolChoice: of("tool_choice", `"auto"`), Tools: of("tools", "[]"),
		TopLogprobs: of("top_logprobs", "0"), TopP: of("top_p", "null"),
		Truncation: of("truncation", `"disabled"`), User: of("user", "null"),
	}
}

// honoured returns a field without what has no effect at the model's provider.
func honoured(key string, value json.RawMessage, ignored []string) json.RawMessage {
	if key == "temperature" && slices.Contains(ignored, translation.AboveOne) {
		return json.RawMessage("1")
	}
	var fields map[string]json.RawMessage
	for _, field := range ignored {
		inner, ok := strings.CutPrefix(field, key+".")
		if !ok || fields == nil && json.Unmarshal(value, &fields) != nil {
			continue
		}
		fields[inner] = json.RawMessage("null")
		value, _ = tools.Encode(fields) // it was decoded from JSON
	}
	return value
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

// usage counts tokens; input includes cached ones, output includes reasoning.
type usage struct {
	Input        int64         `json:"input_tokens"`
	InputDetails inputDetails  `json:"input_tokens_details"`
	Output       int64         `json:"output_tokens"`
	Details      outputDetails `json:"output_tokens_details"`
	Total        int64         `json:"total_tokens"`
}

type inputDetails struct {
	Cached     int64 `json:"cached_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
}

type outputDetails struct {
	Reasoning int64 `json:"reasoning_tokens"`
}

func newUsage(u chat.Usage) *usage {
	return &usage{
		u.Input,
		inputDetails{u.CacheRead, u.CacheWrite},
		u.Output,
		outputDetails{u.Reasoning},
		u.Input + u.Output,
	}
}

func (u *usage) neutral() chat.Usage {
	return chat.Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.InputDetails.Cached,
		CacheWrite: u.InputDetails.CacheWrite, Reasoning: u.Details.Reasoning,
	}
}

// The states of a response and of items.
const (
	statusInProgress = "in_progress"
	statusCompleted  = "completed"
	statusIncomplete = "incomplete"
	statusFailed     = "failed"
)

// The types of items with a neutral form.
const (
	itemMessage   = "message"
	itemCall      = "function_call"
	itemReasoning = "reasoning"
)

// messageItem is an item of type message.
type messageItem struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Status  string `json:"status"`
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

// outputText is a part of a message. Its lists are present even when empty: generated
// clients rely on that.
type outputText struct {
	Type        string            `json:"type"`
	Text        string            `json:"text"`
	Annotations []json.RawMessage `json:"annotations"`
	Logprobs    []json.RawMessage `json:"logprobs"`
}

type refusal struct {
	Type    string `json:"type"`
	Refusal string `json:"refusal"`
}

// callItem is an item of type function_call.
type callItem struct {
	ID        string `json:"id,omitempty"`
	Type      string `json:"type"`
	Status    string `json:"status,omitempty"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	Arguments string `json:"arguments"`
}

// reasoningItem is an item of type reasoning.
type reasoningItem struct {
	ID        string        `json:"id"`
	Type      string        `json:"type"`
	Summary   []summaryText `json:"summary"`
	Encrypted string        `json:"encrypted_content,omitempty"`
}

type summaryText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func newError(e *chat.Error) wire.Error {
	o := wire.NewError(e)
	if errors.Is(e, errNotStored) {
		o.Code = wire.OrNull("previous_response_not_found")
	}
	return o
}

// failedCode returns the code of a failed response; OpenAI defines few.
func failedCode(code errcode.Code) string {
	switch code {
	case errcode.RateLimited:
		return "rate_limit_exceeded"
	case errcode.InvalidRequest, errcode.RequestTooLarge:
		return "invalid_prompt"
	}
	return "server_error"
}

// EncodeError returns the body of an error response:
// {"error":{message,type,param,code}}.
func EncodeError(e *chat.Error) []byte { return newError(e).Encode() }
