package sqltree

import (
	"cmp"
	"slices"
)

// Lambda is a lambda function or a list comprehension. As in DuckDB, a name refers
// to the parameter of the innermost lambda that has it.
type Lambda struct {
	Params []LambdaName // in order
	Uses   []LambdaName // the references to them
	Offset int          // of the first parameter after the word lambda, of ->, or of a comprehension's [
}

// LambdaName is an occurrence of a parameter of a [Lambda].
type LambdaName struct {
	Name   string // as written
	Param  int    // the index of the parameter
	Offset int    // -1 for the parameters of all but x -> …: DuckDB does not report it
	Names  bool   // the function around takes a name from it: struct_pack(x) is struct_pack(x := x)
}

// bound is a parameter in scope.
type bound struct {
	name  string // folded
	of    *Lambda
	param int
}

// argument describes an expression as an argument of a function or operator.
type argument struct {
	json   bool // the left side of JSON's ->
	lambda bool // where x -> … is a lambda
	named  bool // a column's name there is part of the result
}

// lambdaFunctions are DuckDB's functions that take a lambda, as their second
// argument. Anywhere else, x -> y is the operator of JSON.
var lambdaFunctions = map[string]bool{
	"apply": true, "array_apply": true, "list_apply": true, "array_transform": true, "list_transform": true,
	"filter": true, "array_filter": true, "list_filter": true,
	"reduce": true, "array_reduce": true, "list_reduce": true,
}

// namedByArgs are DuckDB's functions whose result has the names of columns passed
// as arguments.
var namedByArgs = map[string]bool{
	"struct_pack": true, "struct_insert": true, "struct_update": true,
	"union_value": true, "alias": true,
}

// takesLambda reports whether argument i of c may be a lambda. DuckDB's parser
// reads l.list_filter(…) as a call in a schema l, without l among the arguments.
func takesLambda(c Call, i int) bool {
	if c.Schema != "" && Fold(c.Schema) != "main" {
		i++
	}
	return i == 1 && lambdaFunctions[Fold(c.Name)]
}

// use records a reference to name at offset, if it is a lambda's parameter.
func (sc scope) use(name string, offset int, names bool) bool {
	folded := Fold(name)
	for _, b := range slices.Backward(sc.lambda) {
		if b.name == folded {
			b.of.Uses = append(b.of.Uses, LambdaName{name, b.param, offset, names})
			return true
		}
	}
	return false
}

// object records a reference to the parameter that a call x.f() is made on, and
// reports whether there is one. DuckDB's parser adds the schema main to functions.
func object(c Call, sc scope) bool {
	return c.Schema != "" && c.Catalog == "" && Fold(c.Schema) != "main" && sc.use(c.Schema, c.Offset, false)
}

// lambda walks lambda x: expr, x -> expr and the lambdas that DuckDB's parser
// generates for a list comprehension, with x bound inside. The parser also reads
// the JSON operator a -> 'k' as a lambda, which it is only as the second argument
// of a function that takes lambdas. The parameters of all but x -> … have no offset.
func (w *walker) lambda(n node, sc scope, arg argument) {
	if sc.arrows++; sc.arrows > maxArrows {
		w.limit(n, "use json_extract(j, '$.a.b') for several levels", "-> and lambda are nested deeper than %d", maxArrows)
		return
	}
	sc = w.nest(sc, n, "a lambda or ->", lambdaCost)
	lhs := n.child("lhs")
	params := lambdaParams(lhs)
	if len(params) == 0 || params[0].Offset >= 0 && !arg.lambda {
		left := sc
		left.arg = argument{json: true}
		w.expression(lhs, left)
		w.expression(n.child("expr"), sc)
		return
	}
	l := &Lambda{Params: params, Offset: n.offset()}
	w.st.Lambdas = append(w.st.Lambdas, l)
	w.lambdaHead(lhs, sc)
	sc.inBody, sc.lambda = true, slices.Clip(sc.lambda)
	for i := range l.Params {
		l.Params[i].Param = i
		sc.lambda = append(sc.lambda, bound{Fold(l.Params[i].Name), l, i})
	}
	w.expression(n.child("expr"), sc)
}

