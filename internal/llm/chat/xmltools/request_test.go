package xmltools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/xmltools"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

// asked returns the request that the model gets.
func asked(t *testing.T, r *chat.Request) *chat.Request {
	t.Helper()
	before, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	model := &scripted{reason: chat.ReasonStop}
	if _, err := chat.Collect(xmltools.Wrap(model).Chat(t.Context(), r)); err != nil {
		t.Fatal(err)
	}
	if after, _ := json.Marshal(r); string(after) != string(before) {
		t.Error("the caller's request was changed")
	}
	return model.asked
}

// transcript returns a request's messages as text.
func transcript(r *chat.Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "=== %s\n", m.Role)
		for _, p := range m.Parts {
			if p.Kind == chat.PartText {
				b.WriteString(p.Text + "\n")
				continue
			}
			fmt.Fprintf(&b, "--- %s\n", p.Kind)
		}
	}
	return b.String()
}

func result(id, text string) chat.Message {
	r := &chat.CallResult{ID: id, Parts: []chat.Part{{Kind: chat.PartText, Text: text}}}
	return chat.Message{Role: chat.RoleTool, Parts: []chat.Part{{Kind: chat.PartResult, Result: r}}}
}

func calls(text string, list ...chat.Call) chat.Message {
	m := chat.Text(chat.RoleAssistant, text)
	for _, c := range list {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.PartCall, Call: &c, Raw: json.RawMessage(`{"type":"function"}`)})
	}
	m.Raw, m.Form = json.RawMessage(`{"role":"assistant"}`), chat.FormOpenAI
	return m
}

func TestConversation(t *testing.T) {
	picture := result("c3", "a picture")
	picture.Parts[0].Result.Parts = append(picture.Parts[0].Result.Parts, chat.Part{Kind: chat.PartImage, Image: &chat.Image{URL: "https://x/y.png"}})
	failed := result("c2", "no </tool_response> here")
	failed.Parts[0].Result.Error = true
	no := false
	r := ask(someTools,
		chat.Text(chat.RoleSystem, "Be brief."),
		chat.Text(chat.RoleUser, "What is the time?"),
		calls("Let me see.\n", chat.Call{ID: "c1", Name: "time_now"}, chat.Call{ID: "c2", Name: "search", Arguments: `{"query": "a < b"}`}),
		result("c1", "12:00"), failed,
		calls("", chat.Call{ID: "c3", Name: "search", Arguments: `{"query`}),
		picture,
		chat.Text(chat.RoleUser, "Thanks."),
	)
	r.Settings.ParallelCalls = &no
	got := asked(t, r)
	golden.Equal(t, "testdata/conversation.txt", transcript(got))
	if len(got.Tools) != 0 || got.Settings.ParallelCalls != nil {
		t.Errorf("tools %v and settings %+v are left", got.Tools, got.Settings)
	}
	for i, m := range got.Messages {
		if m.Raw != nil {
			t.Errorf("message %d keeps what the client wrote: %s", i, m.Raw)
		}
	}
}

func TestChoices(t *testing.T) {
	for _, c := range []struct {
		choice chat.Choice
		want   string
	}{
		{chat.Choice{}, "one after the other.\n"},
		{chat.Choice{Mode: chat.ChoiceAuto}, "one after the other.\n"},
		{chat.Choice{Mode: chat.ChoiceNone}, "Do not call a tool in this answer.\n"},
		{chat.Choice{Mode: chat.ChoiceRequired}, "must call at least one tool.\n"},
		{chat.Choice{Mode: chat.ChoiceTool, Name: "search"}, "must call the tool search.\n"},
	} {
		r := ask(someTools, chat.Text(chat.RoleUser, "hi"))
		r.Choice = c.choice
		got := asked(t, r)
		if text := got.Messages[0].Text(); got.Messages[0].Role != chat.RoleSystem || !strings.HasSuffix(text, c.want) {
			t.Errorf("%+v: the system text ends %q", c.choice, text[max(0, len(text)-80):])
		}
		if got.Choice.Mode != "" {
			t.Errorf("choice %+v is left", got.Choice)
		}
	}
}

