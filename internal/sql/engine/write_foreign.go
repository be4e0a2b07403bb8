package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/dml"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// outside is a judged change of a table that is not in DuckDB.
type outside struct {
	writer    Writer
	change    RowChange   // without values
	alias     string      // of the table
	rows      dml.Phase   // selects the values; empty: none
	returning dml.Phase   // the beginning of a SELECT of what RETURNING lists
	constants dml.Phase   // selects the constants of DO UPDATE, each with its type; empty: none
	values    []*dml.Expr // that the constants are for
}

func (o *outside) moved(relocate func(int) int) *outside {
	out := *o
	out.rows, out.returning, out.constants = o.rows.Moved(relocate), o.returning.Moved(relocate),
		o.constants.Moved(relocate)
	return &out
}

const (
	hintNoKey   = "add a primary key to the table, or a unique constraint on columns that are NOT NULL"
	hintOutside = "list the columns: INSERT INTO t (a, b) SELECT …"
)

// judgeForeign returns how a judged change is done to the table of a writer.
func (g *judge) judgeForeign(ctx context.Context, ch *change, writer Writer, j *judgedChange) (*outside, error) {
	table := writer.Table()
	o := &outside{
		writer: writer, alias: ch.Alias,
		change: RowChange{Verb: ch.Verb, Conflict: ch.Conflict, Returning: ch.Returning != sqltree.Span{}},
	}
	fail := func(hint, format string, args ...any) (*outside, error) {
		return nil, NewError(errcode.Refused, hint, format, args...).at(j.Text, ch.Target.Offset)
	}
	switch {
	case ch.ByName:
		return fail(hintOutside, "INSERT … BY NAME is refused for table %q, which is not DuckDB's", ch.relation.Name)
	case ch.Verb == dml.VerbInsert:
		if err := o.insert(ch, table, j); err != nil {
			return nil, err
		}
		if err := g.judgeConflict(ctx, o, ch, table, j); err != nil {
			return nil, err
		}
	default:
		if o.change.Key = table.key(); len(o.change.Key) == 0 {
			return fail(hintNoKey, "table %q has no key by which rows can be changed", ch.relation.Name)
		}
		if at := g.db.randomCondition(ch, j); at >= 0 {
			return nil, NewError(errcode.Refused, "select the keys first, and write them into WHERE",
				"a condition that changes with each evaluation is refused for table %q, which is not DuckDB's",
				ch.relation.Name).at(j.Text, at)
		}
		o.keyed(ch, table, j)
	}
	for _, name := range o.change.Columns {
		if t := table.column(name).Type; t.ID == Struct || t.ID == Map || t.ID == Union || t.ID == Array {
			return fail("leave the column out", "column %q of table %q has the type %s, which cannot be written", name,
				ch.relation.Name, t)
		}
	}
	if err := writer.Check(&o.change); err != nil {
		var e *Error
		if errors.As(err, &e) {
			return nil, e.at(j.Text, ch.Target.Offset)
		}
		return nil, err
	}
	if o.change.Returning {
		a := j.assembler()
		a.List("SELECT ", ch.Returning)
		o.returning = a.Phase()
	}
	return o, nil
}

// insert composes the rows of an INSERT.
func (o *outside) insert(ch *change, table *OutsideTable, j *judgedChange) error {
	if ch.Rows == (sqltree.Span{}) {
		return nil
	}
	for _, c := range ch.Columns {
		o.change.Columns = append(o.change.Columns, table.column(c.Name(j.Text)).Name)
	}
	if len(ch.Columns) == 0 {
		for _, c := range table.Columns {
			if !c.Generated {
				o.change.Columns = append(o.change.Columns, c.Name)
			}
		}
	}
	a := j.assembler()
	plain := *ch.Statement
	plain.Conflict = dml.ConflictFails
	plain.ComposeInsert(a, standInRows(ch.relation))
	a.Own(" RETURNING ")
	for i, name := range o.change.Columns {
		if i > 0 {
			a.Own(", ")
		}
		a.Own(toText(Identifier(name), table.column(name).writtenType()))
	}
	o.rows = a.Phase()
	return nil
}

// keyed composes the keys and the values of an UPDATE or DELETE.
func (o *outside) keyed(ch *change, table *OutsideTable, j *judgedChange) {
	a := j.assembler()
	for i, name := range o.change.Key {
		a.Own([]string{"SELECT ", ", "}[min(i, 1)] +
			toText(Identifier(ch.Alias)+"."+Identifier(name), table.column(name).Type))
	}
	for i, t := range ch.Set {
		c := table.column(t.Name(j.Text))
		if ch.Values[i] == (sqltree.Span{}) {
			o.change.Default = append(o.change.Default, c.Name)
			continue
		}
		o.change.Columns = append(o.change.Columns, c.Name)
		a.Own(", ")
		c.writtenPart(a, ch.Values[i])
	}
	a.Own(" FROM " + Qualified(ch.relation.Schema, ch.relation.Name) + " AS " + Identifier(ch.Alias))
	if ch.Where != (sqltree.Span{}) {
		a.Within(" WHERE (", ch.Where, ")")
	}
	o.rows = a.Phase()
}

// writtenPart adds the text of a judged value for the column.
func (c *OutsideColumn) writtenPart(a *dml.Assembler, s sqltree.Span) {
	const mark = "\x00"
	t := c.writtenType()
	before, after, _ := strings.Cut(toText("CAST(("+mark+") AS "+t.String()+")", t), mark)
	a.Within(before, s, after)
}

// randomCondition returns where WHERE calls a function whose value changes with each
// evaluation, or -1: a condition is evaluated again when the rows are locked.
func (db *DB) randomCondition(ch *change, j *judgedChange) int {
	for _, call := range j.tree.Calls {
		at := j.Offset(call.Offset, -1)
		if at < ch.Where.Start || at >= ch.Where.End {
			continue
		}
		if f := declared(call, j.names); f != nil && f.Random || f == nil && db.builtins.Random(call.Name) {
			return at
		}
	}
	return -1
}
