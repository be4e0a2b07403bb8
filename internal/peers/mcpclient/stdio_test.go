package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/peers/mcpclient"
	"github.com/spiced-sql/spiced/internal/test/wait"
	"github.com/spiced-sql/spiced/tools"
)

func TestCalls(t *testing.T) {
	w := newWorld(t)
	s := w.open(command("files", "sdk"))
	for name, c := range map[string]struct{ args, want string }{
		"echo":  {`{"a":1,"big":9007199254740993}`, `{"a":1,"big":9007199254740993}`},
		"word":  {`{}`, `"plain words"`},
		"meta":  {`{}`, `"trace-1"`},
		"mixed": {`{}`, `[{"type":"text","text":"a picture"},{"type":"image","mimeType":"image/png","data":"AQID"},{"type":"resource_link","uri":"file:///x","name":"x"}]`},
		"ask":   {`{}`, `"true true true"`},
	} {
		got, err := call(t.Context(), tool(t, s, "files__"+name), c.args)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !sameJSON(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	_, err := call(t.Context(), tool(t, s, "files__fail"), `{}`)
	if err == nil || err.Code != errcode.Execution || err.Message != "it broke\nbadly" || err.Retryable {
		t.Errorf("fail: %+v", err)
	}
	st := w.Status()
	if len(st) != 1 || st[0].State != mcpclient.Ready || st[0].Error != "" || !strings.Contains(w.log.String(), "protocol=2025-11-25") {
		t.Errorf("status %+v", st)
	}
}

// TestContentForModels has results whose JSON is not what a model reads.
func TestContentForModels(t *testing.T) {
	w := newWorld(t)
	s := w.open(command("files", "sdk"))
	raw := newWorld(t).open(command("raw", "structured and media"))
	for name, c := range map[string]struct {
		tool tools.Tool
		want []tools.Content
	}{
		"mixed": {
			tool(t, s, "files__mixed"),
			[]tools.Content{{Text: "a picture"}, {MediaType: "image/png", Data: []byte{1, 2, 3}}, {Text: "Link to the resource file:///x"}},
		},
		"one text":             {tool(t, s, "files__word"), nil},
		"structured and media": {tool(t, raw, "raw__one"), []tools.Content{{Text: `{"n":1}`}, {MediaType: "image", Data: []byte{}}}},
	} {
		out, err := c.tool.Call(t.Context(), tools.Input{})
		if diff := cmp.Diff(c.want, out.Content); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

func sameJSON(a, b string) bool {
	x, err1 := tools.Canonical([]byte(a))
	y, err2 := tools.Canonical([]byte(b))
	return err1 == nil && err2 == nil && string(x) == string(y)
}

func TestDefinition(t *testing.T) {
	w := newWorld(t)
	s := w.open(command("files", "sdk", "owner: team", "limits: {timeout: 5s}", "parallel: false", "dispatch: early"))
	d := tool(t, s, "files__echo").Definition()
	if d.Source != "mcp:files" || d.Owner != "team" || d.Description != "It does echo." || d.Limits.Timeout != 5*time.Second ||
		!d.Serial() || d.AfterResponse() || !strings.HasPrefix(d.Declared, "spicepod.yaml:") || string(d.Parameters) != `{"type":"object"}` {
		t.Errorf("%+v", d)
	}
	if !slices.IsSortedFunc(s.Tools(), func(a, b tools.Tool) int { return strings.Compare(a.Definition().Name, b.Definition().Name) }) {
		t.Error("the tools are not sorted")
	}
}

func TestProcess(t *testing.T) {
	t.Setenv("FAKE_SECRET", "of our own")
	t.Setenv("MY_KEY", "revealed")
	w := newWorld(t)
	s := w.open(command("files", "sdk", variable("KEY", "${env:MY_KEY}"), `params: {mcp_args: '-y "two words" ''it is'' --x=1'}`))
	got, err := call(t.Context(), tool(t, s, "files__process"), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	var facts struct {
		Dir       string
		Args, Env []string
	}
	if err := json.Unmarshal([]byte(got), &facts); err != nil {
		t.Fatal(err)
	}
	if here, _ := os.Stat(w.dir); facts.Dir != w.dir {
		if there, err := os.Stat(facts.Dir); err != nil || !os.SameFile(here, there) {
			t.Errorf("directory %q, want %q", facts.Dir, w.dir)
		}
	}
	if want := []string{"-y", "two words", "it is", "--x=1"}; !slices.Equal(facts.Args, want) {
		t.Errorf("arguments %q, want %q", facts.Args, want)
	}
	if !slices.Contains(facts.Env, "KEY=revealed") || slices.ContainsFunc(facts.Env, func(v string) bool { return strings.HasPrefix(v, "FAKE_SECRET") }) {
		t.Errorf("environment %q", facts.Env)
	}
}

// TestProcessesEnd checks that no process of a server's group outlives Close.
func TestProcessesEnd(t *testing.T) {
	for kind, prepare := range map[string]time.Duration{"sdk": 20 * time.Second, "stubborn": 200 * time.Millisecond} {
		t.Run(kind, func(t *testing.T) {
			life := newGate(t)
			w := newWorld(t, deadline(prepare))
			servers, _ := w.Prepare(t.Context(), w.pod(command("s", kind, variable("FAKE_LIFE", life.address()))))
			w.Publish(servers)
			if kind == "sdk" {
				if _, err := call(t.Context(), tool(t, servers[0], "s__bear"), `{}`); err != nil {
					t.Fatal(err)
				}
			}
			c := life.accept()
			w.Close()
			life.gone(c)
		})
	}
}

func TestServersThatAreNotThere(t *testing.T) {
	t.Setenv("TOKEN", "top-secret")
	for kind, want := range map[string]string{
		"garbage": "it did not answer within 2s; the last it wrote: this is no message 199 xxx",
		"silent":  "it did not answer within 2s",
		"exit":    "the command has ended (exit status 3); the last it wrote: no token [31m*** [0m for me",
		"endless": "its list of tools has no end: a page comes twice",
	} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t, impatient)
			servers, problems := w.Prepare(t.Context(), w.pod(command("bad", kind, variable("TOKEN", "${env:TOKEN}"))))
			w.Publish(servers)
			if len(servers) != 1 || len(servers[0].Tools()) != 0 || len(problems) != 1 || problems.HasErrors() ||
				problems[0].Line != 5 || problems[0].Component != "tool bad" || !strings.Contains(problems[0].Message, want) {
				t.Errorf("problems %v, want %q", problems, want)
			}
			st := w.Status()[0]
			if st.State != mcpclient.Error || !strings.Contains(st.Error, want) {
				t.Errorf("status %+v", st)
			}
			if strings.Contains(w.log.String(), "top-secret") {
				t.Error("the log holds a secret")
			}
		})
	}
}

func TestNoCommand(t *testing.T) {
	w := newWorld(t, impatient)
	_, problems := w.Prepare(t.Context(), w.pod("  - {name: a, from: 'mcp:no-such-command'}\n", "  - {name: b, from: 'mcp:./no/such'}\n"))
	if len(problems) != 2 || !strings.Contains(problems[0].Message, `there is no command "no-such-command" on the PATH`) ||
		!strings.Contains(problems[1].Message, "there is no command at ") {
		t.Error(problems)
	}
}

func TestDiesInTheMiddleOfACall(t *testing.T) {
	w := newWorld(t)
	s := w.open(command("s", "sdk"))
	_, err := call(t.Context(), tool(t, s, "s__die"), `{}`)
	if err == nil || err.Code != errcode.ToolUnavailable || !err.Retryable {
		t.Fatalf("%+v", err)
	}
	// The tools are unchanged when the server is back, so no load is needed;
	// only the state shows it.
	wait.Until(t, "a call succeeds", func() bool { _, err := call(t.Context(), tool(t, s, "s__word"), `{}`); return err == nil })
	select {
	case <-w.changed:
		t.Error("Changed is called although nothing did")
	default:
	}
}

func TestUnavailable(t *testing.T) {
	w := newWorld(t, func(o *mcpclient.Options) { *o = mcpclient.Impatient(*o); *o = mcpclient.Patient(*o) })
	s := w.open(command("s", "sdk"))
	word := tool(t, s, "s__word").(tools.Conditional)
	if reason := word.Unavailable(tools.Scope{}); reason != "" {
		t.Errorf("it is not available: %s", reason)
	}
	call(t.Context(), tool(t, s, "s__die"), `{}`)
	wait.Until(t, "the server is in error", func() bool { return w.Status()[0].State == mcpclient.Error })
	if reason := word.Unavailable(tools.Scope{}); reason != `MCP server "s" is not available: the command has ended (exit status 9)` {
		t.Errorf("available: %q", reason)
	}
	if _, err := call(t.Context(), word, `{}`); err == nil || err.Code != errcode.ToolUnavailable || !err.Retryable {
		t.Errorf("%+v", err)
	}
	// A load keeps the existing tools, with a warning.
	servers, problems := w.Prepare(t.Context(), w.pod(command("s", "sdk")))
	if len(problems) != 1 || len(servers[0].Tools()) != len(s.Tools()) {
		t.Errorf("%d tools, problems %v", len(servers[0].Tools()), problems)
	}
}

func TestComesLater(t *testing.T) {
	door := newGate(t)
	w := newWorld(t, deadline(50*time.Millisecond))
	pod := w.pod(command("s", "late", variable("FAKE_GATE", door.address())))
	servers, problems := w.Prepare(t.Context(), pod)
	w.Publish(servers)
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "it does not answer yet") || w.Status()[0].State != mcpclient.Initializing {
		t.Fatalf("problems %v, status %+v", problems, w.Status())
	}
	door.accept().Close()
	w.waitChanged()
	servers, problems = w.Prepare(t.Context(), pod)
	w.Publish(servers)
	if len(problems) != 0 || len(servers[0].Tools()) == 0 {
		t.Errorf("problems %v", problems)
	}
}

