package sqltree

import (
	"slices"
	"strings"
)

// DuckDB 1.5 computes a correlated subquery for all rows at once: it joins the subquery
// with the distinct values of the outer columns that it uses. The rows of a CTE that uses
// an outer column have that column, too, and what reads the CTE must compare it. A
// subquery between the CTE and its reader is such a join of its own, and DuckDB does not
// always notice that the reader depends on the columns of the CTE. Then each row of the
// statement sees the CTE's rows of all other rows (duckdb#14305, #20188), or planning
// fails with an internal error (#24921). With constants in place of the outer columns
// there is one row, and the result is correct.
//
//	SELECT (WITH w AS (SELECT length(s) AS n)
//	        SELECT (SELECT count(*) FROM (SELECT n FROM w) WHERE s = 'b')) FROM t
//
// The same happens with a recursive CTE in a subquery, whatever it uses and wherever it is
// written, unless only the query that has its WITH clause reads it, and no other subquery is
// around that.
//
// [Statement.InlineCTEs] writes the query of such a CTE in place of its name, as a
// subquery in FROM, which DuckDB computes correctly. A name in the query must mean the
// same there as in the WITH clause. What cannot be written so is a [CTEError], as is such a
// recursive CTE.
//
// The text does not show whether a column without a table is one of the query's own tables
// or of an outer query. Such a CTE is written in place, too, if that cannot change what its
// names mean, and else left as it is.

// Read is a reference to a CTE in FROM.
type Read struct {
	Name   string
	Offset int
	Alias  bool // it has one
	// Outer says that the WITH clause is in a subquery that may use columns of an outer query:
	// in an expression, or right of another table in FROM.
	Outer bool
}

// ReadsOuter reports whether a CTE is read that may use columns of an outer query.
func (st *Statement) ReadsOuter() bool {
	return slices.ContainsFunc(st.Reads, func(r Read) bool { return r.Outer })
}

// CTEError reports a CTE for which DuckDB may return the values of other rows, and which
// cannot be written in place of its name.
type CTEError struct {
	Name, Message, Hint string
	Offset              int // byte offset of its name in WITH
}

// Error is the message.
func (e *CTEError) Error() string { return e.Message }

// HasWith reports whether a text has a WITH clause. It may take another use of the word for
// one.
func HasWith(text string) bool {
	tokens := Scan(text)
	for i := range tokens {
		if Are(text, tokens, i, "with") {
			return true
		}
	}
	return false
}

// InlineOptions is what [Statement.InlineCTEs] must know beyond the text.
type InlineOptions struct {
	// Outer reports whether a column in a subquery is one of the outer query, whose name no
	// subquery has.
	Outer func(Column) bool
	// Volatile reports whether two calls may return different values.
	Volatile func(Call) bool
	// Inner says that the text becomes a subquery of other statements.
	Inner bool
	// Whole says that the text is a statement, not a part of another query.
	Whole bool
	// Inputs is the end of a part of the text whose CTEs are kept. Input reports whether one of
	// them may use outer columns.
	Inputs int
	Input  func(name string) bool
}

// maxInlined is the size of a text that [Statement.InlineCTEs] returns, in bytes.
const maxInlined = 1 << 16

// cte is an entry of a WITH clause.
type cte struct {
	name         string // folded
	written      string
	columns      string // the list after the name, or ""
	entry, query Span   // the entry; the query in its brackets
	scope        Span   // the query that has the WITH clause
	recursive    bool   // it reads itself
	depth        int    // number of subqueries around its WITH clause, without those that are first in FROM
	correlated   bool   // it uses an outer column
	maybe        bool   // it may use one, and its query can be written in place of its name
	nested       bool   // a subquery of the scope reads it
	selfNested   bool   // a subquery in its recursive part reads it
	input        bool
	reads        []Read
}

// with is a WITH clause.
type with struct {
	span      Span
	head      string // up to the first name
	recursive bool
	entries   []*cte
}

func (s Span) holds(offset int) bool { return s.Start <= offset && offset < s.End }

