package runtime

// This file says why what is declared does not serve: it waits for a load (loading.go),
// is disabled, or has a fault.

import (
	"cmp"
	"fmt"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// faulty is what is declared and does not serve because of a fault, by folded name.
type faulty struct {
	relations map[engine.Relation]*engine.Error
	functions map[string]*engine.Error
}

// unserved returns [engine.Contents.Unserved] of the build.
func unserved(b *build) func(engine.Object, engine.Relation) *engine.Error {
	faulty, waiting := faultyOf(b), b.waiting
	return func(o engine.Object, r engine.Relation) *engine.Error {
		if e := waiting.find(o, r); e != nil {
			return e
		}
		e := faulty.functions[r.Name]
		if o == engine.ObjectTable {
			e = faulty.relations[r]
		}
		if e == nil {
			return nil
		}
		own := *e // each statement adds its position
		return &own
	}
}

// faultyOf returns the errors of what the build does not serve and does not wait for.
func faultyOf(b *build) faulty {
	f := faulty{map[engine.Relation]*engine.Error{}, map[string]*engine.Error{}}
	first := map[string]spicepod.Problem{}
	for _, p := range b.report.Problems {
		if _, found := first[p.Component]; !found && p.Severity != spicepod.Warning {
			p.Message = fault.WithoutRoots(p.Message, b.s.db.roots)
			first[p.Component] = p
		}
	}
	served := map[engine.Relation]bool{}
	for _, r := range b.available() {
		served[folded(r)] = true
	}
	relation := func(schema, name, kind, declared string) {
		if r := folded(relationOf(schema, name)); !served[r] {
			f.relations[r] = notServed(engine.ObjectTable, fmt.Sprintf("%s %q", kind, declared), first[kind+" "+declared])
		}
	}
	for _, d := range b.pod.Datasets {
		schema, name := d.Qualified()
		relation(schema, name, "dataset", d.Name)
	}
	for _, v := range b.pod.Views {
		schema, name := v.Qualified()
		relation(schema, name, "view", v.Name)
	}
	for i := range b.pod.Functions {
		fn := &b.pod.Functions[i]
		if b.set.Get(fn.Name) != nil {
			continue
		}
		p := first["function "+fn.Name]
		if p.Message == "" {
			p.Position = b.pod.At(fmt.Sprintf("functions[%d]", i))
			p.Message = disabled(b.pod, fn)
		}
		f.functions[sqltree.Fold(fn.Name)] = notServed(engine.ObjectFunction, "function "+fn.Name, p)
	}
	return f
}

// disabled returns why a function that has no fault is not served.
func disabled(pod *spicepod.Pod, f *spicepod.Function) string {
	switch {
	case !pod.Runtime.Functions.Enabled:
		return "runtime.functions.enabled is false"
	case !f.Enabled:
		return "it has enabled: false"
	}
	return ""
}

// notServed returns the error of what does not serve because of a problem.
func notServed(o engine.Object, what string, p spicepod.Problem) *engine.Error {
	e := engine.NewError(errcode.NotFound, p.Hint, "%s is not served: %s", what, cmp.Or(p.Message, "it has a fault"))
	if p.Position.Line > 0 {
		e.Message += fmt.Sprintf(" (%s)", p.Position)
	}
	e.Missing = o
	return e
}
