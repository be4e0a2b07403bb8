package pgcatalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Rewrite makes a statement that was written for PostgreSQL use the views and
// macros of this package, and reports whether it changed anything. It knows
//
//   - pg_catalog.x and information_schema.x, pg_class and the like without a
//     schema, and PostgreSQL's own functions;
//   - casts to regclass and the other OID alias types, to name, jsonb and other
//     types that DuckDB lacks, and literals of arrays and bytes: '{1,2}'::int[],
//     '\x1f20'::bytea;
//   - patterns of LIKE in which \ escapes, the operators ~* and !~*, overlay(x PLACING y FROM n), current_timestamp(0);
//   - OPERATOR(pg_catalog.~) and COLLATE pg_catalog.default;
//   - in statements on the catalog the operators ~ and !~, which there
//     match anywhere, LIKE 'pg\_%', x = ANY (column), substring(x FROM 'pattern'),
//     format('%I', x), the division of integers, oid = typreceive, the alias at,
//     unnest(a, b) and generate_subscripts(a, 1) in FROM, generate_series in
//     SELECT.
//
// It works on tokens: strings, comments and line breaks stay as they are, and
// a statement with none of these is returned unchanged. A rewritten statement
// stays as it is when it is rewritten again.
func Rewrite(sql string) (string, bool) { return RewriteFor(sql, Session{}) }

// Session is what the names of a statement mean to its client.
type Session struct {
	User string // current_user and the like; "": spice
	// Path has the schemas of search_path, in order, if they are others than public
	// alone. Schema returns the first of them that has the relation, or "".
	Path   []string
	Schema func(relation string) string
	// Setting returns the value that the client has given a setting. Nil: none.
	Setting func(name string) (value string, ok bool)
}

// RewriteFor is Rewrite for the client of a session.
func RewriteFor(sql string, s Session) (string, bool) {
	if !mentions(sql) && s.Path == nil {
		return sql, false
	}
	tokens, ok := scan(sql)
	if !ok {
		return sql, false
	}
	r := &rewriter{sql: sql, tokens: tokens, session: s}
	if !r.balanced() {
		return sql, false
	}
	r.catalog = slices.ContainsFunc(r.tokens, r.namesCatalog)
	r.items, r.rewritten = r.listItems(), make([]bool, len(r.tokens))
	r.findCTEs()
	for i := 0; i < len(r.tokens); {
		i = r.token(i)
	}
	if len(r.edits) == 0 {
		return sql, false
	}
	edits, apart := sqltree.Merge(r.sorted(), nil)
	if !apart { // edits that overlap would read the statement in two ways
		return sql, false
	}
	text, _ := sqltree.Apply(sql, edits)
	return text, true
}

// scan splits a statement into tokens, unless a quote or comment of it has no
// end: what would be written behind it would be part of it.
func scan(sql string) ([]sqltree.Token, bool) {
	const mark = "\n;"
	tokens := sqltree.Scan(sql + mark)
	last := len(tokens) - 1
	return tokens[:max(last, 0)], last >= 0 && tokens[last].Start == len(sql)+1
}

type rewriter struct {
	sql     string
	tokens  []sqltree.Token
	partner []int    // of a bracket its other one, of a "::" where its operand begins, or -1
	items   []clause // what item of a list begins with a token
	catalog bool     // the statement is about the catalog

	rewritten []bool // tokens that have been rewritten before their turn
	session   Session
	ctes      map[string]bool // the names of CTEs, if the session has a path
	edits     []edit
}

// edit is a change of the text. What stands before an operand reaches to the
// operand's end: of two at one position the one that reaches further is the outer.
type edit struct {
	sqltree.Edit
	reach int
}

// sorted returns the edits in the order that [sqltree.Apply] takes.
func (r *rewriter) sorted() []sqltree.Edit {
	slices.SortStableFunc(r.edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(b.reach, a.reach))
	})
	list := make([]sqltree.Edit, len(r.edits))
	for i, e := range r.edits {
		list[i] = e.Edit
	}
	return list
}

