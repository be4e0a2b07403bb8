package models

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/anthropic"
)

// anthropicAPI is `anthropic:<model>`, https://docs.claude.com/en/api/messages.
func anthropicAPI() provider {
	return provider{
		name: "anthropic", example: "anthropic:claude-sonnet-4-5", endpoint: "https://api.anthropic.com",
		routes:  []string{"/messages"},
		key:     "anthropic_api_key",
		params:  []string{"anthropic_api_key", "prompt_cache"},
		private: []string{"anthropic_api_key", "endpoint"},
		prefix:  "anthropic_",
		overrides: []override{
			{name: "max_tokens", kind: whole},
			{name: "temperature", kind: number},
			{name: "top_p", kind: number},
			{name: "top_k", kind: whole},
			{name: "stop_sequences", kind: texts},
			{name: paramThinking, kind: object},
			{name: "output_config", kind: object},
			{name: "metadata", kind: object},
			{name: "service_tier", kind: word},
		},
		open: openAnthropic,
	}
}

// paramThinking is the field that makes a model think.
const paramThinking = "thinking"

func openAnthropic(e *entry, s *settings) chat.Provider {
	// Compatible servers are often told of with the /v1 that every path has.
	s.endpoint.Path = strings.TrimSuffix(s.endpoint.Path, "/v1")
	header := http.Header{}
	if key := e.Header("anthropic_api_key"); key != "" {
		header.Set("X-Api-Key", key)
	}
	return anthropic.NewProvider(anthropic.ProviderOptions{
		Endpoint: e.upstream(s, header), Model: e.id, Defaults: s.defaults, Cache: s.cache,
	})
}

// thinks reports whether the model shall think before it answers, by a budget
// of tokens.
func thinks(setting json.RawMessage) bool {
	var thinking struct{ Type string }
	return json.Unmarshal(setting, &thinking) == nil && thinking.Type == "enabled"
}
