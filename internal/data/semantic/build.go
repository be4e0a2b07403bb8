package semantic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// Request is what a layer is built of.
type Request struct {
	DB    *engine.DB
	Tx    *engine.Tx // in which the tables exist
	Pod   *spicepod.Pod
	Names engine.Names
	Old   *Layer // whose metrics serve in place of those with a fault
	// Missing returns the component of a relation that is declared and not served, or "".
	Missing func(engine.Relation) string
	// Waiting returns the error of a relation that is loading, or nil.
	Waiting func(engine.Relation) *engine.Error
	// Again says whether metrics of these relations are tested although they were before.
	Again   func(engine.Relation) bool
	Failed  map[string]bool // metrics whose tests ended the transaction of an earlier attempt, by hash
	Timeout time.Duration   // of a test
}

// Result is a layer with what was found while it was built.
type Result struct {
	Layer    *Layer
	Problems spicepod.Problems
	Tests    []TestResult
}

// builder builds one layer.
type builder struct {
	Request
	Result
	// loading has the models and metrics that wait for data, by folded name, with the error of now.
	loading map[string]func() *engine.Error
}

// ErrAborted says that a test ended the transaction: the metric is in [Request.Failed] now, and
// the layer must be built again in another one.
var ErrAborted = errors.New("a test of a metric ended the transaction")

// Build checks the declarations. What has a fault is a problem, and its last good version serves,
// if that still fits the tables; or nothing does. The error ends the transaction.
func Build(ctx context.Context, r Request) (Result, error) {
	b := &builder{Request: r, loading: map[string]func() *engine.Error{}}
	b.Layer = &Layer{
		models: map[string]*Model{}, metrics: map[string]*Metric{}, unserved: map[string]func() *engine.Error{},
	}
	b.buildModels()
	err := b.buildMetrics(ctx)
	return b.Result, err
}

// problem reports a fault of a component.
func (b *builder) problem(f *fault.Fault, path, component string) {
	b.Problems = append(b.Problems, f.Problem(b.Pod, path, component))
}

// relation returns the relation that a declaration names, with the reason why it is not served.
func (b *builder) relation(schema, name, path, component string) (r engine.Relation, served bool) {
	if schema == "" {
		schema = engine.Public
	}
	r, known := b.Names.Relation("", schema, name)
	if known {
		return r, true
	}
	r = engine.Relation{Schema: schema, Name: name}
	if b.Waiting(r) != nil {
		return r, false
	}
	if missing := b.Missing(r); missing != "" {
		b.Problems = append(b.Problems, b.Pod.KeyProblem(path+".name", "", "").Waits(missing, "reads"))
		b.Problems[len(b.Problems)-1].Component = component
		return r, false
	}
	f := fault.New("from", nearest.Hint(name, b.Names.RelationNames(), "declare it under datasets: or views:"),
		"there is no dataset or view %q", name)
	if b.Pod.SemanticModels[index(path)].From == "" {
		f.Path = "name"
	}
	b.problem(f, path, component)
	return r, false
}

// index returns the index of a path such as semantic_models[3].
func index(path string) (i int) {
	_, _ = fmt.Sscanf(path[strings.IndexByte(path, '[')+1:], "%d", &i)
	return i
}

func (b *builder) buildModels() {
	for i := range b.Pod.SemanticModels {
		decl := b.Pod.SemanticModels[i]
		m := &Model{Declared: decl, path: fmt.Sprintf("semantic_models[%d]", i), hash: spicepod.Fingerprint(decl)}
		before := len(b.Problems)
		schema, name := decl.Relation()
		var served bool
		if m.Relation, served = b.relation(schema, name, m.path, m.component()); !served {
			if waiting, r := b.Waiting, m.Relation; waiting(r) != nil {
				b.loading[sqltree.Fold(decl.Name)] = func() *engine.Error { return waiting(r) }
			}
			continue
		}
		b.columns(m)
		last := b.Old.model(decl.Name)
		if len(b.Problems) > before && last != nil && last.hash != m.hash && b.fits(last) {
			m = last
		}
		b.Layer.models[sqltree.Fold(decl.Name)] = m
	}
	for i := range b.Pod.SemanticModels {
		if m := b.Layer.model(b.Pod.SemanticModels[i].Name); m != nil && m.Declared.Name != "" {
			b.link(m)
		}
	}
}

func (m *Model) component() string { return "semantic model " + m.Declared.Name }

// fits reports whether a model of an older Spicepod still fits its table.
func (b *builder) fits(last *Model) bool {
	probe := &builder{Request: b.Request}
	copied := *last
	copied.dimensions = nil
	probe.columns(&copied)
	return len(probe.Problems) == 0
}