// nameAt is the folded identifier at token i, or "".
func (r *rewriter) nameAt(i int) string {
	if i < 0 || i >= len(r.tokens) {
		return ""
	}
	switch t := r.tokens[i]; t.Kind {
	case sqltree.Ident:
		return sqltree.Fold(t.Text(r.sql))
	case sqltree.QuotedIdent:
		return t.Name(r.sql)
	}
	return ""
}

// keywordAt is the keyword that token i is, folded, or "".
func (r *rewriter) keywordAt(i int) string {
	if i < 0 || i >= len(r.tokens) || r.tokens[i].Kind != sqltree.Ident {
		return ""
	}
	return r.nameAt(i)
}

func (r *rewriter) isSymbol(i int, symbol string) bool {
	return i >= 0 && i < len(r.tokens) && r.tokens[i].Is(r.sql, symbol)
}

func (r *rewriter) isKind(i int, k sqltree.Kind) bool {
	return i >= 0 && i < len(r.tokens) && r.tokens[i].Kind == k
}

// replace writes text instead of tokens from to last.
func (r *rewriter) replace(from, last int, text string) {
	span := sqltree.Span{Start: r.tokens[from].Start, End: r.tokens[last].End}
	r.edits = append(r.edits, edit{sqltree.Edit{Span: span, New: text}, 0})
}

func (r *rewriter) insert(offset int, text string) {
	r.edits = append(r.edits, edit{sqltree.Edit{Span: sqltree.Span{Start: offset, End: offset}, New: text}, 0})
}

// enclose begins a call of a macro before token from, with an operand that ends
// with token last; who calls it writes the bracket that ends the call.
func (r *rewriter) enclose(from, last int, macro string) {
	r.insert(r.tokens[from].Start, " "+call(macro))
	r.edits[len(r.edits)-1].reach = r.tokens[last].End
}

// wrap makes tokens from to last the argument of a macro.
func (r *rewriter) wrap(from, last int, macro string) {
	r.enclose(from, last, macro)
	r.insert(r.tokens[last].End, ")")
}

// call is the start of a call of a macro.
func call(macro string) string { return Schema + "." + macroPrefix + macro + "(" }

// OfCatalog reports whether a statement names something of the catalog.
func OfCatalog(sql string) bool {
	r := &rewriter{sql: sql}
	return slices.ContainsFunc(sqltree.Scan(sql), r.namesCatalog)
}

// namesCatalog reports whether a token names something of the catalog.
func (r *rewriter) namesCatalog(t sqltree.Token) bool {
	if t.Kind != sqltree.Ident && t.Kind != sqltree.QuotedIdent {
		return false
	}
	name := sqltree.Fold(t.Name(r.sql))
	return name == "pg_catalog" || name == "information_schema" || name == "current_setting" ||
		relations[name] && strings.HasPrefix(name, "pg_")
}

// token looks at token i and returns the next to look at.
func (r *rewriter) token(i int) int {
	switch t := r.tokens[i]; t.Kind {
	case sqltree.Symbol:
		return r.symbol(i)
	case sqltree.Ident, sqltree.QuotedIdent:
		return r.identifier(i)
	case sqltree.String:
		r.arrayLiteral(i)
		r.like(i)
	}
	return i + 1
}

func (r *rewriter) symbol(i int) int {
	switch {
	case r.isSymbol(i, "::"):
		return r.cast(i)
	case r.isSymbol(i, "~") || r.isSymbol(i, "!"):
		return r.match(i)
	case r.catalog && r.isSymbol(i, "=") && !r.isOperator(i-1):
		return r.anyOf(i)
	}
	return i + 1
}

