package runtime

import (
	"github.com/spiced-sql/spiced/functions"
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
}

// readTraits derives traits from callees for their callers and from relations
// for what reads them.
func (b *build) readTraits() *traits {
	t := &traits{map[engine.Relation]engine.Traits{}, map[string]*engine.Function{}}
	for _, f := range baseFunctions() {
		t.add(f, engine.Traits{Volatile: true, Caller: f.Random})
	}
	for _, entry := range b.pod.Tools {
		if entry.AsSQL {
			t.add(&engine.Function{Name: entry.Name}, engine.Traits{Volatile: true, Caller: true})
		}
	}
	for _, d := range b.datasets {
		v := d.Current()
		t.relations[d.Relation] = engine.Traits{
			Protected: d.Protected, Caller: d.Protected, Volatile: v.Written, Written: v.Written, Files: v.Files,
		}
	}
	if b.keys.Enabled() {
		for _, r := range registry.Personal() {
			t.relations[r] = engine.Traits{Volatile: true, Caller: true}
		}
	}
	for _, c := range b.order {
		if f := c.function; f != nil {
			own := b.textTraits(t, c, f.Source)
			own.Volatile = own.Volatile || f.Volatility != spicepod.Immutable
			t.add(f.Engine, own)
		} else {
			t.relations[c.view.Relation] = b.textTraits(t, c, c.view.Declared.SQL)
		}
	}
	return t
}

// textTraits returns the traits of a component's text and of what it reads.
func (b *build) textTraits(t *traits, c component, text string) engine.Traits {
	_, relations := c.uses()
	own := b.s.db.TextTraits(text, t.function)
	for _, r := range relations {
		own = own.With(t.relations[r])
		own.Volatile = own.Volatile || r.Schema == engine.System
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

// guarded returns the functions that statements of g may call.
func (a *attempt) guarded(g *Generation) []*engine.Function {
	list := append(baseFunctions(), a.set.Engine()...)
	for i, f := range list {
		list[i] = a.traits.function(f.Name)
	}
	for _, f := range g.toolFunctions {
		own := *f.Engine
		own.Traits = engine.Traits{Volatile: true, Caller: true}
		list = append(list, &own)
	}
	return list
}

// baseFunctions returns the functions of the runtime itself. Declared functions
// of the same name replace them.
func baseFunctions() []*engine.Function { return append(udf.Functions(), registry.Functions()...) }