// lambdaHead walks the parts of a lambda's left side that are not parameters.
func (w *walker) lambdaHead(n node, sc scope) {
	switch {
	case isParam(n):
		w.seen++
	case isRow(n):
		w.seen++
		for _, c := range n.list("children") {
			m, _ := c.(map[string]any)
			w.lambdaHead(m, sc)
		}
		w.rest(n, sc, "children")
	default:
		w.expression(n, sc)
	}
}

func lambdaParams(lhs node) []LambdaName {
	if isParam(lhs) {
		return []LambdaName{{Name: strs(lhs.list("column_names"))[0], Offset: lhs.offset()}}
	}
	if !isRow(lhs) {
		return nil
	}
	var all []LambdaName
	for _, c := range lhs.list("children") {
		m, _ := c.(map[string]any)
		all = append(all, lambdaParams(m)...)
	}
	return all
}

func isParam(n node) bool {
	return n.str("class") == "COLUMN_REF" && len(strs(n.list("column_names"))) == 1
}

// isRow reports whether n is (x, y), which the parser reads as main.row(x, y), or
// the x, y of lambda x, y: …, which it reads as row(x, y).
func isRow(n node) bool {
	return n.str("class") == "FUNCTION" && n.str("function_name") == "row" && n.str("catalog") == "" &&
		(n.str("schema") == "main" || n.str("schema") == "")
}

// NameSite is the position of an occurrence of a lambda's parameter.
type NameSite struct {
	LambdaName
	Span
}

// LocateLambda finds every occurrence of the parameters of l in the text it was
// parsed from, without duplicates, in the order of the text: declarations and
// uses. It reports false when text and tree do not agree; the text must not be
// edited then. A lambda that the parser generated has none.
func LocateLambda(sql string, tokens []Token, l *Lambda) ([]NameSite, bool) {
	at := tokenAt(tokens, l.Offset)
	if at < 0 {
		return nil, false
	}
	comprehension := tokens[at].Is(sql, "[")
	if comprehension && len(l.Uses) > 0 && !slices.ContainsFunc(l.Uses, func(u LambdaName) bool {
		return u.Offset != l.Offset
	}) {
		return nil, true // [… for … if …] has two more lambdas, over intermediate elements
	}
	first := at
	if comprehension {
		first = comprehensionNames(sql, tokens, at)
	}
	var sites []NameSite
	for i, p := range l.Params {
		token := first + 2*i // x, y
		if p.Offset >= 0 {
			token = tokenAt(tokens, p.Offset)
		}
		if !names(sql, tokens, token, p.Name) {
			return nil, false
		}
		sites = append(sites, NameSite{p, spanOf(tokens[token])})
	}
	for _, u := range l.Uses {
		token := tokenAt(tokens, u.Offset)
		if !names(sql, tokens, token, u.Name) {
			return nil, false
		}
		sites = append(sites, NameSite{u, spanOf(tokens[token])})
	}
	slices.SortStableFunc(sites, func(a, b NameSite) int { return cmp.Compare(a.Start, b.Start) })
	// CASE x WHEN 1 … WHEN 2 … reads x twice at one position.
	return slices.CompactFunc(sites, func(a, b NameSite) bool { return a.Span == b.Span }), true
}

// names reports whether token i is the name.
func names(sql string, tokens []Token, i int, name string) bool {
	return i >= 0 && i < len(tokens) && tokens[i].IsName() && tokens[i].Name(sql) == name
}

// comprehensionNames returns the index of the token after the word for in the list
// comprehension whose bracket is token i, or -1.
func comprehensionNames(sql string, tokens []Token, i int) int {
	for depth := 0; i < len(tokens); i++ {
		t := tokens[i]
		if depth += t.Nesting(sql); depth == 0 {
			break
		}
		if depth == 1 && t.Kind == Ident && Fold(t.Text(sql)) == "for" {
			return i + 1
		}
	}
	return -1
}