func TestListChanged(t *testing.T) {
	w := newWorld(t)
	s := w.open(command("s", "sdk"))
	if _, err := call(t.Context(), tool(t, s, "s__grow"), `{}`); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the new tools are listed", func() bool {
		w.waitChanged()
		servers, _ := w.Prepare(t.Context(), w.pod(command("s", "sdk")))
		w.Publish(servers)
		return len(servers[0].Tools()) == len(s.Tools())+3
	})
}

func TestSessionsSurviveLoads(t *testing.T) {
	w := newWorld(t)
	pid := func(s *mcpclient.Server) string {
		got, err := call(t.Context(), tool(t, s, "s__process"), `{}`)
		if err != nil {
			t.Fatal(err)
		}
		var facts struct{ PID json.Number }
		json.Unmarshal([]byte(got), &facts)
		return facts.PID.String()
	}
	first := pid(w.open(command("s", "sdk")))
	if again := pid(w.open("  - {name: x, from: 'builtin:sql'}\n" + command("s", "sdk", "owner: other"))); again != first {
		t.Errorf("process %s became %s", first, again)
	}
	if other := pid(w.open(command("s", "sdk", variable("NEW", "1")))); other == first {
		t.Error("a changed environment kept the process")
	}
}

func TestRemovedServersEndAfterTheirCalls(t *testing.T) {
	door, life := newGate(t), newGate(t)
	w := newWorld(t)
	s := w.open(command("s", "sdk", variable("FAKE_GATE", door.address()), variable("FAKE_LIFE", life.address())))
	call(t.Context(), tool(t, s, "s__bear"), `{}`)
	alive := life.accept()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := tool(t, s, "s__hang").Call(ctx, tools.Input{}); done <- err }()
	knock := door.accept() // the call is running
	w.Publish(nil)
	if _, err := tool(t, s, "s__word").Call(t.Context(), tools.Input{}); !errors.Is(err, tools.ErrChanged) {
		t.Errorf("a new call: %v", err)
	}
	if len(w.Status()) != 0 {
		t.Errorf("status %v", w.Status())
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the call: %v", err)
	}
	life.gone(alive)
	door.gone(knock)
}

