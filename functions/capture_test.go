package functions

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/full"
)

// lambdaBodies are bodies over l, a list, and n. Each stands next to itself as
// written by hand with names that no statement of the test has, and L and N
// for the arguments.
var lambdaBodies = []struct{ body, hand, names string }{
	{"list_transform(l, lambda e: e + n)", "list_transform(L, lambda z1: z1 + N)", "e"},
	{"list_transform(l, e -> e + n)", "list_transform(L, lambda z1: z1 + N)", "e"},
	{"list_transform(l, lambda e:e+n)", "list_transform(L, lambda z1: z1 + N)", "e"},
	{"list_transform(l, lambda /* e */ e: -- e\n e + n)", "list_transform(L, lambda z1: z1 + N)", "e"},
	{"[x + n for x in l if x > n - 10]", "[z1 + N for z1 in L if z1 > N - 10]", "x elem"},
	{"[elem + n for elem in l if elem > 0]", "[z1 + N for z1 in L if z1 > 0]", "elem"},
	{"[x * n + i for x, i in l]", "[z1 * N + z2 for z1, z2 in L]", "x i"},
	{"[n for x in l]", "[N for z1 in L]", "x"},
	{`["for" + n for "for" in l]`, "[z1 + N for z1 in L]", `"for"`},
	{"flatten([[y + x + n for y in l if y >= x] for x in l])", "flatten([[z1 + z2 + N for z1 in L if z1 >= z2] for z2 in L])", "x y"},
	{"list_transform(l, lambda a, b: a * n + b)", "list_transform(L, lambda z1, z2: z1 * N + z2)", "a b"},
	{"list_transform(l, (a, b) -> a * n + b)", "list_transform(L, lambda z1, z2: z1 * N + z2)", "a b"},
	{"list_transform(l, lambda n: n + 1) || [n]", "list_transform(L, lambda z1: z1 + 1) || [N]", "n l"},
	{"list_transform(l, lambda l: l + n)", "list_transform(L, lambda z1: z1 + N)", "n l"},
	{
		"list_transform(l, lambda e: list_sum(list_transform([e, n], lambda e: e * 2))::BIGINT + e + n)",
		"list_transform(L, lambda z1: list_sum(list_transform([z1, N], lambda z2: z2 * 2))::BIGINT + z1 + N)", "e",
	},
	{
		"list_transform(l, lambda e: list_sum(list_transform([1, 2], y -> y + e + n))::BIGINT)",
		"list_transform(L, lambda z1: list_sum(list_transform([1, 2], lambda z2: z2 + z1 + N))::BIGINT)", "e y",
	},
	{
		"list_transform(list_transform(l, lambda e: {'e': e, 's': n}), lambda e: e.e + e.s * 10 + n)",
		"list_transform(list_transform(L, lambda z1: {'e': z1, 's': N}), lambda z2: z2.e + z2.s * 10 + N)", "e s",
	},
	{
		"list_transform(l, lambda e: struct_pack(e := e + n).e + struct_pack(e).e + struct_pack(x := 1, \"E\").E)",
		"list_transform(L, lambda z1: struct_pack(e := z1 + N).e + z1 + z1)", "e",
	},
	{"list_transform(l, lambda e: len(alias(e)) + n + struct_insert({'a': 1}, e).e)", "list_transform(L, lambda z1: 1 + N + z1)", "e"},
	{`list_transform(l, lambda "E x": "e X" + n)`, "list_transform(L, lambda z1: z1 + N)", `"e x"`},
	{`list_transform(l, lambda Ee: "eE" + N)`, "list_transform(L, lambda z1: z1 + N)", "eE"},
	{`list_transform(l, lambda "a""b": "a""b" + n)`, "list_transform(L, lambda z1: z1 + N)", `"a""b"`},
	{"list_transform(l, lambda abs: abs(abs) + n)", "list_transform(L, lambda z1: abs(z1) + N)", "abs"},
	{"list_transform(l, lambda e: e.abs() + n)", "list_transform(L, lambda z1: abs(z1) + N)", "e"},
	{"[n].list_transform(e -> e + n)", "list_transform([N], lambda z1: z1 + N)", "e"},
	{"list_transform(l, lambda e: n)", "list_transform(L, lambda z1: N)", "e"},
	{"list_transform(l, lambda e: 1)", "list_transform(L, lambda z1: 1)", "e"},
	{"list_transform(l, e -> 1)", "list_transform(L, lambda z1: 1)", "e"},
	{"[list_reduce(l, lambda a, b: a * 2 + b + n)]", "[list_reduce(L, lambda z1, z2: z1 * 2 + z2 + N)]", "a b"},
	{"[list_reduce(l, lambda a, b, i: a * 2 + b + n + i, n)]", "[list_reduce(L, lambda z1, z2, z3: z1 * 2 + z2 + N + z3, N)]", "a b i"},
	{
		"list_transform(l, lambda e: CASE e WHEN 1 THEN n WHEN 2 THEN e ELSE 0 END)",
		"list_transform(L, lambda z1: CASE z1 WHEN 1 THEN N WHEN 2 THEN z1 ELSE 0 END)", "e",
	},
	{"list_filter(l, lambda e: e BETWEEN n - 9 AND e + n OR e IN (n, 1))", "list_filter(L, lambda z1: z1 BETWEEN N - 9 AND z1 + N OR z1 IN (N, 1))", "e"},
	{
		`list_transform(l, lambda j: CAST(('{"a": ' || (j + n) || '}')::JSON -> 'a' AS BIGINT))`,
		`list_transform(L, lambda z1: CAST(('{"a": ' || (z1 + N) || '}')::JSON -> 'a' AS BIGINT))`, "j",
	},
	{`list_transform(l, lambda j: CAST((j::VARCHAR::JSON) -> '$' AS BIGINT) + n)`, "list_transform(L, lambda z1: z1 + N)", "j"},
	{"list_transform(l, lambda e: plus(e, n))", "list_transform(L, lambda z1: z1 + N)", "e x y"},
	{"list_transform(l, lambda e: minus(e + n) + minus(n) + e)", "list_transform(L, lambda z1: z1 + N - N)", "e x"},
	{
		"list_transform(l || coalesce((SELECT list(value) FROM numbers WHERE value > 99), []), lambda e: e + n)",
		"list_transform(L || coalesce((SELECT list(value) FROM numbers WHERE value > 99), []), lambda z1: z1 + N)", "e value",
	},
	{
		"list_transform(list_transform(l || coalesce((SELECT list(v) FROM (SELECT max([x for x in [value]][1]) AS v FROM numbers) AS e WHERE v > 99), []), lambda " +
			"e: {'e': e, 's': n}), lambda e: e.e + e.s * 10 + n)",
		"list_transform(list_transform(L || coalesce((SELECT [1] WHERE false), []), lambda z1: {'e': z1, 's': N}), lambda z2: z2.e + z2.s * 10 + N)", "e s value",
	},
	{
		"array_replace_all(array_remove_all(l, n), n - 9, n)",
		"list_transform(list_filter(L, lambda z1: z1 <> N), lambda z2: CASE WHEN z2 = N - 9 THEN N ELSE z2 END)", "e",
	},
	{"array_positions(l, n - 9)", "list_filter(range(1, len(L) + 1), lambda z1: L[z1] = N - 9)", "i"},
}

