package xmltools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/xmltools"
)

// scripted is a model that answers with pieces and records its requests.
type scripted struct {
	pieces []string
	reason chat.Reason
	err    error
	asked  *chat.Request
}

func (s *scripted) Form() chat.Form { return chat.FormOpenAI }

func (s *scripted) Chat(_ context.Context, r *chat.Request) iter.Seq2[chat.Delta, error] {
	s.asked = r
	return func(yield func(chat.Delta, error) bool) {
		if !yield(chat.Delta{Kind: chat.DeltaStart}, nil) {
			return
		}
		for _, p := range s.pieces {
			if !yield(chat.Delta{Kind: chat.DeltaText, Text: p, Raw: json.RawMessage(`{"raw":1}`)}, nil) {
				return
			}
		}
		if s.err != nil {
			yield(chat.Delta{}, s.err)
			return
		}
		yield(chat.Delta{Kind: chat.DeltaFinish, Reason: s.reason}, nil)
	}
}

var someTools = []chat.Tool{
	{
		Name: "search", Description: "Finds <rows> & \"texts\".",
		Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"What to look for."},"limit":{"type":"integer"}},"required":["query"]}`),
	},
	{Name: "time_now", Namespace: "clock"},
}

func ask(tools []chat.Tool, messages ...chat.Message) *chat.Request {
	return &chat.Request{Model: "m", Tools: tools, Messages: messages}
}

// said returns what a client sees of an answer, one line per part.
func said(t testing.TB, reason chat.Reason, pieces ...string) string {
	t.Helper()
	model := &scripted{pieces: pieces, reason: reason}
	ids := map[string]bool{}
	var b strings.Builder
	var c chat.Collector
	open := map[int]bool{}
	for d, err := range xmltools.Wrap(model).Chat(t.Context(), ask(someTools, chat.Text(chat.RoleUser, "hi"))) {
		if err != nil {
			t.Fatal(err)
		}
		switch d.Kind {
		case chat.DeltaCall:
			if !strings.HasPrefix(d.Call.ID, "call_") || ids[d.Call.ID] {
				t.Errorf("id %q", d.Call.ID)
			}
			ids[d.Call.ID], open[d.Index] = true, true
		case chat.DeltaCallEnd:
			delete(open, d.Index)
		case chat.DeltaText:
			if d.Raw != nil || d.Text == "" {
				t.Errorf("text %q with raw %s", d.Text, d.Raw)
			}
		}
		c.Add(d)
	}
	for _, p := range c.Response().Parts {
		if p.Kind == chat.PartCall {
			fmt.Fprintf(&b, "call %s %s\n", p.Call.Name, p.Call.Arguments)
			continue
		}
		fmt.Fprintf(&b, "%s %q\n", p.Kind, p.Text)
	}
	if len(open) > 0 {
		b.WriteString("not ended\n")
	}
	return b.String() + string(c.Response().Reason)
}

const fence = "```"

