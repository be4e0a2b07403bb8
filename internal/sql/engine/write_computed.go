package engine

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
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
	query phase
	// plain is the query without casts to the types of the columns. It runs if DuckDB refuses
	// the other one, so that the write fails with DuckDB's own words.
	plain phase
	// typed is an INSERT of plain into a table with the columns of the target, which describes
	// the parameters; rest is the write with no rows, which describes what it returns.
	typed, rest phase
	into        *Dependency // the table of typed
	write       phase       // over the rows of a stream, which is called streamed
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
	for _, p := range []*phase{&out.query, &out.plain, &out.typed, &out.rest, &out.write} {
		*p = p.moved(relocate)
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
func (ch *change) costly(st *sqltree.Statement, parts []part) bool {
	return slices.ContainsFunc(st.Costly, func(c sqltree.Costly) bool { return ch.computed(c, parts) })
}

// computed reports whether a part of the judged SELECT is in what a worker computes if
// something in it is costly: the rows of an INSERT, the values and the condition of an UPDATE or
// DELETE.
func (ch *change) computed(c sqltree.Costly, parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool {
		if ch.verb == VerbInsert && p.Span != ch.rows || p.Span == ch.returning {
			return false
		}
		return len(parts) == 1 && ch.verb == VerbInsert || c.Offset >= p.at && c.Offset <= p.at+p.len()
	})
}

// judgeSource finds the costly parts of a judged change, and what a worker computes of it.
func (v *verdict) judgeSource(c *conn, cat *Catalog, ch *change, table string, j *judgedParts) error {
	inside := func(offset int) bool {
		return offset < 0 || slices.ContainsFunc(j.parts, func(p part) bool { return offset >= p.at && offset <= p.at+p.len() })
	}
	moves := v.outside == nil && ch.costly(j.statement, j.parts)
	var all, columns []Column
	if moves {
		var err error
		if all, columns, err = c.written(cat, ch, table, j.text); err != nil {
			return err
		}
		if i := slices.IndexFunc(columns, unreadable); i >= 0 { // no worker can send its values
			moves, v.stays = false, append(v.stays, sqltree.Costly{What: columns[i].Type.String(), Offset: ch.target.Offset})
		}
	}
	for _, costly := range j.statement.Costly {
		if f := cat.Function(costly.What); costly.What == "" || f != nil && !f.Costly {
			continue // a query, which can be interrupted, or a call of a function that is as simple as its arguments
		}
		if inside(costly.Offset) && !(moves && ch.computed(costly, j.parts)) {
			costly.Offset = offsetIn(j.parts, costly.Offset, ch.target.Offset)
			v.stays = append(v.stays, costly)
		}
	}
	if !moves {
		return nil
	}
	st, err := ch.computedStatement(c, j)
	if err != nil {
		return err
	}
	s := &source{target: ch.relation, spans: ch.computedSpans(), needs: workerNeeds{dependencies: cat.dependencies(st), conditions: cat.conditions(st)}}
	if s.needs.dependencies == nil {
		return nil // only without the runtime's catalog, as in tests
	}
	into := standIn(ch.relation, "written")
	s.into = NewDependency("written "+into, []string{"CREATE OR REPLACE TABLE " + into + " (" + definitions(all) + ")"}, []string{"DROP TABLE IF EXISTS " + into})
	if ch.verb == VerbInsert {
		if err := s.composeRows(ch, columns, j); err != nil {
			return err
		}
	} else {
		if err := ch.checkWholeRows(st, all, j.text); err != nil {
			return err
		}
		s.composeChanges(ch, table, all, columns, j)
	}
	s.compose(ch, table, j)
	v.source = s
	return nil
}

// computedSpans are the parts that a worker computes.
func (ch *change) computedSpans() []sqltree.Span {
	if ch.verb == VerbInsert {
		return []sqltree.Span{ch.rows}
	}
	return slices.DeleteFunc(append(slices.Clone(ch.values), ch.where), func(s sqltree.Span) bool { return s == sqltree.Span{} })
}

