package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// DuckDB binds a call of a declared function, which is a macro, by putting the texts of the
// arguments into its body. The rewriter edits the calls so that they behave as calls of built-in
// functions: a literal and a parameter get the cast that DuckDB gives them for its own functions,
// an argument that changes with each evaluation is evaluated once, a table argument is a name that
// the body can read, and defaults are written out.
//
// An edit replaces what the parse tree calls a part of a call, at the position where sqltree.Locate
// finds it in the text. Edits never overlap partly: one inside another belongs to a subquery that
// moves to the front of the statement. The edited text is parsed and judged again ([DB.verify]):
// it names the tables, direct forms and macros that are collected here, and no others.

// rewriter collects the edits of one text.
type rewriter struct {
	db     *DB
	names  Names
	text   string
	tokens []sqltree.Token
	edits  []sqltree.Edit
	in     usage
	shape  sqltree.Shape
	hoists []sqltree.Span // subqueries passed as table arguments
	written
}

// written is what the edits of a [rewriter] add to the names in a text.
type written struct {
	tables []string // that replace table arguments
	direct []string // functions named by their form for constant arguments
	alone  bool     // the statement is [Function.Alone] of one of them
	keys   []string // macros of [ByKey]
	params []string // whose kinds of values the macros depend on
	// types are those of the parameters that are arguments of declared functions, by their
	// names, as the functions declare them. Of several the first in the text counts.
	types map[string]string
}

// rewrite returns the edits for the calls of declared functions in text and, outside
// bodies, for the names main.t and catalog.schema.t, and the names that the edits write.
func (db *DB) rewrite(text string, st *sqltree.Statement, names Names, in usage) ([]sqltree.Edit, written, error) {
	r := rewriter{db: db, names: names, text: text, in: in, shape: st.Shape}
	for _, relation := range st.Relations {
		if in != inBody && (sqltree.Fold(relation.Schema) == mainSchema || foreign(relation.Catalog)) {
			if err := r.qualify(relation); err != nil {
				return nil, written{}, err
			}
		}
	}
	for _, c := range st.Calls {
		if err := r.call(c); err != nil {
			return nil, written{}, err
		}
	}
	if len(r.hoists) > 0 {
		r.edits = append(r.edits, numberedParams(r.text, r.tokens)...) // a subquery takes its parameters along
	}
	r.sort()
	r.hoist()
	return r.edits, r.written, nil
}

// scanned returns the tokens of the text, which most texts do not need.
func (r *rewriter) scanned() []sqltree.Token {
	if r.tokens == nil {
		r.tokens = sqltree.Scan(r.text)
	}
	return r.tokens
}

// insert adds an edit that replaces nothing.
func (r *rewriter) insert(at int, text string) {
	r.edits = append(r.edits, sqltree.Edit{Span: sqltree.Span{Start: at, End: at}, New: text})
}

// call adds the edits of one call.
func (r *rewriter) call(c sqltree.Call) error {
	f := declared(c, r.names)
	switch {
	case hiddenCall(c, r.names):
		return r.hide(c)
	case f != nil:
		return r.functionCall(asFunction(c), f)
	case readsTable(c):
		return r.reader(c)
	}
	return nil
}

// functionCall adds the edits of a call of a declared function and its arguments. A call that is a
// column by itself keeps its text as the column's name.
func (r *rewriter) functionCall(c sqltree.Call, f *Function) error {
	r.typeParams(c, f)
	once, err := r.once(c, f)
	if err != nil {
		return err
	}
	direct := r.in != inBody && f.Constant != "" && r.constant(c, f)
	omitted := omittedArgs(c, f)
	whole := once || direct || c.Field || len(omitted) > 0
	if !whole && !slices.ContainsFunc(c.Args, needsEdit) && !slices.ContainsFunc(f.Args, isTable) {
		return nil
	}
	site, ok := sqltree.Locate(r.text, r.scanned(), c)
	if !ok {
		return NewError(errcode.Refused, fmt.Sprintf("write it as %s(…)", f.Name),
			"this form of a call of %s is not supported", f.Name).
			at(r.text, c.Offset)
	}
	before := len(r.edits)
	if !once && len(omitted) > 0 {
		r.addDefaults(c, omitted, site, f.Table && direct)
	}
	for i, a := range c.Args {
		if err := r.arg(a, f.Args[position(a, i, f)], site.Args[i]); err != nil {
			return err
		}
	}
	switch {
	case once:
		r.bindOnce(c, f, site, omitted)
	case direct && r.callDirect(c, f, site):
		return nil
	}
	span := site.Whole()
	if c.Field { // DuckDB loses the name of the field when it expands a macro in a correlated subquery
		r.insert(span.Start, "coalesce(")
		r.insert(span.End, ")")
	}
	if c.Entry && len(r.edits) > before {
		r.insert(span.End, " AS "+Identifier(r.text[span.Start:span.End]))
	}
	return nil
}