// inliner is one run of [Statement.InlineCTEs].
type inliner struct {
	InlineOptions
	st     *Statement
	sql    string
	tokens []Token
	index
	withs []*with
	ctes  []*cte
	edges []edge

	byName    map[string][]entry // by folded names
	query     map[int]*cte       // by the start of its query
	arguments map[*cte]string    // a call whose table argument it is

	moving map[int]*with // see findMoving
	moved  map[int]movedRead

	out    strings.Builder
	pieces []piece
}

// index is what is known of the tokens.
type index struct {
	match   []int // the closing bracket of an opening one
	around  []int // the innermost bracket that is open before a token; -1: none
	words   words
	aliases words        // those that may be aliases of expressions
	from    map[int]bool // the queries, by their brackets, that have FROM
}

// piece is a part of the new text that is copied from the old one.
type piece struct{ to, from, length int }

// InlineCTEs returns the text in which no subquery reads a CTE that uses columns of an
// outer query, and a function that maps its offsets to those of sql, the text that st was
// parsed from. The text is sql if nothing has to change.
func (st *Statement) InlineCTEs(sql string, tokens []Token,
	o InlineOptions,
) (text string, origin func(int) int, err error) {
	same := func(offset int) int { return offset }
	if len(st.Reads) == 0 {
		return sql, same, nil
	}
	in := &inliner{InlineOptions: o, st: st, sql: sql, tokens: tokens}
	in.match, in.around = brackets(sql, tokens)
	in.findWords()
	in.findWiths()
	in.resolve()
	in.markCorrelated()
	in.markNested()
	in.markMaybe()
	for _, c := range in.ctes {
		if err := in.check(c); err != nil {
			return sql, same, err
		}
	}
	if !in.findMoving() {
		return sql, same, nil
	}
	if !in.write(Span{0, len(sql)}) {
		c := in.ctes[slices.IndexFunc(in.ctes, (*cte).moves)]
		return sql, same, c.fault("its query would be repeated too often", "read it in fewer places")
	}
	return in.out.String(), in.origin, nil
}

// moves reports whether the query must be written in place of the name.
func (c *cte) moves() bool {
	return c.nested && (c.correlated || c.maybe) && !c.input && !c.recursive
}

// own reports whether r is in the query of c.
func (c *cte) own(r Read) bool { return c.query.holds(r.Offset) }

func (c *cte) fault(reason, hint string) *CTEError {
	return &CTEError{
		Name: c.written,
		Message: "DuckDB may return the values of other rows for the CTE " + c.written +
			", which depends on an outer query and is read in a subquery; " + reason,
		Hint: hint, Offset: c.entry.Start,
	}
}

// brackets returns, for each token that opens a bracket, the one that closes it, and for
// each token the innermost bracket that is open before it, or -1.
func brackets(sql string, tokens []Token) (match, around []int) {
	match, around = make([]int, len(tokens)), make([]int, len(tokens))
	var open []int
	for i, t := range tokens {
		match[i], around[i] = len(tokens), -1
		if len(open) > 0 {
			around[i] = open[len(open)-1]
		}
		switch n := t.Nesting(sql); {
		case n > 0:
			open = append(open, i)
		case n < 0 && len(open) > 0:
			match[open[len(open)-1]] = i
			open = open[:len(open)-1]
		}
	}
	return match, around
}

// findWiths lists the WITH clauses. Each holds in the brackets around it.
func (in *inliner) findWiths() {
	in.byName, in.query = map[string][]entry{}, map[int]*cte{}
	for i, t := range in.tokens {
		if !Are(in.sql, in.tokens, i, "with") {
			continue
		}
		w := in.with(i)
		if w == nil {
			continue
		}
		end := len(in.sql)
		if open := in.around[i]; open >= 0 {
			end = in.startOf(in.match[open])
		}
		for _, c := range w.entries {
			c.scope = Span{t.Start, end}
			c.input = c.entry.End <= in.Inputs
			in.byName[c.name] = append(in.byName[c.name], entry{c, w})
			in.query[c.query.Start] = c
		}
		in.withs = append(in.withs, w)
		in.ctes = append(in.ctes, w.entries...)
	}
}

