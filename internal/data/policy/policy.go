// Package policy compiles the row_filter and the column_mask of a dataset and
// puts them into its public view.
//
//	p, err := policy.Compile(ctx, db, "orders", declared)
//	…
//	query, columns, err := p.Bind(ctx, db, "SELECT * FROM source", columns)
package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/functions/prelude"
	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// Policy is the row filter and the column masks of a dataset. The public view
// itself holds them, so that whatever reads the dataset, through any protocol, view
// or function, reads what its caller may see:
//
//	SELECT TRY(id) AS id, TRY(salary) AS salary
//	FROM (SELECT id, CAST((mask) AS INTEGER) AS salary
//		FROM (SELECT * FROM (source) AS t WHERE (filter)) AS t) AS t
//	LIMIT …
//
// The filter and the masks see the columns as the source has them. A copy, of
// an accelerated dataset, holds all rows; the policy stands above it.
//
// Two things keep what DuckDB knows of the hidden rows from the caller. It
// moves no condition, computation or sample below a LIMIT, so that an
// expression of the caller's never meets a hidden row, which its error or its
// time would tell of. And it keeps no statistics of a TRY: by those of a column,
// over all rows, it would find a condition impossible and leave out what stands
// beside it, an error say.
type Policy struct {
	table  string                // the dataset's name, quoted: t.owner means owner
	filter *expression           // nil: every row is shown
	masks  map[string]expression // by folded name of the column
}

// barrier is a LIMIT that no dataset reaches; see [Policy].
const barrier = " LIMIT 9223372036854775807"

// expression is one SQL expression of a policy.
type expression struct {
	path   string // below the dataset: row_filter
	column string // of a mask, as declared
	sql    string // the declared text without comments, of the same length
	fixed  bool   // it mentions no column
}

// Compile reads the policy of a dataset, which has a table of that name; nil
// means that everyone sees all rows. Its columns are checked by [Policy.Bind].
func Compile(ctx context.Context, db *engine.DB, table string, decl spicepod.Dataset) (*Policy, error) {
	if !decl.Protected() {
		return nil, nil
	}
	if decl.Access == spicepod.AccessReadWrite {
		return nil, fault.New("access", "leave access out", "a dataset with a row_filter or column_mask can only be read")
	}
	p := &Policy{table: engine.Identifier(table), masks: map[string]expression{}}
	if decl.RowFilter != "" {
		filter := expression{path: "row_filter"}
		if err := compileExpression(ctx, db, &filter, decl.RowFilter); err != nil {
			return nil, err
		}
		p.filter = &filter
	}
	for _, column := range slices.Sorted(maps.Keys(decl.ColumnMask)) {
		mask := expression{path: "column_mask." + column, column: column}
		if err := compileExpression(ctx, db, &mask, decl.ColumnMask[column]); err != nil {
			return nil, err
		}
		if other, twice := p.masks[sqltree.Fold(column)]; twice {
			return nil, fault.OfKey(mask.path, "keep one of them", "%q and %q are one column", other.column, column)
		}
		p.masks[sqltree.Fold(column)] = mask
	}
	return p, nil
}

// What stands around an expression while it is read by itself. The line breaks
// end a comment.
const (
	expressionStart = "SELECT (\n"
	expressionEnd   = "\n)"
)

// compileExpression reads one expression over the columns of a row. Built-in
// functions, the prelude's and ctx are there; anything that could read other
// rows is not, since the policy of what it reads would be another.
func compileExpression(ctx context.Context, db *engine.DB, x *expression, text string) error {
	whole := expressionStart + text + expressionEnd
	st, err := db.Parse(ctx, whole)
	if err != nil {
		return x.fault(err, len(expressionStart), text)
	}
	shape := st.Shape
	if !shape.Plain || shape.From || shape.Columns != 1 || shape.Alias || shape.Star {
		return x.faultAt(0, "put a list of values in brackets", "it is not one SQL expression")
	}
	if err := ownColumnsOnly(db, x, st); err != nil {
		return err
	}
	if _, err := db.Check(whole, st, noNames); err != nil {
		return x.fault(err, len(expressionStart), text)
	}
	x.sql, x.fixed = sqltree.Plain(text, sqltree.Scan(text)), len(st.Columns) == 0
	return nil
}

// noNames declares nothing.
var noNames = engine.NewCatalog(0, nil, nil)

// ownColumnsOnly refuses what does not depend on the row and its caller alone.
func ownColumnsOnly(db *engine.DB, x *expression, st *sqltree.Statement) error {
	const advice = "it may use the row's own columns, built-in functions and ctx('user_id')"
	switch {
	case len(st.Params) > 0:
		return x.faultAt(0, advice, "parameter $%s has no value here", st.Params[0])
	case len(st.Relations) > 0:
		return x.faultAt(st.Relations[0].Offset-len(expressionStart), advice, "it reads %q", st.Relations[0].Name)
	case st.Subquery:
		return x.faultAt(0, advice, "it has a subquery")
	}
	builtins := db.Builtins()
	for _, c := range st.Calls {
		at := c.Offset - len(expressionStart)
		switch {
		case c.Window:
			return x.faultAt(at, advice, "%s(…) OVER reads other rows", c.Name)
		case builtins.Aggregate(c.Name):
			return x.faultAt(at, advice, "%s(…) reads other rows", c.Name)
		case !builtins.Has(c.Name) && !prelude.Has(c.Name):
			return x.faultAt(at, nearest.Hint(c.Name, builtins.Names(), advice), "%q is not a built-in function", c.Name)
		}
	}
	return nil
}

