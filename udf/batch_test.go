package udf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/fair"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
)

// gate is a database that counts statements and can hold them up.
type gate struct {
	*engine.DB
	statements atomic.Int64
	shared     atomic.Int64  // of more than one call
	arrived    chan struct{} // gets one for each statement, unless nil
	open       chan struct{} // lets one through for each received, unless nil
}

func (g *gate) Query(ctx context.Context, req engine.Request) (*engine.Rows, error) {
	g.statements.Add(1)
	if req.Limits.MaxRows > 1 {
		g.shared.Add(1)
	}
	if g.arrived != nil {
		g.arrived <- struct{}{}
		select {
		case <-g.open:
		case <-ctx.Done():
		}
	}
	return g.DB.Query(ctx, req)
}

// held makes a tool whose statements wait, with two calls running. Further
// calls share the next statement.
func held(t *testing.T, r *fixture, name, args string) (*gate, *scalarTool, *sync.WaitGroup) {
	t.Helper()
	g := &gate{DB: r.db, arrived: make(chan struct{}, 100), open: make(chan struct{})}
	tool, err := Tool(g, r.set.Get(name), ToolOptions{Functions: r.set})
	if err != nil {
		t.Fatal(err)
	}
	scalar := tool.(*scalarTool)
	q := scalar.queues[0]
	q.runners, q.slots = 2, fair.New(fair.Options{Slots: 2, Waiting: MaxWaiting})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { call1(t, tool, args) })
		<-g.arrived
	}
	return g, scalar, &wg
}

// await returns when n calls wait in the queue.
func await(q *queue, n int) {
	for {
		q.mu.Lock()
		ready := q.waiting == n
		q.mu.Unlock()
		if ready {
			return
		}
	}
}

func TestEachCallerGetsItsOwnAnswer(t *testing.T) {
	r := start(t)
	r.must(`
- name: mix
  from: sql
  signature: { args: [{ name: a, type: int32 }, { name: b, type: "decimal(10,2)" }, { name: s, type: "struct<z:int64,a:list<utf8>>" }, { name: n, type: utf8, required: false }], returns: "struct<sum:decimal(13,2),text:utf8>" }
  body: "{'sum': a + b, 'text': concat_ws('|', s.z, s.a, coalesce(n, '-'))}"
- { name: above, from: sql, signature: { args: [{ name: least, type: int64 }], returns: int64 }, body: (SELECT count(*) FROM orders WHERE amount > least) }
`)
	g := &gate{DB: r.db}
	set := NewToolSet(g, r.set, ToolOptions{}, nil)
	above, mix := set.Tools[0], set.Tools[1]
	var wg sync.WaitGroup
	for w := range 64 {
		wg.Go(func() {
			for i := range 30 {
				n := w*30 + i
				note, shown := "null", "-"
				if n%3 == 0 {
					note, shown = fmt.Sprintf(`"note %d"`, n), fmt.Sprintf("note %d", n)
				}
				got := call1(t, mix, fmt.Sprintf(`{"a":%d,"b":"0.25","s":{"z":"%d","a":["x%d"]},"n":%s}`, n, n, n, note))
				if want := fmt.Sprintf(`{"sum":"%d.25","text":"%d|[x%d]|%s"}`, n, n, n, shown); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				if got, want := call1(t, above, fmt.Sprintf(`{"least":%d}`, n%90)), fmt.Sprint(8-n%90/10); got != want {
					t.Errorf("above(%d) = %s, want %s", n%90, got, want)
				}
			}
		})
	}
	wg.Wait()
	if g.shared.Load() == 0 {
		t.Error("no statement was shared")
	}
	t.Logf("%d calls, %d statements, %d of them shared", 2*64*30, g.statements.Load(), g.shared.Load())
}

const parse = `
- { name: parse, from: sql, signature: { args: [{ name: v, type: utf8 }], returns: int64 }, body: v::BIGINT }
- { name: inverse, from: sql, signature: { args: [{ name: v, type: float64 }], returns: float64 }, body: 1 / v }
- { name: dice, from: sql, signature: { args: [], returns: float64 }, body: random() }
- { name: hidden, from: sql, volatility: stable, signature: { args: [], returns: float64 }, body: (SELECT random()) }
- { name: caller, from: sql, signature: { args: [], returns: float64 }, body: hidden() }
`

