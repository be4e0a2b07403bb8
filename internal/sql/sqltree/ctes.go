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

// Read is a reference to a CTE in FROM.
type Read struct {
	Name   string
	Offset int
	Alias  bool // it has one
}

// CTEError reports a CTE for which DuckDB may return the values of other rows, and which
// cannot be written in place of its name.
type CTEError struct {
	Name, Message, Hint string
	Offset              int // byte offset of its name in WITH
}

// Error is the message.
func (e *CTEError) Error() string { return e.Message }

// InlineOptions is what [Statement.InlineCTEs] must know beyond the text.
type InlineOptions struct {
	// Outer reports whether a column in a subquery is one of the outer query, whose name no
	// subquery has.
	Outer func(Column) bool
	// Volatile reports whether two calls may return different values.
	Volatile func(Call) bool
	// Inner says that the text becomes a subquery of other statements.
	Inner bool
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
	depth        int    // number of subqueries around its WITH clause
	correlated   bool   // it uses an outer column
	nested       bool   // a subquery of the scope reads it
	selfNested   bool   // a subquery in its recursive part reads it
	input        bool
	reads        []Read
}

// with is a WITH clause.
type with struct {
	span    Span
	head    string // up to the first name
	entries []*cte
}

func (s Span) holds(offset int) bool { return s.Start <= offset && offset < s.End }

// inliner is one run of [Statement.InlineCTEs].
type inliner struct {
	InlineOptions
	st     *Statement
	sql    string
	tokens []Token
	match  []int // the closing bracket of an opening one
	withs  []*with
	ctes   []*cte

	out    strings.Builder
	pieces []piece
}

// piece is a part of the new text that is copied from the old one.
type piece struct{ to, from, length int }

