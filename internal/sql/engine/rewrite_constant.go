package engine

import (
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// A declared function that reads data binds its arguments in a derived table, so that
// its tables do not capture the caller's names. DuckDB then scans these tables whole at
// each call. A constant captures nothing: the rewriter calls the function's direct form,
// whose conditions DuckDB pushes into the scan (docs/decisions).

// usage is where a rewritten text is used.
type usage uint8

const (
	inBody      usage = iota // of a function or view: direct forms are not used
	inPart                   // a part of a statement
	inStatement              // a whole statement
)

// constant reports whether all arguments of a call are constants: literals, parameters
// and expressions of them without functions that are declared, or that may give another
// value at each evaluation.
func (r *rewriter) constant(c sqltree.Call, f *Function) bool {
	for i, a := range c.Args {
		if a.Varies || a.Many || f.Args[position(a, i, f)].Table || slices.ContainsFunc(a.Calls, r.varying) {
			return false
		}
		if f.Table && position(a, i, f) != i { // its direct form takes them by position
			return false
		}
	}
	return true
}

func (r *rewriter) varying(name string) bool {
	return r.names.Function(name) != nil || r.db.builtins.Random(name) || r.db.builtins.Aggregate(name) ||
		sqltree.Fold(name) == Ctx
}

// callDirect makes a call one of the direct form. It reports whether the whole statement
// is now a query of it.
func (r *rewriter) callDirect(c sqltree.Call, f *Function, site sqltree.Site) bool {
	if site.Dot != (sqltree.Span{}) { // x.f()
		return false
	}
	r.direct = append(r.direct, f.Name)
	if f.Table {
		r.unname(c, site)
	}
	if label, after, ok := r.isAlone(c, f, site); ok {
		r.alone = true
		r.edits = append(r.edits, sqltree.Edit{Span: site.Path, New: AloneColumn + " AS " + label + " FROM " + f.Alone},
			sqltree.Edit{Span: after})
		return true
	}
	r.edits = append(r.edits, sqltree.Edit{Span: site.Path, New: f.Constant})
	return false
}

// unname removes the names of named arguments.
func (r *rewriter) unname(c sqltree.Call, site sqltree.Site) {
	before := site.Open.End
	for i, a := range c.Args {
		if a.Name != "" {
			comma := ""
			if i > 0 {
				comma = ", "
			}
			r.edits = append(r.edits, sqltree.Edit{Span: sqltree.Span{Start: before, End: site.Args[i].Start}, New: comma})
		}
		before = site.Args[i].End
	}
}

// isAlone reports whether the statement is SELECT, the call, and at most a label. It
// returns the label, by default the text of the call, and its position after the call.
func (r *rewriter) isAlone(c sqltree.Call, f *Function, site sqltree.Site) (label string, after sqltree.Span, ok bool) {
	selectsOne := r.shape.Plain && !r.shape.From && r.shape.Columns == 1
	if f.Alone == "" || r.in != inStatement || !selectsOne || c.Inner {
		return "", after, false
	}
	whole := site.Whole()
	if !sqltree.Are(r.text, r.tokens, 0, "select") || r.tokens[1].Start != whole.Start {
		return "", after, false
	}
	rest := slices.DeleteFunc(slices.Clone(r.tokens), func(t sqltree.Token) bool { return t.Start < whole.End })
	if n := len(rest); n > 0 && rest[n-1].Is(r.text, ";") {
		rest = rest[:n-1]
	}
	if sqltree.Are(r.text, rest, 0, "as") && len(rest) == 2 {
		rest = rest[1:]
	}
	after = sqltree.Span{Start: whole.End, End: whole.End}
	switch {
	case len(rest) == 0:
		return Identifier(r.text[whole.Start:whole.End]), after, true
	case len(rest) == 1 && rest[0].IsName():
		after.End = rest[0].End
		return Identifier(rest[0].Name(r.text)), after, true
	}
	return "", after, false
}

// directForm returns the function whose direct form an edited text calls, or nil.
func directForm(c sqltree.Call, names Names) *Function {
	if c.Catalog != CatalogName || c.Schema != Core {
		return nil
	}
	name, isDirect := strings.CutSuffix(c.Name, ":direct")
	f := names.Function(name)
	if f == nil || isDirect != (c.Table || f.Table) {
		return nil
	}
	return f
}

func sameNames(a, b []string) bool {
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
