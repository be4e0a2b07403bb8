package repl

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"

	"github.com/spiced-sql/spiced/internal/kit/sse"
)

const (
	maxAnswer = 16 << 20 // bytes of one event of a chat, and of an answer in JSON
	doneEvent = "[DONE]" // ends the stream of a chat
)

// chatMessage is a message of a conversation.
type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// chatChunk is a piece of an answer (OpenAI API reference, chat.completion.chunk), or a step of a
// call.
type chatChunk struct {
	Choices []struct {
		Delta        struct{ Content, Refusal string }
		FinishReason string `json:"finish_reason"`
	}
	Event json.RawMessage `json:"spiced_event"`
}

// modelInfo is a model in GET /v1/models.
type modelInfo struct {
	ID     string `json:"id"`
	From   string `json:"owned_by"`
	Status string `json:"status"`
	Error  string `json:"error"`
	Tools  struct {
		Mode       string   `json:"mode"`
		Reason     string   `json:"reason"`
		Count      int      `json:"count"`
		Advertised []string `json:"advertised"`
	} `json:"tools"`
}

// models lists the models, in declaration order.
func (c *client) models(ctx context.Context) ([]modelInfo, error) {
	var list struct{ Data []modelInfo }
	err := c.call(ctx, http.MethodGet, "models?status=true", nil, &list)
	return list.Data, err
}

// foundTool is a result of a tool search.
type foundTool struct {
	ID          string  `json:"tool_id"`
	Description string  `json:"description"`
	Score       float64 `json:"score"`
}

// search searches for tools as tool_search does.
func (c *client) search(ctx context.Context, query string) ([]foundTool, error) {
	var found struct{ Tools []foundTool }
	err := c.call(ctx, http.MethodPost, "tools:search", map[string]any{"query": query, "limit": 20}, &found)
	return found.Tools, err
}

// decide sends a person's decision about a call that needs approval, and returns its status.
func (c *client) decide(ctx context.Context, approval, decision string) (string, error) {
	var decided struct{ Status string }
	err := c.call(ctx, http.MethodPost, "approvals/"+url.PathEscape(approval),
		map[string]string{"decision": decision}, &decided)
	return decided.Status, err
}

// call sends a request with a body in JSON, which may be nil, and decodes the answer.
func (c *client) call(ctx context.Context, method, path string, body, answer any) error {
	resp, err := c.post(ctx, method, path, body, http.Header{"Accept": {"application/json"}})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(answer); err != nil {
		return fmt.Errorf("the server's answer cannot be read: %w", err)
	}
	return nil
}

func (c *client) post(ctx context.Context, method, path string, body any, header http.Header) (*http.Response, error) {
	if body == nil {
		return c.request(ctx, method, path, http.NoBody, header)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	header.Set("Content-Type", "application/json")
	return c.request(ctx, method, path, bytes.NewReader(text), header)
}

// chat sends a conversation and yields the pieces of the answer. An answer that ends without its
// last event is an error.
func (c *client) chat(ctx context.Context, model string, messages []chatMessage,
	header http.Header,
) iter.Seq2[chatChunk, error] {
	return func(yield func(chatChunk, error) bool) {
		resp, err := c.post(ctx, http.MethodPost, "chat/completions", map[string]any{
			"model": model, "messages": messages, "stream": true,
		}, header)
		if err != nil {
			yield(chatChunk{}, err)
			return
		}
		defer resp.Body.Close()
		events := sse.NewReader(bufio.NewReader(resp.Body), maxAnswer)
		for {
			event, err := events.Next()
			switch {
			case ctx.Err() != nil:
				err = ctx.Err()
			case err == io.EOF:
				err = errors.New("the answer was cut off: the server closed the connection")
			case err != nil:
				err = fmt.Errorf("the answer was cut off: %w", err)
			case string(event.Data) == doneEvent:
				return
			}
			var chunk chatChunk
			if err == nil {
				chunk, err = chunkOf(event.Data)
			}
			if !yield(chunk, err) || err != nil {
				return
			}
		}
	}
}

func chunkOf(data []byte) (chunk chatChunk, err error) {
	if failed := errorIn(data); failed != nil {
		return chunk, failed
	}
	if err := json.Unmarshal(data, &chunk); err != nil {
		return chunk, fmt.Errorf("the server's answer cannot be read: %w", err)
	}
	return chunk, nil
}
