package runtime

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// component is a function or a view: what is made in dependency order.
type component struct {
	function *functions.Function
	view     *datasets.View
}

func (c component) String() string {
	if c.function != nil {
		return "function " + c.function.Name
	}
	return "view " + c.view.Declared.Name
}

func (c component) uses() (names []string, relations []engine.Relation) {
	if c.function != nil {
		return c.function.Uses.Functions, c.function.Uses.Relations
	}
	return c.view.Uses.Functions, c.view.Uses.Relations
}

// arrange puts functions and views into one order in which everything comes
// after what it uses. A circle is broken by leaving out, with a problem, those
// of its components that are new.
func (b *build) arrange() {
	a := arrangement{build: b, state: map[component]mark{}}
	for _, f := range b.set.All() {
		a.visit(component{function: f})
	}
	for _, v := range b.views {
		a.visit(component{view: v})
	}
	b.order = a.order
	if len(a.broken) > 0 {
		b.exclude(a.broken)
	}
}

// mark says how far the search has come with a component.
type mark uint8

const (
	unseen mark = iota
	open        // on the path of the search
	done
)

type arrangement struct {
	build  *build
	state  map[component]mark
	path   []component
	order  []component
	broken []component // of circles
}

func (a *arrangement) visit(c component) {
	switch a.state[c] {
	case done:
		return
	case open:
		a.circle(c)
		return
	}
	a.state[c] = open
	a.path = append(a.path, c)
	for _, next := range a.build.needs(c) {
		a.visit(next)
	}
	a.path = a.path[:len(a.path)-1]
	a.state[c] = done
	a.order = append(a.order, c)
}

// needs are the components that c uses.
func (b *build) needs(c component) []component {
	names, relations := c.uses()
	var list []component
	for _, n := range names {
		if f := b.set.Get(n); f != nil {
			list = append(list, component{function: f})
		}
	}
	for _, r := range relations {
		if i := slices.IndexFunc(b.views, func(v *datasets.View) bool { return v.Relation == r }); i >= 0 {
			list = append(list, component{view: b.views[i]})
		}
	}
	return list
}

// circle reports the components between the two occurrences of c.
func (a *arrangement) circle(c component) {
	path := a.path[slices.Index(a.path, c):]
	var names []string
	for _, p := range append(slices.Clone(path), c) {
		names = append(names, p.String())
	}
	fresh := slices.ContainsFunc(path, a.build.isNew)
	for _, p := range path {
		if fresh && !a.build.isNew(p) || slices.Contains(a.broken, p) {
			continue
		}
		a.broken = append(a.broken, p)
		a.build.problem(p.problem(a.build.pod, fmt.Sprintf("%s uses itself: %s", p, strings.Join(names, " → ")), "break the circle"))
	}
}

// changed returns the components whose DDL must run: those that are new or
// different, and those that use such a one, or a dataset that is.
func (b *build) changed() map[component]bool {
	all := map[component]bool{}
	names := map[string]bool{}
	relations := map[engine.Relation]bool{}
	for _, d := range b.datasets {
		relations[d.Relation] = b.lastDataset(d.Relation) != d
	}
	for _, c := range b.order {
		if !b.isNew(c) && !b.usesAny(c, names, relations) {
			continue
		}
		all[c] = true
		if c.function != nil {
			names[sqltree.Fold(c.function.Name)] = true
		} else {
			relations[c.view.Relation] = true
		}
	}
	return all
}

func (b *build) isNew(c component) bool {
	if c.function != nil {
		return !c.function.Same(b.old.Functions.Get(c.function.Name))
	}
	return b.lastView(c.view.Relation) != c.view
}

func (b *build) usesAny(c component, names map[string]bool, relations map[engine.Relation]bool) bool {
	fs, rs := c.uses()
	return slices.ContainsFunc(fs, func(n string) bool { return names[sqltree.Fold(n)] }) ||
		slices.ContainsFunc(rs, func(r engine.Relation) bool { return relations[r] })
}
