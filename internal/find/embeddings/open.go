package embeddings

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spiced-sql/spiced/spicepod"
)

// Options are shared by all models.
type Options struct {
	// HTTP sends the requests of remote providers; nil for http.DefaultClient.
	// Its redirects and cookies are not used.
	HTTP *http.Client

	pause func(context.Context, time.Duration) error // replaced by tests; see [httpx.Retry]
}

// kind is a provider, named before the colon of `from:`.
type kind struct {
	name    string
	example string
	params  []spicepod.Param
	open    func(*entry) (Model, *spicepod.Problem)
}

// params of several providers.
var (
	paramDimensions = spicepod.Param{Name: "dimensions", Type: spicepod.ParamInt, Doc: "Length of the vectors."}
	paramGPULayers  = spicepod.Param{
		Name: "gpu_layers", Type: spicepod.ParamInt,
		Doc: "Layers of a GGUF model that run on the GPU.",
	}
)

// openAIParams are the params of an embedding from openai.
var openAIParams = []spicepod.Param{
	{Name: "openai_api_key", Secret: true, Doc: "Key, sent as a bearer token."},
	{Name: "endpoint", Secret: true, Doc: "Base URL of the provider."},
	{Name: "openai_org_id", Secret: true, Doc: "Sent as OpenAI-Organization."},
	{Name: "openai_project_id", Secret: true, Doc: "Sent as OpenAI-Project."},
	paramDimensions,
	{Name: "batch_size", Type: spicepod.ParamInt, Doc: "Texts of one request."},
	{Name: "timeout", Type: spicepod.ParamDuration, Doc: "Of one request."},
	{Name: "max_retries", Type: spicepod.ParamInt, Doc: "How often a request is sent again."},
}

// providers in the order of messages.
func providers() []kind {
	return []kind{
		{"openai", "openai:text-embedding-3-small", openAIParams, openOpenAI},
		{"ollama", "ollama:nomic-embed-text", ollamaParams, openOllama},
		{"builtin", "builtin:semantic", []spicepod.Param{paramDimensions}, openBuiltin},
		{"file", "file:models/all-MiniLM-L6-v2", []spicepod.Param{paramGPULayers}, openFile},
		{"huggingface", "huggingface:sentence-transformers/all-MiniLM-L6-v2", []spicepod.Param{
			{Name: "path", Doc: "Folder of the model. Without it: the model in Hugging Face's cache."},
			{Name: "file", Doc: "Path of a GGUF file of the model."},
			{Name: "model", Doc: "Another name of file."},
			paramGPULayers,
		}, openHuggingFace},
	}
}

// Open opens entry i of pod.Embeddings. Nothing is sent before the first call of
// Embed. A problem has its position in the file.
func Open(pod *spicepod.Pod, i int, o Options) (Model, *spicepod.Problem) {
	return newEntry(pod, i, o).open()
}

func newEntry(pod *spicepod.Pod, i int, o Options) *entry {
	declared := pod.Embeddings[i]
	return &entry{declared: declared, opts: o, Entry: spicepod.Entry{
		Pod: pod, Path: fmt.Sprintf("embeddings[%d]", i), Component: "embedding " + declared.Name, Params: declared.Params,
	}}
}

// open opens the model. Warnings are in e.Problems.
func (e *entry) open() (Model, *spicepod.Problem) {
	all := providers()
	served := spicepod.Providers{Kind: "embedding", Others: map[string]string{
		"azure": `use openai: with params.endpoint set to the deployment's OpenAI-compatible base URL`,
	}}
	for _, p := range all {
		served.Examples = append(served.Examples, p.example)
	}
	name, id, problem := e.Provider(e.declared.From, served)
	if problem != nil {
		return nil, problem
	}
	if e.CheckReferences(); e.Fault() != nil {
		return nil, e.Fault()
	}
	p := all[slices.IndexFunc(all, func(p kind) bool { return p.name == name })]
	e.id = id
	if e.Known("an embedding from "+name, p.params); e.Fault() != nil {
		return nil, e.Fault()
	}
	model, problem := p.open(e)
	if e.Fault() != nil {
		return nil, e.Fault()
	}
	return model, problem
}

// entry is one entry of `embeddings:` while it is opened.
type entry struct {
	spicepod.Entry
	declared spicepod.Embedding
	id       string // of `from:`, after the colon
	opts     Options
}

// identity is the name and the fingerprint of a model.
type identity struct{ name, fingerprint string }

// Name returns the name in the Spicepod.
func (i identity) Name() string { return i.name }

// Fingerprint returns a checksum of everything that the vectors depend on.
func (i identity) Fingerprint() string { return i.fingerprint }

// identity omits keys, which do not affect the vectors, and has references to
// secrets as written.
func (e *entry) identity() identity {
	return identity{
		e.declared.Name,
		spicepod.Fingerprint([]any{e.declared.From, e.Params["endpoint"], e.Params["dimensions"]}),
	}
}
