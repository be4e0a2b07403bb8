package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/dml"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Writer changes rows of a table that is not in DuckDB.
//
// Values are texts, nil for NULL: those that DuckDB casts values of the column's type to
// and from. A BLOB is its hexadecimal digits, a list a JSON array of the texts of its
// elements. A STRUCT, MAP or UNION, which only results have, is JSON.
type Writer interface {
	Table() *OutsideTable
	// Check returns an error for a change, without values, that the server cannot do.
	Check(r *RowChange) error
	// Begin begins a transaction. Its errors that the server or the connection causes are [*Error]s.
	Begin(ctx context.Context) (WriteTx, error)
}

// WriteTx is a transaction of a [Writer]. It ends with the first Commit or Rollback.
type WriteTx interface {
	// Lock locks the rows with these keys that are still there, until the transaction ends.
	Lock(ctx context.Context, r *RowChange) error
	// Apply changes rows.
	Apply(ctx context.Context, r *RowChange) (*Changed, error)
	Commit(ctx context.Context) error
	Rollback()
}

// RowChange is what a [WriteTx] does with rows.
type RowChange struct {
	Verb      dml.Verb
	Key       []string // columns that identify the rows of an UPDATE or DELETE
	Columns   []string // that an INSERT or UPDATE sets
	Default   []string // that an UPDATE sets to their default
	Returning bool     // all columns of the rows are wanted, of at most MaxRows rows
	MaxRows   int64

	Conflict dml.Conflict
	Target   []string // columns of ON CONFLICT; may be empty for [dml.ConflictNothing]
	Set      []Assignment
	Where    *dml.Expr // of DO UPDATE; nil: none

	// Values are those of Key and then those of Columns, a list for each column. None of
	// an INSERT: one row of defaults.
	Values [][]*string
}

// Assignment is column = value of DO UPDATE. A nil value is DEFAULT.
type Assignment struct {
	Column string
	Value  *dml.Expr
}

// Changed is what a change did.
type Changed struct {
	Count int64
	Rows  [][]*string // with [RowChange.Returning], the values of each row
}

// OutsideTable describes the table of a [Writer]. Its columns are those of the relation.
type OutsideTable struct {
	Columns []OutsideColumn
	Primary []string   // of the primary key
	Unique  [][]string // of the unique constraints
}

// OutsideColumn is a column of an [OutsideTable].
type OutsideColumn struct {
	Column
	NotNull   bool
	Generated bool // the server computes it
	// Exact says that the column has values that its type in DuckDB cannot represent: what is
	// written is not cast to that type.
	Exact bool
	// Inexact says that the value of the column in DuckDB does not identify its row.
	Inexact bool
}

// column returns the column of a name; nil if there is none.
func (t *OutsideTable) column(name string) *OutsideColumn {
	for i := range t.Columns {
		if sqltree.Fold(t.Columns[i].Name) == sqltree.Fold(name) {
			return &t.Columns[i]
		}
	}
	return nil
}

// key returns columns that identify a row, also by their values in DuckDB; none if there
// are no such columns.
func (t *OutsideTable) key() []string {
	usable := func(columns []string) bool {
		return len(columns) > 0 && !slices.ContainsFunc(columns, func(name string) bool {
			c := t.column(name)
			return c == nil || !c.NotNull || c.Exact || c.Inexact
		})
	}
	for _, columns := range append([][]string{t.Primary}, t.Unique...) {
		if usable(columns) {
			return columns
		}
	}
	return nil
}

// Before it writes, a statement is bound to an empty table of DuckDB with the columns and
// the constraints of the outside one, so that names, types and parameters are those of
// any other write. The rows of an INSERT are inserted into a second one, without
// constraints, and rolled back: so they have the types of the columns.

// StandIn returns the qualified name of the table that statements are bound to, as
// DuckDB's catalog would write it.
func StandIn(r Relation) string { return standIn(r, "table") }

func standIn(r Relation, role string) string {
	return Identifier(CatalogName) + "." + Identifier(Core) + "." +
		Identifier(sqltree.Fold(r.Schema)+"."+sqltree.Fold(r.Name)+":"+role)
}

func standInRows(r Relation) string { return standIn(r, "rows") }

// DDL returns the statements that create the tables of DuckDB for the relation.
func (t *OutsideTable) DDL(r Relation) []string {
	var table, rows []string
	for _, c := range t.Columns {
		name := Identifier(c.Name) + " "
		switch {
		case c.Generated:
			table = append(table, name+"GENERATED ALWAYS AS (CAST(NULL AS "+c.Type.String()+"))")
			continue
		case c.NotNull:
			table = append(table, name+c.Type.String()+" NOT NULL")
		default:
			table = append(table, name+c.Type.String())
		}
		rows = append(rows, name+c.writtenType().String())
	}
	constrain := func(kind string, columns []string) {
		if len(columns) == 0 || slices.ContainsFunc(columns, func(name string) bool {
			c := t.column(name)
			return c == nil || c.Generated || !c.indexed()
		}) {
			return
		}
		quoted := make([]string, len(columns))
		for i, c := range columns {
			quoted[i] = Identifier(c)
		}
		table = append(table, kind+" ("+strings.Join(quoted, ", ")+")")
	}
	constrain("PRIMARY KEY", t.Primary)
	for _, columns := range t.Unique {
		constrain("UNIQUE", columns)
	}
	return []string{
		"CREATE OR REPLACE TABLE " + StandIn(r) + " (" + strings.Join(table, ", ") + ")",
		"CREATE OR REPLACE TABLE " + standInRows(r) + " (" + strings.Join(rows, ", ") + ")",
	}
}