// columns checks what a model says about the columns of its table, and compiles its dimensions.
// Those with a fault are left out.
func (b *builder) columns(m *Model) {
	table := engine.Qualified(m.Relation.Schema, m.Relation.Name)
	found, err := b.Tx.Describe("SELECT * FROM " + table)
	if err != nil {
		b.problem(fault.FromDuckDB(err), m.path, m.component())
		return
	}
	var have []string
	for _, c := range found {
		have = append(have, c.Name)
	}
	check := func(path string, names spicepod.Names) {
		for i, name := range names {
			if !slices.ContainsFunc(have, func(h string) bool { return sqltree.Fold(h) == sqltree.Fold(name) }) {
				b.problem(fault.NoColumn(fmt.Sprintf("%s[%d]", path, i), name, have), m.path, m.component())
			}
		}
	}
	check("primary_key", m.Declared.PrimaryKey)
	for i, key := range m.Declared.UniqueKeys {
		check(fmt.Sprintf("unique_keys[%d]", i), key)
	}
	for i, j := range m.Declared.Joins {
		check(fmt.Sprintf("joins[%d].from_columns", i), j.FromColumns)
	}
	for i, decl := range m.Declared.Dimensions {
		path := fmt.Sprintf("dimensions[%d]", i)
		d := &Dimension{Declared: decl, SQL: decl.SQL, model: m}
		at := path + ".sql"
		if d.SQL == "" {
			d.SQL, at = engine.Identifier(decl.Name), path+".name"
			if !slices.ContainsFunc(have, func(h string) bool { return sqltree.Fold(h) == sqltree.Fold(decl.Name) }) {
				b.problem(fault.NoColumn(at, decl.Name, have), m.path, m.component())
				continue
			}
		}
		var f *fault.Fault
		if d.Type, d.calls, f = b.expression(d.SQL, " FROM "+table, at, false); f == nil {
			f = d.check(path)
		}
		if f != nil {
			b.problem(f, m.path, m.component())
			continue
		}
		m.dimensions = append(m.dimensions, d)
	}
	b.checkTime(m.Declared.Time, "time", m, m.path, m.component())
}

// check refuses a time dimension that has no time.
func (d *Dimension) check(path string) *fault.Fault {
	switch {
	case !d.Time():
	case d.Type == "DATE":
		if d.grain().Finer("day") {
			return fault.New(path+".grain", "the finest grain of a date is day", "dimension %q is a DATE, which has no %s",
				d.Declared.Name, d.grain())
		}
	case !strings.HasPrefix(d.Type, "TIMESTAMP"):
		return fault.New(path+".type", "cast it in sql, such as CAST("+d.Declared.Name+" AS DATE), or leave type out",
			"time dimension %q is of type %s, not DATE or TIMESTAMP", d.Declared.Name, d.Type)
	}
	return nil
}

// checkTime refuses a name of a time dimension that a model does not have.
func (b *builder) checkTime(name, key string, m *Model, path, component string) {
	var times []string
	for _, d := range m.dimensions {
		if d.Time() {
			times = append(times, d.Declared.Name)
		}
	}
	if name == "" || slices.ContainsFunc(times, func(t string) bool { return sqltree.Fold(t) == sqltree.Fold(name) }) {
		return
	}
	b.problem(fault.New(key, nearest.Hint(name, times, "declare it under dimensions: with type: time"),
		"there is no time dimension %q", name), path, component)
}

// expression checks an expression over what follows it in a SELECT, and returns its type and the
// declared functions that it calls.
func (b *builder) expression(text, rest, path string, aggregates bool) (string, []string, *fault.Fault) {
	c, st, err := parseClause(text, b.parse)
	switch {
	case err != nil:
		return "", nil, fault.At(path, err.Offset, err.Hint, "%s", err.Message)
	case len(st.Params) > 0:
		return "", nil, fault.New(path, "write the value", "it takes no parameters")
	}
	aggregate := slices.ContainsFunc(st.Calls, func(c sqltree.Call) bool { return b.DB.Builtins().Aggregate(c.Name) })
	switch {
	case aggregates && !aggregate:
		return "", nil, fault.New(path, "such as sum("+text+")", "it aggregates nothing")
	case !aggregates && aggregate:
		return "", nil, fault.New(path, "declare it as the measure of a metric", "it aggregates rows")
	}
	typ, f := b.describe(clauseStart, c.text, "\n"+rest, path)
	return typ, b.calls(st), f
}

