package models

import (
	"net/http"
	"slices"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/xmltools"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools/dialect"
)

// provider is a provider, named before the colon of `from:`.
type provider struct {
	name      string
	example   string
	endpoint  string           // without params.endpoint
	routes    []string         // suffixes that an endpoint must not have
	key       string           // the param that the provider's default endpoint requires
	params    []spicepod.Param // in addition to those of every model
	prefix    string           // of params that are sent to the provider
	responses bool             // it also has the Responses API, and so a search
	formats   bool             // its answers can have the form of a schema
	cacheKeys []string         // params for the prompt cache, which are sent as they are
	dialect   dialect.Dialect  // of the schemas of tools
	overrides []override
	inProcess bool // it has no server, and no key
	keyless   bool // its server needs no key
	lines     bool // its answers are JSON documents, one a line
	open      func(*entry, *settings) chat.Provider
}

// providers in the order of messages. Each is known by name in its own file only; what differs
// between them is a property.
var providers = []provider{openAI, anthropicAPI, ollamaServer, scriptedModel}

// common are the params of every model.
var common = []spicepod.Param{
	{Name: "tools", Doc: "The tools that the model gets: auto, all, search_registry, planner, nsql, disabled, " +
		"or a list of names."},
	{Name: "spice_tools", Doc: "An older name of tools."},
	{Name: "tool_embedding_model", Doc: "The embedding model that tools are searched with."},
	// text: its error is Spice's
	{Name: "tool_recursion_limit", Doc: "Answers with calls before the model must answer without."},
	{Name: "auto_threshold", Type: spicepod.ParamInt, Doc: "The number of tools above which they are searched."},
	{Name: "pinned_tools", Doc: "Names of tools that are sent in addition to the registry's."},
	{
		Name: "preselect", Type: spicepod.ParamInt,
		Doc: "Tools that are sent for what the user asks, in addition to the registry's; 0 to 20.",
	},
	{Name: "tool_concurrency", Type: spicepod.ParamInt, Doc: "Calls that run at once in a chat."},
	{
		Name: "tool_result_max_bytes", Type: spicepod.ParamSize,
		Doc: "Size of a result above which the model gets a preview.",
	},
	{
		Name: "tool_result_images", Type: spicepod.ParamInt,
		Doc: "Images in a chat above which those in results are left out; 0 for a model without vision.",
	},
	{
		Name: "tool_result_pdfs", Type: spicepod.ParamInt,
		Doc: "PDFs in a chat above which those in results are left out; 0 for a model that takes none.",
	},
	{Name: "system_prompt", Doc: "Text before every conversation."},
}

// remote are the params of every model that is at a server.
var remote = []spicepod.Param{
	{Name: "tool_schemas", Doc: "full, or subset for providers that take only the keywords of Gemini's schemas."},
	{Name: "tool_format", Doc: "native, or xml for models without native tool calls."},
	{Name: "tool_search", Doc: "registry, or native for the provider's own search."},
	{Name: "endpoint", Secret: true, Doc: "Base URL of the provider."},
	{Name: "timeout", Type: spicepod.ParamDuration, Doc: "Until the answer begins."},
	{Name: "idle_timeout", Type: spicepod.ParamDuration, Doc: "Between two pieces of the answer."},
	{
		Name: "max_retries", Type: spicepod.ParamInt,
		Doc: "How often a request is sent again before the first byte of its answer.",
	},
	{Name: "prompt_cache_key", Doc: "Sent to OpenAI."},
}

// known returns all params of a model of the provider.
func (p provider) known() []spicepod.Param {
	if p.inProcess {
		return common
	}
	list := slices.Concat(common, remote, p.params)
	for _, o := range p.overrides {
		list = append(list, spicepod.Param{
			Name: p.prefix + o.name, Type: o.kind,
			Doc: "Sent where a request does not set " + o.name + ".",
		})
	}
	return list
}

// open parses an entry. A model with a problem is not served.
func (e *entry) open() (*settings, *spicepod.Problem) {
	served := spicepod.Providers{
		Kind: "model", Others: compatible(), Hint: "; for other OpenAI-compatible servers, use openai: with params.endpoint",
	}
	for _, p := range providers {
		served.Examples = append(served.Examples, p.example)
	}
	name, id, problem := e.Provider(e.declared.From, served)
	if problem != nil {
		return nil, problem
	}
	if e.CheckReferences(); e.Fault() != nil {
		return nil, e.Fault()
	}
	e.id, e.kind = id, providers[slices.IndexFunc(providers, func(p provider) bool { return p.name == name })]
	if e.Known("a model from "+name, e.kind.known()); e.Fault() != nil {
		return nil, e.Fault()
	}
	e.UseKey(e.kind.key, e.declared.Key)
	s := e.settings()
	if !e.kind.inProcess && !e.kind.keyless {
		if problem := e.NeedsKey(e.declared.From, e.kind.key); problem != nil {
			return nil, problem
		}
	}
	return s, e.Fault()
}

// compatible returns the `from:` of other providers with OpenAI-compatible
// servers.
func compatible() map[string]string {
	const gemini = "https://generativelanguage.googleapis.com/v1beta/openai"
	advice := map[string]string{}
	for name, url := range map[string]string{
		"azure":      "https://<resource>.openai.azure.com/openai/v1, and params.azure_api_key",
		"xai":        "https://api.x.ai/v1",
		"vllm":       "http://127.0.0.1:8000/v1",
		"openrouter": "https://openrouter.ai/api/v1",
		"groq":       "https://api.groq.com/openai/v1",
		"google":     gemini,
		"gemini":     gemini,
		"bedrock":    "https://bedrock-mantle.<region>.api.aws/v1, and a key of Bedrock in params.openai_api_key",
		"vertex": "https://<location>-aiplatform.googleapis.com/v1/projects/<project>/locations/<location>" +
			"/endpoints/openapi, and an access token in params.openai_api_key, which is not renewed",
	} {
		advice[name] = "use openai: with params.endpoint: " + url
	}
	return advice
}

// provider creates the client of the provider. Nothing is sent before the first
// chat.
func (e *entry) provider(s *settings) chat.Provider {
	p := e.kind.open(e, s)
	if s.xml {
		return xmltools.Wrap(p)
	}
	return p
}

// upstream is the provider's server.
func (e *entry) upstream(s *settings, header http.Header) *upstream.Endpoint {
	key := e.kind.key
	if header.Get("Api-Key") != "" {
		key = "azure_api_key"
	}
	return upstream.New(upstream.Options{
		Model: e.declared.Name, KeyParam: key, BaseURL: s.endpoint.String(), Header: header,
		Secrets: e.Secrets(e.kind.known()),
		Timeout: s.timeout, IdleTimeout: s.idle, Retries: s.retries, HTTP: e.http,
		Lines: e.kind.lines,
	})
}
