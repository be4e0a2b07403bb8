package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/sqltree"
)

// rewriter collects the edits of one text.
type rewriter struct {
	db     *DB
	names  Names
	text   string
	tokens []sqltree.Token
	edits  []sqltree.Edit
	hoists []sqltree.Span // subqueries given as table arguments
}

// rewrite returns the edits for the calls of declared functions in text.
func (db *DB) rewrite(text string, st *sqltree.Statement, names Names) ([]sqltree.Edit, error) {
	r := rewriter{db: db, names: names, text: text}
	for _, c := range st.Calls {
		f := declared(c, names)
		if f == nil {
			continue
		}
		if err := r.call(c, f); err != nil {
			return nil, err
		}
	}
	r.sort()
	r.hoist()
	return r.edits, nil
}

// call adds the edits of one call: its name, when it goes to another form of
// the function, and its arguments.
func (r *rewriter) call(c sqltree.Call, f *Function) error {
	once, err := r.once(c, f)
	if err != nil {
		return err
	}
	if !once && !slices.ContainsFunc(c.Args, needsEdit) && !slices.ContainsFunc(f.Args, isTable) {
		return nil
	}
	if r.tokens == nil {
		r.tokens = sqltree.Scan(r.text)
	}
	site, ok := sqltree.Locate(r.text, r.tokens, c)
	if !ok {
		return newError(CodeRefused, fmt.Sprintf("write it as %s(…)", f.Name), "this form of a call of %s is not understood", f.Name).
			at(r.text, c.Offset)
	}
	if once {
		r.edits = append(r.edits, sqltree.Edit{Span: site.Path, New: Qualified(Once, f.Name)})
	}
	for i, a := range c.Args {
		if site.Args[i] == (sqltree.Span{}) {
			continue
		}
		if err := r.arg(a, f.Args[position(a, i, f)], site.Args[i]); err != nil {
			return err
		}
	}
	return nil
}

// once reports whether the call must go to the form that evaluates each
// argument once: one changes with each evaluation, or it holds a parameter in
// a statement of one row, where DuckDB would plan a repeated parameter anew at
// each execution.
func (r *rewriter) once(c sqltree.Call, f *Function) (bool, error) {
	random, param := false, false
	for _, a := range c.Args {
		param = param || a.Kind == sqltree.Parameter
		random = random || slices.ContainsFunc(a.Calls, r.random)
	}
	if random && f.NotOnce != "" {
		return false, newError(CodeArgument,
			fmt.Sprintf("compute it first: SELECT %s(v) FROM (SELECT … AS v FROM …)", f.Name),
			"an argument of %s changes with each evaluation, and %s", f.Signature, f.NotOnce).at(r.text, c.Offset)
	}
	return f.Once && (random || param && c.SingleRow), nil
}

func (r *rewriter) random(name string) bool {
	if f := r.names.Function(name); f != nil {
		return f.Random
	}
	return r.db.builtins.Random(name)
}

func isTable(a FunctionArg) bool { return a.Table }

func needsEdit(a sqltree.Arg) bool {
	return a.Kind == sqltree.StringLiteral || a.Kind == sqltree.IntegerLiteral || a.Kind == sqltree.Parameter
}

// position is the place in the declaration of argument i of a call.
func position(a sqltree.Arg, i int, f *Function) int {
	if a.Name == "" {
		return i
	}
	return slices.IndexFunc(f.Args, func(d FunctionArg) bool { return sqltree.Fold(d.Name) == sqltree.Fold(a.Name) })
}

// arg adds the edit of one argument, which stands at span. DuckDB casts a
// string literal and an untyped parameter to whatever one of its own functions
// takes, and an integer literal to any number it fits.
func (r *rewriter) arg(a sqltree.Arg, d FunctionArg, span sqltree.Span) error {
	if d.Table {
		return r.tableArg(a, d, span)
	}
	if needsEdit(a) && (a.Kind != sqltree.IntegerLiteral || d.Numeric) {
		r.edits = append(r.edits,
			sqltree.Edit{Span: sqltree.Span{Start: span.Start, End: span.Start}, New: "CAST("},
			sqltree.Edit{Span: sqltree.Span{Start: span.End, End: span.End}, New: " AS " + d.Type + ")"})
	}
	return nil
}