// lambdaCallers are statements around a call f(l, n): P is a name of a lambda in
// the body of f.
var lambdaCallers = []string{
	"SELECT 10 AS P, f([1, 2], P)",
	"SELECT f([1, 2], P) FROM (SELECT 10 AS P)",
	"SELECT f(P, 10) FROM (SELECT [1, 2] AS P)",
	"SELECT f([1, 2], P.v) FROM (SELECT 10 AS v, 3 AS e, 4 AS s) P",
	"SELECT f(P.v, P.n) FROM (SELECT [1, 2] AS v, 3 AS e, 4 AS s, 10 AS n) P",
	"SELECT f([1, 2], P.v) FROM (SELECT {'v': 10, 'e': 3, 's': 4} AS P)",
	"SELECT q FROM (VALUES (1, 1), (10, 2), (20, 3)) t(P, q) WHERE f([1, 2], P)::VARCHAR <> f([1, 2], 10)::VARCHAR ORDER BY 1",
	"SELECT v, w FROM (VALUES (10, 'a'), (20, 'b')) t(P, v) JOIN (VALUES (9, 'c'), (10, 'd')) u(q, w) ON f([1, 2], P) = f([1, 2], q) ORDER BY ALL",
	"SELECT f([1, 2], P)::VARCHAR, count(*) FROM (VALUES (10), (20), (10)) t(P) GROUP BY f([1, 2], P) ORDER BY ALL",
	"SELECT P FROM (VALUES (10), (30), (20)) t(P) ORDER BY f([1, 2], P)::VARCHAR DESC, P",
	"SELECT max(f([1, 2], P)::VARCHAR) FILTER (f([1, 2], P) IS NOT NULL) FROM (VALUES (10), (20)) t(P)",
	"SELECT P, count(*) OVER (PARTITION BY f([1, 2], P)) FROM (VALUES (10), (20), (10)) t(P) ORDER BY ALL",
	"SELECT (SELECT max(f([1, 2], P)::VARCHAR) FROM (SELECT P)) FROM (VALUES (10), (20)) t(P)",
	"SELECT (SELECT f([1, 2], P)) FROM (VALUES (10), (20)) t(P)",
	"SELECT (SELECT q + len(f([1, 2], 10)) FROM (VALUES (1), (2)) u(q) WHERE q < P AND f([1, 2], q) IS NOT NULL LIMIT 1) FROM (VALUES (10)) t(P)",
	"SELECT v FROM (VALUES (10), (20)) t(P), LATERAL (SELECT f([1, 2], t.P) AS v) ORDER BY ALL",
	"WITH c AS (SELECT 10 AS P) SELECT f([1, 2], P) FROM c",
	"SELECT CASE WHEN P > 1 THEN f([1, 2], P) ELSE [P] END FROM (SELECT 10 AS P)",
	"SELECT list_transform([1, 2], lambda P: f([P], P))",
	"SELECT list_transform([1, 2], P -> f([P], P))",
	"SELECT [f([1, 2], P) for P in [10, 20] if len(f([P], P)) = 1]",
	"SELECT list_transform([1, 2], lambda P: list_transform([P], lambda q: f([P, q], P + q)))",
	"SELECT list_transform([{'v': 10, 'e': 3, 's': 4}], lambda P: f([1, 2], P.v))",
	"SELECT f(f([1, 2], P), P) FROM (SELECT 10 AS P)",
	"SELECT f([P], len(f([1, 2], P))) FROM (SELECT 10 AS P)",
	"SELECT f([1, 2], P + (random() * 0)::BIGINT) FROM (SELECT 10 AS P)",
	"SELECT via_f([1, 2], P) FROM (SELECT 10 AS P)",
	"SELECT inside_f([1, 2], P) FROM (SELECT 10 AS P)",
	"SELECT list_transform([1, 2], lambda P: inside_f([P], P))",
}