// TestCancel checks that a cancelled call is reported to the server.
func TestCancel(t *testing.T) {
	door := newGate(t)
	w := newWorld(t)
	s := w.open(command("s", "sdk", variable("FAKE_GATE", door.address())))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := tool(t, s, "s__hang").Call(ctx, tools.Input{}); done <- err }()
	knock := door.accept()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	door.gone(knock) // closed by the server as the call is cancelled
	if _, err := call(t.Context(), tool(t, s, "s__word"), `{}`); err != nil {
		t.Error(err)
	}
}

// TestHundredMegabytes has a call in progress, and others after it in the same process.
func TestHundredMegabytes(t *testing.T) {
	w := newWorld(t)
	s := w.open(command("s", "hundred megabytes"))
	held := make(chan string, 1)
	go func() {
		got, err := call(t.Context(), tool(t, s, "s__one"), `{"a":"held"}`)
		held <- fmt.Sprint(got, err)
	}()
	wait.Until(t, "the first call is in progress", func() bool { return strings.Contains(w.log.String(), "it is held") })
	for range 3 {
		if _, err := call(t.Context(), tool(t, s, "s__one"), `{"a":"big"}`); err == nil || err.Code != errcode.Limit {
			t.Fatalf("%+v", err)
		}
	}
	if got := <-held; got != "null<nil>" {
		t.Error(got)
	}
	if _, err := call(t.Context(), tool(t, s, "s__one"), `{}`); err != nil {
		t.Error(err)
	}
	if n := strings.Count(w.log.String(), "an MCP server is connected"); n != 1 {
		t.Errorf("%d sessions\n%s", n, w.log)
	}
}

