package functions

import (
	"slices"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Set is the functions of one generation. It is immutable; nil is an empty set.
type Set struct {
	ordered  []*Function // callees before callers
	declared []*Function // those of the Spicepod, in its order
	tools    []*Function // those that call tools
	byName   map[string]*Function
}

// newSet makes a set of functions given callees first; index is the position of each
// function in the Spicepod, by folded name.
func newSet(ordered []*Function, index map[string]int) *Set {
	s := &Set{ordered: ordered, byName: make(map[string]*Function, len(ordered))}
	for _, f := range ordered {
		s.byName[fold(f.Name)] = f
		if f.tool != "" {
			s.tools = append(s.tools, f)
		} else {
			s.declared = append(s.declared, f)
		}
	}
	place := func(f *Function) int {
		if i, ok := index[fold(f.Name)]; ok {
			return i
		}
		return len(index) // it is no longer declared, and its last good version stays
	}
	for _, list := range [][]*Function{s.declared, s.tools} {
		slices.SortStableFunc(list, func(a, b *Function) int { return place(a) - place(b) })
	}
	return s
}

// All returns the functions, callees before callers.
func (s *Set) All() []*Function {
	if s == nil {
		return nil
	}
	return s.ordered
}

// Declared returns the functions of the Spicepod in its order, without [Set.Tools].
func (s *Set) Declared() []*Function {
	if s == nil {
		return nil
	}
	return s.declared
}

// Tools returns the functions that call tools, in the order of the Spicepod.
func (s *Set) Tools() []*Function {
	if s == nil {
		return nil
	}
	return s.tools
}

// Get returns the function of that name, in any case, or nil.
func (s *Set) Get(name string) *Function {
	if s == nil {
		return nil
	}
	return s.byName[fold(name)]
}

// Len is the number of functions of the Spicepod.
func (s *Set) Len() int { return len(s.Declared()) }

// Engine returns the functions as the guard sees them.
func (s *Set) Engine() []*engine.Function {
	list := make([]*engine.Function, 0, s.Len())
	for _, f := range s.All() {
		list = append(list, f.Engine)
	}
	return list
}

// Changed returns the functions that prev lacks or has with another body, signature or
// callee: those whose DDL must run. Callees come first.
func (s *Set) Changed(prev *Set) []*Function {
	var changed []*Function
	for _, f := range s.All() {
		if old := prev.Get(f.Name); old == nil || !sameDDL(old, f) {
			changed = append(changed, f)
		}
	}
	return changed
}

// Same reports whether f and old are created by the same statements.
func (f *Function) Same(old *Function) bool { return old != nil && sameDDL(old, f) }

func sameDDL(a, b *Function) bool {
	return a == b || a.Checksum == b.Checksum && a.Name == b.Name && a.Declared.Description == b.Declared.Description
}

// Removed returns the functions of prev that s does not have under that name.
func (s *Set) Removed(prev *Set) []*Function {
	var removed []*Function
	for _, f := range prev.All() {
		if now := s.Get(f.Name); now == nil || now.Name != f.Name {
			removed = append(removed, f)
		}
	}
	return removed
}

// Without returns the set without the functions of the given names and all their
// callers, and a problem for each such caller.
func (s *Set) Without(pod *spicepod.Pod, names ...string) (*Set, spicepod.Problems) {
	gone := make(map[string]bool, len(names))
	for _, n := range names {
		gone[fold(n)] = true
	}
	var problems spicepod.Problems
	rest := s.All()
	for before := -1; before != len(rest); { // a last good function may come before what it calls
		before = len(rest)
		rest, problems = s.withoutCallers(pod, rest, gone, problems)
	}
	index := make(map[string]int, s.Len())
	for i, f := range slices.Concat(s.Declared(), s.Tools()) {
		index[fold(f.Name)] = i
	}
	return newSet(rest, index), problems
}

// withoutCallers removes what is gone and its callers, which are then gone too.
func (s *Set) withoutCallers(pod *spicepod.Pod, list []*Function, gone map[string]bool,
	problems spicepod.Problems,
) ([]*Function, spicepod.Problems) {
	var rest []*Function
	for _, f := range list {
		missing := slices.IndexFunc(f.Uses.Functions, func(n string) bool { return gone[fold(n)] })
		switch {
		case gone[fold(f.Name)]:
		case missing >= 0:
			gone[fold(f.Name)] = true
			callee := f.Uses.Functions[missing]
			component := "function " + callee
			if g := s.Get(callee); g != nil {
				component = g.Component()
			}
			problems = append(problems, missingCallee(pod, f.Path, f.Name, component, f.body.callOffset(callee)))
		default:
			rest = append(rest, f)
		}
	}
	return rest, problems
}

// With returns the set with f in place of the function of the same name, or before all
// others if there is no such function.
func (s *Set) With(f *Function) *Set {
	swap := func(list []*Function) []*Function {
		list = slices.Clone(list)
		for i, g := range list {
			if fold(g.Name) == fold(f.Name) {
				list[i] = f
			}
		}
		return list
	}
	next := &Set{ordered: swap(s.All()), declared: swap(s.Declared()), byName: make(map[string]*Function, s.Len()+1)}
	if s.Get(f.Name) == nil {
		next.ordered = append([]*Function{f}, next.ordered...)
		next.declared = append(next.declared, f)
	}
	for _, g := range next.ordered {
		next.byName[fold(g.Name)] = g
	}
	return next
}
