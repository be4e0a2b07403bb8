package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
)

// wireChunk is what a provider sends: a chat.completion.chunk, a whole chat.completion,
// or an error. The fields cover the known differences of compatible servers.
type wireChunk struct {
	Choices []wireChoice    `json:"choices"`
	Usage   *gotUsage       `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Object  string          `json:"object"`
	Message text            `json:"message"` // vLLM's errors have it here
	Code    any             `json:"code"`
	Type    text            `json:"type"`
}

type wireChoice struct {
	Index        int             `json:"index"`
	Delta        *wireDelta      `json:"delta"`
	Whole        *wireDelta      `json:"message"`
	Logprobs     json.RawMessage `json:"logprobs"`
	FinishReason string          `json:"finish_reason"`
	Usage        *gotUsage       `json:"usage"` // Moonshot
}

type wireDelta struct {
	Content     text            `json:"content"`
	Reasoning   text            `json:"reasoning_content"`
	Thinking    text            `json:"reasoning"` // OpenRouter, Ollama
	Refusal     text            `json:"refusal"`
	ToolCalls   []wireCall      `json:"tool_calls"`
	Function    *wireFunction   `json:"function_call"` // predecessor of tool_calls
	Annotations json.RawMessage `json:"annotations"`
}

type wireCall struct {
	Index    *int         `json:"index"`
	ID       string       `json:"id"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name      string    `json:"name"`
	Arguments arguments `json:"arguments"`
}

// text is a string, the text of a list of parts (Mistral), or empty for anything else.
type text string

// UnmarshalJSON never fails on valid JSON.
func (t *text) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(t))
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(raw, &parts) == nil {
		for _, p := range parts {
			*t += text(p.Text)
		}
	}
	return nil
}

// arguments is a string; some servers send the object itself.
type arguments string

// UnmarshalJSON never fails on valid JSON.
func (a *arguments) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(a))
	}
	if !wire.IsNull(raw) {
		*a = arguments(raw)
	}
	return nil
}

type gotUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Cached     int64 `json:"cached_tokens"`           // Moonshot
	CacheHit   int64 `json:"prompt_cache_hit_tokens"` // DeepSeek
	Input      *struct {
		Cached  int64 `json:"cached_tokens"`
		Written int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	Output *struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// failure returns the error in a chunk: its message and its kind.
func (c *wireChunk) failure() (message, kind string, found bool) {
	if c.Error == nil || wire.IsNull(c.Error) {
		return string(c.Message), kindName(c.Code, string(c.Type)), c.Object == "error"
	}
	var e struct {
		Message    string
		Code, Type any
	}
	if json.Unmarshal(c.Error, &e) != nil {
		var s string
		_ = json.Unmarshal(c.Error, &s)
		return s, "", true
	}
	kind, _ = e.Type.(string)
	return e.Message, kindName(e.Code, kind), true
}

// kindName returns the code and the type of an error as one text.
func kindName(code any, kind string) string {
	encoded, _ := json.Marshal(code)
	return strings.ToLower(string(bytes.Trim(encoded, `"`)) + " " + kind)
}
