package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// endsDuckDB is a Spicepod in which DuckDB 1.5.5 ends its process when it plans the body of
// ends, and of calls, which calls it.
const endsDuckDB = `version: v1
kind: Spicepod
name: trial
runtime: { functions: { enabled: true } }
datasets:
  - { name: t, from: "file:t.csv" }
functions:
  - { name: least_of, from: sql, signature: { args: [{ name: b, type: bool }, { name: x, type: utf8 }], returns: utf8 }, body: "(SELECT min(s) FROM t)" }
  - { name: smallest, from: sql, signature: { args: [{ name: x, type: utf8 }], returns: utf8 }, body: "(WITH w AS (SELECT s FROM t) SELECT min(s) FROM w)" }
  - { name: below, from: sql, signature: { args: [{ name: x, type: utf8 }], returns: utf8 }, body: "(SELECT max(s) FROM t WHERE s < x)" }
  - { name: ends, from: sql, signature: { args: [{ name: x, type: utf8 }], returns: utf8 }, body: "BODY" }
  - { name: calls, from: sql, signature: { args: [{ name: x, type: utf8 }], returns: utf8 }, body: "ends(x)" }
`

const (
	fatalBody = "least_of((true IN (SELECT b FROM t)), below(smallest(x)))"
	goodBody  = "(SELECT least_of(b, c) FROM (SELECT (true IN (SELECT b FROM t)) AS b, below(a) AS c FROM (SELECT smallest(x) AS a)))"
	endsFault = "DuckDB ends its process (a fault of DuckDB) when it plans this with the functions that it calls"
)

// TestABodyThatEndsDuckDBIsNotServed: it is a fault of the function, with the form that
// works; others serve, and after an edit the last good version does.
func TestABodyThatEndsDuckDBIsNotServed(t *testing.T) {
	t.Parallel()
	dir := folder(t, "t.csv", "b,s\ntrue,x\nfalse,y\n", "spicepod.yaml", strings.Replace(endsDuckDB, "BODY", fatalBody, 1))
	for _, command := range []string{"validate", "lint"} {
		status, out := spiced(t, command, dir)
		if status == 0 || !strings.Contains(out, "function ends: "+endsFault) || !strings.Contains(out, "waiting for it: function calls") {
			t.Errorf("%s: exit status %d: %s", command, status, out)
		}
	}
	p := startProcess(t, dir, "--watch=false")
	p.want(p.do("POST", "/v1/sql", "SELECT smallest('a') AS v"), 200, `[{"v":"x"}]`)
	p.want(p.do("POST", "/v1/sql", "SELECT ends('a')"), 400, "function ends is not served: "+endsFault)

	edit := func(body string) reply {
		write(t, filepath.Join(dir, "spicepod.yaml"), strings.Replace(endsDuckDB, "BODY", body, 1))
		return p.do("POST", "/v1/reload", "")
	}
	p.want(edit(goodBody), 200)
	p.want(p.do("POST", "/v1/sql", "SELECT calls('a') AS v"), 200, `[{"v":"x"}]`)
	p.want(edit(fatalBody), 200, endsFault)
	p.want(p.do("POST", "/v1/sql", "SELECT calls('a') AS v"), 200, `[{"v":"x"}]`)
}
