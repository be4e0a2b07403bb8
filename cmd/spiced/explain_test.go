package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestExplainCalls compares the calls of a service that EXPLAIN estimates and EXPLAIN ANALYZE
// counts with the rows that the service gets.
func TestExplainCalls(t *testing.T) {
	t.Parallel()
	service, dir := newRowService(t), t.TempDir()
	var rows strings.Builder
	rows.WriteString("id,k\n")
	for i := range 10_000 {
		fmt.Fprintf(&rows, "%d,%d\n", i, i%37)
	}
	write(t, filepath.Join(dir, "rows.csv"), rows.String())
	function := func(name, path, returns string) string {
		return "- {name: " + name + ", from: 'http://" + service.address + path +
			"', volatility: stable, signature: {args: [{name: x, type: int64}], returns: " + returns +
			"}, params: {allowed_endpoint_ranges: [127.0.0.1]}}\n"
	}
	write(t, filepath.Join(dir, "spicepod.yaml"), `version: v1
kind: Spicepod
name: calls
runtime: {functions: {enabled: true}}
datasets:
- {name: t, from: 'file:rows.csv', acceleration: {enabled: true}}
- {name: live, from: 'file:rows.csv'}
views:
- {name: doubled, sql: 'SELECT id, twice(k) AS double FROM t'}
functions:
- {name: quad, from: sql, signature: {args: [{name: x, type: int64}], returns: int64}, body: twice(x) * 2}
`+function("twice", "/scalar", "int64")+strings.Replace(function("squares", "/table", "[{name: n, type: int64}, {name: square, type: int64}]"), "from:",
		"kind: table, from:", 1))
	p := start(t, dir, "--postgres", "127.0.0.1:0")

	calls := func(sql string) string {
		t.Helper()
		var out []struct {
			Key   string `json:"explain_key"`
			Value string `json:"explain_value"`
		}
		if err := json.Unmarshal([]byte(p.sql(sql)), &out); err != nil {
			t.Fatal(err)
		}
		if last := out[len(out)-1]; last.Key == "function_calls" {
			return strings.TrimSpace(last.Value)
		}
		return ""
	}
	for sql, want := range map[string]string{
		"SELECT twice(k) FROM t":                                                         "twice: ~10,000 calls",
		"SELECT twice(k) AS double, id FROM t":                                           "twice: ~10,000 calls",
		"SELECT max(quad(k)) FROM t":                                                     "twice: ~10,000 calls",
		"SELECT double, count(*) FROM doubled GROUP BY double":                           "twice: ~10,000 calls",
		"SELECT id FROM doubled":                                                         "twice: ~0 calls",
		"SELECT twice(k) FROM (SELECT k FROM t LIMIT 10)":                                "twice: ~10 calls",
		"SELECT twice(7) AS seven, id FROM t":                                            "twice: ~1 call",
		"SELECT twice(twice(k)) AS x FROM t":                                             "twice: ~20,000 calls",
		"SELECT twice(k) AS x FROM t UNION ALL SELECT twice(k) AS x FROM t WHERE id = 7": "twice: ~10,001 calls",
		"SELECT count(*) FROM t a JOIN t b ON twice(a.id) = b.k":                         "twice: ~10,000 calls",
		"SELECT count(*) FROM t a JOIN t b ON twice(a.id + b.id) > 3":                    "twice: ~100,000,000 calls",
		"SELECT id, square FROM t, squares(k)":                                           "squares: ~38 calls",
		"SELECT square, twice(square) AS v FROM squares(3)":                              "squares: ~1 call\ntwice: ~1 call",
		"SELECT list_transform([k], lambda x: twice(x)) AS l FROM t":                     "twice: no estimate: DuckDB estimates no rows there",
		"SELECT twice(k) AS x FROM live": "twice: no estimate: CSV and JSON files are read in place; accelerate " +
			"their datasets",
		"SELECT 1": "",
	} {
		if got := calls("EXPLAIN " + sql); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", sql, got, want)
		}
	}
	if requests, _, _ := service.take(); requests > 0 {
		t.Errorf("EXPLAIN sent %d requests", requests)
	}
	if got := calls("EXPLAIN ANALYZE SELECT twice(k) AS x FROM t"); got != "twice: 37 calls for 10,000 rows (~10,000 calls)" {
		t.Error(got)
	}
	if _, rows, different := service.take(); rows != 37 || different != 37 {
		t.Errorf("the service got %d rows, %d different", rows, different)
	}
	var parsed []struct {
		Function    string
		Estimated   int64 `json:"estimated_calls"`
		Rows, Calls int
	}
	if err := json.Unmarshal([]byte(calls("EXPLAIN (ANALYZE, FORMAT json) SELECT twice(k) AS x FROM t")), &parsed); err != nil || len(parsed) != 1 ||
		parsed[0].Function != "twice" || parsed[0].Estimated != 10_000 || parsed[0].Rows != 10_000 || parsed[0].Calls != 37 {
		t.Errorf("%+v, %v", parsed, err)
	}
	const statement = "EXPLAIN SELECT twice(k) AS x FROM t WHERE id < "
	p.want(p.do("POST", "/v1/sql", `{"sql":"`+statement+`$1","parameters":[5]}`, "Content-Type", "application/json"),
		200, "twice: no estimate: the statement has parameters; write their values")
	conn, err := p.dialPostgres(t.Context(), "x", "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	over, err := conn.Query(t.Context(), statement+"5", pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := pgx.CollectRows(over, func(row pgx.CollectableRow) (key string, err error) {
		var value string
		err = row.Scan(&key, &value)
		return key, err
	})
	if err != nil || strings.Join(keys, " ") != "physical_plan function_calls" {
		t.Errorf("over PostgreSQL: %q, %v", keys, err)
	}
	if status, out := spiced(t, "sql", "--url", p.url, "-c", statement+"5"); status != 0 || !strings.Contains(out, "twice: ~") {
		t.Errorf("in the terminal: %d\n%s", status, out)
	}
}

// TestExplainOfHiddenFunctions: a plan shows the bodies of all functions that a statement calls,
// directly or not.
func TestExplainOfHiddenFunctions(t *testing.T) {
	t.Parallel()
	const all, few = "key-of-all-0123456789", "key-of-few-0123456789"
	p := start(t, folder(t, "spicepod.yaml", `version: v1
kind: Spicepod
name: hidden
runtime:
  functions: { enabled: true }
  auth: { api-key: { principals: [ { name: all, key: `+all+` }, { name: few, key: `+few+` } ] } }
functions:
  - { name: inner, from: sql, available: "ctx.principal == 'all'", signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: "x + 4242" }
  - { name: outer_one, from: sql, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: "inner(x)" }
`))
	const explain = "EXPLAIN SELECT outer_one(i) FROM range(3) t(i)"
	p.want(p.do("POST", "/v1/sql", explain, "X-API-Key", all), 200, "4242")
	r := p.do("POST", "/v1/sql", explain, "X-API-Key", few)
	p.want(r, 400, "EXPLAIN is refused for functions that call others which are hidden from you")
	if strings.Contains(r.body, "4242") || strings.Contains(r.body, "inner") {
		t.Error(r.body)
	}
	p.want(p.do("POST", "/v1/sql", "SELECT outer_one(1) AS v", "X-API-Key", few), 200, `[{"v":4243}]`)
}
