package models_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/tools"
)

// script is a model m that is scripted.
func script(params, steps string) string {
	return "models:\n- name: m\n  from: scripted:demo\n  params: {" + params + "}\n  script:\n" + steps
}

const errand = `
  - {user: "add|sum", calls: [{tool: f01, arguments: {x: 2, note: "{{user}}"}}]}
  - {after: f01, say: "It is {{ result }}."}
  - {user: "^overloaded$", error: {code: rate_limited, message: "try again later"}}
  - {user: broken, say: "half an ", error: {code: stream_broken, message: "the line is dead"}}
  - {user: long, think: "Let me see.", say: "and so on", finish: length}
`

func said(texts ...string) *chat.Request {
	r := &chat.Request{Model: "m", Form: chat.FormOpenAI}
	for i, text := range texts {
		r.Messages = append(r.Messages, chat.Text([]chat.Role{chat.RoleUser, chat.RoleAssistant}[i%2], text))
	}
	return r
}

func text(r *chat.Response) string { return r.Message().Text() }

func TestScriptedModel(t *testing.T) {
	set, problems, _ := open(t, script("tools: 'f01, f02'", errand), functions(t, 3))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if got := set.Infos()[0]; got.Mode != models.ModeDirect || got.From != "scripted:demo" {
		t.Errorf("%+v", got)
	}
	answer := must(t, set, "m", said("ADD two"))
	if text(answer) != `It is "done".` || answer.Usage.Input == 0 || answer.Usage.Output == 0 {
		t.Errorf("%q, %+v", text(answer), answer.Usage)
	}
	// An earlier result does not count once the user says something else.
	again := said("add two", "It is done.", "a long story")
	if answer = must(t, set, "m", again); text(answer) != "and so on" || answer.Reason != chat.ReasonLength {
		t.Errorf("%q, %s", text(answer), answer.Reason)
	}
	for _, c := range []struct {
		user, says, text string
		code             errcode.Code
	}{
		{"overloaded", "", "try again later", errcode.RateLimited},
		{"broken", "half an ", "the line is dead", errcode.StreamBroken},
		{"who are you?", "", `no step of the model's script matches the request: the user says "who are you?"; the script has 5 steps`, errcode.ProviderError},
	} {
		answer, err := ask(t, set, "m", said(c.user), tools.Scope{})
		failed := chat.AsError(err)
		if failed.Code != c.code || !strings.HasPrefix(failed.Message, c.text) || text(answer) != c.says {
			t.Errorf("%s: %q, %s %s", c.user, text(answer), failed.Code, failed.Message)
		}
	}
}

// The answer comes word by word, after the delay.
func TestScriptedModelStreams(t *testing.T) {
	set, problems, _ := open(t, script("", "  - {say: one two three, delay: 40s}\n"), nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	synctest.Test(t, func(t *testing.T) {
		m, _ := set.Model("m")
		began := time.Now()
		var pieces []string
		for e, err := range m.Chat(t.Context(), said("go"), tools.Scope{}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == chat.DeltaText {
				pieces = append(pieces, e.Text)
			}
		}
		if got := strings.Join(pieces, "|"); got != "one |two |three" || time.Since(began) != 40*time.Second {
			t.Errorf("%s after %s", got, time.Since(began))
		}
	})
}

func TestBadScripts(t *testing.T) {
	for _, c := range []struct{ pod, want string }{
		{script("", "  - {user: '(', say: x}\n"), `error: "(" is not a regular expression: `},
		{script("", "  - {user: x}\n"), "error: the step says nothing: give it say, calls or error"},
		{script("", "  - {say: 'in {{city}}'}\n"), "error: {{city}} is neither {{user}} nor {{result}}"},
		{script("", "  - {calls: [{tool: f, arguments: {q: [{a: '{{town}}'}]}}]}\n"), "error: {{town}} is neither"},
		{script("", "  - {calls: [{tool: f, arguments: {q: .nan}}]}\n"), "error: the arguments cannot be sent as JSON: "},
		{script("", "  - {say: x, delay: 2m}\n"), "error: delay takes 0 to 1m0s, got 2m0s"},
		{"models: [{name: m, from: 'scripted:demo'}]\n", "error: a script has 1 to 1000 steps; this one has 0"},
		{script("endpoint: 'http://127.0.0.1:1'", "  - {say: x}\n"), "error: unknown param"},
		{"models: [{name: m, from: 'openai:gpt', params: {openai_api_key: k}, script: [{say: x}]}]\n", "error: a model from openai has no script"},
	} {
		_, problems, _ := open(t, c.pod, nil)
		if got := texts(problems); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s\ngot  %s\nwant %s", c.pod, got, c.want)
		}
	}
}

// The model gets a changed script with the next load, and keeps its provider otherwise.
func TestScriptedModelIsReloaded(t *testing.T) {
	first, _, s := open(t, script("", "  - {say: one}\n"), nil)
	second, _ := models.NewSet(podtest.Load(t, script("", "  - {say: two}\n")), first, s.options)
	if got := text(must(t, second, "m", said("hi"))); got != "two" {
		t.Error(got)
	}
}

// Arguments of calls have the user's text.
func TestScriptedArguments(t *testing.T) {
	set, _, _ := open(t, script("", errand), nil)
	r := said(`add "these"`)
	r.Tools = []chat.Tool{{Name: "f01", Parameters: json.RawMessage(`{"type":"object"}`)}}
	calls := must(t, set, "m", r).Message().Calls()
	if len(calls) != 1 || calls[0].Arguments != `{"note":"add \"these\"","x":2}` {
		t.Errorf("%+v", calls)
	}
}
