package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
)

// tellCaller answers ctx('user_id') and the like with what the doors know of
// the statement's caller.
func tellCaller(ctx context.Context, name string) (string, error) {
	s := caller.From(ctx)
	value, ok := map[string]string{
		"user_id": s.UserID, "space_id": s.SpaceID, "session_id": s.SessionID, "agent": s.Agent,
		"model": s.Model, "principal": s.Principal, "request_id": s.RequestID,
	}[name]
	switch {
	case !ok:
		return "", fmt.Errorf("ctx has no name %q", name)
	case value == "":
		return "null", nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}

// traits are those of what a generation serves.
type traits struct {
	relations map[engine.Relation]engine.Traits
	functions map[string]*engine.Function // by folded name
}

// readTraits follows from callees to callers and from datasets to what reads
// them.
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
		protected := d.Declared.Protected()
		t.relations[d.Relation] = engine.Traits{
			Protected: protected, Caller: protected, Volatile: d.Written(), Written: d.Written(), Files: d.ReadsFiles(),
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

// textTraits are those of a component's text and of what it reads.
func (b *build) textTraits(t *traits, c component, text string) engine.Traits {
	_, relations := c.uses()
	own := b.d.db.TextTraits(text, t.function)
	for _, r := range relations {
		own = own.With(t.relations[r])
		own.Volatile = own.Volatile || r.Schema == engine.System
	}
	return own
}

// add notes a copy of f: another generation may serve the same one, with
// other traits.
func (t *traits) add(f *engine.Function, own engine.Traits) {
	copied := *f
	copied.Traits = own
	t.functions[sqltree.Fold(f.Name)] = &copied
}

func (t *traits) function(name string) *engine.Function { return t.functions[sqltree.Fold(name)] }

// of are the traits of a declared function.
func (t *traits) of(f *functions.Function) engine.Traits {
	if known := t.function(f.Name); known != nil {
		return known.Traits
	}
	return engine.Traits{}
}

// guarded are the functions that statements of the generation may call.
func (m *maker) guarded(g *Generation) []*engine.Function {
	list := append(baseFunctions(), m.set.Engine()...)
	for i, f := range list {
		list[i] = m.traits.function(f.Name)
	}
	for _, f := range g.toolFunctions {
		own := *f.Engine
		own.Traits = engine.Traits{Volatile: true, Caller: true}
		list = append(list, &own)
	}
	return list
}

// settle takes out components that read what cannot be had, and copies that
// must not be, until nothing is left to take out.
func (b *build) settle() {
	for again := true; again; {
		b.prune()
		again = b.refuseCopies()
	}
}

// refuseCopies takes out accelerated views that would show one caller's rows,
// or all of them, to every caller. No last good version stands in for one: it
// is a copy as well. It reports whether there was any.
func (b *build) refuseCopies() bool {
	t := b.readTraits()
	found := false
	for _, v := range slices.Clone(b.views) {
		of := t.relations[v.Relation]
		if a := v.Declared.Acceleration; a == nil || !a.Enabled || !of.Caller {
			continue
		}
		what := "it calls ctx or a tool, or reads spiced.tool_calls or spiced.searches"
		if of.Protected {
			what = "it reads a dataset with a row_filter or column_mask"
		}
		p := b.pod.KeyProblem(component{view: v}.pathIn(b.pod)+".acceleration",
			what+", and its copy would show every caller the same rows", "leave acceleration out, and accelerate the datasets it reads")
		p.Component = component{view: v}.String()
		b.problem(p)
		b.views = slices.DeleteFunc(slices.Clone(b.views), func(o *datasets.View) bool { return o == v })
		b.missing[v.Relation] = fmt.Sprintf("view %q, which has a fault", v.Declared.Name)
		found = true
	}
	if found {
		b.arrange()
	}
	return found
}

// standIn returns the last good version of dataset i, which could not be
// loaded. A version with another policy might show what the Spicepod hides
// now: no dataset is served then.
func (b *build) standIn(i int) *datasets.Dataset {
	declared := b.pod.Datasets[i]
	last := b.lastDataset(relationOf(declared.Qualified()))
	if last == nil || last.Declared.SamePolicy(declared) {
		return last
	}
	p := b.pod.KeyProblem(fmt.Sprintf("datasets[%d].name", i), "it is not served: its row_filter or column_mask has changed, and the version before does not stand in for it",
		"mend what is wrong with it, or take the change back")
	p.Component = "dataset " + declared.Name
	b.problem(p)
	return nil
}
