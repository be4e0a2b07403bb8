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
// For a scalar function whose body is one query, it returns the rows of that query in one
// column: a statement that is only such a call runs it and checks the number of rows.
// For a table function, it is the body with arguments in place of args.a where that is
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
	b.f.body.dropOverlapping()
	return nil
}

// dropOverlapping drops the direct form if its edits overlap the others, which none should.
func (b *body) dropOverlapping() {
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
	return w.opensQuery(0) && w.closing(0) == len(w.tokens)-1
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

// comparisons are the operators that compare an argument with a column.
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
	var edits []edit
	for i := 0; i < len(w.tokens); i++ {
		switch {
		case w.is(i, "left", "right", "full", "positional") && !w.is(i+1, "("):
			return
		case w.is(i, "("):
			if inner, end := w.selectFromArgs(i); end > 0 {
				edits, i = append(edits, inner...), end
			}
		case !w.namesArgs(i):
		case w.is(i+1, ".") && w.isName(i+2) && !w.is(i-1, "."):
			if arg := w.comparedArg(i); arg >= 0 {
				edits = append(edits, edit{Span: w.span(i, i+2), text: directParam(arg)})
			}
		case !w.readsArgs(i):
			return
		}
	}
	b.f.body.inPlace = edits
}

// namesArgs reports whether token i is the name args.
func (w words) namesArgs(i int) bool { return w.isName(i) && fold(w.name(i)) == reservedTable }

// readsArgs reports whether the name args at token i is the table in a FROM clause.
func (w words) readsArgs(i int) bool {
	if w.is(i+1, "as") && w.is(i+2, "(", "materialized", "not") { // WITH …, args AS (
		return false
	}
	return w.is(i-1, "from", "join", ",") && !w.is(i+1, "(", ".")
}

// comparedArg returns the index of the argument if args.a at token i is compared, else -1.
func (w words) comparedArg(i int) int {
	compared := w.is(i-1, comparisons...) || w.is(i+3, comparisons...)
	if member := w.is(i+3, ".", "[", "("); member || !compared { // the comparison is of a part of the argument
		return -1
	}
	return w.b.argIndex(w.name(i + 2))
}

// directParam is the name of parameter i in the forms of a table function.
func directParam(i int) string { return fmt.Sprintf("__spiced_arg_%d", i+1) }

// beforeValue are the words and symbols after which a subquery is a value, or a list of
// values.
var beforeValue = append([]string{
	"in", "between", "and", "or", "not", "where", "on", "when", "then", "else", "like", "ilike", "limit", "offset",
	"+", "-", "*", "/", "||",
}, comparisons...)

// selectFromArgs returns the edits that make (SELECT … FROM args) at token i the expression that it
// selects, and the index of its last token; 0 if it is something else. The expression must be one
// value of arguments, which is the same wherever it is computed.
func (w words) selectFromArgs(i int) (edits []edit, end int) {
	end = w.closing(i)
	if end < i+5 || !w.is(i-1, beforeValue...) {
		return nil, 0
	}
	if !w.is(i+1, "select") || !w.is(end-2, "from") || !w.namesArgs(end-1) {
		return nil, 0
	}
	first, last := i+2, end-2 // of the expression, before last
	if w.is(first, "*") || w.has(first, last, ",") ||
		w.contains(first, last, "select", "from", "distinct", "as", "over", "filter") {
		return nil, 0
	}
	edits, ok := w.argumentsIn(w.tokens[first].Start, w.tokens[last-1].End)
	if !ok {
		return nil, 0
	}
	return append(edits, edit{Span: w.span(i+1, i+1)}, edit{Span: w.span(end-2, end-1)}), end
}

// argumentsIn returns the edits that write the parameters of the direct form for the columns from
// offset start to end of the parsed text. It returns false if they are not all arguments, or if a
// function that is called there may give another value in the direct form.
func (w words) argumentsIn(start, end int) (edits []edit, ok bool) {
	inside := func(offset int) bool { return offset >= start && offset < end }
	builtins := w.b.c.db.Builtins()
	for _, c := range w.b.p.st.Calls {
		fixed := w.b.c.done[fold(c.Name)] == nil && fold(c.Name) != "unnest" &&
			!builtins.Aggregate(c.Name) && !builtins.Random(c.Name)
		if inside(c.Offset) && !fixed {
			return nil, false
		}
	}
	for _, c := range w.b.p.st.Columns {
		if !inside(c.Offset) {
			continue
		}
		name, found := sqltree.LocateColumn(w.b.p.text, w.tokens, c)
		arg := w.b.argIndex(c.Parts[0])
		if !found || len(c.Parts) > 1 || arg < 0 {
			return nil, false
		}
		edits = append(edits, edit{Span: w.b.inBody(name.Start, name.End), text: directParam(arg)})
	}
	return edits, true
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
		b.WriteString(f.params() + " AS TABLE SELECT CAST(" + bodyValue + " AS " + f.Returns.SQL() + ") AS " +
			engine.AloneColumn + " FROM (\n")
		write()
		b.WriteString("\n) AS __spiced_body(" + bodyValue + ")")
		return
	}
	params := f.list(func(i int, a Arg) string { return directParam(i) + " " + a.Type.SQL() })
	names := f.list(func(_ int, a Arg) string { return engine.Identifier(a.Name) })
	values := f.list(func(i int, _ Arg) string { return directParam(i) })
	fmt.Fprintf(b, "%s AS TABLE WITH %s%s AS (SELECT %s) ", params, reservedTable, names, values[1:len(values)-1])
	f.outputs(b, write)
}
