package semantic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// Query asks for metrics.
type Query struct {
	Metrics []string
	By      []string // dimensions: region, customer__region, ordered_at__month, metric_time
	Grain   string   // of the time dimensions in By that name none
	Where   string   // a condition over dimensions
	OrderBy []string // columns of the result; -revenue is descending
	Limit   int64    // rows; negative: no limit
}

// writer writes the SQL of one query.
//
// It has four layers, from the inside: the rows of a table with what they join to (rows), an
// aggregation of them for the metrics of one table and filter (group), all groups put together
// (together), and the metrics that are computed from others, one SELECT for each level (levels). Columns have
// names of their own until the last SELECT: __by1 of the first dimension, and those of the metrics.
type writer struct {
	layer   *Layer
	query   Query
	visible Visible
	where   clause
	metrics []*Metric // that were asked for
	groups  []*group
	by      []*field // of the first group
}

// group is the simple metrics that are aggregated together: they have the same rows.
type group struct {
	model   *Model
	metrics []*Metric
	by      []*field
	where   []*field // of the columns of writer.where
	filter  []*field // of the columns of the filter; nil: a column of the table
}

// SQL returns the query as a SELECT. Names of what the caller may not see are unknown ones.
func (l *Layer) SQL(q Query, parse Parse, visible Visible) (string, error) {
	w := &writer{layer: l, query: q, visible: visible}
	for _, step := range []func(Parse) *engine.Error{w.check, w.chooseMetrics, w.readWhere, w.chooseGroups} {
		if err := step(parse); err != nil {
			return "", err
		}
	}
	sql, err := w.result()
	if err != nil {
		return "", err
	}
	if len(sql) > MaxSQL {
		return "", invalid("ask for fewer metrics or dimensions", "the query of the metrics has %d bytes; the limit is %d",
			len(sql), MaxSQL)
	}
	return sql, nil
}

// check refuses a query that is too large, or that names an unknown grain.
func (w *writer) check(Parse) *engine.Error {
	q := &w.query
	switch {
	case len(q.Metrics) == 0:
		return invalid("write metric('revenue')", "no metric is named")
	case len(q.Metrics) > MaxMetrics:
		return invalid("ask in several queries", "%d metrics are named; the limit is %d", len(q.Metrics), MaxMetrics)
	case len(q.By) > MaxBy:
		return invalid("group by fewer", "%d dimensions are named; the limit is %d", len(q.By), MaxBy)
	case len(q.Where) > MaxWhere:
		return invalid("make it shorter", "where has %d bytes; the limit is %d", len(q.Where), MaxWhere)
	}
	if q.Grain = sqltree.Fold(q.Grain); q.Grain != "" && !slices.Contains(spicepod.Grains, spicepod.Grain(q.Grain)) {
		hint := nearest.Hint(q.Grain, grainNames(), "one of "+strings.Join(grainNames(), ", "))
		return invalid(hint, "there is no grain %q", q.Grain)
	}
	return nil
}

func grainNames() (names []string) {
	for _, g := range spicepod.Grains {
		names = append(names, string(g))
	}
	return names
}

func (w *writer) chooseMetrics(Parse) *engine.Error {
	for _, name := range w.query.Metrics {
		m := w.layer.metric(name)
		if m == nil || !w.layer.Shows(m, w.visible) {
			return w.layer.noMetric(name, w.visible)
		}
		if slices.Contains(w.metrics, m) {
			return invalid("name it once", "metric %q is named twice", name)
		}
		w.metrics = append(w.metrics, m)
	}
	return nil
}

func (w *writer) readWhere(parse Parse) *engine.Error {
	if strings.TrimSpace(w.query.Where) == "" {
		return nil
	}
	c, _, err := parseClause(w.query.Where, parse)
	if err != nil {
		e := invalid(err.Hint, "where: %s", err.Message)
		e.Code = err.Code
		return e
	}
	w.where = c
	return nil
}

// chooseGroups finds the groups of the metrics, and what the names in the query mean in each: the
// same dimension in all, or their groups do not belong together.
func (w *writer) chooseGroups(Parse) *engine.Error {
	for _, m := range w.metrics {
		for _, s := range w.layer.simple(m) {
			if err := w.addToGroup(s); err != nil {
				return err
			}
		}
	}
	first := w.groups[0]
	w.by = first.by
	for _, g := range w.groups[1:] {
		for i, f := range slices.Concat(g.by, g.where) {
			if o := slices.Concat(first.by, first.where)[i]; !f.same(o) {
				return w.mixed(i, first, g, o, f)
			}
		}
	}
	for i, f := range w.by {
		if slices.ContainsFunc(w.by[:i], f.sameColumn) {
			return invalid("name it once", "dimension %q is named twice in by", w.query.By[i])
		}
	}
	return nil
}

