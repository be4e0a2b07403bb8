package engine

import (
	"strings"

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
	hint, candidates := "declare it under datasets: or views:", names.RelationNames()
	name := sqltree.Fold(r.Name)
	switch schema := sqltree.Fold(r.Schema); {
	case schema == System:
		hint = "see list_udfs(), spiced.functions and spiced.datasets"
	case schema == "runtime" && name == "task_history": // Spice's
		hint = "spiced.tool_calls has the calls of tools, spiced.searches the searches for tools; runtime.audit " +
			"logs the statements"
	case schema == "information_schema", schema == "pg_catalog",
		schema == "" && (strings.HasPrefix(name, "pg_") || strings.HasPrefix(name, "sqlite_")):
		candidates = nil // those of the schema in which the catalog is
		hint = "read spiced.datasets and spiced.functions, or write DESCRIBE and the name of a table; where PostgreSQL " +
			"is served (runtime.postgres, --postgres), information_schema and pg_catalog have what is declared"
	}
	e := NewError(errcode.NotFound, nearest.Hint(written, candidates, hint),
		"table %q is not declared in the Spicepod", written)
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
