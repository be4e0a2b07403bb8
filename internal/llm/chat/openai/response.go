package openai

import (
	"encoding/json"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
	"github.com/spiced-sql/spiced/tools"
)

// completion is the answer to a request that does not stream.
type completion struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []wholeReply `json:"choices"`
	Usage   wireUsage    `json:"usage"`
}

type wholeReply struct {
	Index        int             `json:"index"`
	Message      wholeMessage    `json:"message"`
	Logprobs     json.RawMessage `json:"logprobs"`
	FinishReason string          `json:"finish_reason"`
}

type wholeMessage struct {
	Role        string            `json:"role"`
	Content     *string           `json:"content"`
	Refusal     *string           `json:"refusal"`
	Reasoning   string            `json:"reasoning_content,omitempty"`
	ToolCalls   []wholeCall       `json:"tool_calls,omitempty"`
	Annotations []json.RawMessage `json:"annotations"`
}

type wholeCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function callFunction `json:"function"`
}

// EncodeResponse returns a chat.completion of one choice. Texts of several answers of
// the model are joined by a blank line.
func EncodeResponse(o EncoderOptions, r *chat.Response) ([]byte, error) {
	m := wholeMessage{Role: "assistant", Annotations: []json.RawMessage{}}
	texts := map[chat.PartKind][]string{}
	for _, p := range r.Parts {
		switch p.Kind {
		case chat.PartText, chat.PartThinking, chat.PartRefusal:
			if p.Text != "" {
				texts[p.Kind] = append(texts[p.Kind], p.Text)
			}
		case chat.PartCall:
			m.ToolCalls = append(m.ToolCalls, wholeCall{p.Call.ID, "function", callFunction{p.Call.Name, p.Call.Arguments}})
		}
	}
	m.Content, m.Refusal = joined(texts[chat.PartText]), joined(texts[chat.PartRefusal])
	if m.Content == nil && m.Refusal == nil && m.ToolCalls == nil {
		m.Content = new(string)
	}
	m.Reasoning = strings.Join(texts[chat.PartThinking], "\n\n")
	logprobs := gather(r.Raw, &m)
	return tools.Encode(completion{
		ID: o.ID, Object: "chat.completion", Created: o.Created.Unix(), Model: o.Model,
		Choices: []wholeReply{{Message: m, Logprobs: logprobs, FinishReason: finishReason(r.Reason, len(m.ToolCalls) > 0)}},
		Usage:   usageOf(r.Usage),
	})
}

func joined(texts []string) *string {
	if len(texts) == 0 {
		return nil
	}
	text := strings.Join(texts, "\n\n")
	return &text
}

// gather merges the Raw of the deltas.
func gather(raw []chat.Delta, m *wholeMessage) json.RawMessage {
	var all logprobs
	for _, d := range raw {
		var extra more
		if d.Form != chat.FormOpenAI {
			all.Content = append(all.Content, wire.Logprobs(d)...)
			m.Annotations = append(m.Annotations, wire.Citations(d)...)
		}
		if d.Form != chat.FormOpenAI || json.Unmarshal(d.Raw, &extra) != nil {
			continue
		}
		var some logprobs
		if json.Unmarshal(extra.Logprobs, &some) == nil {
			all.Content = append(all.Content, some.Content...)
			all.Refusal = append(all.Refusal, some.Refusal...)
		}
		var notes []json.RawMessage
		if json.Unmarshal(extra.Annotations, &notes) == nil {
			m.Annotations = append(m.Annotations, notes...)
		}
	}
	if all.Content == nil && all.Refusal == nil {
		return nil
	}
	encoded, _ := tools.Encode(all)
	return encoded
}

// logprobs are the log probabilities of the tokens of a text and of a refusal.
type logprobs struct {
	Content []json.RawMessage `json:"content"`
	Refusal []json.RawMessage `json:"refusal"`
}

// wireUsage is the usage, in both directions.
type wireUsage struct {
	Prompt     int64             `json:"prompt_tokens"`
	Completion int64             `json:"completion_tokens"`
	Total      int64             `json:"total_tokens"`
	Input      promptDetails     `json:"prompt_tokens_details"`
	Output     completionDetails `json:"completion_tokens_details"`
}

type promptDetails struct {
	Cached  int64 `json:"cached_tokens"`
	Written int64 `json:"cache_write_tokens,omitempty"`
}

type completionDetails struct {
	Reasoning int64 `json:"reasoning_tokens"`
}

func usageOf(u chat.Usage) wireUsage {
	return wireUsage{
		Prompt: u.Input, Completion: u.Output, Total: u.Input + u.Output,
		Input:  promptDetails{Cached: u.CacheRead, Written: u.CacheWrite},
		Output: completionDetails{Reasoning: u.Reasoning},
	}
}

// EncodeError returns the body of an error response: {"error": {"message", "type",
// "param", "code"}}.
func EncodeError(e *chat.Error) []byte { return wire.NewError(e).Encode() }