// sameColumn reports whether two fields of one group have the same values.
func (f *field) sameColumn(o *field) bool {
	return f.name() == o.name() && f.grain == o.grain
}

// mixed is the error of a name that means different dimensions for two metrics.
func (w *writer) mixed(i int, a, b *group, of, other *field) *engine.Error {
	name := ""
	if i < len(w.query.By) {
		name = w.query.By[i]
	} else {
		name = w.where.columns[i-len(w.query.By)].name
	}
	hint := "join both models to one that has the dimension, or ask for the metrics in two queries"
	if of.dimension.Time() {
		hint = "use " + spicepod.MetricTime + ", which is the time of each metric, or " + hint
	}
	return invalid(hint, "%q is dimension %s of semantic model %s for metric %q, and of %s for %q", name,
		of.dimension.Declared.Name, of.dimension.model.Declared.Name, a.metrics[0].Declared.Name,
		other.dimension.model.Declared.Name, b.metrics[0].Declared.Name)
}

// addToGroup adds a simple metric to the group with its rows.
func (w *writer) addToGroup(m *Metric) *engine.Error {
	g := &group{model: w.layer.model(m.Declared.SemanticModel), metrics: []*Metric{m}}
	for _, name := range w.query.By {
		f, err := w.layer.resolveFor(m, name, w.visible)
		if err != nil {
			return err
		}
		if f.dimension.Time() && f.grain == "" {
			if f.grain = f.dimension.grain(); w.query.Grain != "" {
				f.grain = spicepod.Grain(w.query.Grain)
			}
			if err := f.checkGrain(name); err != nil {
				return err
			}
		}
		g.by = append(g.by, f)
	}
	for _, c := range w.where.columns {
		if c.name == "" {
			return invalid("write customer__region, not customer.region", "where: %q is not the name of a dimension",
				strings.Join(c.parts, "."))
		}
		if w.layer.metric(c.name) != nil {
			return invalid("filter the result: SELECT … FROM metric(…) WHERE "+c.name+" > …",
				"where: %q is a metric; where is about the rows that are aggregated", c.name)
		}
		f, err := w.layer.resolveFor(m, c.name, w.visible)
		if err != nil {
			err.Message = "where: " + err.Message
			return err
		}
		g.where = append(g.where, f)
	}
	g.filter = w.layer.filterFields(m)
	for _, o := range w.groups {
		if slices.Contains(o.metrics, m) {
			return nil
		}
		if o.hasRowsOf(g) {
			o.metrics = append(o.metrics, m)
			return nil
		}
	}
	w.groups = append(w.groups, g)
	return nil
}

// hasRowsOf reports whether two groups aggregate the same rows.
func (g *group) hasRowsOf(o *group) bool {
	return g.model == o.model && g.metrics[0].filter.text == o.metrics[0].filter.text &&
		slices.EqualFunc(g.fields(), o.fields(), sameField)
}

func sameField(a, b *field) bool {
	return a == nil && b == nil || a != nil && b != nil && a.sameColumn(b)
}

func (g *group) fields() []*field { return slices.Concat(g.by, g.where, g.filter) }

// filterFields returns what the columns of the filter of a simple metric mean: dimensions, or nil
// for columns of the table.
func (l *Layer) filterFields(m *Metric) []*field {
	list := make([]*field, len(m.filter.columns))
	for i, c := range m.filter.columns {
		if c.name == "" {
			continue
		}
		if f, err := l.resolveFor(m, c.name, Everything); err == nil {
			list[i] = f
		}
	}
	return list
}

func byColumn(i int) string { return "__by" + strconv.Itoa(i+1) }

// Columns of the tables that are joined have names that no expression of a Spicepod has by
// accident: the names in a measure or a dimension are those of its own table.
func dimensionColumn(name string) string { return engine.Identifier("d:" + sqltree.Fold(name)) }

func keyColumn(name string) string { return engine.Identifier("k:" + sqltree.Fold(name)) }

func fromColumn(name string) string { return engine.Identifier("c:" + sqltree.Fold(name)) }

// joined is a join that a query needs, and the columns that it needs of the other table.
type joined struct {
	step
	parent  *joined  // whose table has the columns of the join; nil: that of the group
	alias   string   // of the other table
	columns []string // expression AS name
}

func (j *joined) add(expression, name string) {
	if column := unique(j.to, j.join.on, expression) + " AS " + name; !slices.Contains(j.columns, column) {
		j.columns = append(j.columns, column)
	}
}