var answers = []struct{ name, text, want string }{
	{"text", "Hello <b>you</b>, 1 < 2.", `text "Hello <b>you</b>, 1 < 2."` + "\nstop"},
	{"empty", "", "stop"},
	{
		"text and a call", "Let me see.\n<tool_call>\n{\"name\": \"search\", \"arguments\": {\"query\": \"tides\"}}\n</tool_call>",
		`text "Let me see.\n"` + "\n" + `call search {"query": "tides"}` + "\ncalls",
	},
	{
		"two calls and text", `<tool_call>{"name":"search","arguments":{"query":"a"}}</tool_call>` + "\n" + `<tool_call>{"name":"time_now"}</tool_call> done`,
		`call search {"query":"a"}` + "\ncall time_now {}\n" + `text "done"` + "\ncalls",
	},
	{
		"two calls in one tag", `<tool_call>{"name":"search","parameters":{"query":"a"}}` + "\n" + `{"name":"time_now","arguments":null}</tool_call>`,
		`call search {"query":"a"}` + "\ncall time_now null\ncalls",
	},
	{
		"no closing tag", `<tool_call>{"name":"search","arguments":{"query":"a"}} and so on`,
		`call search {"query":"a"}` + "\n" + `text "and so on"` + "\ncalls",
	},
	{
		"tags in a string", `<tool_call>{"name":"search","arguments":{"query":"</tool_call><tool_call> \" } <"}}</tool_call>x`,
		`call search {"query":"</tool_call><tool_call> \" } <"}` + "\n" + `text "x"` + "\ncalls",
	},
	{
		"arguments as text", `<tool_call>{"name":"search","arguments":"{\"query\":\"a\"}"}</tool_call>`,
		`call search {"query":"a"}` + "\ncalls",
	},
	{"function form", `<function=search>{"query": "a"}</function>!`, `call search {"query": "a"}` + "\n" + `text "!"` + "\ncalls"},
	{"function form with bad JSON", `<function=search>{query: 'a'}</function>`, "call search {query: 'a'}\ncalls"},
	{"function form without an object", `<function=search>a</function> <function=>{}`, `text "<function=search>a</function> <function=>{}"` + "\nstop"},
	{"unknown tool", `<tool_call>{"name":"fly","arguments":{}}</tool_call>`, "call fly {}\ncalls"},
	{"no name", `<tool_call>{"arguments":{"query":"a"}}</tool_call>`, `call unnamed_tool_call {"query":"a"}` + "\ncalls"},
	{
		"nothing of a call", `<tool_call>{"answer": 42}</tool_call> <tool_call>hm</tool_call>`,
		`text "<tool_call>{\"answer\": 42}</tool_call> <tool_call>hm</tool_call>"` + "\nstop",
	},
	{
		"bad JSON", `<tool_call>{"name": "search", "arguments": {"query": 'a'}}</tool_call>`,
		`call search {"query": 'a'}` + "\ncalls",
	},
	{
		"a brace is missing", `<tool_call>{"name": "search", "arguments": {"query": "a"}</tool_call> <tool_call>{"name":"time_now"}</tool_call>`,
		`call search {"query": "a"}` + "\ncall time_now {}\ncalls",
	},
	{
		"a quotation mark is missing", `<tool_call>{"name": "search", "arguments": {"query": "a}}</tool_call> so`,
		`call search {"query": "a}}` + "\n" + `text "so"` + "\ncalls",
	},
	{"cut in the arguments", `<tool_call>{"name": "search", "arguments": {"que`, `call search {"que` + "\ncalls"},
	{"cut before the arguments", `<tool_call>{"name": "search"`, `call search {"name": "search"` + "\ncalls"},
	{"cut in the name", `<tool_call>{"name": "sea`, `text "<tool_call>{\"name\": \"sea"` + "\nstop"},
	{"cut in a tag", `1 <tool_ca`, `text "1 <tool_ca"` + "\nstop"},
	{"cut behind a tag", "a <tool_call>\n", `text "a <tool_call>\n"` + "\nstop"},
	{"tags of other kinds", "<<tool_call <tools> <tool_calls>{} <function= x>", `text "<<tool_call <tools> <tool_calls>{} <function= x>"` + "\nstop"},
	{
		"in a code block", "So:\n" + fence + "xml\n<tool_call>{\"name\":\"search\"}</tool_call>\n" + fence + "\n<tool_call>{\"name\":\"time_now\"}</tool_call>",
		`text "So:\n` + fence + `xml\n<tool_call>{\"name\":\"search\"}</tool_call>\n` + fence + `\n"` + "\ncall time_now {}\ncalls",
	},
	{
		"in a block of tildes with backticks in it", "~~~~\n" + fence +
			"\n~~~\n<tool_call>{\"name\":\"search\"}</tool_call>\n  ~~~~~ \n<tool_call>{\"name\":\"time_now\"}",
		`text "~~~~\n` + fence + `\n~~~\n<tool_call>{\"name\":\"search\"}</tool_call>\n  ~~~~~ \n"` + "\ncall time_now {}\ncalls",
	},
	{
		"in a code span", "Write `<tool_call>{\"name\":\"search\"}</tool_call>` or ``a`<tool_call>{\"name\":\"search\"}``.",
		"text \"Write `<tool_call>{\\\"name\\\":\\\"search\\\"}</tool_call>` or ``a`<tool_call>{\\\"name\\\":\\\"search\\\"}``.\"\nstop",
	},
	{"behind a code span", "`a` " + fence + "b" + fence + "<function=time_now>{}", "text \"`a` " + fence + "b" + fence + "\"\ncall time_now {}\ncalls"},
	{"an odd backtick ends with its line", "a ` b\n<function=time_now>{}", "text \"a ` b\\n\"\ncall time_now {}\ncalls"},
	{
		"in thinking", "\n<think>perhaps <tool_call>{\"name\":\"search\"}</tool_call></think><function=time_now>{}",
		`text "\n<think>perhaps <tool_call>{\"name\":\"search\"}</tool_call></think>"` + "\ncall time_now {}\ncalls",
	},
	{
		"code blocks of calls", "\n" + fence + "json\n{\"name\": \"search\", \"arguments\": {\"query\": \"a\"}}\n" + fence + "\n" + fence +
			"json\n{\"name\":\"time_now\"}\n" + fence + "\n",
		`call search {"query": "a"}` + "\ncall time_now {}\ncalls",
	},
	{
		"a code block of an unknown tool", fence + "json\n{\"name\": \"fly\"}\n" + fence,
		`text "` + fence + `json\n{\"name\": \"fly\"}\n` + fence + `"` + "\nstop",
	},
	{
		"a code block and text", fence + "json\n{\"name\": \"search\"}\n" + fence + "\nis how to <function=time_now>{}</function>",
		`text "` + fence + `json\n{\"name\": \"search\"}\n` + fence + `\nis how to "` + "\ncall time_now {}\ncalls",
	},
	{
		"a code block that is not closed", fence + "json\n{\"name\": \"search\"}",
		`text "` + fence + `json\n{\"name\": \"search\"}"` + "\nstop",
	},
	{
		"a code block of data", fence + "json\n{\"rows\": []}\n" + fence,
		`text "` + fence + `json\n{\"rows\": []}\n` + fence + `"` + "\nstop",
	},
}