// Drop returns the statements that drop what DDL creates.
func (t *OutsideTable) Drop(r Relation) []string {
	return []string{"DROP TABLE IF EXISTS " + StandIn(r), "DROP TABLE IF EXISTS " + standInRows(r)}
}

// indexed reports whether DuckDB has indexes over the type.
func (c *OutsideColumn) indexed() bool {
	switch c.Type.ID {
	case List, Array, Struct, Map, Union, Interval:
		return false
	}
	return true
}

// toText returns the text of an expression of a type as [Writer] takes it.
func toText(expression string, t *Type) string {
	switch {
	case t.ID == Blob:
		return "system.main.hex(" + expression + ")"
	case t.ID != List:
		return "CAST(" + expression + " AS VARCHAR)"
	}
	return "CAST(system.main.to_json(" + elements(expression, t, func(e string) string {
		return "system.main.hex(" + e + ")"
	}) + ") AS VARCHAR)"
}

// fromText is the inverse of toText.
func fromText(text string, t *Type) string {
	switch t.ID {
	case Blob:
		return "system.main.unhex(" + text + ")"
	case Struct, Map, Union:
		return "CAST(CAST(" + text + " AS JSON) AS " + t.String() + ")"
	case List:
		list := "CAST(CAST(" + text + " AS JSON) AS VARCHAR" + strings.Repeat("[]", depth(t)) + ")"
		return "CAST(" + elements(list, t, func(e string) string { return "system.main.unhex(" + e + ")" }) + " AS " +
			t.String() + ")"
	}
	return "CAST(" + text + " AS " + t.String() + ")"
}

// elements converts the elements of a list that are BLOBs, and casts others to text.
func elements(list string, t *Type, blob func(string) string) string {
	leaf, n := t, depth(t)
	for leaf.ID == List {
		leaf = leaf.Elem
	}
	if leaf.ID != Blob {
		return "CAST(" + list + " AS VARCHAR" + strings.Repeat("[]", n) + ")"
	}
	for i := range n {
		name := fmt.Sprintf("__spiced_%d", i)
		inner := blob
		blob = func(e string) string {
			return "system.main.list_transform(" + e + ", lambda " + name + ": " + inner(name) + ")"
		}
	}
	return blob(list)
}

// depth is how many lists a type is nested in.
func depth(t *Type) (n int) {
	for ; t.ID == List; t = t.Elem {
		n++
	}
	return n
}

// textsFrom returns a query of rows of texts as rows with the columns of the table.
func (t *OutsideTable) textsFrom(rows [][]*string) (string, error) {
	objects := make([]map[string]*string, len(rows))
	for i, row := range rows {
		objects[i] = make(map[string]*string, len(row))
		for j, v := range row {
			if v != nil {
				objects[i][columnKey(j)] = v
			}
		}
	}
	text, err := json.Marshal(objects)
	if err != nil {
		return "", err
	}
	fields, columns := make([]string, len(t.Columns)), make([]string, len(t.Columns))
	for i, c := range t.Columns {
		fields[i] = fmt.Sprintf("%q:%q", columnKey(i), "VARCHAR")
		columns[i] = fromText("__spiced_row."+columnKey(i), c.Type) + " AS " + Identifier(c.Name)
	}
	return "SELECT " + strings.Join(columns, ", ") + " FROM (SELECT unnest(system.main.from_json(" +
		Literal(string(text)) + ", " +
		Literal("[{"+strings.Join(fields, ",")+"}]") + ")) AS __spiced_row)", nil
}

// writtenType is the type that values for the column are cast to.
func (c *OutsideColumn) writtenType() *Type {
	if !c.Exact {
		return c.Type
	}
	t := &Type{ID: Varchar}
	for range depth(c.Type) {
		t = &Type{ID: List, Elem: t}
	}
	return t
}

// changes reports whether there is a row to change.
func (r *RowChange) changes() bool { return len(r.Values) == 0 || len(r.Values[0]) > 0 }

// rowKey returns a text that identifies a row by its key.
func (r *RowChange) rowKey(row int) string {
	var b strings.Builder
	for i := range r.Key {
		v := r.Values[i][row]
		fmt.Fprintf(&b, "%d:%s", len(*v), *v) // not NULL
	}
	return b.String()
}

// keep removes the rows for which f reports false.
func (r *RowChange) keep(f func(row int) bool) {
	left := 0
	for row := range r.Values[0] {
		if !f(row) {
			continue
		}
		for _, column := range r.Values {
			column[left] = column[row]
		}
		left++
	}
	for i := range r.Values {
		r.Values[i] = r.Values[i][:left]
	}
}