// with reads the WITH clause at token i; nil if the word means something else.
func (in *inliner) with(i int) *with {
	cur := Cursor{SQL: in.sql, Tokens: in.tokens, Next: i + 1}
	w := &with{recursive: cur.Accept("recursive")}
	for first := cur.Next; ; {
		c := &cte{entry: Span{Start: in.startOf(cur.Next)}}
		name, ok := cur.AcceptName()
		if !ok {
			return nil
		}
		c.name, c.written = Fold(name.Name(in.sql)), name.Text(in.sql)
		if at := cur.Next; cur.Accept("(") {
			cur.Next = in.match[at] + 1
			c.columns = in.sql[in.startOf(at):in.startOf(cur.Next)]
		}
		if cur.Accept("using", "key") {
			cur.Next = in.match[min(cur.Next, len(in.tokens)-1)] + 1
		}
		if !cur.Accept("as") {
			return nil
		}
		cur.Accept("not")
		cur.Accept("materialized")
		at := cur.Next
		if !cur.Accept("(") || in.match[at] >= len(in.tokens) {
			return nil
		}
		cur.Next = in.match[at] + 1
		c.query = Span{in.tokens[at].End, in.tokens[in.match[at]].Start}
		c.entry.End = in.tokens[in.match[at]].End
		w.entries = append(w.entries, c)
		if !cur.Accept(",") {
			w.span = Span{in.tokens[i].Start, c.entry.End}
			w.head = in.sql[w.span.Start:in.startOf(first)]
			return w
		}
	}
}

func (in *inliner) startOf(i int) int {
	if i >= len(in.tokens) {
		return len(in.sql)
	}
	return in.tokens[i].Start
}

// resolve finds the CTE of each reference, the CTEs whose queries it is in, and those that
// are arguments.
func (in *inliner) resolve() {
	for _, r := range in.st.Reads {
		c := in.named(Fold(r.Name), r.Offset)
		if c == nil {
			continue
		}
		c.recursive = c.recursive || c.own(r)
		c.reads = append(c.reads, r)
		for open := in.open(r.Offset); open >= 0; open = in.around[open] {
			if reader := in.query[in.tokens[open].End]; reader != nil && reader != c {
				in.edges = append(in.edges, edge{c, reader})
			}
		}
	}
	in.arguments = map[*cte]string{}
	for _, call := range in.st.Calls {
		for _, a := range call.Args {
			if a.CTE {
				name := strings.Join(append(slices.Clone(a.Parts), a.Text), "")
				in.arguments[in.named(Fold(name), call.Offset)] = call.Name
			}
		}
	}
}

// entry is a CTE with the clause that it is in.
type entry struct {
	*cte
	with *with
}

// edge is a CTE, and one whose query reads it.
type edge struct{ c, reader *cte }

// named returns the CTE that a name means at an offset, or nil.
func (in *inliner) named(name string, offset int) *cte {
	var found *cte
	for _, e := range in.byName[name] {
		visible := e.entry.End <= offset || e.query.holds(offset) && e.with.recursive
		if visible && e.scope.holds(offset) && (found == nil || e.scope.Start > found.scope.Start) {
			found = e.cte
		}
	}
	return found
}

// open returns the innermost bracket that is open at an offset, or -1.
func (in *inliner) open(offset int) int {
	if i := tokenAt(in.tokens, offset); i >= 0 {
		return in.around[i]
	}
	return -1
}

// markCorrelated marks the CTEs that use an outer column, or read another that does.
func (in *inliner) markCorrelated() {
	for _, c := range in.ctes {
		switch {
		case c.input:
			c.correlated = in.Input != nil && in.Input(c.name)
		case !in.Whole || c.outer():
			c.correlated = in.uses(c, func(col Column) bool { return in.outer(c, col) })
		}
	}
	in.spread(func(c, reader *cte) bool {
		changed := c.correlated && !reader.correlated
		reader.correlated = reader.correlated || c.correlated
		return changed
	})
}

// outer reports whether an outer query is visible where the WITH clause is.
func (c *cte) outer() bool { return slices.ContainsFunc(c.reads, func(r Read) bool { return r.Outer }) }