// identifier rewrites the name at token i, and returns the next token to look at. A name is
// looked at from its first part on, in the order in which PostgreSQL reads it: with a schema of
// the catalog, as a function, as a word of SQL, as a relation. Each form returns once it has
// rewritten the name: edits that overlap would leave the whole statement as it was.
func (r *rewriter) identifier(i int) int {
	name := r.nameAt(i)

	// Columns whose values have another type here. Their names stay.
	switch {
	case name == "proargtypes":
		r.vector(i)
	case r.catalog && indexVectors[name]:
		r.indexVector(i, name)
	case r.catalog && procedures[name]:
		r.procedure(i)
	}
	if r.rewritten[i] || r.isSymbol(i-1, ".") {
		return i + 1
	}

	// spice.pg_catalog.x, pg_catalog.f(…), pg_catalog.x, f(…).
	if name == engine.CatalogName && r.isSymbol(i+1, ".") && r.isCatalogSchema(i+2) {
		if !r.isSymbol(i+5, "(") {
			r.replace(i, i+2, Schema)
			return i + 5
		}
	}
	if r.isCatalogSchema(i) {
		if r.isSymbol(i+3, "(") {
			return r.function(i, i+2)
		}
		if !r.rolesView(i, i+2) {
			r.replace(i, i, Schema)
		}
		return i + 3
	}
	if r.isSymbol(i+1, "(") {
		return r.callee(i, name)
	}

	// Words of SQL, which in quotes are names.
	if !r.isKind(i, sqltree.QuotedIdent) {
		switch {
		case name == "bytea" && r.isKind(i+1, sqltree.String):
			r.hexBytes(i + 1)
		case r.callsKeyword(i, name):
			r.replace(i, i, r.keywordValue(name))
			r.nameItem(i, i, name)
			return i + 1
		case name == "collate":
			return r.collation(i)
		case name == "at" && r.catalog && r.keywordAt(i+1) != "time": // an alias: the word is DuckDB's alone
			r.replace(i, i, `"at"`)
		}
	}

	// A relation without a schema.
	if !r.isCatalogView(i, name) {
		r.searchPath(i, name)
	} else if !r.rolesView(i, i) {
		r.insert(r.tokens[i].Start, Schema+".")
	}
	return i + 1
}

// callsKeyword reports whether token i is a function that SQL writes without brackets. user may
// be a column of a table in FROM, and each of them an alias or a relation.
func (r *rewriter) callsKeyword(i int, name string) bool {
	if name == "user" && slices.Contains(r.items, fromItem) {
		return false
	}
	return keywords[name] && !r.isSymbol(i+1, ".") && r.keywordAt(i-1) != "as"
}

// isCatalogView reports whether token i is a view of pg_catalog in FROM, without its schema.
func (r *rewriter) isCatalogView(i int, name string) bool {
	return strings.HasPrefix(name, "pg_") && relations[name] && r.items[i] == fromItem && !r.isSymbol(i+1, ".")
}

// isCatalogSchema reports whether token i is a schema of the catalog, before a name.
func (r *rewriter) isCatalogSchema(i int) bool {
	name := r.nameAt(i)
	return (name == "pg_catalog" || name == "information_schema") && r.isSymbol(i+1, ".") && r.nameAt(i+2) != ""
}

// callee rewrites the name at token i, which stands before a bracket.
func (r *rewriter) callee(i int, name string) int {
	switch {
	case name == "operator" && r.nameAt(i+2) == "pg_catalog" && r.isSymbol(i+3, "."):
		return r.operator(i)
	case name == "cast":
		return r.castCall(i)
	case name == "overlay":
		r.placing(i)
		return r.function(i, i)
	case name == "substring" && r.catalog:
		r.substring(i)
	case r.isMacro(i, name), name == "to_char", timeTypes[name] != "", renamed[name] != "",
		r.catalog && series[name] && r.items[i] != noItem:
		return r.function(i, i)
	}
	return i + 1
}

