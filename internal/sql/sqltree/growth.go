package sqltree

import (
	"fmt"
	"strings"
)

// DuckDB copies the operand of a BETWEEN and the arguments of some macros, and plans
// the inside of a subquery, a lambda or a SUMMARIZE more than once: the time to plan
// them grows exponentially with their nesting, and nothing interrupts it. Each level
// costs about the logarithm of its factor; levels of one path share the budget.
const (
	nestingBudget  = 48 // planning takes about 0.1 s
	lambdaCost     = 3  // 16 levels
	subqueryCost   = 4  // 12 levels
	arrayCost      = 8  // ARRAY(SELECT …): 6 levels
	twiceCost      = 6  // what evaluates an operand twice: 8 levels
	thriceCost     = 10 // 4 levels
	summarizeCost  = 12 // 4 levels
	mostReferences = 1000
	mostOperands   = 8      // CASE … WHEN in the operand of another
	mostCopied     = 50_000 // tokens
)

// macros are DuckDB's macros that evaluate an argument more than once.
var macros = map[string]int{
	"array_pop_back": twiceCost, "array_to_string": twiceCost, "array_to_string_comma_default": twiceCost,
	"fmod": twiceCost, "format_pg_type": twiceCost, "format_type": twiceCost, "map_to_pg_oid": twiceCost,
	"json_group_array": twiceCost, "json_group_object": twiceCost, "nullif": twiceCost,
	"round_even": thriceCost, "roundbankers": thriceCost, "split_part": twiceCost, "wavg": twiceCost,
	"weighted_avg": twiceCost,
}

// Copies reports whether DuckDB's function of that name is a macro that evaluates an
// argument more than once.
func Copies(name string) bool { return macros[Fold(name)] > 0 }

// Moved returns the error for a text that contains that of e; nil stays nil.
func (e *LimitError) Moved(relocate func(int) int) *LimitError {
	if e == nil || e.Offset < 0 {
		return e
	}
	return &LimitError{e.Message, e.Hint, relocate(e.Offset)}
}

// LimitError reports a statement that DuckDB could not plan in reasonable time.
type LimitError struct {
	Message, Hint string
	Offset        int // byte offset in the statement, -1 if unknown
}

// Error is the message.
func (e *LimitError) Error() string { return e.Message }

const nestingHint = "compute the inner levels in a CTE; along one path, at most 12 subqueries in expressions (6 of " +
	"ARRAY), 4 SUMMARIZE, " +
	"16 lambdas or ->, or 8 BETWEEN, nullif and other functions that evaluate an argument more than once can be nested, " +
	"and each uses a part of one limit"

// nesting is the part of a [scope] that the limits need.
type nesting struct {
	spent   int        // of nestingBudget
	aliases references // of select lists
	inlined references // CTEs that are not materialized, folded
	count   *int       // counts references, when not nil
}

// nest returns the scope of the inside of n, which costs a part of the budget.
func (w *walker) nest(sc scope, n node, what string, cost int) scope {
	if sc.spent += cost; sc.spent > nestingBudget {
		w.limit(n, nestingHint, "%s is nested too deeply: with each level, the time to plan it multiplies", what)
	}
	return sc
}

// limit refuses the statement because of n.
func (w *walker) limit(n node, hint, format string, args ...any) {
	if w.err == nil {
		w.err = &LimitError{fmt.Sprintf(format, args...), hint, firstOffset(map[string]any(n))}
	}
}

// firstOffset returns the lowest known offset in a tree, or -1: some nodes have none.
func firstOffset(v any) int {
	first := -1
	lower := func(at int) {
		if at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			lower(firstOffset(e))
		}
	case map[string]any:
		if n := node(v); n.str("class") != "STAR" { // a star's is 0
			lower(n.offset())
		}
		for _, e := range v {
			lower(firstOffset(e))
		}
	}
	return first
}

// enterCall returns the scope of the arguments of a call.
func (w *walker) enterCall(c Call, n node, sc scope) scope {
	cost := macros[Fold(c.Name)]
	if cost == 0 && w.Copies != nil && w.Copies(c) {
		cost = twiceCost
	}
	if cost == 0 {
		return sc
	}
	return w.nest(sc, n, fmt.Sprintf("%s(…)", c.Name), cost)
}

// enterSubquery returns the scope of the inside of a subquery expression.
func (w *walker) enterSubquery(n node, sc scope) scope {
	list := n.child("subquery").child("node").list("select_list")
	if len(list) == 1 {
		m, _ := list[0].(map[string]any)
		if isArray(m) {
			return w.nest(sc, n, "ARRAY(SELECT …)", arrayCost)
		}
	}
	return w.nest(sc, n, "a subquery", subqueryCost)
}

// isArray reports whether n is what the parser makes of ARRAY(SELECT …):
// CASE WHEN array_agg(#1) IS NULL THEN [] ELSE array_agg(#1) END.
func isArray(n node) bool {
	result := n.child("else_expr")
	if n.str("class") != "CASE" || result.str("function_name") != "array_agg" {
		return false
	}
	args := result.list("children")
	m, _ := args[0].(map[string]any)
	return len(args) == 1 && node(m).str("class") == "POSITIONAL_REFERENCE"
}

