package engine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/dml"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Writable reports whether statements with [Request.Write] may change the
// relation.
func (c *Catalog) Writable(r Relation) bool { return c.contents.Targets[r].Table != "" }

// writeTarget is what a statement changes.
type writeTarget struct {
	target   Relation
	database string   // with the table behind it
	outside  *outside // a table that is not DuckDB's; else nil

	source *source          // what a worker computes of the write; nil: nothing
	stays  []sqltree.Costly // what else of it is costly

	returning bool // its rows are those of RETURNING
}

const (
	hintReader  = "use a key that ends in :rw and a dataset with access: read_write"
	hintNotBase = "only a dataset from duckdb:, mysql: or postgres:, or a table of such a catalog, with access: " +
		"read_write can be written"
	hintPolicied = "write to the table outside the runtime: row filters and column masks do not apply to writes"
)

// change is a statement that changes rows of a relation, by the name that is declared.
type change struct {
	*dml.Statement
	relation Relation // set by base
}

// fromDML converts an error of package dml about the statement text.
func fromDML(err error, text string) error {
	var e *dml.Error
	if errors.As(err, &e) {
		return NewError(e.Code, e.Hint, "%s", e.Message).at(text, e.Offset)
	}
	return err
}

// Remaining parses a DELETE by the grammar of writes, and returns a SELECT of the rows that it
// leaves, with a function from offsets in that to those in text. The query is for the
// caller to judge: only the grammar is checked.
func (db *DB) Remaining(text string) (query string, origin func(int) int, err error) {
	tokens, err := db.checkText(text)
	if err != nil {
		return "", nil, err
	}
	query, origin, err = dml.Remaining(text, tokens, db.builtins.reserved)
	return query, origin, fromDML(err, text)
}

// change judges a text that changes rows, as [judge.query] does one that reads.
//
// The parts of the statement are judged as parts of one SELECT over the table, so that they are
// judged as any other query is, and DuckDB gets a text that is composed of them. A statement whose
// parts run apart, because the table is not DuckDB's or a worker computes one of them, is judged
// again with numbered parameters: ? would mean another value in each part.
func (g *judge) change(ctx context.Context, text string) (*verdict, error) {
	tokens := sqltree.Scan(text)
	if !g.req.Write {
		return nil, NewError(errcode.Refused, hintReader, "%s statements are refused",
			strings.ToUpper(tokens[0].Text(text))).at(text, tokens[0].Start)
	}
	statement, err := dml.Parse(text, tokens, g.db.builtins.reserved)
	if err != nil {
		return nil, fromDML(err, text)
	}
	ch := &change{Statement: statement}
	table, err := ch.base(text, g.cat, g.names)
	if err != nil {
		return nil, err
	}
	numbers := numberedParams(text, tokens)
	if len(numbers) > 0 && g.cat.contents.Targets[ch.relation].Writer != nil {
		return g.judgeNumbered(ctx, text, numbers)
	}
	if err := ch.checkColumns(g.c, g.cat, text, table); err != nil {
		return nil, err
	}
	query, parts := ch.Query(text, Qualified(ch.relation.Schema, ch.relation.Name))
	judged := &judgedChange{Judged: dml.Judged{Text: text, Parts: parts}, names: g.names}
	relocate := func(offset int) int { return judged.Offset(offset, ch.Target.Offset) }
	st, edits, wrote, err := g.db.examine(ctx, g.c, g.names, query, inPart, nil, g.held)
	if err == nil {
		err = g.checkExist(query, st)
	}
	if err == nil {
		err = g.db.CheckCTEs(query, st, g.names)
	}
	if err != nil {
		return nil, moveError(err, text, relocate)
	}
	var ok bool
	if judged.Edits, ok = sqltree.Merge(edits, ch.Unqualify(query, st, parts, ch.named(g.names))); !ok {
		return nil, NewError(errcode.Refused, "name the columns without their table", "the statement is ambiguous").at(text,
			ch.Target.Offset)
	}
	out := judged.assembler()
	if len(numbers) > 0 && ch.costly(st, parts) {
		return g.judgeNumbered(ctx, text, numbers)
	}
	if !ch.Compose(out, table) {
		return nil, NewError(errcode.Argument, "compute it first, in a query that the statement reads",
			"a subquery cannot be a table argument here").
			at(text, ch.Target.Offset)
	}
	judged.tree = st
	st, hidden := withoutHidden(st, g.names)
	v := &verdict{
		hidden: hidden, over: st.Over.Moved(relocate),
		text: out.Text(), origin: out.Origin, traits: g.db.traits(query, st, g.cat),
		called: callsOf(st, g.cat, relocate), write: true,
		writeTarget: writeTarget{
			target: ch.relation, database: databaseOf(table),
			returning: ch.Returning != (sqltree.Span{}),
		}, parameters: parameters{types: wrote.types},
	}
	v.traits.Volatile = true
	if g.cat.contents.Open != nil {
		v.waits = g.cat.waits(st)
	}
	if writer := g.cat.contents.Targets[ch.relation].Writer; writer != nil {
		judged.tree = st
		v.outside, err = g.judgeForeign(ctx, ch, writer, judged)
	}
	if err == nil {
		err = v.judgeSource(g.c, g.cat, ch, table, judged)
	}
	return v, err
}

