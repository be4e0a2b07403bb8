package semantic

import (
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// Layer is the metrics of one generation. It is immutable; nil is an empty one.
type Layer struct {
	models   map[string]*Model // by folded name
	metrics  map[string]*Metric
	order    []*Metric
	unserved map[string]func() *engine.Error // declared metrics that are not served, by folded name
}

// Model is a compiled entry of `semantic_models:`.
type Model struct {
	Declared spicepod.SemanticModel
	Relation engine.Relation

	path       string // in the Spicepod
	hash       string
	dimensions []*Dimension
	joins      []*join
}

// Dimension is a compiled dimension of a model.
type Dimension struct {
	Declared spicepod.Dimension
	SQL      string // over the columns of the table
	Type     string // DuckDB's
	model    *Model
	calls    []string // declared functions
}

// Time reports whether queries group by a grain of the dimension.
func (d *Dimension) Time() bool { return d.Declared.Type == spicepod.TimeDimension }

// grain is the finest grain.
func (d *Dimension) grain() spicepod.Grain {
	if d.Declared.Grain == "" {
		return "day"
	}
	return d.Declared.Grain
}

// join is a compiled join to a model with at most one row for each row.
type join struct {
	name     string
	to       string // folded
	from, on []string
}

// Kind says how a metric is computed.
type Kind string

// Kinds of metrics, by MetricFlow's names.
const (
	Simple  Kind = "simple"
	Ratio   Kind = "ratio"
	Derived Kind = "derived"
)

// Metric is a compiled entry of `metrics:`.
type Metric struct {
	Declared spicepod.Metric
	Kind     Kind
	Type     string // DuckDB's
	Tests    int    // that it has passed

	path   string
	hash   string
	calls  []string // declared functions
	filter clause   // of a simple one
	inputs []string // of others: names of metrics, folded
}

// Metrics returns the metrics that are served, in the order of the Spicepod.
func (l *Layer) Metrics() []*Metric {
	if l == nil {
		return nil
	}
	return l.order
}

func (l *Layer) metric(name string) *Metric {
	if l == nil {
		return nil
	}
	return l.metrics[sqltree.Fold(name)]
}

func (l *Layer) model(name string) *Model {
	if l == nil {
		return nil
	}
	return l.models[sqltree.Fold(name)]
}

// Visible is what a caller may name. The zero value is everything, which the runtime itself may.
type Visible struct {
	Relation func(engine.Relation) bool
	Function func(name string) bool
}

// Everything is visible to the runtime itself.
var Everything Visible

func (v Visible) relation(r engine.Relation) bool { return v.Relation == nil || v.Relation(r) }

func (v Visible) functions(names []string) bool {
	return v.Function == nil || !slices.ContainsFunc(names, func(name string) bool { return !v.Function(name) })
}

// all returns m and the metrics that it is computed of, each once.
func (l *Layer) all(m *Metric) (list []*Metric) {
	var add func(m *Metric)
	add = func(m *Metric) {
		if m == nil || slices.Contains(list, m) {
			return
		}
		list = append(list, m)
		for _, input := range m.inputs {
			add(l.metrics[input])
		}
	}
	add(m)
	return list
}

// simple returns the simple metrics that m is computed of, each once.
func (l *Layer) simple(m *Metric) []*Metric {
	return slices.DeleteFunc(l.all(m), func(m *Metric) bool { return m.Kind != Simple })
}

// Relations returns the relations that every query of m reads: those of its models, and those of
// the joins that its filters need.
func (l *Layer) Relations(m *Metric) []engine.Relation {
	relations, _ := l.uses(m)
	return relations
}

// uses returns the relations that every query of m reads, and the declared functions that it calls.
func (l *Layer) uses(m *Metric) (relations []engine.Relation, functions []string) {
	add := func(r engine.Relation) {
		if !slices.Contains(relations, r) {
			relations = append(relations, r)
		}
	}
	for _, part := range l.all(m) {
		functions = append(functions, part.calls...)
		if part.Kind != Simple {
			continue
		}
		add(l.model(part.Declared.SemanticModel).Relation)
		for _, f := range l.filterFields(part) {
			if f == nil {
				continue
			}
			functions = append(functions, f.dimension.calls...)
			for _, step := range f.steps {
				add(step.to.Relation)
			}
		}
	}
	return relations, functions
}

// Shows reports whether a caller may query m.
func (l *Layer) Shows(m *Metric, visible Visible) bool {
	relations, functions := l.uses(m)
	return visible.functions(functions) &&
		!slices.ContainsFunc(relations, func(r engine.Relation) bool { return !visible.relation(r) })
}

// visible returns the names of the metrics that a caller may query.
func (l *Layer) visible(v Visible) (names []string) {
	for _, m := range l.Metrics() {
		if l.Shows(m, v) {
			names = append(names, m.Declared.Name)
		}
	}
	return names
}

// Field is a dimension by which a metric may be grouped and filtered.
type Field struct {
	Name        string // the shortest that means it
	Type        string // DuckDB's
	Grains      []string
	Description string
	Synonyms    []string
}

// Fields returns the dimensions by which all of m can be grouped and filtered: of a metric that is
// made of several models, those that mean the same dimension in each.
func (l *Layer) Fields(m *Metric, visible Visible) (list []Field) {
	simple := l.simple(m)
	if len(simple) == 0 {
		return nil
	}
	first := l.model(simple[0].Declared.SemanticModel)
	all := l.reachable(first, visible)
	for _, f := range all {
		name := f.shortest(all)
		shared := !slices.ContainsFunc(simple[1:], func(s *Metric) bool {
			other, err := l.resolve(l.model(s.Declared.SemanticModel), name, visible)
			return err != nil || other.dimension != f.dimension
		})
		if !shared {
			continue
		}
		d := f.dimension.Declared
		field := Field{Name: name, Type: f.dimension.Type, Description: d.Description, Synonyms: d.Synonyms}
		if f.dimension.Time() {
			field.Grains = grainsOf(f.dimension)
		}
		list = append(list, field)
	}
	for _, s := range simple {
		if l.timeOf(s) == nil {
			return list
		}
	}
	return append(list, Field{
		Name: spicepod.MetricTime, Type: "DATE", Grains: l.commonGrains(simple), Description: "The time of the metric.",
	})
}

// commonGrains returns the grains of metric_time that all of the metrics have.
func (l *Layer) commonGrains(simple []*Metric) (grains []string) {
	for _, g := range spicepod.Grains {
		if !slices.ContainsFunc(simple, func(m *Metric) bool { return g.Finer(l.timeOf(m).grain()) }) {
			grains = append(grains, string(g))
		}
	}
	return grains
}

func grainsOf(d *Dimension) (grains []string) {
	for _, g := range spicepod.Grains {
		if !g.Finer(d.grain()) {
			grains = append(grains, string(g))
		}
	}
	return grains
}

// timeOf returns the dimension that metric_time means for a simple metric, or nil.
func (l *Layer) timeOf(m *Metric) *Dimension {
	model := l.model(m.Declared.SemanticModel)
	name := m.Declared.Time
	if name == "" {
		name = model.Declared.Time
	}
	var times []*Dimension
	for _, d := range model.dimensions {
		if d.Time() && (name == "" || sqltree.Fold(d.Declared.Name) == sqltree.Fold(name)) {
			times = append(times, d)
		}
	}
	if len(times) != 1 {
		return nil
	}
	return times[0]
}

// noMetric returns the error of a name of a metric that is not served to the caller.
func (l *Layer) noMetric(name string, visible Visible) *engine.Error {
	if l != nil && l.metric(name) == nil {
		if unserved := l.unserved[sqltree.Fold(name)]; unserved != nil {
			return unserved()
		}
	}
	known := l.visible(visible)
	hint := "spiced.metrics lists the metrics"
	if len(known) == 0 {
		hint = "declare metrics under metrics:"
	}
	return notFound(nearest.Hint(name, known, hint), "there is no metric %q", name)
}

// lists joins names for a message.
func lists(names []string) string {
	const most = 12
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// Definition is how the metric is computed, for people.
func (m *Metric) Definition() string {
	switch m.Kind {
	case Ratio:
		return m.Declared.Numerator + " / " + m.Declared.Denominator
	case Derived:
		return m.Declared.Expr
	}
	return m.Declared.Measure
}
