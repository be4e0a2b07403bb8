package main

import "testing"

// TestStatementsAreIsolatedByDefault: without keys and settings, a statement that
// ends its process costs its caller one error, also where it reads tables of the runtime.
func TestStatementsAreIsolatedByDefault(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", "version: v1\nkind: Spicepod\nname: q\n"), "--watch=false")
	const crash = "SELECT json_structure((repeat('[', 100000) || repeat(']', 100000))::JSON)"
	for range 2 {
		p.want(p.do("POST", "/v1/sql", crash), 400, "the statement ended its worker")
		p.want(p.do("POST", "/v1/sql", "SELECT 1 AS a"), 200, `[{"a":1}]`)
	}
	p.want(p.do("POST", "/v1/sql", crash), 400, "the statement has ended its worker 2 times")
	p.want(p.do("POST", "/v1/sql", "SELECT json_structure('[1]') AS s FROM spiced.models"), 200, "[]")
	p.want(p.do("POST", "/v1/sql", crash+" FROM list_udfs() LIMIT 1"), 400, "the statement ended its worker")
}
