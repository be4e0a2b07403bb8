package functions

import (
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/spicepod"
)

// runTests runs the declared tests of a set.
func runTests(t *testing.T, set *Set, pod *spicepod.Pod) ([]TestResult, spicepod.Problems) {
	t.Helper()
	db := open(t)
	stage, err := db.Stage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stage.Close()
	return RunTests(t.Context(), stage, pod, set, TestOptions{})
}

// TestTestsRunOverColumns gives DuckDB a body as it was declared, over whose columns it errs.
func TestTestsRunOverColumns(t *testing.T) {
	const declared = `
- name: f
  from: sql
  signature: { args: [{ name: s, type: utf8 }], returns: int64 }
  body: (WITH nt AS (SELECT length(s) AS n) SELECT (SELECT count(*) FROM (SELECT n AS i FROM nt) WHERE s = 'b'))
  tests:
    - { args: { s: a }, returns: 0 }
    - { name: the only b, args: { s: b }, returns: 1 }
    - { args: { s: cc }, returns: 0 }
`
	db, pod := open(t), load(t, declared)
	set, problems := Compile(t.Context(), db, pod, relations, nil)
	results, more := runTests(t, set, pod)
	if len(problems)+len(more) > 0 || len(results) != 3 {
		t.Fatal(problems, more)
	}
	f := set.Get("f")
	f.body.text = f.Declared.Body
	if err := f.parse(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	results, problems = runTests(t, set, pod)
	const want = `function f: test "the only b" failed: over columns it returns other values than for constants: want 1, got`
	if got := show(problems); !strings.Contains(got, want) || results[1].Passed || !results[0].Passed || len(results) != 3 {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFunctionsThatHoldOverColumns(t *testing.T) {
	const declared = `
- { name: refuses_null, from: sql, signature: { args: [{ name: s, type: utf8 }], returns: int64 }, body: "CASE WHEN s IS NULL THEN error('s is NULL')::BIGINT ELSE length(s) END", tests: [{ args: { s: a }, returns: 1 }, { args: { s: null }, error: s is NULL }] }
- { name: noise, from: sql, volatility: volatile, signature: { args: [{ name: x, type: float64 }], returns: float64 }, body: x * (1 + 0 * random()), tests: [{ args: { x: 1 }, returns: 1 }] }
- name: kinds
  from: sql
  signature: { args: [{ name: l, type: list<int64> }, { name: s, type: 'struct<a:int64,b:utf8>' }, { name: d, type: 'decimal128(9,2)' }, { name: m, type: 'map<utf8,int64>' }], returns: utf8 }
  body: l::VARCHAR || s::VARCHAR || d::VARCHAR || m::VARCHAR
  tests:
    - { args: { l: [1, null], s: { a: 1, b: x }, d: 1.25, m: { k: 1 } }, returns: "[1, NULL]{'a': 1, 'b': x}1.25{k=1}" }
    - { args: { l: [], s: { a: null, b: null }, d: 0, m: {} }, returns: "[]{'a': NULL, 'b': NULL}0.00{}" }
- name: above
  from: sql
  kind: table
  signature: { tables: [{ name: numbers, columns: [{ name: value, type: int64 }] }], args: [{ name: least, type: int64 }], returns: [{ name: value, type: int64 }] }
  body: SELECT value FROM numbers WHERE value > (SELECT least FROM args)
  tests:
    - { args: { least: 1 }, tables: { numbers: [{ value: 1 }, { value: 2 }, { value: 3 }] }, rows: [[2], [3]] }
    - { args: { least: 2 }, tables: { numbers: [{ value: 1 }, { value: 2 }, { value: 3 }] }, rows: [[3]] }
    - { args: { least: 0 }, tables: { numbers: [{ value: 7 }] }, rows: [[7]] }
- { name: orders_of, from: sql, kind: table, signature: { args: [{ name: c, type: int64 }], returns: [{ name: id, type: int64 }] }, body: SELECT id FROM orders WHERE customer = (SELECT c FROM args), tests: [{ args: { c: 1 }, rows: [[1], [4], [7]] }, { args: { c: 9 }, rows: [] }] }
`
	db, pod := open(t), load(t, declared)
	set, problems := Compile(t.Context(), db, pod, relations, nil)
	results, more := runTests(t, set, pod)
	if len(problems)+len(more) > 0 || len(results) != 10 {
		t.Error(show(problems), show(more), len(results))
	}
}
