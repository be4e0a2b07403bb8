package functions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// The direct form is a table macro for calls whose arguments are constants, which capture
// nothing and need no binding. DuckDB then pushes conditions such as key = argument into
// the scan, which uses an index or skips data.
//
// Of a scalar function whose body is one query, it returns the rows of that query in one
// column: a statement that is only such a call runs it and checks the number of rows.
// Of a table function, it is the body with arguments in place of args.a where that is
// compared, and of (SELECT a FROM args).

// putInPlace decides whether the function gets the direct form.
func (b *builder) putInPlace() error {
	switch {
	case len(b.f.Args) == 0 || len(b.p.st.Lambdas) > 0: // a macro might replace a lambda's parameter
	case b.f.IsTable():
		b.tableInPlace()
	case b.oneQuery() && b.onlyColumns():
		b.f.body.inPlace = []edit{}
	}
	b.f.body.compact()
	return nil
}

// compact drops the direct form if its edits overlap the others, which none should.
func (b *body) compact() {
	all := b.directEdits()
	for i := 1; i < len(all); i++ {
		if all[i].Start < all[i-1].End {
			b.inPlace = nil
		}
	}
}

func (b *body) directEdits() []edit {
	all := slices.Concat(b.edits, b.inPlace)
	slices.SortStableFunc(all, func(x, y edit) int {
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(x.End, y.End))
	})
	return all
}

// oneQuery reports whether the body is one query in parentheses.
func (b *builder) oneQuery() bool {
	w := b.words()
	tokens := w.tokens
	if len(tokens) < 3 || !tokens[0].Is(b.p.text, "(") || tokens[1].Kind != sqltree.Ident ||
		!queryWords[fold(tokens[1].Text(b.p.text))] {
		return false
	}
	return w.closing(0) == len(tokens)-1
}

// words are the tokens of a body.
type words struct {
	b      *builder
	tokens []sqltree.Token
}

func (b *builder) words() words {
	outside := func(t sqltree.Token) bool { return t.Start < b.p.start || t.End > b.p.start+b.p.length }
	return words{b, slices.DeleteFunc(slices.Clone(b.p.tokens), outside)}
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

// onlyColumns reports whether the names of arguments occur only as columns without a
// qualifier: a table macro replaces these, and no others.
func (b *builder) onlyColumns() bool {
	at := map[int]bool{}
	for _, c := range b.p.st.Columns {
		if len(c.Parts) == 1 {
			at[c.Offset] = true
		}
	}
	return !slices.ContainsFunc(b.words().tokens, func(t sqltree.Token) bool {
		return t.IsName() && !at[t.Start] && b.argIndex(t.Name(b.p.text)) >= 0
	})
}

// paddingJoins are joins that may return NULL for a column of args.
var paddingJoins = map[string]bool{"left": true, "right": true, "full": true, "positional": true}

var comparisons = []string{"=", "==", "<", ">", "<=", ">=", "<>", "!="}

// tableInPlace collects the edits that make the body of a table function its direct form: a column
// of args that is compared becomes the argument, and (SELECT … FROM args) becomes the expression.
//
// The direct form must return what the body returns, for all arguments. args has exactly one row,
// so a column of it is the argument wherever that row is present. An outer or positional join may
// replace the row by NULLs; a name args that is neither the table in a FROM clause nor the
// qualifier of a column means something else. In both cases there is no direct form. Columns that
// are not compared stay as they are: only a condition helps DuckDB to use an index.
func (b *builder) tableInPlace() {
	if len(b.f.Tables) > 0 {
		return
	}
	w := b.words()
	tokens := w.tokens
	var edits []edit
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		if t.Kind == sqltree.Ident && paddingJoins[fold(t.Text(b.p.text))] && !w.is(i+1, "(") {
			return
		}
		if w.is(i, "(") {
			if inner, end := w.selectFromArgs(i); end > 0 {
				edits, i = append(edits, inner...), end
			}
			continue
		}
		if !w.namesArgs(i) {
			continue
		}
		column := w.is(i+1, ".") && !w.is(i-1, ".") && i+2 < len(tokens) && tokens[i+2].IsName()
		if !column {
			inFrom := w.is(i-1, "from", "join", ",") && !w.is(i+1, "(", ".")
			cte := w.is(i+1, "as") && w.is(i+2, "(", "materialized", "not") // WITH …, args AS (
			if !inFrom || cte {
				return
			}
			continue
		}
		arg := b.argIndex(tokens[i+2].Name(b.p.text))
		compared := w.is(i-1, comparisons...) || w.is(i+3, comparisons...)
		member := w.is(i+3, ".", "[", "(") // the comparison is of a part of the argument
		if arg >= 0 && compared && !member {
			edits = append(edits, edit{Span: sqltree.Span{Start: t.Start, End: tokens[i+2].End}, text: directParam(arg)})
		}
	}
	for i := range edits {
		edits[i].Start -= b.p.start
		edits[i].End -= b.p.start
	}
	b.f.body.inPlace = edits
}

// is reports whether token i is one of the words or symbols.
func (w words) is(i int, words ...string) bool {
	return i >= 0 && i < len(w.tokens) && (w.tokens[i].Kind == sqltree.Ident || w.tokens[i].Kind == sqltree.Symbol) &&
		slices.Contains(words, fold(w.tokens[i].Text(w.b.p.text)))
}