// fault places an error about a statement in which the expression begins at
// the byte start.
func (x *expression) fault(err error, start int, text string) error {
	e := engine.AsError(err)
	return x.faultAt(min(max(e.Offset-start, 0), len(text)), e.Hint, "%s", fault.FirstLines(fault.SelectMessage(e.Message)))
}

func (x *expression) faultAt(offset int, hint, format string, args ...any) error {
	return fault.At(x.path, offset, hint, format, args...)
}

// over is what the public view selects from the rows.
func (p *Policy) over(v rows) string {
	shown, values := make([]string, len(v.columns)), make([]string, len(v.columns))
	for i, c := range v.columns {
		name := engine.Identifier(c.Name)
		shown[i], values[i] = "TRY("+name+") AS "+name, name
		if mask, ok := p.masks[sqltree.Fold(c.Name)]; ok {
			values[i] = mask.value(c) + " AS " + name
		}
	}
	shownRows := "SELECT * FROM " + p.source(v)
	if p.filter != nil {
		shownRows += " WHERE (\n" + p.filter.sql + "\n)"
	}
	return fmt.Sprintf("SELECT %s FROM (SELECT %s FROM (%s) AS %s) AS %[4]s%s",
		strings.Join(shown, ", "), strings.Join(values, ", "), shownRows, p.table, barrier)
}

func (p *Policy) source(v rows) string { return "(" + v.query + ") AS " + p.table }

// value is what callers see in place of a column.
func (x *expression) value(c tables.Column) string {
	return maskStart + x.sql + "\n) AS " + c.Type + ")"
}

const maskStart = "CAST((\n"

// rows are what a policy is bound to.
type rows struct {
	query   string
	columns []tables.Column
}

// Bind binds the policy to the columns of a query, and returns what the public
// view selects with its columns. A policy that does not fit is a fault: the
// dataset is not served without it.
func (p *Policy) Bind(ctx context.Context, db *engine.DB, query string, columns []tables.Column) (string, []tables.Column, error) {
	if p == nil {
		return query, columns, nil
	}
	v := rows{query, slices.Clone(columns)}
	if err := p.checkFilter(ctx, db, v); err != nil {
		return "", nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(p.masks)) {
		mask := p.masks[key]
		if err := p.checkMask(ctx, db, v, &mask); err != nil {
			return "", nil, err
		}
	}
	public := p.over(v)
	bound, err := tables.Describe(ctx, db, public)
	if err != nil {
		return "", nil, fault.New("row_filter", "", "the policy does not fit the dataset: %s", fault.FirstLines(engine.AsError(err).Message))
	}
	if len(bound) != len(columns) {
		return "", nil, fault.New("row_filter", "", "the policy changes the columns of the dataset")
	}
	return public, v.columns, nil
}

// checkFilter refuses a filter that is not a condition: DuckDB would take 'no' for
// a reason to show all rows, or for an error at each statement.
func (p *Policy) checkFilter(ctx context.Context, db *engine.DB, v rows) error {
	x := p.filter
	if x == nil {
		return nil
	}
	columns, err := tables.Describe(ctx, db, expressionStart+x.sql+expressionEnd+" FROM "+p.source(v))
	if err != nil {
		return x.bindFault(err, len(expressionStart))
	}
	if t := columns[0].Type; t.ID != engine.Boolean {
		return x.faultAt(0, "compare something, as in owner = ctx('user_id')", "row_filter is a condition, not %s", t)
	}
	return nil
}

func (p *Policy) checkMask(ctx context.Context, db *engine.DB, v rows, x *expression) error {
	at := slices.IndexFunc(v.columns, func(c tables.Column) bool { return sqltree.Fold(c.Name) == sqltree.Fold(x.column) })
	if at < 0 {
		names := make([]string, len(v.columns))
		for i, c := range v.columns {
			names[i] = c.Name
		}
		f := fault.NoColumn(x.path, x.column, names)
		f.Key = true
		return f
	}
	c := v.columns[at]
	query := "SELECT " + x.value(c)
	if x.fixed { // that it has a value for the type is known now
		if err := tables.Query(ctx, db, query, func(*engine.Chunk) {}); err != nil {
			return x.bindFault(err, len("SELECT "+maskStart))
		}
	}
	columns, err := tables.Describe(ctx, db, query+" FROM "+p.source(v))
	if err != nil {
		return x.bindFault(err, len("SELECT "+maskStart))
	}
	if t := columns[0].Type.String(); t != c.Type {
		return x.faultAt(0, "give a value of the column's own type", "the mask is %s, and the column %s", t, c.Type)
	}
	v.columns[at].Type = maskedType(columns[0].Type).String()
	return nil
}

// maskedType is t with text for every ENUM, which shows all values to
// anyone who sees one.
func maskedType(t *engine.Type) *engine.Type {
	if t.ID == engine.Enum {
		return &engine.Type{ID: engine.Varchar}
	}
	out := *t
	if t.Elem != nil {
		out.Elem = maskedType(t.Elem)
	}
	out.Fields = slices.Clone(t.Fields)
	for i, f := range out.Fields {
		out.Fields[i].Type = maskedType(f.Type)
	}
	return &out
}

// bindFault places what DuckDB does not bind.
func (x *expression) bindFault(err error, start int) error {
	var e *engine.Error
	if !errors.As(err, &e) {
		return err
	}
	return x.fault(e, start, x.sql)
}