// together calls the tool once for each of args, all in one statement.
func together(t *testing.T, r *fixture, name, first string, args ...string) (*gate, []string) {
	t.Helper()
	g, tool, wg := held(t, r, name, first)
	got := make([]string, len(args))
	for i, a := range args {
		wg.Go(func() { got[i] = call1(t, tool, a) })
		await(tool.queues[0], i+1)
	}
	close(g.open)
	wg.Wait()
	return g, got
}

func TestOneFaultLeavesTheOthersWhole(t *testing.T) {
	r := start(t)
	r.must(parse)
	args := make([]string, 40)
	for i := range args {
		args[i] = fmt.Sprintf(`{"v":"%d"}`, i)
	}
	args[17], args[18] = `{"v":"x"}`, `{"v":"y"}`
	g, got := together(t, r, "parse", `{"v":"1"}`, args...)
	for i, text := range got {
		want := fmt.Sprint(i)
		if i == 17 || i == 18 {
			want = fmt.Sprintf("execution_error: query failed: Could not convert string '%s' to INT64 when casting from source column v",
				map[int]string{17: "x", 18: "y"}[i])
		}
		if text != want {
			t.Errorf("%d: got %s, want %s", i, text, want)
		}
	}
	if n := g.statements.Load(); n > 2+24 {
		t.Errorf("%d statements", n)
	}
	_, got = together(t, r, "inverse", `{"v":1}`, `{"v":2}`, `{"v":0}`, `{"v":4}`)
	if got[0] != "0.5" || !strings.Contains(got[1], "NaN or infinite") || got[2] != "0.25" {
		t.Error(got)
	}
}

func TestVolatileFunctionsGiveEachCallItsOwnValue(t *testing.T) {
	r := start(t)
	r.must(parse)
	g, got := together(t, r, "dice", `{}`, `{}`, `{}`, `{}`, `{}`)
	seen := map[string]bool{}
	for _, v := range got {
		seen[v] = true
	}
	if len(seen) != 4 || g.shared.Load() != 1 {
		t.Error(got, g.shared.Load())
	}
	for _, name := range []string{"hidden", "caller"} {
		if r.tool(name).(*scalarTool).queues != nil {
			t.Errorf("%s: calls share a statement, and random() in its subquery", name)
		}
		if a, b := call1(t, r.tool(name), `{}`), call1(t, r.tool(name), `{}`); a == b {
			t.Errorf("%s gave %s twice", name, a)
		}
	}
}

func TestACallerThatLeavesDisturbsNobody(t *testing.T) {
	r := start(t)
	r.must(parse)
	g, tool, wg := held(t, r, "parse", `{"v":"1"}`)
	leaving, leave := context.WithCancel(t.Context())
	var first, waiting error
	var second string
	wg.Go(func() { _, first = tool.Call(leaving, input(t, `{"v":"2"}`)) })
	await(tool.queues[0], 1)
	wg.Go(func() { second = call1(t, tool, `{"v":"3"}`) })
	await(tool.queues[0], 2)
	g.open <- struct{}{} // one of the two that run; its runner takes both
	<-g.arrived
	late, leaveLate := context.WithCancel(t.Context())
	wg.Go(func() { _, waiting = tool.Call(late, input(t, `{"v":"4"}`)) })
	await(tool.queues[0], 1)
	leave()
	leaveLate()
	await(tool.queues[0], 0)
	close(g.open)
	wg.Wait()
	var e *tools.Error
	for _, err := range []error{first, waiting} {
		if !errors.As(err, &e) || e.Code != errcode.Cancelled {
			t.Error(err)
		}
	}
	if second != "3" {
		t.Error(second)
	}
	if n := g.statements.Load(); n != 3 {
		t.Errorf("%d statements", n)
	}
}

