package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

type callerKey struct{}

// callers makes ctx('user_id') return the user of [world.wantAs].
func (w *world) callers() {
	w.db.Handle(engine.Ctx, func(ctx context.Context, name string) (string, error) {
		user, _ := ctx.Value(callerKey{}).(string)
		if user == "" || name != "user_id" {
			return "null", nil
		}
		text, err := json.Marshal(user)
		return string(text), err
	})
}

// wantAs runs a query as a user and compares its rows.
func (w *world) wantAs(user, sql, want string) {
	w.t.Helper()
	got, err := w.readIn(context.WithValue(w.t.Context(), callerKey{}, user), sql)
	if err != nil || got != want {
		w.t.Errorf("%q: %s:\n got %s, %v\nwant %s", user, sql, got, err, want)
	}
}

const ownedCSV = "id,owner,pay,Day\n1,ann,10,2026-01-01\n2,bob,20,2026-01-02\n3,,30,2026-01-03\n4,ann,40,2026-01-04\n"

// TestPolicies applies a policy to a file, a copy in memory and a copy in a file.
func TestPolicies(t *testing.T) {
	w := newWorld(t)
	w.callers()
	w.file("t.csv", ownedCSV)
	for name, more := range map[string]string{
		"file": "", "memory": ", acceleration: {primary_key: id, indexes: {owner: enabled}}", "mode file": ", acceleration: {mode: file}",
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			w.ok(`datasets:
- {name: t, from: 'file:t.csv', row_filter: "t.owner = ctx('user_id') -- their own", column_mask: {PAY: "CASE WHEN day > DATE '2026-01-02' THEN pay END", day: 'NULL'}` + more + `}
views: [{name: v, sql: "SELECT id, pay FROM t"}]
`)
			w.wantAs("ann", "FROM t", "1|ann|NULL|NULL, 4|ann|40|NULL")
			w.wantAs("bob", "FROM t", "2|bob|NULL|NULL")
			w.wantAs("", "FROM t", "")
			w.wantAs("' OR true --", "FROM t", "")
			w.wantAs("ann", "FROM v", "1|NULL, 4|40")
			w.wantAs("ann", "SELECT typeof(pay), typeof(\"Day\") FROM t LIMIT 1", "BIGINT|DATE")
			s := w.status("t")
			if s.Rows != -1 || s.Bytes != -1 || len(s.Columns) != 4 || s.Columns[3].Name != "Day" {
				t.Errorf("status %+v", s)
			}
			if more == "" {
				return
			}
			if err := w.refresh("t", refresh.Override{}); err != nil {
				t.Fatal(err)
			}
			w.wantAs("bob", "FROM t", "2|bob|NULL|NULL")
			err := w.refresh("t", refresh.Override{RefreshSQL: "SELECT * REPLACE ('bob' AS owner) FROM t"})
			if !errors.Is(err, refresh.ErrOverride) {
				t.Errorf("another refresh_sql: %v", err)
			}
			w.wantAs("bob", "FROM t", "2|bob|NULL|NULL")
		})
	}
}

// The type of a masked column must not show the values of an ENUM.
func TestMaskedEnumsAreText(t *testing.T) {
	w := newWorld(t)
	w.callers()
	for _, sql := range []string{
		"ATTACH " + engine.Literal(filepath.Join(w.dir, "moods.duckdb")) + " AS m",
		"CREATE TABLE m.main.moods AS WITH v AS (SELECT 'ok'::ENUM('MARKSAD', 'ok') AS mood) " +
			"SELECT mood, [mood] AS list, {'m': mood, 'n': 1::TINYINT} AS pair, MAP {mood: 1} AS map, mood AS open FROM v",
		"DETACH m",
	} {
		w.exec(sql)
	}
	for name, more := range map[string]string{"table": "", "memory": ", acceleration: {}", "mode file": ", acceleration: {mode: file}"} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			w.ok(`datasets:
- {name: moods, from: 'duckdb:moods', params: {open: moods.duckdb}, column_mask: {MOOD: "CASE WHEN ctx('user_id') = 'ann' THEN mood END", list: 'NULL', pair: 'NULL', map: "map"}` + more + `}
`)
			w.wantAs("ann", "SELECT mood, open FROM moods", "ok|ok")
			w.wantAs("bob", "SELECT mood, list, pair, open FROM moods", "NULL|NULL|NULL|ok")
			w.wantAs("bob", "SELECT typeof(mood), typeof(list), typeof(pair), typeof(map) FROM moods",
				"VARCHAR|VARCHAR[]|STRUCT(m VARCHAR, n TINYINT)|MAP(VARCHAR, INTEGER)")
			if got, err := w.readIn(t.Context(), "SELECT enum_range(mood) FROM moods"); err == nil {
				t.Errorf("the values of the type: %s", got)
			}
			if s := w.status("moods"); s.Columns[0].Type != "VARCHAR" || s.Columns[4].Type != "ENUM('MARKSAD', 'ok')" {
				t.Errorf("%+v", s.Columns)
			}
		})
	}
}