// expired is a context that ends as by its deadline, when a test wants it.
type expired struct{ context.Context }

func (e expired) Err() error {
	if e.Context.Err() != nil {
		return context.DeadlineExceeded
	}
	return nil
}

// TestBrokenAnswersOverStdio has answers that cannot be read: those with the id of a call fail it
// at once, the others show in the error of a call that waits until its time is over.
func TestBrokenAnswersOverStdio(t *testing.T) {
	w := newWorld(t)
	s := w.open(command("s", "broken"))
	one := tool(t, s, "s__one")
	ctx, cancel := context.WithCancel(t.Context())
	held := make(chan error, 1)
	go func() {
		_, err := one.Call(expired{ctx}, tools.Input{Arguments: map[string]any{"a": "held"}})
		held <- err
	}()
	wait.Until(t, "the first call is in progress", func() bool { return strings.Contains(w.log.String(), "it is held") })
	for _, a := range []string{"cut", "deep"} {
		if _, err := call(t.Context(), one, `{"a":"`+a+`"}`); err == nil || err.Code != errcode.Execution ||
			!strings.Contains(err.Message, "not a JSON-RPC") {
			t.Errorf("%s: %+v", a, err)
		}
	}
	for a, want := range map[string]string{"noise": "a line that is not a JSON-RPC message: ", "without id": "what was that"} {
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		before := strings.Count(w.log.String(), "an MCP server wrote")
		go func() {
			_, err := one.Call(expired{ctx}, tools.Input{Arguments: map[string]any{"a": a}})
			failed <- err
		}()
		wait.Until(t, "the server writes", func() bool { return strings.Count(w.log.String(), "an MCP server wrote") > before })
		cancel()
		var e *tools.Error
		if err := <-failed; !errors.As(err, &e) || e.Code != errcode.Timeout || !strings.Contains(e.Hint, want) {
			t.Errorf("%s: %+v", a, err)
		}
	}
	if got, err := call(t.Context(), one, `{}`); err != nil || got != "null" {
		t.Errorf("a good call: %s %v", got, err)
	}
	cancel()
	var e *tools.Error
	if err := <-held; !errors.As(err, &e) || !strings.Contains(e.Hint, "meanwhile it wrote") {
		t.Errorf("the call in progress: %+v", err)
	}
}

// TestLargeNumbers has all digits in arguments and results, over each transport.
func TestLargeNumbers(t *testing.T) {
	const numbers = `{"a":9007199254740993,"b":[0.1234567890123456789,1e400],"c":-1764208000000000001}`
	site := newSite(t, streamable(t, nil))
	for name, entry := range map[string]string{"s": command("s", "sdk"), "web": site.entry()} {
		w := newWeb(t)
		if got, err := call(t.Context(), tool(t, w.open(entry), name+"__echo"), numbers); err != nil || got != numbers {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
	w := newWorld(t)
	if got, err := call(t.Context(), tool(t, w.open(command("s", "exact")), "s__one"), `{}`); err != nil || got != `{"n":9007199254740993}` {
		t.Errorf("structured content: %s %v", got, err)
	}
}

func TestFloodAndBanner(t *testing.T) {
	w := newWorld(t)
	servers, problems := w.Prepare(t.Context(), w.pod(command("a", "flood"), command("b", "banner")))
	if len(problems) > 0 || len(servers[0].Tools()) == 0 || len(servers[1].Tools()) == 0 {
		t.Fatal(problems)
	}
	if lines := strings.Count(w.log.String(), "line=zzz"); lines == 0 || lines > 1000 {
		t.Errorf("%d lines are logged", lines)
	}
	if strings.ContainsRune(w.log.String(), 7) || !strings.Contains(w.log.String(), "Welcome to my server!") {
		t.Error("the lines are not as they should be")
	}
}

func TestFiveThousandTools(t *testing.T) {
	w := newWorld(t)
	servers, problems := w.Prepare(t.Context(), w.pod(command("s", "five thousand")))
	list := servers[0].Tools()
	if len(list) != mcpclient.MaxTools || list[len(list)-1].Definition().Name != "s__tool_04999" || len(problems) != 1 ||
		!strings.Contains(problems[0].Message, "the server has 6000 tools; the first 5000 by name are taken") {
		t.Errorf("%d tools, %v", len(list), problems)
	}
}

func TestNamesOfTools(t *testing.T) {
	w := newWorld(t)
	servers, problems := w.Prepare(t.Context(), w.pod(command("s", "names")))
	var names []string
	for _, tool := range servers[0].Tools() {
		d := tool.Definition()
		names = append(names, d.Name)
		if !tools.ValidName(d.Name) {
			t.Errorf("%q is no name", d.Name)
		}
	}
	want := []string{
		"s__Same", "s__same", "s__a__b", "s__a_-_b", mcpclient.ToolName("s", "a.b/c"), mcpclient.ToolName("s", "a b/c"), "s___nder_",
		"s__" + strings.Repeat("n", 52) + "_",
	}
	if len(names) != len(want) {
		t.Errorf("names %q", names)
	}
	for _, name := range want {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, name) }) {
			t.Errorf("%q is missing in %q", name, names)
		}
	}
	if len(problems) != 1 || problems.HasErrors() {
		t.Error(problems)
	}
}

