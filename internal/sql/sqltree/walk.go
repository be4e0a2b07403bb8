package sqltree

import (
	"fmt"
	"slices"
)

// The walk collects what the guard judges a statement by. Nothing in a tree may be overlooked, so
// the walk knows every type of query node, table reference and expression, and fails at another one.
// It visits each expression and query node once: their number is compared with that of all such
// objects anywhere in the tree ([Parse]), so that an expression under a key that no case walks is an
// error, too.
//
// A scope is passed down by value: a change is for what is inside. What an inner part has to report
// to an outer one, such as the functions in an argument, goes through a pointer in the scope.

// maxDepth limits the walk; DuckDB's own expression limit is 1000.
const maxDepth = 4000

// maxArrows is the limit of nested -> and lambda: DuckDB binds the inside of each
// twice, so that 22 take seconds and 45 never finish.
const maxArrows = 16

// scope is what the enclosing parts of the statement bring into scope.
type scope struct {
	ctes   []string // folded CTE names
	keyed  []string // of these, recursive ones USING KEY, whose recursive part reads recurring.name, too
	lambda []bound  // parameters of the enclosing lambdas, innermost last
	arg    argument // set if the expression is an argument itself, not a part of one
	place
	calls  *[]string // collects function names, when not nil
	read   *[]string // collects the names of outer CTEs that are read, when not nil
	rows   *overRows // of the enclosing argument; nil outside one or in its subqueries
	outer  int       // number of ctes outside the current argument
	depth  int
	inBody bool // inside a lambda's body
	arrows int  // number of enclosing lambdas
	nesting
}

// place is where in the queries of the statement something is.
type place struct {
	inner  bool // inside a subquery
	below  bool // inside a subquery or a derived table
	single bool // no enclosing SELECT has a FROM clause
	within bool // columns of an outer query are visible
	right  bool // in FROM, and another table is left of it
	open   int  // number of ctes of WITH clauses that see no column of an outer query
}

func (s scope) withCTE(name string) scope {
	s.ctes = append(slices.Clip(s.ctes), Fold(name))
	if !s.within {
		s.open = len(s.ctes)
	}
	return s
}

// outside reports whether the WITH clause of the CTE sees columns of an outer query.
func (s scope) outside(cte string) bool {
	for i, name := range slices.Backward(s.ctes) {
		if name == Fold(cte) {
			return i >= s.open
		}
	}
	return false
}

type walker struct {
	Options
	st      *Statement
	seen    int            // expressions and query nodes walked so far
	apart   int            // number of st.Columns in subqueries of the current expression
	entries map[int]string // the functions that are entries of select lists, by their offset
	err     error
}

func (w *walker) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// enter returns the scope of the parts of n; false if n is not there, or the walk has failed.
func (w *walker) enter(n node, sc scope) (inner scope, ok bool) {
	if n == nil {
		return sc, false
	}
	if sc.depth++; sc.depth > maxDepth {
		w.fail("the statement is nested too deeply")
	}
	return sc, w.err == nil
}

// query walks a query node: SELECT, set operation or recursive CTE.
func (w *walker) query(n node, sc scope) {
	sc, ok := w.enter(n, sc)
	if !ok {
		return
	}
	if n["cte_map"] != nil {
		w.seen++
	}
	sc.within, sc.right = sc.within || sc.right, false
	sc = w.ctes(n, sc)
	switch n.str("type") {
	case "SELECT_NODE":
		w.selectNode(n, sc)
	case "SET_OPERATION_NODE":
		w.query(n.child("left"), sc)
		w.query(n.child("right"), sc)
		for _, c := range n.nodes("children") {
			w.query(c, sc)
		}
	case "RECURSIVE_CTE_NODE":
		own := sc.withCTE(n.str("cte_name")) // the left side is the anchor and does not see the CTE
		if len(n.list("key_targets")) > 0 {
			own.keyed = append(slices.Clip(own.keyed), Fold(n.str("cte_name")))
		}
		w.query(n.child("left"), sc)
		w.query(n.child("right"), own)
		w.anything(n["key_targets"], own)
	case "CTE_NODE":
		w.query(n.child("query"), sc)
		sc = sc.withCTE(n.str("cte_name"))
		w.query(n.child("child"), sc)
	default:
		w.fail("the statement has a query node of an unknown type %q", n.str("type"))
		return
	}
	sc.single = sc.single && n.str("type") == "SELECT_NODE" && n.child("from_table").str("type") == "EMPTY"
	w.anything(n["modifiers"], sc)
}

