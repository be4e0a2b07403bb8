package anthropic

import (
	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// Version is the version of the API, sent in the header anthropic-version.
const Version = "2023-06-01"

// BetaField is a field of a request's Extra, and of a model's defaults: a list of beta
// features, sent in the header anthropic-beta. Amazon Bedrock and Vertex AI accept it
// in the body under this name.
const BetaField = "anthropic_beta"

// DefaultMaxTokens limits an answer if neither the request nor the model does: the API
// requires a number, and every model accepts this one.
const DefaultMaxTokens = 4096

// Limits.
const (
	maxMarks    = 4       // cache_control marks in a request, a limit of the API
	maxBlocks   = 10_000  // of an answer
	maxRendered = 1 << 20 // bytes of tools cached for the next request
)

// reasons maps stop_reason; an unknown value means a normal end.
var reasons = map[string]chat.Reason{
	"end_turn":                      chat.ReasonStop,
	"stop_sequence":                 chat.ReasonStop,
	"tool_use":                      chat.ReasonCalls,
	"max_tokens":                    chat.ReasonLength,
	"model_context_window_exceeded": chat.ReasonLength,
	"refusal":                       chat.ReasonFilter,
	"pause_turn":                    chat.ReasonPause,
}

func reasonOf(stop string) chat.Reason {
	if r, ok := reasons[stop]; ok {
		return r
	}
	return chat.ReasonStop
}

func stopReason(r chat.Reason) string {
	switch r {
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

// errorTypes are the error types of codes; all others are api_error. Source:
// https://platform.claude.com/docs/en/api/errors.
var errorTypes = map[errcode.Code]string{
	errcode.InvalidRequest:  "invalid_request_error",
	errcode.ModelNotFound:   "not_found_error",
	errcode.RequestTooLarge: "request_too_large",
	errcode.RateLimited:     "rate_limit_error",
	errcode.ProviderTimeout: "timeout_error",
	audit.Unauthorized:      "authentication_error",
	audit.Denied:            "permission_error",
}

// errorCodes maps the error types of providers.
var errorCodes = map[string]errcode.Code{
	"invalid_request_error": errcode.InvalidRequest,
	"request_too_large":     errcode.RequestTooLarge,
	"authentication_error":  errcode.ProviderRefused,
	"permission_error":      errcode.ProviderRefused,
	"billing_error":         errcode.ProviderRefused,
	"not_found_error":       errcode.ProviderRefused,
	"rate_limit_error":      errcode.RateLimited,
	"overloaded_error":      errcode.RateLimited,
	"timeout_error":         errcode.ProviderTimeout,
}

// usage is the usage of an answer. In a message_delta the numbers are cumulative, and
// unchanged ones may be missing.
type usage struct {
	Input      *int64   `json:"input_tokens,omitempty"` // without cached tokens
	CacheWrite *int64   `json:"cache_creation_input_tokens,omitempty"`
	CacheRead  *int64   `json:"cache_read_input_tokens,omitempty"`
	Output     *int64   `json:"output_tokens,omitempty"`
	Details    *details `json:"output_tokens_details,omitempty"`
}

type details struct {
	Thinking int64 `json:"thinking_tokens"`
}

func usageOf(u chat.Usage) usage {
	fresh := max(0, u.Input-u.CacheRead-u.CacheWrite)
	w := usage{Input: &fresh, CacheWrite: &u.CacheWrite, CacheRead: &u.CacheRead, Output: &u.Output}
	if u.Reasoning > 0 {
		w.Details = &details{u.Reasoning}
	}
	return w
}

// update applies the usage of a later event.
func (u *usage) update(v usage) {
	for _, field := range []struct{ old, new **int64 }{
		{&u.Input, &v.Input}, {&u.CacheWrite, &v.CacheWrite}, {&u.CacheRead, &v.CacheRead}, {&u.Output, &v.Output},
	} {
		if *field.new != nil {
			*field.old = *field.new
		}
	}
	if v.Details != nil {
		u.Details = v.Details
	}
}

func (u *usage) neutral() chat.Usage {
	n := chat.Usage{Output: count(u.Output), CacheRead: count(u.CacheRead), CacheWrite: count(u.CacheWrite)}
	n.Input = count(u.Input) + n.CacheRead + n.CacheWrite
	if u.Details != nil {
		n.Reasoning = max(0, u.Details.Thinking)
	}
	return n
}

func count(n *int64) int64 {
	if n == nil {
		return 0
	}
	return max(0, *n)
}
