package sqltree

import (
	"slices"
	"strings"
)

// check returns why the query of c cannot be written in place of its name.
func (in *inliner) check(c *cte) error {
	if c.recursive && (c.nested || c.depth > 1 || c.selfNested) {
		switch {
		case in.Inner:
			return c.fault("it is recursive",
				"write WITH RECURSIVE at the start of the body and read it only in FROM of that query, or declare it as a view "+
					"if it uses no argument")
		case in.Whole && c.outer():
			return c.fault("it is recursive",
				"write WITH RECURSIVE at the start of the statement if it uses no outer column, else read it only in FROM of "+
					"the subquery that has its WITH")
		}
	}
	if !c.moves() {
		return nil
	}
	for _, call := range inside(in.st.Calls, c.query, callOffset) {
		if in.Volatile != nil && in.Volatile(call) {
			return c.fault(call.Name+" returns another value each time", "call it outside of the CTE")
		}
	}
	if call := in.arguments[c]; call != "" {
		return c.fault("it is the table argument of "+call, "write the body of "+call+" in its place")
	}
	for _, r := range c.reads {
		if i := tokenAt(in.tokens, r.Offset); i < 1 || !in.afterFrom(i-1) {
			return c.fault("it is not read in FROM", "write SELECT * FROM "+c.written)
		}
	}
	if name := in.shadowed(c); name != "" {
		return c.fault("in its place, "+name+" might be another table", "give the CTE "+name+" another name")
	}
	for _, col := range inside(in.st.Columns, c.query, columnOffset) {
		if in.outer(c, col) && (in.Outer == nil || !in.Outer(col)) && in.captured(c, col) {
			return c.fault("in its place, "+strings.Join(col.Parts, ".")+" might be another column",
				"qualify the column with an alias that the statement has once, or write the query of "+c.written+
					" where it is read")
		}
	}
	return nil
}

// shadowed returns the name of a table in the query of c that may mean another one, a CTE,
// where c is read; "" if there is none.
func (in *inliner) shadowed(c *cte) string {
	other := func(name string, means *cte) bool {
		return slices.ContainsFunc(in.byName[Fold(name)], func(e entry) bool {
			return e.cte != means && c.scope.holds(e.entry.Start) && !c.query.holds(e.entry.Start)
		})
	}
	for _, r := range inside(in.st.Reads, c.query, func(r Read) int { return r.Offset }) {
		if other(r.Name, in.named(Fold(r.Name), r.Offset)) {
			return r.Name
		}
	}
	for _, r := range inside(in.st.Relations, c.query, func(r Relation) int { return r.Offset }) {
		if r.Catalog == "" && r.Schema == "" && other(r.Name, nil) {
			return r.Name
		}
	}
	return ""
}

// afterFrom reports whether a table can follow token i.
func (in *inliner) afterFrom(i int) bool {
	t := in.tokens[i]
	return t.Is(in.sql, ",") || t.Is(in.sql, "(") || t.Kind == Ident &&
		(Are(in.sql, in.tokens, i, "from") || Are(in.sql, in.tokens, i, "join"))
}

// captured reports whether the name of an outer column may mean another one where c is
// read.
func (in *inliner) captured(c *cte, col Column) bool {
	name := Fold(col.Parts[0])
	switch {
	case len(col.Parts) == 1:
		return in.aliased(c, name) || !in.lone(c)
	case in.lone(c):
		return false
	}
	return in.words.has(Span{c.scope.Start, c.query.Start}, name) || in.words.has(Span{c.query.End, c.scope.End}, name)
}

// aliased reports whether the scope of c gives the name to an expression: subqueries see such
// names, too.
func (in *inliner) aliased(c *cte, name string) bool {
	return in.aliases.has(Span{c.scope.Start, c.query.Start}, name) || in.aliases.has(Span{c.query.End, c.scope.End}, name)
}

// isAlias reports whether token i, a name, may be the alias of an expression.
func isAlias(sql string, tokens []Token, i int) bool {
	if i == 0 || Are(sql, tokens, i+1, ":") {
		return true
	}
	last := tokens[i-1]
	begins := last.Kind == Ident && beforeExpression[Fold(last.Text(sql))] || last.Kind == Symbol && !last.Is(sql, ")") &&
		!last.Is(sql, "]")
	return !begins
}

// beforeExpression are keywords that an expression follows. After another name or value, a
// name is an alias.
var beforeExpression = func() map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields("select distinct all where and or not by on having qualify when then else case " +
		"in like ilike between is from limit offset") {
		words[w] = true
	}
	return words
}()