// ctes walks the WITH clause of n, in which each entry sees the ones before it, and
// returns the scope with all of them.
func (w *walker) ctes(n node, sc scope) scope {
	for _, entry := range n.ctes() {
		value := entry.child("value")
		sc = w.cteScope(entry.str("key"), value, sc)
		w.anything(value["key_targets"], sc)
	}
	return sc
}

func (w *walker) selectNode(n node, sc scope) {
	if !sc.inner {
		w.addEntries(n.list("select_list"))
	}
	from := n.child("from_table")
	if t := from.str("type"); t != "EMPTY" {
		outer := sc
		outer.single = sc.single && t == "EXPRESSION_LIST"
		first := len(w.st.Relations)
		w.from(from, outer)
		w.equalities(n, sc, first)
		sc.single = false
	}
	if len(n.list("group_expressions")) > 0 || n["having"] != nil || n["qualify"] != nil {
		w.st.Aggregate = true
	}
	sc = w.selectList(n, sc)
	for _, key := range []string{"where_clause", "group_expressions", "having", "qualify", "sample"} {
		w.anything(n[key], sc)
	}
}

// from walks a table reference.
func (w *walker) from(n node, sc scope) {
	sc, ok := w.enter(n, sc)
	if !ok {
		return
	}
	switch n.str("type") {
	case "EMPTY":
	case "BASE_TABLE":
		w.baseTable(n, sc)
	case "SUBQUERY":
		sc.below = true
		w.query(n.child("subquery").child("node"), sc)
	case "JOIN":
		w.from(n.child("left"), sc)
		right := sc
		right.right = true
		w.from(n.child("right"), right)
		w.anything(n["condition"], sc)
	case "TABLE_FUNCTION":
		w.tableFunction(n, sc)
	case "EXPRESSION_LIST":
		w.anything(n["values"], sc)
	case "PIVOT":
		w.from(n.child("source"), sc)
		for _, key := range []string{"aggregates", "pivots", "groups"} {
			w.anything(n[key], sc)
		}
	case "SHOW_REF":
		w.show(n, sc)
	default:
		w.fail("the statement has a table reference of an unknown type %q", n.str("type"))
	}
}

// show walks DESCRIBE, SUMMARIZE or SHOW.
func (w *walker) show(n node, sc scope) {
	query := n.child("query")
	if query == nil {
		w.st.Shows = append(w.st.Shows, trimQuotes(n.str("table_name")))
		return
	}
	if n.str("show_type") == "SUMMARY" {
		sc = w.nest(sc, n, "SUMMARIZE", summarizeCost)
	}
	w.query(query, sc)
}

// baseTable notes a name in FROM: that of a CTE in scope, or of a relation.
func (w *walker) baseTable(n node, sc scope) {
	r := Relation{
		Catalog: n.str("catalog_name"), Schema: n.str("schema_name"), Name: n.str("table_name"),
		Offset: n.offset(), Temporal: n["at_clause"] != nil, Alias: n.str("alias"),
	}
	name, schema := Fold(r.Name), Fold(r.Schema)
	if r.Catalog == "" && schema == "" && slices.Contains(sc.ctes, name) {
		if sc.read != nil && slices.Contains(sc.ctes[:sc.outer], name) {
			*sc.read = append(*sc.read, name)
		}
		sc.refer(sc.inlined, name)
		w.st.Reads = append(w.st.Reads, Read{r.Name, r.Offset, r.Alias != "", sc.outside(name)})
		return
	}
	w.anything(n["at_clause"], sc)
	recurring := r.Catalog == "" && schema == "recurring" && slices.Contains(sc.keyed, name)
	if !recurring || r.Temporal {
		w.st.Relations = append(w.st.Relations, r)
	}
}