// unique writes the value of the one row with a key. Of several it is an error.
func unique(m *Model, key []string, expression string) string {
	message := fmt.Sprintf("semantic model %s: %s is declared as a key, and several rows have the same; the metric would "+
		"count rows more than once", m.Declared.Name, strings.Join(key, ", "))
	return fmt.Sprintf("CASE WHEN count(*) > 1 THEN error(%s) ELSE any_value(%s) END", engine.Literal(message), expression)
}

// rows writes FROM: the rows of the group's table with what they join to. It returns the
// expressions of the fields over them.
//
// Each table that is joined is first grouped by the columns of the join. So a row finds at most
// one, whatever the data is, and a key that does not hold is an error of the statement.
func (g *group) rows() (from string, expression func(*field) string) {
	var all []*joined
	byPrefix := map[string]*joined{}
	for _, f := range g.fields() {
		var parent *joined
		for n := 1; f != nil && n <= len(f.steps); n++ {
			s, prefix := f.steps[n-1], f.prefix(n)
			if byPrefix[prefix] == nil {
				byPrefix[prefix] = &joined{step: s, parent: parent, alias: fmt.Sprintf("__spiced_join%d", len(all)+1)}
				all = append(all, byPrefix[prefix])
			}
			for _, c := range s.join.from {
				if parent != nil {
					parent.add(engine.Identifier(c), fromColumn(c))
				}
			}
			parent = byPrefix[prefix]
		}
		if parent != nil {
			parent.add("(\n"+f.dimension.SQL+"\n)", dimensionColumn(f.dimension.Declared.Name))
		}
	}
	table := engine.Identifier(g.model.Relation.Name)
	from = engine.Qualified(g.model.Relation.Schema, g.model.Relation.Name) + " AS " + table
	for _, j := range all {
		from += " LEFT JOIN " + j.write(table)
	}
	return from, func(f *field) string {
		if len(f.steps) == 0 {
			return f.grained("(\n" + f.dimension.SQL + "\n)")
		}
		return f.grained(byPrefix[f.prefix(len(f.steps))].alias + "." + dimensionColumn(f.dimension.Declared.Name))
	}
}

// write writes the table and the condition of a join. first is the alias of the group's table.
func (j *joined) write(first string) string {
	var keys, positions, there, conditions []string
	for i, on := range j.join.on {
		column := engine.Identifier(on)
		keys, positions = append(keys, column+" AS "+keyColumn(on)), append(positions, strconv.Itoa(i+1))
		there = append(there, column+" IS NOT NULL")
		from := first + "." + engine.Identifier(j.join.from[i])
		if j.parent != nil {
			from = j.parent.alias + "." + fromColumn(j.join.from[i])
		}
		conditions = append(conditions, j.alias+"."+keyColumn(on)+" = "+from)
	}
	return fmt.Sprintf("(SELECT %s FROM %s WHERE %s GROUP BY %s) AS %s ON %s",
		strings.Join(append(keys, j.columns...), ", "),
		engine.Qualified(j.to.Relation.Schema, j.to.Relation.Name), strings.Join(there, " AND "),
		strings.Join(positions, ", "), j.alias, strings.Join(conditions, " AND "))
}

// grained writes an expression of the field in its grain: a DATE from day on, so that all facts have
// values of one type.
func (f *field) grained(expression string) string {
	if f.grain == "" {
		return expression
	}
	sql := fmt.Sprintf("date_trunc('%s', %s)", f.grain, expression)
	if f.grain.Finer("day") {
		return sql
	}
	return "CAST(" + sql + " AS DATE)"
}

// aggregate writes the SELECT of a group, with NULL for the metrics of the others.
func (w *writer) aggregate(g *group) string {
	from, expression := g.rows()
	var list, positions []string
	for i, f := range g.by {
		list = append(list, expression(f)+" AS "+byColumn(i))
		positions = append(positions, strconv.Itoa(i+1))
	}
	for _, o := range w.groups {
		for _, m := range o.metrics {
			value := "NULL"
			if o == g {
				value = "(\n" + m.Declared.Measure + "\n)"
			}
			list = append(list, value+" AS "+engine.Identifier(m.Declared.Name))
		}
	}
	sql := "SELECT " + strings.Join(list, ", ") + " FROM " + from
	var conditions []string
	for _, c := range []struct {
		clause
		fields []*field
	}{{g.metrics[0].filter, g.filter}, {w.where, g.where}} {
		if c.text != "" {
			conditions = append(conditions, g.condition(c.clause, c.fields))
		}
	}
	if len(conditions) > 0 {
		sql += " WHERE " + strings.Join(conditions, " AND ")
	}
	if len(positions) > 0 {
		sql += " GROUP BY " + strings.Join(positions, ", ")
	}
	return sql
}

