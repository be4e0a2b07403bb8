package sqltree

import (
	"slices"
	"strings"
)

// check returns why the query of c cannot be written in place of its name.
func (in *inliner) check(c *cte) error {
	if c.recursive && in.Inner && (c.nested || c.depth > 1 || c.selfNested) {
		return c.fault("it is recursive", "write WITH RECURSIVE at the start of the body and read it only in FROM of that query, or declare it as a view if it uses no argument")
	}
	if !c.moves() {
		return nil
	}
	for _, call := range in.st.Calls {
		if c.query.holds(call.Offset) && in.Volatile != nil && in.Volatile(call) {
			return c.fault(call.Name+" returns another value each time", "call it outside of the CTE")
		}
		for _, a := range call.Args {
			if name := strings.Join(append(slices.Clone(a.Parts), a.Text), ""); a.CTE && in.named(Fold(name), call.Offset) == c {
				return c.fault("it is the table argument of "+call.Name, "write the body of "+call.Name+" in its place")
			}
		}
	}
	for _, r := range c.reads {
		if i := tokenAt(in.tokens, r.Offset); i < 1 || !in.afterFrom(i-1) {
			return c.fault("it is not read in FROM", "write SELECT * FROM "+c.written)
		}
	}
	for _, col := range in.st.Columns {
		if c.query.holds(col.Offset) && in.outer(c, col) && (in.Outer == nil || !in.Outer(col)) && in.captured(c, col) {
			return c.fault("in its place, "+strings.Join(col.Parts, ".")+" might be another column", "qualify the column with an alias that the statement has once, or write the query of "+c.written+" where it is read")
		}
	}
	return nil
}

// afterFrom reports whether a table can follow token i.
func (in *inliner) afterFrom(i int) bool {
	t := in.tokens[i]
	return t.Is(in.sql, ",") || t.Is(in.sql, "(") || t.Kind == Ident && (Are(in.sql, in.tokens, i, "from") || Are(in.sql, in.tokens, i, "join"))
}

// captured reports whether the name of an outer column may mean another one where c is
// read.
func (in *inliner) captured(c *cte, col Column) bool {
	return len(col.Parts) == 1 || in.bare(Span{c.scope.Start, c.query.Start}, col.Parts[0]) || in.bare(Span{c.query.End, c.scope.End}, col.Parts[0])
}

// write writes a part of the text. It reports false if the text gets too long.
func (in *inliner) write(part Span) bool {
	last := part.Start
	copyTo := func(end int) {
		in.pieces = append(in.pieces, piece{in.out.Len(), last, end - last})
		in.out.WriteString(in.sql[last:end])
	}
	for _, t := range in.tokens {
		if t.Start < last || t.Start >= part.End {
			continue
		}
		if w := in.withAt(t.Start); w != nil {
			copyTo(t.Start)
			last = w.span.End
			if !in.writeWith(w) {
				return false
			}
			continue
		}
		c, r := in.readAt(t.Start)
		if c == nil {
			continue
		}
		copyTo(t.Start)
		last = t.End
		if !in.writeQuery(c, r) {
			return false
		}
	}
	copyTo(part.End)
	return in.out.Len() <= max(maxInlined, 2*len(in.sql))
}

// withAt returns the WITH clause at an offset, if it has a CTE that moves.
func (in *inliner) withAt(offset int) *with {
	for _, w := range in.withs {
		if w.span.Start == offset && slices.ContainsFunc(w.entries, (*cte).moves) {
			return w
		}
	}
	return nil
}

// readAt returns the reference at an offset to a CTE that moves.
func (in *inliner) readAt(offset int) (*cte, Read) {
	for _, c := range in.ctes {
		if i := slices.IndexFunc(c.reads, func(r Read) bool { return r.Offset == offset }); i >= 0 && c.moves() {
			return c, c.reads[i]
		}
	}
	return nil, Read{}
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
