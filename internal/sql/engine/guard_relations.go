package engine

import (
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// checkRelation returns the error of a reference to what is not declared, or does not
// serve yet.
func checkRelation(text string, r sqltree.Relation, names Names) error {
	if r.Temporal {
		return NewError(errcode.Refused, "", "AT (…) is refused: datasets have no versions").at(text, r.Offset)
	}
	if _, ok := names.Relation(r.Catalog, r.Schema, r.Name); ok {
		return nil
	}
	if e := unserved(names, ObjectTable, SchemaOf(r.Catalog, r.Schema), r.Name); e != nil {
		return e.at(text, r.Offset)
	}
	written := r.Name
	if r.Schema != "" {
		written = r.Schema + "." + written
	}
	if r.Catalog != "" {
		written = r.Catalog + "." + written
	}
	hint := "declare it under datasets: or views:"
	switch sqltree.Fold(r.Schema) {
	case System:
		hint = "see list_udfs(), spiced.functions and spiced.datasets"
	case "runtime": // Spice's
		if sqltree.Fold(r.Name) == "task_history" {
			hint = "spiced.tool_calls has the calls of tools, spiced.searches the searches for tools; runtime.audit logs the statements"
		}
	case "information_schema", "pg_catalog":
		hint = "that catalog is there where PostgreSQL is served (runtime.postgres, --postgres) and has what is declared; read spiced.datasets and spiced.functions, or write DESCRIBE and the name of a table"
	}
	e := NewError(errcode.NotFound, nearest.Hint(written, names.RelationNames(), hint), "table %q is not declared in the Spicepod", written)
	e.Missing = ObjectTable
	return e.at(text, r.Offset)
}

// unserved returns the error of a name that is declared and does not serve, or nil. A
// [Catalog] has such names.
func unserved(names Names, o Object, schema, name string) *Error {
	if l, ok := names.(interface {
		unserved(o Object, schema, name string) *Error
	}); ok {
		return l.unserved(o, schema, name)
	}
	return nil
}
