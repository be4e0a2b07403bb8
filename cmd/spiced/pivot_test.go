package main

import (
	"strings"
	"testing"
)

// TestPivotWithoutValues: the columns are the values that the caller's rows have, in the order
// of the values, as in DuckDB, over each protocol.
func TestPivotWithoutValues(t *testing.T) {
	t.Parallel()
	const ann, bob = "key-of-ann-0123456789", "key-of-bob-0123456789"
	var many strings.Builder
	many.WriteString("n\n")
	for i := range 1001 {
		many.WriteString(strings.Repeat("x", i+1) + "\n")
	}
	p := start(t, folder(t, "sales.csv", "owner,year,part,v\nann,9,a,1\nann,10,b,2\nbob,11,a,4\nann,,a,8\n", "many.csv", many.String(),
		"spicepod.yaml", `version: v1
kind: Spicepod
name: pivots
runtime: { auth: { api-key: { principals: [ { name: ann, key: `+ann+` }, { name: bob, key: `+bob+` } ] } } }
datasets:
  - { name: sales, from: "file:sales.csv", row_filter: owner = ctx('principal') }
  - { name: many, from: "file:many.csv" }
`), sqlProtocols()...)
	for _, c := range []struct{ key, sql, want string }{
		{ann, "PIVOT (SELECT year, v FROM sales) ON year USING sum(v)", `[{"9":1,"10":2}]`},
		{bob, "PIVOT (SELECT year, v FROM sales) ON year USING sum(v)", `[{"11":4}]`},
		{
			ann, "WITH s AS (SELECT year AS y, part, v FROM sales WHERE year > 0) PIVOT s ON y, part USING sum(v) ORDER BY 1 LIMIT 1",
			`[{"9_a":1,"9_b":null,"10_a":null,"10_b":2}]`,
		},
		{ann, "PIVOT (SELECT part, year, v FROM sales) ON year IN (9), part USING sum(v)", `[{"9_a":1,"9_b":null}]`},
	} {
		p.want(p.do("POST", "/v1/sql", c.sql, "X-API-Key", c.key), 200, c.want)
	}
	for sql, want := range map[string]string{
		"PIVOT sales ON year % 2 USING sum(v)":                               "PIVOT without IN is refused",
		"PIVOT sales ON nothing USING sum(v)":                                `"nothing" not found`,
		"SELECT * FROM (PIVOT sales ON year USING count(*))":                 "PIVOT without IN is refused",
		"PIVOT (FROM many SELECT n, n AS m LIMIT 40) ON n, m USING count(*)": "the values of m would make more than 1000 columns",
		"PIVOT many ON n USING count(*)":                                     "the values of n would make more than 1000 columns",
	} {
		if r := p.do("POST", "/v1/sql", sql, "X-API-Key", ann); r.status < 400 || !strings.Contains(r.body, want) {
			t.Errorf("%s: %d %s", sql, r.status, r.body)
		}
	}
	conn := pgxConnect(t, p, ann, "sslmode=disable")
	rows, err := conn.Query(t.Context(), "PIVOT (SELECT year, v FROM sales) ON year USING sum(v)")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if d := rows.FieldDescriptions(); len(d) != 2 || d[0].Name != "9" || d[1].Name != "10" {
		t.Errorf("over PostgreSQL: %v", d)
	}
}
