package runtime

// This file decides what waits for data that is being loaded: what reads it, directly
// or through others, and has no last good version that works without it. What waits
// is declared, has no fault, and does not serve yet.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/data/views"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/udf"
)

// defaultPatience is [Options.Patience].
const defaultPatience = 200 * time.Millisecond

// triggerLoaded is the trigger of loads of the Spicepod that take data which has been
// loaded.
const triggerLoaded = "loaded"

// waiter is a dataset, view or function that waits for a load.
type waiter struct {
	what     string              // dataset "d", view "v" or function f
	load     *datasets.Load      // of a dataset
	function *functions.Function // nil: a dataset or view
	view     *views.View         // nil: a dataset or function
}

// waiting is what waits for loads.
type waiting struct {
	relations map[engine.Relation]*waiter      // by folded name
	functions map[string]*waiter               // by folded name
	catalogs  map[string]datasets.CatalogState // whose tables are not known, by folded name
}

func newWaiting() *waiting {
	return &waiting{
		relations: map[engine.Relation]*waiter{}, functions: map[string]*waiter{},
		catalogs: map[string]datasets.CatalogState{},
	}
}

func folded(r engine.Relation) engine.Relation {
	return engine.Relation{Schema: sqltree.Fold(r.Schema), Name: sqltree.Fold(r.Name)}
}

func (w *waiting) addRelation(r engine.Relation, what *waiter) { w.relations[folded(r)] = what }

// list returns the functions that wait, by name. Nil waits for nothing.
func (w *waiting) list() (list []*functions.Function) {
	if w == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(w.functions)) {
		list = append(list, w.functions[name].function)
	}
	return list
}

// Waiting returns the functions that are declared and wait for data that is loaded, by
// name.
func (g *Generation) Waiting() []*functions.Function { return g.waiting.list() }

// holdsReady reports whether a dataset with ready_state on_load waits for its first
// load.
func (w *waiting) holdsReady() bool {
	for _, r := range w.relations {
		if r.view == nil && r.load.Dataset.Declared.ReadyState == spicepod.ReadyOnLoad {
			return true
		}
	}
	return false
}

// find returns the error of what waits, or nil.
func (w *waiting) find(o engine.Object, r engine.Relation) *engine.Error {
	found := w.functions[r.Name]
	if o == engine.ObjectTable {
		found = w.relations[r]
	}
	if found == nil {
		return nil
	}
	return found.err()
}

// first returns the error of the first dataset or view that waits, by name, or nil.
func (w *waiting) first() *engine.Error {
	if w == nil || len(w.relations) == 0 {
		return nil
	}
	names := slices.SortedFunc(maps.Keys(w.relations), func(a, b engine.Relation) int {
		return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name))
	})
	return w.relations[names[0]].err()
}

// err is the error of what names the waiter.
func (w *waiter) err() *engine.Error {
	p := w.load.Progress()
	loading := &engine.Loading{Dataset: p.Dataset, Seconds: p.Elapsed.Seconds()}
	done := p.Elapsed.Round(time.Second).String()
	if p.Percent >= 0 {
		loading.Percent = &p.Percent
		done = fmt.Sprintf("%d %%, %s", p.Percent, done)
	}
	text := fmt.Sprintf("dataset %q is loading (%s)", p.Dataset, done)
	if w.function != nil || w.view != nil {
		text = fmt.Sprintf("%s waits for dataset %q, which is loading (%s)", w.what, p.Dataset, done)
	}
	e := engine.NewError(errcode.Loading, "try again in a moment", "%s", text)
	e.Loading = loading
	return e
}

// waitingTools returns the tools of the functions that wait: they have their declared
// schemas.
func (a *attempt) waitingTools() []tools.Tool {
	var list []tools.Tool
	for _, w := range a.waiting.functions {
		if tool, err := udf.Tool(query.ToolDB{DB: a.s.DB()}, w.function, udf.ToolOptions{Results: a.s.results}); err == nil {
			list = append(list, &waitingTool{tool, w})
		}
	}
	return list
}

// waitingTool is the tool of a function that waits.
type waitingTool struct {
	tools.Tool
	waiter *waiter
}

var _ tools.Planner = (*waitingTool)(nil)

// Call returns the error of the load.
func (t *waitingTool) Call(context.Context, tools.Input) (tools.Output, error) {
	return tools.Output{}, t.err()
}

// Plan returns the error of the load.
func (t *waitingTool) Plan(context.Context, tools.Input) (json.RawMessage, error) {
	return nil, t.err()
}

func (t *waitingTool) err() error {
	e := t.waiter.err()
	return tools.NewError(e.Code, e.Message, e.Hint)
}

// notLoaded is the error of every name before the first load of the Spicepod.
func notLoaded(engine.Object, engine.Relation) *engine.Error {
	return engine.NewError(errcode.Loading, "try again in a moment", "the Spicepod is loading")
}

// wait takes out of the build what waits for a load, or replaces it by its last good
// version. b.order has each component after what it uses.
func (b *build) wait() {
	if len(b.waiting.relations) == 0 {
		return
	}
	var gone []string
	for _, c := range slices.Clone(b.order) {
		on := b.waiting.usedBy(c)
		if on == nil {
			continue
		}
		w := &waiter{what: c.String(), load: on.load, function: c.function, view: c.view}
		if c.view != nil {
			w.what = fmt.Sprintf("view %q", c.view.Declared.Name)
			if b.excludeView(c.view); b.missing[c.view.Relation] != "" {
				b.waiting.addRelation(c.view.Relation, w)
			}
			continue
		}
		last := b.old.Functions.Get(c.function.Name)
		if last != nil && last != c.function && b.restore(component{function: last}) {
			b.set = b.set.With(last)
			continue
		}
		b.waiting.functions[sqltree.Fold(c.function.Name)] = w
		gone = append(gone, c.function.Name)
	}
	rest, problems := b.set.Without(b.pod, gone...)
	b.set = rest
	b.problems(problems)
	b.arrange()
}

// usedBy returns what c uses and waits itself, or nil.
func (w *waiting) usedBy(c component) *waiter {
	names, relations := c.uses()
	for _, r := range relations {
		if used := w.relations[folded(r)]; used != nil {
			return used
		}
	}
	for _, n := range names {
		if used := w.functions[sqltree.Fold(n)]; used != nil {
			return used
		}
	}
	return nil
}
