package semantic

import (
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// step is a join on the way from a model to a dimension.
type step struct {
	join *join
	to   *Model
}

// field is a dimension as a model reaches it: by joins, or by none.
type field struct {
	steps     []step
	dimension *Dimension
	grain     spicepod.Grain // that a query names; "": none
	time      bool           // it is metric_time
}

// name is the whole name: customer__country__continent.
func (f *field) name() string { return f.prefix(len(f.steps)) + f.dimension.Declared.Name }

// prefix names the first n joins: customer__.
func (f *field) prefix(n int) string {
	var b strings.Builder
	for _, s := range f.steps[:n] {
		b.WriteString(s.join.name + separator)
	}
	return b.String()
}

// separator is between joins, dimensions and grains in a name, as in dbt's.
const separator = "__"

// answers reports whether a folded name means the field: its whole name, or the end of it after a
// separator.
func (f *field) answers(name string) bool {
	whole := sqltree.Fold(f.name())
	return whole == name || strings.HasSuffix(whole, separator+name)
}

// shortest returns the shortest name that means f and no other of all.
func (f *field) shortest(all []*field) string {
	parts := strings.Split(f.name(), separator)
	for i := len(parts) - 1; i > 0; i-- {
		name := strings.Join(parts[i:], separator)
		if found := named(all, sqltree.Fold(name)); len(found) == 1 && found[0] == f {
			return name
		}
	}
	return f.name()
}

// named returns the fields that a folded name means: the nearest of those that it is the end of.
// all has the nearest first.
func named(all []*field, name string) (found []*field) {
	for _, f := range all {
		if f.answers(name) && (len(found) == 0 || len(f.steps) == len(found[0].steps)) {
			found = append(found, f)
		}
	}
	return found
}

// reachable returns the dimensions of a model and of those that its joins lead to, nearest first.
// A way takes each join once, so that it ends where tables refer to themselves.
func (l *Layer) reachable(m *Model, visible Visible) (all []*field) {
	type place struct {
		model *Model
		steps []step
	}
	for queue := []place{{model: m}}; len(queue) > 0 && len(all) < MaxReachable; queue = queue[1:] {
		at := queue[0]
		for _, d := range at.model.dimensions {
			if visible.functions(d.calls) {
				all = append(all, &field{steps: at.steps, dimension: d})
			}
		}
		if len(at.steps) == MaxHops {
			continue
		}
		for _, j := range at.model.joins {
			to := l.models[j.to]
			taken := slices.ContainsFunc(at.steps, func(s step) bool { return s.join == j })
			if to != nil && !taken && visible.relation(to.Relation) {
				queue = append(queue, place{to, append(slices.Clip(at.steps), step{j, to})})
			}
		}
	}
	return all
}

// resolve returns the dimension that a name means for rows of a model, without a grain.
func (l *Layer) resolve(m *Model, name string, visible Visible) (*field, *engine.Error) {
	all := l.reachable(m, visible)
	found := named(all, sqltree.Fold(name))
	if len(found) == 1 {
		return found[0], nil
	}
	var names []string
	for _, f := range found {
		names = append(names, f.name())
	}
	if len(found) > 1 {
		return nil, invalid("write one of "+lists(names), "dimension %q of semantic model %s is ambiguous", name,
			m.Declared.Name)
	}
	for _, f := range all {
		names = append(names, f.shortest(all))
	}
	hint := "it has no dimensions"
	if len(names) > 0 {
		hint = "it has " + lists(names)
	}
	return nil, notFound(nearest.Hint(name, names, hint), "semantic model %s has no dimension %q", m.Declared.Name, name)
}

// resolveFor returns what a name in a query means for a simple metric: a dimension with or without
// a grain, or metric_time.
func (l *Layer) resolveFor(m *Metric, name string, visible Visible) (*field, *engine.Error) {
	model := l.model(m.Declared.SemanticModel)
	whole, grain := name, spicepod.Grain("")
	if i := strings.LastIndex(name, separator); i > 0 {
		if g := spicepod.Grain(sqltree.Fold(name[i+len(separator):])); slices.Contains(spicepod.Grains, g) {
			name, grain = name[:i], g
		}
	}
	var f *field
	if sqltree.Fold(name) == spicepod.MetricTime {
		d := l.timeOf(m)
		if d == nil {
			return nil, invalid(
				"set time of the metric or of semantic model "+model.Declared.Name+" to one of its time dimensions",
				"metric %q has no %s", m.Declared.Name, spicepod.MetricTime)
		}
		f = &field{dimension: d, time: true}
	} else {
		found, err := l.resolve(model, name, visible)
		if err != nil && grain != "" && err.Code == errcode.NotFound {
			if whole, wholeErr := l.resolve(model, whole, visible); wholeErr == nil { // a dimension has the name of a grain
				return whole, nil
			}
		}
		if err != nil {
			return nil, err
		}
		copied := *found
		f = &copied
	}
	f.grain = grain
	return f, f.checkGrain(whole)
}

// checkGrain refuses a grain that the dimension does not have.
func (f *field) checkGrain(name string) *engine.Error {
	d := f.dimension
	switch {
	case f.grain == "":
	case !d.Time():
		return invalid("leave out "+separator+string(f.grain)+", or declare the dimension with type: time",
			"%q asks for a grain, and dimension %q is not of type time", name, d.Declared.Name)
	case f.grain.Finer(d.grain()):
		return invalid("its grains are "+strings.Join(grainsOf(d), ", "), "%q asks for a finer grain than dimension %q has",
			name, d.Declared.Name)
	}
	return nil
}

// same reports whether two fields of two models are one dimension: groups by them are put together.
func (f *field) same(o *field) bool {
	if f.time && o.time {
		return f.grain == o.grain
	}
	return f.dimension == o.dimension && f.grain == o.grain && f.time == o.time
}

func invalid(hint, format string, args ...any) *engine.Error {
	return engine.NewError(errcode.Argument, hint, format, args...)
}

func notFound(hint, format string, args ...any) *engine.Error {
	return engine.NewError(errcode.NotFound, hint, format, args...)
}
