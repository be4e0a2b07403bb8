package builtin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// TestForbiddenTablesAreNotThere tries to read what the caller may not.
func TestForbiddenTablesAreNotThere(t *testing.T) {
	w := newWorld(t)
	may := []string{"orders", "docs"}
	for _, query := range []string{
		"SELECT * FROM secret",
		"SELECT * FROM SECRET",
		`SELECT * FROM "secret"`,
		"SELECT * FROM public.secret",
		`SELECT * FROM "spice"."public"."secret"`,
		"FROM secret",
		"SELECT (SELECT word FROM secret)",
		"SELECT * FROM orders WHERE customer IN (SELECT word FROM secret)",
		"SELECT * FROM orders WHERE EXISTS (FROM secret WHERE word LIKE 't%')",
		"WITH orders AS (SELECT * FROM secret) SELECT * FROM orders",
		"WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n FROM r, secret) SELECT * FROM r",
		"WITH secret AS (SELECT * FROM secret) SELECT * FROM secret",
		"SELECT * FROM hr.orders",
		"SELECT * FROM spice.hr.orders",
		"SELECT * FROM orders JOIN secret ON true",
		"SELECT * FROM orders, LATERAL (SELECT * FROM secret)",
		"SELECT * FROM orders UNION ALL BY NAME SELECT * FROM secret",
		"SELECT * FROM query('SELECT * FROM secret')",
		"SELECT * FROM query_table('secret')",
		"SELECT * FROM lines('secret')",
		"SELECT * FROM lines(secret)",
		"SELECT * FROM lines((SELECT word AS v FROM secret))",
		"DESCRIBE secret",
		"SUMMARIZE secret",
		"EXPLAIN ANALYZE SELECT * FROM secret",
		"SHOW TABLES",
		"SELECT * FROM information_schema.tables",
		"SELECT * FROM duckdb_tables()",
		"SELECT * FROM spiced.functions",
		"SELECT * FROM spice.spiced.functions",
		"TABLE secret",
		"FROM orders PIVOT (max((SELECT word FROM secret)) FOR customer IN ('a'))",
	} {
		args, _ := json.Marshal(map[string]string{"query": query})
		got := w.get("sql", string(args), may...)
		if !strings.HasPrefix(got, "error: ") || strings.Contains(got, "top") || strings.Contains(got, "hidden") {
			t.Errorf("%s: %.200s", query, got)
		}
	}
	// The error is that of a table that does not exist.
	forbidden := w.refuses("sql", `{"query": "SELECT * FROM secret"}`, errcode.NotFound, "", may...)
	missing := w.refuses("sql", `{"query": "SELECT * FROM sacred"}`, errcode.NotFound, "", may...)
	if strings.ReplaceAll(forbidden.Error(), "secret", "sacred") != missing.Error() {
		t.Errorf("%v\n%v", forbidden, missing)
	}
	for _, query := range []string{
		"SELECT count(*) FROM orders", "SELECT count(*) FROM SPICE.PUBLIC.Orders",
		"WITH secret AS (SELECT 1) SELECT * FROM secret", "SELECT 'secret'", "SELECT total(5)",
	} {
		args, _ := json.Marshal(map[string]string{"query": query})
		if got := w.get("sql", string(args), may...); strings.HasPrefix(got, "error: ") {
			t.Errorf("%s: %s", query, got)
		}
	}
}

func TestOtherToolsKeepToTheAllowedTables(t *testing.T) {
	w := newWorld(t)
	for name, args := range map[string]string{
		"table_schema":            `{"tables": ["orders", "spice.public.secret"]}`,
		"random_sample":           `{"dataset": "secret", "limit": 1}`,
		"top_n_sample":            `{"dataset": "\"secret\"", "limit": 1, "order_by": "word"}`,
		"sample_distinct_columns": `{"dataset": "public.secret", "limit": 1}`,
		"search":                  `{"text": "parcel", "datasets": ["notes"]}`,
	} {
		e := w.refuses(name, args, errcode.InvalidArguments, "No table named", "orders", "docs")
		if strings.Contains(e.Hint, "secret") || strings.Contains(e.Hint, "notes") {
			t.Errorf("%s lists %s", name, e.Hint)
		}
	}
	w.refuses("random_sample", `{"dataset": "orders", "limit": 1}`, errcode.InvalidArguments, "there are no tables", []string{""}...)
	w.get("search", `{"text": "parcel"}`, "docs")
	q := w.searches[len(w.searches)-1]
	secret := engine.Relation{Schema: "public", Name: "secret"}
	if len(q.Tables) != 1 || q.Tables[0].Relation.Name != "docs" || q.Allow == nil || q.Allow(secret) || !q.Allow(q.Tables[0].Relation) {
		t.Errorf("searches %+v", q)
	}
}