// omittedArgs are the arguments that have a default and are not in the call.
func omittedArgs(c sqltree.Call, f *Function) []FunctionArg {
	if len(c.Args) >= len(f.Args) {
		return nil
	}
	given := make([]bool, len(f.Args))
	for i, a := range c.Args {
		given[position(a, i, f)] = true
	}
	var omitted []FunctionArg
	for i, d := range f.Args {
		if !given[i] && d.Default != "" {
			omitted = append(omitted, d)
		}
	}
	return omitted
}

// addDefaults writes the defaults of omitted arguments at the end of a call.
func (r *rewriter) addDefaults(c sqltree.Call, omitted []FunctionArg, site sqltree.Site, byPosition bool) {
	parts := make([]string, len(omitted))
	for i, d := range omitted {
		parts[i] = d.Default
		if !byPosition {
			parts[i] = Identifier(d.Name) + " := " + d.Default
		}
	}
	text, inside := strings.Join(parts, ", "), len(c.Args)
	if site.Dot != (sqltree.Span{}) { // the first argument is before the brackets
		inside--
	}
	if inside > 0 {
		text = ", " + text
	}
	// no insertion: that could belong to the last argument
	r.edits = append(r.edits, sqltree.Edit{Span: site.End, New: text + ")"})
}

// qualify writes the schema of a relation that the statement takes from main, or from another
// catalog than the runtime's own.
func (r *rewriter) qualify(ref sqltree.Relation) error {
	relation, _ := r.names.Relation(ref.Catalog, ref.Schema, ref.Name)
	span, ok := sqltree.LocateRelation(r.text, r.scanned(), ref)
	if !ok {
		return NewError(errcode.Refused, "write FROM "+ref.Name, "this form of the name of table %q is not supported",
			ref.Name).at(r.text, ref.Offset)
	}
	r.edits = append(r.edits, sqltree.Edit{Span: span, New: Qualified(relation.Schema, relation.Name)})
	return nil
}

// reader writes the name of the table that one of tableReaders reads. It may not be that of a CTE,
// which a macro of DuckDB might not see.
func (r *rewriter) reader(c sqltree.Call) error {
	site, ok := sqltree.Locate(r.text, r.scanned(), c)
	if ok && len(c.Args) > 0 && c.Args[0].Name == "" && !c.Args[0].CTE {
		return r.tableArg(c.Args[0], readTable, site.Args[0])
	}
	return NewError(errcode.Argument, fmt.Sprintf("write %s(t, …)", c.Name),
		"the first argument of %s must be a declared table or a subquery", c.Name).at(r.text, c.Offset)
}

// bindOnce makes a call evaluate each argument once per row: f(a, b) becomes
// (list_transform([{'x': a, 'y': b}], lambda p: f(p.x, p.y))[1]). A lambda's
// parameter is a value, while a macro's argument is text.
func (r *rewriter) bindOnce(c sqltree.Call, f *Function, site sqltree.Site, omitted []FunctionArg) {
	key := func(i int) string { return Literal(f.Args[position(c.Args[i], i, f)].Name) + ": " }
	whole := site.Whole()
	opening := sqltree.Span{Start: whole.Start, End: site.Args[0].Start}
	r.edits = append(r.edits, sqltree.Edit{Span: opening, New: "(list_transform([{" + key(0)})
	for i := 1; i < len(site.Args); i++ {
		between := sqltree.Span{Start: site.Args[i-1].End, End: site.Args[i].Start}
		r.edits = append(r.edits, sqltree.Edit{Span: between, New: ", " + key(i)})
	}
	fields := make([]string, len(f.Args))
	for i, a := range f.Args {
		fields[i] = onceParam + "." + Identifier(a.Name)
		if slices.ContainsFunc(omitted, func(d FunctionArg) bool { return d.Name == a.Name }) {
			fields[i] = a.Default
		}
	}
	call := Qualified(Public, f.Name) + "(" + strings.Join(fields, ", ") + ")"
	closing := sqltree.Span{Start: site.Args[len(site.Args)-1].End, End: whole.End}
	r.edits = append(r.edits, sqltree.Edit{Span: closing, New: "}], lambda " + onceParam + ": " + call + ")[1])"})
}