// A policy applies to a copy that a restart finds.
func TestStoredCopiesHaveTheirPolicy(t *testing.T) {
	w := newWorld(t)
	w.file("t.csv", ownedCSV)
	pod := "datasets: [{name: t, from: 'file:t.csv', row_filter: \"owner = ctx('user_id')\", acceleration: {mode: file}}]\n"
	w.ok(pod)
	w.stop()
	w.start()
	w.callers()
	w.ok(pod)
	w.wantAs("bob", "FROM t", "2|bob|20|2026-01-02")
}

func TestPolicyFaults(t *testing.T) {
	w := newWorld(t)
	w.callers()
	w.file("t.csv", ownedCSV)
	for policy, want := range map[string]string{
		`row_filter: owner = `:                                        "8:25: syntax error",
		`row_filter: owner == ctx('user')`:                            `8:26: ctx has no name "user"; the names are user_id`,
		`row_filter: owner = ctx(owner)`:                              "8:25: ctx takes one name",
		`row_filter: ownr = 'x'`:                                      `8:17: Referenced column "ownr" not found`,
		`row_filter: owner`:                                           "8:17: row_filter must be a condition, got VARCHAR",
		`row_filter: "'no'"`:                                          "8:18: row_filter must be a condition, got VARCHAR",
		`row_filter: owner = 'x', true`:                               "8:17: row_filter must be a condition, got STRUCT",
		`row_filter: true) OR (true`:                                  "",
		`row_filter: true) FROM (SELECT 1`:                            "8:17: it is not one SQL expression",
		`row_filter: true) UNION SELECT (true`:                        "8:17: it is not one SQL expression",
		`row_filter: true; DROP VIEW t`:                               "8:21: syntax error",
		`row_filter: owner IN (SELECT owner FROM t)`:                  `8:45: it reads "t"`,
		`row_filter: EXISTS (SELECT 1)`:                               "8:17: it has a subquery",
		`row_filter: owner = $1`:                                      "8:17: parameter $1 has no value here",
		`row_filter: id = max(id)`:                                    "8:22: max(…) reads other rows",
		`row_filter: row_number() OVER () = 1`:                        "8:17: row_number(…) OVER reads other rows",
		`row_filter: twice(id) = 2`:                                   `8:17: "twice" is not a built-in function`,
		`row_filter: public.loer(owner) = 'x'`:                        `8:17: "loer" is not a built-in function; did you mean "lower"?`,
		`row_filter: getenv('HOME') = owner`:                          `8:17: "getenv" is not a built-in function`,
		`row_filter: __spiced('ctx', 'user_id') = owner`:              `8:17: "__spiced" is not a built-in function`,
		"row_filter: |\n      id = 1\n      AND ownr = 'x'":           `10:11: Referenced column "ownr" not found`,
		`column_mask: { pya: "NULL" }`:                                `8:20: the source has no column "pya"; did you mean "pay"?`,
		`column_mask: { pay: "'***'" }`:                               "8:26: Could not convert string '***' to INT64",
		`column_mask: { pay: DATE '2026-01-01' }`:                     "8:25: Unimplemented type for cast",
		`column_mask: { pay: pay + nope }`:                            `8:31: Referenced column "nope" not found`,
		`column_mask: { pay: "NULL", PAY: "0" }`:                      "are one column",
		`column_mask: { pay: sum(pay) }`:                              "8:25: sum(…) reads other rows",
		`column_mask: { pay: "pay AS x" }`:                            "8:30: syntax error",
		"access: read_write\n    row_filter: owner = 'x'":             "8:13: a dataset with a row_filter or column_mask can only be read",
		"row_filter: owner = 'x' /* as it is */ OR ifnull(id, 1) = 1": "",
	} {
		problems := w.reload("datasets:\n  - from: file:t.csv\n    name: t\n    time_column: Day\n    " + policy + "\n")
		switch {
		case want == "" && len(problems) == 0:
		case want == "" || len(problems) == 0:
			t.Errorf("%s: %v", policy, problems)
		default:
			p := problems[0]
			if got := fmt.Sprintf("%d:%d: %s; %s", p.Line, p.Column, p.Message, p.Hint); !strings.Contains(got, want) {
				t.Errorf("%s:\n got %s\nwant %s", policy, got, want)
			}
			if p.Component != "dataset t" {
				t.Errorf("%s: component %q", policy, p.Component)
			}
		}
	}
}