// condition writes a condition over the rows of the group. fields are what its columns mean; nil: a
// column of the table.
func (g *group) condition(c clause, fields []*field) string {
	_, expression := g.rows()
	next := 0
	return "(\n" + c.write(func(columnAt) string {
		f := fields[next]
		if next++; f == nil {
			return ""
		}
		return expression(f)
	}) + "\n)"
}

// together writes all groups, one row for each combination of the dimensions.
func (w *writer) together() string {
	var parts, list, positions []string
	for _, g := range w.groups {
		parts = append(parts, w.aggregate(g))
	}
	for i := range w.by {
		list, positions = append(list, byColumn(i)), append(positions, strconv.Itoa(i+1))
	}
	fills := false
	for _, g := range w.groups {
		for _, m := range g.metrics {
			name := engine.Identifier(m.Declared.Name)
			value := "any_value(" + name + ")" // of the one row that is not NULL
			if len(w.groups) == 1 {
				value = name
			}
			if fill := m.Declared.FillNullsWith; fill != nil {
				value, fills = "coalesce("+value+", "+strconv.FormatFloat(*fill, 'f', -1, 64)+")", true
			}
			list = append(list, value+" AS "+name)
		}
	}
	if len(parts) == 1 && !fills {
		return parts[0]
	}
	sql := "SELECT " + strings.Join(list, ", ") + " FROM (" + strings.Join(parts, " UNION ALL ") + ")"
	if len(parts) > 1 && len(positions) > 0 {
		sql += " GROUP BY " + strings.Join(positions, ", ")
	}
	return sql
}

// levels writes the metrics that are computed from others, those that need no other first.
func (w *writer) levels(sql string) (string, *engine.Error) {
	done, missing := map[string]bool{}, map[*Metric]bool{}
	for _, g := range w.groups {
		for _, m := range g.metrics {
			done[sqltree.Fold(m.Declared.Name)] = true
		}
	}
	var need func(m *Metric)
	need = func(m *Metric) {
		if done[sqltree.Fold(m.Declared.Name)] || missing[m] {
			return
		}
		missing[m] = true
		for _, input := range m.inputs {
			need(w.layer.metrics[input])
		}
	}
	for _, m := range w.metrics {
		need(m)
	}
	for level := 0; len(missing) > 0; level++ {
		var list, names []string
		for _, m := range w.layer.order {
			if missing[m] && !slices.ContainsFunc(m.inputs, func(input string) bool { return !done[input] }) {
				list = append(list, m.expression()+" AS "+engine.Identifier(m.Declared.Name))
				names = append(names, sqltree.Fold(m.Declared.Name))
				delete(missing, m)
			}
		}
		if len(list) == 0 || level >= MaxLevels {
			return "", invalid("make it of simpler ones", "the metrics are made of each other in more than %d levels", MaxLevels)
		}
		for _, name := range names {
			done[name] = true
		}
		sql = "SELECT *, " + strings.Join(list, ", ") + " FROM (" + sql + ")"
	}
	return sql, nil
}

// expression writes a metric over the columns of its inputs.
func (m *Metric) expression() string {
	if m.Kind == Ratio {
		return fmt.Sprintf("(CAST(%s AS DOUBLE) / nullif(CAST(%s AS DOUBLE), 0))", engine.Identifier(m.Declared.Numerator),
			engine.Identifier(m.Declared.Denominator))
	}
	return "(\n" + m.Declared.Expr + "\n)"
}

// result writes the whole query: the dimensions under the names by which they were asked for, and
// the metrics.
func (w *writer) result() (string, *engine.Error) {
	inner, err := w.levels(w.together())
	if err != nil {
		return "", err
	}
	var list, columns []string
	for i, name := range w.query.By {
		list, columns = append(list, byColumn(i)+" AS "+engine.Identifier(name)), append(columns, sqltree.Fold(name))
	}
	for _, m := range w.metrics {
		list = append(list, engine.Identifier(m.Declared.Name))
		columns = append(columns, sqltree.Fold(m.Declared.Name))
	}
	sql := "SELECT " + strings.Join(list, ", ") + " FROM (" + inner + ")"
	var order []string
	for _, name := range w.query.OrderBy {
		column, descending := strings.CutPrefix(name, "-")
		i := slices.Index(columns, sqltree.Fold(column))
		if i < 0 {
			return "", invalid(nearest.Hint(column, columns, "order by "+lists(columns)),
				"order_by: the result has no column %q", column)
		}
		key := strconv.Itoa(i + 1)
		if descending {
			key += " DESC NULLS LAST"
		}
		order = append(order, key)
	}
	if len(order) > 0 {
		sql += " ORDER BY " + strings.Join(order, ", ")
	}
	if w.query.Limit >= 0 {
		sql += " LIMIT " + strconv.FormatInt(w.query.Limit, 10)
	}
	return sql, nil
}
