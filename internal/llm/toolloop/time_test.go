package toolloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

const ms = time.Millisecond

// clock is an invoker whose calls take time; it records when they ran.
type clock struct {
	takes time.Duration
	began time.Time

	mu           sync.Mutex
	spans        []string
	running, top int
}

func (c *clock) Invoke(ctx context.Context, call registry.Call) tools.Result {
	return invoker(func(ctx context.Context, call registry.Call) tools.Result {
		from := c.enter()
		defer c.leave(call.Name, from)
		select {
		case <-time.After(c.takes):
			return tools.Result{OK: true, Result: json.RawMessage(`1`)}
		case <-ctx.Done():
			return tools.Result{Error: tools.NewError(errcode.Cancelled, "the caller left", "")}
		}
	}).Invoke(ctx, call)
}

func (c *clock) enter() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running++
	c.top = max(c.top, c.running)
	return time.Since(c.began)
}

func (c *clock) leave(name string, from time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	c.spans = append(c.spans, fmt.Sprintf("%s %v-%v", name, from, time.Since(c.began)))
}

// whole returns the deltas of a whole call.
func whole(i int, name string) []any {
	return []any{begins(i, fmt.Sprint("id", i), name), arguments(i, "{}"), ends(i)}
}

func join(pieces ...any) script {
	var s script
	for _, p := range pieces {
		if list, ok := p.([]any); ok {
			s = append(s, list...)
			continue
		}
		s = append(s, p)
	}
	return s
}

func TestCallsRunWhileTheAnswerStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clock{takes: 300 * ms, began: time.Now()}
		m := &model{scripts: []script{
			join(200*ms, whole(0, "one"), 200*ms, whole(1, "two"), 200*ms, whole(2, "three"), 400*ms, finish(chat.ReasonCalls)),
			says("done"),
		}}
		o := run(t, &toolloop.Loop{Provider: m, Invoker: c}, ask("go"), offered("one", "two", "three"), nil)
		if took := time.Since(c.began); took > 1100*ms {
			t.Errorf("the round took %v", took)
		}
		equal(t, "calls", strings.Join(c.spans, "\n"), "one 200ms-500ms\ntwo 400ms-700ms\nthree 600ms-900ms")
		if o.report.FirstToken != 200*ms {
			t.Errorf("first token after %v", o.report.FirstToken)
		}
	})
}

func TestEventsAreYieldedWhileTheProviderIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clock{takes: 300 * ms, began: time.Now()}
		m := &model{scripts: []script{join(whole(0, "one"), time.Second, finish(chat.ReasonCalls)), says("done")}}
		var seen []string
		run(t, &toolloop.Loop{Provider: m, Invoker: c}, ask("go"), offered("one"), func(_ int, e toolloop.Event) bool {
			seen = append(seen, fmt.Sprint(time.Since(c.began), " ", show(e)))
			return false
		})
		equal(t, "events", strings.Join(seen, "\n"), `
0s tool_call one
300ms tool_result one
1s round
1s start
1s text done
1s usage 10 1
1s finish stop`)
	})
}

func TestTheEndOfEachResponseIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clock{takes: 300 * ms, began: time.Now()}
		m := &model{scripts: []script{
			join(whole(0, "one"), time.Second, text("later"), usage(20, 5), finish(chat.ReasonCalls)), says("done"),
		}}
		o := run(t, &toolloop.Loop{Provider: m, Invoker: c}, ask("go"), offered("one"), nil)
		// the call, its result and the text that follows it are before the first end
		equal(t, "ends", strings.Join(o.responses, "\n"), "1 after 3 events: 20 5\n2 after 6 events: 10 1")
	})
}

