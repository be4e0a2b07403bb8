package anthropic_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/anthropic"
	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// endpoint serves one answer to the official client and records the last request.
type endpoint struct {
	answer  []chat.Delta
	fail    *chat.Error // instead of the answer
	breaks  *chat.Error // at the end of a stream
	request *chat.Request
}

func (d *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	request, err := anthropic.ParseRequest(body)
	if err == nil && d.fail != nil {
		err = d.fail
	}
	if err != nil {
		w.WriteHeader(chattest.Status(chat.AsError(err).Code))
		_, _ = w.Write(anthropic.EncodeError(chat.AsError(err)))
		return
	}
	d.request = request
	o := anthropic.EncoderOptions{ID: "msg_1", Model: request.Model}
	if request.Stream {
		d.stream(w, o)
		return
	}
	var c chat.Collector
	for _, delta := range d.answer {
		c.Add(delta)
	}
	raw, _ := anthropic.EncodeResponse(o, c.Response())
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(raw)
}

func (d *endpoint) stream(w http.ResponseWriter, o anthropic.EncoderOptions) {
	w.Header().Set("Content-Type", "text/event-stream")
	e := anthropic.NewEncoder(w, o)
	for _, data := range []string{`{"type":"message_stop","index":"x","delta":"y","usage":[1],"message":"z"}`, `[1]`, `"text"`, `null`} {
		_ = e.Event("tool_call", []byte(data))
	}
	for _, delta := range d.answer {
		_ = e.Write(delta)
		_ = e.Event("tool_result", []byte(`{"type":"content_block_stop","index":99}`))
	}
	if d.breaks != nil {
		_ = e.Fail(d.breaks)
	}
	_ = e.Close()
}

// client is the official one.
func (d *endpoint) client(t *testing.T) sdk.Client {
	t.Helper()
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	return sdk.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("k"), option.WithMaxRetries(0))
}

func params() sdk.MessageNewParams {
	return sdk.MessageNewParams{
		Model: "assistant", MaxTokens: 100,
		System:   []sdk.TextBlockParam{{Text: "Be brief.", CacheControl: sdk.NewCacheControlEphemeralParam()}},
		Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("hi"))},
		Tools: []sdk.ToolUnionParam{{OfTool: &sdk.ToolParam{
			Name: "sql", InputSchema: sdk.ToolInputSchemaParam{Properties: map[string]any{"query": map[string]any{"type": "string"}}},
		}}},
		ToolChoice: sdk.ToolChoiceUnionParam{OfAny: &sdk.ToolChoiceAnyParam{DisableParallelToolUse: sdk.Bool(true)}},
	}
}

// The official client reads a stream and a document as the same message.
func TestOfficialClient(t *testing.T) {
	all := map[string][]chat.Delta{}
	for name, answer := range answers {
		all[name] = answer
	}
	for _, name := range []string{"server tools", "thinking", "calls"} {
		all["stream "+name], _ = deltas(t, []byte(streams[name]))
	}
	for name, answer := range all {
		t.Run(name, func(t *testing.T) {
			d := &endpoint{answer: answer}
			client := d.client(t)
			whole, err := client.Messages.New(t.Context(), params())
			if err != nil {
				t.Fatal(err)
			}
			if len(d.request.Tools) != 1 || d.request.Choice.Mode != chat.ChoiceRequired || *d.request.Settings.ParallelCalls {
				t.Errorf("request %+v", d.request)
			}
			var streamed sdk.Message
			stream := client.Messages.NewStreaming(t.Context(), params())
			for stream.Next() {
				if err := streamed.Accumulate(stream.Current()); err != nil {
					t.Fatal(err)
				}
			}
			if err := stream.Err(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(seen(whole), seen(&streamed)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// seen returns what a client sees of a message; text is joined, because a stream may
// split it into blocks.
func seen(m *sdk.Message) any {
	type block struct{ Type, Text, Thinking, Signature, ID, Name, Input, Citation string }
	var blocks []block
	for _, c := range m.Content {
		b := block{c.Type, c.Text, c.Thinking, c.Signature, c.ID, c.Name, strings.ReplaceAll(string(c.Input), " ", ""), ""}
		for _, citation := range c.Citations {
			b.Citation += citation.CitedText
		}
		if n := len(blocks); n > 0 && c.Type == "text" && blocks[n-1].Type == "text" && blocks[n-1].Citation == b.Citation {
			blocks[n-1].Text += c.Text
			continue
		}
		blocks = append(blocks, b)
	}
	u := m.Usage
	return []any{
		m.ID, string(m.Model), string(m.StopReason), m.StopSequence, blocks,
		u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokensDetails.ThinkingTokens,
	}
}

func TestOfficialClientErrors(t *testing.T) {
	d := &endpoint{fail: &chat.Error{Code: errcode.ModelNotFound, Message: `no model "assistant"`}}
	client := d.client(t)
	_, err := client.Messages.New(t.Context(), params())
	var failed *sdk.Error
	if !errors.As(err, &failed) || failed.StatusCode != http.StatusNotFound || failed.Type() != "not_found_error" ||
		!strings.Contains(failed.RawJSON(), "no model") {
		t.Errorf("%v", err)
	}

	bad := params()
	bad.Messages = nil
	if _, err := client.Messages.New(t.Context(), bad); !errors.As(err, &failed) || failed.Type() != "invalid_request_error" {
		t.Errorf("%v", err)
	}

	d.fail, d.breaks, d.answer = nil, &chat.Error{Code: errcode.RateLimited, Message: "busy"}, answers["text"][:2]
	stream := client.Messages.NewStreaming(t.Context(), params())
	for stream.Next() {
	}
	if err := stream.Err(); !errors.As(err, &failed) || failed.Type() != "rate_limit_error" || !strings.Contains(err.Error(), "busy") {
		t.Errorf("%v", err)
	}
}
