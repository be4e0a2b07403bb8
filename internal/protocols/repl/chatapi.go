package repl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// chatAPI is a client of the server for a chat.
type chatAPI struct {
	openai *openai.Client
	sql    *client // for its address and header
}

func newChatAPI(o Options) (*chatAPI, error) {
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	base, _ := url.Parse(c.url)
	base = base.JoinPath("..")
	// Not openai.NewClient: that reads OPENAI_* from the environment.
	options := []option.RequestOption{
		option.WithBaseURL(base.String() + "/"), option.WithHTTPClient(c.http), option.WithMaxRetries(0),
	}
	for name, values := range c.header {
		for _, v := range values {
			options = append(options, option.WithHeaderAdd(name, v))
		}
	}
	api := &openai.Client{Options: options, Chat: openai.NewChatService(options...)}
	return &chatAPI{api, c}, nil
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
func (a *chatAPI) models(ctx context.Context) ([]modelInfo, error) {
	var list struct {
		Data []modelInfo `json:"data"`
	}
	err := a.openai.Get(ctx, "models?status=true", nil, &list)
	return list.Data, chatError(ctx, err)
}

// foundTool is a result of a tool search.
type foundTool struct {
	ID          string  `json:"tool_id"`
	Description string  `json:"description"`
	Score       float64 `json:"score"`
}

// search searches for tools as tool_search does.
func (a *chatAPI) search(ctx context.Context, query string) ([]foundTool, error) {
	var found struct {
		Tools []foundTool `json:"tools"`
	}
	err := a.openai.Post(ctx, "./tools:search", map[string]any{"query": query, "limit": 20}, &found)
	return found.Tools, chatError(ctx, err)
}

// chatError is a failed request with the server's message.
func chatError(ctx context.Context, err error) error {
	var failed *openai.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &failed):
		return &ServerError{Status: failed.StatusCode, Code: failed.Code, Message: serverMessage(failed)}
	}
	var transfer *url.Error
	if errors.As(err, &transfer) {
		return fmt.Errorf("no answer from the server: %w", transfer.Err)
	}
	return err
}

// serverMessage is the message of an error in OpenAI's form or that of the
// other routes.
func serverMessage(failed *openai.Error) string {
	var plain struct{ Message, Hint string }
	switch {
	case failed.Message != "":
		return failed.Message
	case json.Unmarshal([]byte(failed.RawJSON()), &plain) == nil && plain.Message != "":
		return plain.Message
	case failed.Response != nil && json.NewDecoder(io.LimitReader(failed.Response.Body, maxErrorBody)).Decode(&plain) == nil && plain.Message != "":
		return plain.Message // the client keeps the body for this
	}
	return fmt.Sprintf("the server answered %d %s", failed.StatusCode, http.StatusText(failed.StatusCode))
}
