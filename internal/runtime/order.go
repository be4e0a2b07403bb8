package runtime

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/data/views"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// arrange orders functions and views so that each comes after what it uses. A
// dependency cycle is a problem; its new components are excluded.
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

// mark is the state of a component in the depth-first search.
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
	broken []component // by cycles
}

func (a *arrangement) visit(c component) {
	switch a.state[c] {
	case done:
		return
	case open:
		a.cycle(c)
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

// needs returns the components that c uses.
func (b *build) needs(c component) []component {
	names, relations := c.uses()
	var list []component
	for _, n := range names {
		if f := b.set.Get(n); f != nil {
			list = append(list, component{function: f})
		}
	}
	for _, r := range relations {
		if i := slices.IndexFunc(b.views, func(v *views.View) bool { return v.Relation == r }); i >= 0 {
			list = append(list, component{view: b.views[i]})
		}
	}
	return list
}

// cycle reports the components between the two occurrences of c.
func (a *arrangement) cycle(c component) {
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
		a.build.problem(p.problem(a.build.pod, fmt.Sprintf("dependency cycle: %s", strings.Join(names, " → ")),
			"remove one of these dependencies"))
	}
}

// component is a function or a view: what is created in dependency order.
type component struct {
	function *functions.Function
	view     *views.View
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

// problem returns a problem of the component as a whole.
func (c component) problem(pod *spicepod.Pod, message, hint string) spicepod.Problem {
	p := pod.KeyProblem(c.pathIn(pod)+".name", message, hint)
	p.Component = c.String()
	if c.function != nil {
		p.Component = c.function.Component()
	}
	return p
}

// pathIn returns where pod declares the component. A last good version may come
// from an older Spicepod.
func (c component) pathIn(pod *spicepod.Pod) string {
	if c.function != nil {
		for i := range pod.Functions {
			if sqltree.Fold(pod.Functions[i].Name) == sqltree.Fold(c.function.Name) {
				return fmt.Sprintf("functions[%d]", i)
			}
		}
		if path := pod.ToolPath(c.function.Name); path != "" {
			return path
		}
		return "functions"
	}
	for i := range pod.Views {
		if relationOf(pod.Views[i].Qualified()) == c.view.Relation {
			return fmt.Sprintf("views[%d]", i)
		}
	}
	return "views"
}

func asProblem(pod *spicepod.Pod, c component, err error) *spicepod.Problem {
	if err == nil {
		return nil
	}
	var p *spicepod.Problem
	if errors.As(err, &p) {
		return p
	}
	problem := c.problem(pod, err.Error(), "")
	return &problem
}

func relationOf(schema, name string) engine.Relation {
	if schema == "" {
		schema = engine.Public
	}
	return engine.Relation{Schema: schema, Name: name}
}