func TestOrderOfCalls(t *testing.T) {
	tests := map[string]struct {
		parallel int
		calls    []string
		want     string
	}{
		"at most so many at once": {2, []string{"a", "b", "c"}, "a 0s-100ms\nb 0s-100ms\nc 100ms-200ms"},
		"serial ones wait": {
			8,
			[]string{"serial1", "a", "serial2", "b", "serial3"},
			"a 0s-100ms\nb 0s-100ms\nserial1 0s-100ms\nserial2 100ms-200ms\nserial3 200ms-300ms",
		},
		"late ones wait":    {8, []string{"late1", "a", "late2"}, "a 0s-100ms\nlate1 1s-1.1s\nlate2 1s-1.1s"},
		"a late serial one": {8, []string{"late_serial", "serial", "a"}, "a 0s-100ms\nlate_serial 1s-1.1s\nserial 1.1s-1.2s"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &clock{takes: 100 * ms, began: time.Now()}
				var s script
				for i, n := range test.calls {
					s = append(s, whole(i, n)...)
				}
				m := &model{scripts: []script{append(s, time.Second, finish(chat.ReasonCalls)), says("done")}}
				run(t, &toolloop.Loop{Provider: m, Invoker: c, Limits: toolloop.Limits{Parallel: test.parallel}}, ask("go"), offered(test.calls...), nil)
				equal(t, "calls", sorted(c.spans), test.want)
				wellFormed(t, m.requests[1].Messages)
				for i, p := range m.requests[1].Messages[2].Parts {
					if p.Result.Name != test.calls[i] {
						t.Errorf("result %d is of %s", i, p.Result.Name)
					}
				}
			})
		})
	}
}

func TestHundredParallelCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clock{takes: 100 * ms, began: time.Now()}
		var s script
		for i := range 100 {
			s = append(s, whole(i, "one")...)
		}
		m := &model{scripts: []script{append(s, finish(chat.ReasonCalls)), says("done")}}
		o := run(t, &toolloop.Loop{Provider: m, Invoker: c}, ask("go"), offered("one"), nil)
		if c.top != toolloop.DefaultParallel || time.Since(c.began) != 1300*ms || o.report.Calls != 100 {
			t.Errorf("%d at once, %v, %d calls", c.top, time.Since(c.began), o.report.Calls)
		}
		wellFormed(t, m.requests[1].Messages)
	})
}

func TestSlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clock{takes: 100 * ms, began: time.Now()}
		var s script
		for i := range 20 {
			s = append(s, whole(i, "one")...)
		}
		for range 1000 {
			s = append(s, text("x"))
		}
		m := &model{scripts: []script{append(s, finish(chat.ReasonCalls)), says("done")}}
		var sent int64
		run(t, &toolloop.Loop{Provider: m, Invoker: c}, ask("go"), offered("one"), func(n int, _ toolloop.Event) bool {
			if n == 1 {
				time.Sleep(time.Hour) // of the bubble's clock
				sent = m.sent.Load()
			}
			return false
		})
		if last := c.spans[19]; last != "one 200ms-300ms" {
			t.Errorf("the last call ran %s: it waited for the client", last)
		}
		if sent > 200 {
			t.Errorf("%d deltas were read ahead of the client", sent)
		}
	})
}

func TestBrokenStreamCancelsCalls(t *testing.T) {
	broken := &chat.Error{Code: errcode.StreamBroken, Message: "the stream broke"}
	for name, end := range map[string][]any{"an error": {broken}, "no end": {}, "a foreign error": {errors.New("read tcp: reset")}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				s := join(text("a"), whole(0, "one"), whole(1, "late"), begins(2, "c", "one"), usage(9, 9), 300*ms)
				m := &model{scripts: []script{append(s, end...)}}
				o := run(t, &toolloop.Loop{Provider: m, Invoker: hangs}, ask("go"), offered("one", "late"), nil)
				if got := o.String(); !strings.HasPrefix(got, "text a\ntool_call one\ntool_result one\nerror ") {
					t.Error(got)
				}
				want := map[string]errcode.Code{"an error": errcode.StreamBroken, "no end": errcode.StreamBroken, "a foreign error": errcode.Internal}[name]
				if chat.AsError(o.err).Code != want || !errors.Is(o.failed, o.err) || strings.Contains(o.err.Error(), "tcp") {
					t.Errorf("%v, %v", o.err, o.failed)
				}
				if o.report.Calls != 1 || o.report.Usage.Input != 9 || o.report.Reason != "" || time.Since(began) != 300*ms {
					t.Errorf("%+v after %v", o.report, time.Since(began))
				}
			})
		})
	}
}

func TestASlowClientMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s script
		for i := range 50 {
			s = append(s, whole(i, "one")...)
		}
		m := &model{scripts: []script{append(s, errors.New("reset"))}}
		o := run(t, &toolloop.Loop{Provider: m, Invoker: echo}, ask("go"), offered("one"), func(n int, _ toolloop.Event) bool {
			if n == 1 {
				time.Sleep(time.Hour) // of the bubble's clock
			}
			return false
		})
		check(t, o, m, false)
		if n := len(o.events); n != 2*o.report.Calls || n == 0 || o.err == nil {
			t.Errorf("%d events of %d calls, then %v", n, o.report.Calls, o.err)
		}
	})
}

func TestTheContextEnds(t *testing.T) {
	scripts := map[string]script{
		"while the answer streams":         join(text("a"), whole(0, "one"), time.Hour, finish(chat.ReasonCalls)),
		"while calls run":                  join(text("a"), whole(0, "one"), finish(chat.ReasonCalls)),
		"while calls wait for their place": join(text("a"), whole(0, "one"), whole(1, "one"), finish(chat.ReasonCalls)),
		"without calls":                    join(text("a"), time.Hour),
	}
	for name, s := range scripts {
		for _, list := range [][]toolloop.Tool{offered("one"), nil} {
			if list == nil && !strings.Contains(name, "without") {
				continue // the calls would be the client's
			}
			t.Run(fmt.Sprint(name, len(list)), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					for _, code := range []errcode.Code{errcode.Cancelled, errcode.ProviderTimeout} {
						ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
						if code == errcode.Cancelled {
							time.AfterFunc(time.Second, cancel)
						}
						m := &model{scripts: []script{s}}
						o := runIn(ctx, t, &toolloop.Loop{Provider: m, Invoker: hangs, Limits: toolloop.Limits{Parallel: 1}}, ask("go"), list, nil)
						if chat.AsError(o.err).Code != code || !errors.Is(o.failed, o.err) || o.report.Calls > 1 || len(m.requests) != 1 {
							t.Errorf("%v, %v, %+v", o.err, o.failed, o.report)
						}
						cancel()
					}
				})
			})
		}
	}
}

func TestLeavingAtEveryEvent(t *testing.T) {
	s := join(chat.Delta{Kind: chat.DeltaStart}, text("a"), whole(0, "one"), text("b"), whole(1, "theirs"), whole(2, "late"), 100*ms, whole(3, "serial"),
		finish(chat.ReasonCalls))
	for _, d := range []toolloop.Invoker{echo, hangs} {
		for _, scripts := range [][]script{{s}, {join(whole(0, "one"), whole(1, "late"), finish(chat.ReasonStop)), says("b")}} {
			for n := 1; ; n++ {
				stopped := false
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					l := &toolloop.Loop{Provider: &model{scripts: scripts}, Invoker: d, Memory: toolloop.NewMemory(toolloop.MemoryLimits{})}
					o := runIn(ctx, t, l, ask("go", "theirs"), offered("one", "late", "serial"), func(i int, e toolloop.Event) bool {
						stopped = i == n && e.Kind != chat.DeltaFinish
						return stopped
					})
					if stopped && chat.AsError(o.failed).Code != errcode.Cancelled {
						t.Errorf("after %d events: %v", n, o.failed)
					}
				})
				if !stopped {
					break
				}
			}
		}
	}
}
