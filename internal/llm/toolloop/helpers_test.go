package toolloop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is an answer: deltas, and between them durations to wait ([time.Duration]),
// channels to wait for, functions to call, and at the end possibly an error.
type script []any

// model answers each request with the next script; the last one repeats.
type model struct {
	scripts  []script
	requests []*chat.Request
	sent     atomic.Int64 // deltas that were taken
	mu       sync.Mutex
}

func (m *model) Form() chat.Form { return chat.FormOpenAI }

func (m *model) Chat(ctx context.Context, r *chat.Request) iter.Seq2[chat.Delta, error] {
	m.mu.Lock()
	s := m.scripts[min(len(m.requests), len(m.scripts)-1)]
	m.requests = append(m.requests, r)
	m.mu.Unlock()
	return func(yield func(chat.Delta, error) bool) {
		for _, step := range s {
			if !m.step(ctx, step, yield) {
				return
			}
		}
	}
}

func (m *model) step(ctx context.Context, step any, yield func(chat.Delta, error) bool) bool {
	var wait <-chan struct{}
	switch v := step.(type) {
	case chat.Delta:
		ok := yield(v, nil)
		m.sent.Add(1)
		return ok
	case error:
		yield(chat.Delta{}, v)
		return false
	case func():
		v()
		return true
	case chan struct{}:
		wait = v
	case time.Duration:
		timed, cancel := context.WithTimeout(context.Background(), v)
		defer cancel()
		wait = timed.Done()
	}
	select {
	case <-wait:
		return true
	case <-ctx.Done():
		yield(chat.Delta{}, ctx.Err())
		return false
	}
}

func text(s string) chat.Delta { return chat.Delta{Kind: chat.DeltaText, Text: s} }

func usage(in, out int64) chat.Delta {
	return chat.Delta{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: in, Output: out}}
}

func finish(r chat.Reason) chat.Delta { return chat.Delta{Kind: chat.DeltaFinish, Reason: r} }

// begins, arguments and ends are the pieces of a call.
func begins(i int, id, name string) chat.Delta {
	return chat.Delta{Kind: chat.DeltaCall, Index: i, Call: &chat.Call{ID: id, Name: name}}
}

func arguments(i int, s string) chat.Delta {
	return chat.Delta{Kind: chat.DeltaArguments, Index: i, Text: s}
}

func ends(i int) chat.Delta { return chat.Delta{Kind: chat.DeltaCallEnd, Index: i} }

// asks returns a script of whole calls, "name arguments" each, that ends with
// [chat.ReasonCalls].
func asks(calls ...string) script {
	s := script{chat.Delta{Kind: chat.DeltaStart}}
	for i, c := range calls {
		name, args, _ := strings.Cut(c, " ")
		s = append(s, begins(i, fmt.Sprintf("id_%s_%d", name, i), name), arguments(i, args), ends(i))
	}
	return append(s, finish(chat.ReasonCalls))
}

// says returns a script of text that ends with [chat.ReasonStop].
func says(s string) script {
	return script{chat.Delta{Kind: chat.DeltaStart}, text(s), usage(10, 1), finish(chat.ReasonStop)}
}

// invoker makes calls with a function, and emits events as the registry does.
type invoker func(ctx context.Context, c registry.Call) tools.Result

func (d invoker) Invoke(ctx context.Context, c registry.Call) tools.Result {
	c.Events(registry.Event{Type: registry.EventToolCall, CallID: "call_" + c.Name, Tool: c.Name, Arguments: c.Arguments})
	r := d(ctx, c)
	c.Events(registry.Event{Type: registry.EventToolResult, CallID: "call_" + c.Name, Tool: c.Name, Result: &r})
	return r
}

// echo returns the arguments.
var echo = invoker(func(_ context.Context, c registry.Call) tools.Result {
	return tools.Result{OK: true, Result: json.RawMessage(`{"echo":` + string(c.Arguments) + `}`)}
})

// hangs returns when it is cancelled.
var hangs = invoker(func(ctx context.Context, _ registry.Call) tools.Result {
	<-ctx.Done()
	return tools.Result{Error: tools.NewError(errcode.Cancelled, "the caller left", "")}
})

// offered returns runtime tools with these names; a prefix "serial" or "late" sets that
// trait.
func offered(names ...string) []toolloop.Tool {
	var list []toolloop.Tool
	for _, n := range names {
		list = append(list, toolloop.Tool{
			Tool:   chat.Tool{Name: n, Description: "Does " + n + ".", Parameters: json.RawMessage(`{"type":"object"}`)},
			Serial: strings.Contains(n, "serial"), AfterResponse: strings.Contains(n, "late"),
		})
	}
	return list
}

// ask returns a request of one message.
func ask(s string, tools ...string) *chat.Request {
	r := &chat.Request{Model: "m", Messages: []chat.Message{chat.Text(chat.RoleUser, s)}}
	for _, t := range tools {
		r.Tools = append(r.Tools, chat.Tool{Name: t})
	}
	return r
}

// outcome is the result of a run.
type outcome struct {
	responses []string // their ends, with the number of events before
	events    []toolloop.Event
	err       error
	report    toolloop.Report
	failed    error // passed to Done
	done      int
}

