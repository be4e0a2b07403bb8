package runtime

import (
	"context"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/nsql"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/internal/test/wait"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// provider starts a provider of models that ends with the test.
func provider(t *testing.T) *chattest.Server {
	t.Helper()
	p, err := chattest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func modelsAt(p *chattest.Server, entries ...string) string {
	text := "models:\n"
	for _, e := range entries {
		text += "- " + strings.ReplaceAll(e, "URL", p.URL+"/v1") + "\n"
	}
	return text
}

// say asks a model of the generation that serves and returns what it says.
func (r *rig) say(model, text string) string {
	r.t.Helper()
	m, err := r.Current().Models.Model(model)
	if err != nil {
		return "error: " + err.Error()
	}
	var answer chat.Collector
	request := &chat.Request{Model: model, Messages: []chat.Message{chat.Text(chat.RoleUser, text)}}
	for e, err := range m.Chat(r.t.Context(), request, tools.Scope{Caller: caller.Caller{RequestID: "r1"}}) {
		if err != nil {
			return "error: " + err.Error()
		}
		answer.Add(e.Delta)
	}
	return answer.Response().Message().Text()
}

func TestModelsAreServedAndCounted(t *testing.T) {
	p := provider(t)
	p.Script(func(r chattest.Request) chattest.Answer {
		if len(r.Results) == 0 {
			return chattest.Say(chattest.Call("c", "twice", `{"x":`, `21}`), chattest.Usage(50, 5, 40, 2))
		}
		return chattest.Say(chattest.Text("It is "+r.Results["c"]), chattest.Usage(60, 6, 50, 0))
	})
	r := start(t, files{"spicepod.yaml": "functions:\n" + fn("twice", "x", "x * 2") + modelsAt(p,
		"{name: m, from: 'openai:x', params: {endpoint: URL, tools: auto}}",
		"{name: none, from: 'openai:x', params: {endpoint: URL}}",
		"{name: refused, from: 'openai:x', params: {endpoint: URL, tools: search_registry}}")})
	r.problems(r.LastReport(), "No embedding model configured for searchable tool discovery")
	if got := r.say("m", "twice 21?"); got != "It is 42" {
		t.Errorf("answer %q", got)
	}
	if got := r.say("refused", "?"); !strings.Contains(got, `the model "refused" was not loaded`) ||
		!strings.Contains(got, `{name: local, from: "builtin:semantic"}`) {
		t.Errorf("answer %q", got)
	}
	for sql, want := range map[string]string{
		`SELECT name, status, mode, tool_count FROM spiced.models ORDER BY name`: "m,Ready,direct,7;none,Ready,none,0;refused,Error,none,0",
		// Two rounds carry the definitions twice; a model without tools costs nothing.
		`SELECT m.definition_tokens > 300, u.definition_tokens = 2 * m.definition_tokens FROM spiced.models m JOIN spiced.model_usage u ON u.model = m.name`:           "true,true",
		`SELECT definition_tokens FROM spiced.models WHERE name <> 'm'`:                                                                                                "0;0",
		`SELECT definition_tokens = (SELECT sum(t.definition_tokens) FROM spiced.tools t WHERE list_contains(advertised, t.name)) FROM spiced.models WHERE name = 'm'`: "true",
		`SELECT reason FROM spiced.models WHERE name = 'm'`:                                                                                                            "7 tools, no more than 20",
		`SELECT model, chats, failed, rounds, tool_calls, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens FROM spiced.model_usage`:                  "m,1,0,2,1,110,11,90,2",
		`SELECT tool, surface, request_id FROM spiced.tool_calls WHERE tool = 'twice'`:                                                                                 "twice,chat,r1",
	} {
		r.want(sql, want)
	}
}

func TestModelsFollowTheSpicepod(t *testing.T) {
	p := provider(t)
	p.Script(chattest.Always(chattest.Say(chattest.Text("hello"))))
	one := "{name: m, from: 'openai:x', params: {endpoint: URL, tools: auto}}"
	r := start(t, files{"spicepod.yaml": "functions:\n" + fn("twice", "x", "x * 2") + modelsAt(p, one)})
	if got := r.say("m", "hi"); got != "hello" {
		t.Errorf("answer %q", got)
	}
	r.write(files{"spicepod.yaml": "functions:\n" + fn("thrice", "x", "x * 3") + modelsAt(p, one, "{name: other, from: 'openai:y', params: {endpoint: URL}}")})
	if report := r.Load(t.Context(), "test"); !report.Accepted {
		t.Fatal(report.Problems)
	}
	for _, m := range []string{"m", "other"} {
		if got := r.say(m, "hi"); got != "hello" {
			t.Errorf("%s answers %q", m, got)
		}
	}
	requests := p.Requests()
	if before, after := requests[0], requests[1]; !before.Has("twice") || after.Has("twice") || !after.Has("thrice") {
		t.Errorf("tools before %v, after %v", before.Tools, after.Tools)
	}
	r.want("SELECT name FROM spiced.models ORDER BY name", "m;other")
}

func TestWriteSQL(t *testing.T) {
	p := provider(t)
	p.Script(chattest.InTurn(
		chattest.Say(chattest.Text("SELECT count(*) FROM tt")),
		chattest.Say(chattest.Text("```sql\nSELECT count(*) AS n FROM t\n```")),
	))
	r := start(t, files{"t.csv": "a\n1\n2\n", "spicepod.yaml": csvs + "functions:\n" + fn("twice", "x", "x * 2") + modelsAt(p,
		"{name: m, from: 'openai:x', datasets: [t], params: {endpoint: URL}}")})
	answer, err := r.WriteSQL(t.Context(), "m", nsql.Request{Query: "how many?"}, tools.Scope{})
	if err != nil || answer.SQL != "SELECT count(*) AS n FROM t" || answer.Attempts != 2 {
		t.Fatalf("%+v, %v", answer, err)
	}
	repair := p.Requests()[1]
	for _, part := range []string{"SELECT count(*) FROM tt", `is not declared in the Spicepod`} {
		if !strings.Contains(string(repair.Body), part) {
			t.Errorf("the repair does not show %q: %s", part, repair.Body)
		}
	}
	rows, err := r.DB().Query(context.Background(), engine.Request{SQL: answer.SQL, Allow: answer.Allow})
	if err != nil {
		t.Fatal(err)
	}
	rows.Close()
	if _, err := r.DB().Query(context.Background(), engine.Request{SQL: "SELECT * FROM spiced.tools", Allow: answer.Allow}); err == nil {
		t.Error("a statement of a model with datasets reads another table")
	}
	r.want("SELECT chats FROM spiced.model_usage", "2")
}

// A client that leaves ends the statement of the tool that runs for it.
func TestLeavingAChatEndsItsStatement(t *testing.T) {
	p := provider(t)
	p.Script(chattest.Always(chattest.Say(chattest.Call("c", "sql",
		`{"query":"SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"}`))))
	r := start(t, files{"spicepod.yaml": modelsAt(p, "{name: m, from: 'openai:x', params: {endpoint: URL, tools: sql}}")})
	m, err := r.Current().Models.Model("m")
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	request := &chat.Request{Model: "m", Messages: []chat.Message{chat.Text(chat.RoleUser, "go")}}
	for e, err := range m.Chat(ctx, request, tools.Scope{}) {
		if e.Tool != nil && e.Tool.Type == registry.EventToolCall {
			wait.Until(r.t, "the statement runs", func() bool { return r.DB().Stats().Running > 0 })
			leave()
		}
		if err != nil && chat.AsError(err).Code != errcode.Cancelled {
			t.Error(err)
		}
	}
	wait.Until(r.t, "no statement runs", func() bool { return r.DB().Stats().Running == 0 })
	r.want("SELECT chats, cancelled FROM spiced.model_usage", "1,1")
	r.want("SELECT tool, code FROM spiced.tool_calls WHERE tool = 'sql'", "sql,cancelled")
}
