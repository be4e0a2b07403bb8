package wire

import (
	"encoding/json"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// Logprobs returns the log probabilities of the tokens of a text delta, which OpenAI's two
// APIs have in the same shape: {token, logprob, bytes, top_logprobs}.
func Logprobs(d chat.Delta) []json.RawMessage {
	if d.Raw == nil || d.Kind != chat.DeltaText {
		return nil
	}
	var raw struct{ Logprobs json.RawMessage }
	if json.Unmarshal(d.Raw, &raw) != nil {
		return nil
	}
	list := raw.Logprobs
	if d.Form == chat.FormOpenAI {
		var inner struct{ Content json.RawMessage }
		if json.Unmarshal(list, &inner) != nil {
			return nil
		}
		list = inner.Content
	}
	var tokens []json.RawMessage
	if json.Unmarshal(list, &tokens) != nil {
		return nil
	}
	return tokens
}
