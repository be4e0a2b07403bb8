package models

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/anthropic"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools/dialect"
)

// anthropicAPI is the provider `anthropic:<model>`,
// https://docs.claude.com/en/api/messages.
var anthropicAPI = provider{
	name: "anthropic", example: "anthropic:claude-sonnet-4-5", endpoint: "https://api.anthropic.com",
	routes: []string{"/messages"},
	key:    "anthropic_api_key",
	params: []spicepod.Param{
		{Name: "anthropic_api_key", Secret: true, Doc: "Key, sent as X-Api-Key."},
		{Name: "prompt_cache", Doc: "disabled leaves the marks for the prompt cache out."},
		{Name: paramExamples, Doc: "enabled sends examples of tools as input_examples, disabled in their descriptions. " +
			"Without it: enabled for api.anthropic.com, as other servers may refuse the field."},
	},
	prefix:  "anthropic_",
	dialect: dialect.Anthropic,
	overrides: []override{
		{name: "max_tokens", kind: spicepod.ParamInt},
		{name: "temperature", kind: spicepod.ParamNumber},
		{name: "top_p", kind: spicepod.ParamNumber},
		{name: "top_k", kind: spicepod.ParamInt},
		{name: "stop_sequences", kind: spicepod.ParamTexts},
		{name: paramThinking, kind: spicepod.ParamObject},
		{name: "output_config", kind: spicepod.ParamObject},
		{name: "metadata", kind: spicepod.ParamObject},
		{name: "service_tier", kind: spicepod.ParamText},
	},
	open: openAnthropic,
}

// paramExamples says where examples of tools are sent.
const paramExamples = "input_examples"

// paramThinking is the field that enables thinking.
const paramThinking = "thinking"

func openAnthropic(e *entry, s *settings) chat.Provider {
	// Compatible servers often document their base URL with /v1.
	s.endpoint.Path = strings.TrimSuffix(s.endpoint.Path, "/v1")
	examples := []string{"disabled", "enabled"} // the first is the default
	if s.endpoint.Hostname() == "api.anthropic.com" {
		slices.Reverse(examples)
	}
	header := http.Header{}
	if key := e.Header("anthropic_api_key"); key != "" {
		header.Set("X-Api-Key", key)
	}
	return anthropic.NewProvider(anthropic.ProviderOptions{
		Endpoint: e.upstream(s, header), Model: e.id, Defaults: s.defaults, Cache: s.cache,
		Examples: e.Word(paramExamples, examples...) == "enabled",
	})
}

// thinks reports whether thinking is enabled with a budget of tokens.
func thinks(setting json.RawMessage) bool {
	var thinking struct{ Type string }
	return json.Unmarshal(setting, &thinking) == nil && thinking.Type == "enabled"
}
