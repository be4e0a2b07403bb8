package functions

import (
	"iter"
	"slices"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// DuckDB's parse tree says where a column or a function is in a text, but not where a clause, a
// join or a bracket is. The forms of a body are edits of its text, so the positions of these are
// read from the tokens of a body that DuckDB has parsed. Every form is an addition to the body, which
// is always right: what is not recognized here has no form, and only takes longer.

// words are the tokens of a body.
type words struct {
	b      *builder
	tokens []sqltree.Token
}

func (b *builder) words() words {
	outside := func(t sqltree.Token) bool { return t.Start < b.p.start || t.End > b.p.start+b.p.length }
	return words{b, slices.DeleteFunc(slices.Clone(b.p.tokens), outside)}
}

// is reports whether token i is one of the words or symbols.
func (w words) is(i int, words ...string) bool {
	return w.isKind(i, sqltree.Ident, sqltree.Symbol) && slices.Contains(words, fold(w.tokens[i].Text(w.b.p.text)))
}

// isKind reports whether there is a token i of one of the kinds.
func (w words) isKind(i int, kinds ...sqltree.Kind) bool {
	return i >= 0 && i < len(w.tokens) && slices.Contains(kinds, w.tokens[i].Kind)
}

// isName reports whether there is a token i that is a name.
func (w words) isName(i int) bool { return i >= 0 && i < len(w.tokens) && w.tokens[i].IsName() }

// name returns the name that token i is.
func (w words) name(i int) string { return w.tokens[i].Name(w.b.p.text) }

// isArgument reports whether a token is the name of an argument.
func (w words) isArgument(t sqltree.Token) bool {
	return t.IsName() && w.b.argIndex(t.Name(w.b.p.text)) >= 0
}

// span returns the part of the body from token first to token last.
func (w words) span(first, last int) sqltree.Span {
	return w.b.inBody(w.tokens[first].Start, w.tokens[last].End)
}

// inBody returns a part of the parsed text as one of the body.
func (b *builder) inBody(start, end int) sqltree.Span {
	return sqltree.Span{Start: start - b.p.start, End: end - b.p.start}
}

// opensQuery reports whether token i is the bracket of a subquery.
func (w words) opensQuery(i int) bool {
	return w.is(i, "(") && w.isKind(i+1, sqltree.Ident) && queryWords[fold(w.tokens[i+1].Text(w.b.p.text))]
}

// closing returns the index of the bracket that closes the one at i, or -1.
func (w words) closing(i int) int {
	for depth := 0; i < len(w.tokens); i++ {
		if depth += w.tokens[i].Nesting(w.b.p.text); depth == 0 {
			return i
		}
	}
	return -1
}

// outermost yields the tokens from first to before end that are in no bracket which opens there.
func (w words) outermost(first, end int) iter.Seq[int] {
	return func(yield func(int) bool) {
		depth := 0
		for at := first; at < end; at++ {
			if depth == 0 && !yield(at) {
				return
			}
			depth += w.tokens[at].Nesting(w.b.p.text)
		}
	}
}

// has reports whether one of the words is an outermost token from first to before end.
func (w words) has(first, end int, words ...string) bool {
	for at := range w.outermost(first, end) {
		if w.is(at, words...) {
			return true
		}
	}
	return false
}

// contains is has for all tokens.
func (w words) contains(first, end int, words ...string) bool {
	for at := first; at < end; at++ {
		if w.is(at, words...) {
			return true
		}
	}
	return false
}

// selection is a SELECT with FROM and WHERE, as the indexes of tokens.
type selection struct{ first, from, where, end int }

// selection returns the clauses of the SELECT from token first to before end; false if it has no
// FROM and WHERE, or joins rows by their order, in which rows matter that do not meet the
// condition.
func (w words) selection(first, end int) (s selection, ok bool) {
	s = selection{first: first, end: end}
	for at := range w.outermost(first, end) {
		switch {
		case s.from == 0 && w.is(at, "from") && !w.is(at-1, "distinct"): // IS DISTINCT FROM
			s.from = at
		case s.where == 0 && w.is(at, "where"):
			s.where = at
		}
	}
	ok = s.from > 0 && s.where > s.from && !w.contains(s.from, s.where, "asof", "positional")
	return s, ok
}
