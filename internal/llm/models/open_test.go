package models_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

func TestProblems(t *testing.T) {
	t.Setenv("TEST_KEY", key)
	t.Setenv("BROKEN_KEY", key+"\nX-Other: 1")
	here := "endpoint: 'http://127.0.0.1:1/v1', "
	native := "tool_search: native, "
	for _, c := range []struct {
		from, params string
		path         string
		want         string // in the message or the hint
	}{
		{"opnai:x", "", "from", `did you mean "openai"?`},
		{"azure:x", "", "from", `model provider "azure" is not served by this build`},
		{"azure:x", "", "from", "use openai: with params.endpoint: https://<resource>"},
		{"xai:grok", "", "from", "https://api.x.ai/v1"},
		{"gemini:x", "", "from", "https://generativelanguage.googleapis.com/v1beta/openai"},
		{"bedrock:x", "", "from", "https://bedrock-mantle.<region>.api.aws/v1, and a key of Bedrock"},
		{"vertex:x", "", "from", "an access token in params.openai_api_key, which is not renewed"},
		{"vLLM:qwen", "", "from", "http://127.0.0.1:8000/v1"},
		{"hf:x", "", "from", "write one of openai:gpt-5-mini, anthropic:"},
		{"openai", "", "from", "names no model"},
		{"anthropic: ", "", "from", "write anthropic:claude"},
		{"openai:x", "", "params", "openai:x needs params.openai_api_key"},
		{"openai:x", "azure_api_key: a", "params", "endpoint: with the base URL"},
		{"anthropic:x", "", "params", "write anthropic_api_key: ${env:ANTHROPIC_API_KEY}"},
		{"openai:x", "openai_api_kee: a", "params.openai_api_kee", `did you mean "openai_api_key"?`},
		{"openai:x", "openai_temprature: 1", "params.openai_temprature", `did you mean "openai_temperature"?`},
		{"openai:x", "anthropic_top_k: 1", "params.anthropic_top_k", `unknown param "anthropic_top_k" of a model from openai`},
		{"anthropic:x", "prompt_cache_retention: 1h", "params.prompt_cache_retention", "unknown param"},
		{"openai:x", "'a b': a", `params["a b"]`, `unknown param "a b"`},
		{"openai:x", "openai_api_key: '${env:BROKEN_KEY}'", "params.openai_api_key", "no header may hold"},
		{"openai:x", "endpoint: 'localhost:80'", "params.endpoint", "takes an http or https URL"},
		{"openai:x", "endpoint: 'file:///etc'", "params.endpoint", "takes an http or https URL"},
		{"openai:x", "endpoint: ''", "params.endpoint", "takes an http or https URL"},
		{"openai:x", "endpoint: 'http://u:${env:TEST_KEY}@h/v1'", "params.endpoint", "without user"},
		{"openai:x", "endpoint: 'http://h/v1#x'", "params.endpoint", "without user and fragment"},
		{"openai:x", "endpoint: 'http://h/v1/chat/completions/'", "params.endpoint", "leave /chat/completions out"},
		{"anthropic:x", "endpoint: 'http://h/v1/messages'", "params.endpoint", "leave /messages out"},
		{"openai:x", "endpoint: [a]", "params.endpoint", "takes text, not a list"},
		{"openai:x", here + "tools: [sql]", "params.tools", "takes text, not a list"},
		{
			"openai:x", here + "tool_recursion_limit: many", "params.tool_recursion_limit",
			"Invalid value specified for `params.recursion_depth`: many. Error: invalid syntax",
		},
		{"openai:x", here + "tool_recursion_limit: 1.5", "params.tool_recursion_limit", "`params.recursion_depth`: 1.5. Error:"},
		{"openai:x", here + "tool_recursion_limit: -1", "params.tool_recursion_limit", "`params.recursion_depth`: -1. Error: it takes 0 to 1000"},
		{"openai:x", here + "tool_recursion_limit: '${env:TEST_KEY}'", "params.tool_recursion_limit", "`params.recursion_depth`: ${env:TEST_KEY}. Error:"},
		{"openai:x", here + "auto_threshold: -1", "params.auto_threshold", "takes 0 to 4096"},
		{"openai:x", here + "tool_concurrency: 0", "params.tool_concurrency", "takes 1 to 256"},
		{"openai:x", here + "tool_result_max_bytes: 1GiB", "params.tool_result_max_bytes", "takes 1 to 67108864 bytes"},
		{"openai:x", here + "tool_format: xlm", "params.tool_format", `did you mean "xml"?`},
		{"openai:x", here + "tool_format: yaml", "params.tool_format", `takes native or xml, not "yaml"`},
		{"openai:x", here + "tool_search: '${env:TEST_KEY}'", "params.tool_search", `not "${env:TEST_KEY}"`},
		{"openai:x", here + native + "tool_format: xml", "params.tool_search", "exclude each other"},
		{"openai:x", here + native + "responses_api: disabled", "params.responses_api", "needs the Responses API"},
		{"openai:x", here + "responses_api: enabled, openai_seed: 1", "params.openai_seed", "does not exist in the Responses API"},
		{"openai:x", here + "openai_temperature: warm", "params.openai_temperature", "takes a number"},
		{"openai:x", here + "openai_temperature: .inf", "params.openai_temperature", "takes a number"},
		{"openai:x", here + "openai_max_tokens: -1", "params.openai_max_tokens", "takes 0 to"},
		{"openai:x", here + "openai_stop: [[1]]", "params.openai_stop", "takes text or a list of texts"},
		{"openai:x", here + "openai_response_format: json", "params.openai_response_format", "takes a mapping, or JSON of one"},
		{"openai:x", here + "openai_store: perhaps", "params.openai_store", "takes true or false"},
		{"openai:x", here + "timeout: 0s", "params.timeout", "more than 0"},
		{"openai:x", here + "idle_timeout: 2h", "params.idle_timeout", "at most 1h"},
		{"openai:x", here + "max_retries: 11", "params.max_retries", "takes 0 to 10"},
		{"openai:x", here + "system_prompt: {a: b}", "params.system_prompt", "takes text, not a mapping"},
	} {
		t.Run(c.from+" "+c.params, func(t *testing.T) {
			set, problems, _ := open(t, fmt.Sprintf("models: [{name: m, from: %q, params: {%s}}]\n", c.from, c.params), nil)
			if len(problems) != 1 {
				t.Fatalf("problems: %v", problems)
			}
			p := problems[0]
			if p.Path != "models[0]."+c.path || !strings.Contains(p.Error(), c.want) || p.Component != "model m" || p.Severity != spicepod.Error {
				t.Errorf("%s at %q; want %q at %q", p.Error(), p.Path, c.want, c.path)
			}
			if p.Line == 0 || strings.Contains(p.Error(), key) {
				t.Errorf("no place, or a secret: %s", p.Error())
			}
			if info := set.Infos()[0]; info.Status != models.StatusError || info.Error != p.Located() || info.Mode != models.ModeNone {
				t.Errorf("%+v", info)
			}
		})
	}
}