// checkExist refuses calls of functions that do not exist. Elsewhere DuckDB reports them when it
// binds the statement; of a write, parts are refused before that, because of what they might
// compute.
func (g *judge) checkExist(query string, st *sqltree.Statement) error {
	for _, call := range st.Calls {
		switch {
		case call.Table, isCtx(call), declared(call, g.names) != nil, g.db.builtins.Has(call.Name):
		case hiddenCall(call, g.names), !g.c.finds(call):
			e := NewError(errcode.NotFound, g.db.similarFunction(call.Name, g.names), "there is no function %q", call.Name)
			e.Missing = ObjectFunction
			return e.at(query, call.Offset)
		}
	}
	return nil
}

// finds reports whether DuckDB finds the function of a call: a macro, or one that is in no list,
// such as unlist. The call that it is asked about has no arguments, so that nothing is computed.
func (c *conn) finds(call sqltree.Call) bool {
	var path []string
	for _, name := range []string{call.Catalog, call.Schema, call.Name} {
		if name != "" {
			path = append(path, Identifier(name))
		}
	}
	_, err := c.prepare("SELECT "+strings.Join(path, ".")+"()", c.serial, noRevision)
	var e *duckError
	return !errors.As(err, &e) || e.subtype != "MISSING_ENTRY"
}

// moved returns the verdict for a text that contains v's text, or a copy of it;
// relocate maps its offsets.
func (v *verdict) moved(relocate func(int) int) *verdict {
	out := *v
	out.called, out.over = v.called.moved(relocate), v.over.Moved(relocate)
	out.origin = func(offset int) int {
		if at := v.origin(offset); at >= 0 {
			return relocate(at)
		}
		return -1
	}
	if v.outside != nil {
		out.outside = v.outside.moved(relocate)
	}
	out.source = v.source.moved(relocate)
	out.stays = slices.Clone(v.stays)
	for i := range out.stays {
		if at := &out.stays[i].Offset; *at >= 0 {
			*at = relocate(*at)
		}
	}
	return &out
}

// base returns the table that the statement changes.
func (ch *change) base(text string, cat *Catalog, names Names) (string, error) {
	if err := checkRelation(text, ch.Target, names); err != nil {
		return "", err
	}
	r, _ := names.Relation(ch.Target.Catalog, ch.Target.Schema, ch.Target.Name)
	if cat.contents.Open != nil { // only then is it known whether it can be written
		if open := cat.contents.Open(Reading{Relations: []Relation{r}}); open != nil {
			return "", &unopenedError{open}
		}
	}
	if ch.Alias == "" {
		ch.Alias = r.Name
	}
	ch.relation = r
	fail := func(hint, format string) (string, error) {
		return "", NewError(errcode.Refused, hint, format, r.Name).at(text, ch.Target.Offset)
	}
	switch {
	case cat.contents.Targets[r].ReadOnly != "":
		return fail("", "table %q is read-only: "+strings.ReplaceAll(cat.contents.Targets[r].ReadOnly, "%", "%%"))
	case !cat.Writable(r):
		return fail(hintNotBase, "table %q is read-only")
	case cat.Traits(r).Protected:
		return fail(hintPolicied, "table %q has a row filter or a column mask, so statements cannot write to it")
	}
	return cat.contents.Targets[r].Table, nil
}

// named returns a function that reports whether a path of names means the table of the statement,
// for [dml.Statement.Unqualify].
func (ch *change) named(names Names) func(path []string) bool {
	if ch.Alias != ch.relation.Name {
		return nil
	}
	return func(path []string) bool {
		r, ok := names.Relation(pathOf(path))
		return ok && r == ch.relation
	}
}

// checkColumns refuses columns that the table does not have. DuckDB's error
// would name a table that the caller does not know.
func (ch *change) checkColumns(c *conn, cat *Catalog, text, table string) error {
	named := slices.Concat(ch.Columns, ch.Keys, ch.Set)
	if len(named) == 0 {
		return nil
	}
	s, err := c.prepare("SELECT * FROM "+table, cat.serial, noRevision)
	if err != nil {
		return publicError(err, "")
	}
	names := make([]string, len(s.columns))
	for i, column := range s.columns {
		names[i] = column.Name
	}
	for _, t := range named {
		name := t.Name(text)
		if slices.ContainsFunc(names, func(n string) bool { return sqltree.Fold(n) == sqltree.Fold(name) }) {
			continue
		}
		e := NewError(errcode.NotFound, nearest.Hint(name, names, ""), "table %q has no column %q", ch.relation.Name, name)
		e.Missing = ObjectColumn
		return e.at(text, t.Start)
	}
	return nil
}

// judgedChange is a change that was judged, with the parse tree of its SELECT and the names that it
// was judged with.
type judgedChange struct {
	dml.Judged
	tree  *sqltree.Statement
	names Names
}

func (j *judgedChange) assembler() *dml.Assembler { return &dml.Assembler{Judged: &j.Judged} }

// judgeNumbered judges a change with its parameters ? as $1, $2, …: its parts run apart.
func (g *judge) judgeNumbered(ctx context.Context, text string, numbers []sqltree.Edit) (*verdict, error) {
	numbered, back := sqltree.Apply(text, numbers)
	v, err := g.change(ctx, numbered)
	if err != nil {
		return nil, moveError(err, text, back)
	}
	return v.moved(back), nil
}