func TestWithoutCallsTextIsText(t *testing.T) {
	const call = `<tool_call>{"name":"time_now"}</tool_call>`
	none := ask(someTools)
	none.Choice.Mode = chat.ChoiceNone
	for name, r := range map[string]*chat.Request{"no tools": ask(nil), "tool_choice none": none} {
		got, err := chat.Collect(xmltools.Wrap(&scripted{pieces: []string{call}, reason: chat.ReasonStop}).Chat(t.Context(), r))
		if err != nil || got.Message().Text() != call || got.Reason != chat.ReasonStop {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestWhatIsNoneOfOursStays(t *testing.T) {
	plain := ask(nil, chat.Text(chat.RoleUser, "hi"))
	if got := asked(t, plain); got != plain {
		t.Error("a request without tools and calls was copied")
	}
	past := ask(nil, calls("", chat.Call{ID: "c", Name: "gone"}), result("c", "x"))
	if got := asked(t, past); strings.Contains(transcript(got), "You can call") || !strings.Contains(transcript(got), "<tool_response name=\"gone\">") {
		t.Errorf("got %s", transcript(got))
	}
	hosted := chat.Tool{Raw: json.RawMessage(`{"type":"web_search"}`)}
	if got := asked(t, ask([]chat.Tool{hosted, someTools[0]})); len(got.Tools) != 1 || !got.Tools[0].Hosted() {
		t.Errorf("tools %+v", got.Tools)
	}
	marked := chat.Message{Role: chat.RoleSystem, Parts: []chat.Part{{Kind: chat.PartText, Text: "a", Raw: json.RawMessage(`{}`)}}}
	if got := asked(t, ask(someTools, marked)); len(got.Messages[0].Parts) != 2 || got.Messages[0].Parts[0].Raw == nil {
		t.Errorf("system parts %+v", got.Messages[0].Parts)
	}
	raw := chat.Message{Role: chat.RoleUser, Raw: json.RawMessage(`{"role":"user","name":"bob"}`), Form: chat.FormOpenAI}
	if got := asked(t, ask(someTools, raw)); cmp.Diff(raw, got.Messages[1]) != "" {
		t.Errorf("message %+v", got.Messages[1])
	}
}

func TestDeferredToolsAreToldOnceFound(t *testing.T) {
	late := chat.Tool{Name: "late", Deferred: true}
	r := ask([]chat.Tool{late, someTools[0]}, chat.Text(chat.RoleUser, "hi"))
	if strings.Contains(transcript(asked(t, r)), "late") {
		t.Error("described before it was found")
	}
	found := result("c", "")
	found.Parts[0].Result.Found = []string{"late"}
	r.Messages = append(r.Messages, found)
	if !strings.Contains(transcript(asked(t, r)), "<name>late</name>") {
		t.Error("not described")
	}
}

func TestTheSameToolsAreTheSameBytes(t *testing.T) {
	first := transcript(asked(t, ask(someTools, chat.Text(chat.RoleUser, "hi"))))
	for range 20 {
		if got := transcript(asked(t, ask(someTools, chat.Text(chat.RoleUser, "hi")))); got != first {
			t.Fatal(cmp.Diff(first, got))
		}
	}
}

// TestAllowedTools describes the tools that the choice allows only.
func TestAllowedTools(t *testing.T) {
	r := &chat.Request{
		Messages: []chat.Message{chat.Text(chat.RoleUser, "hi")},
		Tools:    []chat.Tool{{Name: "first_tool"}, {Name: "second_tool"}},
		Choice:   chat.Choice{Mode: chat.ChoiceAuto, Allowed: []string{"second_tool"}},
	}
	text := transcript(asked(t, r))
	if strings.Contains(text, "first_tool") || !strings.Contains(text, "second_tool") {
		t.Error(text)
	}
}
