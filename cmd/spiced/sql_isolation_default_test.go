package main

import (
	"path/filepath"
	"testing"
)

// TestStatementsAreIsolatedByDefault: without keys and settings, a statement that
// ends its process costs its caller one error, also where it reads tables of the runtime or
// PostgreSQL's catalog.
func TestStatementsAreIsolatedByDefault(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml",
		"version: v1\nkind: Spicepod\nname: q\ndatasets: [{ name: notes, from: 'file:notes.csv', columns: [{ name: note, full_text_search: { enabled: true } }] }]\n")
	write(t, filepath.Join(dir, "notes.csv"), "note\nred\n")
	p := start(t, dir, "--postgres", "127.0.0.1:0", "--watch=false")
	const crashes = "json_structure((repeat('[', 100000) || repeat(']', 100000))::JSON)"
	const crash = "SELECT " + crashes
	for range 2 {
		p.want(p.do("POST", "/v1/sql", crash), 400, "the statement ended its worker")
		p.want(p.do("POST", "/v1/sql", "SELECT 1 AS a"), 200, `[{"a":1}]`)
	}
	p.want(p.do("POST", "/v1/sql", crash), 400, "the statement has ended its worker 2 times")
	p.want(p.do("POST", "/v1/sql", "SELECT json_structure('[1]') AS s FROM spiced.models"), 200, "[]")
	p.want(p.do("POST", "/v1/sql", crash+" FROM list_udfs() LIMIT 1"), 400, "the statement ended its worker")
	p.want(p.do("POST", "/v1/sql", "SELECT json_structure('[1]') AS s, pgcatalog.compat_pg_get_userbyid(10) AS owner FROM pgcatalog.pg_namespace LIMIT 1"), 200,
		`[{"s":["UBIGINT"],"owner":"spice"}]`)
	p.want(p.do("POST", "/v1/sql", crash+", pgcatalog.nothing() FROM pgcatalog.pg_class"), 400, `there is no function "nothing"`)
	p.want(p.do("POST", "/v1/sql", crash+" FROM pgcatalog.pg_class LIMIT 1"), 400, "the statement ended its worker")
	p.want(p.do("POST", "/v1/tools/search:invoke", `{"args": {"text": "red", "where": "note = 'red'"}}`), 200, `"note":["red"]`)
	p.want(p.do("POST", "/v1/tools/search:invoke", `{"args": {"text": "red", "where": "`+crashes+` IS NULL"}}`), 200, "the statement ended its worker")
}