func TestOneProblemLeavesTheOthersServing(t *testing.T) {
	set, problems, _ := open(t, `models:
- {name: broken, from: 'azure:x'}
- {name: alpha, from: 'openai:x', params: {endpoint: 'http://127.0.0.1:1'}, description: The one.}
`, nil)
	if len(problems) != 1 || len(set.All()) != 2 {
		t.Fatalf("%v", problems)
	}
	want := []models.Info{
		{Name: "broken", From: "azure:x", Status: models.StatusError, Error: problems[0].Located(), ToolPlan: models.ToolPlan{Mode: models.ModeNone}},
		{
			Name: "alpha", From: "openai:x", Description: "The one.", Status: models.StatusReady,
			ToolPlan: models.ToolPlan{Mode: models.ModeNone, Reason: "params.tools is not set", Advertised: []string{}},
		},
	}
	if diff := cmp.Diff(want, set.Infos()); diff != "" {
		t.Error(diff)
	}
	if m, err := set.Model("alpha"); err != nil || m.Info().Name != "alpha" {
		t.Errorf("%v", err)
	}
	broken, err := set.Model("broken")
	wantError(t, err, errcode.ModelNotLoaded, `the model "broken" was not loaded: model provider "azure" is not served by this build (spicepod.yaml:5:24)`)
	for _, err := range broken.Chat(t.Context(), hello(), tools.Scope{}) {
		wantError(t, err, errcode.ModelNotLoaded, `was not loaded`)
	}
	_, err = set.Model("alhpa")
	wantError(t, err, errcode.ModelNotFound, `the model "alhpa" does not exist; did you mean "alpha"?`)
	_, err = set.Model(strings.Repeat("x", 5000))
	wantError(t, err, errcode.ModelNotFound, `xxx…" does not exist`)
	if len(err.Error()) > 200 {
		t.Errorf("a long message: %s", err)
	}
	var none *models.Set
	_, err = none.Model("alpha")
	wantError(t, err, errcode.ModelNotFound, `the model "alpha" does not exist`)
}

func wantError(t testing.TB, err error, code errcode.Code, text string) {
	t.Helper()
	var failed *chat.Error
	if !errors.As(err, &failed) || failed.Code != code || !strings.Contains(failed.Message, text) {
		t.Errorf("%v, want %s with %q", err, code, text)
	}
}