// TestLambdasOfABodyCaptureNothing compares calls of functions whose bodies
// have lambdas with the bodies written by hand.
func TestLambdasOfABodyCaptureNothing(t *testing.T) {
	db := open(t)
	const args = "signature: { args: [{ name: l, type: list<int64> }, { name: n, type: int64 }], returns: list<int64> }"
	yaml := "- { name: plus, from: sql, signature: { args: [{ name: x, type: int64 }, { name: y, type: int64 }], returns: int64 }, body: x + y }\n" +
		"- { name: minus, from: sql, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: \"list_transform([x], lambda e: e - x)[1]\" }\n"
	for i, b := range lambdaBodies {
		yaml += fmt.Sprintf("- { name: f%d, from: sql, %s, body: %q }\n", i, args, b.body)
		yaml += fmt.Sprintf("- { name: via_f%d, from: sql, %s, body: \"f%[1]d(l, n)\" }\n", i, args)
		if strings.Contains(b.body, "SELECT") {
			continue // DuckDB has no subquery in a lambda
		}
		yaml += fmt.Sprintf("- { name: inside_f%d, from: sql, %s, body: %q }\n", i, args,
			fmt.Sprintf("flatten([f%d([e], n) for e in l]) || list_reduce(list_transform(l, lambda x: f%[1]d([x], n + x)), lambda a, b: a || b)", i))
	}
	if _, problems := publish(t, db, load(t, yaml), nil); len(problems) > 0 {
		t.Fatal(problems)
	}
	ran := 0
	for i, b := range lambdaBodies {
		for _, name := range strings.Fields(strings.ReplaceAll(b.names, `"e x"`, `"e§x"`)) {
			name = strings.ReplaceAll(name, "§", " ")
			for j, caller := range lambdaCallers {
				if !full.Test() && (i+j)%3 != 0 {
					continue
				}
				caller = strings.ReplaceAll(caller, "P", name)
				call, hand := calledAndByHand(caller, b.hand, i)
				want, handErr := query(t, db, "SELECT columns(*)::VARCHAR FROM ("+hand+")")
				got, err := query(t, db, "SELECT columns(*)::VARCHAR FROM ("+call+")")
				if handErr != nil {
					continue // DuckDB cannot do that
				}
				if err != nil && strings.Contains(err.Error(), "its body has a subquery") {
					continue
				}
				if ran++; err != nil || got != want {
					t.Errorf("%s\n%s\n got %q, error %v\nwant %q", b.body, call, got, err, want)
				}
			}
		}
	}
	if ran < full.Size(333, 1000) {
		t.Errorf("only %d calls could be compared", ran)
	}
}

