package diff

import (
	"fmt"
	"strings"
)

// function is a function that the Spicepod declares, and its body as it is written by
// hand in place of a call: $1, $2, … are the arguments, and names that a caller might
// use do not occur in it.
type function struct {
	name    string
	args    []arg
	returns kind
	body    string
	inline  string
	plain   bool // it reads no table and has no subquery: calls may be in a lambda
	// of a table function
	columns []arg
	tables  []string // names of table arguments, each with one column value
}

type arg struct {
	name string
	kind kind
}

// scalars are functions that return a value. Some bodies have the names of columns of
// the callers for lambdas, aliases and arguments.
var scalars = []function{
	{
		name: "add2", args: []arg{{"x", integer}, {"y", integer}}, returns: integer, body: "x % 100003 + y % 100003", inline: "$1 % 100003 + $2 % 100003",
		plain: true,
	},
	{name: "half", args: []arg{{"x", double}}, returns: double, body: "x * 0.5", inline: "$1 * 0.5", plain: true},
	{name: "echo", args: []arg{{"s", text}}, returns: text, body: "s || '/' || s -- twice", inline: "$1 || '/' || $1", plain: true},
	{
		name: "choose", args: []arg{{"b", boolean}, {"x", integer}, {"y", integer}}, returns: integer, body: "CASE WHEN b THEN x ELSE y END",
		inline: "CASE WHEN $1 THEN $2 ELSE $3 END", plain: true,
	},
	{name: "unknown", args: []arg{{"s", text}}, returns: boolean, body: "s IS NULL OR s = ''", inline: "$1 IS NULL OR $1 = ''", plain: true},
	{name: "later", args: []arg{{"d", date}, {"e", date}}, returns: date, body: "greatest(d, e)", inline: "greatest($1, $2)", plain: true},
	{name: "earlier", args: []arg{{"t", timestamp}, {"u", timestamp}}, returns: timestamp, body: "least(t, u)", inline: "least($1, $2)", plain: true},
	{name: "negate", args: []arg{{"n", decimal}}, returns: decimal, body: "-n", inline: "-$1", plain: true},
	{
		name: "total", args: []arg{{"l", list}}, returns: integer, body: "list_sum(list_transform(l, lambda e: e % 1000))::BIGINT",
		inline: "list_sum(list_transform($1, lambda z1: z1 % 1000))::BIGINT", plain: true,
	},
	{
		name: "add_all", args: []arg{{"l", list}, {"n", integer}}, returns: list, body: "list_transform(l, lambda e: e % 1000 + n % 1000)",
		inline: "list_transform($1, lambda z1: z1 % 1000 + $2 % 1000)", plain: true,
	},
	{name: "over", args: []arg{{"l", list}, {"k", integer}}, returns: list, body: "[x for x in l if x > k]", inline: "[z1 for z1 in $1 if z1 > $2]", plain: true},
	{
		name: "weigh", args: []arg{{"l", list}, {"k", integer}}, returns: list, body: "list_transform(l, lambda x, i: x % 1000 * i + k % 1000)",
		inline: "list_transform($1, lambda z1, z2: z1 % 1000 * z2 + $2 % 1000)", plain: true,
	},
	{name: "pack", args: []arg{{"a", integer}, {"b", text}}, returns: object, body: "{'a': a, 'b': b}", inline: "{'a': $1, 'b': $2}", plain: true},
	{name: "part", args: []arg{{"o", object}}, returns: text, body: "o.b", inline: "($1).b", plain: true},
	{
		name: "nested", args: []arg{{"l", list}, {"s", text}}, returns: text, body: "echo(s) || total(add_all(l, len(s)))",
		inline: "(CAST($2 || '/' || $2 AS VARCHAR)) || CAST(list_sum(list_transform(list_transform($1, lambda z3: z3 % 1000 + len($2) % 1000), lambda z4: z4 % " +
			"1000)) AS BIGINT)", plain: true,
	},
	{
		name: "name_of", args: []arg{{"of", integer}}, returns: text, body: "(SELECT max(s) FROM w t WHERE t.id = of)",
		inline: "(SELECT max(z.s) FROM w z WHERE z.id = $1)",
	},
	{
		name: "name_in", args: []arg{{"key", integer}}, returns: text, body: "(SELECT max(s) FROM r WHERE id = key)",
		inline: "(SELECT max(z.s) FROM r z WHERE z.id = $1)",
	},
	{
		name: "known", args: []arg{{"key", integer}}, returns: boolean, body: "key IN (SELECT id FROM w WHERE k IS NOT NULL)",
		inline: "$1 IN (SELECT z.id FROM w z WHERE z.k IS NOT NULL)",
	},
	{
		name: "count_from", args: []arg{{"least", integer}}, returns: integer, body: "(SELECT count(*) FROM m WHERE k >= least)",
		inline: "(SELECT count(*) FROM m z WHERE z.k >= $1)",
	},
	{
		name: "best", args: []arg{{"key", integer}}, returns: integer, body: "(WITH c AS (SELECT id, k FROM r WHERE id > key) SELECT max(k) FROM c)",
		inline: "(SELECT max(z.k) FROM r z WHERE z.id > $1)",
	},
	{
		name: "none_of", args: []arg{{"key", integer}}, returns: integer, body: "(SELECT count(id) FROM e WHERE id >= key)",
		inline: "(SELECT count(z.id) FROM e z WHERE z.id >= $1)",
	},
	{
		name: "sums", args: []arg{{"key", integer}}, returns: integer, body: "(SELECT sum(id % 1000) FROM p WHERE k <= key)::BIGINT",
		inline: "(SELECT sum(z.id % 1000) FROM p z WHERE z.k <= $1)::BIGINT",
	},
	{
		name: "ids", args: []arg{{"key", integer}}, returns: list, body: "(SELECT list_transform(list(id ORDER BY id), lambda q: q + 1) FROM m WHERE k = key)",
		inline: "(SELECT list_transform(list(z.id ORDER BY z.id), lambda z1: z1 + 1) FROM m z WHERE z.k = $1)",
	},
	{
		name: "through", args: []arg{{"key", integer}}, returns: text, body: "coalesce(name_of(key), name_in(key), echo('none'))",
		inline: "coalesce((SELECT max(z5.s) FROM w z5 WHERE z5.id = $1), (SELECT max(z6.s) FROM r z6 WHERE z6.id = $1), 'none/none')",
	},
	{
		name: "in_view", args: []arg{{"key", integer}}, returns: text, body: "(SELECT max(s) FROM vm WHERE id >= key)",
		inline: "(SELECT max(z.s) FROM vm z WHERE z.id >= $1)",
	},
	{
		name: "stored", args: []arg{{"least", integer}}, returns: integer, body: "(SELECT sum(id % 1000)::BIGINT FROM va WHERE k >= least) + none_of(least)",
		inline: "(SELECT sum(z.id % 1000)::BIGINT FROM va z WHERE z.k >= $1) + (SELECT count(z1.id) FROM e z1 WHERE z1.id >= $1)",
	},
	{
		name: "joined", args: []arg{{"key", integer}}, returns: integer, body: "(SELECT count(*) FROM w JOIN r ON w.id = r.id WHERE r.k > key)",
		inline: "(SELECT count(*) FROM w z1 JOIN r z2 ON z1.id = z2.id WHERE z2.k > $1)",
	},
	// tool calls have several statements for these; trials choose one
	{
		name: "named_or", args: []arg{{"key", integer}, {"least", integer}}, returns: text,
		body:   "coalesce((SELECT max(s) FROM w WHERE id = key AND k >= least), 'none of ' || key)",
		inline: "coalesce((SELECT max(z.s) FROM w z WHERE z.id = $1 AND z.k >= $2), 'none of ' || $1)",
	},
	{
		name: "known_in", args: []arg{{"key", integer}}, returns: boolean, body: "(SELECT max(k) FROM m WHERE id = key AND s <> 'a') IS NOT NULL",
		inline: "(SELECT max(z.k) FROM m z WHERE z.id = $1 AND z.s <> 'a') IS NOT NULL",
	},
	{
		name: "single", args: []arg{{"key", integer}, {"least", integer}}, returns: text, body: "(SELECT s FROM p WHERE id = key AND k > least)",
		inline: "(SELECT z.s FROM p z WHERE z.id = $1 AND z.k > $2)",
	},
	{
		name: "of_two", args: []arg{{"key", integer}}, returns: integer, body: "(SELECT count(b.k) FROM m a LEFT JOIN w b ON b.id = a.k WHERE a.id = key)",
		inline: "(SELECT count(z2.k) FROM m z1 LEFT JOIN w z2 ON z2.id = z1.k WHERE z1.id = $1)",
	},
	{
		name: "within", args: []arg{{"lo", integer}, {"hi", integer}}, returns: integer, body: "(SELECT count(*) FROM r WHERE id BETWEEN lo AND hi)",
		inline: "(SELECT count(*) FROM r z WHERE z.id BETWEEN $1 AND $2)",
	},
	{
		name: "largest", args: []arg{{"key", integer}}, returns: integer,
		body:   "(SELECT max(TRY_CAST(s AS BIGINT)) FROM m WHERE id = key AND TRY_CAST(s AS BIGINT) > 0)",
		inline: "(SELECT max(TRY_CAST(z.s AS BIGINT)) FROM m z WHERE z.id = $1 AND TRY_CAST(z.s AS BIGINT) > 0)",
	},
}