// references counts how often names are replaced by what they mean: column aliases,
// and CTEs that are not materialized.
type references map[string]int

// with returns r with a name.
func (r references) with(name string, count int) references {
	next := make(references, len(r)+1)
	for k, v := range r {
		next[k] = v
	}
	next[name] = max(count, 1)
	return next
}

// selectList walks the entries of a select list, which may use the aliases of those
// before it.
func (w *walker) selectList(n node, sc scope) scope {
	fresh := false
	for _, e := range n.list("select_list") {
		m, _ := e.(map[string]any)
		alias := node(m).str("alias")
		if alias == "" {
			w.anything(e, sc)
			continue
		}
		count := w.counted(sc, m, func(sc scope) { w.anything(e, sc) })
		if !fresh {
			sc.aliases, fresh = sc.aliases.with(Fold(alias), count), true
			continue
		}
		sc.aliases[Fold(alias)] = max(count, 1)
	}
	return sc
}

// counted returns the references of what walk walks, which is n.
func (w *walker) counted(sc scope, n node, walk func(scope)) int {
	count := 0
	outer := sc.count
	sc.count = &count
	walk(sc)
	if count > mostReferences {
		w.limit(n, "compute them in a subquery in FROM or in a CTE, which is computed once",
			"an expression refers to others by name more than %d times, through aliases or CTEs that are not materialized",
			mostReferences)
	}
	if outer != nil {
		*outer += count
	}
	return count
}

// refer counts a reference to a name.
func (sc scope) refer(r references, name string) {
	if n := r[Fold(name)]; n > 0 && sc.count != nil {
		*sc.count = min(*sc.count+n, 2*mostReferences)
	}
}

// cteScope walks an entry of WITH and returns the scope with it.
func (w *walker) cteScope(name string, value node, sc scope) scope {
	body := value.child("query").child("node")
	if !w.Inlines {
		w.query(body, sc)
		return sc.withCTE(name)
	}
	count := w.counted(sc, body, func(sc scope) { w.query(body, sc) })
	sc = sc.withCTE(name)
	sc.inlined = sc.inlined.with(Fold(name), count)
	return sc
}

// Inlines reports whether a CTE of the statement is NOT MATERIALIZED, which the parse
// tree does not contain.
func Inlines(text string) bool {
	if !strings.Contains(strings.ToLower(text), "materialized") {
		return false
	}
	tokens := Scan(text)
	for i := range tokens {
		if Are(text, tokens, i, "not", "materialized") {
			return true
		}
	}
	return false
}

// frame is a CASE whose END has not come yet.
type frame struct {
	start    int // index of its token
	tokens   int // so far, with copies
	operand  int // tokens between CASE and the first WHEN
	branches int
	inside   int // levels of CASE with an operand inside it
	copied   int // those in its operand
}

// levels returns the levels of CASE with an operand, itself included.
func (f frame) levels() int {
	if f.operand > 0 {
		return max(f.inside, f.copied+1)
	}
	return f.inside
}

// CheckCases returns an error if DuckDB's parser would copy too much: it writes the
// operand of CASE x WHEN … WHEN … into each branch.
func CheckCases(sql string, tokens []Token) *LimitError {
	stack := []frame{{}}
	copied := 0
	for i := range tokens {
		top := &stack[len(stack)-1]
		top.tokens++
		switch {
		case isLabel(sql, tokens, i):
		case Are(sql, tokens, i, "case"):
			stack = append(stack, frame{start: i, tokens: 1})
		case Are(sql, tokens, i, "when"):
			if top.branches++; top.branches == 1 {
				top.operand = top.tokens - 2
			}
		case Are(sql, tokens, i, "end") && len(stack) > 1:
			f := *top
			stack = stack[:len(stack)-1]
			again := max(f.branches-1, 0) * f.operand
			if f.copied > 0 {
				copied += again
			}
			if f.copied >= mostOperands || copied > mostCopied {
				return &LimitError{
					fmt.Sprintf("CASE x WHEN is nested too deeply in the operand of another: at most %d levels and %d tokens, with "+
						"the operand repeated for each WHEN", mostOperands, mostCopied),
					"compute the operand in a subquery in FROM or in a CTE", tokens[f.start].Start,
				}
			}
			up := &stack[len(stack)-1]
			up.tokens += min(f.tokens+again, mostCopied)
			up.inside = max(up.inside, f.levels())
			if up.branches == 0 {
				up.copied = up.inside
			}
		}
	}
	return nil
}

// isLabel reports whether a word is a name because of what is next to it: t.end, AS
// end, end := 1, {end: 1}.
func isLabel(sql string, tokens []Token, i int) bool {
	after := func(symbol string) bool { return Are(sql, tokens, i+1, symbol) }
	return Are(sql, tokens, i-1, ".") || Are(sql, tokens, i-1, "as") || after(":=") || after("=>") || after(":")
}
