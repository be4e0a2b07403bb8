package openai

import (
	"context"
	"encoding/json"
	"iter"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
)

// ProviderOptions configures a provider.
type ProviderOptions struct {
	Endpoint *upstream.Endpoint
	Model    string // as named by the provider
	// Defaults are parameters, by OpenAI's names, that are sent with requests that lack
	// them, such as temperature.
	Defaults map[string]json.RawMessage
}

// NewProvider returns a model behind POST {base}/chat/completions.
func NewProvider(o ProviderOptions) chat.Provider {
	return &provider{options: o, maxTokens: maxTokensName(o.Endpoint.Host())}
}

type provider struct {
	options   ProviderOptions
	maxTokens string // the name of that parameter
}

var _ chat.Provider = (*provider)(nil)

// maxTokensName returns max_completion_tokens for OpenAI, whose newer models reject
// max_tokens, and max_tokens for others, which may support nothing else.
func maxTokensName(host string) string {
	if host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") ||
		strings.HasSuffix(host, ".openai.azure.com") {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

// Form returns [chat.FormOpenAI].
func (p *provider) Form() chat.Form { return chat.FormOpenAI }

// Chat sends the request and yields the answer.
func (p *provider) Chat(ctx context.Context, r *chat.Request) iter.Seq2[chat.Delta, error] {
	return func(yield func(chat.Delta, error) bool) {
		body, err := p.encode(r)
		if err != nil {
			yield(chat.Delta{}, chat.AsError(err))
			return
		}
		endpoint := p.options.Endpoint
		endpoint.Chat(ctx, "/chat/completions", body, nil, &decoder{fail: endpoint.Fail})(yield)
	}
}