// sent returns the JSON of a request as the provider received it.
func sent(t testing.TB, r chattest.Request) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatalf("%v in %s", err, r.Body)
	}
	return body
}

func TestKeysAndSettingsReachTheProvider(t *testing.T) {
	t.Setenv("TEST_KEY", key+"\n")
	for _, c := range []struct {
		name, from, params string
		path               string
		header             map[string]string
		body               map[string]any
	}{
		{
			"openai", "openai:gpt", "openai_api_key: '${env:TEST_KEY}', openai_org_id: org, openai_project_id: proj, prompt_cache_key: k, " +
				"prompt_cache_retention: 24h, " +
				"openai_temperature: '0.2', openai_max_tokens: 7, openai_stop: [a, b], openai_store: 'true', openai_response_format: '{\"type\": \"json_object\"}', " +
				"openai_metadata: {a: b}",
			"/v1/chat/completions",
			map[string]string{"Authorization": "Bearer " + key, "OpenAI-Organization": "org", "OpenAI-Project": "proj"},
			map[string]any{
				"model": "gpt", "temperature": .2, "max_tokens": 7., "stop": []any{"a", "b"}, "store": true,
				"response_format": map[string]any{"type": "json_object"}, "metadata": map[string]any{"a": "b"},
				"prompt_cache_key": "k", "prompt_cache_retention": "24h",
			},
		},
		{
			"azure", "openai:dep", "azure_api_key: '${env:TEST_KEY}', endpoint: 'URL/openai/v1/?api-version=preview'", "/openai/v1/chat/completions?api-version=preview",
			map[string]string{"Api-Key": key},
			map[string]any{"model": "dep"},
		},
		{
			"responses", "openai:gpt", "openai_api_key: '${env:TEST_KEY}', responses_api: enabled, openai_max_completion_tokens: 9, openai_reasoning_effort: low",
			"/v1/responses",
			map[string]string{"Authorization": "Bearer " + key},
			map[string]any{"max_output_tokens": 9., "reasoning": map[string]any{"effort": "low"}},
		},
		{
			"anthropic", "anthropic:claude", "anthropic_api_key: '${env:TEST_KEY}', anthropic_max_tokens: 99, anthropic_top_k: 3, prompt_cache_key: any", "/v1/messages",
			map[string]string{"X-Api-Key": key},
			map[string]any{"model": "claude", "max_tokens": 99., "top_k": 3.},
		},
		{
			"anthropic, root", "anthropic:claude", "endpoint: 'URL/'", "/v1/messages", nil, nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := serve(t)
			if !strings.Contains(c.params, "endpoint:") {
				c.params += ", endpoint: 'URL/v1'"
			}
			section := fmt.Sprintf("models: [{name: m, from: %q, params: {%s}}]\n", c.from, strings.ReplaceAll(c.params, "URL", server.URL))
			set, problems, s := open(t, section, nil)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if got := must(t, set, "m", hello()).Message().Text(); got != "hello" {
				t.Errorf("answer: %q", got)
			}
			request := server.Requests()[0]
			body := sent(t, request)
			if request.Path != c.path {
				t.Errorf("path %s, want %s", request.Path, c.path)
			}
			for name, want := range c.header {
				if got := request.Header.Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			for name, want := range c.body {
				if diff := cmp.Diff(want, body[name]); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
			if strings.Contains(s.log.String(), key) {
				t.Error("a secret in the log")
			}
		})
	}
}

func TestTheRequestWinsOverTheModel(t *testing.T) {
	server := serve(t)
	set, _, _ := open(t, "models: [{name: m, from: 'openai:gpt', params: {endpoint: '"+server.URL+"/v1', openai_temperature: 0.2, openai_top_p: 0.5}}]\n", nil)
	r := hello()
	warm := 1.5
	r.Settings.Temperature = &warm
	must(t, set, "m", r)
	if body := sent(t, server.Requests()[0]); body["temperature"] != 1.5 || body["top_p"] != .5 {
		t.Errorf("%v", body)
	}
}

func TestErrorsHoldNoSecret(t *testing.T) {
	t.Setenv("TEST_KEY", key)
	server := serve(t)
	server.Script(chattest.Always(chattest.Answer{Status: 401, Body: []byte(`{"error":{"message":"bad key ` + key + `"}}`)}))
	set, _, s := open(t, "models: [{name: m, from: 'openai:gpt', params: {endpoint: '"+server.URL+"', openai_api_key: '${env:TEST_KEY}', max_retries: 0}}]\n", nil)
	_, err := ask(t, set, "m", hello(), tools.Scope{})
	wantError(t, err, errcode.ProviderRefused, `model "m"`)
	if strings.Contains(fmt.Sprintf("%+v %s", err, s.log), key) {
		t.Errorf("a secret in %v", err)
	}
}