var callOfF = regexp.MustCompile(`\b(via_|inside_)?f\(`)

// calledAndByHand are the statement with calls of function i, and with its body
// written by hand in their place.
func calledAndByHand(sql, hand string, i int) (call, byHand string) {
	call = callOfF.ReplaceAllString(sql, fmt.Sprintf("${1}f%d(", i))
	for {
		at := strings.LastIndex(sql, "f(") // an inner call comes after the outer one
		if at < 0 {
			return call, sql
		}
		start, l, n, end := splitCall(sql, at)
		expand := func(l, n string) string {
			return strings.NewReplacer("L", "CAST("+l+" AS BIGINT[])", "N", "CAST("+n+" AS BIGINT)").Replace(hand)
		}
		text := expand(l, n)
		if strings.HasSuffix(sql[:at], "inside_") {
			start -= len("inside_")
			text = strings.NewReplacer("_1", expand("[z8]", n), "_2", expand("[z9]", "("+n+") + z9"), "_l", l).
				Replace("flatten(list_transform(_l, lambda z8: _1)) || list_reduce(list_transform(_l, lambda z9: _2), lambda z6, z7: z6 || z7)")
		} else if strings.HasSuffix(sql[:at], "via_") {
			start -= len("via_")
		}
		sql = sql[:start] + "CAST((" + text + ") AS BIGINT[])" + sql[end:]
	}
}

// splitCall returns the two arguments of the call f(l, n) at start, and its end.
func splitCall(sql string, start int) (at int, l, n string, end int) {
	depth, comma := 0, 0
	for i := start; ; i++ {
		switch sql[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return start, sql[start+2 : comma], sql[comma+2 : i], i + 1
			}
		case ',':
			if depth == 1 {
				comma = i
			}
		}
	}
}

