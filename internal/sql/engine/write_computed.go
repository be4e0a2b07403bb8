package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/dml"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// A write runs in this process, whose DuckDB has the file open. What it computes may end the
// process or hold it, so a worker computes its costly parts ([sqltree.Costly]): the rows of an
// INSERT, or the rows that an UPDATE or DELETE changes, by their rowid, with the new values. The
// write reads them from a stream. What stays, RETURNING and DO UPDATE, is refused if it is
// known to do harm.
//
// Scans of the worker that need this process run on the connection and in the transaction of
// the write: it sees the rows of one moment, and those that it has written before. A
// connection has one result at a time, so the rows of such a statement are collected first, in
// memory and then in a file. Those of others are written as they come.

// source is the part of a write that a worker computes.
type source struct {
	query dml.Phase
	// plain is the query without casts to the types of the columns. It runs if DuckDB refuses
	// the other one, so that the write fails with DuckDB's own words.
	plain dml.Phase
	// typed is an INSERT of plain into a table with the columns of the target, which describes
	// the parameters; rest is the write with no rows, which describes what it returns.
	typed, rest dml.Phase
	into        *Dependency // the table of typed
	write       dml.Phase   // over the rows of a stream, which is called streamed
	rows        *Dependency // the rows of the target, of an UPDATE or DELETE
	target      Relation
	spans       []sqltree.Span // of the statement, that the worker computes
	needs       workerNeeds
}

// streamed is replaced by a stream in a FROM clause, which is not longer.
const streamed = streamTable + "('rows of the write       ')"

func (s *source) moved(relocate func(int) int) *source {
	if s == nil {
		return nil
	}
	out := *s
	for _, p := range []*dml.Phase{&out.query, &out.plain, &out.typed, &out.rest, &out.write} {
		*p = p.Moved(relocate)
	}
	out.spans = slices.Clone(s.spans)
	for i, span := range s.spans {
		out.spans[i] = sqltree.Span{Start: relocate(span.Start), End: relocate(span.End)}
	}
	return &out
}

// dependencies are those of what a worker computes.
func (s *source) dependencies() ([]*Dependency, error) {
	list, err := s.needs.dependencies()
	if s.rows != nil {
		list = append(slices.Clip(list), s.rows)
	}
	return list, err
}

// has reports whether an offset in the statement is in what a worker computes.
func (s *source) has(offset int) bool {
	return slices.ContainsFunc(s.spans, func(span sqltree.Span) bool { return offset >= span.Start && offset < span.End })
}

// costly reports whether a worker has to compute parts of the change.
func (ch *change) costly(st *sqltree.Statement, parts []dml.Part) bool {
	return slices.ContainsFunc(st.Costly, func(c sqltree.Costly) bool { return ch.Computed(c, parts) })
}

// judgeSource finds the costly parts of a judged change, and what a worker computes of it.
func (v *verdict) judgeSource(c *conn, cat *Catalog, ch *change, table string, j *judgedChange) error {
	inside := func(offset int) bool {
		return offset < 0 || slices.ContainsFunc(j.Parts, func(p dml.Part) bool { return p.Has(offset) })
	}
	moves := v.outside == nil && ch.costly(j.tree, j.Parts)
	var all, columns []Column
	if moves {
		var err error
		if all, columns, err = c.written(cat, ch, table, j.Text); err != nil {
			return err
		}
		if i := slices.IndexFunc(columns, unreadable); i >= 0 { // no worker can send its values
			moves, v.stays = false, append(v.stays, sqltree.Costly{What: columns[i].Type.String(), Offset: ch.Target.Offset})
		}
	}
	for _, costly := range j.tree.Costly {
		if f := cat.Function(costly.What); costly.What == "" || f != nil && !f.Costly {
			continue // a query, which can be interrupted, or a call of a function that is as simple as its arguments
		}
		if inside(costly.Offset) && !(moves && ch.Computed(costly, j.Parts)) {
			costly.Offset = j.Offset(costly.Offset, ch.Target.Offset)
			v.stays = append(v.stays, costly)
		}
	}
	if !moves {
		return nil
	}
	st := j.tree
	if ch.Verb != dml.VerbInsert || len(j.Parts) > 1 {
		var err error
		if st, err = parse(c, ch.ComputedQuery(j.Text, Qualified(ch.relation.Schema, ch.relation.Name)),
			j.names); err != nil {
			return err
		}
	}
	s := &source{
		target: ch.relation, spans: ch.ComputedSpans(),
		needs: workerNeeds{dependencies: cat.dependencies(st), conditions: cat.conditions(st)},
	}
	if s.needs.dependencies == nil {
		return nil // only without the runtime's catalog, as in tests
	}
	into := standIn(ch.relation, "written")
	s.into = NewDependency("written "+into, []string{"CREATE OR REPLACE TABLE " + into + " (" + definitions(all) + ")"},
		[]string{"DROP TABLE IF EXISTS " + into})
	if ch.Verb == dml.VerbInsert {
		if err := s.composeRows(ch, columns, j); err != nil {
			return err
		}
	} else {
		columnNames := make([]string, len(all))
		for i, column := range all {
			columnNames[i] = column.Name
		}
		if err := ch.CheckWholeRows(j.Text, ch.relation.Name, columnNames, st); err != nil {
			return fromDML(err, j.Text)
		}
		s.composeChanges(ch, table, all, columns, j)
	}
	s.compose(ch, table, j)
	v.source = s
	return nil
}

