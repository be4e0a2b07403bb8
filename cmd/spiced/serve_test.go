package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

const podHead = "version: v1\nkind: Spicepod\nname: pod\nruntime: { functions: { enabled: true } }\n"

// numbers is a Spicepod with a live dataset, an accelerated one, and f(x),
// which adds 1.
const numbers = podHead + `datasets:
  - { name: k, from: "file:k.csv" }
  - { name: kept, from: "file:k.csv", acceleration: { enabled: true } }
functions:
  - name: f
    from: sql
    description: Adds one.
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    body: x + 1
`

const numbersCSV = "i,s\n1,a\n2,\n"

func TestServeSQL(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", numbers, "k.csv", numbersCSV))
	for statement, want := range map[string]string{
		"SELECT f(41) AS x":                       `[{"x":42}]`,
		"SELECT i, s FROM k ORDER BY i":           `[{"i":1,"s":"a"},{"i":2,"s":null}]`,
		"SELECT count(*) AS n FROM kept":          `[{"n":2}]`,
		"SELECT 9223372036854775807 AS x":         `[{"x":9223372036854775807}]`,
		"SELECT (2::HUGEINT ** 126)::HUGEINT x":   `[{"x":85070591730234615865843651857942052864}]`,
		"SELECT 'NaN'::DOUBLE AS x, NULL AS y":    `[{"x":null,"y":null}]`,
		"SELECT f(NULL) AS x":                     `[{"x":null}]`,
		"SELECT 1 AS x WHERE false":               `[]`,
		"SELECT f(9223372036854775807)":           "Overflow",
		"SELECT f('a')":                           "Could not convert",
		"SELECT nosuch FROM k":                    "nosuch",
		"SELECT 1; SELECT 2":                      "one statement",
		"INSERT INTO kept VALUES (3, 'c')":        "is read-only",
		"SELECT * FROM read_csv('/etc/passwd')":   "refused",
		"SELECT DATE '2026-01-02' AS d":           `[{"d":"2026-01-02"}]`,
		"SELECT 0.10::DECIMAL(4, 2) AS x":         `[{"x":0.10}]`,
		"SELECT [1, NULL] AS l, {'a': f(1)} AS s": `[{"l":[1,null],"s":{"a":2}}]`,
	} {
		if got := p.sql(statement); !strings.Contains(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", statement, got, want)
		}
	}
	for body, want := range map[string]string{
		`{"sql":"SELECT f($1) AS x","parameters":[41]}`:                                 `[{"x":42}]`,
		`{"sql":"SELECT f(?) AS x","parameters":[41]}`:                                  `[{"x":42}]`,
		`{"sql":"SELECT f(:n) AS x","parameters":{"n":41}}`:                             `[{"x":42}]`,
		`{"sql":"SELECT f($n) AS x","parameters":{"n":41}}`:                             `[{"x":42}]`,
		`{"sql":"SELECT $1 AS x","parameters":["'; DROP TABLE k"]}`:                     `[{"x":"'; DROP TABLE k"}]`,
		`{"sql":"SELECT $1 AS x","parameters":[9223372036854775807]}`:                   `[{"x":9223372036854775807}]`,
		`{"sql":"SELECT i FROM k WHERE s IS NOT DISTINCT FROM $1","parameters":[null]}`: `[{"i":2}]`,
	} {
		p.want(p.do("POST", "/v1/sql", body, "Content-Type", "application/json"), 200, want)
	}
}

func TestServeForms(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", numbers, "k.csv", numbersCSV))
	for accept, want := range map[string]string{
		"":                                    `[{"i":1,"s":"a"},{"i":2,"s":null}]`,
		"application/json":                    `[{"i":1,"s":"a"},{"i":2,"s":null}]`,
		"application/vnd.spiceai.sql.v1+json": `"row_count":2`,
		"application/x-ndjson":                "{\"i\":1,\"s\":\"a\"}\n{\"i\":2,\"s\":null}\n",
		"text/csv":                            "i,s\n1,a\n2,\n",
		"text/plain":                          "| 2 | NULL |\n",
		"application/vnd.apache.arrow.stream": "\xff\xff\xff\xff",
	} {
		r := p.do("POST", "/v1/sql", "SELECT i, s FROM k ORDER BY i", "Accept", accept)
		p.want(r, 200, want)
		if accept != "" && !strings.HasPrefix(r.header.Get("Content-Type"), accept) {
			t.Errorf("asked for %s, got %s", accept, r.header.Get("Content-Type"))
		}
		if r.header.Get("X-Spiced-Generation") == "" {
			t.Error("no generation")
		}
	}
}