// computedStatement parses what a worker computes.
func (ch *change) computedStatement(c *conn, j *judgedParts) (*sqltree.Statement, error) {
	if ch.verb == VerbInsert && len(j.parts) == 1 {
		return j.statement, nil
	}
	if ch.verb == VerbInsert {
		return parse(c, j.text[ch.rows.Start:ch.rows.End], j.names)
	}
	sql := "SELECT 1"
	for _, v := range ch.values {
		if v != (sqltree.Span{}) {
			sql += ", (" + j.text[v.Start:v.End] + "\n)"
		}
	}
	sql += " FROM " + Qualified(ch.relation.Schema, ch.relation.Name) + " AS " + Identifier(ch.alias)
	if ch.where != (sqltree.Span{}) {
		sql += " WHERE (" + j.text[ch.where.Start:ch.where.End] + "\n)"
	}
	return parse(c, sql, j.names)
}

// checkWholeRows refuses expressions over all columns of a row, to which a worker adds its rowid.
func (ch *change) checkWholeRows(st *sqltree.Statement, columns []Column, text string) error {
	refuse := func(at int) error {
		return NewError(errcode.Refused, "name the columns", "an expression over all columns of a row is refused in a part of a write that a worker computes").at(text, at)
	}
	named := func(name string) bool {
		return slices.ContainsFunc(columns, func(c Column) bool { return sqltree.Fold(c.Name) == sqltree.Fold(name) })
	}
	if named("rowid") {
		return NewError(errcode.Refused, "compute the values first, in a SELECT", "table %q has a column \"rowid\", so no worker can compute what the statement writes to it", ch.relation.Name).at(text, ch.target.Offset)
	}
	for _, c := range st.Columns {
		if len(c.Parts) == 1 && sqltree.Fold(c.Parts[0]) == sqltree.Fold(ch.alias) && !named(ch.alias) {
			return refuse(ch.target.Offset)
		}
	}
	for _, span := range ch.computedSpans() {
		part := text[span.Start:span.End]
		tokens := sqltree.Scan(part)
		for i, t := range tokens {
			star := t.Is(part, "*") && i > 0 && (tokens[i-1].Is(part, "(") && !(i > 1 && sqltree.Are(part, tokens, i-2, "count")) || tokens[i-1].Is(part, ","))
			if star || sqltree.Are(part, tokens, i, "columns") && i+1 < len(tokens) && tokens[i+1].Is(part, "(") {
				return refuse(span.Start + t.Start)
			}
		}
	}
	return nil
}

// written returns the columns of a table, and those that the change writes.
func (c *conn) written(cat *Catalog, ch *change, table, text string) (all, columns []Column, err error) {
	s, err := c.prepare("SELECT * FROM "+table, cat.serial, noRevision)
	if err != nil {
		return nil, nil, publicError(err, "")
	}
	named := ch.columns
	switch {
	case ch.verb != VerbInsert:
		named = ch.set
	case len(named) == 0:
		return s.columns, s.columns, nil
	}
	for _, t := range named {
		i := slices.IndexFunc(s.columns, func(column Column) bool { return sqltree.Fold(column.Name) == sqltree.Fold(t.Name(text)) })
		columns = append(columns, s.columns[i]) // see checkColumns
	}
	return s.columns, columns, nil
}

// composeRows writes the query of an INSERT.
func (s *source) composeRows(ch *change, columns []Column, j *judgedParts) error {
	if rows := valueRows(j.text, ch.rows); rows != nil && !ch.byName {
		return s.composeValues(rows, columns, j)
	}
	plain := j.assembler()
	plain.part(ch.rows)
	s.plain = plain.phase()
	s.query = s.plain
	if !ch.byName {
		query := j.assembler()
		query.within("SELECT * REPLACE ("+casts(columns)+") FROM (", ch.rows, ") AS __spiced_rows("+names(columns)+")")
		s.query = query.phase()
	}
	return nil
}

// composeValues is composeRows for VALUES. An INSERT casts each of its values to the type of the
// column, while in a query the values of a column are first cast to one type of them all.
func (s *source) composeValues(rows [][]sqltree.Span, columns []Column, j *judgedParts) error {
	a := j.assembler()
	before := "VALUES ("
	for _, row := range rows {
		for i, v := range row {
			switch {
			case strings.EqualFold(j.text[v.Start:v.End], "default"):
				return NewError(errcode.Refused, "insert the row in a statement of its own, or leave the column out",
					"DEFAULT is refused in rows that a worker computes: one of them has more than constants and simple functions").at(j.text, v.Start)
			case i < len(columns):
				a.within(before+"CAST((", v, ") AS "+columns[i].Type.String()+")")
			default:
				a.within(before, v, "")
			}
			before = ", "
		}
		before = "), ("
	}
	a.own(")")
	s.query = a.phase()
	s.plain = s.query
	return nil
}