// TestLambdaBodies are bodies with lambdas in other places than the captures'.
func TestLambdaBodies(t *testing.T) {
	db := open(t)
	for _, tt := range []struct{ args, returns, body, call, want string }{
		{"j: utf8, k: utf8", "utf8", "(j::JSON -> k)::VARCHAR", `f('{"a": 1}', 'a')`, "1"},
		{"j: utf8, k: utf8", "utf8", "(j::JSON -> k) || (j -> k)", `f('{"a": 1}', 'a')`, "11"},
		{
			"j: utf8, k: utf8", "utf8", "(j -> k) || (j ->> k)",
			`count(*) FILTER (NOT regexp_matches(f('{"a": ' || (random() + 1)::BIGINT::VARCHAR || '}', 'a'), '^(11|22)$')) FROM range(1000)`, "0",
		},
		{"j: utf8, k: utf8", "utf8", "upper(j -> k) || (SELECT j -> k)", `f('{"a": "x"}', 'a')`, `"X""x"`},
		{"j: utf8", "utf8", "(j -> 'a') || upper(j -> 'a')", `f('{"a": 1}')`, "11"},
		{"j: utf8, k: utf8", "utf8", "coalesce(j -> k -> k, 'none')", `f('{"a": {"a": 3}}', 'a')`, "3"},
		{"j: utf8, k: int64", "utf8", "concat(\"J\" /* j */ -> k, j ->> 0)", `f('[1, 2]', 1)`, "21"},
		{"j: utf8", "utf8", "(j -> i)::VARCHAR", "", `"i" is not an argument`},
		{"l: list<utf8>, k: utf8", "list<utf8>", "list_transform(l, lambda e: (e -> k)::VARCHAR)", `f(['{"a": 1}', '{"a": 2}'], 'a')::VARCHAR`, "[1, 2]"},
		{"l: list<utf8>, k: utf8", "list<utf8>", "list_transform(l, e -> ((e -> k)::VARCHAR))", `f(['{"a": 1}', '{"a": 2}'], 'a')::VARCHAR`, "[1, 2]"},
		{"l: list<utf8>, k: utf8", "utf8", "list_reduce(l, lambda a, b: a || b, (k -> 'a')::VARCHAR)", `f(['x', 'y'], '{"a": 1}')`, "1xy"},
		{"l: list<int64>", "list<int64>", "list_transform(l, lambda e: half(e))", "f([4])::VARCHAR", "[2]"},
		{"l: list<int64>", "list<int64>", "list_transform(l, lambda e: e.half())", "", "method calls are not supported in a body"},
		{"l: list<int64>", "list<int64>", "list_transform(l, lambda e: e + g)", "", `"g" is not an argument`},
		{"l: list<int64>", "list<int64>", "list_transform(l, lambda e, : e)", "", "syntax error"},
		{"l: list<int64>", "list<int64>", "list_transform(l, lambda e: (SELECT e))", "", "subqueries in lambda expressions are not supported"},
		{"l: list<int64>", "int64", "(SELECT list_sum(list_transform(list(e), lambda e: e + 1)) FROM (SELECT 2 AS e UNION ALL SELECT 3) AS e)", "f([1])", "7"},
		{"n: int64", "int64", "(SELECT max(list_sum([e + n for e in [value]])) FROM numbers)", "", `FROM t, (SELECT n AS v)`},
		{
			"n: int64", "int64", "(SELECT max(list_sum([e + v for e in [value]])) FROM numbers, (SELECT n AS v))",
			"list([f(e), f(e + 1)])::VARCHAR FROM (VALUES (5)) t(e)", "[[9, 10]]",
		},
		{"l: list<int64>", "struct<e: int64, E2: int64>", `list_transform(l, lambda e: struct_pack(e, E2 := e + 1))[1]`, "f([1])::VARCHAR", "{'e': 1, 'E2': 2}"},
	} {
		var args []string
		for _, a := range strings.Split(tt.args, ", ") {
			name, typ, _ := strings.Cut(a, ": ")
			args = append(args, "{ name: "+name+", type: "+typ+" }")
		}
		_, problems := publish(t, db, load(t, "- { name: half, from: sql, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: x // 2 }\n"+
			fmt.Sprintf("- { name: f, from: sql, signature: { args: [%s], returns: %q }, body: %q }\n", strings.Join(args, ", "), tt.returns, tt.body)), nil)
		if tt.call == "" {
			if !strings.Contains(fmt.Sprint(problems), tt.want) {
				t.Errorf("%s\n got %v\nwant %s", tt.body, problems, tt.want)
			}
			continue
		}
		if len(problems) > 0 {
			t.Errorf("%s\n%v", tt.body, problems)
			continue
		}
		if got, err := query(t, db, "SELECT "+tt.call); err != nil || got != tt.want {
			t.Errorf("%s\n%s\n got %q, error %v\nwant %q", tt.body, tt.call, got, err, tt.want)
		}
	}
}

