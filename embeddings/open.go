package embeddings

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/nearest"
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
	e := &entry{pod: pod, declared: pod.Embeddings[i], path: fmt.Sprintf("embeddings[%d]", i), opts: o}
	scheme, id, _ := strings.Cut(strings.TrimSpace(e.declared.From), ":")
	all := providers()
	at := slices.IndexFunc(all, func(p kind) bool { return p.name == strings.ToLower(scheme) })
	if at < 0 {
		return nil, e.unknownProvider(scheme, all)
	}
	p := all[at]
	if e.id = strings.TrimSpace(id); e.id == "" {
		return nil, e.problem("from", "write "+p.example, "%q names no model", e.declared.From)
	}
	if problem := e.unknownParam(p); problem != nil {
		return nil, problem
	}
	model, problem := p.open(e)
	if e.fault != nil {
		return nil, e.fault
	}
	return model, problem
}

// entry is one entry of `embeddings:` while it is opened. The first fault of a
// param stays in fault, so that the params can be read in one go.
type entry struct {
	pod      *spicepod.Pod
	declared spicepod.Embedding
	path     string
	id       string // of `from:`, after the colon
	opts     Options
	fault    *spicepod.Problem
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
	p := e.declared.Params
	return identity{e.declared.Name, spicepod.Fingerprint([]any{e.declared.From, p["endpoint"], p["dimensions"]})}
}

// problem is about the value at a path below the entry.
func (e *entry) problem(path, hint, format string, args ...any) *spicepod.Problem {
	p := e.pod.Problem(e.path+"."+path, fmt.Sprintf(format, args...), hint)
	p.Component = "embedding " + e.declared.Name
	return &p
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
	return e.problem("from", hint, "embedding provider %q is not served by this build", name)
}

func (e *entry) unknownParam(p kind) *spicepod.Problem {
	for _, key := range slices.Sorted(maps.Keys(e.declared.Params)) {
		if slices.Contains(p.params, key) {
			continue
		}
		hint := "known here: " + strings.Join(p.params, ", ")
		if near := nearest.Name(key, p.params); near != "" {
			hint = fmt.Sprintf("did you mean %q? %s", near, hint)
		}
		problem := e.pod.KeyProblem(paramPath(e.path, key), fmt.Sprintf("unknown param %q of an embedding from %s", key, p.name), hint)
		problem.Component = "embedding " + e.declared.Name
		return &problem
	}
	return nil
}

// paramPath writes a key that is not a plain word as Pod.At wants it.
func paramPath(entry, key string) string {
	if strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" && key != "" {
		return entry + ".params." + key
	}
	return fmt.Sprintf("%s.params[%q]", entry, key)
}

// fail keeps the first fault of a param.
func (e *entry) fail(key, hint, format string, args ...any) {
	if e.fault == nil {
		e.fault = e.problem("params."+key, hint, format, args...)
	}
}

// text reads a param without the space around it: keys often come from files
// that end in a line break.
func (e *entry) text(key string) string {
	text, err := e.declared.Params.String(key)
	if err != nil {
		e.fail(key, "", "%s", err)
	}
	return strings.TrimSpace(text)
}

func (e *entry) number(key string, fallback, least, most int) int {
	n, err := e.declared.Params.Int(key, fallback)
	if err != nil {
		e.fail(key, "", "%s", err)
	} else if e.declared.Params.Has(key) && (n < least || n > most) {
		e.fail(key, "", "params.%s takes %d to %d", key, least, most)
	}
	return n
}

func (e *entry) duration(key string, fallback, most time.Duration) time.Duration {
	d, err := e.declared.Params.Duration(key, fallback)
	if err != nil {
		e.fail(key, "", "%s", err)
	} else if d <= 0 || d > most {
		e.fail(key, "", "params.%s takes more than 0 and at most %s", key, most)
	}
	return d
}
