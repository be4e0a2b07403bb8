package udf

import (
	"context"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/spicepod"
)

// fixture is as much of a daemon as these tests need.
type fixture struct {
	t         testing.TB
	db        *engine.DB
	set       *functions.Set
	relations []engine.Relation
}

func start(t testing.TB) *fixture {
	t.Helper()
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	Serve(db, nil)
	r := &fixture{t: t, db: db, relations: append(Relations(), engine.Relation{Schema: "public", Name: "orders"})}
	err = db.Publish(t.Context(), engine.NewCatalog(engine.Contents{Relations: r.relations, Functions: Functions()}), func(tx *engine.Tx) error {
		if err := Setup(tx, db.Builtins()); err != nil {
			return err
		}
		return tx.Exec("CREATE TABLE spice.public.orders AS SELECT range AS id, range * 10 AS amount FROM range(9)")
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// load publishes the functions as the daemon does and returns all problems.
func (r *fixture) load(yaml string) spicepod.Problems {
	r.t.Helper()
	return r.publish(r.read(yaml))
}

func (r *fixture) read(yaml string) *spicepod.Pod {
	r.t.Helper()
	return podtest.Load(r.t, "functions:\n"+yaml)
}

func (r *fixture) publish(pod *spicepod.Pod) spicepod.Problems {
	r.t.Helper()
	set, problems := functions.Compile(r.t.Context(), r.db, pod, r.relations, r.set)
	catalog := engine.NewCatalog(engine.Contents{Generation: 1, Relations: r.relations, Functions: append(set.Engine(), Functions()...)})
	err := r.db.Publish(r.t.Context(), catalog, func(tx *engine.Tx) error {
		for _, f := range set.Changed(r.set) {
			if p := f.Create(tx, pod, functions.Published()); p != nil {
				return p
			}
		}
		for _, f := range set.Removed(r.set) {
			for _, sql := range f.Drop() {
				if err := tx.Exec(sql); err != nil {
					return err
				}
			}
		}
		return Fill(tx, pod, set, r.set, Loading{})
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.set = set
	return problems
}

// query returns a result as lines of text.
func (r *fixture) query(sql string) string {
	r.t.Helper()
	rows, err := r.db.Query(context.Background(), engine.Request{SQL: "SELECT COLUMNS(*)::VARCHAR FROM (" + sql + ")"})
	if err != nil {
		return "error: " + err.Error()
	}
	defer rows.Close()
	var lines []string
	for chunk, err := range rows.Chunks() {
		if err != nil {
			return "error: " + err.Error()
		}
		for i := range chunk.Len() {
			cells := make([]string, len(rows.Columns()))
			for j := range cells {
				if cells[j] = "NULL"; chunk.Column(j).Valid(i) {
					cells[j] = string(chunk.Column(j).Bytes(i))
				}
			}
			lines = append(lines, strings.Join(cells, "|"))
		}
	}
	return strings.Join(lines, "\n")
}

const pod = `
- name: Total
  from: sql
  description: It's the total.
  volatility: stable
  signature:
    args: [{ name: over, type: int64, description: Least amount, default: 5 }]
    returns: int64
  body: |
    (SELECT sum(amount)
     FROM orders WHERE amount > over)
- { name: twice, from: sql, as_tool: false, signature: { args: [{ name: x, type: float64 }], returns: float64 }, body: Total(3) * 0 + x + x }
- name: lines
  from: sql
  kind: table
  signature: { tables: [{ name: t, columns: [{ name: v, type: utf8 }] }], args: [], returns: [{ name: v, type: utf8 }] }
  body: SELECT v FROM t
`

func (r *fixture) expect(sql, want string) {
	r.t.Helper()
	if got := r.query(sql); got != want {
		r.t.Errorf("%s\ngot\n%s\nwant\n%s", sql, got, want)
	}
}

func TestCatalogue(t *testing.T) {
	r := start(t)
	r.expect("SELECT * FROM list_udfs() WHERE source = 'user'", "")
	if problems := r.load(pod); len(problems) > 0 {
		t.Fatal(problems)
	}
	r.expect("SELECT * FROM list_udfs() WHERE source = 'user'",
		"lines|user|table|volatile|sql|NULL\nTotal|user|scalar|stable|sql|It's the total.\ntwice|user|scalar|volatile|sql|NULL")
	r.expect(`SELECT name, source, kind, volatility, "from", description IS NOT NULL FROM list_udfs() WHERE name IN ('abs', 'acos', 'initcap', 'list_udfs')`,
		"abs|builtin|NULL|NULL|NULL|false\nacos|builtin|NULL|NULL|NULL|true\ninitcap|builtin|NULL|NULL|NULL|true\nlist_udfs|builtin|NULL|NULL|NULL|true")
	r.expect("SELECT count(*) - count(DISTINCT lower(name)), bool_and(lower(name) >= before) FROM (SELECT name, lag(lower(name), 1, '') OVER () AS before "+
		"FROM list_udfs())", "0|true")
	r.expect("SELECT name, arity, arg_names, arg_types, arg_duckdb_types, return_type, return_duckdb_type, as_tool, deterministic, length(checksum), file, line "+
		"FROM spiced.functions ORDER BY line",
		"Total|1|[over]|[int64]|[BIGINT]|int64|BIGINT|true|true|16|spicepod.yaml|6\n"+
			"twice|1|[x]|[float64]|[DOUBLE]|float64|DOUBLE|false|true|16|spicepod.yaml|16\n"+
			"lines|1|[t]|[table]|[table]|NULL|NULL|false|true|16|spicepod.yaml|17")
	r.expect("FROM spiced.function_args ORDER BY ALL",
		"Total|1|over|int64|BIGINT|Least amount|false|5\nlines|1|t|table|table|NULL|true|NULL\ntwice|1|x|float64|DOUBLE|NULL|true|NULL")
	r.expect("FROM spiced.lineage ORDER BY ALL",
		"Total|column|orders|amount|spicepod.yaml|14\nTotal|dataset|orders|NULL|spicepod.yaml|15\ntwice|function|Total|NULL|spicepod.yaml|16")
	r.expect("SELECT twice(2), total(50)", "4.0|210")
}

func TestReloadRewritesWhatChanged(t *testing.T) {
	r := start(t)
	r.load(pod)
	if problems := r.load(strings.Replace(pod, "- { name: twice",
		"- { name: extra, from: sql, signature: { args: [], returns: int64 }, body: '1' }\n- { name: twice", 1)); len(problems) > 0 {
		t.Fatal(problems)
	}
	r.expect("SELECT name, line FROM spiced.functions ORDER BY line", "Total|6\nextra|16\ntwice|17\nlines|18")
	r.load(`- { name: extra, from: sql, signature: { args: [], returns: [{ name: v, type: int64 }] }, kind: table, body: SELECT 1 AS v }`)
	r.expect("SELECT name, kind FROM list_udfs() WHERE source = 'user'", "extra|table")
	r.expect("FROM extra()", "1")
	r.expect("FROM spiced.lineage", "")
	if got := r.query("SELECT twice(2)"); !strings.HasPrefix(got, "error: ") {
		t.Error("a removed function answers", got)
	}
}

func TestAPreludeNameMayBeDeclared(t *testing.T) {
	r := start(t)
	r.load(`- { name: initcap, from: sql, signature: { args: [{ name: s, type: utf8 }], returns: utf8 }, body: upper(s) }`)
	r.expect("SELECT initcap('ab')", "AB")
	r.expect("SELECT source FROM list_udfs() WHERE name = 'initcap'", "user")
	r.load(`- { name: x, from: sql, signature: { args: [], returns: utf8 }, body: initcap('ab') }`)
	r.expect("SELECT initcap('ab'), x()", "Ab|Ab")
}
