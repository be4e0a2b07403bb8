package main

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// generator makes the statements that call one function. They depend on the seed and
// the function only.
type generator struct {
	f      *function
	rnd    *rand.Rand
	sweeps []sweep // in random order; taken from the end
}

// sweep is a call in which one argument is a certain hostile value.
type sweep struct {
	signature, param int
	value            string
}

// try is a statement, the arguments of the call in it, and the same statement without
// the call, if it has more than the call.
type try struct {
	sql, control string
	args         []string
}

// every is all values, of every type.
var every = func() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		all = append(all, values[name]...)
	}
	return all
}()

func newGenerator(f *function, seed uint64) *generator {
	h := fnv.New64a()
	h.Write([]byte(f.name))
	g := &generator{f: f, rnd: rand.New(rand.NewPCG(seed, h.Sum64()))}
	g.sweeps = make([]sweep, len(f.whole))
	for i, s := range f.signatures {
		for p, typ := range s.params {
			own := values[poolOf(typ)]
			if own == nil || i == 0 { // values of other types, once
				own = every
			}
			for _, v := range own {
				g.sweeps = append(g.sweeps, sweep{i, p, v})
			}
		}
	}
	g.rnd.Shuffle(len(g.sweeps), func(i, k int) { g.sweeps[i], g.sweeps[k] = g.sweeps[k], g.sweeps[i] })
	return g
}

// poolOf returns the key of values for a parameter's type.
func poolOf(typ string) string {
	typ = strings.ToUpper(typ)
	switch {
	case strings.HasPrefix(typ, "DECIMAL"):
		return "DECIMAL"
	case strings.HasSuffix(typ, "[]"):
		return "LIST"
	case strings.HasSuffix(typ, "]"):
		return "ARRAY"
	case strings.HasPrefix(typ, "STRUCT"):
		return "STRUCT"
	case strings.HasPrefix(typ, "MAP"):
		return "MAP"
	case strings.HasPrefix(typ, "UNION"):
		return "UNION"
	case strings.HasPrefix(typ, "ENUM"):
		return "ENUM"
	case typ == `"NULL"`:
		return "NULL"
	}
	return typ
}

// next returns the next statement: half of them sweep over every hostile value, the
// others are random.
func (g *generator) next() try {
	if n := len(g.f.whole); n > 0 {
		i := n - len(g.sweeps)
		g.sweeps = g.sweeps[1:]
		return try{sql: g.f.whole[i]}
	}
	if n := len(g.sweeps); n > 0 && g.chance(2) {
		w := g.sweeps[n-1]
		g.sweeps = g.sweeps[:n-1]
		s := g.f.signatures[w.signature]
		args := g.args(s)
		args[w.param] = w.value
		return g.statement(s, args)
	}
	s := pick(g.rnd, g.f.signatures)
	return g.statement(s, g.args(s))
}

func pick[T any](rnd *rand.Rand, from []T) T { return from[rnd.IntN(len(from))] }

// chance is true once in n times.
func (g *generator) chance(n int) bool { return g.rnd.IntN(n) == 0 }

// args returns the arguments of a call.
func (g *generator) args(s signature) []string {
	var args []string
	for _, typ := range s.params {
		args = append(args, g.value(typ))
	}
	if s.variadic != "" {
		for range g.rnd.IntN(4) {
			args = append(args, g.value(s.variadic))
		}
	}
	if g.chance(20) {
		args = append(args, pick(g.rnd, every))
	}
	return args
}

// value returns an argument for a parameter of a type; sometimes of another type.
func (g *generator) value(typ string) string {
	if poolOf(typ) == "LAMBDA" {
		return pick(g.rnd, lambdas)
	}
	pool := values[poolOf(typ)]
	if pool == nil || g.chance(10) {
		pool = values[pick(g.rnd, poolNames)]
	}
	v := pick(g.rnd, pool)
	if !large(v) && g.chance(12) { // a nested value
		v = fmt.Sprintf(pick(g.rnd, []string{
			"[%s]", "[%s, NULL]", "{'a': %s}", "MAP {1: %s}", "[[%s]]", "[{'a': %s}]", "(%s)::VARIANT", "to_json(%s)",
			"(%s)::VARCHAR", "array_value(%s)",
		}), v)
	}
	return v
}