// TestArgumentsOverRows: where a derived table binds the arguments, no argument
// sees that table's one row in the place of the statement's.
func TestArgumentsOverRows(t *testing.T) {
	db := open(t)
	const one = "{ args: [{ name: n, type: int64 }], returns: int64 }"
	_, problems := publish(t, db, load(t, "- { name: f, from: sql, signature: "+one+", body: (SELECT max(value) FROM numbers WHERE value <= n) }\n"+
		"- { name: via_f, from: sql, signature: "+one+", body: f(n) }\n"+
		"- { name: plus, from: sql, signature: "+one+", body: n + 1 }\n"), nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	overRows := []string{
		"count(*)", "1 + count(*)", "count()", "sum(1)::BIGINT", "plus(count(*))", "plus(plus(max(3)))", "count(*) OVER ()", "row_number() OVER ()",
		"CASE WHEN v > 0 THEN count(*) END",
		"sum(v) OVER ()::BIGINT", "unnest([1, v])", "sum(list_sum(list_transform([1], lambda x: x)))::BIGINT", "plus(count(*)) + max(v)",
		"max((SELECT max(value) FROM numbers))",
	}
	for _, arg := range append(slices.Clone(overRows),
		"count(v)", "sum(v)::BIGINT", "max(v + 0) + 1", "count(*) FILTER (v > 1)", "count(DISTINCT v)", "any_value(v)", "v", "list_aggregate([1, 2], 'sum')::BIGINT",
		"(SELECT count(*) FROM numbers)", "(SELECT unnest([v]))", "(SELECT max(row) FROM (SELECT row_number() OVER () AS row FROM numbers))",
	) {
		for _, from := range []string{"(VALUES (1), (2), (2), (3)) t(v)", "(VALUES (1), (2), (2), (3)) t(v) GROUP BY v ORDER BY v"} {
			want, err := query(t, db, "SELECT (SELECT max(value) FROM numbers WHERE value <= q) FROM (SELECT "+strings.ReplaceAll(arg, "plus", "1+")+
				" AS q FROM "+from+")")
			if err != nil {
				continue
			}
			for _, name := range []string{"f", "via_f"} {
				got, err := query(t, db, "SELECT "+name+"("+arg+") FROM "+from)
				if slices.Contains(overRows, arg) {
					if err == nil || !strings.Contains(err.Error(), "reads or returns several rows") {
						t.Errorf("%s(%s) FROM %s\n got %q, error %v", name, arg, from, got, err)
					}
				} else if err != nil || got != want {
					t.Errorf("%s(%s) FROM %s\n got %q, error %v\nwant %q", name, arg, from, got, err, want)
				}
			}
		}
	}
}
