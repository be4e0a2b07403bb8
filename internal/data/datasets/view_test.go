package datasets

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/data/views"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

func TestViews(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a,b\n1,x\n2,y\n")
	w.file("v.sql", "-- the newest\nSELECT * FROM v1 WHERE a > 1; -- end\n")
	w.ok(`datasets: [{name: t, from: 'file:a.csv'}]
views:
  - {name: v1, sql: SELECT * FROM t, description: all of it, columns: [{name: b, description: the b}]}
  - {name: s.v2, sql_ref: v.sql}
  - {name: v3, sql: "WITH t AS (SELECT 9 AS a) SELECT t.a, v.b FROM t JOIN public.t v ON v.a = 1"}
  - {name: v4, sql: "SELECT a, (WITH w AS (SELECT length(b) AS n) SELECT (SELECT count(*) FROM (SELECT n FROM w) WHERE b = 'y')) AS n FROM t ORDER BY a"}
`)
	w.want("SELECT * FROM v1", "1|x, 2|y")
	w.want("SELECT * FROM spice.s.v2", "2|y")
	w.want("SELECT * FROM v3", "9|x")
	w.want("SELECT * FROM v4", "1|0, 2|1") // DuckDB's own values are of all rows: 1|0, 2|2
	// A CTE of the caller does not replace a relation that a view reads.
	w.want("WITH t AS (SELECT 5 AS a, 'z' AS b) SELECT * FROM v1", "1|x, 2|y")
	s := w.status("v1")
	if s.Kind != "view" || s.Description != "all of it" || s.Columns[1].Description != "the b" || s.Columns[0].Type != "BIGINT" {
		t.Errorf("%+v", s)
	}
	if want := []engine.Relation{{Schema: "public", Name: "t"}}; !reflect.DeepEqual(w.views[0].Uses.Relations, want) {
		t.Errorf("uses %+v", w.views[0].Uses)
	}
	if !strings.Contains(w.views[0].DDL()[0], `FROM spice."public"."t"`) {
		t.Errorf("DDL %q", w.views[0].DDL())
	}
}

func TestViewUsesFunctions(t *testing.T) {
	w := newWorld(t)
	pod := w.load("views: [{name: v, sql: \"SELECT twice('3') AS x, TWICE(a) FROM t, rows_of('u')\"}]\n")
	names := engine.NewCatalog(engine.Contents{Relations: []engine.Relation{
		{Schema: "public", Name: "t"},
		{Schema: "public", Name: "u"},
	}, Functions: []*engine.Function{
		{Name: "twice", Signature: "twice(x int64) → int64", Args: []engine.FunctionArg{{Name: "x", Type: "BIGINT", Numeric: true}}},
		{Name: "rows_of", Signature: "rows_of(u)", Table: true, Args: []engine.FunctionArg{{Name: "u", Table: true}}},
	}})
	v, problem := views.Compile(t.Context(), w.db, pod, 0, names, nil)
	if problem != nil {
		t.Fatal(problem)
	}
	want := views.Uses{Relations: []engine.Relation{{Schema: "public", Name: "t"}, {Schema: "public", Name: "u"}}, Functions: []string{"twice", "rows_of"}}
	if !reflect.DeepEqual(v.Uses, want) {
		t.Errorf("uses %+v, want %+v", v.Uses, want)
	}
	if ddl := v.DDL()[0]; !strings.Contains(ddl, "CAST('3' AS BIGINT)") {
		t.Errorf("DDL %s", ddl)
	}
	again, _ := views.Compile(t.Context(), w.db, pod, 0, names, v)
	if again != v {
		t.Error("an equal view was compiled again")
	}
}

