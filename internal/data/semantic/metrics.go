package semantic

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

func (m *Metric) component() string { return "metric " + m.Declared.Name }

// declaration returns the index of the metric that a name means, or -1.
func (b *builder) declaration(name string) int {
	return slices.IndexFunc(b.Pod.Metrics, func(m spicepod.Metric) bool {
		return sqltree.Fold(m.Name) == sqltree.Fold(name)
	})
}

// buildMetrics compiles the metrics, each after those that it is made of.
func (b *builder) buildMetrics(ctx context.Context) error {
	done := map[int]bool{}
	var path []int
	var visit func(i int) error
	visit = func(i int) error {
		if done[i] {
			return nil
		}
		path = append(path, i)
		for _, name := range inputsOf(&b.Pod.Metrics[i]) {
			next := b.declaration(name)
			if next < 0 || slices.Contains(path, next) { // an unknown one, or a cycle: see input
				continue
			}
			if err := visit(next); err != nil {
				return err
			}
		}
		path = path[:len(path)-1]
		done[i] = true
		return b.buildMetric(ctx, i)
	}
	for i := range b.Pod.Metrics {
		if err := visit(i); err != nil {
			return err
		}
	}
	slices.SortFunc(b.Layer.order, func(x, y *Metric) int { return index(x.path) - index(y.path) })
	return nil
}

// inputsOf returns the names of the metrics that a metric names as its inputs. Those of an
// expression are found without a parser: each word of it may be one.
func inputsOf(m *spicepod.Metric) (names []string) {
	if m.Numerator != "" {
		names = append(names, m.Numerator, m.Denominator)
	}
	for _, t := range sqltree.Scan(m.Expr) {
		if t.IsName() {
			names = append(names, t.Name(m.Expr))
		}
	}
	return names
}

// buildMetric adds a metric to the layer, or its last good version.
func (b *builder) buildMetric(ctx context.Context, i int) error {
	decl := b.Pod.Metrics[i]
	name := sqltree.Fold(decl.Name)
	m := &Metric{Declared: decl, path: fmt.Sprintf("metrics[%d]", i), hash: spicepod.Fingerprint(decl)}
	last := b.Old.metric(decl.Name)
	f := b.compile(m)
	if f == nil && b.loading[name] == nil {
		b.add(m)
		passed, err := b.test(ctx, m, last)
		if err != nil || passed {
			return err
		}
		b.remove(m)
	}
	if f != nil {
		b.problem(f, m.path, m.component())
	}
	if last != nil && last.hash != m.hash {
		old := *last
		old.path = m.path
		if b.compile(&old) == nil && b.loading[name] == nil {
			b.add(&old)
			return nil
		}
	}
	if waits := b.loading[name]; waits != nil {
		b.Layer.unserved[name] = func() *engine.Error {
			found := waits()
			if found == nil { // it has just been loaded
				return engine.NewError(errcode.Loading, "try again in a moment", "metric %q is being loaded", decl.Name)
			}
			e := *found
			e.Message = fmt.Sprintf("metric %q waits: %s", decl.Name, e.Message)
			return &e
		}
		return nil
	}
	b.Layer.unserved[name] = func() *engine.Error {
		return notFound("spiced.load_errors has the fault", "metric %q has a fault and is not served", decl.Name)
	}
	return nil
}

func (b *builder) add(m *Metric) {
	b.Layer.metrics[sqltree.Fold(m.Declared.Name)] = m
	b.Layer.order = append(b.Layer.order, m)
}

func (b *builder) remove(m *Metric) {
	delete(b.Layer.metrics, sqltree.Fold(m.Declared.Name))
	b.Layer.order = b.Layer.order[:len(b.Layer.order)-1]
}

// compile checks a metric against the layer. Without a fault, it may wait for data: see loading.
func (b *builder) compile(m *Metric) *fault.Fault {
	if f := b.nameTaken(m); f != nil {
		return f
	}
	switch {
	case m.Declared.Measure != "":
		m.Kind = Simple
		return b.simple(m)
	case m.Declared.Numerator != "":
		m.Kind = Ratio
		return b.ratio(m)
	}
	m.Kind = Derived
	return b.derived(m)
}

// nameTaken refuses a metric with the name of a dimension: both would be columns of a result.
func (b *builder) nameTaken(m *Metric) *fault.Fault {
	for _, model := range b.Layer.models {
		for _, d := range model.dimensions {
			if sqltree.Fold(d.Declared.Name) == sqltree.Fold(m.Declared.Name) {
				return fault.New("name", "rename one of them", "semantic model %s has a dimension %q", model.Declared.Name,
					d.Declared.Name)
			}
		}
	}
	return nil
}

