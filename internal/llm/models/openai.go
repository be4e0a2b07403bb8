package models

import (
	"net/http"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/openai"
	"github.com/spiced-sql/spiced/internal/llm/chat/responses"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools/dialect"
)

// openAI is the provider `openai:<model>`: OpenAI and every compatible server,
// https://platform.openai.com/docs/api-reference/chat/create.
var openAI = provider{
	name: "openai", example: "openai:gpt-5-mini", endpoint: "https://api.openai.com/v1",
	routes: []string{"/chat/completions", "/responses"},
	key:    "openai_api_key",
	params: []spicepod.Param{
		{Name: "openai_api_key", Secret: true, Doc: "Key, sent as a bearer token."},
		{Name: "azure_api_key", Secret: true, Doc: "Key of Azure, sent as Api-Key."},
		{Name: "openai_org_id", Secret: true, Doc: "Sent as OpenAI-Organization."},
		{Name: "openai_project_id", Secret: true, Doc: "Sent as OpenAI-Project."},
		{Name: "responses_api", Doc: "enabled sends requests to POST /v1/responses."},
		{Name: "prompt_cache_retention", Doc: "Sent to OpenAI."},
	},
	prefix: "openai_", responses: true,
	formats:   true,
	cacheKeys: []string{"prompt_cache_key", "prompt_cache_retention"},
	dialect:   dialect.OpenAI,
	overrides: []override{
		{name: "temperature", kind: spicepod.ParamNumber},
		{name: "top_p", kind: spicepod.ParamNumber},
		{name: "max_tokens", kind: spicepod.ParamInt},
		{name: "max_completion_tokens", kind: spicepod.ParamInt},
		{name: "stop", kind: spicepod.ParamTexts, chatOnly: true},
		{name: "seed", kind: spicepod.ParamInt, chatOnly: true},
		{name: "frequency_penalty", kind: spicepod.ParamNumber, chatOnly: true},
		{name: "presence_penalty", kind: spicepod.ParamNumber, chatOnly: true},
		{name: "logit_bias", kind: spicepod.ParamObject, chatOnly: true},
		{name: "logprobs", kind: spicepod.ParamBool, chatOnly: true},
		{name: "top_logprobs", kind: spicepod.ParamInt},
		{name: "reasoning_effort", kind: spicepod.ParamText},
		{name: "verbosity", kind: spicepod.ParamText},
		{name: "response_format", kind: spicepod.ParamObject},
		{name: "parallel_tool_calls", kind: spicepod.ParamBool},
		{name: "service_tier", kind: spicepod.ParamText},
		{name: "store", kind: spicepod.ParamBool},
		{name: "metadata", kind: spicepod.ParamObject},
		{name: "user", kind: spicepod.ParamText},
		{name: "safety_identifier", kind: spicepod.ParamText},
	},
	open: openOpenAI,
}

func openOpenAI(e *entry, s *settings) chat.Provider {
	endpoint := e.upstream(s, e.openAIHeader())
	if s.responses {
		return responses.NewProvider(responses.ProviderOptions{
			Endpoint: endpoint, Model: e.id, Defaults: s.defaults, Namespaces: s.wish.native,
		})
	}
	return openai.NewProvider(openai.ProviderOptions{Endpoint: endpoint, Model: e.id, Defaults: s.defaults})
}

// openAIHeader returns the header with the key: a bearer token for OpenAI, api-key for
// Azure.
func (e *entry) openAIHeader() http.Header {
	header := http.Header{}
	if key := e.Header("openai_api_key"); key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	for name, param := range map[string]string{
		"Api-Key": "azure_api_key", "OpenAI-Organization": "openai_org_id", "OpenAI-Project": "openai_project_id",
	} {
		if value := e.Header(param); value != "" {
			header.Set(name, value)
		}
	}
	return header
}