func TestViewProblems(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a,b\n1,x\n")
	cases := []struct{ view, want string }{
		{"name: v\n    sql: |\n      SELECT *\n      FROM tt", `9:12: view v: table "tt" is not declared in the Spicepod`},
		{"name: v\n    sql: |\n      SELECT a,\n        nope FROM t", `9:9: view v: Referenced column "nope" not found`},
		{
			"name: v\n    sql: |\n      SELECT (WITH w AS (SELECT lenth(b) AS n)\n        SELECT (SELECT n FROM (FROM w) WHERE b = 'x')) FROM t",
			"8:33: view v: Scalar Function with name lenth does not exist",
		},
		{
			"name: v\n    sql: |\n      SELECT (WITH w AS (SELECT random() AS r, a)\n        SELECT (SELECT r FROM (FROM w) WHERE b = 'x')) FROM t",
			"8:20: view v: DuckDB may return the values of other rows for the CTE w",
		},
		{"name: v\n    sql: SELECT FROM WHERE", "syntax error"},
		{"name: v\n    sql: SELECT * FROM read_csv('/etc/passwd')", `function "read_csv" is refused`},
		{"name: v\n    sql: SELECT 1; SELECT 2", "expected one statement, got 2"},
		{"name: v\n    sql: DROP TABLE t", "DROP statements are refused"},
		{"name: v\n    sql: SELECT $1", "a view takes no parameters"},
		{"name: v\n    sql: SHOW TABLES", "a view is one SELECT"},
		{"name: v\n    sql: SELECT nosuch(a) FROM t", "nosuch"},
		{"name: v\n    sql: SELECT a FROM t\n    columns: [{name: aa}]", `has no column "aa"`},
		{"name: v\n    sql: SELECT a FROM t\n    acceleration: {refresh_mode: append}", "a view is always refreshed as a whole"},
		{"name: core.v\n    sql: SELECT 1", `schema "core" is reserved`},
	}
	for _, c := range cases {
		t.Run(c.view, func(t *testing.T) {
			w.t = t
			problems := w.reload("datasets: [{name: t, from: 'file:a.csv'}]\nviews:\n  - " + c.view + "\n")
			if len(problems) != 1 || !strings.Contains(problems[0].Error(), c.want) {
				t.Fatalf("got %v, want %s", problems, c.want)
			}
			w.want("SELECT a FROM t", "1")
			if len(w.m.Status()) != 1 {
				t.Error("the view is listed as served")
			}
		})
	}
}

func TestAcceleratedView(t *testing.T) {
	for _, mode := range []string{"memory", "file"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t)
			w.file("a.csv", "a\n1\n")
			yaml := "datasets: [{name: t, from: 'file:a.csv'}]\nviews: [{name: v, sql: SELECT a + 1 AS x FROM t, acceleration: {mode: " + mode + "}}]\n"
			w.ok(yaml)
			if err := w.refresh("v", refresh.Override{}); err != nil {
				t.Fatal(err)
			}
			w.file("a.csv", "a\n5\n")
			w.want("SELECT * FROM v", "2")
			if s := w.status("v"); s.State != Ready || s.Rows != 1 {
				t.Errorf("%+v", s)
			}
			w.ok(yaml)
			w.want("SELECT * FROM v", "2")
			if err := w.refresh("v", refresh.Override{}); err != nil {
				t.Fatal(err)
			}
			w.want("SELECT * FROM v", "6")
			w.file("a.csv", "b\n5\n")
			if err := w.refresh("v", refresh.Override{}); err == nil {
				t.Error("no error")
			}
			w.want("SELECT * FROM v", "6")
			w.ok("")
			w.drain()
			if n := dataFiles(t, w); n != 0 {
				t.Errorf("%d files of data are left", n)
			}
		})
	}
}

func TestSystemTables(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a,b\n1,x\n")
	w.reload(`datasets:
  - {name: t, from: 'file:a.csv', description: the t, acceleration: {mode: file}, columns: [{name: a, description: the a}]}
  - {name: gone, from: 'file:gone.csv'}
views: [{name: v, sql: SELECT a FROM t}]
`)
	if err := w.commit(func(tx *engine.Tx) error { return Fill(tx, w.m.Status()) }); err != nil {
		t.Fatal(err)
	}
	w.want(`SELECT name, kind, "from", description, file_format, accelerated, mode, state, rows, columns, last_refresh, line FROM spiced.datasets ORDER BY name`,
		"gone|dataset|file:gone.csv|NULL|NULL|false|NULL|error|NULL|0|NULL|6, "+
			"t|dataset|file:a.csv|the t|csv|true|file|ready|1|2|2026-01-02 03:04:05|5, "+
			"v|view|NULL|NULL|NULL|false|NULL|ready|NULL|1|NULL|7")
	w.want("SELECT error LIKE '%does not exist%' FROM spiced.datasets WHERE name = 'gone'", "true")
	w.want("SELECT dataset, position, name, type, description FROM spiced.dataset_columns ORDER BY 1, 2",
		"t|1|a|BIGINT|the a, t|2|b|VARCHAR|NULL, v|1|a|BIGINT|NULL")
}

func TestCloseEndsRefreshes(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a\n1\n")
	w.ok("datasets: [{name: t, from: 'file:a.csv', acceleration: {}}]\n")
	began := make(chan struct{})
	w.onPublish = func(ctx context.Context, _ func(*engine.Tx) error) error {
		close(began)
		<-ctx.Done()
		return ctx.Err()
	}
	if err := w.m.Refreshes().Refresh(t.Context(), "t", refresh.Override{}); err != nil {
		t.Fatal(err)
	}
	<-began
	w.m.Close()
	if got := w.status("t").Error; got != context.Canceled.Error() {
		t.Error(got)
	}
	if err := w.refresh("t", refresh.Override{}); err == nil {
		t.Error("a refresh after Close")
	}
}
