package engine

import (
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// TestTypesThatCannotBeReturned returns them as text, except next to a parameter without
// a type, where no type is known before the statement runs.
func TestTypesThatCannotBeReturned(t *testing.T) {
	db := fixture(t, Options{})
	for _, value := range []string{"1::VARIANT", "1::BIGNUM", "[1::VARIANT]", "{'a': [1::BIGNUM]}", "MAP {1: 1::VARIANT}"} {
		for sql, params := range map[string][]any{
			"SELECT 1 AS a, " + value + " AS v":   nil,
			"SELECT $1 AS a, " + value + " AS v":  {"b"},
			"SELECT " + value + " AS v, $1 AS a":  {"b"},
			"SELECT " + value + " AS v WHERE $1":  {true},
			"SELECT $1 AS a, " + value + "::TEXT": {"b"},
		} {
			_, err := run(t.Context(), db, Request{SQL: sql, Params: Params{Positional: params}})
			if strings.HasSuffix(sql, "TEXT") || params == nil || params[0] == true {
				if err != nil {
					t.Errorf("%s: %v", sql, err)
				}
				continue
			}
			if e := asError(t, err); e.Code != errcode.Argument || e.Message != `column "v" has a type that cannot be returned` {
				t.Errorf("%s: %v", sql, e)
			}
		}
	}
}

func TestMessagesAreBounded(t *testing.T) {
	db := fixture(t, Options{})
	long := strings.Repeat("ö", 10_000)
	for _, sql := range []string{
		"SELECT error(repeat('ö', 1000000) || '1')", "SELECT error(repeat('ö', 1000000) || i) FROM range(3) t(i)",
		`SELECT "` + long + `"`, `SELECT * FROM "` + long + `"`, `SELECT "` + long + `"()`, "SELECT '" + long + "'::INTEGER",
		"SELECT ctx('" + long + "')",
	} {
		_, err := texts(t.Context(), db, sql)
		if e := asError(t, err); len(e.Message) > MaxMessage || len(e.Hint) > MaxMessage || !strings.Contains(e.Message, "…") {
			t.Errorf("%.30s: a message of %d bytes, a hint of %d: %.100s", sql, len(e.Message), len(e.Hint), e.Message)
		}
	}
}

// TestPivotWithoutIn: DuckDB would read the values in a first statement.
func TestPivotWithoutIn(t *testing.T) {
	db := fixture(t, Options{})
	for sql, offset := range map[string]int{
		"PIVOT k ON i USING count(*)":                           0,
		"FROM (PIVOT k ON i USING count(*))":                    6,
		"WITH p AS (PIVOT k ON i USING count(*)) FROM p":        11,
		"PIVOT k ON i IN (1) USING count(*)":                    -1,
		"WITH p AS (PIVOT k ON i IN (1) USING count(*)) FROM p": -1,
		"SELECT 'pivot' AS \"pivot\"":                           -1,
	} {
		_, err := run(t.Context(), db, Request{SQL: sql})
		if offset < 0 {
			if err != nil {
				t.Errorf("%s: %v", sql, err)
			}
			continue
		}
		if e := asError(t, err); e.Code != errcode.Refused || e.Offset != offset || !strings.Contains(e.Hint, "ON year IN (") {
			t.Errorf("%s: %v", sql, e)
		}
	}
}

// TestHabitsOfOtherSystems: what is valid elsewhere is an error that says what to write.
func TestHabitsOfOtherSystems(t *testing.T) {
	db := fixture(t, Options{})
	for _, c := range []struct {
		sql, message, hint string
		code               errcode.Code
		offset             int
	}{
		{`SELECT i FROM k WHERE 'a' = "paid"`, `"paid" not found`, "text is written in single quotes: 'paid'", errcode.NotFound, 28},
		{"SELECT i FROM k WHERE 'a' = ‘paid’", `"‘paid’" not found`, "text is written in single quotes: 'paid'", errcode.NotFound, 28},
		{"SELECT i FROM k WHERE 'a' = “paid”", `not found`, "text is written in single quotes: 'paid'", errcode.NotFound, 28},
		{"SELECT `i` FROM k", "names are not quoted with `", "or without quotes", errcode.Parse, 9},
		{"SELECT i FROM `k`", "names are not quoted with `", "or without quotes", errcode.Parse, 14},
		{"SELECT TOP 3 i FROM k", `near "3"`, "write LIMIT 3 at the end, and no TOP", errcode.Parse, 11},
		{"SELECT * FROM order", `near "order"`, `write a name that is a keyword in double quotes: "order"`, errcode.Parse, 14},
		{"SELECT * FROM select", `near "select"`, `write a name that is a keyword in double quotes: "select"`, errcode.Parse, 14},
		{"SELECT date_trunc('month', at) FROM k", `near ")"`, `write a name that is a keyword in double quotes: "at"`, errcode.Parse, 29},
		{"SELECT i FROM k WHERE At >= 1 ORDER BY at", `near ">="`, `double quotes: "at"`, errcode.Parse, 25},
		{"SELECT i, at", `end of input`, `double quotes: "at"`, errcode.Parse, 12},
		{"SELECT max(end) FROM k", `near "end"`, `double quotes: "end"`, errcode.Parse, 11},
		{"SELECT i FROM k LIMIT 1, 2", "LIMIT takes one number", "LIMIT count OFFSET start", errcode.Parse, -1},
		{`SELECT i FROM k WHERE '{"a": 1}'::JSON @> '{}'`, "there is no operator @> for JSON", "which also finds it deeper inside", errcode.Argument, 39},
		{`SELECT i FROM k WHERE '{}' <@ '{"a": 1}'::JSON`, "there is no operator <@ for JSON", "which also finds it deeper inside", errcode.Argument, 27},
		{"SELECT i FROM k WHERE j ? 'a'", `near "?"`, "write json_exists(j, '$.a')", errcode.Parse, 24},
		{"SELECT i FROM k WHERE j ?| ['a']", `near "?"`, "for each member, with OR or AND", errcode.Parse, 24},
		{"SELECT j #> '{a,b}' FROM k", `near "#"`, "write json_extract(j, '$.a.b')", errcode.Parse, 9},
		{"SELECT j #>> '{a,b}' FROM k", `near "#"`, "write json_extract_string(j, '$.a.b')", errcode.Parse, 9},
		{"SHOW COLUMNS FROM k", `near "FROM"`, "write DESCRIBE and the name of the table", errcode.Parse, 13},
		{"SELECT 1 FROM information_schema.tables", `"information_schema.tables"`, "information_schema and pg_catalog have what is declared", errcode.NotFound, 14},
		{"SELECT 1 FROM pg_tables", `"pg_tables"`, "information_schema and pg_catalog have what is declared", errcode.NotFound, 14},
		{"SELECT 1 FROM sqlite_master", `"sqlite_master"`, "information_schema and pg_catalog have what is declared", errcode.NotFound, 14},
		{"SELECT 1 FROM spice.runtime.task_history", `"spice.runtime.task_history"`, "runtime.audit logs the statements", errcode.NotFound, 14},
		{"SELECT v.rowid FROM (SELECT i FROM k) v", `"rowid"`, "or write row_number() OVER ()", errcode.Argument, 7},
		{"SELECT ctid FROM k", `"ctid" not found`, "or write row_number() OVER ()", errcode.NotFound, 7},
		{"SELECT CAST(i AS integr) FROM k", "Type with name integr does not exist", `did you mean "integer"? docs/types.md lists the types`, errcode.NotFound, 17},
		{"SELECT CAST(i AS nothing) FROM k", "Type with name nothing does not exist", "docs/types.md lists the types", errcode.NotFound, 17},
	} {
		_, err := texts(t.Context(), db, c.sql)
		if e := asError(t, err); e.Code != c.code || e.Offset != c.offset || !strings.Contains(e.Message, c.message) || !strings.HasSuffix(e.Hint, c.hint) {
			t.Errorf("%s: %s at %d: %s; %s", c.sql, e.Code, e.Offset, e.Message, e.Hint)
		}
	}
}

// TestKeywordsThatAreNoColumns: the hint to quote a keyword is left out where quotes do not
// help, or the keyword is one.
func TestKeywordsThatAreNoColumns(t *testing.T) {
	db := fixture(t, Options{})
	for _, sql := range []string{
		"SELECT i FROM k LIMIT", "SELECT i FROM k ORDER", "SELECT FROM k", "SELECT i FROM k WHERE", "SELECT i FROM k WHERE i = ",
		"SELECT at at at FROM k", "SELECT", "at", "SELECT (i FROM k",
	} {
		_, err := texts(t.Context(), db, sql)
		if e := asError(t, err); strings.Contains(e.Hint, "double quotes") {
			t.Errorf("%s: %s; %s", sql, e.Message, e.Hint)
		}
	}
}

// TestPositionOfLiterals: the error about a literal that cannot be cast has its position, unless
// several literals could be meant.
func TestPositionOfLiterals(t *testing.T) {
	db := fixture(t, Options{})
	for sql, column := range map[string]int{
		"SELECT twice('x')":                  14,
		"SELECT 'y', twice('it''s')":         19,
		"SELECT 'x', twice('x')":             0,
		"SELECT CAST('a' || 'b' AS INTEGER)": 8, // DuckDB's
	} {
		_, err := texts(t.Context(), db, sql)
		if e := asError(t, err); e.Column != column || !strings.Contains(e.Message, "convert string") {
			t.Errorf("%s: %v at column %d, want %d", sql, e, e.Column, column)
		}
	}
}

// TestErrorsOfExtensions describes errors of extensions that read other databases.
func TestErrorsOfExtensions(t *testing.T) {
	for _, c := range []struct {
		kind, message string
		code          errcode.Code
		want, hint    string
	}{
		{"IO", `Failed to prepare COPY "COPY (SELECT \"id\" FROM b) TO STDOUT": ERROR:  all 16 connections to 127.0.0.1:5432 are in use; try again later, or raise params.connection_pool_size`, errcode.Busy, "all 16 connections to 127.0.0.1:5432 are in use", "try again later, or raise params.connection_pool_size"},
		{
			"Not implemented", "Unsupported expression type", errcode.Argument,
			"DuckDB's extension cannot send IS [NOT] DISTINCT FROM within OR to the server of a dataset",
			"write x = 5 for x IS NOT DISTINCT FROM 5, and (x <> 5 OR x IS NULL) for x IS DISTINCT FROM 5; or accelerate the dataset",
		},
		{"Not implemented", "Unsupported expression type FOO", errcode.Argument, "Unsupported expression type FOO", ""},
		{
			"Mismatch Type", "Invalid type in column \"x\": expected float or integer, found \"abc\" of type \"text\" instead.\n* " +
				"SET sqlite_all_varchar=true to load all", errcode.Execution, `Invalid type in column "x": expected float or integer, found "abc" of type "text" instead`,
			"correct the value in the SQLite file, where for example WHERE typeof(x) <> 'real' finds it in a column x of type REAL",
		},
	} {
		got := (&duckError{kind: c.kind, message: c.message, position: -1}).describe("", func(int) int { return -1 })
		if got.Code != c.code || got.Message != c.want || got.Hint != c.hint {
			t.Errorf("%s: got %s: %s; %s", c.message, got.Code, got.Message, got.Hint)
		}
	}
}

// Settings are locked, so that advice to set one is left out.
func TestErrorsDoNotAdviseSet(t *testing.T) {
	db := fixture(t, Options{})
	_, err := texts(t.Context(), db, "SELECT (SELECT unnest([1, 2]))")
	if e := asError(t, err); !strings.HasPrefix(e.Message, "More than one row returned by a subquery") || strings.Contains(e.Message+e.Hint, "SET") {
		t.Errorf("%q, %q", e.Message, e.Hint)
	}
}
