// Package pgcatalog answers what PostgreSQL's clients ask about a database:
// psql's \d, the metadata of JDBC drivers, what BI tools read to list tables
// and functions.
//
// The engine refuses DuckDB's own pg_catalog and information_schema, which
// show its internals. This package makes others, in a schema of their own:
// views that list what the Spicepod declares and the introspection tables, and
// macros for the functions that clients call with them. [Rewrite] makes a
// statement written for PostgreSQL use them; the engine's guard then judges it
// as any other.
//
//	for _, sql := range pgcatalog.Setup() { // once, after the tables of schema spiced
//		err := tx.Exec(sql)
//	}
//	relations = append(relations, pgcatalog.Relations()...)
//	catalog := engine.NewCatalog(engine.Contents{Generation: n, Relations: relations, Functions: functions})
//	…
//	sql, _ = pgcatalog.Rewrite("SELECT relname FROM pg_catalog.pg_class WHERE oid = 'orders'::regclass")
//	rows, err := db.Query(ctx, engine.Request{SQL: sql})
//
// The catalog is that of one database, spice, of one owner, spice, who may
// read everything. A declared dataset is a table, a declared view a view. The
// definitions of views are not shown: they may hold a row filter.
//
// An object's OID comes from a hash of its kind and name, so it is the same
// after a restart; it is at least 16384 and less than 2^31. PostgreSQL's types
// have PostgreSQL's OIDs. OIDs are of type BIGINT, vectors of them (proargtypes)
// text as PostgreSQL writes it: "20 25".
//
// See the chapters "System Catalogs" and "The Information Schema" of
// PostgreSQL's documentation for what the columns mean.
package pgcatalog

import (
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// ServerVersion is the release of PostgreSQL whose catalog this is, as a server
// reports it in server_version.
const ServerVersion = "15.0"

// Schema is where the views and macros are, in the engine's catalog.
const Schema = "pgcatalog"

// view is a view of the catalog, or one that others are made of.
type view struct{ name, query string }

func (v view) sql() string {
	return "CREATE VIEW " + engine.Qualified(Schema, v.name) + " AS " + v.query
}

// macro is a function of PostgreSQL's.
type macro struct {
	name      string
	overloads []overload
}

// overload is one way to call a macro.
type overload struct {
	params string // "o, p"
	body   string
}

// macroPrefix sets the macros apart from functions that a Spicepod declares and
// from DuckDB's own, some of which the guard refuses by name.
const macroPrefix = "compat_"

func (m macro) sql() string {
	list := make([]string, len(m.overloads))
	for i, o := range m.overloads {
		list[i] = "(" + o.params + ") AS " + o.body
	}
	return "CREATE MACRO " + engine.Qualified(Schema, macroPrefix+m.name) + strings.Join(list, ", ")
}

// Setup returns the statements that make the schema with its views and macros.
// They run once, in the publication that makes the tables of schema spiced and
// after it has.
func Setup() []string {
	return slices.Concat([]string{CreateSchema, ownColumns, reservedWords, typeTable(), typeFunctions()},
		statements(typeMacros()), statements(declaredViews),
		statements(baseViews()), statements(macros), statements(catalogViews()))
}

func statements[T interface{ sql() string }](objects []T) []string {
	list := make([]string, len(objects))
	for i, o := range objects {
		list[i] = o.sql()
	}
	return list
}

// baseViews are the views that macros read; catalogViews are the others that
// statements may read.
func baseViews() []view { return []view{typeView, settingsView()} }

func catalogViews() []view { return slices.Concat(systemViews, emptyViews(), standardViews) }

// Relations are the views that statements may read.
func Relations() []engine.Relation {
	var relations []engine.Relation
	for _, v := range slices.Concat(baseViews(), catalogViews()) {
		relations = append(relations, engine.Relation{Schema: Schema, Name: v.name})
	}
	return relations
}