// simple compiles an aggregate of rows.
func (b *builder) simple(m *Metric) *fault.Fault {
	model := b.Layer.model(m.Declared.SemanticModel)
	if model == nil {
		if e := b.loading[sqltree.Fold(m.Declared.SemanticModel)]; e != nil {
			b.loading[sqltree.Fold(m.Declared.Name)] = e
			return nil
		}
		var names []string
		for _, o := range b.Pod.SemanticModels {
			names = append(names, o.Name)
			if sqltree.Fold(o.Name) == sqltree.Fold(m.Declared.SemanticModel) {
				return fault.New("semantic_model", "fix that first", "it waits for semantic model %s", o.Name)
			}
		}
		return fault.New("semantic_model", nearest.Hint(m.Declared.SemanticModel, names, "declare it under semantic_models:"),
			"there is no semantic model %q", m.Declared.SemanticModel)
	}
	table := engine.Qualified(model.Relation.Schema, model.Relation.Name) + " AS " + engine.Identifier(model.Relation.Name)
	var f *fault.Fault
	m.Type, m.calls, f = b.expression(m.Declared.Measure, " FROM "+table+" GROUP BY ()", "measure", true)
	if f != nil {
		return f
	}
	if fill := m.Declared.FillNullsWith; fill != nil && !numeric(m.Type) {
		return fault.New("fill_nulls_with", "leave it out", "the measure is of type %s, not a number", m.Type)
	}
	before := len(b.Problems)
	if b.checkTime(m.Declared.Time, "time", model, m.path, m.component()); len(b.Problems) > before {
		b.Problems = b.Problems[:before]
		return fault.New("time", "declare it in the model, under dimensions: with type: time",
			"semantic model %s has no time dimension %q", model.Declared.Name, m.Declared.Time)
	}
	if f := b.filter(m, model); f != nil {
		return f
	}
	if f := b.condition(m); f != nil {
		return f
	}
	return b.probe(m)
}

// filter compiles the filter of a simple metric.
func (b *builder) filter(m *Metric, model *Model) *fault.Fault {
	if m.Declared.Filter == "" {
		return nil
	}
	c, st, err := parseClause(m.Declared.Filter, b.parse)
	switch {
	case err != nil:
		return fault.At("filter", err.Offset, err.Hint, "%s", err.Message)
	case len(st.Params) > 0:
		return fault.New("filter", "write the value", "it takes no parameters")
	case slices.ContainsFunc(st.Calls, func(c sqltree.Call) bool { return b.DB.Builtins().Aggregate(c.Name) }):
		return fault.New("filter", "filter the result: SELECT … FROM metric(…) WHERE …", "it aggregates rows")
	}
	columns, _ := b.Tx.Describe("SELECT * FROM " + engine.Qualified(model.Relation.Schema, model.Relation.Name))
	for _, col := range c.columns {
		if col.name == "" || slices.ContainsFunc(columns, func(h engine.Column) bool {
			return sqltree.Fold(h.Name) == sqltree.Fold(col.name)
		}) {
			continue
		}
		if _, e := b.Layer.resolveFor(m, col.name, Everything); e != nil {
			return fault.At("filter", col.span.Start, e.Hint, "%s", e.Message)
		}
	}
	m.filter, m.calls = c, append(m.calls, b.calls(st)...)
	return nil
}

// condition refuses a filter that is no condition, which DuckDB would cast to one.
func (b *builder) condition(m *Metric) *fault.Fault {
	if m.filter.text == "" {
		return nil
	}
	g := &group{model: b.Layer.model(m.Declared.SemanticModel), metrics: []*Metric{m}, filter: b.Layer.filterFields(m)}
	from, _ := g.rows()
	columns, _, err := b.bound("SELECT " + g.condition(m.filter, g.filter) + " FROM " + from)
	switch {
	case err != nil:
		e := engine.AsError(err)
		return fault.New("filter", e.Hint, "%s", fault.FirstLines(e.Message))
	case columns[0].Type.String() != "BOOLEAN":
		return fault.New("filter", "write a condition, such as "+m.filter.text+" > 0", "it is of type %s, not a condition",
			columns[0].Type)
	}
	return nil
}

