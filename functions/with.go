package functions

import "slices"

// With returns the set with f in place of the function of its name, in the
// same place of the order.
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
	next := &Set{ordered: swap(s.ordered), declared: swap(s.declared), byName: make(map[string]*Function, len(s.byName))}
	for _, g := range next.ordered {
		next.byName[fold(g.Name)] = g
	}
	return next
}
