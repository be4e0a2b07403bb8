package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/extension"
	"github.com/spiced-sql/spiced/internal/test/exttest"
)

// TestFunctionsOfExtensionsAreRefused calls each function that each extension adds, and
// checks that none adds an overload to a function of DuckDB, which statements may call.
func TestFunctionsOfExtensionsAreRefused(t *testing.T) {
	const functions = "SELECT DISTINCT lower(function_name) || '|' || function_type || '|' || parameter_types::VARCHAR AS f FROM duckdb_functions()"
	plain := open(t, engine.Options{})
	own := texts(t, plain, functions)
	for _, known := range extension.Known {
		name := known.Name
		t.Run(name, func(t *testing.T) {
			var needed []engine.Extension
			for _, e := range extension.Needed(name) {
				needed = append(needed, exttest.Find(t, e))
			}
			db := open(t, engine.Options{Extensions: needed})
			if err := db.Extension(name); err != nil {
				t.Fatal(err)
			}
			added := 0
			for f := range texts(t, db, functions) {
				called, rest, _ := strings.Cut(f, "|")
				if own[f] {
					continue
				}
				added++
				if plain.Builtins().Has(called) {
					t.Errorf("the extension adds an overload: %s", f)
				}
				for _, sql := range []string{
					fmt.Sprintf("FROM %s('a', 'b', 'c')", called),
					fmt.Sprintf("SELECT %s('a')", called),
					fmt.Sprintf(`SELECT * FROM "%s"('a') t, range(3)`, strings.ToUpper(called)),
					fmt.Sprintf("SELECT 1 WHERE EXISTS (FROM system.main.%s('a'))", called),
					fmt.Sprintf("SELECT ('a').%s()", called),
				} {
					_, err := db.Query(context.Background(), engine.Request{SQL: sql})
					if err == nil || engine.AsError(err).Code != errcode.Refused {
						t.Errorf("%s (%s): got %v", sql, rest, err)
					}
				}
			}
			if added == 0 && name != "httpfs" {
				t.Error("the extension has no functions")
			}
			if !db.Builtins().Has("postgres_query") && name == "postgres_scanner" {
				t.Error("a declared function may have the name of one of an extension")
			}
		})
	}
}

// TestExtensionsThatCannotBeLoaded are no faults of the database.
func TestExtensionsThatCannotBeLoaded(t *testing.T) {
	db := open(t, engine.Options{Extensions: []engine.Extension{{Name: "missing"}, {Name: "broken", Path: "testdata/nothing.duckdb_extension"}}})
	for name, want := range map[string]string{"missing": "it is not installed", "broken": "nothing.duckdb_extension", "other": "it was not loaded"} {
		if err := db.Extension(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// texts returns the first column of a query, as a set.
func texts(t *testing.T, db *engine.DB, query string) map[string]bool {
	t.Helper()
	list, err := tables.Texts(t.Context(), db, query)
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]bool{}
	for _, s := range list {
		set[s] = true
	}
	return set
}

func open(t *testing.T, o engine.Options) *engine.DB {
	t.Helper()
	db, err := engine.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}
