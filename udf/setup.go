package udf

import (
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/functions/prelude"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Names of the tables in schema spiced.
const (
	tableUDFs      = "udfs"
	tableFunctions = "functions"
	tableArgs      = "function_args"
	tableLineage   = "lineage"
)

// columns are the tables' columns, in the order in which rows are inserted.
var columns = []struct{ table, columns string }{
	{tableUDFs, `"name" VARCHAR NOT NULL, "source" VARCHAR NOT NULL, "kind" VARCHAR, "volatility" VARCHAR, "from" VARCHAR, "description" VARCHAR`},
	{tableFunctions, `"name" VARCHAR NOT NULL, "kind" VARCHAR, "volatility" VARCHAR, "from" VARCHAR, "description" VARCHAR,
		"arity" BIGINT, "arg_names" VARCHAR[], "arg_types" VARCHAR[], "arg_duckdb_types" VARCHAR[],
		"return_type" VARCHAR, "return_duckdb_type" VARCHAR, "signature" VARCHAR, "as_tool" BOOLEAN, "deterministic" BOOLEAN,
		"checksum" VARCHAR, "file" VARCHAR, "line" BIGINT, "execution" VARCHAR, "body" VARCHAR, "state" VARCHAR`},
	{tableArgs, `"function" VARCHAR NOT NULL, "position" BIGINT, "name" VARCHAR, "type" VARCHAR, "duckdb_type" VARCHAR,
		"description" VARCHAR, "required" BOOLEAN, "default" VARCHAR`},
	{tableLineage, `"function" VARCHAR NOT NULL, "depends_on_kind" VARCHAR, "depends_on" VARCHAR, "column" VARCHAR, "file" VARCHAR, "line" BIGINT`},
}

// Relations are the tables of this package that statements may read.
func Relations() []engine.Relation {
	return []engine.Relation{
		{Schema: engine.System, Name: tableFunctions},
		{Schema: engine.System, Name: tableArgs},
		{Schema: engine.System, Name: tableLineage},
	}
}

// Functions are the functions of this package, for the guard.
func Functions() []*engine.Function {
	return []*engine.Function{{Name: functions.ListUDFs, Signature: "list_udfs() → table(name, source, kind, volatility, from, description)", Table: true}}
}

// Prelude creates the macros of the prelude. Call it once at start; see [Setup].
func Prelude(tx *engine.Tx) error {
	for _, m := range prelude.Macros {
		if err := tx.Exec(m.SQL()); err != nil {
			return fmt.Errorf("prelude: %s: %w", m.Name, err)
		}
	}
	return nil
}

// Setup creates the prelude, the catalogue's tables and list_udfs(), and lists DuckDB's
// functions. Call it once, in the first publication.
func Setup(tx *engine.Tx, builtins *engine.Builtins) error {
	if err := Prelude(tx); err != nil {
		return err
	}
	for _, t := range columns {
		if err := tx.Exec("CREATE TABLE " + engine.Qualified(engine.System, t.table) + " (" + t.columns + ")"); err != nil {
			return fmt.Errorf("table %s: %w", t.table, err)
		}
	}
	// A declared function may have the name of a prelude function.
	listing := fmt.Sprintf(`CREATE OR REPLACE MACRO %s() AS TABLE
		SELECT "name", "source", "kind", "volatility", "from", "description" FROM %s AS u
		WHERE "source" = 'user' OR lower("name") NOT IN (SELECT lower("name") FROM %[2]s WHERE "source" = 'user')
		ORDER BY lower("name")`,
		engine.Qualified(engine.Public, functions.ListUDFs), engine.Qualified(engine.System, tableUDFs))
	if err := tx.Exec(listing); err != nil {
		return fmt.Errorf("list_udfs: %w", err)
	}
	return tx.Insert(engine.System, tableUDFs, builtinRows(builtins))
}

// builtinRows lists the functions of DuckDB and the prelude, and list_udfs, once each.
func builtinRows(builtins *engine.Builtins) [][]any {
	rows := [][]any{{functions.ListUDFs, "builtin", nil, nil, nil, "Lists every function."}}
	for _, m := range prelude.Macros {
		rows = append(rows, []any{m.Name, "builtin", nil, nil, nil, m.Description})
	}
	for _, name := range builtins.Names() {
		if !prelude.Has(name) && plainName(name) {
			rows = append(rows, []any{name, "builtin", nil, nil, nil, nil})
		}
	}
	return rows
}

// plainName excludes operators, such as + and !~~, and DuckDB's own helpers.
func plainName(name string) bool {
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" && !strings.HasPrefix(name, "__internal")
}