func TestServeLists(t *testing.T) {
	t.Parallel()
	broken := numbers + "  - { name: g, from: sql, signature: { args: [], returns: int64 }, body: nosuch() }\n"
	p := start(t, folder(t, "spicepod.yaml", broken, "k.csv", numbersCSV))
	p.want(p.do("GET", "/health", ""), 200, "ok")
	p.want(p.do("GET", "/v1/ready", ""), 200, "ready")
	p.want(p.do("GET", "/v1/functions", ""), 200, `"name":"f"`, `"description":"Adds one."`)
	if r := p.do("GET", "/v1/functions?format=csv", ""); strings.Count(r.body, "\n") != 2 {
		t.Errorf("functions: %s", r.body)
	}
	p.want(p.do("GET", "/v1/datasets?status=true", ""), 200, `"name":"k"`, `"status":"Ready"`, `"acceleration_enabled":true`)
	p.want(p.do("GET", "/v1/spicepods", ""), 200, `"datasets_count":2`, `"functions_count":2`)
	p.want(p.do("GET", "/v1/nosuch", ""), 404)
	p.want(p.do("GET", "/v1/sql", ""), 405)
	status := p.do("GET", "/v1/status", "")
	p.want(status, 200, `"name":"http"`, `"status":"Ready"`, `"name":"function g"`, `"line":14,"column":74`, `no function \"nosuch\"`)
	if n := strings.Count(status.body, "no function"); n != 1 {
		t.Errorf("the problem is shown %d times: %s", n, status.body)
	}
	var openAPI struct{ OpenAPI string }
	if err := json.Unmarshal([]byte(p.do("GET", "/v1/openapi.json", "").body), &openAPI); err != nil || openAPI.OpenAPI == "" {
		t.Errorf("openapi: %v", err)
	}
	if got := p.metric("spiced_functions"); got != "1" {
		t.Errorf("spiced_functions %q", got)
	}
}

func TestServeEdits(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", numbers, "k.csv", numbersCSV)
	pod := filepath.Join(dir, "spicepod.yaml")
	p := start(t, dir)
	write(t, pod, strings.Replace(numbers, "x + 1", "x + 2", 1))
	p.eventually("to take the edit", func() bool { return p.sql("SELECT f(0) AS x") == `[{"x":2}]` })

	write(t, pod, strings.Replace(numbers, "x + 1", "x +\n", 1))
	p.eventually("to show the fault", func() bool {
		return strings.Contains(p.do("GET", "/v1/status", "").body, `"component":"function f"`)
	})
	p.want(p.do("GET", "/v1/status", ""), 200, `"file":"spicepod.yaml"`, `"line":13,"column":14`, `"status":"Error"`)
	if got := p.sql("SELECT f(0) AS x"); got != `[{"x":2}]` {
		t.Errorf("the old version is gone: %s", got)
	}

	write(t, pod, "version: v1\nkind: [\n")
	r := p.do("POST", "/v1/reload", "")
	p.want(r, 422, `"file":"spicepod.yaml"`, "stays in service")
	if got := p.sql("SELECT f(0) AS x"); got != `[{"x":2}]` {
		t.Errorf("the old version is gone: %s", got)
	}
	write(t, pod, numbers)
	p.want(p.do("POST", "/v1/reload", ""), 200, `"problems":[]`)
	if got := p.sql("SELECT f(0) AS x"); got != `[{"x":1}]` {
		t.Errorf("after the repair: %s", got)
	}
}

func TestServeWithoutWatching(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", numbers, "k.csv", numbersCSV)
	p := start(t, dir, "--watch=false")
	write(t, filepath.Join(dir, "spicepod.yaml"), strings.Replace(numbers, "x + 1", "x + 2", 1))
	if got := p.sql("SELECT f(0) AS x"); got != `[{"x":1}]` {
		t.Errorf("before the reload: %s", got)
	}
	p.want(p.do("POST", "/v1/reload", ""), 200, `"changed":["function f"]`)
	if got := p.sql("SELECT f(0) AS x"); got != `[{"x":2}]` {
		t.Errorf("after the reload: %s", got)
	}
}

func TestServeRefreshes(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", numbers, "k.csv", numbersCSV)
	p := start(t, dir, "--watch=false")
	write(t, filepath.Join(dir, "k.csv"), numbersCSV+"3,c\n")
	if got := p.sql("SELECT count(*) AS n FROM kept"); got != `[{"n":2}]` {
		t.Errorf("before the refresh: %s", got)
	}
	p.want(p.do("POST", "/v1/datasets/kept/acceleration/refresh", ""), 201, "Dataset refresh triggered for kept.")
	p.eventually("to have the new rows", func() bool { return p.sql("SELECT count(*) AS n FROM kept") == `[{"n":3}]` })
	p.want(p.do("POST", "/v1/datasets/k/acceleration/refresh", ""), 400, "does not have acceleration enabled")
	p.want(p.do("POST", "/v1/datasets/nosuch/acceleration/refresh", ""), 404, "not found")
	p.want(p.do("POST", "/v1/datasets/kept/acceleration/refresh", `{"refresh_mod":"full"}`), 400, "refresh_mode")
}
