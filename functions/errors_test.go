package functions

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/spicepod"
)

// scalar declares f(x int64) → int64 with a body in a block scalar, whose
// first line is line 11 and first column 5 of the file.
func scalar(body string) string {
	return "- name: f\n  from: sql\n  signature:\n    args: [{ name: x, type: int64 }]\n    returns: int64\n  body: |\n    " +
		strings.ReplaceAll(body, "\n", "\n    ") + "\n"
}

// show renders problems as place, message and hint.
func show(problems spicepod.Problems) string {
	var lines []string
	for _, p := range problems {
		line := fmt.Sprintf("%d:%d %s: %s", p.Line, p.Column, p.Component, p.Message)
		if p.Hint != "" {
			line += " (" + p.Hint + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestFaultsInBodies(t *testing.T) {
	db := open(t)
	for _, tt := range []struct{ name, body, want string }{
		{"unknown name", "x +\n  y", `12:7 function f: "y" is not an argument of f(x int64) → int64`},
		{"near name", "X1 + 1", `11:5 function f: "X1" is not an argument`},
		{"syntax", "x +\n\n  * 2", "13:9 function f: failed to parse function body as a SQL expression: syntax error"},
		{"multibyte before", "length('é漢') + y", `11:20 function f: "y"`},
		{"unknown function", "x + nosuch(x)", `11:9 function f: there is no function "nosuch"`},
		{"near function", "x + initcup(x)", `11:9 function f: there is no function "initcup" (did you mean "initcap"?)`},
		{"wrong types", "x + length(DATE '2020-01-01')", "11:9 function f: No function matches"},
		{
			"result type", "\n\n'a' || x",
			"13:5 function f: body expression evaluates to type Utf8, which is not coercible to declared return type Int64 (write CAST(… AS BIGINT), or declare " +
				"returns: utf8)",
		},
		{"narrowing", "x / 2", "11:5 function f: body expression evaluates to type Float64"},
		{"aggregate", "1 + sum(x)", "11:9 function f: sum is an aggregate, and a scalar function sees one row"},
		{"window", "row_number() OVER ()", "11:5 function f: row_number is a window function"},
		{"several rows", "x + unnest([1, 2])", "11:9 function f: unnest returns several rows, and a scalar function returns one value (return the list itself"},
		{"several rows of a text", "length(regexp_split_to_table('a b', ' ')) + x", "11:12 function f: regexp_split_to_table returns several rows"},
		{"unknown table", "(SELECT max(id) FROM ordres)", `11:26 function f: table "ordres" is not declared in the Spicepod (did you mean "orders"?)`},
		{"unknown column", "(SELECT max(id) FROM orders WHERE custmer = x)", "11:39 function f: Referenced column \"custmer\" not found in FROM clause!"},
		{"argument named as a column", "(SELECT max(id) FROM orders o WHERE o.id = (SELECT max(x) FROM (SELECT 1 AS x)))", `argument "x" has the name of a column`},
		{"parameter", "x + $1", "11:9 function f: a body has no parameters"},
		{"parameter ?", "x + ?", "11:9 function f: a body has no parameters"},
		{"file", "(SELECT count(*) FROM read_csv('/etc/passwd'))", `11:27 function f: function "read_csv" is refused`},
		{"file as a table", "(SELECT count(*) FROM '/etc/passwd')", `11:27 function f: table "/etc/passwd" is not declared`},
		{"setting", "length(current_setting('memory_limit'))", `11:12 function f: function "current_setting" is refused`},
		{"internal schema", "spice.core.g(x)", `11:5 function f: schema "core" is internal`},
		{"behind a dot", "x.abs()", "11:5 function f: method calls are not supported in a body (write abs(x))"},
		{"itself", "f(x) + 1", "11:5 function f: dependency cycle: f → f"},
		// Injection.
		{"second overload", "1, (x, y) AS 2", "failed to parse"},
		{"two expressions", "x, x", "it is more than one expression"},
		{"table macro", "TABLE SELECT 1", "failed to parse"},
		{"second statement", "1; CREATE TABLE pwned(i int)", "failed to parse"},
		{"closes the bracket", "1) FROM orders WHERE (1=1", "failed to parse"},
		{"closes the cast", "1) AS BIGINT), (y) AS (2", "failed to parse"},
		{"query", "SELECT x", "failed to parse"},
		{"from", "x FROM orders", "failed to parse"},
		{"alias", "x AS y", "failed to parse"},
		{"bare alias", "x y", "failed to parse"},
		{"star", "*", "failed to parse"},
		{"distinct", "DISTINCT x", "failed to parse"},
		{"comment swallows", "x /*", "failed to parse"},
		{"only a comment", "-- x", "failed to parse"},
		{"string swallows", "'", "failed to parse"},
		{"where", "x WHERE true", "failed to parse"},
		{"limit", "x LIMIT 1", "failed to parse"},
		{"into", "1 INTO t", "failed to parse"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, problems := publish(t, db, load(t, scalar(tt.body)), nil)
			if got := show(problems); !strings.Contains(got, tt.want) || len(problems) != 1 || set.Len() != 0 {
				t.Errorf("%d functions, problems:\n%s\nwant %s", set.Len(), got, tt.want)
			}
		})
	}
}

func TestGoodBodies(t *testing.T) {
	db := open(t)
	for _, body := range []string{
		"x", "x -- ; DROP", "x;", "/* a */ x", "NULL", "1", "x::BIGINT % 7", "CASE WHEN x > 0 THEN 1 END", "(SELECT max(id) FROM orders)",
		"extract(year FROM current_date)", "sum(x)", "list_sum([y * x FOR y IN [1, 2]])", "x // 2", "coalesce(x, 0)", "(x IN (1, 2))::BIGINT",
		"EXISTS (FROM orders WHERE id = x)", "array_max(make_array(x, 2))", "(WITH o AS (SELECT 1 AS i) SELECT max(i) FROM o)",
		"len([1, x][1:1])", "'a' || 'b' = 'ab'", "named_struct('a', x, 'it''s', 2).a", "x + (SELECT count(*) FROM range(x))", "{'a': x}.a",
	} {
		pod := load(t, scalar(body))
		set, problems := publish(t, db, pod, nil)
		if body == "sum(x)" || strings.Contains(body, "EXISTS") || strings.Contains(body, "= 'ab'") { // not int64
			if set.Len() != 0 {
				t.Errorf("%s: accepted", body)
			}
		} else if len(problems) > 0 {
			t.Errorf("%s: %v", body, problems)
		}
	}
}

func TestNullIsOfEveryType(t *testing.T) {
	db := open(t)
	for _, returns := range []string{"utf8", "list<int64>", "date32", "'struct<a:utf8>'", "boolean", "float64"} {
		set, problems := publish(t, db, load(t, "- { name: f, from: sql, signature: { args: [], returns: "+returns+" }, body: 'NULL' }\n"), nil)
		if len(problems) > 0 || set.Len() != 1 {
			t.Errorf("%s: %v", returns, problems)
		}
	}
	if set, _ := publish(t, db, load(t, "- { name: f, from: sql, signature: { args: [], returns: utf8 }, body: '1' }\n"), nil); set.Len() != 0 {
		t.Error("an integer was taken for NULL")
	}
}

// bodyKinds are as the kinds of bodies have them, with fewer keys.
var bodyKinds = []spicepod.BodyKind{
	{Schemes: []string{"exec"}},
	{Schemes: []string{"wasm"}, Keys: []string{"body", "body_ref"}},
	{Schemes: []string{"http", "https"}},
}

func TestFaultsOutsideBodies(t *testing.T) {
	db := open(t)
	const from = "from: sql, body: x, signature: "
	for _, tt := range []struct{ name, yaml, want string }{
		{
			"type", "- { name: f, " + from + "{ args: [{ name: x, type: int65 }], returns: int64 } }",
			"5:71 function f: unsupported or invalid Arrow type 'int65' for SQL UDF signature. Use Arrow",
		},
		{
			"type and syntax", "- { name: f, from: sql, body: x +, signature: { args: [{ name: x, type: int65 }], returns: int64 } }",
			"5:34 function f: failed to parse function body as a SQL expression",
		},
		{
			"type and name", "- { name: f, from: sql, body: x + y, signature: { args: [{ name: x, type: int65 }], returns: int66 } }",
			`5:35 function f: "y" is not an argument of f(x ?) → ? (declare it under signature.args)` + "\n5:75 function f: unsupported or invalid Arrow type 'int65'",
		},
		{"return type", "- { name: f, " + from + "{ args: [], returns: nope } }", "invalid Arrow type 'nope'"},
		{
			"built-in name", "- { name: Abs, " + from + "{ args: [{ name: x, type: int64 }], returns: int64 } }",
			"5:11 function Abs: failed to register user function because a scalar UDF with this name is already registered; rename the function to avoid changing " +
				"query semantics",
		},
		{"aggregate name", "- { name: sum, " + from + "{ args: [{ name: x, type: int64 }], returns: int64 } }", "already registered"},
		{"grammar name", "- { name: coalesce, " + from + "{ args: [{ name: x, type: int64 }], returns: int64 } }", "already registered"},
		{
			"our name", "- { name: list_udfs, " + from + "{ args: [{ name: x, type: int64 }], returns: int64 } }",
			"because a table function with this name is already registered",
		},
		{
			"scheme", "- { name: f, from: 'perl:./x', signature: { args: [], returns: int64 } }",
			"the `from` scheme 'perl' is unsupported. Supported schemes in this build: {`sql`, `exec`, `wasm`, `http`, `https`}",
		},
		{"sandbox of SQL", "- { name: f, sandbox: s, " + from + "{ args: [], returns: int64 } }", "sandbox has no effect on a function from sql"},
		{"secrets of SQL", "- { name: f, secrets: [S], " + from + "{ args: [], returns: int64 } }", "secrets has no effect on a function from sql"},
		{"packages of SQL", "- { name: f, dependencies: [six], " + from + "{ args: [], returns: int64 } }", "dependencies has no effect on a function from sql"},
		{
			"packages of a module", "- { name: f, from: wasm, dependencies: [six], signature: { args: [], returns: int64 } }",
			"dependencies has no effect on a function from wasm",
		},
		{
			"body of a service", "- { name: f, from: 'https://example.com', body: x, signature: { args: [], returns: int64 } }",
			"body has no effect on a function from https",
		},
		{
			"job of no tool", "- { name: f, async: true, as_tool: false, " + from + "{ args: [], returns: int64 } }",
			"async has no effect on a function that is not a tool (add as_tool: true, or remove async)",
		},
		{
			"job of a table function", "- { name: f, async: true, kind: table, " + from + "{ args: [], returns: [{ name: v, type: int64 }] } }",
			"async has no effect on a function that is not a tool",
		},
		{
			"job with a table input", "- { name: f, async: true, as_tool: true, kind: table, " + from +
				"{ tables: [{ name: t, columns: [{ name: v, type: int64 }] }], args: [], returns: [{ name: v, type: int64 }] } }",
			"async has no effect on a function that is not a tool (remove it; POST /v1/queries",
		},
		{"duplicate argument", "- { name: f, " + from + "{ args: [{ name: x, type: int64 }, { name: X, type: int64 }], returns: int64 } }", "duplicate"},
		{"no return type", "- { name: f, " + from + "{ args: [{ name: x, type: int64 }] } }", "return type is required for a scalar SQL function"},
		{"scalar with columns", "- { name: f, " + from + "{ args: [{ name: x, type: int64 }], returns: [{ name: v, type: int64 }] } }", "not a table column list"},
		{"table with a type", "- { name: f, kind: table, " + from + "{ args: [], returns: int64 } }", "not a scalar Arrow type string"},
		{"table named args", "- { name: f, kind: table, " + from +
			"{ tables: [{ name: args, columns: [{ name: v, type: int64 }] }], args: [], returns: [{ name: v, type: int64 }] } }", "'args' conflicts with reserved"},
		{
			"duplicate output", "- { name: f, kind: table, " + from + "{ args: [], returns: [{ name: v, type: int64 }, { name: V, type: int64 }] } }",
			"duplicate output column 'V'",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			os.WriteFile(filepath.Join(dir, "spicepod.yaml"), []byte(head+tt.yaml), 0o600)
			pod, err := spicepod.Load(dir, bodyKinds...)
			if err != nil { // the file's structure is spicepod's to judge
				if !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %s\nwant %s", err, tt.want)
				}
				return
			}
			set, problems := Compile(t.Context(), db, pod, nil, nil)
			if got := show(problems); !strings.Contains(got, tt.want) || set.Len() != 0 {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestTableFunctionFaults(t *testing.T) {
	db := open(t)
	for _, tt := range []struct{ name, body, want string }{
		{
			"two columns", "SELECT 1 AS v, 2 AS w",
			"SQL table function body schema does not match declared return schema: expected 1 column(s) [v: Int64], got 2 column(s) [v: Int32, w: Int32] for " +
				"function 'tf'",
		},
		{"name", "SELECT 1 AS w", "column 1 expected 'v: Int64', got 'w: Int32' for function 'tf'"},
		{"type", "SELECT 'a' AS v", "column 1 expected 'v: Int64', got 'v: Utf8' for function 'tf'"},
		{"bare argument", "SELECT n AS v FROM t", `13:12 function tf: argument "n" is a column of the table args here (write (SELECT n FROM args))`},
		{"statement", "DELETE FROM orders", "expected a SELECT query"},
		{"two", "SELECT 1 AS v; SELECT 2", "expected one statement, got 2"},
		{"syntax", "SELECT 1 AS v\n  FROM WHERE", "14:12 function tf: failed to parse SQL table function body"},
		{"closes the bracket", "SELECT 1) UNION (SELECT 2", "failed to parse SQL table function body"},
		{"file", "SELECT 1 AS v FROM read_text('/etc/passwd')", `"read_text" is refused`},
		{"table", "SELECT 1 AS v FROM nosuch", `13:24 function tf: table "nosuch" is not declared`},
		{"subquery as a table", "SELECT v FROM tf((SELECT 1), 1)", "cycle"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := load(t, "- name: tf\n  from: sql\n  kind: table\n  signature:\n    tables: [{ name: t, columns: [{ name: value, type: int64 }] }]\n"+
				"    args: [{ name: n, type: int64 }]\n    returns: [{ name: v, type: int64 }]\n  body: |\n    "+strings.ReplaceAll(tt.body, "\n", "\n    ")+"\n")
			set, problems := publish(t, db, pod, nil)
			if got := show(problems); !strings.Contains(got, tt.want) || set.Len() != 0 {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestJobsThatEndEarly warns of a time limit that no job reaches.
func TestJobsThatEndEarly(t *testing.T) {
	for declared, want := range map[string]string{
		"async: true, limits: { timeout: 1m }":  "5:48 function f: a job of the function ends after 30s, before limits.timeout (raise runtime.query.timeout)",
		"async: true, limits: { timeout: 30s }": "",
		"async: false, limits: { timeout: 1m }": "",
	} {
		pod := load(t, "  - { name: f, "+declared+", from: sql, body: x, signature: { args: [{ name: x, type: int64 }], returns: int64 } }\n")
		set, problems := Compile(t.Context(), open(t), pod, nil, nil)
		if got := show(problems); set.Len() != 1 || !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: got %q, want %q", declared, got, want)
		}
	}
}