// lone reports whether the query of c sees the same columns of outer queries where c is
// read: each query from there to the one that has the WITH clause has no table before it.
func (in *inliner) lone(c *cte) bool {
	seen := map[*cte]bool{}
	var loneReads func(*cte) bool
	lone := func(offset int) bool {
		for i := tokenAt(in.tokens, offset); i >= 0; {
			open := in.queryAt(i)
			if open >= 0 && in.tokens[open].Start > c.scope.Start {
				if reader := in.query[in.tokens[open].End]; reader != nil {
					return loneReads(reader)
				}
			}
			if !in.first(i, open) && in.from[open] {
				return false
			}
			if open < 0 || in.tokens[open].Start < c.scope.Start {
				return true
			}
			i = open
		}
		return false
	}
	loneReads = func(c *cte) bool {
		if seen[c] {
			return true // or it is false already
		}
		seen[c] = true
		return !slices.ContainsFunc(c.reads, func(r Read) bool { return !c.own(r) && !lone(r.Offset) })
	}
	return loneReads(c)
}

// first reports whether token i begins the first table in FROM of the query that begins with
// the bracket.
func (in *inliner) first(i, query int) bool {
	for i--; i > query && in.tokens[i].Is(in.sql, "("); i-- {
	}
	return i > query && in.around[i] == query && Are(in.sql, in.tokens, i, "from")
}

// queryAt returns the bracket of the innermost query at a token, or -1.
func (in *inliner) queryAt(i int) int {
	open := in.around[i]
	for open >= 0 && !in.isQuery(open) {
		open = in.around[open]
	}
	return open
}

// write writes a part of the text. It reports false if the text gets too long.
func (in *inliner) write(part Span) bool {
	last := part.Start
	copyTo := func(end int) {
		in.pieces = append(in.pieces, piece{in.out.Len(), last, end - last})
		in.out.WriteString(in.sql[last:end])
	}
	first, _ := slices.BinarySearchFunc(in.tokens, part.Start, func(t Token, at int) int { return t.Start - at })
	for _, t := range in.tokens[first:] {
		if t.Start >= part.End {
			break
		}
		if t.Start < last {
			continue
		}
		if w := in.moving[t.Start]; w != nil {
			copyTo(t.Start)
			last = w.span.End
			if !in.writeWith(w) {
				return false
			}
			continue
		}
		if r, ok := in.moved[t.Start]; ok {
			copyTo(t.Start)
			last = t.End
			if !in.writeQuery(r.cte, r.Read) {
				return false
			}
		}
	}
	copyTo(part.End)
	return in.out.Len() <= max(maxInlined, 2*len(in.sql))
}

// movedRead is a reference to a CTE that moves.
type movedRead struct {
	*cte
	Read
}

// findMoving notes what write replaces, by offsets: the WITH clauses with a CTE that moves,
// and the references to such. It reports whether there is any.
func (in *inliner) findMoving() bool {
	in.moving, in.moved = map[int]*with{}, map[int]movedRead{}
	for _, w := range in.withs {
		for _, c := range w.entries {
			if !c.moves() {
				continue
			}
			in.moving[w.span.Start] = w
			for _, r := range c.reads {
				in.moved[r.Offset] = movedRead{c, r}
			}
		}
	}
	return len(in.moving) > 0
}

// writeWith writes the entries of a WITH clause that stay.
func (in *inliner) writeWith(w *with) bool {
	next := w.head
	for _, c := range w.entries {
		if c.moves() {
			continue
		}
		in.out.WriteString(next)
		if next = ", "; !in.write(c.entry) {
			return false
		}
	}
	return true
}

// writeQuery writes the query of c where r reads it.
func (in *inliner) writeQuery(c *cte, r Read) bool {
	before, after := "(", ")"
	if c.columns != "" {
		before, after = "(SELECT * FROM (", ") AS "+c.written+c.columns+")"
	}
	if !r.Alias {
		after += " AS " + c.written
	}
	in.out.WriteString(before)
	ok := in.write(c.query)
	in.out.WriteString(after)
	return ok
}

// origin maps an offset of the new text to one of the old.
func (in *inliner) origin(offset int) int {
	i, found := slices.BinarySearchFunc(in.pieces, offset, func(p piece, offset int) int { return p.to - offset })
	if !found {
		i--
	}
	if i < 0 {
		return 0
	}
	p := in.pieces[i]
	return p.from + min(offset-p.to, p.length)
}
