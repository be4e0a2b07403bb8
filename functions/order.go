package functions

import (
	"runtime"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/spicepod"
)

func runtimeProcs() int { return runtime.GOMAXPROCS(0) }

// order groups the units so that callees come before callers: Tarjan's strongly
// connected components, which are found in that order. A group with several units is a
// dependency cycle.
func (c *compiler) order() [][]*unit {
	s := &circles{c: c}
	for _, u := range c.list {
		if u.number == 0 {
			s.visit(u)
		}
	}
	return s.groups
}

type circles struct {
	c      *compiler
	count  int
	stack  []*unit
	groups [][]*unit
}

func (s *circles) visit(u *unit) {
	s.count++
	u.number, u.low, u.onStack = s.count, s.count, true
	s.stack = append(s.stack, u)
	for _, name := range u.callees {
		v := s.c.units[name]
		switch {
		case v.number == 0:
			s.visit(v)
			u.low = min(u.low, v.low)
		case v.onStack:
			u.low = min(u.low, v.number)
		}
	}
	if u.low != u.number {
		return
	}
	at := slices.Index(s.stack, u)
	group := slices.Clone(s.stack[at:])
	s.stack = s.stack[:at]
	for _, v := range group {
		v.onStack = false
	}
	s.groups = append(s.groups, group)
}

// cycle reports that u, one of group, calls itself through others.
func (c *compiler) cycle(u *unit, group []*unit) {
	path := c.shortest(u, group)
	names := make([]string, len(path))
	for i, v := range path {
		names[i] = v.declared.Name
	}
	p := c.pod.TextProblem(u.path+".body", max(u.source().body.callOffset(path[1].key), 0),
		"dependency cycle: "+strings.Join(names, " → "),
		"a function cannot call itself, directly or through others; write WITH RECURSIVE inside one function")
	p.Component = "function " + u.declared.Name
	u.problems = append(u.problems, p)
}

// shortest is the shortest path from u back to u within group.
func (c *compiler) shortest(u *unit, group []*unit) []*unit {
	from := map[*unit]*unit{}
	queue := []*unit{u}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, name := range v.callees {
			w := c.units[name]
			if w == u {
				path := []*unit{u}
				for ; v != u; v = from[v] {
					path = append(path, v)
				}
				path = append(path, u)
				slices.Reverse(path)
				return path
			}
			if from[w] == nil && slices.Contains(group, w) {
				from[w] = v
				queue = append(queue, w)
			}
		}
	}
	return []*unit{u, u}
}

// missingCallee is the problem of a function that calls a missing one, the component callee.
func missingCallee(pod *spicepod.Pod, path, name, callee string, offset int) spicepod.Problem {
	p := pod.TextProblem(path+".body", max(offset, 0), "", "").Waits(callee, "calls")
	p.Component = "function " + name
	return p
}
