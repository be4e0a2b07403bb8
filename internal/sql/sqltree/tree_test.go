package sqltree_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

func openDB(t testing.TB) *engine.DB {
	t.Helper()
	db, err := engine.Open(context.Background(), engine.Options{Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// describe writes what a statement mentions: relations, calls with their
// arguments, columns.
func describe(st *sqltree.Statement) string {
	var out []string
	for _, r := range st.Relations {
		out = append(out, "table "+strings.Trim(r.Catalog+"."+r.Schema+"."+r.Name, "."))
	}
	for _, c := range st.Calls {
		var marks string
		for _, m := range []struct {
			is   bool
			mark string
		}{{c.Table, "T"}, {c.Window, "W"}, {c.SingleRow, "1"}, {c.Lambda, "L"}} {
			if m.is {
				marks += m.mark
			}
		}
		var args []string
		for _, a := range c.Args {
			s := [...]string{"expr", "str", "int", "lit", "param", "col", "query"}[a.Kind]
			if a.Name != "" {
				s = a.Name + ":=" + s
			}
			if a.CTE {
				s += "(cte)"
			}
			if len(a.Calls) > 0 {
				s += fmt.Sprint(a.Calls)
			}
			if len(a.CTEs) > 0 {
				s += fmt.Sprint("reads", a.CTEs)
			}
			args = append(args, s)
		}
		out = append(out, strings.Trim(c.Catalog+"."+c.Schema+"."+c.Name, ".")+"("+strings.Join(args, ", ")+")"+marks)
	}
	for _, c := range st.Columns {
		s := "col " + strings.Join(c.Parts, ".")
		if c.Inner {
			s += " inner"
		}
		if c.Lambda {
			s += " lambda"
		}
		out = append(out, s)
	}
	for _, p := range st.Params {
		out = append(out, "param "+p)
	}
	for _, s := range st.Shows {
		out = append(out, "show "+s)
	}
	return strings.Join(out, "; ")
}

// parseCases are statements and what they mention, as describe writes it.
var parseCases = map[string]string{
	"SELECT 1": "",
	"SELECT f(1, 'x', 1.5, $1, a, (SELECT 2), 1 + 2)": "f(int, str, lit, param, col, query, expr)1; col a; param 1",
	"SELECT f(x := 1, y => g())":                      "f(x:=int, y:=expr[g])1; g()1",
	"SELECT F(g(h(i)))":                               "f(expr[h g])1; g(expr[h])1; h(col)1; col i",
	"SELECT f(a) FROM s.t":                            "table s.t; f(col); col a",
	"FROM c.s.t SELECT x.f(1), a.b.g()":               "table c.s.t; x.f(int); a.b.g()",
	"SELECT a.f(1).g()":                               "a.f(int)1; g(expr[f])1",
	"SELECT f(a) OVER (PARTITION BY g(b) ORDER BY h(c) ROWS BETWEEN i(1) PRECEDING AND CURRENT ROW)": "f(col)W1; g(col)1; h(col)1; i(int)1; col a; col b; col c",
	"SELECT f(a ORDER BY g(b)) FILTER (h(c))":                                                        "f(col)1; g(col)1; h(col)1; col a; col b; col c",
	"SELECT list_transform(l, lambda x: f(x, y))": "list_transform(col, expr[f])1; f(col, col)1L; " +
		"col l; col y lambda",
	"SELECT list_transform(l, x -> f(x))":        "list_transform(col, expr[f])1; f(col)1L; col l",
	"SELECT list_reduce(l, (x, y) -> x + y + z)": "list_reduce(col, expr)1; col l; col z lambda",
	"SELECT list_transform(l, lambda x: list_transform(x, lambda y: x + y + z))": "list_transform(col, expr[list_transform])1; " +
		"list_transform(col, expr)1L; col l; col z lambda",
	"SELECT list_reduce(l, lambda x, y: x + y + z)": "list_reduce(col, expr)1; col l; col z lambda",
	"SELECT l.list_filter(x -> x > y), list_filter(l, x -> 1)": "l.list_filter(expr)1; list_filter(col, expr)1; col y " +
		"lambda; col l",
	"SELECT list_reduce(l, lambda x, y: x, j -> k)": "list_reduce(col, expr, expr)1; col l; col j; col k",
	"SELECT list_transform(l, lambda e: f(e -> k))": "list_transform(col, expr[f])1; f(expr)1L; col " +
		"l; col k lambda",
	"SELECT j -> k, f(j -> k, (a, b) -> c)":                             "*",
	"SELECT [x + y for x, i in l if x > i]":                             "*",
	"SELECT j -> 'k'":                                                   "col j",
	"SELECT f(j) -> 'k'":                                                "f(col)1; col j",
	"SELECT (SELECT a FROM t WHERE t.x = b)":                            "table t; col a inner; col t.x inner; col b inner",
	"WITH c AS (SELECT 1) SELECT * FROM c":                              "",
	"WITH c AS (FROM c) FROM C":                                         "table c",
	"WITH c AS (SELECT 1), d AS (FROM c) FROM d, c, e":                  "table e",
	"WITH d AS (FROM c), c AS (SELECT 1) FROM d":                        "table c",
	"WITH RECURSIVE c AS (SELECT 1 UNION ALL FROM c) FROM c":            "",
	"WITH RECURSIVE c AS (FROM c UNION ALL FROM c) FROM c":              "table c",
	"SELECT * FROM (WITH c AS (SELECT 1) FROM c), c":                    "table c",
	"WITH c AS MATERIALIZED (SELECT 1) SELECT (SELECT count(*) FROM c)": "count_star()",
	"WITH c AS (SELECT 1) FROM s.c":                                     "table s.c",
	"(WITH c AS (SELECT 1) FROM c) UNION ALL FROM c":                    "table c",
	"SELECT * FROM f(c, 'c', (FROM c))":                                 "table c; f(col, str, query)T; col c",
	"WITH c AS (SELECT 1) FROM f(c, 'C', (FROM c))":                     "f(col(cte), str(cte), queryreads[c])T; col c",
	"SELECT * REPLACE (f(a) AS b), COLUMNS(lambda x: g(x)) FROM t": "table t; list_filter(expr, expr[g]); f(col); " +
		"g(col)L; col a",
	"SELECT COLUMNS('x') FROM t":                                        "table t",
	"SELECT CASE f() WHEN g() THEN h() ELSE i() END":                    "f()1; g()1; h()1; i()1",
	"SELECT {'a': f()}, [g()], MAP {h(): i()}":                          "*",
	"SELECT f() IN (g(), (SELECT h()))":                                 "f()1; g()1; h()1",
	"SELECT EXISTS (SELECT f(x) FROM t)":                                "table t; f(col); col x inner",
	"SELECT f()::INT, CAST(g() AS DECIMAL(3,1)), TRY_CAST(h() AS DATE)": "f()1; g()1; h()1",
	"SELECT 1 FROM a JOIN b ON f(a.x) = b.y":                            "table a; table b; f(col); col a.x; col b.y",
	"SELECT 1 FROM a JOIN b USING (x) WHERE f() GROUP BY g() HAVING h() QUALIFY i() ORDER BY j() LIMIT k() OFFSET l()": "table a; table b; f(); g(); h(); i(); " +
		"j(); k(); l()",
	"FROM a, LATERAL (SELECT f(a.x) FROM b)":            "table a; table b; f(col); col a.x",
	"VALUES (f()), (g())":                               "f()1; g()1",
	"FROM t PIVOT (f(a) FOR g(b) IN (1, 2) GROUP BY c)": "*",
	"FROM t UNPIVOT (v FOR n IN (a, b))":                "*",
	"FROM t AT (VERSION => f())":                        "*",
	"DESCRIBE t":                                        "table t",
	"SUMMARIZE SELECT f() FROM t":                       "table t; f()",
	"SHOW TABLES":                                       "show tables",
	"SELECT $b, $a, $b":                                 "param a; param b",
	"SELECT ?, ?":                                       "param 1; param 2",
	"SELECT a BETWEEN f() AND g(), a COLLATE nocase, -h(), NOT i()":                      "f()1; g()1; h()1; i()1; col a; col a",
	"SELECT f(DISTINCT a), count(*)":                                                     "f(col)1; count_star()1; col a",
	"SELECT x[f():g()], y.z, (s).w":                                                      "*",
	"SELECT f() FROM t TABLESAMPLE 10%":                                                  "table t; f()",
	"SELECT a UNION SELECT b INTERSECT SELECT f(c) EXCEPT SELECT d ORDER BY g()":         "f(col)1; g(); col a; col b; col c; col d",
	"SELECT EXTRACT(year FROM f()), INTERVAL (g()) DAY, DATE '2020-01-01', current_date": "*",
	"SELECT try(f()), coalesce(g(), 1), if(h(), 1, 2), nullif(i(), 1)":                   "*",
	"SELECT DISTINCT ON (f()) 1 FROM t":                                                  "table t; f()",
	"SELECT ROW(f(), 1), (g(), 2)":                                                       "*",
	"SELECT ARRAY(SELECT f() FROM t), [x FOR x IN g() IF h(x)]":                          "*",
	"FROM range(f()) r(x) SELECT g(x)":                                                   "range(expr[f])T; f(); g(col); col x",
}

func TestParse(t *testing.T) {
	db := openDB(t)
	for sql, want := range parseCases {
		st, err := db.Parse(context.Background(), sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		got := describe(st)
		if want == "*" { // every lower-case f()… must be seen
			for _, name := range []string{"f(", "g(", "h(", "i("} {
				if strings.Contains(sql, name) && !strings.Contains(" "+got, " "+name) {
					t.Errorf("%s: %s) is missing: %s", sql, name, got)
				}
			}
			continue
		}
		if got != want {
			t.Errorf("%s\n%s", sql, cmp.Diff(want, got))
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for tree, want := range map[string]string{
		`{"error":true,"error_type":"parser","error_message":"bad","position":"7"}`: "bad",
		`{"statements":[]}`:                             "expected one statement, got 0",
		`{"statements":[{"node":{"type":"NEW_NODE"}}]}`: "unknown type",
		`{"statements":[{"node":{"type":"SELECT_NODE","select_list":[{"class":"NEW"}]}}]}`:                                    "unknown class",
		`{"statements":[{"node":{"type":"SELECT_NODE","from_table":{"type":"NEW"}}}]}`:                                        "unknown type",
		`{"statements":[{"node":{"type":"SELECT_NODE","from_table":{"type":"TABLE_FUNCTION","function":{"class":"CASE"}}}}]}`: "unknown form",
		`{"statements":[{"node":{"type":"SELECT_NODE","from_table":{"type":"EMPTY","order":[{"class":"FUNCTION"}]}}}]}`:       "a position that is not supported",
		`[`: "decode the parse tree",
	} {
		_, err := sqltree.Parse([]byte(tree), sqltree.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", tree, err, want)
		}
	}
}

// TestLocateLambda writes ‹› around every place that names a lambda's parameter.
func TestLocateLambda(t *testing.T) {
	db := openDB(t)
	for text, want := range map[string]string{
		"list_transform(l, lambda x: x + y)":                 "list_transform(l, lambda ‹x›: ‹x› + y)",
		"list_transform(l, lambda x:x)":                      "list_transform(l, lambda ‹x›:‹x›)",
		"list_transform(l, x -> x.x + x['x'])":               "list_transform(l, ‹x› -> ‹x›.x + ‹x›['x'])",
		`list_reduce(l, lambda "X", y: x -- x` + "\n + y)":   `list_reduce(l, lambda ‹"X"›, ‹y›: ‹x› -- x` + "\n + ‹y›)",
		"list_reduce(l, (a, b) -> a + b, a)":                 "list_reduce(l, (‹a›, ‹b›) -> ‹a› + ‹b›, a)",
		"list_filter(a, a -> list_filter(a, lambda a: a))":   "list_filter(a, ‹a› -> list_filter(‹a›, lambda ‹a›: ‹a›))",
		"list_transform(l, lambda e: e.f(e.e, 'e', e := 1))": "list_transform(l, lambda ‹e›: ‹e›.f(‹e›.e, 'e', e := 1))",
		"list_transform(l, lambda e: CASE e WHEN 1 THEN 2 WHEN e THEN {'e': e} END)": "list_transform(l, lambda ‹e›: CASE ‹e› WHEN 1 THEN 2 WHEN ‹e› THEN " +
			"{'e': ‹e›} END)",
		"[x for x in [x for x in x]]":                        "[‹x› for ‹x› in [‹x› for ‹x› in x]]",
		"[x + i for x, i in l if substring(x FROM 1 FOR i)]": "[‹x› + ‹i› for ‹x›, ‹i› in l if substring(‹x› FROM 1 FOR ‹i›)]",
		"[elem for elem in l if elem > 1]":                   "[‹elem› for ‹elem› in l if ‹elem› > 1]",
		"[1 for x in l if y]":                                "[1 for ‹x› in l if y]",
		"x -> y":                                             "x -> y",
	} {
		sql := "SELECT " + text
		st, err := db.Parse(context.Background(), sql)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var edits []sqltree.Edit
		for _, l := range st.Lambdas {
			sites, ok := sqltree.LocateLambda(sql, sqltree.Scan(sql), l)
			if !ok {
				t.Errorf("%s: not located", text)
			}
			for _, s := range sites {
				edits = append(edits, sqltree.Edit{Span: s.Span, New: "‹" + sql[s.Start:s.End] + "›"})
			}
		}
		edits, apart := sqltree.Merge(edits, nil)
		if got, _ := sqltree.Apply(sql, edits); !apart || got != "SELECT "+want {
			t.Errorf("got  %s\nwant SELECT %s", got, want)
		}
	}
}

// FuzzParse holds that no tree makes Parse panic.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"error":true,"error_type":"parser","error_message":"bad","position":"7"}`))
	f.Add([]byte(`{"statements":[{"node":{"type":"SELECT_NODE","cte_map":{"map":[1,{"key":"a","value":{"query":{"node":{"type":"RECURSIVE_CTE_NODE"}}}}]},"select_list":[{"class":"FUNCTION","function_name":"f","children":[{"class":"COLUMN_REF","column_names":["a"]}]}],"from_table":{"type":"SHOW_REF"}}}]}`))
	f.Add([]byte(`{"statements":[{"node":{"type":"SELECT_NODE","modifiers":[{"x":{"class":"LAMBDA","lhs":{"class":"FUNCTION","function_name":"row"},"expr":{"class":"STAR","replace_list":[{"value":{"class":"WINDOW"}}]}}}],"from_table":{"type":"PIVOT"}}}]}`))
	f.Fuzz(func(_ *testing.T, tree []byte) {
		st, err := sqltree.Parse(tree, sqltree.Options{})
		if err != nil {
			return
		}
		const sql = "SELECT [a for a in (lambda a: a -> a)]"
		for _, l := range st.Lambdas {
			sqltree.LocateLambda(sql, sqltree.Scan(sql), l)
		}
	})
}

// generated is a random call in random white space, with its arguments.
type generated struct {
	rnd  *rand.Rand
	out  strings.Builder
	args map[string][]string // of the call with this name
	n    int
}

func (g *generated) pick(s ...string) string { return s[g.rnd.IntN(len(s))] }

func (g *generated) space() {
	g.out.WriteString(g.pick("", "", " ", "\n", "\u00a0", "/* ( , ' */", " -- ) ,\n", " -- '\r", "/* /* */ \" */"))
}

func (g *generated) expr(depth int) {
	if depth > 3 || g.rnd.IntN(3) == 0 {
		g.out.WriteString(g.pick("1", "'a,)'", "e'\\',('", "$$,($$", "\"c,d\"", "x", "1.5e-3", "[1, (2)]", "{'a': 1, 'b': [2]}", "(1, 2)", "x[1:2]", "$1",
			"CASE WHEN x THEN ',' END", "(SELECT 1, (2))", "'é😀'", "- 1", "x::DECIMAL(3, 1)", "lambda q: q + 1"))
		return
	}
	g.call(depth)
}

func (g *generated) call(depth int) {
	g.n++
	name := fmt.Sprintf("f%d", g.n)
	switch g.rnd.IntN(5) {
	case 0:
		g.out.WriteString(`"` + name + `"`)
	case 1:
		g.out.WriteString("public")
		g.space()
		g.out.WriteString(".")
		g.space()
		g.out.WriteString(name)
	case 2:
		g.out.WriteString(strings.ToUpper(name))
	default:
		g.out.WriteString(name)
	}
	g.space()
	g.out.WriteString("(")
	var args []string
	for i := range g.rnd.IntN(4) {
		if i > 0 {
			g.out.WriteString(",")
		}
		g.space()
		if g.rnd.IntN(5) == 0 {
			g.out.WriteString("named" + fmt.Sprint(i) + g.pick(":=", " => "))
		}
		start := g.out.Len()
		g.expr(depth + 1)
		args = append(args, g.out.String()[start:])
		g.space()
	}
	g.args[name] = args
	g.out.WriteString(")")
}

func TestLocateRandomCalls(t *testing.T) {
	db := openDB(t)
	parsed := 0
	for seed := range uint64(1500) {
		g := generated{rnd: rand.New(rand.NewPCG(7, seed)), args: map[string][]string{}}
		g.out.WriteString("SELECT ")
		g.space()
		g.call(0)
		sql := g.out.String()
		st, err := db.Parse(context.Background(), sql)
		if err != nil { // a lambda where none may be
			continue
		}
		parsed++
		toks := sqltree.Scan(sql)
		for _, c := range st.Calls {
			want, ok := g.args[sqltree.Fold(c.Name)]
			if !ok {
				continue
			}
			site, ok := sqltree.Locate(sql, toks, c)
			if !ok {
				t.Errorf("%q: %s not found", sql, c.Name)
				continue
			}
			got := []string{}
			for _, a := range site.Args {
				got = append(got, sql[a.Start:a.End])
			}
			if d := cmp.Diff(append([]string{}, want...), got); d != "" {
				t.Errorf("%q: %s: %s", sql, c.Name, d)
			}
		}
	}
	if parsed < 1000 {
		t.Errorf("only %d of the texts parse", parsed)
	}
}

func TestLocateChains(t *testing.T) {
	db := openDB(t)
	for sql, want := range map[string]string{
		"SELECT random().f()":           "random()",
		"SELECT random() . f ('x')":     "random()",
		"SELECT (a + b).f()":            "(a + b)",
		"SELECT 1, (a).f()":             "(a)",
		"SELECT s.g(1).h((2)).f()":      "s.g(1).h((2))",
		"SELECT x FROM t WHERE (x).f()": "(x)",
		"SELECT x AND (x).f()":          "(x)",
		"SELECT max(x) FILTER (y).f()":  "",
		"SELECT \"where\"(1).f()":       "\"where\"(1)",
	} {
		st, err := db.Parse(context.Background(), sql)
		if err != nil {
			if want != "" {
				t.Errorf("%s: %v", sql, err)
			}
			continue
		}
		for _, c := range st.Calls {
			if c.Name != "f" {
				continue
			}
			site, ok := sqltree.Locate(sql, sqltree.Scan(sql), c)
			got := ""
			if ok {
				got = sql[site.Args[0].Start:site.Args[0].End]
			}
			if got != want {
				t.Errorf("%s: object %q, want %q", sql, got, want)
			}
		}
	}
	st, err := db.Parse(context.Background(), "SELECT * FROM a . \"b\" . c")
	if err != nil {
		t.Fatal(err)
	}
	sql := "SELECT * FROM a . \"b\" . c"
	if span, ok := sqltree.LocateRelation(sql, sqltree.Scan(sql), st.Relations[0]); !ok || sql[span.Start:span.End] != `a . "b" . c` {
		t.Error(span, ok)
	}
}

// TestLambdasAreDuckDBs: x -> y is a lambda where DuckDB takes one, and JSON's
// operator elsewhere, which leaves the column x.
func TestLambdasAreDuckDBs(t *testing.T) {
	db := openDB(t)
	stage, err := db.Stage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stage.Close()
	var calls, want []string
	err = stage.Query(`SELECT function_name, bool_or(list_contains(parameter_types, 'LAMBDA'))::VARCHAR
		FROM duckdb_functions() WHERE regexp_matches(function_name, '^[a-z]') GROUP BY 1`, func(chunk *engine.Chunk) error {
		for i := range chunk.Len() {
			name := string(chunk.Column(0).Bytes(i))
			calls = append(calls, fmt.Sprintf(`"%s"(l, "%[1]s" -> 1)`, name))
			if string(chunk.Column(1).Bytes(i)) != "true" {
				want = append(want, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	st, err := db.Parse(t.Context(), "SELECT "+strings.Join(calls, ", "))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range st.Columns {
		if name := c.Parts[0]; name != "l" {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" || len(want) == len(calls) {
		t.Errorf("%d of %d functions take no lambda: %s", len(want), len(calls), diff)
	}
}
