package udf

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
)

type userKey struct{}

// Calls of a function that depends on its caller run in its caller's name,
// however many are made at once.
func TestCallsInTheNameOfTheirCallers(t *testing.T) {
	r := start(t)
	r.must(`- { name: hello, from: sql, signature: { args: [{ name: word, type: utf8 }], returns: utf8 }, body: "word || ' ' || coalesce(ctx('user_id'), 'no one')" }`)
	r.db.Handle(engine.Ctx, func(ctx context.Context, _ string) (string, error) {
		text, err := json.Marshal(ctx.Value(userKey{}))
		return string(text), err
	})
	g := &gate{DB: r.db}
	of := func(*functions.Function) engine.Traits { return engine.Traits{Volatile: true, Caller: true} }
	tool := NewToolSet(g, r.set, ToolOptions{Traits: of}, nil).Tools[0]
	var group sync.WaitGroup
	const users, calls = 32, 10
	for u := range users {
		group.Go(func() {
			for n := range calls {
				ctx := context.WithValue(t.Context(), userKey{}, fmt.Sprint("user", u))
				out, err := tool.Call(ctx, tools.Input{Arguments: map[string]any{"word": "hi"}})
				if want := fmt.Sprintf(`"hi user%d"`, u); err != nil || string(out.Value) != want {
					t.Errorf("call %d gives %s, %v, want %s", n, out.Value, err, want)
				}
			}
		})
	}
	group.Wait()
	if g.shared.Load() != 0 || g.statements.Load() != users*calls {
		t.Errorf("%d statements, %d of them shared", g.statements.Load(), g.shared.Load())
	}
}

// TestTraitsDecideHowAToolRuns changes what a function reads, and nothing of
// the function.
func TestTraitsDecideHowAToolRuns(t *testing.T) {
	r := start(t)
	r.must(`- { name: half, from: sql, volatility: immutable, signature: { args: [{ name: x, type: int64 }], returns: float64 }, body: x / 2 }`)
	var now engine.Traits
	o := ToolOptions{Traits: func(*functions.Function) engine.Traits { return now }}
	var last *ToolSet
	for _, c := range []struct {
		traits            engine.Traits
		cacheable, shared bool
	}{
		{engine.Traits{}, true, true},
		{engine.Traits{Volatile: true}, false, true},
		{engine.Traits{Protected: true, Caller: true}, false, false},
		{engine.Traits{}, true, true},
	} {
		now = c.traits
		next := NewToolSet(r.db, r.set, o, last)
		tool := next.Tools[0].(*scalarTool)
		if tool.Definition().Cacheable != c.cacheable || (tool.queues != nil) != c.shared {
			t.Errorf("%+v: cacheable %v, shared %v", c.traits, tool.Definition().Cacheable, tool.queues != nil)
		}
		if last != nil && last.Tools[0] == next.Tools[0] {
			t.Errorf("%+v: the tool of before goes on", c.traits)
		}
		if again := NewToolSet(r.db, r.set, o, next); again.Tools[0] != next.Tools[0] {
			t.Errorf("%+v: a tool of the same traits is made again", c.traits)
		}
		last = next
	}
}