// run runs a chat to its end, or until stop returns true.
func run(t testing.TB, l *toolloop.Loop, r *chat.Request, list []toolloop.Tool, stop func(n int, e toolloop.Event) bool) *outcome {
	t.Helper()
	return runIn(t.Context(), t, l, r, list, stop)
}

func runIn(ctx context.Context, t testing.TB, l *toolloop.Loop, r *chat.Request, list []toolloop.Tool, stop func(n int, e toolloop.Event) bool) *outcome {
	t.Helper()
	o := &outcome{}
	copied := toolloop.Loop{
		Provider: l.Provider, Invoker: l.Invoker, Limits: l.Limits, Memory: l.Memory, Log: l.Log, Render: l.Render,
		Done: func(r toolloop.Report, err error) { o.report, o.failed, o.done = r, err, o.done+1 },
	}
	for e, err := range copied.Run(ctx, r, list, tools.Scope{Caller: caller.Caller{UserID: "ada", Model: "m"}}) {
		if o.err != nil {
			t.Fatal("something follows the error")
		}
		if err != nil {
			o.err = err
			continue
		}
		if r := e.Response; r != nil {
			o.responses = append(o.responses, fmt.Sprintf("%d after %d events: %d %d", r.Round, len(o.events), r.Usage.Input,
				r.Usage.Output))
			continue
		}
		o.events = append(o.events, e)
		if stop != nil && stop(len(o.events), e) {
			break
		}
	}
	if o.done != 1 {
		t.Fatalf("Done was called %d times", o.done)
	}
	return o
}

// String summarizes the events that the client sees.
func (o *outcome) String() string {
	var b strings.Builder
	for _, e := range o.events {
		fmt.Fprintln(&b, show(e))
	}
	if o.err != nil {
		fmt.Fprintf(&b, "error %s: %v\n", chat.AsError(o.err).Code, o.err)
	}
	return b.String()
}

func show(e toolloop.Event) string {
	if e.Tool != nil {
		return fmt.Sprintf("%s %s", e.Tool.Type, e.Tool.Tool)
	}
	switch e.Kind {
	case chat.DeltaStart:
		return "start"
	case chat.DeltaCall:
		return fmt.Sprintf("call %d %s %s", e.Index, e.Call.ID, e.Call.Name)
	case chat.DeltaArguments:
		return fmt.Sprintf("arguments %d %s", e.Index, e.Text)
	case chat.DeltaCallEnd:
		return fmt.Sprintf("end %d", e.Index)
	case chat.DeltaPart:
		return "part " + string(e.Part.Kind)
	case chat.DeltaUsage:
		return fmt.Sprintf("usage %d %d", e.Usage.Input, e.Usage.Output)
	case chat.DeltaFinish:
		return "finish " + string(e.Reason)
	case chat.DeltaRound:
		return "round"
	}
	return "text " + e.Text
}

// deltas returns the events without the steps of calls.
func (o *outcome) deltas() string {
	kept := &outcome{err: o.err}
	for _, e := range o.events {
		if e.Tool == nil {
			kept.events = append(kept.events, e)
		}
	}
	return kept.String()
}

// transcript summarizes messages.
func transcript(messages []chat.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s:", m.Role)
		for _, p := range m.Parts {
			switch p.Kind {
			case chat.PartCall:
				fmt.Fprintf(&b, " %s=%s(%s)", p.Call.ID, p.Call.Name, p.Call.Arguments)
			case chat.PartResult:
				fmt.Fprintf(&b, " %s→%s", p.Result.ID, p.Result.Text())
			default:
				fmt.Fprintf(&b, " %s", p.Text)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// wellFormed fails the test unless the message after each call has exactly one result
// for it, and every result has a call.
func wellFormed(t testing.TB, messages []chat.Message) {
	t.Helper()
	var open []string
	for _, m := range messages {
		if m.Role == chat.RoleAssistant {
			if len(open) > 0 {
				t.Fatalf("%v have no results:\n%s", open, transcript(messages))
			}
			for _, c := range m.Calls() {
				if slices.Contains(open, c.ID) || !json.Valid([]byte(c.Arguments)) || c.Arguments[0] != '{' {
					t.Fatalf("call %q(%s):\n%s", c.ID, c.Arguments, transcript(messages))
				}
				open = append(open, c.ID)
			}
			continue
		}
		for _, p := range m.Parts {
			if p.Kind != chat.PartResult {
				continue
			}
			i := slices.Index(open, p.Result.ID)
			if i < 0 {
				t.Fatalf("result %q of no call:\n%s", p.Result.ID, transcript(messages))
			}
			open = slices.Delete(open, i, i+1)
		}
	}
	if len(open) > 0 {
		t.Fatalf("%v have no results:\n%s", open, transcript(messages))
	}
}

func equal(t testing.TB, what, got, want string) {
	t.Helper()
	if got, want = strings.TrimSpace(got), strings.TrimSpace(want); got != want {
		t.Errorf("%s:\n%s\nwant:\n%s", what, got, want)
	}
}

// sorted returns the sorted lines.
func sorted(lines []string) string {
	return strings.Join(slices.Sorted(slices.Values(lines)), "\n")
}
