package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// Where PostgreSQL is served, its catalog answers over HTTP and Flight SQL, too, and has what
// the caller may see; what it does not have is refused as it was written.
func TestCatalogOfPostgresOverEveryProtocol(t *testing.T) {
	t.Parallel()
	dir := hostileFolder(t)
	write(t, filepath.Join(dir, "spicepod.yaml"), strings.Replace(hostilePod, "query: { timeout: 300ms", "query: { timeout: 1m", 1))
	p := start(t, dir, sqlProtocols("--watch=false")...)
	for _, protocol := range p.protocolsFor("reader", readerKey) {
		if protocol.name == "tool" { // models have tools for it
			continue
		}
		t.Run(protocol.name, func(t *testing.T) {
			for _, sql := range []string{
				"SELECT 1 / (count(*) = 1)::INT FROM information_schema.tables WHERE table_name = 'k' AND table_schema = 'public'",
				"SELECT column_name FROM information_schema.columns WHERE table_name LIKE 'k'",
				"SELECT relname FROM pg_catalog.pg_class WHERE relname = 'k'",
				"WITH t AS (SELECT table_name FROM information_schema.tables) SELECT count(*) FROM t",
			} {
				if got := protocol.run(t.Context(), sql); got.err != nil {
					t.Errorf("%s: %v", sql, got.err)
				}
			}
			for sql, want := range map[string]string{
				"SELECT * FROM information_schema.nosuch":      "nosuch",
				"SELECT nosuch FROM information_schema.tables": "nosuch",
				"SELECT * FROM duckdb_columns()":               "duckdb_columns",
			} {
				if got := protocol.run(t.Context(), sql); got.err == nil || !strings.Contains(got.err.Error(), want) {
					t.Errorf("%s: %v", sql, got.err)
				}
			}
		})
	}
	// Another function of PostgreSQL stays unknown over HTTP: the dialect there is DuckDB's.
	if got := p.do("POST", "/v1/sql", "SELECT overlay('abc' PLACING 'x' FROM 2)", "X-API-Key", readerKey); got.status != 400 {
		t.Errorf("overlay: got %d %s", got.status, got.body)
	}
	if got := p.do("POST", "/v1/sql", "SELECT nosuch FROM information_schema.tables", "X-API-Key", readerKey).body; !strings.Contains(got,
		"there are columns such as table_") {
		t.Errorf("got %s", got)
	}
}