// written returns the columns of a table, and those that the change writes.
func (c *conn) written(cat *Catalog, ch *change, table, text string) (all, columns []Column, err error) {
	s, err := c.prepare("SELECT * FROM "+table, cat.serial, noRevision)
	if err != nil {
		return nil, nil, publicError(err, "")
	}
	named := ch.Columns
	switch {
	case ch.Verb != dml.VerbInsert:
		named = ch.Set
	case len(named) == 0:
		return s.columns, s.columns, nil
	}
	for _, t := range named {
		i := slices.IndexFunc(s.columns, func(column Column) bool {
			return sqltree.Fold(column.Name) == sqltree.Fold(t.Name(text))
		})
		columns = append(columns, s.columns[i]) // see checkColumns
	}
	return s.columns, columns, nil
}

// composeRows writes the query of an INSERT.
func (s *source) composeRows(ch *change, columns []Column, j *judgedChange) error {
	if rows := ch.ValueRows(j.Text); rows != nil && !ch.ByName {
		return s.composeValues(rows, columns, j)
	}
	plain := j.assembler()
	plain.Part(ch.Rows)
	s.plain = plain.Phase()
	s.query = s.plain
	if !ch.ByName {
		query := j.assembler()
		query.Within("SELECT * REPLACE ("+casts(columns)+") FROM (", ch.Rows, ") AS __spiced_rows("+names(columns)+")")
		s.query = query.Phase()
	}
	return nil
}

// composeValues is composeRows for VALUES. An INSERT casts each of its values to the type of the
// column, while in a query the values of a column are first cast to one type of them all.
func (s *source) composeValues(rows [][]sqltree.Span, columns []Column, j *judgedChange) error {
	a := j.assembler()
	before := "VALUES ("
	for _, row := range rows {
		for i, v := range row {
			switch {
			case strings.EqualFold(j.Text[v.Start:v.End], "default"):
				return NewError(errcode.Refused, "insert the row in a statement of its own, or leave the column out",
					"DEFAULT is refused in rows that a worker computes: one of them has more than constants and simple functions").
					at(j.Text, v.Start)
			case i < len(columns):
				a.Within(before+"CAST((", v, ") AS "+columns[i].Type.String()+")")
			default:
				a.Within(before, v, "")
			}
			before = ", "
		}
		before = "), ("
	}
	a.Own(")")
	s.query = a.Phase()
	s.plain = s.query
	return nil
}

// composeChanges writes the query of the rows that an UPDATE or DELETE changes, each with its
// rowid and its values.
func (s *source) composeChanges(ch *change, table string, all, columns []Column, j *judgedChange) {
	view := standIn(ch.relation, "rows")
	t := &SnapshotTable{
		Name: "rows " + view, Relation: ch.relation, From: "(SELECT *, rowid FROM " + table + ")",
		Columns: append(slices.Clone(all), Column{"rowid", &Type{ID: BigInt}}),
	}
	s.rows = NewTable("rows "+view, t, []string{"CREATE OR REPLACE VIEW " + view + " AS SELECT * FROM " + t.Stream()},
		[]string{"DROP VIEW IF EXISTS " + view})
	compose := func(cast bool) dml.Phase {
		a := j.assembler()
		a.Own("SELECT " + Identifier(ch.Alias) + ".rowid AS " + dml.RowID)
		for i, v := range ch.Values {
			switch {
			case v == sqltree.Span{}:
			case cast:
				a.Within(", CAST((", v, ") AS "+columns[i].Type.String()+") AS "+dml.ValueColumn(i))
			default:
				a.Within(", (", v, ") AS "+dml.ValueColumn(i))
			}
		}
		a.Own(" FROM " + view + " AS " + Identifier(ch.Alias))
		if ch.Where != (sqltree.Span{}) {
			a.Within(" WHERE (", ch.Where, ")")
		}
		return a.Phase()
	}
	s.query, s.plain = compose(true), compose(false)
}

