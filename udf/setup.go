package udf

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/functions/prelude"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Names of the views in schema spiced. Each shows the rows of a table that the caller may
// see.
const (
	tableUDFs      = "udfs"
	tableFunctions = "functions"
	tableArgs      = "function_args"
	tableLineage   = "lineage"
)

// rowsOf is the table with all rows of a view.
func rowsOf(view string) string { return "spiced." + view }

// HiddenHandler is the engine's handler of the views: its output is the JSON list of the
// functions that are hidden from the caller, in lower case.
const HiddenHandler = "spiced.hidden_functions"

// Serve sets the handler of the views. hidden returns the functions that are hidden from
// the caller of the context; nil: none.
func Serve(db *engine.DB, hidden func(context.Context) []string) {
	db.Handle(HiddenHandler, func(ctx context.Context, _ string) (string, error) {
		list := []string{}
		if hidden != nil {
			list = append(list, hidden(ctx)...)
		}
		text, err := json.Marshal(list)
		return string(text), err
	})
}

// Shows is a condition: the function of a column is not hidden from the caller.
func Shows(column string) string {
	return "lower(" + engine.Identifier(column) + ") NOT IN (SELECT unnest(" + HiddenList() + "))"
}

// FunctionsShown is a column of lists of functions without those that are hidden from the
// caller.
func FunctionsShown(column string) string {
	return "list_filter(" + engine.Identifier(column) + ", lambda f: NOT list_contains(" + HiddenList() + ", lower(f)))"
}

// HiddenList is the list of the functions that are hidden from the caller, in lower case.
func HiddenList() string {
	return "from_json(" + engine.Native + "(" + engine.Literal(HiddenHandler) + `, ''), '["VARCHAR"]')`
}

// introspection is a table of this package, with its columns in the order in which rows
// are inserted.
type introspection struct{ table, columns string }

// condition is which rows the caller may see.
func (t introspection) condition() string {
	switch t.table {
	case tableUDFs, tableFunctions:
		return Shows("name")
	case tableLineage:
		return Shows("function") + ` AND ("depends_on_kind" <> 'function' OR ` + Shows("depends_on") + ")"
	}
	return Shows("function")
}

// listing are the columns of list_udfs(), all VARCHAR, in their order.
var listing = []string{"name", "source", "kind", "volatility", "from", "description"}

// listingRow returns a row of list_udfs(). A column without a value is NULL.
func listingRow(values map[string]any) []any {
	row := make([]any, len(listing))
	for i, column := range listing {
		row[i] = values[column]
	}
	return row
}

var columns = []introspection{
	{tableUDFs, `"` + strings.Join(listing, `" VARCHAR, "`) + `" VARCHAR`},
	{tableFunctions, `"name" VARCHAR NOT NULL, "kind" VARCHAR, "volatility" VARCHAR, "from" VARCHAR, "description" VARCHAR,
		"arity" BIGINT, "arg_names" VARCHAR[], "arg_types" VARCHAR[], "arg_duckdb_types" VARCHAR[],
		"return_type" VARCHAR, "return_duckdb_type" VARCHAR, "signature" VARCHAR, "as_tool" BOOLEAN, "deterministic" BOOLEAN,
		"checksum" VARCHAR, "file" VARCHAR, "line" BIGINT, "execution" VARCHAR, "body" VARCHAR, "state" VARCHAR,
		"tests" BIGINT`},
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
	return []*engine.Function{{
		Name:      functions.ListUDFs,
		Signature: "list_udfs() → table(" + strings.Join(listing, ", ") + ")", Table: true,
	}}
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
		rows := engine.Qualified(engine.Core, rowsOf(t.table))
		for _, sql := range []string{
			"CREATE TABLE " + rows + " (" + t.columns + ")",
			"CREATE VIEW " + engine.Qualified(engine.System, t.table) + " AS SELECT * FROM " + rows + " WHERE " + t.condition(),
		} {
			if err := tx.Exec(sql); err != nil {
				return fmt.Errorf("table %s: %w", t.table, err)
			}
		}
	}
	if err := tx.Exec(ListingMacro()); err != nil {
		return fmt.Errorf("list_udfs: %w", err)
	}
	return tx.Insert(engine.Core, rowsOf(tableUDFs), builtinRows(builtins))
}

// Listed is the view that list_udfs() reads; statements cannot.
var Listed = engine.Relation{Schema: engine.System, Name: tableUDFs}

// ListingMacro is the statement that creates list_udfs(). A declared function may have the
// name of a prelude function.
func ListingMacro() string {
	return fmt.Sprintf(`CREATE OR REPLACE MACRO %s() AS TABLE
		SELECT "%s" FROM %s AS u
		WHERE "source" = 'user' OR lower("name") NOT IN (SELECT lower("name") FROM %[3]s WHERE "source" = 'user')
		ORDER BY lower("name")`,
		engine.Qualified(engine.Public, functions.ListUDFs), strings.Join(listing, `", "`),
		engine.Qualified(engine.System, tableUDFs))
}

// builtinRows lists the functions of DuckDB and the prelude, and list_udfs, once each.
func builtinRows(builtins *engine.Builtins) [][]any {
	row := func(name string, description any) []any {
		return listingRow(map[string]any{"name": name, "source": "builtin", "description": description})
	}
	rows := [][]any{row(functions.ListUDFs, "Lists every function.")}
	for _, m := range prelude.Macros {
		rows = append(rows, row(m.Name, m.Description))
	}
	for _, name := range builtins.Names() {
		if !prelude.Has(name) && plainName(name) {
			rows = append(rows, row(name, nil))
		}
	}
	return rows
}

// plainName excludes operators, such as + and !~~, and DuckDB's own helpers.
func plainName(name string) bool {
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" && !strings.HasPrefix(name, "__internal")
}