func TestEachCallWaitsNoLongerThanItsOwnLimit(t *testing.T) {
	r := start(t)
	r.must(parse)
	g, tool, wg := held(t, r, "parse", `{"v":"1"}`)
	in := input(t, `{"v":"2"}`)
	in.Limits.Timeout = time.Millisecond
	var e *tools.Error
	if _, err := tool.Call(t.Context(), in); !errors.As(err, &e) || e.Code != errcode.Timeout {
		t.Error(err)
	}
	close(g.open)
	wg.Wait()
}

func TestABatchThatNobodyWaitsForIsInterrupted(t *testing.T) {
	r := start(t)
	r.must(parse)
	g, tool, wg := held(t, r, "parse", `{"v":"1"}`)
	ctx, leave := context.WithCancel(t.Context())
	for i := range 3 {
		wg.Go(func() {
			if _, err := tool.Call(ctx, input(t, `{"v":"2"}`)); err == nil {
				t.Error("no error")
			}
		})
		await(tool.queues[0], i+1)
	}
	g.open <- struct{}{}
	<-g.arrived // the three run, held up until their statement's context ends
	leave()
	g.open <- struct{}{}
	wg.Wait()
	close(g.open)
	await(tool.queues[0], 0)
	if n := g.statements.Load(); n != 3 {
		t.Errorf("%d statements", n)
	}
}

func TestQueueIsBounded(t *testing.T) {
	q := newQueue(0, MaxBatch, func(context.Context, []*call) error { return nil })
	l := &line{serving: q.runners}
	q.lines[l.who] = l
	for range MaxWaiting {
		if _, first, err := q.enter(&call{}); err != nil || first {
			t.Fatal(first, err)
		}
	}
	var e *tools.Error
	if _, _, err := q.enter(&call{}); !errors.As(err, &e) || e.Code != errcode.Busy {
		t.Error(err)
	}
	_, b := q.next(l)
	if len(b.calls) != MaxBatch {
		t.Error(len(b.calls))
	}
	b.cancel()
	l.waiting[0].bytes, l.waiting[1].bytes, l.waiting[2].bytes = 2*MaxBatchBytes, MaxBatchBytes-1, 1
	l.waiting[3].bytes = 1
	for _, want := range []int{1, 2} {
		_, b := q.next(l)
		if len(b.calls) != want {
			t.Errorf("%d calls, want %d", len(b.calls), want)
		}
		b.cancel()
	}
}

// TestABatchIsOfOneShare: a statement counts towards the slots of its callers.
func TestABatchIsOfOneShare(t *testing.T) {
	q := newQueue(0, MaxBatch, func(context.Context, []*call) error { return nil })
	for _, name := range []string{"ann", "ann", "ben", "ann"} {
		if _, _, err := q.enter(&call{who: caller.Caller{Principal: name}}); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]int{"ann": 3, "ben": 1} {
		ctx, b := q.next(q.lines[caller.Caller{Principal: name}])
		if share := caller.From(ctx).Share(); len(b.calls) != want || share != name {
			t.Errorf("%d calls of %q, want %d of %q", len(b.calls), share, want, name)
		}
		b.cancel()
	}
}

// TestRunnersAreSharedFairly: a caller with one call does not wait for all the calls of
// another one.
func TestRunnersAreSharedFairly(t *testing.T) {
	var mu sync.Mutex
	var order []string
	open := make(chan struct{})
	q := newQueue(0, 1, func(_ context.Context, calls []*call) error {
		mu.Lock()
		order = append(order, calls[0].who.Principal)
		mu.Unlock()
		<-open
		return nil
	})
	q.runners, q.slots = 1, fair.New(fair.Options{Slots: 1, Waiting: MaxWaiting, Long: time.Hour})
	var wg sync.WaitGroup
	enter := func(name string, waiting int) {
		wg.Go(func() {
			if err := q.do(t.Context(), &call{who: caller.Caller{Principal: name}}); err != nil {
				t.Error(err)
			}
		})
		await(q, waiting)
	}
	for n := range 10 {
		enter("ann", n)
		for running := 0; running == 0; { // the first one, before the others come
			mu.Lock()
			running = len(order)
			mu.Unlock()
		}
	}
	enter("ben", 10)
	for q.slots.Stats().Waiting == 0 { // ben's runner waits
	}
	close(open)
	wg.Wait()
	if at := slices.Index(order, "ben"); at > 2 {
		t.Errorf("ben was number %d: %v", at, order)
	}
}

