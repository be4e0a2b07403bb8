// Package ollama has the models of an Ollama server, by its own API: POST /api/chat, see
// https://docs.ollama.com/api/chat. It streams JSON documents, one a line.
//
//	model := ollama.NewProvider(ollama.ProviderOptions{Endpoint: endpoint, Model: "qwen3:8b"})
//
// Unlike Ollama's API in OpenAI's form, it sets the length of the context (num_ctx), has Ollama
// refuse what exceeds it, and sets how long the model stays loaded. Requests have the
// fields of Chat Completions; those that Ollama does not have are refused by name.
package ollama

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
)

// ProviderOptions configures a provider.
type ProviderOptions struct {
	Endpoint *upstream.Endpoint // with Lines
	Model    string             // as named by Ollama
	// Options are sent with requests that do not set them, by Ollama's names: num_ctx,
	// temperature.
	Options map[string]json.RawMessage
	// KeepAlive is how long the model stays loaded, and Think whether or how much it thinks;
	// nil: as Ollama decides.
	KeepAlive, Think json.RawMessage
}

// NewProvider returns a model behind POST {base}/api/chat.
func NewProvider(o ProviderOptions) chat.Provider { return &provider{o} }

type provider struct{ options ProviderOptions }

var _ chat.Provider = (*provider)(nil)

// Form returns [chat.FormOpenAI], the form whose fields are translated.
func (p *provider) Form() chat.Form { return chat.FormOpenAI }

// Chat sends the request and yields the answer.
func (p *provider) Chat(ctx context.Context, r *chat.Request) iter.Seq2[chat.Delta, error] {
	return func(yield func(chat.Delta, error) bool) {
		body, err := p.encode(r)
		if err != nil {
			yield(chat.Delta{}, chat.AsError(err))
			return
		}
		d := &decoder{fail: p.options.Endpoint.Fail, turn: len(r.Messages)}
		p.options.Endpoint.Chat(ctx, "/api/chat", body, nil, d)(yield)
	}
}

// decoder reads an answer.
type decoder struct {
	fail    func(code errcode.Code, format string, args ...any) *chat.Error
	turn    int // number of the answer in the chat, for ids of calls
	started bool
	calls   int
}

// piece is a line of an answer.
type piece struct {
	Error   string `json:"error"`
	Message struct {
		Content  string `json:"content"`
		Thinking string `json:"thinking"`
		Calls    []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"message"`
	Done         bool   `json:"done"`
	DoneReason   string `json:"done_reason"`
	InputTokens  int64  `json:"prompt_eval_count"`
	OutputTokens int64  `json:"eval_count"`
}

// Event returns the deltas of a line.
func (d *decoder) Event(e upstream.Event) (deltas []chat.Delta, done bool, err error) {
	var p piece
	if err := json.Unmarshal(e.Data, &p); err != nil {
		return nil, false, d.fail(errcode.StreamBroken, "the provider's answer is not JSON: %s", err)
	}
	if p.Error != "" {
		return nil, false, d.fail(errcode.ProviderError, "the provider failed in the middle of the answer: %s", p.Error)
	}
	if !d.started {
		d.started = true
		deltas = append(deltas, chat.Delta{Kind: chat.DeltaStart})
	}
	if p.Message.Thinking != "" {
		deltas = append(deltas, chat.Delta{Kind: chat.DeltaThinking, Text: p.Message.Thinking})
	}
	if p.Message.Content != "" {
		deltas = append(deltas, chat.Delta{Kind: chat.DeltaText, Text: p.Message.Content})
	}
	for _, c := range p.Message.Calls {
		deltas = append(deltas, d.call(c.ID, c.Function.Name, c.Function.Arguments)...)
	}
	if !p.Done {
		return deltas, false, nil
	}
	return append(deltas,
		chat.Delta{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: p.InputTokens, Output: p.OutputTokens}},
		chat.Delta{Kind: chat.DeltaFinish, Reason: d.reason(p.DoneReason)}), true, nil
}

// call returns the deltas of a call, which comes whole.
func (d *decoder) call(id, name string, arguments json.RawMessage) []chat.Delta {
	at := d.calls
	d.calls++
	if id == "" { // older servers send none
		id = fmt.Sprintf("call_%d_%d", d.turn, at)
	}
	return []chat.Delta{
		{Kind: chat.DeltaCall, Index: at, Call: &chat.Call{ID: id, Name: name}},
		{Kind: chat.DeltaArguments, Index: at, Text: string(arguments)},
		{Kind: chat.DeltaCallEnd, Index: at},
	}
}

// reason is why an answer ended. Ollama says stop of an answer with calls, too.
func (d *decoder) reason(of string) chat.Reason {
	switch {
	case of == "length":
		return chat.ReasonLength
	case d.calls > 0:
		return chat.ReasonCalls
	}
	return chat.ReasonStop
}

// End returns an error: the last line of an answer has done.
func (d *decoder) End() ([]chat.Delta, error) {
	return nil, d.fail(errcode.StreamBroken, "the provider's answer ended unexpectedly")
}
