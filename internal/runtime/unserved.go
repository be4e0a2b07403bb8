package runtime

// This file says why what is declared does not serve: it waits for a load (loading.go),
// is disabled, or has a fault.

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/spiced-sql/spiced/internal/data/datasets"
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
	names := sync.OnceValue(func() *texts { return textsOf(b) })
	return func(o engine.Object, r engine.Relation) *engine.Error {
		if e := waiting.find(o, r); e != nil {
			return e
		}
		e := faulty.functions[r.Name]
		if o == engine.ObjectTable {
			e = faulty.relations[r]
		}
		if e == nil {
			e = unlisted(b, o, r)
		}
		if e == nil {
			return nil
		}
		for _, d := range names().read(r.Name) {
			b.s.data.Check(d) // its source may be as it was before the fault
		}
		own := *e // each statement adds its position
		return &own
	}
}

// faultyOf returns the errors of what the build does not serve and does not wait for.
func faultyOf(b *build) faulty {
	f := faulty{map[engine.Relation]*engine.Error{}, map[string]*engine.Error{}}
	first := map[string]spicepod.Problem{}
	for _, c := range b.report.Problems.Causes() {
		for _, waiting := range c.Waiting { // the caller learns what to fix, not what else waits
			if strings.HasPrefix(c.Component, "dataset ") {
				first[waiting] = spicepod.Problem{
					Position: c.Position, Message: "it waits for " + c.Component + ": " + fault.WithoutRoots(c.Message, b.s.db.roots),
					Hint: c.Hint,
				}
			}
		}
	}
	for _, p := range b.report.Problems {
		if known, found := first[p.Component]; !found || known.Severity == spicepod.Warning &&
			p.Severity != spicepod.Warning {
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
	for _, t := range b.pod.Tools {
		if p := first["tool "+t.Name]; t.AsSQL && b.set.Get(t.Name) == nil && p.Message != "" {
			f.functions[sqltree.Fold(t.Name)] = notServed(engine.ObjectFunction, "function "+t.Name, p)
		}
	}
	return f
}

// texts are the SQL texts of views and functions, served or not, and the datasets without
// acceleration that serve, by folded name without a schema.
type texts struct {
	sql      map[string][]string
	datasets map[string][]*datasets.Dataset
}

func textsOf(b *build) *texts {
	t := &texts{map[string][]string{}, map[string][]*datasets.Dataset{}}
	add := func(name, sql string) { t.sql[sqltree.Fold(name)] = append(t.sql[sqltree.Fold(name)], sql) }
	for _, v := range b.pod.Views {
		_, name := v.Qualified()
		add(name, v.SQL)
	}
	for _, fn := range b.pod.Functions {
		add(fn.Name, fn.Body)
	}
	for _, d := range b.datasets {
		if name := sqltree.Fold(d.Relation.Name); d.Current().Copy == nil {
			t.datasets[name] = append(t.datasets[name], d)
		}
	}
	return t
}

// read returns the datasets whose names are in the text of a view or function. The text need
// not parse; the name of a column counts as well.
func (t *texts) read(name string) (list []*datasets.Dataset) {
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if name = sqltree.Fold(name); name == "" || seen[name] {
			return
		}
		seen[name] = true
		list = append(list, t.datasets[name]...)
		for _, sql := range t.sql[name] {
			for _, token := range sqltree.Scan(sql) {
				visit(token.Name(sql))
			}
		}
	}
	visit(name)
	return list
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
	e := engine.NewError(errcode.NotFound, p.Hint, "%s is not served: %s", what, cmp.Or(p.Located(), "it has a fault"))
	e.Missing = o
	return e
}