func TestAPanicFailsTheCalls(t *testing.T) {
	q := newQueue(0, MaxBatch, func(context.Context, []*call) error { panic("oh") })
	c := &call{}
	l, _, err := q.enter(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, b := q.next(l)
	if q.work(ctx, b, q.slots.Try("", 0)) {
		q.serve(l)
	}
	var e *tools.Error
	if !errors.As(c.err, &e) || e.Code != errcode.Internal || len(q.lines) != 0 {
		t.Errorf("%v, %d lines", c.err, len(q.lines))
	}
}

func FuzzArguments(f *testing.F) {
	r := start(f)
	r.must(identities() + `
- name: various
  from: sql
  signature: { args: [{ name: a, type: int8 }, { name: b, type: uint64 }, { name: c, type: "decimal(9,3)" }, { name: d, type: "timestamp(us, UTC)" }, { name: e, type: "list<struct<x:date32,y:binary>>" }, { name: f, type: float32 }], returns: utf8 }
  body: concat_ws(',', a, b, c, d, e, f)
`)
	tool := r.tool("various")
	f.Add(`{"a":1,"b":"2","c":"3.5","d":"2024-01-01T00:00:00Z","e":[{"x":"2024-01-01","y":"AA=="}],"f":1.5}`)
	f.Add(`{"a":1e2,"b":18446744073709551615,"c":-1e-3,"d":"infinity","e":[],"f":-0.0}`)
	f.Add(`{"a":null,"b":"-0","c":"9e9999","d":"+12345-01-01","e":[null,{}],"f":1e39}`)
	f.Fuzz(func(t *testing.T, text string) {
		value, err := tools.Decode([]byte(text))
		args, ok := value.(map[string]any)
		if err != nil || !ok {
			return
		}
		out, err := tool.Call(t.Context(), tools.Input{Arguments: args})
		var e *tools.Error
		switch {
		case err == nil && !json.Valid(out.Value):
			t.Errorf("%q is not JSON", out.Value)
		case err != nil && (!errors.As(err, &e) || e.Code == errcode.Internal || errors.Is(err, tools.ErrChanged)):
			t.Errorf("%v (%+v)", err, e)
		}
	})
}

// The statements of a call have columns a0, a1, …, i and result.
func TestNamesDoNotMix(t *testing.T) {
	r := start(t)
	r.must(`
- { name: swap, from: sql, signature: { args: [{ name: a1, type: int64 }, { name: a0, type: int64 }], returns: int64 }, body: a1 * 10 + a0 }
- { name: inner, from: sql, signature: { args: [{ name: i, type: int64 }, { name: id, type: int64 }], returns: int64 }, body: "(SELECT max(v.a0 * 100) FROM (SELECT o.id AS a0, 7 AS i2 FROM orders AS o) AS v) + i + id" }
- { name: my-fn, from: sql, signature: { args: [{ name: result, type: list<int64> }], returns: list<int64> }, body: "list_transform(result, lambda a0: a0 + 1)" }
- { name: Rows, from: sql, kind: table, as_tool: true, signature: { args: [{ name: a1, type: int64 }, { name: a0, type: int64 }], returns: [{ name: result, type: int64 }] }, body: SELECT a1 * 10 + a0 AS result FROM args }
`)
	if got := call1(t, r.tool("Rows"), `{"a0":1,"a1":2}`); got != `[{"result":21}]` {
		t.Error(got)
	}
	for _, c := range []struct{ tool, args, want string }{
		{"swap", `{"a0":1,"a1":2}`, "21"},
		{"inner", `{"i":3,"id":1000}`, "1803"},
		{"my-fn", `{"result":[1,2]}`, "[2,3]"},
	} {
		if got := call1(t, r.tool(c.tool), c.args); got != c.want {
			t.Errorf("%s%s = %s, want %s", c.tool, c.args, got, c.want)
		}
		if _, got := together(t, r, c.tool, c.args, c.args, c.args); got[0] != c.want || got[1] != c.want {
			t.Errorf("%s%s = %s in a batch, want %s", c.tool, c.args, got, c.want)
		}
	}
}
