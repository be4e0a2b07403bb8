package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sharedData is the folder of the real flights, which are no part of the
// repository.
func sharedData(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../../shared/data")
	if err != nil {
		t.Fatal(err)
	}
	if given := os.Getenv("SPICED_DATA"); given != "" {
		dir = given
	}
	if _, err := os.Stat(filepath.Join(dir, "flights-20k.json")); err != nil {
		t.Skip("the flights are not here: set SPICED_DATA to a folder with them, see examples/flights")
	}
	return dir
}

// Every one of 20,000 published distances agrees with haversine_km.
func TestFlightsAgree(t *testing.T) {
	t.Parallel()
	pod := strings.ReplaceAll(read(t, "../../examples/flights/spicepod.yaml"), "${env:SPICED_DATA}", sharedData(t))
	p := start(t, folder(t, "spicepod.yaml", pod))
	for statement, want := range map[string]string{
		"SELECT flights, agreeing FROM distance_check": `[{"flights":20000,"agreeing":20000}]`,
		`SELECT count(*) AS n FROM flights f JOIN airports o ON o.iata = f.origin JOIN airports d ON d.iata = f.destination
		 WHERE abs(haversine_km(o.latitude, o.longitude, d.latitude, d.longitude) / 1.609344 - f.distance) <= 0.01 * f.distance + 1`: `[{"n":20000}]`,
		// A hand-written copy of the body gives the same, bit for bit.
		`SELECT count(*) AS n FROM airports a, (SELECT * FROM airports LIMIT 20) b
		 WHERE haversine_km(a.latitude, a.longitude, b.latitude, b.longitude) IS DISTINCT FROM 6371 * acos(
		   cos(radians(a.latitude)) * cos(radians(b.latitude)) * cos(radians(b.longitude) - radians(a.longitude)) +
		   sin(radians(a.latitude)) * sin(radians(b.latitude))) AND a.iata <> b.iata`: `[{"n":0}]`,
		"SELECT count(*) AS n, max(haversine_km(latitude, longitude, latitude, longitude)) < 0.001 AS zero FROM airports": `[{"n":3376,"zero":true}]`,
		"SELECT round(haversine_km(37.7749, -122.4194, 40.7128, -74.0060), 3) AS km":                                      `[{"km":4129.086}]`,
		"SELECT count(*) > 0 AS some FROM routes_from('sea')":                                                             `[{"some":true}]`,
		"SELECT count(*) > 0 AS some FROM delays_by_origin":                                                               `[{"some":true}]`,
		"SELECT count(*) AS n FROM seattle_months":                                                                        `[{"n":12}]`,
	} {
		if got := p.sql(statement); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", statement, got, want)
		}
	}
}

// An argument is computed once per call, however often the body names it.
func TestArgumentsAreComputedOnce(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", podHead+`functions:
  - name: f
    from: sql
    signature: { args: [{ name: x, type: float64 }], returns: float64 }
    body: x - x
`))
	got := p.sql("SELECT count(*) AS n FROM (SELECT f(random()) AS d FROM range(1000000)) WHERE d = 0")
	if got != `[{"n":1000000}]` {
		t.Errorf("got %s", got)
	}
}

// attacks are the statements of testdata/hostile that have to be refused.
func attacks(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../testdata/hostile/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal("no hostile statements", err)
	}
	expand := strings.NewReplacer(`\\`, `\`, `\r`, "\r", "{ROOT}", t.TempDir())
	var all []string
	for _, f := range files {
		if slices.Contains([]string{"allowed.sql", "endless.sql", "memory.sql"}, filepath.Base(f)) {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range strings.Split("\n"+string(text), "\n-- want: ")[1:] {
			want, sql, _ := strings.Cut(entry, "\n")
			if !strings.Contains(want, "ok") && !strings.HasPrefix(want, ".*") {
				all = append(all, expand.Replace(sql))
			}
		}
	}
	return all
}

func TestHostileStatementsOverHTTP(t *testing.T) {
	t.Parallel()
	pod := strings.Replace(numbers, "runtime: {", "runtime: { query: { timeout: 200ms, isolation: none },", 1) + `  - name: twice
    from: sql
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    body: 2 * x
`
	p := start(t, folder(t, "spicepod.yaml", pod, "k.csv", numbersCSV))
	all := attacks(t)
	if len(all) < 100 {
		t.Errorf("only %d hostile statements", len(all))
	}
	for _, statement := range all {
		if r := p.do("POST", "/v1/sql", statement); r.status < 400 || r.status >= 500 {
			t.Errorf("%s\ngot %d: %s", statement, r.status, r.body)
		}
	}
	for _, statement := range []string{
		"SELECT count(*) FROM range(1000000) a, range(1000000) b",
		"WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r) SELECT count(*) FROM r",
	} {
		p.want(p.do("POST", "/v1/sql", statement), 504, "took longer than 200ms")
	}
	if got := p.sql("SELECT f(41) AS x"); got != `[{"x":42}]` {
		t.Errorf("afterwards: %s", got)
	}
	if got := p.metric("spiced_http_panics_total"); got != "0" {
		t.Errorf("%s panics", got)
	}
}

var block = regexp.MustCompile("(?s)```(sh|sql)\n(.*?)```")

// TestExamplesReadme runs what the README of the quickstart shows.
func TestExamplesReadme(t *testing.T) {
	t.Parallel()
	const dir = "../../examples/quickstart"
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	p := start(t, dir)
	for _, b := range block.FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(b[2]) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "  #")
			line = strings.TrimSpace(line)
			switch {
			case line == "" || line == "spiced .": // the latter is p
				continue
			case b[1] == "sql":
				p.want(p.do("POST", "/v1/sql", line), 200)
			case line == "spiced test .":
				if status, out := spiced(t, "test", dir); status != 0 {
					t.Errorf("%s: %d, %s", line, status, out)
				}
			default:
				query := regexp.MustCompile(`^spiced sql \. -c '(.*)'$`).FindStringSubmatch(line)
				if query == nil {
					t.Errorf("the test does not know how to run %s", line)
					continue
				}
				if status, out := spiced(t, "sql", dir, "-c", query[1]); status != 0 {
					t.Errorf("%s: %d, %s", line, status, out)
				}
			}
			ran++
		}
	}
	if ran < 5 {
		t.Errorf("only %d commands ran", ran)
	}
}