// Errors about a protected source must not contain rows.
func TestFaultsOfProtectedSourcesShowNoRows(t *testing.T) {
	w := newWorld(t)
	w.file("ragged.csv", "owner,n\nann,1\nSECRET,2,SECRET\n")
	w.file("text.csv", "owner,n\nann,1\nbob,SECRET\n")
	w.file("twice.csv", "owner,n\nSECRET,1\nSECRET,2\n")
	w.file("bad.json", `[{"owner": "ann", "n": "SECRET`)
	for source, what := range map[string]string{
		"{from: 'file:ragged.csv', params: {sample_size: 1}, acceleration: {}}": "columns",
		"{from: 'file:ragged.csv'}": "line",
		"{from: 'file:text.csv', columns: [{name: n, type: int64}], acceleration: {}}":                 "n",
		"{from: 'file:twice.csv', acceleration: {primary_key: owner}}":                                 "",
		"{from: 'file:bad.json', acceleration: {}}":                                                    "",
		"{from: 'file:text.csv', acceleration: {refresh_sql: 'SELECT owner, n::INTEGER AS n FROM t'}}": "",
	} {
		problems := w.reload("datasets:\n- " + strings.Replace(source, "{from", `{name: t, row_filter: "owner = ctx('user_id')", from`, 1) + "\n")
		text := problems.Error()
		if len(problems) == 0 {
			text = w.log.String()
		}
		if strings.Contains(strings.ReplaceAll(text, source, ""), "SECRET") || !strings.Contains(text, what) {
			t.Errorf("%s: %s", source, text)
		}
	}
	if strings.Contains(w.log.String(), "SECRET") {
		t.Error("the log shows a row")
	}
}

// plan is a node of DuckDB's plan.
type plan struct {
	Name     string          `json:"name"`
	Extra    json.RawMessage `json:"extra_info"`
	Children []plan          `json:"children"`
}

// below calls f with each node under a LIMIT, and returns the number of scans of
// files and copies elsewhere.
func (p plan) below(limited bool, f func(plan)) (open int) {
	if limited {
		f(p)
	}
	if !limited && strings.Contains(p.Name, "SCAN") && strings.Contains(string(p.Extra), "data_") {
		open++
	}
	for _, c := range p.Children {
		open += c.below(limited || p.Name == "STREAMING_LIMIT", f)
	}
	return open
}