// tableFunctions return tables. In inline they are derived tables, where args is one
// row of the arguments.
var tableFunctions = []function{
	{
		name: "pairs", args: []arg{{"n", integer}}, columns: []arg{{"value", integer}, {"doubled", integer}},
		body:   "SELECT n AS value, n % 1000 * 2 AS doubled FROM args UNION ALL SELECT n % 7, 0 FROM args",
		inline: "SELECT z.n AS value, z.n % 1000 * 2 AS doubled FROM {args} z UNION ALL SELECT z.n % 7, 0 FROM {args} z",
	},
	{
		name: "rows_of", args: []arg{{"key", integer}}, columns: []arg{{"id", integer}, {"s", text}},
		body:   "SELECT w.id::BIGINT AS id, s FROM w WHERE id >= (SELECT key FROM args)",
		inline: "SELECT z.id::BIGINT AS id, z.s AS s FROM w z WHERE z.id >= (SELECT z1.key FROM {args} z1)",
	},
	{
		name: "rows_at", args: []arg{{"key", integer}}, columns: []arg{{"id", integer}, {"s", text}},
		body:   "SELECT r.id::BIGINT AS id, r.s FROM r JOIN args ON r.id = args.key AND r.k IS NOT NULL",
		inline: "SELECT z.id::BIGINT AS id, z.s AS s FROM r z JOIN {args} z1 ON z.id = z1.key AND z.k IS NOT NULL",
	},
	{
		name: "stocked", args: []arg{{"key", integer}}, columns: []arg{{"k", integer}, {"who", text}},
		body: "SELECT k, s AS who FROM m WHERE id >= (SELECT key FROM args) UNION ALL SELECT k, s FROM vm WHERE k >= (SELECT key FROM args)",
		inline: "SELECT z.k AS k, z.s AS who FROM m z WHERE z.id >= (SELECT z1.key FROM {args} z1) UNION ALL SELECT z2.k, z2.s FROM vm z2 WHERE z2.k >= (SELECT " +
			"z3.key FROM {args} z3)",
	},
	{
		name: "named", args: []arg{{"least", integer}, {"s", text}}, columns: []arg{{"k", integer}, {"who", text}},
		body:   "SELECT r.k, coalesce(r.s, args.s) AS who FROM r, args WHERE r.k >= args.least",
		inline: "SELECT z.k AS k, coalesce(z.s, z1.s) AS who FROM r z, {args} z1 WHERE z.k >= z1.least",
	},
}