// tableArg turns a table argument into the name that the function's
// query_table reads. A subquery becomes a CTE in front of the statement.
func (r *rewriter) tableArg(a sqltree.Arg, d FunctionArg, span sqltree.Span) error {
	fail := func(code Code, hint, format string, args ...any) error {
		return newError(code, hint, format, args...).at(r.text, span.Start)
	}
	name := ""
	switch a.Kind {
	case sqltree.StringLiteral:
		name = a.Text
	case sqltree.ColumnRef:
		name = strings.Join(a.Parts, ".")
	case sqltree.Query:
		if len(a.CTEs) > 0 {
			return fail(CodeArgument, "name the CTE itself as the argument", "a subquery for table argument %q cannot read a CTE", d.Name)
		}
		r.edits = append(r.edits, sqltree.Edit{Span: span, New: Literal(hoistName(len(r.hoists)))})
		r.hoists = append(r.hoists, span)
		return nil
	default:
		return fail(CodeArgument, "give a table's name or a subquery in parentheses", "argument %q takes a table", d.Name)
	}
	target := name
	if !a.CTE {
		catalog, schema, table := splitName(name)
		rel, ok := r.names.Relation(catalog, schema, table)
		if !ok {
			return checkRelation(r.text, sqltree.Relation{Catalog: catalog, Schema: schema, Name: table, Offset: span.Start}, r.names)
		}
		target = CatalogName + "." + rel.Schema + "." + rel.Name
	}
	r.edits = append(r.edits, sqltree.Edit{Span: span, New: Literal(target)})
	return nil
}

func splitName(name string) (catalog, schema, table string) {
	parts := strings.Split(name, ".")
	switch len(parts) {
	case 1:
		return "", "", parts[0]
	case 2:
		return "", parts[0], parts[1]
	}
	return parts[0], parts[1], strings.Join(parts[2:], ".")
}

func hoistName(i int) string { return fmt.Sprintf("__spiced_table_%d", i+1) }

func (r *rewriter) sort() {
	slices.SortStableFunc(r.edits, func(a, b sqltree.Edit) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
}

// hoist puts the subqueries given as table arguments in front of the
// statement as CTEs, with the edits that fall inside them.
func (r *rewriter) hoist() {
	if len(r.hoists) == 0 {
		return
	}
	var ctes strings.Builder
	for i, span := range r.hoists {
		fmt.Fprintf(&ctes, "%s AS %s, ", hoistName(i), r.inner(span))
	}
	r.edits = slices.DeleteFunc(r.edits, func(e sqltree.Edit) bool {
		return slices.ContainsFunc(r.hoists, func(s sqltree.Span) bool {
			return e.Start >= s.Start && e.End <= s.End && e.Span != s
		})
	})
	first := r.tokens[0]
	at, text := first.Start, "WITH "+strings.TrimSuffix(ctes.String(), ", ")+" "
	if keyword(r.text, r.tokens, 0, "with") {
		at, text = first.End, " "+ctes.String()
		if keyword(r.text, r.tokens, 1, "recursive") {
			at = r.tokens[1].End
		}
	}
	r.edits = append([]sqltree.Edit{{Span: sqltree.Span{Start: at, End: at}, New: text}}, r.edits...)
}

// inner is the text of a span with the edits inside it made.
func (r *rewriter) inner(span sqltree.Span) string {
	var inside []sqltree.Edit
	for _, e := range r.edits {
		if e.Start >= span.Start && e.End <= span.End && e.Span != span {
			e.Start -= span.Start
			e.End -= span.Start
			inside = append(inside, e)
		}
	}
	text, _ := sqltree.Apply(r.text[span.Start:span.End], inside)
	return text
}