// valueRows returns the values of each row of a query that is VALUES (…), …; else nil.
func valueRows(text string, query sqltree.Span) (rows [][]sqltree.Span) {
	part := text[query.Start:query.End]
	tokens := sqltree.Scan(part)
	if !sqltree.Are(part, tokens, 0, "values") {
		return nil
	}
	var row []sqltree.Span
	depth, start := 0, 0
	for i, t := range tokens[1:] {
		symbol := t.Kind == sqltree.Symbol
		switch word := t.Text(part); {
		case depth == 0 && (!symbol || word != "(" && (word != "," || !tokens[i].Is(part, ")"))):
			return nil
		case symbol && strings.Contains("([{", word):
			if depth++; depth == 1 {
				row, start = nil, t.End
			}
		case symbol && depth == 1 && (word == "," || word == ")"):
			row = append(row, sqltree.Span{Start: query.Start + start, End: query.Start + tokens[i].End})
			if start = t.End; word == ")" {
				rows, depth = append(rows, row), 0
			}
		case symbol && strings.Contains(")]}", word):
			depth--
		}
	}
	return rows
}

// composeChanges writes the query of the rows that an UPDATE or DELETE changes, each with its
// rowid and its values.
func (s *source) composeChanges(ch *change, table string, all, columns []Column, j *judgedParts) {
	view := standIn(ch.relation, "rows")
	t := &SnapshotTable{
		Name: "rows " + view, Relation: ch.relation, From: "(SELECT *, rowid FROM " + table + ")",
		Columns: append(slices.Clone(all), Column{"rowid", &Type{ID: BigInt}}),
	}
	s.rows = NewTable("rows "+view, t, []string{"CREATE OR REPLACE VIEW " + view + " AS SELECT * FROM " + t.Stream()}, []string{"DROP VIEW IF EXISTS " + view})
	compose := func(cast bool) phase {
		a := j.assembler()
		a.own("SELECT " + Identifier(ch.alias) + ".rowid AS __spiced_row")
		for i, v := range ch.values {
			switch {
			case v == sqltree.Span{}:
			case cast:
				a.within(", CAST((", v, ") AS "+columns[i].Type.String()+") AS "+valueName(i))
			default:
				a.within(", (", v, ") AS "+valueName(i))
			}
		}
		a.own(" FROM " + view + " AS " + Identifier(ch.alias))
		if ch.where != (sqltree.Span{}) {
			a.within(" WHERE (", ch.where, ")")
		}
		return a.phase()
	}
	s.query, s.plain = compose(true), compose(false)
}

// valueName is the column of the value of SET's column i.
func valueName(i int) string { return "__spiced_value_" + strconv.Itoa(i) }

// compose writes the other texts.
func (s *source) compose(ch *change, table string, j *judgedParts) {
	described := *ch
	described.conflict, described.returning = ConflictFails, sqltree.Span{}
	typed := j.assembler()
	described.compose(typed, standIn(ch.relation, "written"))
	s.typed = typed.phase()
	described = *ch
	if ch.verb == VerbInsert {
		described.rows, described.columns, described.byName = sqltree.Span{}, nil, false
	} else {
		described.values, described.where = make([]sqltree.Span, len(ch.values)), sqltree.Span{}
	}
	rest := j.assembler()
	described.compose(rest, table)
	s.rest = rest.phase()
	write := j.assembler()
	write.rows = "SELECT * FROM " + streamed
	ch.compose(write, table)
	s.write = write.phase()
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
			return refuse(other, "%s is refused here: it can end or block the runtime's process, in which this part of a write runs")
		case c.Pattern != "" && (req.describe || sqltree.ShortPattern(req.Params.text(c.Pattern))):
		case sqltree.IsPattern(c.What):
			return refuse("write a constant or a parameter of at most 256 bytes without {", "%s with a long or computed pattern is refused here: this part of a write runs in the runtime's process")
		default:
			return refuse(other, "%s is refused here: its time and memory are not bounded by its arguments, and this part of a write runs in the runtime's process")
		}
	}
	return nil
}

// patternOperators are operators by DuckDB's names.
var patternOperators = map[string]string{"~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE", "!~~*": "NOT ILIKE", "~~~": "GLOB"}

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
	does = strings.Contains(what, "VARIANT") || what == "BIGNUM" || slices.ContainsFunc(unsafeFunctions[what], func(class string) bool {
		return class == UnsafeCrash || class == UnsafeInvalidates || class == UnsafeHang
	})
	return does, sqltree.Sized(what)
}
