package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// A function that is hidden from a caller ([Contents.Hides]) must look like one that is
// not there: in what an error says, in which of several errors a statement gets, and in
// suggestions. Its calls therefore reach DuckDB, by a name that no function has.

// hiddenMark is appended to the names of hidden functions, and taken out of DuckDB's
// errors.
const hiddenMark = "__spiced_hidden"

// hides returns which functions the statement of a request cannot call; nil: it can call
// all.
func (c *Catalog) hides(ctx context.Context, req *Request) func(string) bool {
	if c.contents.Hides == nil || req.Internal {
		return nil
	}
	return c.contents.Hides(ctx)
}

// checkExplained refuses an EXPLAIN whose plan would show the body of a function that is hidden
// from the caller: one that calls it is not.
func (p *producer) checkExplained() error {
	if p.verdict.explain == "" || p.verdict.dependencies == nil {
		return nil
	}
	hides := p.catalog.hides(p.rows.ctx, &p.req)
	if hides == nil {
		return nil
	}
	uses, err := p.verdict.dependencies()
	if err != nil {
		return err
	}
	for _, d := range uses {
		if name, ok := strings.CutPrefix(d.Name, "function "); ok && hides(name) {
			return NewError(errcode.Refused, "run the statement itself",
				"EXPLAIN is refused for functions that call others which are hidden from you: a plan shows their bodies")
		}
	}
	return nil
}

// hiddenCall reports whether a call names a declared function that names hides, in any
// schema: DuckDB may find it wherever a statement says it is, and take x.f() for f(x).
func hiddenCall(c sqltree.Call, names Names) bool {
	switch n := names.(type) {
	case restricted:
		return n.hides != nil && n.hides(c.Name) && n.Catalog.Function(c.Name) != nil
	case withInput:
		return hiddenCall(c, n.Names)
	}
	return false
}

// withoutHidden returns the statement without the calls of hidden functions, and whether
// there are any.
func withoutHidden(st *sqltree.Statement, names Names) (*sqltree.Statement, bool) {
	hidden := func(c sqltree.Call) bool { return hiddenCall(c, names) }
	if !slices.ContainsFunc(st.Calls, hidden) {
		return st, false
	}
	visible := *st
	visible.Calls = slices.DeleteFunc(slices.Clone(st.Calls), hidden)
	return &visible, true
}

// callsConditional reports whether the statement calls a function that is hidden from some
// callers, who must not get its result from a cache.
func (v *verdict) callsConditional() bool {
	return slices.ContainsFunc(v.calls, func(c callSite) bool { return c.function.Conditional })
}

// callsHidden reports whether the statement calls one of the functions.
func (v *verdict) callsHidden(hides func(string) bool) bool {
	return hides != nil && slices.ContainsFunc(v.calls, func(c callSite) bool { return hides(c.function.Name) })
}

// hide adds the edit that renames a call of a hidden function.
func (r *rewriter) hide(c sqltree.Call) error {
	site, ok := sqltree.Locate(r.text, r.scanned(), c)
	name := -1
	for i, t := range r.tokens {
		if ok && t.End <= site.Open.Start {
			name = i
		}
	}
	if name < 0 || sqltree.Fold(r.tokens[name].Name(r.text)) != sqltree.Fold(c.Name) {
		e := NewError(errcode.NotFound, "", "there is no function %q", c.Name)
		e.Missing = ObjectFunction
		return e.at(r.text, c.Offset)
	}
	t := r.tokens[name]
	r.edits = append(r.edits,
		sqltree.Edit{Span: sqltree.Span{Start: t.Start, End: t.End}, New: Identifier(c.Name + hiddenMark)})
	return nil
}

// withoutMarks returns DuckDB's error without the marks of hidden functions.
func withoutMarks(text string) string { return strings.ReplaceAll(text, hiddenMark, "") }
