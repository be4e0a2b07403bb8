package runtime

import (
	"cmp"
	"maps"
	"slices"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/data/rowsearch"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/udf"
)

// traits are the traits of the relations and functions of a generation.
type traits struct {
	relations map[engine.Relation]engine.Traits
	functions map[string]*engine.Function // by folded name
	reads     map[component][]engine.Relation
	viewReads map[engine.Relation][]engine.Relation
	asks      map[engine.Relation][]engine.Ask // by folded names
}

// readTraits derives traits from callees for their callers and from relations
// for what reads them.
func (b *build) readTraits() *traits {
	t := &traits{
		map[engine.Relation]engine.Traits{},
		map[string]*engine.Function{},
		map[component][]engine.Relation{},
		map[engine.Relation][]engine.Relation{},
		map[engine.Relation][]engine.Ask{},
	}
	for _, f := range baseFunctions() {
		t.add(f, engine.Traits{Volatile: true, Caller: f.Random})
	}
	for _, d := range b.datasets {
		v := d.Current()
		t.relations[d.Relation] = engine.Traits{
			Protected: d.Protected, Caller: d.Protected, Volatile: v.Changing, Written: v.Changing, Files: v.Files,
			Live: v.Copy == nil || d.Caches(), Fetches: d.Caches(),
		}
		if d.Caches() {
			t.asks[folded(d.Relation)] = []engine.Ask{{Relation: d.Relation}}
		}
	}
	if b.keys.Enabled() {
		for _, r := range registry.Personal() {
			t.relations[r] = engine.Traits{Volatile: true, Caller: true}
		}
	}
	if c := b.s.db.clients; c != nil {
		for _, r := range c.Relations { // they show what tables of schema spiced show
			t.relations[r] = engine.Traits{Volatile: true, Caller: b.keys.Enabled()}
		}
	}
	for _, c := range b.order {
		t.reads[c] = b.reads(t, c)
		if f := c.function; f != nil {
			own := b.textTraits(t, c, f.SQL())
			own.Volatile = own.Volatile || f.Volatility == spicepod.Volatile
			own.Stable = own.Stable || f.Volatility == spicepod.Stable
			own.Caller = own.Caller || f.Tool() != ""
			t.add(f.Engine, own)
			t.function(f.Name).Reads = t.reads[c]
			if own.Fetches && f.IsSQL() {
				t.function(f.Name).Asks = t.asksOf(f.Parsed())
			}
		} else {
			own := b.textTraits(t, c, c.view.Declared.SQL)
			own.Live = own.Live && c.view.Acceleration == nil // see dataVersion
			t.viewReads[c.view.Relation] = t.reads[c]
			if t.relations[c.view.Relation] = own; own.Fetches && c.view.Acceleration == nil {
				t.asks[folded(c.view.Relation)] = t.asksOf(c.view.Parsed)
			}
		}
	}
	return t
}

// asksOf returns what the text of a view or function asks for.
func (t *traits) asksOf(st *sqltree.Statement) []engine.Ask {
	return engine.Asks(st, func(r sqltree.Relation) []engine.Ask {
		schema := engine.SchemaOf(r.Catalog, r.Schema)
		if schema == "" || sqltree.Fold(schema) == "main" {
			schema = engine.Public
		}
		return t.asks[folded(engine.Relation{Schema: schema, Name: r.Name})]
	}, func(c sqltree.Call) ([]engine.Ask, []engine.FunctionArg) {
		if f := t.function(c.Name); f != nil {
			return f.Asks, f.Args
		}
		return nil, nil
	})
}

// declaredAsks returns [engine.Contents.Asks].
func (t *traits) declaredAsks(relations []engine.Relation) map[engine.Relation][]engine.Ask {
	if len(t.asks) == 0 {
		return nil
	}
	all := map[engine.Relation][]engine.Ask{}
	for _, r := range relations {
		if asks := t.asks[folded(r)]; asks != nil {
			all[r] = asks
		}
	}
	return all
}

// reads returns the relations that c reads, also through views and functions.
func (b *build) reads(t *traits, c component) []engine.Relation {
	_, relations := c.uses()
	seen := map[engine.Relation]bool{}
	for _, r := range relations {
		seen[r] = true
	}
	for _, used := range b.needs(c) {
		for _, r := range t.reads[used] {
			seen[r] = true
		}
	}
	return slices.SortedFunc(maps.Keys(seen), func(x, y engine.Relation) int {
		return cmp.Or(cmp.Compare(x.Schema, y.Schema), cmp.Compare(x.Name, y.Name))
	})
}

// textTraits returns the traits of a component's text and of what it reads.
func (b *build) textTraits(t *traits, c component, text string) engine.Traits {
	_, relations := c.uses()
	own := b.s.db.TextTraits(text, t.function)
	for _, r := range relations {
		read, declared := t.relations[r]
		own = own.With(read)
		own.Volatile = own.Volatile || r.Schema == engine.System
		own.Live = own.Live || !declared // the runtime's own
	}
	return own
}

// add adds a copy of f, because another generation may serve the same function
// with other traits.
func (t *traits) add(f *engine.Function, own engine.Traits) {
	copied := *f
	copied.Traits = own
	t.functions[sqltree.Fold(f.Name)] = &copied
}

func (t *traits) function(name string) *engine.Function { return t.functions[sqltree.Fold(name)] }

// of returns the traits of a declared function.
func (t *traits) of(f *functions.Function) engine.Traits {
	if known := t.function(f.Name); known != nil {
		return known.Traits
	}
	return engine.Traits{}
}

// readsOf returns the relations that a declared function reads, also through views
// and functions.
func (t *traits) readsOf(f *functions.Function) []engine.Relation {
	return t.reads[component{function: f}]
}

// dataVersion is [engine.DB.Version]; 0 while one of the relations is an accelerated view
// that is not loaded, which reads its sources.
func (s *services) dataVersion(relations []engine.Relation) uint64 {
	g := s.Current()
	for _, v := range g.Views {
		if v.Acceleration != nil && v.Current().Copy == nil && slices.Contains(relations, v.Relation) {
			return 0
		}
	}
	version := s.db.Version(relations)
	if s.Current() != g {
		return 0
	}
	return version
}

// guarded returns the functions that statements of g may call.
func (a *attempt) guarded(g *Generation) []*engine.Function {
	list := append(baseFunctions(), a.set.Engine()...)
	for i, f := range list {
		list[i] = a.traits.function(f.Name)
	}
	for _, f := range list {
		f.Conditional, f.Gated = g.Tools.ConditionalFunction(f.Name), g.Tools.GatesFunction(f.Name)
		if f.Gated {
			f.Tool = a.toolFor(g, f.Name)
		}
	}
	return list
}

// toolFor returns the tool that does what a declared function does, or "".
func (a *attempt) toolFor(g *Generation, function string) string {
	if f := a.set.Get(function); f != nil && f.Tool() != "" {
		return f.Tool()
	}
	if g.Tools.Get(function) == nil {
		return ""
	}
	return function
}

// baseFunctions returns the functions of the runtime itself. Declared functions
// of the same name replace them.
func baseFunctions() []*engine.Function {
	return slices.Concat(udf.Functions(), registry.Functions(), rowsearch.Functions())
}
