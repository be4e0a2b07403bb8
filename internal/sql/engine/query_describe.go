package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// Description is what is known of a statement before it runs.
type Description struct {
	Columns []Column // of the result; a Type of nil depends on the parameters
	Params  []Param  // in the order of their numbers, or of their first mention
	Write   bool     // it is an INSERT, UPDATE or DELETE
	Files   bool     // it reads files, so that its columns may change at any time

	// Returning says that Columns are those of RETURNING; otherwise a write has one, Count.
	Returning bool
}

// Param is a parameter of a statement.
type Param struct {
	Name string // of $name; "1" of ? and $1
	Type *Type  // nil: the type of the value
}

// Describe judges a statement and describes it, without running it. Since DuckDB
// evaluates its constants nevertheless, it is bounded, abandoned and isolated as
// by [DB.Query]. The error is an [*Error].
func (db *DB) Describe(ctx context.Context, req Request) (*Description, error) {
	req.describe = true
	rows, err := db.Query(ctx, req)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return rows.described, nil
}

// description describes a prepared statement.
func (s *stmt) description(v *verdict) *Description {
	d := &Description{Write: v.write, Returning: v.returning, Files: v.traits.Files}
	for _, column := range s.columns {
		if column.Type.ID == mapping.TypeInvalid {
			column.Type = nil
		}
		d.Columns = append(d.Columns, column)
	}
	for _, param := range s.params {
		if param.typ != nil && (!param.typ.Supported() || param.typ.ID == Null) { // NULL: as if it had no value
			param.typ = nil
		}
		d.Params = append(d.Params, Param{param.name, param.typ})
	}
	return d
}

// checkTypes refuses types whose values cannot be read: where they depend on the
// parameters, they were not cast.
func checkTypes(columns []Column) error {
	for _, c := range columns {
		if unreadable(c) {
			return NewError(errcode.Argument, fmt.Sprintf("write CAST(%s AS VARCHAR)", Identifier(c.Name)),
				"column %q has a type that cannot be returned", c.Name)
		}
	}
	return nil
}

// parameters is what a verdict knows of the parameters of its statement.
type parameters struct {
	params []string // whose values must be of these kinds for the text
	kinds  string
	types  map[string]string // of those that are arguments: see written
}

// with gives the parameters that DuckDB leaves open the types that functions declare for
// them. DuckDB forgets the type of a parameter that a body uses in expressions of two types.
func (d *Description) with(declared map[string]*Type) *Description {
	for i, param := range d.Params {
		if param.Type == nil {
			d.Params[i].Type = declared[param.Name]
		}
	}
	return d
}

// declaredTypes returns types by the names of parameters, given as DuckDB writes them.
func (c *conn) declaredTypes(types map[string]string) (map[string]*Type, error) {
	if len(types) == 0 {
		return nil, nil
	}
	names := slices.Sorted(maps.Keys(types))
	nulls := make([]string, len(names))
	for i, name := range names {
		nulls[i] = "CAST(NULL AS " + types[name] + ")"
	}
	columns, err := session{c}.Describe("SELECT " + strings.Join(nulls, ", "))
	if err != nil {
		return nil, err
	}
	declared := map[string]*Type{}
	for i, name := range names {
		declared[name] = columns[i].Type
	}
	return declared, nil
}