var poolNames = slices.Sorted(maps.Keys(values))

// statement returns a statement with a call.
func (g *generator) statement(s signature, args []string) try {
	t := try{args: args}
	switch {
	case isStatement(g.f.template()):
		t.sql = g.f.call(args)
	case strings.HasPrefix(s.kind, "table"):
		t.sql, t.control = g.table(args)
	case s.kind == "aggregate" && !g.chance(8):
		t.sql, t.control = g.aggregate(args)
	case windowOnly[g.f.name]:
		t.sql = g.window(g.f.call(args))
	default:
		t.sql, t.control = g.scalar(args)
	}
	return t
}

// isStatement reports whether a template is a whole statement.
func isStatement(template string) bool {
	word, _, _ := strings.Cut(template, " ")
	return slices.Contains([]string{"SELECT", "WITH", "PIVOT", "UNPIVOT", "SUMMARIZE"}, word)
}

// windowOnly are functions that need OVER.
var windowOnly = map[string]bool{
	"row_number": true, "rank": true, "dense_rank": true, "rank_dense": true, "percent_rank": true, "cume_dist": true, "ntile": true,
	"lag": true, "lead": true, "first_value": true, "last_value": true, "nth_value": true, "fill": true,
}

// call returns a call of a function, an operator or a construct.
func (f *function) call(args []string) string {
	switch {
	case f.template() != "":
		text := f.template()
		for i := min(len(args), 9); i > 0; i-- {
			text = strings.ReplaceAll(text, fmt.Sprintf("$%d", i), args[i-1])
		}
		return text
	case isOperator(f.name) && len(args) == 2:
		return "(" + args[0] + ") " + f.name + " (" + args[1] + ")"
	case isOperator(f.name) && len(args) == 1:
		return f.name + " (" + args[0] + ")"
	}
	return `"` + f.name + `"(` + strings.Join(args, ", ") + ")"
}

// template returns the text of a construct, "" for a function.
func (f *function) template() string {
	if strings.HasPrefix(f.name, "(") && len(f.signatures) > 0 {
		return f.signatures[0].kind
	}
	return ""
}

func isOperator(name string) bool { return strings.Trim(name, "!%&*+-/<=>@^|~") == "" }

// columns returns a FROM clause with the arguments as columns, in several rows, and
// their names. Arguments that must be constant stay as they are.
func (g *generator) columns(args []string) (from string, names []string) {
	names = slices.Clone(args)
	rows := [3][]string{}
	for i, a := range args {
		if strings.HasPrefix(a, "lambda ") || g.chance(3) {
			continue
		}
		names[i] = fmt.Sprintf("c%d", i)
		other := a
		for _, pool := range poolNames {
			if slices.Contains(values[pool], a) {
				other = pick(g.rnd, values[pool])
			}
		}
		rows[0], rows[1], rows[2] = append(rows[0], a), append(rows[1], other), append(rows[2], "NULL")
	}
	if len(rows[0]) == 0 {
		return "range(3) t(n)", names
	}
	var of []string
	for i, a := range names {
		if a != args[i] {
			of = append(of, a)
		}
	}
	from = fmt.Sprintf("(VALUES (%s), (%s), (%s)) t(%s)", strings.Join(rows[0], ", "), strings.Join(rows[1], ", "), strings.Join(rows[2], ", "),
		strings.Join(of, ", "))
	many := 3
	if !slices.ContainsFunc(slices.Concat(args, rows[1]), large) && g.chance(3) {
		many = 1000
	}
	from += fmt.Sprintf(", range(%d) r(n)", many)
	return from, names
}

// large reports whether a value may take more than some kilobytes.
func large(arg string) bool { return strings.Contains(arg, "000") }