// onceParam is the lambda's parameter in a call that binds its arguments once. No
// table of the statement has the name by accident: DuckDB would read __p.x as a
// column of a table __p.
const onceParam = "__spiced_once"

// once reports whether the call must evaluate each argument once although the body
// uses one more often: an argument changes with each evaluation, or it contains a
// parameter in a statement of one row, where DuckDB would plan a repeated
// parameter again at each execution. It is an error if the function cannot be called so.
func (r *rewriter) once(c sqltree.Call, f *Function) (bool, error) {
	random := slices.ContainsFunc(c.Args, func(a sqltree.Arg) bool { return slices.ContainsFunc(a.Calls, r.random) })
	problem := ""
	switch {
	case f.NotOnce == "":
	case random:
		problem = "changes with each evaluation"
	case slices.ContainsFunc(c.Args, r.overRows):
		problem = "reads or returns several rows"
	}
	if problem != "" {
		return false, NewError(errcode.Argument,
			fmt.Sprintf("compute it first: SELECT %s(v) FROM (SELECT … AS v FROM …)", f.Name),
			"an argument of %s %s, and %s", f.Signature, problem, f.NotOnce).at(r.text, c.Offset)
	}
	param := slices.ContainsFunc(c.Args, func(a sqltree.Arg) bool { return a.Kind == sqltree.Parameter })
	return f.Once && (random || param && c.SingleRow), nil
}