// isMacro reports whether the function with the name at token i is a macro.
func (r *rewriter) isMacro(i int, name string) bool {
	switch {
	case ours[name]:
		return true
	case name == "encode" && r.isSymbol(i+1, "(") && len(r.commas(i+2, r.partner[i+1])) == 1:
		return true // DuckDB's takes no format
	case name == "age" && r.catalog:
		return transactions[r.nameAt(r.partner[i+1]-1)]
	}
	return r.catalog && differing[name]
}

// function rewrites a call of the function with the name at token i; from is
// where the name with its schema starts.
func (r *rewriter) function(from, i int) int {
	name, end := r.nameAt(i), r.partner[i+1]
	switch {
	case name == "to_char":
		return r.toChar(from, i)
	case timeTypes[name] != "":
		return r.readTime(from, i)
	case r.schemaCall(from, i, name), r.settingCall(from, i, name):
		return end + 1
	case r.isMacro(i, name):
		r.replace(from, i, Schema+"."+macroPrefix+name)
		r.nameItem(from, end, name)
	case renamed[name] != "":
		r.replace(from, i, renamed[name])
	case from < i: // one that DuckDB may have too
		r.replace(from, i, r.tokens[i].Text(r.sql))
	}
	if series[name] && r.items[from] == fromItem {
		r.callInFrom(from, i)
	} else if name == "generate_series" && r.items[from] == selectItem && r.catalog {
		r.insert(r.tokens[from].Start, "unnest(") // DuckDB's is a list there
		r.insert(r.tokens[end].End, ")")
		r.nameItem(from, end, name)
	}
	return i + 1
}

// callInFrom rewrites a call in FROM that gives a row for each element; the name of
// the function is token i. DuckDB has unnest of several lists, and
// generate_subscripts, in SELECT alone.
func (r *rewriter) callInFrom(from, i int) {
	first, end := i+2, r.partner[i+1]
	commas := r.commas(first, end)
	switch {
	case r.nameAt(i) == "generate_subscripts":
		r.insert(r.tokens[from].Start, "(SELECT ")
		r.insert(r.tokens[end].End, ")")
	case r.nameAt(i) == "unnest" && len(commas) > 0:
		r.insert(r.tokens[from].Start, "(SELECT ")
		for _, comma := range commas {
			r.replace(comma, comma, "), unnest(")
		}
		if r.keywordAt(end+1) == "with" && r.keywordAt(end+2) == "ordinality" && r.isColumn(first, commas[0]-1) {
			list := r.sql[r.tokens[first].Start:r.tokens[commas[0]-1].End]
			r.insert(r.tokens[end].End, ", generate_subscripts("+list+", 1)")
			r.replace(end+1, end+2, blank(r.sql[r.tokens[end+1].Start:r.tokens[end+2].End]))
		}
		r.insert(r.tokens[end].End, ")")
	}
	r.nameColumn(end + 1)
}

// commas returns the commas between the arguments from token first to the
// bracket end.
func (r *rewriter) commas(first, end int) []int {
	var list []int
	for i := first; i < end; i++ {
		switch {
		case r.isOpening(i):
			i = r.partner[i]
		case r.isSymbol(i, ","):
			list = append(list, i)
		}
	}
	return list
}

// nameColumn names the column of a function in FROM after its alias, which
// starts with token i: generate_series(1, 3) s is the table s and the column s.
func (r *rewriter) nameColumn(i int) {
	if r.keywordAt(i) == "as" {
		i++
	}
	name := r.nameAt(i)
	if name == "" || r.isKind(i, sqltree.Ident) && notAlias[name] || r.isSymbol(i+1, "(") || r.isSymbol(i+1, ".") {
		return
	}
	r.insert(r.tokens[i].End, "("+r.tokens[i].Text(r.sql)+")")
}

// vector rewrites an element of an oidvector, and a cast of one to a list: the
// column's name is token i. Vectors count from 0 and are text here.
func (r *rewriter) vector(i int) {
	typ, last := r.typeAt(i + 2)
	element := r.isSymbol(i+1, "[")
	if !element && (!r.isSymbol(i+1, "::") || !r.isSymbol(last+1, "[") || typ == "regtype") {
		return
	}
	from := i
	for r.isSymbol(from-1, ".") && r.nameAt(from-2) != "" {
		from -= 2
	}
	r.wrap(from, i, "vector")
	if element {
		r.insert(r.tokens[i+1].End, "1+")
	}
}

