// Package policy compiles the row_filter and the column_mask of a dataset and
// applies them in its public view.
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

// Policy is the row filter and the column masks of a dataset. They are part of
// the public view, so that they apply through every protocol, view and function:
//
//	SELECT TRY(id) AS id, TRY(salary) AS salary
//	FROM (SELECT id, CAST((mask) AS INTEGER) AS salary
//		FROM (SELECT * FROM (source) AS t WHERE (filter)) AS t) AS t
//	LIMIT …
//
// The filter and the masks see the columns of the source. The copy of an
// accelerated dataset has all rows; the policy is applied when it is read.
//
// Two properties of DuckDB keep callers from learning about hidden rows. DuckDB
// moves no condition, computation or sample below a LIMIT: an expression of the
// caller is never evaluated on a hidden row, which its error or duration would
// reveal. And it has no statistics of a TRY: with those of a column, over all
// rows, it could prove a condition false and skip the rest of it, such as an
// error.
type Policy struct {
	table  string                // quoted name of the dataset, for t.owner
	filter *expression           // nil: all rows are visible
	masks  map[string]expression // by folded name of the column
}

// barrier is a LIMIT above the size of any dataset; see [Policy].
const barrier = " LIMIT 9223372036854775807"

// expression is an SQL expression of a policy.
type expression struct {
	path   string // below the dataset: row_filter
	column string // of a mask, as declared
	sql    string // the declared text with blanks instead of comments
	fixed  bool   // it uses no column
}

// Compile compiles the policy of a dataset. It returns nil if there is none.
// [Policy.Bind] checks the columns.
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

// The statement in which an expression is parsed. Line breaks end comments.
const (
	expressionStart = "SELECT (\n"
	expressionEnd   = "\n)"
)