// namesArgs reports whether token i is the name args.
func (w words) namesArgs(i int) bool {
	return w.tokens[i].IsName() && fold(w.tokens[i].Name(w.b.p.text)) == reservedTable
}

// directParam is the name of parameter i in the forms of a table function.
func directParam(i int) string { return fmt.Sprintf("__spiced_arg_%d", i+1) }

// beforeValue are the words and symbols after which a subquery is a value, or a list of
// values.
var beforeValue = append([]string{
	"in", "between", "and", "or", "not", "where", "on", "when", "then", "else", "like", "ilike", "limit", "offset",
	"+", "-", "*", "/", "||",
}, comparisons...)

// selectFromArgs returns the edits for (SELECT … FROM args) at token i and the index of
// its last token, or 0 if it is something else.
func (w words) selectFromArgs(i int) (edits []edit, end int) {
	end = w.closing(i)
	if !w.is(i+1, "select") || end < i+5 || !w.is(end-2, "from") || !w.namesArgs(end-1) || !w.is(i-1, beforeValue...) {
		return nil, 0
	}
	inner := w.tokens[i+2 : end-2]
	sub, depth := words{w.b, inner}, 0
	for j, t := range inner {
		depth += t.Nesting(w.b.p.text)
		if depth == 0 && sub.is(j, ",") || sub.is(j, "select", "from", "distinct", "as", "over", "filter") ||
			j == 0 && sub.is(j, "*") {
			return nil, 0
		}
	}
	span := sqltree.Span{Start: inner[0].Start, End: inner[len(inner)-1].End}
	in := func(offset int) bool { return offset >= span.Start && offset < span.End }
	for _, c := range w.b.p.st.Calls {
		if in(c.Offset) && (w.b.c.done[fold(c.Name)] != nil || w.b.c.db.Builtins().Aggregate(c.Name) ||
			w.b.c.db.Builtins().Random(c.Name) || fold(c.Name) == "unnest") {
			return nil, 0
		}
	}
	for _, c := range w.b.p.st.Columns {
		if !in(c.Offset) {
			continue
		}
		name, ok := sqltree.LocateColumn(w.b.p.text, w.tokens, c)
		at := w.b.argIndex(c.Parts[0])
		if !ok || len(c.Parts) > 1 || at < 0 {
			return nil, 0
		}
		edits = append(edits, edit{Span: name, text: directParam(at)})
	}
	drop := func(from, to int) edit {
		return edit{Span: sqltree.Span{Start: w.tokens[from].Start, End: w.tokens[to].End}}
	}
	return append(edits, drop(i+1, i+1), drop(end-2, end-1)), end
}

// byKey replaces relations from which the body reads only rows with some keys by the macros
// that select them: see [engine.CallByKey]. A policy hides the rows from the condition.
func (f *Function) byKey(t Target, edits []edit) []edit {
	out := slices.Clone(edits)
	for i, e := range out {
		if e.reference == nil || len(e.reference.Equal) == 0 {
			continue
		}
		ref := *e.reference
		if !f.IsTable() { // id is an argument if there is one of that name
			ref.Equal = slices.DeleteFunc(slices.Clone(ref.Equal), func(e sqltree.Equality) bool {
				return !e.Table && f.argIndex(e.Column) >= 0
			})
		}
		r := engine.Relation{Schema: fold(e.relation.Schema), Name: fold(e.relation.Name)}
		if macro, call := engine.CallByKey(*e.relation, ref, t.keys[r], f.keyArgument); macro != "" {
			out[i] = edit{Span: e.Span, text: call}
		}
	}
	return out
}

// keyArgument returns the parameter of the direct form that a constant names.
func (f *Function) keyArgument(v sqltree.Constant, _ string) (string, engine.KeyKind) {
	at := -1
	switch {
	case v.Kind != sqltree.ColumnRef:
	case f.IsTable() && len(v.Parts) == 2 && fold(v.Parts[0]) == reservedTable:
		at = f.argIndex(v.Parts[1])
	case !f.IsTable() && len(v.Parts) == 1:
		at = f.argIndex(v.Parts[0])
	}
	if at < 0 {
		return "", ""
	}
	name := engine.Identifier(f.Args[at].Name)
	if f.IsTable() {
		name = directParam(at)
	}
	return name, engine.KindOf(f.Args[at].Type.SQL())
}

// directForm writes the direct form.
func (f *Function) directForm(b *strings.Builder, t Target, s *statement) {
	write := func() {
		text, origin := f.body.renderEdits(t, f.byKey(t, f.body.directEdits()))
		s.start, s.origin = b.Len(), origin
		b.WriteString(text)
	}
	if !f.IsTable() {
		value := "__spiced_value"
		b.WriteString(f.params() + " AS TABLE SELECT CAST(" + value + " AS " + f.Returns.SQL() + ") AS " +
			engine.AloneColumn + " FROM (\n")
		write()
		b.WriteString("\n) AS __spiced_body(" + value + ")")
		return
	}
	params := f.list(func(i int, a Arg) string { return directParam(i) + " " + a.Type.SQL() })
	names := f.list(func(_ int, a Arg) string { return engine.Identifier(a.Name) })
	values := f.list(func(i int, _ Arg) string { return directParam(i) })
	fmt.Fprintf(b, "%s AS TABLE WITH %s%s AS (SELECT %s) ", params, reservedTable, names, values[1:len(values)-1])
	f.outputs(b, write)
}