func TestPatterns(t *testing.T) {
	w := newWorld(t)
	for pattern, want := range map[string]string{
		"orders": "spice.public.orders", "ORDERS": "spice.public.orders", "public.orders": "spice.public.orders",
		"spice.public.orders": "spice.public.orders", "hr.*": "spice.hr.orders spice.hr.people", "*.orders": "spice.public.orders spice.hr.orders",
		"*orders": "spice.public.orders spice.public.big_orders", "order?": "spice.public.orders", "[de]*": "spice.public.empty spice.public.docs",
		`"my table"`: `spice.public."my table"`, "other.public.orders": "", "[": "", "": "",
		"spiced.*": "", "*.*.*": "",
	} {
		var listed []struct{ Table string }
		_ = json.Unmarshal([]byte(w.get("list_datasets", `{}`, pattern)), &listed)
		var names []string
		for _, l := range listed {
			names = append(names, l.Table)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: got %s, want %s", pattern, got, want)
		}
	}
	none, err := w.call(w.tool("list_datasets"), `{}`, tools.Input{Scope: tools.Scope{Datasets: []string{}}})
	if err != nil || string(none.Value) != "[]" {
		t.Errorf("an empty list: %s, %v", none.Value, err)
	}
	w.refuses("sql", `{"query": "SELECT * FROM spiced.functions"}`, errcode.NotFound, "not declared", "spiced.functions", "*.*")
}

// entries reads the `tools:` of a Spicepod.
func (w *world) entries(yaml string) []spicepod.Tool {
	w.t.Helper()
	return podtest.Load(w.t, "tools:\n"+yaml).Tools
}

func TestCustomise(t *testing.T) {
	w := newWorld(t)
	entry := w.entries("- { name: sales_sql, from: 'builtin:sql', description: SQL over sales, owner: sales, limits: { max_rows: 2, timeout: 5s }, params: { " +
		"table_allowlist: 'orders , hr.*' } }\n")[0]
	tool, err := builtin.Customise(w.env, entry, spicepod.ToolDocuments{}, "spicepod.yaml:9")
	if err != nil {
		t.Fatal(err)
	}
	d := tool.Definition()
	if d.Name != "sales_sql" || d.Description != "SQL over sales" || d.Owner != "sales" || d.Limits.MaxRows != 2 || d.Source != tools.SourceBuiltin {
		t.Errorf("got %+v", d)
	}
	for query, want := range map[string]string{
		"SELECT count(*) AS n FROM orders": `[{"n":9}]`, "SELECT * FROM hr.people": `[{"name":"Ada"}]`, "SELECT * FROM secret": "",
	} {
		args, _ := json.Marshal(map[string]string{"query": query})
		out, err := w.call(tool, string(args), tools.Input{})
		if (err == nil) != (want != "") || string(out.Value) != want {
			t.Errorf("%s: %s, %v", query, out.Value, err)
		}
	}
	_, err = w.call(tool, `{"query": "SELECT * FROM orders"}`, tools.Input{Scope: tools.Scope{Datasets: []string{"docs"}}})
	if err == nil {
		t.Error("a tool's list widens its caller's")
	}
	plain, err := builtin.Customise(w.env, w.entries("- { name: sales_sql, from: 'builtin:sql' }\n")[0], spicepod.ToolDocuments{}, "spicepod.yaml:9")
	if err != nil || plain.Definition().Checksum == d.Checksum || plain.Definition().Description != w.tool("sql").Definition().Description {
		t.Errorf("got %+v, %v", plain.Definition(), err)
	}
}

func TestCustomiseSaysWhatIsWrong(t *testing.T) {
	w := newWorld(t)
	for yaml, part := range map[string]string{
		"{ name: x, from: 'builtin:sqll' }":                                       `did you mean "sql"?`,
		"{ name: x, from: 'builtin:' }":                                           `known here: describe_function`,
		"{ name: x, from: 'builtin:sql', params: { table_alowlist: a } }":         `did you mean "table_allowlist"?`,
		"{ name: x, from: 'builtin:time_now', params: { table_allowlist: a } }":   "takes no params",
		"{ name: x, from: 'builtin:sql', params: { table_allowlist: '[' } }":      `"[" is not a valid pattern`,
		"{ name: x, from: 'builtin:sql', params: { table_allowlist: ' , ' } }":    "names no table",
		"{ name: x, from: 'builtin:sql', params: { table_allowlist: { a: b } } }": "table_allowlist",
		"{ name: 'x y', from: 'builtin:sql' }":                                    `"x y"`,
	} {
		_, err := builtin.Customise(w.env, spicepodTool(w, yaml), spicepod.ToolDocuments{}, "spicepod.yaml:9")
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: got %v, want %q", yaml, err, part)
		}
	}
}

// spicepodTool reads an entry that may have faults which only package builtin finds.
func spicepodTool(w *world, yaml string) spicepod.Tool {
	w.t.Helper()
	if strings.Contains(yaml, "x y") || strings.Contains(yaml, "builtin:'") {
		from := strings.Split(yaml, "'")
		return spicepod.Tool{Name: "x y", From: from[len(from)-2]}
	}
	return w.entries("- " + yaml + "\n")[0]
}