// overRows reports whether a would see only one row where a derived table binds
// it: a window function, unnest, and an aggregate that reads no column, such as
// count(*). DuckDB computes other aggregates where their columns are.
func (r *rewriter) overRows(a sqltree.Arg) bool {
	return a.Many || slices.ContainsFunc(a.Bare, func(name string) bool {
		return r.names.Function(name) == nil && r.db.builtins.Aggregate(name)
	})
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

// position is the index in the declaration of argument i of a call.
func position(a sqltree.Arg, i int, f *Function) int {
	if a.Name == "" {
		return i
	}
	return slices.IndexFunc(f.Args, func(d FunctionArg) bool { return sqltree.Fold(d.Name) == sqltree.Fold(a.Name) })
}

// arg adds the edit of one argument, which is at span. DuckDB casts a string
// literal and an untyped parameter to whatever its own functions take, and an
// integer literal to any numeric type that holds it.
func (r *rewriter) arg(a sqltree.Arg, d FunctionArg, span sqltree.Span) error {
	if d.Table {
		return r.tableArg(a, d, span)
	}
	if needsEdit(a) && (a.Kind != sqltree.IntegerLiteral || d.Numeric) {
		r.insert(span.Start, "CAST(")
		r.insert(span.End, " AS "+d.Type+")")
	}
	return nil
}

// typeParams notes the types of the parameters among the arguments of a call: of their
// casts, or else the declared ones.
func (r *rewriter) typeParams(c sqltree.Call, f *Function) {
	for i, a := range c.Args {
		if a.Constant == nil || a.Constant.Kind != sqltree.Parameter {
			continue
		}
		if r.types == nil {
			r.types = map[string]string{}
		}
		if name := a.Constant.Text; r.types[name] == "" {
			r.types[name] = cmp.Or(a.Constant.Cast, f.Args[position(a, i, f)].Type)
		}
	}
}

// tableArg replaces a table argument with the name that the function's query_table
// reads. A subquery becomes a CTE in front of the statement.
func (r *rewriter) tableArg(a sqltree.Arg, d FunctionArg, span sqltree.Span) error {
	fail := func(code errcode.Code, hint, format string, args ...any) error {
		return NewError(code, hint, format, args...).at(r.text, span.Start)
	}
	var parts []string
	switch a.Kind {
	case sqltree.StringLiteral:
		parts = strings.SplitN(a.Text, ".", 3)
	case sqltree.ColumnRef:
		parts = a.Parts
	case sqltree.Query:
		if len(a.CTEs) > 0 {
			return fail(errcode.Argument, "name the CTE itself as the argument",
				"a subquery for table argument %q cannot read a CTE", d.Name)
		}
		r.table(span, hoistName(len(r.hoists)))
		r.hoists = append(r.hoists, span)
		return nil
	default:
		return fail(errcode.Argument, "pass a table name or a subquery in parentheses", "argument %q takes a table", d.Name)
	}
	name := strings.Join(parts, ".")
	target := Identifier(name)
	if !a.CTE {
		catalog, schema, table := pathOf(parts)
		rel, ok := r.names.Relation(catalog, schema, table)
		if !ok {
			return checkRelation(r.text,
				sqltree.Relation{Catalog: catalog, Schema: schema, Name: table, Offset: span.Start}, r.names)
		}
		target = Qualified(rel.Schema, rel.Name)
	}
	if strings.Contains(name, `"`) { // query_table does not unescape quotes that Identifier doubles
		return fail(errcode.Argument, "read it in a CTE of another name",
			"argument %q takes a table without quotes in its name", d.Name)
	}
	r.table(span, target)
	return nil
}

// table writes the name of a table for the argument at span.
func (r *rewriter) table(span sqltree.Span, name string) {
	r.edits = append(r.edits, sqltree.Edit{Span: span, New: Literal(name)})
	r.tables = append(r.tables, name)
}

func pathOf(parts []string) (catalog, schema, table string) {
	switch len(parts) {
	case 1:
		return "", "", parts[0]
	case 2:
		return "", parts[0], parts[1]
	}
	return parts[0], parts[1], strings.Join(parts[2:], ".")
}

func hoistName(i int) string { return fmt.Sprintf("__spiced_table_%d", i+1) }

// sort orders the edits by position. Of two insertions at one position, the one
// added later is the outer one.
func (r *rewriter) sort() {
	slices.Reverse(r.edits)
	slices.SortStableFunc(r.edits, func(a, b sqltree.Edit) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
}

// hoist moves the subqueries passed as table arguments to the front of the
// statement as CTEs, with the edits inside them; a nested one comes before the one
// that contains it.
func (r *rewriter) hoist() {
	if len(r.hoists) == 0 {
		return
	}
	var ctes []string
	for i, span := range slices.Backward(r.hoists) {
		text, _ := sqltree.Apply(r.text[span.Start:span.End], r.inside(span))
		ctes = append(ctes, hoistName(i)+" AS "+text)
	}
	r.edits = r.outermost(r.edits)
	first := r.tokens[0]
	at, text := first.Start, "WITH "+strings.Join(ctes, ", ")+" "
	if sqltree.Are(r.text, r.tokens, 0, "with") {
		at, text = first.End, " "+strings.Join(ctes, ", ")+","
		if sqltree.Are(r.text, r.tokens, 1, "recursive") {
			at = r.tokens[1].End
		}
	}
	r.edits = append([]sqltree.Edit{{Span: sqltree.Span{Start: at, End: at}, New: text}}, r.edits...)
}

// numberedParams returns the edits that rewrite ? as $1, $2, ….
func numberedParams(text string, tokens []sqltree.Token) (edits []sqltree.Edit) {
	n := 0
	for _, t := range tokens {
		if t.Kind != sqltree.Param || text[t.Start] != '?' {
			continue
		}
		n++
		if t.End == t.Start+1 {
			edits = append(edits, sqltree.Edit{Span: sqltree.Span{Start: t.Start, End: t.End}, New: fmt.Sprintf("$%d", n)})
		}
	}
	return edits
}

// inside returns the edits inside span, moved to its start.
func (r *rewriter) inside(span sqltree.Span) []sqltree.Edit {
	var inside []sqltree.Edit
	for _, e := range r.edits {
		if e.Start >= span.Start && e.End <= span.End && e.Span != span {
			inside = append(inside, e)
		}
	}
	inside = r.outermost(inside)
	for i := range inside {
		inside[i].Start -= span.Start
		inside[i].End -= span.Start
	}
	return inside
}

// outermost omits the edits that are inside a hoisted subquery which another edit
// replaces.
func (r *rewriter) outermost(edits []sqltree.Edit) []sqltree.Edit {
	var replaced []sqltree.Span
	for _, e := range edits {
		if slices.Contains(r.hoists, e.Span) {
			replaced = append(replaced, e.Span)
		}
	}
	return slices.DeleteFunc(slices.Clone(edits), func(e sqltree.Edit) bool {
		return slices.ContainsFunc(replaced, func(s sqltree.Span) bool {
			return e.Start >= s.Start && e.End <= s.End && e.Span != s
		})
	})
}
