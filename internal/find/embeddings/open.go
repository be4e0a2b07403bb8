package embeddings

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/spicepod"
)

// Options are what models share.
type Options struct {
	// HTTP sends the requests of remote providers; nil for http.DefaultClient.
	// Its redirects and cookies are not used.
	HTTP *http.Client

	pause func(context.Context, time.Duration) error // nil waits; tests do not
}

// kind is a provider: what can stand before the colon of `from:`.
type kind struct {
	name    string
	example string
	params  []string
	open    func(*entry) (Model, *spicepod.Problem)
}

// providers in the order of messages.
func providers() []kind {
	return []kind{
		{"openai", "openai:text-embedding-3-small", []string{
			"openai_api_key", "endpoint", "openai_org_id", "openai_project_id", "dimensions", "batch_size", "timeout", "max_retries",
		}, openOpenAI},
		{"builtin", "builtin:hash", []string{"dimensions"}, openHash},
		{"file", "file:model.gguf", []string{"gpu_layers"}, openFile},
		{"huggingface", "huggingface:sentence-transformers/all-MiniLM-L6-v2", []string{"file", "model", "gpu_layers"}, openHuggingFace},
	}
}

// Open makes a model of entry i of pod.Embeddings. Nothing is sent anywhere
// before the first Embed. A problem stands at its place in the file.
func Open(pod *spicepod.Pod, i int, o Options) (Model, *spicepod.Problem) {
	declared := pod.Embeddings[i]
	e := &entry{declared: declared, opts: o, Entry: spicepod.Entry{
		Pod: pod, Path: fmt.Sprintf("embeddings[%d]", i), Component: "embedding " + declared.Name, Params: declared.Params,
	}}
	scheme, id, _ := strings.Cut(strings.TrimSpace(e.declared.From), ":")
	all := providers()
	at := slices.IndexFunc(all, func(p kind) bool { return p.name == strings.ToLower(scheme) })
	if at < 0 {
		return nil, e.unknownProvider(scheme, all)
	}
	p := all[at]
	if e.id = strings.TrimSpace(id); e.id == "" {
		return nil, e.Problem(".from", "write "+p.example, "%q names no model", e.declared.From)
	}
	if e.Known("an embedding from "+p.name, p.params); e.Fault() != nil {
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

// identity is what every model says of itself.
type identity struct{ name, fingerprint string }

// Name is the name in the Spicepod.
func (i identity) Name() string { return i.name }

// Fingerprint is a checksum of what the vectors depend on.
func (i identity) Fingerprint() string { return i.fingerprint }

// identity leaves keys out: a new one gives the same vectors. References count
// as they are written.
func (e *entry) identity() identity {
	return identity{e.declared.Name, spicepod.Fingerprint([]any{e.declared.From, e.Params["endpoint"], e.Params["dimensions"]})}
}

func (e *entry) unknownProvider(name string, all []kind) *spicepod.Problem {
	names, examples := make([]string, len(all)), make([]string, len(all))
	for i, p := range all {
		names[i], examples[i] = p.name, p.example
	}
	hint := "write one of " + strings.Join(examples, ", ")
	if name == "azure" {
		hint = `use openai: with params.endpoint set to the deployment's OpenAI-compatible base URL`
	} else if near := nearest.Name(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	return e.Problem(".from", hint, "embedding provider %q is not served by this build", name)
}