// substring rewrites substring(x FROM 'pattern'), whose name is token i.
func (r *rewriter) substring(i int) {
	end := r.partner[i+1]
	if r.keywordAt(end-2) == "from" && r.isKind(end-1, sqltree.String) {
		r.replace(i, i, Schema+"."+macroPrefix+"substring")
		r.replace(end-2, end-2, ",")
	}
}

// nameItem gives an item of a SELECT list that is only this call, or a cast that
// became one, the name of the function or column, as PostgreSQL does.
func (r *rewriter) nameItem(from, last int, name string) {
	if r.items[from] != selectItem {
		return
	}
	if r.endsItem(last+1) || r.isSymbol(last+1, ")") {
		r.insert(r.tokens[last].End, " AS "+engine.Identifier(name))
	}
}

// endsItem reports whether an item of a SELECT list ends before token i.
func (r *rewriter) endsItem(i int) bool {
	return i == len(r.tokens) || r.isSymbol(i, ",") || r.isSymbol(i, ";") || r.keywordAt(i) == "from"
}

// clause is the list that an item stands in.
type clause byte

const (
	noItem clause = iota
	selectItem
	fromItem
)

// listItems tells which tokens begin an item of a SELECT list or of FROM.
func (r *rewriter) listItems() []clause {
	items := make([]clause, len(r.tokens)+1)
	within := []clause{noItem} // by depth of brackets
	for i := range r.tokens {
		top := len(within) - 1
		switch word := r.keywordAt(i); {
		case r.isOpening(i):
			within = append(within, noItem)
			if items[i] == fromItem {
				within[top+1], items[i+1] = fromItem, fromItem
			}
		case r.isClosing(i) && top > 0:
			within = within[:top]
		case word == "select":
			within[top], items[i+1] = selectItem, selectItem
		case fromWord[word]:
			within[top], items[i+1] = fromItem, fromItem
		case r.isSymbol(i, ","):
			items[i+1] = within[top]
		case endsFrom[word] || r.isSymbol(i, ";"):
			within[top] = noItem
		}
	}
	return items
}

func (r *rewriter) isOpening(i int) bool {
	return r.isSymbol(i, "(") || r.isSymbol(i, "[") || r.isSymbol(i, "{")
}

func (r *rewriter) isClosing(i int) bool {
	return r.isSymbol(i, ")") || r.isSymbol(i, "]") || r.isSymbol(i, "}")
}

// balanced reports whether every bracket has its other one, and notes it.
func (r *rewriter) balanced() bool {
	r.partner = make([]int, len(r.tokens))
	var open []int
	for i, t := range r.tokens {
		switch {
		case r.isOpening(i):
			open = append(open, i)
		case r.isClosing(i):
			last := len(open) - 1
			if last < 0 || strings.IndexByte("([{", r.sql[r.tokens[open[last]].Start]) != strings.IndexByte(")]}",
				r.sql[t.Start]) {
				return false
			}
			r.partner[i], r.partner[open[last]] = open[last], i
			open = open[:last]
		}
	}
	return len(open) == 0
}

// collation takes out COLLATE with a collation that DuckDB always uses.
func (r *rewriter) collation(i int) int {
	last := i + 1
	if r.nameAt(last) == "pg_catalog" && r.isSymbol(last+1, ".") {
		last += 2
	}
	if !collations[sqltree.Fold(r.nameAt(last))] {
		return i + 1
	}
	r.replace(i, last, blank(r.sql[r.tokens[i].Start:r.tokens[last].End]))
	return last + 1
}

// blank is the white space of text that keeps its lines, at least one blank.
func blank(text string) string { return " " + strings.Repeat("\n", strings.Count(text, "\n")) }