func (w *walker) tableFunction(n node, sc scope) {
	f := n.child("function")
	if f.str("class") != "FUNCTION" {
		w.fail("the statement has a table function of an unknown form %q", f.str("class"))
		return
	}
	w.seen++
	c := w.call(f, sc)
	c.Table, c.Alias = true, n.str("alias") != ""
	w.addCall(c, sc)
}

func (w *walker) addCall(c Call, sc scope) {
	w.st.Calls = append(w.st.Calls, c)
	if sc.calls != nil {
		*sc.calls = append(*sc.calls, Fold(c.Name))
	}
}

// call reads a FUNCTION or WINDOW node and walks its arguments.
func (w *walker) call(n node, sc scope) Call {
	c := Call{
		Catalog: n.str("catalog"), Schema: n.str("schema"), Name: n.str("function_name"), Offset: n.offset(),
		SingleRow: sc.single, Lambda: sc.inBody, Inner: sc.inner,
	}
	c.Object = object(c, sc)
	sc = w.enterCall(c, n, sc)
	for i, child := range n.nodes("children") {
		sc.arg = argument{lambda: takesLambda(c, i), named: namedByArgs[Fold(c.Name)]}
		c.Args = append(c.Args, w.arg(child, sc))
	}
	return c
}

func (w *walker) arg(n node, sc scope) Arg {
	a := Arg{Name: n.str("alias")}
	inner := sc
	inner.calls, inner.read, inner.outer = &a.Calls, &a.CTEs, len(sc.ctes)
	inner.rows = &a.overRows
	w.expression(n, inner)
	if sc.calls != nil {
		*sc.calls = append(*sc.calls, a.Calls...)
		*sc.read = append(*sc.read, a.CTEs...)
	}
	if sc.rows != nil {
		sc.rows.Many = sc.rows.Many || a.Many
		sc.rows.Bare = append(sc.rows.Bare, a.Bare...)
		sc.rows.Varies = sc.rows.Varies || a.Varies
	}
	if c, ok := constant(n); ok {
		a.Constant = &c
	}
	a.List = constants(n)
	switch n.str("class") {
	case "CONSTANT":
		a.Kind = literalKind(n.child("value"))
		if a.Kind == StringLiteral {
			a.Text = n.child("value").str("value")
			a.CTE = slices.Contains(sc.ctes, Fold(a.Text))
		}
	case "PARAMETER":
		a.Kind = Parameter
	case "COLUMN_REF":
		a.Kind, a.Parts = ColumnRef, strs(n.list("column_names"))
		a.CTE = len(a.Parts) == 1 && slices.Contains(sc.ctes, Fold(a.Parts[0]))
	case "SUBQUERY":
		a.Kind = Query
	}
	return a
}

func literalKind(value node) ArgKind {
	switch value.child("type").str("id") {
	case "VARCHAR", "STRING_LITERAL":
		return StringLiteral
	case "INTEGER", "BIGINT", "HUGEINT", "UHUGEINT", "INTEGER_LITERAL":
		return IntegerLiteral
	}
	return Literal
}

// expression walks one expression node.
func (w *walker) expression(n node, sc scope) {
	sc, ok := w.enter(n, sc)
	if !ok {
		return
	}
	w.seen++
	arg := sc.arg
	sc.arg = argument{}
	if sc.rows != nil && !constantClasses[n.str("class")] {
		sc.rows.Varies = true
	}
	switch n.str("class") {
	case "FUNCTION":
		w.function(n, sc, arg.named && sc.below)
	case "WINDOW":
		c := w.call(n, sc)
		c.Window = true
		if sc.rows != nil {
			sc.rows.Many = true
		}
		w.addCall(c, sc)
		w.rest(n, sc, "children")
	case "COLUMN_REF":
		w.column(n, sc, arg)
	case "PARAMETER":
		if id := n.str("identifier"); !slices.Contains(w.st.Params, id) {
			w.st.Params = append(w.st.Params, id)
		}
	case "SUBQUERY":
		w.subquery(n, sc)
	case "LAMBDA":
		w.lambda(n, sc, arg)
	case "CONSTANT": // its value is data
	case "BETWEEN":
		w.expression(n.child("input"), w.nest(sc, n, "BETWEEN", twiceCost))
		w.rest(n, sc, "input")
	case "CAST", "COMPARISON", "CONJUNCTION", "OPERATOR", "CASE", "STAR", "COLLATE",
		"POSITIONAL_REFERENCE", "DEFAULT", "TYPE":
		w.rest(n, sc, "")
	default:
		w.fail("the statement has an expression of an unknown class %q", n.str("class"))
	}
}