// probe binds the whole query of a metric, without dimensions.
func (b *builder) probe(m *Metric) *fault.Fault {
	layer := *b.Layer
	layer.metrics = map[string]*Metric{sqltree.Fold(m.Declared.Name): m}
	for name, o := range b.Layer.metrics {
		if name != sqltree.Fold(m.Declared.Name) {
			layer.metrics[name] = o
		}
	}
	layer.order = append(slices.Clone(b.Layer.order), m)
	sql, err := layer.SQL(Query{Metrics: []string{m.Declared.Name}, Limit: -1}, b.parse, Everything)
	if err == nil {
		var columns []engine.Column
		if columns, _, err = b.bound(sql); err == nil {
			m.Type = columns[0].Type.String()
			return nil
		}
	}
	e := engine.AsError(err)
	key := map[Kind]string{Simple: "measure", Ratio: "numerator", Derived: "expr"}[m.Kind]
	return fault.New(key, e.Hint, "%s", fault.FirstLines(e.Message))
}

// input returns the fault of a metric that m names as an input, or nil.
func (b *builder) input(m *Metric, name, key string, offset int) *fault.Fault {
	m.inputs = append(m.inputs, sqltree.Fold(name))
	if b.Layer.metric(name) != nil {
		return nil
	}
	at := func(hint, format string, args ...any) *fault.Fault {
		if f := fault.New(key, hint, format, args...); offset < 0 {
			return f
		}
		return fault.At(key, offset, hint, format, args...)
	}
	if e := b.loading[sqltree.Fold(name)]; e != nil {
		b.loading[sqltree.Fold(m.Declared.Name)] = e
		return nil
	}
	if cycle := b.cycle(m.Declared.Name, name); cycle != nil {
		return at("make one of them of other metrics", "dependency cycle: %s", strings.Join(cycle, " → "))
	}
	if b.declaration(name) >= 0 {
		return at("fix that first", "it waits for metric %s", name)
	}
	var names []string
	for _, o := range b.Pod.Metrics {
		names = append(names, o.Name)
	}
	return at(nearest.Hint(name, names, "declare it under metrics:"), "there is no metric %q", name)
}

// cycle returns the metrics on the way from one to itself by an input of it, or nil.
func (b *builder) cycle(from, by string) []string {
	seen := map[int]bool{}
	var find func(name string) []string
	find = func(name string) []string {
		if sqltree.Fold(name) == sqltree.Fold(from) {
			return []string{from}
		}
		i := b.declaration(name)
		if i < 0 || seen[i] {
			return nil
		}
		seen[i] = true
		for _, next := range inputsOf(&b.Pod.Metrics[i]) {
			if rest := find(next); rest != nil {
				return append([]string{b.Pod.Metrics[i].Name}, rest...)
			}
		}
		return nil
	}
	if rest := find(by); rest != nil {
		return append([]string{from}, rest...)
	}
	return nil
}

// ratio compiles a metric that is one divided by another.
func (b *builder) ratio(m *Metric) *fault.Fault {
	m.inputs = nil
	for _, in := range [][2]string{{m.Declared.Numerator, "numerator"}, {m.Declared.Denominator, "denominator"}} {
		if f := b.input(m, in[0], in[1], -1); f != nil {
			return f
		}
		if o := b.Layer.metric(in[0]); o != nil && !numeric(o.Type) {
			return fault.New(in[1], "divide numbers", "metric %q is of type %s, not a number", o.Declared.Name, o.Type)
		}
	}
	if b.loading[sqltree.Fold(m.Declared.Name)] != nil {
		return nil
	}
	return b.probe(m)
}

// numeric reports whether DuckDB's type is a number.
func numeric(typ string) bool {
	switch typ, _, _ := strings.Cut(typ, "("); typ {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
		"FLOAT", "DOUBLE", "DECIMAL":
		return true
	}
	return false
}

// derived compiles an expression over other metrics.
func (b *builder) derived(m *Metric) *fault.Fault {
	m.inputs = nil
	c, st, err := parseClause(m.Declared.Expr, b.parse)
	switch {
	case err != nil:
		return fault.At("expr", err.Offset, err.Hint, "%s", err.Message)
	case len(st.Params) > 0:
		return fault.New("expr", "write the value", "it takes no parameters")
	case slices.ContainsFunc(st.Calls, func(c sqltree.Call) bool { return b.DB.Builtins().Aggregate(c.Name) }):
		return fault.New("expr", "declare a metric with it as measure, and name that here", "it aggregates rows")
	case len(c.columns) == 0:
		return fault.New("expr", "such as revenue - cost", "it names no metric")
	}
	m.calls = b.calls(st)
	for _, col := range c.columns {
		if col.name == "" {
			return fault.At("expr", col.span.Start, "name a metric", "there is no metric %q", strings.Join(col.parts, "."))
		}
		if slices.Contains(m.inputs, sqltree.Fold(col.name)) {
			continue
		}
		if f := b.input(m, col.name, "expr", col.span.Start); f != nil {
			return f
		}
	}
	if b.loading[sqltree.Fold(m.Declared.Name)] != nil {
		return nil
	}
	return b.probe(m)
}
