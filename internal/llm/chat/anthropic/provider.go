package anthropic

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"sync/atomic"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
)

// ProviderOptions configures a provider.
type ProviderOptions struct {
	// Endpoint is the API; its base URL is without /v1, its headers have the key, as
	// x-api-key.
	Endpoint *upstream.Endpoint
	Model    string // as named by the provider
	// MaxTokens limits an answer if the request does not; 0 means [DefaultMaxTokens].
	MaxTokens int
	// Defaults are fields of the body for requests that do not set them.
	Defaults map[string]json.RawMessage
	// Cache marks the ends of the tools and of the system prompt for the provider's
	// prompt cache.
	Cache bool
	// Examples are sent as input_examples; else they are in the description. The API refuses a
	// request with the field if it does not know it.
	Examples bool
}

// provider is a model of the Messages API.
type provider struct {
	endpoint  *upstream.Endpoint
	model     string
	maxTokens int
	defaults  map[string]json.RawMessage
	cache     bool
	examples  bool
	rendered  atomic.Pointer[rendered]
}

var _ chat.Provider = (*provider)(nil)

// NewProvider returns a provider that sends POST {base}/v1/messages.
func NewProvider(o ProviderOptions) chat.Provider {
	p := &provider{
		endpoint: o.Endpoint, model: o.Model, maxTokens: o.MaxTokens, defaults: o.Defaults, cache: o.Cache,
		examples: o.Examples,
	}
	if p.maxTokens <= 0 {
		p.maxTokens = DefaultMaxTokens
	}
	return p
}

func (p *provider) Form() chat.Form { return chat.FormAnthropic }

// Chat sends the request; the answer is always streamed.
func (p *provider) Chat(ctx context.Context, r *chat.Request) iter.Seq2[chat.Delta, error] {
	return func(yield func(chat.Delta, error) bool) {
		body, header, err := p.request(r)
		if err != nil {
			yield(chat.Delta{}, chat.AsError(err))
			return
		}
		p.endpoint.Chat(ctx, "/v1/messages", body, header, &decoder{fail: p.endpoint.Fail})(yield)
	}
}

// request returns the body and the headers that it requires.
func (p *provider) request(r *chat.Request) (json.RawMessage, http.Header, error) {
	c := &composer{provider: p, request: allowed(r)}
	body, err := c.body()
	if err != nil {
		return nil, nil, err
	}
	header := http.Header{"Anthropic-Version": {Version}, "Content-Type": {"application/json"}}
	if c.beta != "" {
		header.Set("Anthropic-Beta", c.beta)
	}
	return body, header, nil
}