// subquery walks a subquery in an expression, and what it is compared with. Its columns are not
// those of the expression.
func (w *walker) subquery(n node, sc scope) {
	w.st.Subquery = true
	inner := w.enterSubquery(n, sc)
	inner.inner, inner.below, inner.within, inner.rows = true, true, true, nil
	own := len(w.st.Columns) - w.apart
	w.query(n.child("subquery").child("node"), inner)
	w.apart = len(w.st.Columns) - own
	w.expression(n.child("child"), sc)
}

// constantClasses are the expressions whose value depends on their operands alone.
var constantClasses = map[string]bool{
	"CONSTANT": true, "PARAMETER": true, "FUNCTION": true, "CAST": true, "COMPARISON": true, "CONJUNCTION": true,
	"OPERATOR": true, "CASE": true, "BETWEEN": true, "COLLATE": true,
}

// manyRows are DuckDB's functions that return several rows for one.
var manyRows = map[string]bool{"unnest": true, "unlist": true, "generate_subscripts": true}

func (w *walker) function(n node, sc scope, field bool) {
	before := len(w.st.Columns) - w.apart
	c := w.call(n, sc)
	c.Field = field
	w.rest(n, sc, "children")
	if name := Fold(c.Name); sc.rows != nil {
		sc.rows.Many = sc.rows.Many || manyRows[name]
		if len(w.st.Columns)-w.apart == before {
			sc.rows.Bare = append(sc.rows.Bare, name)
		}
	}
	if !n.flag("is_operator") {
		w.addCall(c, sc)
	}
}

// column notes a column, unless its name is that of a parameter of an enclosing lambda.
func (w *walker) column(n node, sc scope, arg argument) {
	parts := strs(n.list("column_names"))
	alone := len(parts) == 1
	if len(parts) > 0 && sc.use(parts[0], n.offset(), arg.named && alone && n.str("alias") == "") {
		return
	}
	if alone {
		sc.refer(sc.aliases, parts[0])
	}
	w.st.Columns = append(w.st.Columns, Column{parts, n.offset(), sc.inner, sc.inBody, arg.json})
}

// rest walks every child of n except skip. Nothing else may be omitted: an
// expression can be under any key (* REPLACE has its own under "value").
func (w *walker) rest(n node, sc scope, skip string) {
	for key, v := range n {
		if key != skip {
			w.anything(v, sc)
		}
	}
}

// anything walks a value of unknown type: lists, wrappers such as ORDER BY entries,
// expressions, query nodes.
func (w *walker) anything(v any, sc scope) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			w.anything(e, sc)
		}
	case map[string]any:
		n := node(v)
		switch {
		case n.str("class") != "":
			w.expression(n, sc)
		case n["cte_map"] != nil:
			w.query(n, sc)
		case n["named_param_map"] != nil:
			w.query(n.child("node"), sc)
		default:
			if inner, ok := w.enter(n, sc); ok {
				w.rest(n, inner, "")
			}
		}
	}
}

// count returns the number of expressions and query nodes anywhere in a tree, and
// collects the types.
func (st *Statement) count(v any) int {
	total := 0
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			total += st.count(e)
		}
	case map[string]any:
		n := node(v)
		if n.str("class") != "" || n["cte_map"] != nil {
			total++
		}
		if n.str("type") == "UNBOUND_TYPE_INFO" {
			st.Types = append(st.Types, Type{n.str("catalog"), n.str("schema"), n.str("name")})
		} else if n.str("id") == "VARIANT" {
			st.Types = append(st.Types, Type{Name: n.str("id")})
		}
		for _, e := range v {
			total += st.count(e)
		}
	}
	return total
}

func strs(list []any) []string {
	out := make([]string, 0, len(list))
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func trimQuotes(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}
