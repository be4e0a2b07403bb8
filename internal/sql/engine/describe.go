package engine

import (
	"context"

	"github.com/duckdb/duckdb-go/v2/mapping"
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
		if param.typ != nil && !param.typ.Supported() {
			param.typ = nil
		}
		d.Params = append(d.Params, Param{param.name, param.typ})
	}
	return d
}