// Expressions of the caller, which contain 4711, must not be below the LIMIT of the
// policy, and the mask, which contains 815, must not be above it.
func TestPolicyBarrier(t *testing.T) {
	w := newWorld(t)
	w.file("t.csv", ownedCSV)
	w.file("k.csv", "i\n1\n2\n")
	w.ok(`datasets:
- {name: t, from: 'file:t.csv', row_filter: "owner = ctx('user_id') AND id % 814 >= 0", column_mask: {pay: pay + 815}, acceleration: {primary_key: id}}
- {name: k, from: 'file:k.csv'}
`)
	stage, err := w.db.Stage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stage.Close()
	for _, sql := range []string{
		"SELECT * FROM t WHERE id = 4711 OR id / 4711 > 1",
		"SELECT * FROM t WHERE id = 4711",
		"SELECT id, pay + 4711 FROM t",
		"SELECT sum(id + 4711), min(pay), max(pay), count(*) FROM t",
		"SELECT owner, count(*) FROM t GROUP BY owner HAVING min(id) > 4711",
		"SELECT * FROM t ORDER BY id + 4711 LIMIT 2",
		"SELECT * FROM t ORDER BY pay LIMIT 2",
		"SELECT DISTINCT id + 4711 FROM t",
		"SELECT row_number() OVER (PARTITION BY owner ORDER BY id + 4711) FROM t QUALIFY max(pay) OVER () > 1",
		"SELECT * FROM t USING SAMPLE 4711 ROWS",
		"SELECT * FROM t TABLESAMPLE 50%",
		"SELECT * FROM t JOIN k ON t.id = k.i + 4711",
		"SELECT * FROM k JOIN t ON t.id + 4711 = k.i",
		"SELECT * FROM k LEFT JOIN t ON t.id > k.i + 4711",
		"SELECT * FROM k SEMI JOIN t ON t.id + 4711 = k.i",
		"SELECT * FROM t ANTI JOIN k ON t.id + 4711 = k.i",
		"SELECT * FROM t WHERE id IN (SELECT i + 4711 FROM k)",
		"SELECT * FROM k WHERE EXISTS (SELECT 1 FROM t WHERE t.id = k.i AND pay / 4711 > 0)",
		"SELECT *, (SELECT max(pay + 4711) FROM t WHERE t.id = k.i) FROM k",
		"SELECT * FROM k, LATERAL (SELECT pay + 4711 FROM t WHERE t.id = k.i) x",
		"SELECT * FROM k ASOF JOIN t ON k.i >= t.id WHERE t.pay <> 4711",
		"SELECT * FROM k POSITIONAL JOIN t WHERE t.pay <> 4711",
		"WITH c AS MATERIALIZED (SELECT id + 4711 AS x FROM t) SELECT * FROM c a, c b WHERE a.x = b.x",
		"SELECT id + 4711 FROM t UNION SELECT i FROM k",
		"SELECT * FROM t LIMIT 1",
		"SELECT count(*) FROM t",
	} {
		var tree []plan
		err := stage.Query("EXPLAIN (FORMAT JSON) "+sql, func(c *engine.Chunk) error {
			return json.Unmarshal(c.Column(1).Bytes(0), &tree)
		})
		if err != nil || len(tree) == 0 {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		filters, masks := 0, 0
		root := plan{Name: "ROOT", Children: tree}
		open := root.below(false, func(p plan) {
			if strings.Contains(string(p.Extra), "4711") || strings.Contains(p.Name, "SAMPLE") {
				t.Errorf("%s: below the barrier: %s %s", sql, p.Name, p.Extra)
			}
			filters += strings.Count(string(p.Extra), "814")
			masks += strings.Count(string(p.Extra), "815")
		})
		whole, _ := json.Marshal(root)
		if all := strings.Count(string(whole), "815"); open > 0 || filters == 0 || masks != all {
			t.Errorf("%s: %d scans above the barrier, %d filters, %d of %d masks below it\n%s", sql, open, filters, masks, all, whole)
		}
	}
}

// TestKeysUseTheIndex reads rows below a policy by key. The plan is the same for a key
// that is hidden and one beyond all.
func TestKeysUseTheIndex(t *testing.T) {
	w := newWorld(t)
	var text strings.Builder
	text.WriteString("id,owner,code,pay\n")
	for i := range 20_000 {
		fmt.Fprintf(&text, "%d,%s,c%d,%d\n", i, []string{"ann", "bob"}[i%2], i, i)
	}
	w.file("t.csv", text.String())
	w.ok("datasets: [{name: t, from: 'file:t.csv', row_filter: owner = 'ann', column_mask: {pay: pay + 1}, acceleration: {primary_key: id, indexes: " +
		"{code: unique, " +
		"pay: enabled}}}]")
	stage, err := w.db.Stage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stage.Close()
	explain := func(sql string) (plan string) {
		t.Helper()
		err := stage.Query(sql, func(c *engine.Chunk) error { plan += string(c.Column(1).Bytes(0)); return nil })
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return plan
	}
	read := func(macro, keys, condition string) string {
		return "SELECT * FROM " + engine.Qualified(engine.Core, macro) + "(" + keys + ") t WHERE " + condition
	}
	for _, sql := range []string{
		read("public.t:id:integer", "[4]", "id = 4"), read("public.t:id:integer", "[5]", "id = 5"), read("public.t:id:text", "['4']", "id = '4'"),
		read("public.t:id:integer", "[4, 6, 8]", "id IN (4, 6, 8)"), read("public.t:code:text", "['c4']", "code = 'c4'"),
	} {
		if plan := explain("EXPLAIN ANALYZE " + sql); !strings.Contains(plan, "Index Scan") || strings.Contains(plan, "Sequential Scan") {
			t.Errorf("%s:\n%s", sql, plan)
		}
	}
	for _, sql := range []string{read("public.t:code:integer", "[4]", "id = 4"), read("public.t:id:uuid", "[4]", "id = 4")} {
		if plan := explain("EXPLAIN ANALYZE " + sql); strings.Contains(plan, "Index Scan") {
			t.Errorf("%s:\n%s", sql, plan)
		}
	}
	hidden := explain("EXPLAIN " + read("public.t:id:integer", "[10005]", "id = 10005"))
	if beyond := explain("EXPLAIN " + read("public.t:id:integer", "[70005]", "id = 70005")); strings.ReplaceAll(beyond, "70005", "10005") != hidden {
		t.Errorf("the plans differ:\n%s\n%s", hidden, beyond)
	}
	err = stage.Query(read("public.t:pay:integer", "[4]", "id = 4"), func(*engine.Chunk) error { return nil })
	if err == nil {
		t.Error("a masked column is a key")
	}
}

// TestIndexesThroughTheView looks rows up by the primary key and an index that is not the
// first column; every statement names all columns.
func TestIndexesThroughTheView(t *testing.T) {
	w := newWorld(t)
	var text strings.Builder
	text.WriteString("note,pay,id,code\n")
	for i := range 5_000 {
		fmt.Fprintf(&text, "n%d,%d,%d,c%d\n", i%7, i, i, i)
	}
	w.file("t.csv", text.String())
	for more, column := range map[string]string{
		"primary_key: id": "id", "indexes: {code: unique}": "code", "indexes: {id: enabled, '(pay, code)': enabled}": "id",
		"mode: file, primary_key: (id)": "id",
	} {
		w.ok("datasets: [{name: t, from: 'file:t.csv', acceleration: {" + more + "}}]")
		value := map[string]string{"id": "4", "code": "'c4'"}[column]
		stage, err := w.db.Stage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		plan := ""
		err = stage.Query("EXPLAIN ANALYZE SELECT * FROM t WHERE "+column+" = "+value, func(c *engine.Chunk) error {
			plan += string(c.Column(1).Bytes(0))
			return nil
		})
		stage.Close()
		if err != nil || !strings.Contains(plan, "Index Scan") {
			t.Errorf("%s: %v\n%s", more, err, plan)
		}
		w.wantAs("", "FROM t WHERE "+column+" = "+value, "n4|4|4|c4")
	}
}

// TestTypesOfKeys accelerates columns of every type with a primary key and an index.
func TestTypesOfKeys(t *testing.T) {
	w := newWorld(t)
	w.file("t.csv", "i\n1\n2\n")
	for expression, typ := range map[string]string{
		"i > 1": "", "i::TINYINT": "", "i::UBIGINT": "", "i::HUGEINT": "", "i::UHUGEINT": "", "i::DECIMAL(9, 2)": "", "i::DECIMAL(38, 2)": "", "i::FLOAT": "",
		"i::DOUBLE":  "",
		"i::VARCHAR": "", "i::VARCHAR::BLOB": "", "DATE '2026-01-01' + i::INTEGER": "", "TIME '10:00:00' + to_seconds(i)": "",
		"TIMESTAMP '2026-01-01' + to_seconds(i)":   "",
		"TIMESTAMPTZ '2026-01-01' + to_seconds(i)": "", "uuid()": "", "('e' || i)::ENUM('e1', 'e2')": "", "i::INTEGER::BIT": "", "i::VARCHAR::JSON": "",
		"to_seconds(i)": "INTERVAL", "[i]": "BIGINT[]", "[i, i]::BIGINT[2]": "BIGINT[2]", "{'a': i}": "STRUCT", "MAP {'a': i}": "MAP",
	} {
		for _, key := range []string{"primary_key: k", "indexes: {'(n, k)': enabled}", "indexes: {k: unique}"} {
			problems := w.reload("datasets: [{name: t, from: 'file:t.csv', acceleration: {refresh_sql: \"SELECT " + expression + " AS k, i AS n FROM t\", " +
				key + "}}]")
			switch {
			case typ == "" && len(problems) > 0:
				t.Errorf("%s, %s: %v", expression, key, problems)
			case typ != "" && (len(problems) != 1 || !strings.Contains(problems[0].Message, "column \"k\" is "+typ) ||
				!strings.Contains(problems[0].Path, "acceleration.")):
				t.Errorf("%s, %s: %v", expression, key, problems)
			}
		}
		if typ == "" {
			w.wantAs("", "SELECT count(*) FROM t WHERE k = (SELECT max(k) FROM t)", "1")
		}
	}
}