// overTables take a table, too.
var overTables = []function{
	{
		name: "scale", tables: []string{"numbers"}, args: []arg{{"f", integer}}, columns: []arg{{"scaled", integer}},
		body:   "SELECT value % 1000 * (SELECT f % 1000 FROM args) AS scaled FROM numbers",
		inline: "SELECT z.value % 1000 * (SELECT z1.f % 1000 FROM {args} z1) AS scaled FROM {numbers} z",
	},
}

// lambda reports whether the body has one.
func (f function) lambda() bool {
	return strings.Contains(f.inline, "lambda") || strings.Contains(f.inline, " for ")
}

// written is the body as it stands in place of a call with these arguments.
func (f function) written(args []string) string {
	parts := make([]string, 0, 2*len(args))
	for i, a := range args {
		parts = append(parts, fmt.Sprintf("$%d", i+1), fmt.Sprintf("CAST((%s) AS %s)", a, sqlTypes[f.args[i].kind].sql))
	}
	return fmt.Sprintf("CAST((%s) AS %s)", strings.NewReplacer(parts...).Replace(f.inline), sqlTypes[f.returns].sql)
}

// derived is the body of a table function in place of a call.
func (f function) derived(args []string, tables ...string) string {
	fields := make([]string, len(args))
	for i, a := range args {
		fields[i] = fmt.Sprintf("CAST((%s) AS %s) AS %s", a, sqlTypes[f.args[i].kind].sql, f.args[i].name)
	}
	parts := []string{"{args}", "(SELECT " + strings.Join(fields, ", ") + ")"}
	for i, t := range tables {
		parts = append(parts, "{"+f.tables[i]+"}", t)
	}
	return "(" + strings.NewReplacer(parts...).Replace(f.inline) + ")"
}

// volatility is what the function is declared to be: results of some tools are cached.
func (f function) volatility() string {
	return []string{"stable", "volatile", "stable", "immutable"}[len(f.name)%4]
}

// yaml declares the function; the comment changes its declaration, not what it does.
func (f function) yaml(comment string) string {
	var args []string
	for _, a := range f.args {
		args = append(args, fmt.Sprintf("{ name: %s, type: '%s' }", a.name, sqlTypes[a.kind].declared))
	}
	kind, returns := "\n  volatility: "+f.volatility(), "'"+sqlTypes[f.returns].declared+"'"
	if f.columns != nil {
		kind += "\n  kind: table\n  as_tool: " + fmt.Sprint(len(f.tables) == 0)
		var fields []string
		for _, c := range f.columns {
			fields = append(fields, fmt.Sprintf("{ name: %s, type: '%s' }", c.name, sqlTypes[c.kind].declared))
		}
		returns = "[" + strings.Join(fields, ", ") + "]"
	}
	var tables []string
	for _, t := range f.tables {
		tables = append(tables, "{ name: "+t+", columns: [{ name: value, type: int64 }] }")
	}
	return fmt.Sprintf("- name: %s%s\n  from: sql\n  signature: { tables: [%s], args: [%s], returns: %s }\n  body: |\n    %s\n    /* %s */\n",
		f.name, kind, strings.Join(tables, ", "), strings.Join(args, ", "), returns, f.body, comment)
}
