package pgcatalog

import (
	_ "embed"
	"strings"
)

// ownColumns keeps the columns of the introspection tables, which are the same
// for the life of the runtime: to ask DuckDB takes twenty times as long. The
// table udfs is what list_udfs() reads; statements do not.
const ownColumns = `CREATE TABLE spice.pgcatalog.own_columns AS
	SELECT table_name AS relation, column_name AS name, column_index AS position, data_type AS type
	FROM duckdb_columns() WHERE database_name = 'spice' AND schema_name = 'spiced' AND table_name <> 'udfs'`

// declaredViews list what the catalog shows, for the other views; systemViews are the
// catalogs of pg_catalog that have rows, and standardViews the views of information_schema
// that have rows.
var (
	declaredViews = viewsOf(declaredSQL)
	systemViews   = viewsOf(systemSQL)
	standardViews = viewsOf(standardSQL)

	//go:embed declared.sql
	declaredSQL string
	//go:embed system.sql
	systemSQL string
	//go:embed standard.sql
	standardSQL string
)

// viewsOf returns the views of a file of statements CREATE VIEW.
func viewsOf(file string) []view {
	var views []view
	for _, statement := range strings.Split(file, "\nCREATE VIEW ")[1:] {
		name, rest, _ := strings.Cut(statement, " AS\n")
		query, _, _ := strings.Cut(rest, ";\n")
		views = append(views, view{name, query})
	}
	return views
}

// empty are the catalogs that have no rows here: there are no triggers, partitions, sequences,
// domains, publications or foreign servers, and there are no views of other sessions or
// statistics. The columns are PostgreSQL's; a type is written before the columns that have it.
//
//go:embed empty.txt
var empty string

// emptyViews are the views without rows.
func emptyViews() []view {
	var views []view
	for line := range strings.Lines(empty) {
		name, columns, _ := strings.Cut(line, ": ")
		views = append(views, view{name, "SELECT " + nullColumns(columns) + " WHERE false"})
	}
	return views
}

// nullColumns selects NULL for each of the columns of an empty catalog.
func nullColumns(columns string) string {
	var list []string
	for group := range strings.SplitSeq(columns, ";") {
		typ, names, _ := strings.Cut(strings.TrimSpace(group), " ")
		for name := range strings.SplitSeq(names, ",") {
			list = append(list, "NULL::"+typ+` AS "`+strings.TrimSpace(name)+`"`)
		}
	}
	return strings.Join(list, ", ")
}
