package models

import (
	"net/http"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/openai"
	"github.com/spiced-sql/spiced/internal/llm/chat/responses"
)

// openAI is `openai:<model>`: OpenAI and every server that speaks its form,
// https://platform.openai.com/docs/api-reference/chat/create.
func openAI() provider {
	return provider{
		name: "openai", example: "openai:gpt-5-mini", endpoint: "https://api.openai.com/v1",
		routes:  []string{"/chat/completions", "/responses"},
		key:     "openai_api_key",
		params:  []string{"openai_api_key", "azure_api_key", "openai_org_id", "openai_project_id", "responses_api", "prompt_cache_retention"},
		private: []string{"openai_api_key", "azure_api_key", "openai_org_id", "openai_project_id", "endpoint"},
		prefix:  "openai_", responses: true,
		overrides: []override{
			{name: "temperature", kind: number},
			{name: "top_p", kind: number},
			{name: "max_tokens", kind: whole},
			{name: "max_completion_tokens", kind: whole},
			{name: "stop", kind: texts, chatOnly: true},
			{name: "seed", kind: whole, chatOnly: true},
			{name: "frequency_penalty", kind: number, chatOnly: true},
			{name: "presence_penalty", kind: number, chatOnly: true},
			{name: "logit_bias", kind: object, chatOnly: true},
			{name: "logprobs", kind: flag, chatOnly: true},
			{name: "top_logprobs", kind: whole},
			{name: "reasoning_effort", kind: word},
			{name: "verbosity", kind: word},
			{name: "response_format", kind: object},
			{name: "parallel_tool_calls", kind: flag},
			{name: "service_tier", kind: word},
			{name: "store", kind: flag},
			{name: "metadata", kind: object},
			{name: "user", kind: word},
			{name: "safety_identifier", kind: word},
		},
		open: openOpenAI,
	}
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

// openAIHeader is who we are: the bearer key of OpenAI, the api-key of Azure.
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
