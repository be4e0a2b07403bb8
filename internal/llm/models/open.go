package models

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/xmltools"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
	"github.com/spiced-sql/spiced/spicepod"
)

// provider is what can stand before the colon of `from:`.
type provider struct {
	name      string
	example   string
	endpoint  string   // without params.endpoint
	routes    []string // that an endpoint must not end in
	key       string   // the param that a provider's own endpoint needs
	params    []string // beside those of every model
	private   []string // of them, and endpoint, those that may be secrets
	prefix    string   // of params that are sent along
	responses bool     // it has the Responses API too, and with it a search of its own
	overrides []override
	open      func(*entry, *settings) chat.Provider
}

// providers in the order of messages.
func providers() []provider {
	return []provider{openAI(), anthropicAPI()}
}

// common are the params of every model.
var common = []string{
	"tools", "spice_tools", "tool_embedding_model", "tool_recursion_limit", "auto_threshold", "pinned_tools",
	"tool_concurrency", "tool_result_max_bytes", "tool_format", "tool_search",
	"system_prompt", "endpoint", "timeout", "idle_timeout", "max_retries", "prompt_cache_key",
}

// known are all params of a model from the provider.
func (p provider) known() []string {
	list := slices.Concat(common, p.params)
	for _, o := range p.overrides {
		list = append(list, p.prefix+o.name)
	}
	return list
}

// open reads an entry. A problem keeps it from being served.
func (e *entry) open() (*settings, *spicepod.Problem) {
	scheme, id, _ := strings.Cut(strings.TrimSpace(e.declared.From), ":")
	all := providers()
	at := slices.IndexFunc(all, func(p provider) bool { return p.name == strings.ToLower(scheme) })
	if at < 0 {
		return nil, e.unknownProvider(scheme, all)
	}
	e.kind = all[at]
	if e.id = strings.TrimSpace(id); e.id == "" {
		return nil, e.Problem(".from", "write "+e.kind.example, "%q names no model", e.declared.From)
	}
	if e.Known("a model from "+e.kind.name, e.kind.known()); e.Fault() != nil {
		return nil, e.Fault()
	}
	s := e.settings()
	if e.Fault() == nil && !e.Params.Has("endpoint") && e.Text(e.kind.key) == "" {
		return nil, e.Problem(".params", fmt.Sprintf("write %s: ${env:%s}, or endpoint: with the base URL of a server that needs no key", e.kind.key, strings.ToUpper(e.kind.key)),
			"%s needs params.%s", e.declared.From, e.kind.key)
	}
	return s, e.Fault()
}

// compatible are providers whose servers speak OpenAI's form too, with what to
// write for them.
var compatible = map[string]string{
	"azure":      "https://<resource>.openai.azure.com/openai/v1, and params.azure_api_key",
	"xai":        "https://api.x.ai/v1",
	"ollama":     "http://127.0.0.1:11434/v1",
	"vllm":       "http://127.0.0.1:8000/v1",
	"openrouter": "https://openrouter.ai/api/v1",
	"groq":       "https://api.groq.com/openai/v1",
	"google":     "https://generativelanguage.googleapis.com/v1beta/openai",
}

func (e *entry) unknownProvider(name string, all []provider) *spicepod.Problem {
	names, examples := make([]string, len(all)), make([]string, len(all))
	for i, p := range all {
		names[i], examples[i] = p.name, p.example
	}
	hint := "write one of " + strings.Join(examples, ", ") + "; other servers that speak OpenAI's form are openai: with params.endpoint"
	if url := compatible[strings.ToLower(name)]; url != "" {
		hint = "use openai: with params.endpoint: " + url
	} else if near := nearest.Name(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	return e.Problem(".from", hint, "model provider %q is not served by this build", name)
}

// provider connects. Nothing is sent before the first chat.
func (e *entry) provider(s *settings) chat.Provider {
	p := e.kind.open(e, s)
	if s.xml {
		return xmltools.Wrap(p)
	}
	return p
}

// upstream is the provider's server.
func (e *entry) upstream(s *settings, header http.Header) *upstream.Endpoint {
	return upstream.New(upstream.Options{
		Model: e.declared.Name, BaseURL: s.endpoint.String(), Header: header, Secrets: e.Secrets(e.kind.private),
		Timeout: s.timeout, IdleTimeout: s.idle, Retries: s.retries, HTTP: e.http,
	})
}
