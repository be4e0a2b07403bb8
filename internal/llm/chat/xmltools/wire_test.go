package xmltools_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/openai"
	"github.com/spiced-sql/spiced/internal/llm/chat/xmltools"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// TestOverHTTP has a conversation of two rounds with a server that has no tools and
// sends its text a few bytes at a time.
func TestOverHTTP(t *testing.T) {
	server, err := chattest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	const said = "Let me see. <tool_call>\n{\"name\": \"search\", \"arguments\": {\"query\": \"é\"}}\n</tool_call>"
	first := chattest.Say(chattest.Text(strings.SplitAfter(said, "")...), chattest.Usage(9, 3, 0, 0))
	first.ChunkBytes = 7
	server.Script(chattest.InTurn(first, chattest.Say(chattest.Text("Two ", "rows."))))
	model := xmltools.Wrap(openai.NewProvider(openai.ProviderOptions{
		Model:    "m",
		Endpoint: upstream.New(upstream.Options{Model: "m", BaseURL: server.URL + "/v1"}),
	}))
	if model.Form() != chat.FormOpenAI {
		t.Errorf("form %q", model.Form())
	}

	r := ask(someTools, chat.Text(chat.RoleUser, "Which rows?"))
	r.Choice.Mode, r.Form = chat.ChoiceRequired, chat.FormAnthropic
	answer, err := chat.Collect(model.Chat(t.Context(), r))
	if err != nil {
		t.Fatal(err)
	}
	calls := answer.Message().Calls()
	if len(calls) != 1 || calls[0].Arguments != `{"query": "é"}` || answer.Reason != chat.ReasonCalls || answer.Message().Text() != "Let me see. " ||
		answer.Usage.Input != 9 {
		t.Fatalf("got %+v", answer)
	}

	r.Messages = append(r.Messages, answer.Message(), result(calls[0].ID, "a, b"))
	answer, err = chat.Collect(model.Chat(t.Context(), r))
	if err != nil || answer.Message().Text() != "Two rows." || answer.Reason != chat.ReasonStop {
		t.Fatalf("got %+v, %v", answer, err)
	}
	requests := server.Requests()
	for i, q := range requests {
		if len(q.Tools) > 0 || strings.Contains(string(q.Body), "tool_choice") || !strings.Contains(q.System, "<name>search</name>") {
			t.Errorf("request %d: %s", i, q.Body)
		}
	}
	if diff := cmp.Diff("<tool_response name=\"search\">\na, b\n</tool_response>", requests[1].User); diff != "" {
		t.Error(diff)
	}
}