// compileExpression compiles an expression over the columns of a row. It may call
// built-in functions, those of the prelude, and ctx. It cannot read other rows,
// to which another policy may apply.
func compileExpression(ctx context.Context, db *engine.DB, x *expression, text string) error {
	whole := expressionStart + text + expressionEnd
	st, err := db.Parse(ctx, whole)
	if err != nil {
		return x.fault(err, len(expressionStart), text)
	}
	shape := st.Shape
	if !shape.Plain || shape.From || shape.Columns != 1 || shape.Alias || shape.Star {
		return x.faultAt(0, "put a list of values in parentheses", "it is not one SQL expression")
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

// noNames is an empty catalog.
var noNames = engine.NewCatalog(engine.Contents{})

// ownColumnsOnly returns an error if an expression depends on more than the row
// and the caller.
func ownColumnsOnly(db *engine.DB, x *expression, st *sqltree.Statement) error {
	const advice = "it may use the columns of the row, built-in functions and ctx('user_id')"
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

// fault returns an error about a statement in which the expression begins at
// offset start.
func (x *expression) fault(err error, start int, text string) error {
	e := engine.AsError(err)
	return x.faultAt(min(max(e.Offset-start, 0), len(text)), e.Hint,
		"%s", fault.FirstLines(fault.SelectMessage(e.Message)))
}

func (x *expression) faultAt(offset int, hint, format string, args ...any) error {
	return fault.At(x.path, offset, hint, format, args...)
}

// over returns the query of the public view over the rows.
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

// value returns what callers see instead of a column.
func (x *expression) value(c tables.Column) string {
	return maskStart + x.sql + "\n) AS " + c.Type + ")"
}

const maskStart = "CAST((\n"

// rows are a query and its columns.
type rows struct {
	query   string
	columns []tables.Column
}

// keyed returns the rows with one of the keys of a macro's parameter in a column. DuckDB
// uses an index for a scan with one condition only, and a TRY keeps those of the filter
// from the scan. The keys are rows of unnest, which has no statistics: a plan
// does not depend on whether there may be rows with them. A text that is no value of the
// type fails, as in the condition itself.
func (v rows) keyed(c tables.Column, kind engine.KeyKind) rows {
	values := make([]string, len(v.columns))
	for i, other := range v.columns {
		name := engine.Identifier(other.Name)
		values[i] = "TRY(" + name + ") AS " + name
	}
	cast := "TRY_CAST"
	if kind == engine.KeyText {
		cast = "CAST"
	}
	return rows{fmt.Sprintf("SELECT %s FROM %s WHERE %s IN (SELECT %s(unnest(%s) AS %s))%s",
		strings.Join(values, ", "), v.query, engine.Identifier(c.Name), cast, tables.KeysParam, c.Type, barrier), v.columns}
}

// Keys returns those of the columns by which callers may select rows before the policy
// applies: a mask hides the value, which a selection would confirm.
func (p *Policy) Keys(columns []string) []string {
	if p == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(columns), func(c string) bool {
		_, masked := p.masks[sqltree.Fold(c)]
		return masked
	})
}

// ByKey returns the queries of the macros of [engine.ByKey] for keys of a relation, whose
// rows are in a table.
func (p *Policy) ByKey(r engine.Relation, keys []string, table string, columns []tables.Column) map[string]string {
	macros, v := map[string]string{}, rows{table, columns}
	for _, key := range keys {
		at := slices.IndexFunc(columns, func(c tables.Column) bool { return sqltree.Fold(c.Name) == sqltree.Fold(key) })
		if at < 0 || slices.ContainsFunc(columns, func(c tables.Column) bool {
			return sqltree.Fold(c.Name) == tables.KeysParam
		}) {
			continue
		}
		own := engine.KindOf(columns[at].Type)
		for _, kind := range []engine.KeyKind{own, engine.KeyText} {
			if own != "" {
				macros[engine.ByKey(r, key, kind)] = p.over(v.keyed(columns[at], kind))
			}
		}
	}
	return macros
}

// Bind applies the policy to a query, and returns the query of the public view
// with its columns. A policy that does not match the columns is a fault.
func (p *Policy) Bind(ctx context.Context, db *engine.DB, query string,
	columns []tables.Column,
) (string, []tables.Column, error) {
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
		return "", nil, fault.New("row_filter", "", "the policy does not match the dataset: %s",
			fault.FirstLines(engine.AsError(err).Message))
	}
	if len(bound) != len(columns) {
		return "", nil, fault.New("row_filter", "", "the policy changes the columns of the dataset")
	}
	return public, v.columns, nil
}

// checkFilter returns an error if the filter is not BOOLEAN: DuckDB would cast it,
// which could show all rows or fail in each statement.
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
		return x.faultAt(0, "write a comparison such as owner = ctx('user_id')", "row_filter must be a condition, got %s", t)
	}
	return nil
}

func (p *Policy) checkMask(ctx context.Context, db *engine.DB, v rows, x *expression) error {
	at := slices.IndexFunc(v.columns, func(c tables.Column) bool { return sqltree.Fold(c.Name) == sqltree.Fold(x.column) })
	if at < 0 {
		f := fault.NoColumn(x.path, x.column, tables.Names(v.columns))
		f.Key = true
		return f
	}
	c := v.columns[at]
	query := "SELECT " + x.value(c)
	if x.fixed { // its cast can be checked now
		if err := tables.Query(ctx, db, query, func(*engine.Chunk) {}); err != nil {
			return x.bindFault(err, len("SELECT "+maskStart))
		}
	}
	columns, err := tables.Describe(ctx, db, query+" FROM "+p.source(v))
	if err != nil {
		return x.bindFault(err, len("SELECT "+maskStart))
	}
	if t := columns[0].Type.String(); t != c.Type {
		return x.faultAt(0, "write a value of the type of the column", "the mask is %s, but the column is %s", t, c.Type)
	}
	v.columns[at].Type = maskedType(columns[0].Type).String()
	return nil
}

// maskedType returns t with VARCHAR for each ENUM, whose type shows all values.
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

// bindFault returns an error of DuckDB about an expression in a query.
func (x *expression) bindFault(err error, start int) error {
	var e *engine.Error
	if !errors.As(err, &e) {
		return err
	}
	return x.fault(e, start, x.sql)
}