func TestSchemas(t *testing.T) {
	w := newWorld(t)
	servers, problems := w.Prepare(t.Context(), w.pod(command("s", "schemas")))
	for _, tool := range servers[0].Tools() {
		d := tool.Definition()
		want := map[string]string{
			"s__schema4": `{"type":7}`, "s__schema5": `{"$ref":"#/nowhere"}`, "s__schema6": `{"properties":{"a":{"type":"integer"}}}`,
		}[d.Name]
		if want == "" {
			want = `{"type":"object"}`
		}
		if string(d.Parameters) != want {
			t.Errorf("%s: %s, want %s", d.Name, d.Parameters, want)
		}
	}
	if len(servers[0].Tools()) != 7 || len(problems) != 2 || !strings.Contains(problems[0].Message, `"schema1", "schema2", "schema3"`) ||
		!strings.Contains(problems[1].Message, `providers refuse`) || !strings.Contains(problems[1].Message, `"schema4", "schema5", "schema6"`) {
		t.Errorf("%d tools, %v", len(servers[0].Tools()), problems)
	}
}

func TestHints(t *testing.T) {
	w := newWorld(t)
	s := w.open(command("s", "hints"))
	for name, want := range map[string]tools.Annotations{
		"s__hints0": {Destructive: true, OpenWorld: true},
		"s__hints1": {Destructive: true, OpenWorld: true},
		"s__hints2": {ReadOnly: true, OpenWorld: true},
		"s__hints3": {Idempotent: true},
	} {
		d := tool(t, s, name).Definition()
		if d.Annotations != want || d.AfterResponse() != want.Destructive || d.Description != "A title" {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func TestStructuredContentKeepsItsDigits(t *testing.T) {
	w := newWorld(t)
	servers, _ := w.Prepare(t.Context(), w.pod(command("a", "structured"), command("b", "alone")))
	for i, want := range []string{`{"n":9007199254740993}`, `{"other":1}`} {
		if got, err := call(t.Context(), servers[i].Tools()[0], ``); err != nil || got != want {
			t.Errorf("%s %v, want %s", got, err, want)
		}
	}
}

func TestWrappedResults(t *testing.T) {
	w := newWorld(t)
	for name, want := range map[string][2]string{
		"wrapped number":   {`9007199254740993`, `{"title":"R"}`},
		"wrapped text":     {`"12"`, `{"title":"R"}`},
		"wrapped null":     {`null`, `{"title":"R"}`},
		"wrapped object":   {`{"result":1}`, `{"title":"R"}`},
		"wrapped and more": {`{"more":2,"result":1}`, `{"title":"R"}`},
		"not marked":       {`{"more":2,"result":1}`, `{"properties":{"result":{"title":"R"}},"required":["result"],"type":"object","x-fastmcp-wrap-result":false}`},
	} {
		tool := w.open(command("a", name)).Tools()[0]
		got, err := call(t.Context(), tool, ``)
		if returns := string(tool.Definition().Returns); err != nil || got != want[0] || returns != want[1] {
			t.Errorf("%s: %s %v, returns %s", name, got, err, returns)
		}
	}
}
