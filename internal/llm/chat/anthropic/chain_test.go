package anthropic_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/anthropic"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// chain is an endpoint with a model behind it.
func chain(model chat.Provider) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request, err := anthropic.ParseRequest(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		e := anthropic.NewEncoder(w, anthropic.EncoderOptions{ID: "msg_ours", Model: request.Model})
		for d, err := range model.Chat(r.Context(), request) {
			if err != nil {
				_ = e.Fail(chat.AsError(err))
				return
			}
			_ = e.Write(d)
		}
		_ = e.Close()
	}
}

// launch starts a provider that answers with the script.
func launch(t *testing.T, answers ...chattest.Answer) (*chattest.Server, chat.Provider) {
	t.Helper()
	server, err := chattest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.Script(chattest.InTurn(answers...))
	endpoint := upstream.New(upstream.Options{Model: "assistant", BaseURL: server.URL, Header: http.Header{"X-Api-Key": {"k"}}})
	return server, anthropic.NewProvider(anthropic.ProviderOptions{Endpoint: endpoint, Model: "claude-test"})
}

// The official client talks to a provider through us: what it sends back reaches the
// provider byte for byte.
func TestConversation(t *testing.T) {
	provider, model := launch(t,
		chattest.Say(chattest.Thinking("Let me ", "look."), chattest.Text("One ", "moment."), chattest.Call("toolu_1", "sql", `{"query":`, `"SELECT 1"}`),
			chattest.Usage(90, 7, 64, 8)),
		chattest.Say(chattest.Text("It is 1."), chattest.Usage(120, 5, 90, 0)),
	)
	endpoint := httptest.NewServer(chain(model))
	t.Cleanup(endpoint.Close)
	client := sdk.NewClient(option.WithBaseURL(endpoint.URL), option.WithAPIKey("k"), option.WithMaxRetries(0))

	ask := params()
	first := accumulate(t, client, ask)
	if first.StopReason != sdk.StopReasonToolUse || len(first.Content) != 3 || string(first.Content[2].Input) != `{"query":"SELECT 1"}` {
		t.Fatalf("%s", first.RawJSON())
	}
	if u := first.Usage; u.InputTokens != 90-64-8 || u.CacheReadInputTokens != 64 || u.CacheCreationInputTokens != 8 || u.OutputTokens != 7 {
		t.Errorf("usage %+v", u)
	}

	ask.Messages = append(ask.Messages, first.ToParam(), sdk.NewUserMessage(sdk.NewToolResultBlock("toolu_1", "1", false)))
	second := accumulate(t, client, ask)
	if second.StopReason != sdk.StopReasonEndTurn || second.Content[0].Text != "It is 1." {
		t.Fatalf("%s", second.RawJSON())
	}
	for _, m := range ask.Messages {
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if got := provider.Requests()[1].Body; !bytes.Contains(got, raw) {
			t.Errorf("%s has no %s", got, raw)
		}
	}
}

func accumulate(t *testing.T, client sdk.Client, p sdk.MessageNewParams) *sdk.Message {
	t.Helper()
	var m sdk.Message
	stream := client.Messages.NewStreaming(t.Context(), p)
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return &m
}

// A client that leaves in the middle of an answer ends the request.
func TestLeaves(t *testing.T) {
	hang := chattest.Say(chattest.Text("One "))
	hang.Hang = true
	_, model := launch(t, hang)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var last error
	for d, err := range model.Chat(ctx, question("hi")) {
		if last = err; d.Kind == chat.DeltaText {
			leave()
		}
	}
	if failed := chat.AsError(last); failed.Code != errcode.Cancelled {
		t.Errorf("%+v", failed)
	}
}
