package functions

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"
	"time"
)

const tested = `
- name: haversine_km
  from: sql
  signature:
    args: [{ name: lat1, type: float64 }, { name: lon1, type: float64 }, { name: lat2, type: float64 }, { name: lon2, type: float64, default: 0 }]
    returns: float64
  body: 6371 * acos(cos(radians(lat1)) * cos(radians(lat2)) * cos(radians(lon2) - radians(lon1)) + sin(radians(lat1)) * sin(radians(lat2)))
  tests:
    - { name: San Francisco to New York, args: { lat1: 37.7749, lon1: -122.4194, lat2: 40.7128, lon2: -74.0060 }, returns: 4129.086, tolerance: 0.001 }
    - { args: { lat1: 0, lon1: 0, lat2: 0 }, returns: 0 }
    - { args: { lat1: null, lon1: 0, lat2: 0 }, returns: null }
    - { name: wrong, args: { lat1: 0, lon1: 0, lat2: 0, lon2: 1 }, returns: 5 }
    - { name: no such argument, args: { lat1: 0, lon1: 0, lat2: 0, x: 1 }, returns: 5 }
    - { name: missing, args: { lat1: 0 }, returns: 5 }
- name: hash_it
  from: sql
  signature: { args: [{ name: x, type: int64 }], returns: int64 }
  body: x * 2654435761
  tests:
    - { args: { x: 9007199254740993 }, error: execution_error }
    - { args: { x: 9007199254740993 }, error: overflow }
    - { args: { x: 3 }, returns: 7963307283 }
    - { name: no error, args: { x: 3 }, error: overflow }
    - { name: other error, args: { x: 9007199254740993 }, error: timeout }
    - { name: unexpected, args: { x: 9007199254740993 }, returns: 1 }
    - { name: bad argument, args: { x: 1.5 }, returns: 1 }
- { name: pair, from: sql, signature: { args: [{ name: x, type: int64 }], returns: 'struct<a:int64, b:list<utf8>>' }, body: "{'a': x, 'b': ['é', NULL]}",
    tests: [{ args: { x: 3 }, returns: { a: 3, b: [é, null] } }] }
- name: scale
  from: sql
  kind: table
  signature:
    tables: [{ name: numbers, columns: [{ name: value, type: int64 }] }]
    args: [{ name: factor, type: int64 }]
    returns: [{ name: scaled, type: int64 }, { name: d, type: date32 }]
  body: SELECT hash_it(value) // 2654435761 * (SELECT factor FROM args) AS scaled, DATE '2024-02-29' AS d FROM numbers ORDER BY value DESC
  tests:
    - { args: { factor: 3 }, tables: { numbers: [{ value: 1 }, { value: 2 }] }, rows: [{ scaled: 3, d: '2024-02-29' }, [6, '2024-02-29']] }
    - { name: empty, args: { factor: 3 }, rows: [] }
    - { name: short, args: { factor: 3 }, tables: { numbers: [{ value: 1 }, { value: 2 }] }, rows: [[3, '2024-02-29']] }
- { name: slow, from: sql, signature: { args: [], returns: int64 }, body: "(SELECT count(*) FROM range(10000000000) a, range(1000) b)", tests: [{ name: endless, returns: 1 }] }
`