// InlineCTEs returns the text in which no subquery reads a CTE that uses columns of an
// outer query, and a function that maps its offsets to those of sql, the text that st was
// parsed from. The text is sql if nothing has to change.
func (st *Statement) InlineCTEs(sql string, tokens []Token, o InlineOptions) (text string, origin func(int) int, err error) {
	same := func(offset int) int { return offset }
	if len(st.Reads) == 0 {
		return sql, same, nil
	}
	in := &inliner{InlineOptions: o, st: st, sql: sql, tokens: tokens, match: brackets(sql, tokens)}
	in.findWiths()
	in.resolve()
	in.markCorrelated()
	in.markNested()
	for _, c := range in.ctes {
		if err := in.check(c); err != nil {
			return sql, same, err
		}
	}
	if !slices.ContainsFunc(in.ctes, (*cte).moves) {
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
	return c.nested && c.correlated && !c.input && !c.recursive
}

// own reports whether r is in the query of c.
func (c *cte) own(r Read) bool { return c.query.holds(r.Offset) }

func (c *cte) fault(reason, hint string) *CTEError {
	return &CTEError{
		Name:    c.written,
		Message: "DuckDB may return the values of other rows for the CTE " + c.written + ", which depends on an outer query and is read in a subquery; " + reason,
		Hint:    hint, Offset: c.entry.Start,
	}
}

// brackets returns, for each token that opens a bracket, the one that closes it.
func brackets(sql string, tokens []Token) []int {
	match := make([]int, len(tokens))
	var open []int
	for i, t := range tokens {
		match[i] = len(tokens)
		switch n := t.Nesting(sql); {
		case n > 0:
			open = append(open, i)
		case n < 0 && len(open) > 0:
			match[open[len(open)-1]] = i
			open = open[:len(open)-1]
		}
	}
	return match
}

// findWiths lists the WITH clauses. Each holds in the brackets around it.
func (in *inliner) findWiths() {
	var ends []int // of the open brackets
	for i, t := range in.tokens {
		for len(ends) > 0 && i >= ends[len(ends)-1] {
			ends = ends[:len(ends)-1]
		}
		if t.Nesting(in.sql) > 0 {
			ends = append(ends, in.match[i])
		}
		if !Are(in.sql, in.tokens, i, "with") {
			continue
		}
		if w := in.with(i); w != nil {
			end := len(in.sql)
			if len(ends) > 0 && ends[len(ends)-1] < len(in.tokens) {
				end = in.tokens[ends[len(ends)-1]].Start
			}
			for _, c := range w.entries {
				c.scope = Span{t.Start, end}
				c.input = c.entry.End <= in.Inputs
			}
			in.withs = append(in.withs, w)
			in.ctes = append(in.ctes, w.entries...)
		}
	}
}

// with reads the WITH clause at token i; nil if the word means something else.
func (in *inliner) with(i int) *with {
	cur := Cursor{SQL: in.sql, Tokens: in.tokens, Next: i + 1}
	cur.Accept("recursive")
	w := &with{}
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

// resolve finds the CTE of each reference.
func (in *inliner) resolve() {
	for _, r := range in.st.Reads {
		if c := in.named(Fold(r.Name), r.Offset); c != nil {
			c.recursive = c.recursive || c.own(r)
			c.reads = append(c.reads, r)
		}
	}
}

// named returns the CTE that a name means at an offset, or nil.
func (in *inliner) named(name string, offset int) *cte {
	var found *cte
	for _, w := range in.withs {
		for _, c := range w.entries {
			visible := c.entry.End <= offset || c.query.holds(offset) && strings.Contains(strings.ToLower(w.head), "recursive")
			if c.name == name && visible && c.scope.holds(offset) && (found == nil || c.scope.Start > found.scope.Start) {
				found = c
			}
		}
	}
	return found
}

// markCorrelated marks the CTEs that use an outer column, or read another that does.
func (in *inliner) markCorrelated() {
	for _, c := range in.ctes {
		switch {
		case c.input:
			c.correlated = in.Input != nil && in.Input(c.name)
		default:
			c.correlated = slices.ContainsFunc(in.st.Columns, func(col Column) bool { return c.query.holds(col.Offset) && in.outer(c, col) })
		}
	}
	in.spread(func(c, reader *cte) bool {
		changed := c.correlated && !reader.correlated
		reader.correlated = reader.correlated || c.correlated
		return changed
	})
}

// outer reports whether a column in the query of c is one of an outer query.
func (in *inliner) outer(c *cte, col Column) bool {
	if in.Outer != nil && in.Outer(col) {
		return true
	}
	if len(col.Parts) == 1 {
		return !in.has(c.query, "from")
	}
	return !in.bare(c.query, col.Parts[0])
}

// has reports whether a keyword is in a part of the text.
func (in *inliner) has(part Span, word string) bool {
	return slices.ContainsFunc(in.tokens, func(t Token) bool {
		return part.holds(t.Start) && t.Kind == Ident && Fold(t.Text(in.sql)) == word
	})
}

// bare reports whether a part of the text has the name without a dot after it: as that of
// a table, or an alias.
func (in *inliner) bare(part Span, name string) bool {
	for i, t := range in.tokens {
		if part.holds(t.Start) && t.IsName() && Fold(t.Name(in.sql)) == Fold(name) && !Are(in.sql, in.tokens, i+1, ".") {
			return true
		}
	}
	return false
}

// spread calls step with each CTE and each other one whose query reads it, until it
// returns false for all.
func (in *inliner) spread(step func(c, reader *cte) bool) {
	for again := true; again; {
		again = false
		for _, c := range in.ctes {
			for _, reader := range in.ctes {
				if reader != c && slices.ContainsFunc(c.reads, func(r Read) bool { return reader.query.holds(r.Offset) }) {
					again = step(c, reader) || again
				}
			}
		}
	}
}

// markNested marks the CTEs that are read in a subquery of their scope, or in the query of
// another that is.
func (in *inliner) markNested() {
	for _, c := range in.ctes {
		c.depth = in.subqueries(in.Inputs, c.entry.Start)
		c.nested = slices.ContainsFunc(c.reads, func(r Read) bool { return !c.own(r) && in.subqueries(c.scope.Start, r.Offset) > 0 })
		c.selfNested = slices.ContainsFunc(c.reads, func(r Read) bool { return c.own(r) && in.subqueries(c.query.Start, r.Offset) > 0 })
	}
	in.spread(func(c, reader *cte) bool {
		changed := reader.nested && !c.nested
		c.nested = c.nested || reader.nested
		return changed
	})
}

// subqueries returns the number of brackets of queries, other than those of CTEs, that are
// open at the offset and begin at start or later.
func (in *inliner) subqueries(start, offset int) int {
	n := 0
	for i, t := range in.tokens {
		if t.Start < start || t.Start >= offset || !t.Is(in.sql, "(") || in.startOf(in.match[i]) < offset || i+1 >= len(in.tokens) {
			continue
		}
		inner := in.tokens[i+1]
		if inner.Kind == Ident && queryWords[Fold(inner.Text(in.sql))] && !slices.ContainsFunc(in.ctes, func(o *cte) bool { return o.query.Start == t.End }) {
			n++
		}
	}
	return n
}

// queryWords begin a query.
var queryWords = map[string]bool{"select": true, "with": true, "from": true, "values": true, "table": true}