func (g *generator) scalar(args []string) (sql, control string) {
	if g.chance(2) {
		return "SELECT " + g.f.call(args), ""
	}
	from, names := g.columns(args)
	from += pick(g.rnd, []string{"", "", " WHERE n % 3 <> 1", " WHERE n > 5"})
	return "SELECT " + g.f.call(names) + " AS v FROM " + from, "SELECT COLUMNS(*) IS NULL FROM " + from
}

func (g *generator) aggregate(args []string) (sql, control string) {
	from, names := g.columns(args)
	distinct, order, filter := "", "", ""
	if g.chance(4) {
		distinct = "DISTINCT "
	}
	if g.chance(3) {
		order = " ORDER BY " + pick(g.rnd, append(names, "n", "n DESC NULLS FIRST", "1"))
	}
	if g.chance(4) {
		filter = pick(g.rnd, []string{" FILTER (WHERE n > 0)", " FILTER (WHERE false)", " FILTER (WHERE n % 2 = 1)"})
	}
	after := filter
	switch g.rnd.IntN(6) {
	case 0, 1:
		after += " OVER " + g.frame()
	case 2:
		from += " GROUP BY n % 7"
	case 3:
		of := append(slices.Clone(args), "1")
		return fmt.Sprintf("SELECT list_aggregate([%s], '%s'%s)", of[0], g.f.name, tail(args)), ""
	}
	all := strings.Join(names, ", ")
	sql = `SELECT "` + g.f.name + `"(` + distinct + all + order + ")" + after + " AS v FROM " + from
	if len(names) > 0 {
		control = "SELECT list(" + distinct + names[0] + order + ")" + after + " AS v FROM " + from
	}
	return sql, control
}

// tail is the arguments after the first.
func tail(args []string) string {
	if len(args) < 2 {
		return ""
	}
	return ", " + strings.Join(args[1:], ", ")
}

func (g *generator) window(expr string) string {
	if g.chance(4) {
		expr = strings.TrimSuffix(expr, ")") + pick(g.rnd, []string{" IGNORE NULLS)", " ORDER BY n)", " RESPECT NULLS)"})
	}
	return "SELECT " + expr + " OVER " + g.frame() + " AS v FROM range(" + pick(g.rnd, []string{"0", "1", "3", "5000"}) + ") t(n)"
}

// frame returns a window, sometimes an odd one.
func (g *generator) frame() string {
	bounds := []string{
		"UNBOUNDED PRECEDING", "CURRENT ROW", "UNBOUNDED FOLLOWING", "1 PRECEDING", "1 FOLLOWING", "9223372036854775807 FOLLOWING",
		"9223372036854775807 PRECEDING", "(-1) PRECEDING", "NULL PRECEDING", "n FOLLOWING", "n PRECEDING", "0.5 FOLLOWING",
	}
	partition := pick(g.rnd, []string{"", "", "PARTITION BY n % 3 ", "PARTITION BY NULL "})
	order := pick(g.rnd, []string{"", "ORDER BY n ", "ORDER BY n DESC NULLS FIRST ", "ORDER BY n % 2, n ", "ORDER BY n::DOUBLE "})
	frame := ""
	if g.chance(2) {
		frame = fmt.Sprintf("%s BETWEEN %s AND %s%s", pick(g.rnd, []string{"ROWS", "RANGE", "GROUPS"}), pick(g.rnd, bounds), pick(g.rnd, bounds),
			pick(g.rnd, []string{"", " EXCLUDE CURRENT ROW", " EXCLUDE TIES", " EXCLUDE GROUP"}))
	}
	return "(" + partition + order + frame + ")"
}

func (g *generator) table(args []string) (sql, control string) {
	switch g.rnd.IntN(4) {
	case 0:
		from, names := g.columns(args)
		return "SELECT x.* FROM " + from + ", " + g.f.call(names) + " x", "SELECT COLUMNS(*) IS NULL FROM " + from
	case 1:
		return "SELECT count(*) FROM " + g.f.call(args), ""
	}
	return "SELECT * FROM " + g.f.call(args), ""
}
