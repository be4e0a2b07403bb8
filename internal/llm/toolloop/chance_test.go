package toolloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/internal/test/full"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// fate generates random chats.
type fate struct{ *rand.Rand }

func (f fate) wait() time.Duration { return time.Duration(f.IntN(500)) * ms }

// script returns an answer with interleaved calls and a random end.
func (f fate) script() script {
	s := script{chat.Delta{Kind: chat.DeltaStart}}
	var growing []int
	calls := f.IntN(6)
	for i := 0; i < calls || len(growing) > 0; {
		switch f.IntN(4) {
		case 0:
			s = append(s, text("x"), f.wait())
		case 1:
			if i < calls {
				s = append(s, begins(i, fmt.Sprint(i), []string{"one", "serial", "late", "theirs", "unknown"}[f.IntN(5)]))
				growing = append(growing, i)
				i++
			}
		default:
			if len(growing) > 0 {
				n := f.IntN(len(growing))
				s = append(s, arguments(growing[n], []string{`{"x":1}`, `{}`, `{"x`, ""}[f.IntN(4)]), ends(growing[n]))
				growing = slices.Delete(growing, n, n+1)
			}
		}
	}
	return append(s, f.end()...)
}

func (f fate) end() script {
	reasons := []chat.Reason{
		chat.ReasonCalls, chat.ReasonCalls, chat.ReasonCalls, chat.ReasonStop, chat.ReasonStop, chat.ReasonPause, chat.ReasonLength,
		chat.ReasonFilter,
	}
	n := f.IntN(len(reasons) + 2)
	switch {
	case n < len(reasons):
		return script{usage(1, 1), finish(reasons[n])}
	case n == len(reasons):
		return script{usage(1, 1), errors.New("reset")}
	}
	return script{usage(1, 1)}
}

// invoker returns an invoker whose calls take a random time.
func (f fate) invoker() invoker {
	waits := make(chan time.Duration, 1000)
	for range cap(waits) {
		waits <- f.wait()
	}
	return func(ctx context.Context, c registry.Call) tools.Result {
		select {
		case <-time.After(<-waits):
			return tools.Result{OK: true, Result: json.RawMessage(`1`)}
		case <-ctx.Done():
			return tools.Result{Error: tools.NewError(errcode.Cancelled, "the caller left", "")}
		}
	}
}

// TestRandomChats checks the invariants of every chat: each call has one begin and one
// end, each request is well-formed, there is exactly one end, usage is right, and no
// goroutine outlives it, which the bubble would detect.
func TestRandomChats(t *testing.T) {
	for seed := range cases(2000) {
		synctest.Test(t, func(t *testing.T) {
			f := fate{rand.New(rand.NewPCG(seed, 7))}
			m := &model{}
			for range 1 + f.IntN(6) {
				m.scripts = append(m.scripts, f.script())
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if f.IntN(4) == 0 {
				time.AfterFunc(f.wait()*4, cancel)
			}
			leave := f.IntN(80)
			l := &toolloop.Loop{
				Provider: m, Invoker: f.invoker(), Memory: toolloop.NewMemory(toolloop.MemoryLimits{}),
				Limits: toolloop.Limits{Rounds: 1 + f.IntN(4), Parallel: 1 + f.IntN(3), Calls: 1 + f.IntN(5)},
			}
			o := runIn(ctx, t, l, ask("go", "theirs"), offered("one", "serial", "late"), func(n int, _ toolloop.Event) bool { return n == leave })
			check(t, o, m, ctx.Err() == nil && len(o.events) != leave)
			if t.Failed() {
				t.Fatalf("seed %d:\n%s", seed, o)
			}
		})
	}
}

func check(t *testing.T, o *outcome, m *model, stayed bool) {
	begun, ended, finishes := 0, 0, 0
	for _, e := range o.events {
		switch {
		case e.Tool != nil && e.Tool.Type == registry.EventToolCall:
			begun++
		case e.Tool != nil:
			ended++
		case e.Kind == chat.DeltaFinish:
			finishes++
		}
	}
	if stayed && (begun != ended || begun != o.report.Calls || (finishes == 1) == (o.err != nil)) {
		t.Errorf("%d begun, %d ended, %d finishes, %v, %+v", begun, ended, finishes, o.err, o.report)
	}
	if stayed && o.report.Usage.Input != int64(len(m.requests)) || len(m.requests) != o.report.Rounds {
		t.Errorf("%d requests, %+v", len(m.requests), o.report)
	}
	for _, r := range m.requests {
		wellFormed(t, r.Messages)
	}
}

// cases returns how many chats to try; fewer with -short.
func cases(n uint64) uint64 {
	if !full.Test() {
		return n / 10
	}
	return n
}