// uses reports whether the query of c has such a column.
func (in *inliner) uses(c *cte, such func(Column) bool) bool {
	return slices.ContainsFunc(inside(in.st.Columns, c.query, columnOffset), such)
}

// inside returns the part of a list, which is in the order of the text, that is in a part of
// the text.
func inside[T any](list []T, part Span, offset func(T) int) []T {
	search := func(at int) int {
		i, _ := slices.BinarySearchFunc(list, at, func(e T, at int) int { return offset(e) - at })
		return i
	}
	return list[search(part.Start):search(part.End)]
}

func columnOffset(c Column) int { return c.Offset }

func callOffset(c Call) int { return c.Offset }

// outer reports whether a column in the query of c is one of an outer query.
func (in *inliner) outer(c *cte, col Column) bool {
	if in.Outer != nil && in.Outer(col) {
		return true
	}
	if len(col.Parts) == 1 {
		return !in.words.has(c.query, "from")
	}
	return !in.declares(c.query, col)
}

// spread calls step with each CTE and each other one whose query reads it, until it
// returns false for all.
func (in *inliner) spread(step func(c, reader *cte) bool) {
	for again := true; again; {
		again = false
		for _, e := range in.edges {
			again = step(e.c, e.reader) || again
		}
	}
}

// markNested marks the CTEs that are read in a subquery of their scope, or in the query of
// another that is.
func (in *inliner) markNested() {
	for _, c := range in.ctes {
		c.depth = in.subqueries(in.Inputs, c.entry.Start) - in.derived(in.Inputs, c.entry.Start)
		c.nested = slices.ContainsFunc(c.reads, func(r Read) bool {
			return !c.own(r) && in.subqueries(c.scope.Start, r.Offset) > 0
		})
		c.selfNested = slices.ContainsFunc(c.reads, func(r Read) bool {
			return c.own(r) && in.subqueries(c.query.Start, r.Offset) > 0
		})
	}
	in.spread(func(c, reader *cte) bool {
		changed := reader.nested && !c.nested
		c.nested = c.nested || reader.nested
		return changed
	})
}

// markMaybe marks the CTEs with columns that may be those of an outer query, and that can
// be written in place of their names.
func (in *inliner) markMaybe() {
	for _, c := range in.ctes {
		if c.correlated || c.input || c.recursive || !c.nested {
			continue
		}
		if !c.outer() || !in.Whole && c.depth < 2 {
			continue
		}
		plain := in.uses(c, func(col Column) bool { return len(col.Parts) == 1 })
		captured := in.uses(c, func(col Column) bool { return len(col.Parts) == 1 && in.captured(c, col) })
		c.maybe = plain && !captured && in.check(c) == nil
	}
}

// subqueries returns the number of brackets of queries, other than those of CTEs, that are
// open at the offset and begin at start or later.
func (in *inliner) subqueries(start, offset int) int {
	n := 0
	for open := in.open(offset); open >= 0 && in.tokens[open].Start >= start; open = in.around[open] {
		if in.isQuery(open) && in.query[in.tokens[open].End] == nil {
			n++
		}
	}
	return n
}

// derived returns how many of these subqueries are first in a FROM clause, where they use no
// column of a table next to them.
func (in *inliner) derived(start, offset int) int {
	n := 0
	for open := in.open(offset); open > 0 && in.tokens[open].Start >= start; open = in.around[open] {
		outer := in.around[open]
		if in.isQuery(open) && Are(in.sql, in.tokens, open-1, "from") && (outer < 0 || in.isQuery(outer)) {
			n++
		}
	}
	return n
}

// isQuery reports whether a bracket has a query in it.
func (in *inliner) isQuery(open int) bool {
	if open+1 >= len(in.tokens) || !in.tokens[open].Is(in.sql, "(") {
		return false
	}
	first := in.tokens[open+1]
	return first.Kind == Ident && queryWords[Fold(first.Text(in.sql))]
}

// queryWords begin a query.
var queryWords = map[string]bool{"select": true, "with": true, "from": true, "values": true, "table": true}
