package embeddings

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/spicepod"
)

const openAIEndpoint = "https://api.openai.com/v1"

// openAI is an OpenAI-compatible endpoint. Secrets are in closures only, so
// that printing the struct does not reveal them.
type openAI struct {
	identity
	model     string
	url       string
	authorize func(*http.Request)
	redact    func(string) string
	client    *http.Client
	wanted    int          // dimensions to request; 0: the provider's default
	known     atomic.Int64 // dimensions of the answers; 0 before the first
	batch     int
	timeout   time.Duration
	retry     httpx.Retry
	slots     chan struct{} // one for each request in flight
}

var _ Counter = (*openAI)(nil)

func openOpenAI(e *entry) (Model, *spicepod.Problem) {
	e.UseKey("openai_api_key", e.declared.Key)
	o := e.openAI(e.Endpoint(openAIEndpoint, "openai_api_key", "/embeddings"), "openai_api_key", "embeddings")
	if problem := e.NeedsKey(e.declared.From, "openai_api_key"); problem != nil {
		return nil, problem
	}
	return o, nil
}

// openAI returns the model at a path below the base URL of its provider; key is the param with
// the key.
func (e *entry) openAI(endpoint *url.URL, key, path string) *openAI {
	if endpoint.RawQuery != "" {
		e.FailParam("endpoint", "write the key as params."+key, "params.endpoint must be a URL without a query")
	}
	o := &openAI{
		identity: e.identity(),
		model:    e.id,
		url:      endpoint.JoinPath(path).String(),
		client:   httpx.Client(e.opts.HTTP),
		wanted:   e.Number("dimensions", 0, 1, MaxDimensions),
		batch:    e.Number("batch_size", defaultBatch, 1, MaxBatch),
		timeout:  e.Duration("timeout", defaultTimeout, MaxTimeout),
		retry:    httpx.Providers(e.Number("max_retries", defaultRetries, 0, MaxRetries)),
		slots:    make(chan struct{}, MaxConcurrent),
	}
	o.retry.Pause = e.opts.pause
	o.known.Store(int64(o.wanted))
	o.authorize = authorization(e.Header(key), e.Header("openai_org_id"), e.Header("openai_project_id"))
	o.redact = httpx.Redaction(e.Secrets(append([]spicepod.Param{{Name: key, Secret: true}}, openAIParams...)))
	return o
}

func authorization(key, organization, project string) func(*http.Request) {
	return func(r *http.Request) {
		for name, value := range map[string]string{"OpenAI-Organization": organization, "OpenAI-Project": project} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
	}
}

// Dimensions returns the dimensions in the Spicepod, else those of the first answer.
func (o *openAI) Dimensions() int { return int(o.known.Load()) }

func (o *openAI) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, _, err := o.EmbedCounted(ctx, texts)
	return vectors, err
}

// EmbedCounted sends the texts in batches, a few at a time. The first failure
// cancels the other batches.
func (o *openAI) EmbedCounted(ctx context.Context, texts []string) ([][]float32, Usage, error) {
	if err := o.check(texts); err != nil {
		return nil, Usage{}, err
	}
	var mu sync.Mutex
	var usage Usage
	vectors := make([][]float32, len(texts))
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(MaxConcurrent)
	from := 0
	for _, batch := range batches(texts, o.batch, MaxBatchBytes) {
		into := vectors[from : from+len(batch)]
		from += len(batch)
		if inner.Err() != nil {
			break
		}
		group.Go(func() error {
			a, err := o.send(inner, batch)
			if err != nil {
				return err
			}
			copy(into, a.vectors)
			mu.Lock()
			defer mu.Unlock()
			usage = usage.plus(a.usage)
			return nil
		})
	}
	err := group.Wait()
	if ctx.Err() != nil {
		return nil, Usage{}, cancelled(ctx, o.name)
	}
	if err != nil {
		return nil, Usage{}, err
	}
	return vectors, usage, nil
}

// check rejects texts for which the provider would reject a whole batch.
func (o *openAI) check(texts []string) error {
	if err := checkTexts(o.name, texts); err != nil {
		return err
	}
	for i, text := range texts {
		if text == "" {
			return &Error{Model: o.name, Message: fmt.Sprintf("text %d is empty", i)}
		}
	}
	return nil
}

// batches splits texts into batches of at most count texts and, unless a single
// text is longer, at most size bytes.
func batches(texts []string, count, size int) [][]string {
	var runs [][]string
	start, bytes := 0, 0
	for i, text := range texts {
		if i > start && (i-start == count || bytes+len(text) > size) {
			runs = append(runs, texts[start:i])
			start, bytes = i, 0
		}
		bytes += len(text)
	}
	if start < len(texts) {
		runs = append(runs, texts[start:])
	}
	return runs
}

// send sends one batch, and retries until it succeeds or an error is permanent.
func (o *openAI) send(ctx context.Context, texts []string) (answer, error) {
	body, err := json.Marshal(struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Encoding   string   `json:"encoding_format"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{o.model, texts, "float", o.wanted})
	if err != nil {
		return answer{}, err
	}
	var a answer
	var failed *Error
	attempts := 0
	o.retry.Do(ctx, func() (again bool, after time.Duration) {
		attempts++
		if a, failed = o.attempt(ctx, body, len(texts)); failed == nil {
			return false, 0
		}
		return failed.Retryable, failed.wait
	})
	switch {
	case failed == nil:
		if a.usage == (Usage{}) {
			a.usage = EstimateUsage(texts)
		}
		return a, nil
	case ctx.Err() != nil:
		return answer{}, cancelled(ctx, o.name)
	}
	failed.Attempts = attempts
	return answer{}, failed
}