// compose writes the other texts.
func (s *source) compose(ch *change, table string, j *judgedChange) {
	described := *ch.Statement
	described.Conflict, described.Returning = dml.ConflictFails, sqltree.Span{}
	typed := j.assembler()
	described.Compose(typed, standIn(ch.relation, "written"))
	s.typed = typed.Phase()
	described = *ch.Statement
	if ch.Verb == dml.VerbInsert {
		described.Rows, described.Columns, described.ByName = sqltree.Span{}, nil, false
	} else {
		described.Values, described.Where = make([]sqltree.Span, len(ch.Values)), sqltree.Span{}
	}
	rest := j.assembler()
	described.Compose(rest, table)
	s.rest = rest.Phase()
	write := j.assembler()
	write.Streamed = "SELECT * FROM " + streamed
	ch.Compose(write, table)
	s.write = write.Phase()
}

func casts(columns []Column) string {
	return listed(columns, func(name, typ string) string { return "CAST(" + name + " AS " + typ + ") AS " + name })
}

func names(columns []Column) string {
	return listed(columns, func(name, _ string) string { return name })
}

func definitions(columns []Column) string {
	return listed(columns, func(name, typ string) string { return name + " " + typ })
}

func listed(columns []Column, f func(name, typ string) string) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = f(Identifier(c.Name), c.Type.String())
	}
	return strings.Join(list, ", ")
}

// checkStays refuses what a write would compute in this process and is costly. A pattern that is
// a parameter is looked at when the statement runs.
func (v *verdict) checkStays(req *Request) error {
	for _, c := range v.stays {
		what := cmp.Or(patternOperators[c.What], c.What)
		refuse := func(hint, format string) error {
			return NewError(errcode.Refused, hint, format, what).at(req.SQL, c.Offset)
		}
		const other = "compute it in the query of an INSERT, or in a SELECT whose result is a parameter of the write"
		does, size := harmful(c.What)
		switch {
		case size:
			return refuse("write a constant up to 4096 for the size, or compute it in the query of an INSERT",
				"%s of a size that is computed is refused here: a write that changes rows computes it in the runtime's process")
		case does:
			return refuse(other, "%s is refused here: it can end or block the runtime's process, in which this part "+
				"of a write runs")
		case c.Pattern != "" && (req.describe || sqltree.ShortPattern(req.Params.text(c.Pattern))):
		case sqltree.IsPattern(c.What):
			return refuse("write a constant or a parameter of at most 256 bytes without {",
				"%s with a long or computed pattern is refused here: this part of a write runs in the runtime's process")
		default:
			return refuse(other, "%s is refused here: its time and memory are not bounded by its arguments, and this part "+
				"of a write runs in the runtime's process")
		}
	}
	return nil
}

// patternOperators are operators by DuckDB's names.
var patternOperators = map[string]string{
	"~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE", "!~~*": "NOT ILIKE",
	"~~~": "GLOB",
}

// text returns the value of a parameter by its name or number if it is a text; else "".
func (p *Params) text(name string) string {
	value, named := p.Named[name]
	if n := numberOf(name); !named && n >= 1 && n <= len(p.Positional) {
		value = p.Positional[n-1]
	}
	text, _ := value.(string)
	return text
}

// harmful reports whether a costly part is known to do harm to its process, and whether that
// depends on a size that is an argument.
func harmful(what string) (does, size bool) {
	does = strings.Contains(what, "VARIANT") ||
		what == "BIGNUM" || slices.ContainsFunc(unsafeFunctions[what], func(class string) bool {
		return class == UnsafeCrash || class == UnsafeInvalidates || class == UnsafeHang
	})
	return does, sqltree.Sized(what)
}