func TestAnswers(t *testing.T) {
	for _, a := range answers {
		t.Run(a.name, func(t *testing.T) {
			if diff := cmp.Diff(a.want, said(t, chat.ReasonStop, a.text)); diff != "" {
				t.Errorf("in one piece: %s", diff)
			}
			bytes := make([]string, len(a.text))
			for i := range a.text {
				bytes[i] = a.text[i : i+1]
			}
			if diff := cmp.Diff(a.want, said(t, chat.ReasonStop, bytes...)); diff != "" {
				t.Errorf("byte by byte: %s", diff)
			}
		})
	}
}

// cut splits text into random pieces.
func cut(text string, r *rand.Rand) []string {
	var pieces []string
	for text != "" {
		n := 1 + r.IntN(min(len(text), 1+r.IntN(40)))
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return pieces
}

// fragments are the parts of random answers.
var fragments = []string{
	"<tool_call>", "</tool_call>", "{", "}", `{"name":"search","arguments":{"query":"a"}}`, `"name":"search"`, `"arguments":`, `"`, `\`, "\n", " ",
	"<function=search>", "</function>", "`", fence, fence + "json", "~~~", "<think>", "</think>", "<", ">", "text", "é", "[", "]",
}

func TestAnyCutIsTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		var text string
		for range 1 + r.IntN(20) {
			text += fragments[r.IntN(len(fragments))]
		}
		sameHoweverCut(t, text, r)
	}
	for _, a := range answers {
		for range 20 {
			sameHoweverCut(t, a.text, r)
		}
	}
}

func sameHoweverCut(t *testing.T, text string, r *rand.Rand) {
	t.Helper()
	whole := said(t, chat.ReasonStop, text)
	pieces := cut(text, r)
	if diff := cmp.Diff(whole, said(t, chat.ReasonStop, pieces...)); diff != "" {
		t.Fatalf("%q cut into %q: %s", text, pieces, diff)
	}
}

func FuzzAnswer(f *testing.F) {
	for i, a := range answers {
		f.Add(a.text, uint64(i))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		if len(text) < 1<<16 {
			sameHoweverCut(t, text, rand.New(rand.NewPCG(seed, 0)))
		}
	})
}

func TestTextPassesAtOnceAndCallsWhenComplete(t *testing.T) {
	model := &scripted{pieces: []string{"a", " < b", " <tool", "s>", `<tool_call>{"name":"time_now"`, "}", "</tool_call>"}, reason: chat.ReasonStop}
	var steps []string
	for d := range xmltools.Wrap(model).Chat(t.Context(), ask(someTools)) {
		switch d.Kind {
		case chat.DeltaText:
			steps = append(steps, d.Text)
		case chat.DeltaCall:
			steps = append(steps, "call "+d.Call.Namespace+"."+d.Call.Name)
		case chat.DeltaCallEnd:
			steps = append(steps, "end")
		}
	}
	want := []string{"a", " < b", " ", "<tools>", "call clock.time_now", "end"}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Error(diff)
	}
}