func TestDeclaredTests(t *testing.T) {
	db := open(t)
	pod := load(t, tested)
	set, problems := Compile(t.Context(), db, pod, relations, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	stage, err := db.Stage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stage.Close()
	slow := func(f *Function) bool { return f.Name == "slow" }
	results, problems := RunTests(t.Context(), stage, pod, set, TestOptions{
		Timeout: time.Minute, Only: func(f *Function) bool { return !slow(f) },
	})
	timeout := 300 * time.Millisecond
	late, faults := RunTests(t.Context(), stage, pod, set, TestOptions{Timeout: timeout, Only: slow})
	for len(faults) > 1 && timeout < time.Minute { // a busy machine could not make the function
		timeout *= 4
		late, faults = RunTests(t.Context(), stage, pod, set, TestOptions{Timeout: timeout, Only: slow})
	}
	results, problems = append(results, late...), append(problems, faults...)
	var b strings.Builder
	for _, r := range results {
		if !r.Passed {
			b.WriteString(r.Function + " " + r.Name + ": " + r.Message + "\n")
		}
	}
	want := `haversine_km wrong: want 5.0, got 111.19492664454764
haversine_km no such argument: args: haversine_km(lat1 float64, lon1 float64, lat2 float64, lon2 float64 := 0) → float64 has no argument "x"
haversine_km missing: args: "lon1" is missing
hash_it no error: want error "overflow", got 7963307283
hash_it other error: want an error with code timeout, got execution_error: Overflow in multiplication of INT64 (9007199254740993 * 2654435761)!
hash_it unexpected: want 1, got error Overflow in multiplication of INT64 (9007199254740993 * 2654435761)!
hash_it bad argument: args: x: 1.5 is not a valid int64
scale short: want (3, 2024-02-29), got (6, 2024-02-29), (3, 2024-02-29)
slow endless: took longer than ` + timeout.String() + "\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	if len(problems) != 9 || problems[0].Line != 16 || problems[0].Component != "function haversine_km" {
		t.Error(problems)
	}
	if _, err := query(t, db, "SELECT hash_it(1)"); err == nil {
		t.Error("a test published its function")
	}
	var text, junit bytes.Buffer
	if err := WriteText(&text, results); err != nil || !strings.Contains(text.String(), "FAIL  haversine_km  3/6") ||
		!strings.Contains(text.String(), "18 tests, 9 failed") {
		t.Error(err, text.String())
	}
	if err := WriteJUnit(&junit, results); err != nil {
		t.Error(err)
	}
	var suite junitSuite
	if err := xml.Unmarshal(junit.Bytes(), &suite); err != nil || suite.Tests != 18 || suite.Failures != 9 || suite.Cases[3].Failure == nil {
		t.Error(err, junit.String())
	}
}

// TestStagedCalls: on a stage, calls in bodies reach the staged functions in
// every way the engine writes them.
func TestStagedCalls(t *testing.T) {
	db := open(t)
	yaml := "- { name: minus, from: sql, signature: { args: [{ name: x, type: float64 }, { name: y, type: float64 }], returns: float64 }, body: x - x + y - y }\n"
	for i, body := range []string{
		"minus(random(), random())", "minus('3', 4)", "minus(y := random(), x := 1)", "(random()).minus(2)",
		"minus(minus(random(), 1), random())",
	} {
		yaml += "- { name: f" + itoa(i) + ", from: sql, signature: { args: [], returns: float64 }, body: \"" + body + "\", tests: [{ returns: 0 }] }\n"
	}
	pod := load(t, yaml)
	set, problems := Compile(t.Context(), db, pod, relations, nil)
	stage, err := db.Stage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stage.Close()
	results, failed := RunTests(t.Context(), stage, pod, set, TestOptions{})
	if len(results) != 5 || len(problems)+len(failed) > 0 {
		t.Errorf("%d results\n%v\n%v", len(results), problems, failed)
	}
	if _, problems := publish(t, db, pod, nil); len(problems) > 0 {
		t.Error(problems)
	}
	if got, err := query(t, db, "SELECT count(*) FILTER (f0() + f1() + f2() + f3() + f4() <> 0) FROM range(1000)"); got != "0" || err != nil {
		t.Error(got, err)
	}
}

func TestOnlyChangedFunctionsAreTested(t *testing.T) {
	db := open(t)
	yaml := one("a", "x", "x + 1") +
		"- { name: b, from: sql, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: a(x) + 1, tests: [{ args: { x: 1 }, returns: 3 }] }\n"
	first, _ := publish(t, db, load(t, yaml), nil)
	run := func(yaml string) int {
		pod := load(t, yaml)
		set, problems := Compile(t.Context(), db, pod, relations, first)
		stage, err := db.Stage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer stage.Close()
		results, failed := RunTests(t.Context(), stage, pod, set, TestOptions{Prev: first})
		if len(problems)+len(failed) > 0 {
			t.Error(problems, failed)
		}
		return len(results)
	}
	if n := run(yaml); n != 0 {
		t.Error(n, "tests ran for nothing")
	}
	if n := run(strings.Replace(yaml, "x + 1", "1 + x", 1)); n != 1 {
		t.Error(n, "tests ran for a changed callee")
	}
}