// calls returns the declared functions that a text calls.
func (b *builder) calls(st *sqltree.Statement) (names []string) {
	for _, c := range st.Calls {
		if f := b.Names.Function(c.Name); f != nil && !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

func (b *builder) parse(text string) (*sqltree.Statement, error) { return b.Tx.Parse(text, b.Names) }

// describe returns the type of the first column of a SELECT that has text after start. Errors are
// about the text at path.
func (b *builder) describe(start, text, rest, path string) (string, *fault.Fault) {
	sql := start + text + rest
	columns, back, err := b.bound(sql)
	if err != nil {
		e := engine.AsError(err)
		f := fault.New(path, e.Hint, "%s", fault.FirstLines(e.Message))
		if e.Offset >= 0 {
			if at := back(e.Offset) - len(start); at >= 0 && at <= len(text) {
				f.Offset = at
			}
		}
		return "", f
	}
	return columns[0].Type.String(), nil
}

// bound judges an internal SELECT as a body and returns its columns.
func (b *builder) bound(sql string) ([]engine.Column, func(int) int, error) {
	same := func(offset int) int { return offset }
	st, err := b.parse(sql)
	if err != nil {
		return nil, same, err
	}
	edits, err := b.DB.Check(sql, st, b.Names)
	if err != nil {
		return nil, same, err
	}
	edited, back := sqltree.Apply(sql, edits)
	columns, err := b.Tx.Describe(edited)
	return columns, back, err
}

// link compiles the joins of a model: to models that are served, by one of their declared keys. A
// join to anything else would multiply rows.
func (b *builder) link(m *Model) {
	m.joins = nil
	for i, decl := range m.Declared.Joins {
		to, path := b.Layer.model(decl.To), fmt.Sprintf("joins[%d]", i)
		f := b.joinFault(m, to, decl, path)
		if f != nil {
			if f.Message != "" {
				b.problem(f, m.path, m.component())
			}
			continue
		}
		j := &join{name: decl.As(), to: sqltree.Fold(decl.To), from: decl.FromColumns, on: decl.ToColumns}
		if len(j.on) == 0 {
			j.on = to.Declared.PrimaryKey
		}
		m.joins = append(m.joins, j)
	}
	if n := len(b.Layer.reachable(m, Everything)); n >= MaxReachable {
		b.problem(fault.New("joins", "leave out dimensions and joins that no one asks for",
			"the model and its joins have %d dimensions and more; the limit is %d", n, MaxReachable), m.path, m.component())
	}
}

// joinFault returns why a join cannot be served, or nil. Without a message it waits for data.
func (b *builder) joinFault(m, to *Model, decl spicepod.SemanticJoin, path string) *fault.Fault {
	if to == nil {
		if b.loading[sqltree.Fold(decl.To)] != nil {
			return &fault.Fault{}
		}
		var names []string
		for _, o := range b.Pod.SemanticModels {
			names = append(names, o.Name)
			if sqltree.Fold(o.Name) == sqltree.Fold(decl.To) {
				return fault.New(path+".to", "fix that first", "it waits for semantic model %s", o.Name)
			}
		}
		return fault.New(path+".to", nearest.Hint(decl.To, names, "declare it under semantic_models:"),
			"there is no semantic model %q", decl.To)
	}
	keys := to.Declared.UniqueKeys
	if len(to.Declared.PrimaryKey) > 0 {
		keys = append([]spicepod.Names{to.Declared.PrimaryKey}, keys...)
	}
	on := decl.ToColumns
	if len(on) == 0 {
		on = to.Declared.PrimaryKey
	}
	unique := slices.ContainsFunc(keys, func(key spicepod.Names) bool { return sameColumns(key, on) })
	switch {
	case len(on) == 0:
		return fault.New(path+".to", fmt.Sprintf("declare primary_key of semantic model %s", to.Declared.Name),
			"semantic model %s has no primary_key to join to", to.Declared.Name)
	case !unique:
		hint := fmt.Sprintf("join to the primary_key or one of the unique_keys of %s, or declare the join in %s, if the "+
			"rows of %s are unique there", to.Declared.Name, to.Declared.Name, m.Declared.Name)
		return fault.New(path+".to_columns", hint, "the join would multiply rows: %s is no declared key of semantic model %s",
			strings.Join(on, ", "), to.Declared.Name)
	case len(on) != len(decl.FromColumns):
		return fault.New(path+".from_columns", "name as many columns as the key has: "+strings.Join(on, ", "),
			"from_columns has %d, and the key of %s has %d", len(decl.FromColumns), to.Declared.Name, len(on))
	}
	var conditions []string
	for i := range on {
		conditions = append(conditions, "a."+engine.Identifier(decl.FromColumns[i])+" = b."+engine.Identifier(on[i]))
	}
	_, f := b.describe("SELECT ", strings.Join(conditions, " AND "),
		fmt.Sprintf(" FROM %s AS a, %s AS b", engine.Qualified(m.Relation.Schema, m.Relation.Name),
			engine.Qualified(to.Relation.Schema, to.Relation.Name)), path+".from_columns")
	if f != nil {
		f.Offset = -1
	}
	return f
}

// sameColumns reports whether two lists have the same columns in any order.
func sameColumns(a, b []string) bool {
	return len(a) == len(b) && len(a) > 0 && !slices.ContainsFunc(a, func(x string) bool {
		return !slices.ContainsFunc(b, func(y string) bool { return sqltree.Fold(x) == sqltree.Fold(y) })
	})
}