func TestReasons(t *testing.T) {
	const call = `<tool_call>{"name":"time_now"}</tool_call>`
	for _, c := range []struct {
		reason chat.Reason
		text   string
		want   string
	}{
		{chat.ReasonLength, call, "call time_now {}\nlength"},
		{chat.ReasonLength, `<tool_call>{"name":"search","arguments":{"q`, "call search {\"q\nnot ended\nlength"},
		{chat.ReasonFilter, call, "call time_now {}\nfilter"},
	} {
		if diff := cmp.Diff(c.want, said(t, c.reason, c.text)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestLimits(t *testing.T) {
	for name, text := range map[string]string{
		"a long call":  `<tool_call>{"name":"search","arguments":{"query":"` + strings.Repeat("x", xmltools.MaxCall) + `"}}</tool_call>`,
		"a long block": fence + `json` + "\n" + `{"name":"search","arguments":{"query":"` + strings.Repeat("x", xmltools.MaxBlock) + `"}}` + "\n" + fence,
		"a long space": "<tool_call>" + strings.Repeat(" ", xmltools.MaxSpace) + `{"name":"search"}`,
	} {
		t.Run(name, func(t *testing.T) {
			got := said(t, chat.ReasonStop, cut(text, rand.New(rand.NewPCG(3, 4)))...)
			if want := fmt.Sprintf("text %q\nstop", text); got != want {
				t.Errorf("got %.100q…", got)
			}
		})
	}
	unclosed := strings.Repeat(`<tool_call>{"name":"search","arguments":{"query":"</tool_call>`, 1000)
	if got := said(t, chat.ReasonStop, unclosed); strings.Count(got, "call search") < 64 {
		t.Errorf("got %.300q…", got)
	}
}

func TestAnAnswerThatBreaksOff(t *testing.T) {
	broken := &chat.Error{Code: errcode.StreamBroken, Message: "cut"}
	for text, want := range map[string]string{
		"ab <tool":                      "ab <tool",
		"ab <tool_call>{\"name\": \"se": "ab ",
		fence + "json":                  fence + "json",
		"x <function=search>\n":         "x <function=search>\n",
	} {
		model := &scripted{pieces: []string{text}, err: broken}
		r, err := chat.Collect(xmltools.Wrap(model).Chat(t.Context(), ask(someTools)))
		if !errors.Is(err, broken) || r.Message().Text() != want || len(r.Message().Calls()) > 0 {
			t.Errorf("%q: got %q, %v", text, r.Message().Text(), err)
		}
	}
}

func TestStoppingEarly(t *testing.T) {
	model := &scripted{pieces: []string{"a", "b"}, reason: chat.ReasonStop}
	for d := range xmltools.Wrap(model).Chat(t.Context(), ask(someTools)) {
		if d.Kind == chat.DeltaText {
			break
		}
	}
}

// native is a provider that makes a native call between two of the text.
type native struct{ scripted }

func (n *native) Chat(context.Context, *chat.Request) iter.Seq2[chat.Delta, error] {
	return func(yield func(chat.Delta, error) bool) {
		for _, d := range []chat.Delta{
			{Kind: chat.DeltaText, Text: `<function=a>{}</function>`},
			{Kind: chat.DeltaCall, Call: &chat.Call{ID: "1", Name: "own"}},
			{Kind: chat.DeltaArguments, Text: `{"x":1}`},
			{Kind: chat.DeltaCallEnd},
			{Kind: chat.DeltaThinking, Text: "hm"},
			{Kind: chat.DeltaText, Text: `<function=b>{}</function>`},
			{Kind: chat.DeltaFinish, Reason: chat.ReasonStop},
		} {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func TestCallsOfTheProviderAreCountedToo(t *testing.T) {
	var got []string
	for d := range xmltools.Wrap(&native{}).Chat(t.Context(), ask(someTools)) {
		if d.Kind == chat.DeltaCall || d.Kind == chat.DeltaArguments {
			got = append(got, fmt.Sprint(d.Index, d.Text))
		}
	}
	if diff := cmp.Diff([]string{"0", "0{}", "1", `1{"x":1}`, "2", "2{}"}, got); diff != "" {
		t.Error(diff)
	}
}
