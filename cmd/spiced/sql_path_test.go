package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestSQLSearchPath: unqualified names are looked up in the schemas of search_path,
// which must be declared; current_user is the principal.
func TestSQLSearchPath(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", "version: v1\nkind: Spicepod\nname: path\n"+
		"runtime: { auth: { api-key: { principals: [{ name: ada, key: "+readerKey+" }] } } }\n"+
		"datasets:\n  - { name: t, from: \"duckdb:path.db\" }\n  - { name: sales.u, from: \"duckdb:u\", params: { duckdb_open: path.db } }\n")
	duckFile(t, filepath.Join(dir, "path.db"), "CREATE TABLE f.t AS SELECT 1 AS a", "CREATE TABLE f.u AS SELECT 2 AS a")
	p := start(t, dir, sqlProtocols()...)
	c := pgxConnect(t, p, readerKey, "sslmode=disable&search_path=sales")
	one := func(sql string) string {
		t.Helper()
		var text string
		rows, err := c.Query(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		if err == nil {
			text, err = pgx.CollectOneRow(rows, pgx.RowTo[string])
		}
		if err != nil {
			return err.Error()
		}
		return text
	}
	for _, tt := range []struct{ sql, want string }{
		{"SELECT a::text FROM u", "2"},
		{"SELECT u.a || '' || t.a FROM u, t", "21"},
		{"WITH u AS (SELECT 7 AS a) SELECT a::text FROM u", "7"},
		{"SELECT current_schema()", "sales"},
		{"SELECT current_setting('search_path')", "sales"},
		{"SELECT pg_catalog.current_setting('SEARCH_PATH', true)", "sales"},
		{"SELECT current_setting('DateStyle')", "ISO, MDY"},
		{"SHOW search_path", "sales"},
		{"SELECT current_user", "ada"},
	} {
		if got := one(tt.sql); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.sql, got, tt.want)
		}
	}
	for sql, state := range map[string]string{"SET search_path = nosuch": "3F000", "SET search_path = sales, nosuch": "3F000"} {
		_, err := c.Exec(t.Context(), sql)
		if err == nil || !strings.Contains(err.Error(), state) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if _, err := c.Exec(t.Context(), "SET search_path = public"); err != nil {
		t.Fatal(err)
	}
	if got := one("SELECT a::text FROM u"); !strings.Contains(got, "42P01") {
		t.Errorf("without the path: %s", got)
	}
}
