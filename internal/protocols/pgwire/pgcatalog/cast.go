package pgcatalog

import (
	"encoding/hex"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// typeAt reads the name of a type at token i: folded, without schema, and its
// last token. The name is "" without one.
func (r *rewriter) typeAt(i int) (name string, last int) {
	if s := r.nameAt(i); (s == "pg_catalog" || s == "information_schema") && r.isSymbol(i+1, ".") {
		i += 2
	}
	return r.nameAt(i), i
}

// cast rewrites x::type, where token i is the "::", and returns the next token to look at.
//
// A type that DuckDB has under another name changes its name. A cast to an OID alias type is a
// look-up in the catalog, which only a macro can do: the whole cast becomes a call, whose end
// replaces the "::" and the type. The operand keeps its tokens, so that rewrites inside of it,
// of casts as well, stay apart from this one.
func (r *rewriter) cast(i int) int {
	from := r.operand(i - 1)
	r.partner[i] = from
	name, last := r.typeAt(i + 1)
	if name == "" {
		return i + 1
	}
	single, list := from >= 0 && from == i-1, r.isSymbol(last+1, "[")

	if a, ok := aliases[name]; ok && from >= 0 && !list { // 'pg_class'::regclass
		r.enclose(from, last, r.aliasMacro(a, from, i-1, last))
		r.replace(i, last, ")")
		if r.isColumn(from, i-1) {
			r.nameItem(from, last, r.nameAt(i-1))
		}
		return last + 1
	}
	if name == "regtype" && from >= 0 && r.isSymbol(last+2, "]") { // x::regtype[]
		macro := "regtype_names"
		if single && r.isKind(from, sqltree.String) { // '{int,text}' is OIDs
			macro = "to_regtypes"
		}
		r.enclose(from, last+2, macro)
		r.replace(i, last+2, ")")
		return last + 3
	}
	if single && !list && r.isNaN(from) && numerics[name] && !r.isSymbol(last+1, "(") {
		r.replace(i+1, last, "DOUBLE") // a DECIMAL has no NaN
		return last + 1
	}

	if name == "oid" && r.catalog && procedures[r.nameAt(i-1)] {
		r.wrap(from, i-1, "to_regproc") // the column holds a name
	}
	if name == "bytea" && single {
		r.hexBytes(from)
	}
	r.typeName(i+1, last, name)
	if r.catalog && integers[name] && r.isSymbol(last+1, "/") && r.isKind(last+2, sqltree.Number) {
		r.insert(r.tokens[last+1].End, "/") // PostgreSQL divides integers without a rest
	}
	return last + 1
}

// isNaN reports whether token i is the text 'NaN'.
func (r *rewriter) isNaN(i int) bool { return strings.EqualFold(r.tokens[i].Text(r.sql), "'NaN'") }

// hexBytes writes the text at token i, which becomes a bytea, as DuckDB does: PostgreSQL's
// \x1f20 is \x1f\x20, in DuckDB it is the byte 1f and the text 20.
func (r *rewriter) hexBytes(i int) {
	text, is := strings.CutPrefix(r.tokens[i].Text(r.sql), `'\x`)
	digits := strings.TrimSuffix(text, "'")
	if _, err := hex.DecodeString(digits); !is || err != nil {
		return
	}
	var b strings.Builder
	for at := 0; at < len(digits); at += 2 {
		b.WriteString(`\x` + digits[at:at+2])
	}
	r.replace(i, i, "'"+b.String()+"'")
}

var numerics = set("numeric decimal dec")

var integers = set("int int2 int4 int8 integer smallint bigint")

// typeName writes the type at tokens from to last as DuckDB does.
func (r *rewriter) typeName(from, last int, name string) {
	text := r.tokens[last].Text(r.sql)
	if duck, known := typeNames[name]; known && (name != "char" || r.isKind(last, sqltree.QuotedIdent)) {
		text = duck
	}
	if text != r.sql[r.tokens[from].Start:r.tokens[last].End] {
		r.replace(from, last, text)
	}
}

// aliasMacro chooses the macro for a cast to an OID alias type: of a column, which
// holds an OID or a name, the name is wanted, unless it is compared to a text that
// is cast so, which becomes an OID, or cast to oid next; any other value is a text,
// unless its own text is asked for next, as in '16384'::regclass::text. The type ends with token typ.
func (r *rewriter) aliasMacro(a alias, from, last, typ int) string {
	next, _ := r.typeAt(typ + 2)
	switch {
	case r.isColumn(from, last) && r.comparedToAlias(typ+1):
		return a.text
	case r.isColumn(from, last) && next == "oid":
		return a.oid
	case r.isColumn(from, last):
		return a.name
	case !r.isSymbol(typ+1, "::"):
		return a.text
	case next == "oid":
		return a.oid
	case (next == "text" || next == "varchar") && r.isNumber(from, last):
		return a.name
	}
	return a.text
}

// comparedToAlias reports whether token i begins a comparison to a text that is
// cast to an OID alias type.
func (r *rewriter) comparedToAlias(i int) bool {
	first := i
	for r.isComparison(i) {
		i++
	}
	if i == first || !r.isKind(i, sqltree.String) || !r.isSymbol(i+1, "::") {
		return false
	}
	name, last := r.typeAt(i + 2)
	_, is := aliases[name]
	return is && !r.isSymbol(last+1, "[")
}

// isColumn reports whether tokens are a column: x, t.x or s.t.x. It looks from
// their end: where they hold a cast, one is near.
func (r *rewriter) isColumn(from, last int) bool {
	for ; last > from; last -= 2 {
		if r.nameAt(last) == "" || !r.isSymbol(last-1, ".") {
			return false
		}
	}
	return last == from && r.nameAt(from) != ""
}

// isNumber reports whether tokens are a number, be it in quotes.
func (r *rewriter) isNumber(from, last int) bool {
	if from != last {
		return false
	}
	text := strings.Trim(r.tokens[from].Text(r.sql), "'")
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// operand returns the first token of the value that ends with token i, before
// "::", or -1: a literal, a parameter, a name, a call, brackets, and casts of
// them. The casts before it have their operands.
func (r *rewriter) operand(i int) int {
	if i < 0 {
		return -1
	}
	for r.isSymbol(i, "]") { // a subscript, a list, or the type x[]
		open := r.partner[i]
		if open == 0 {
			return 0
		}
		if i = open - 1; r.isKind(i, sqltree.Symbol) && !r.isClosing(i) {
			return open
		}
	}
	if r.isClosing(i) {
		if i = r.partner[i]; r.nameAt(i-1) == "" || notCalled[r.keywordAt(i-1)] {
			return i
		}
		i--
	} else if r.isKind(i, sqltree.Symbol) {
		return -1
	}
	for r.isSymbol(i-1, ".") && r.nameAt(i-2) != "" && r.nameAt(i) != "" {
		i -= 2
	}
	switch {
	case r.isSymbol(i-1, "::"):
		return r.partner[i-1]
	case r.isSymbol(i-1, "."):
		return -1
	}
	return i
}

// notCalled are words before a bracket that are no functions.
var notCalled = set("select from where and or not in on when then else case any all some as by like ilike " +
	"union values " +
	"limit having using is between exists distinct returning")

// castCall rewrites CAST(x AS type), where token i is CAST.
func (r *rewriter) castCall(i int) int {
	end, as := r.partner[i+1], 0
	for j := i + 2; j < end; j++ {
		switch {
		case r.isOpening(j):
			j = r.partner[j]
		case r.keywordAt(j) == "as":
			as = j
		}
	}
	if as < i+3 || r.isSymbol(i-1, ".") {
		return i + 1
	}
	name, last := r.typeAt(as + 1)
	if a, is := aliases[name]; is && last+1 == end {
		r.replace(i, i+1, call(r.aliasMacro(a, i+2, as-1, end)))
		r.replace(as, last, blank(r.sql[r.tokens[as].Start:r.tokens[last].End]))
	} else if name != "" && last < end {
		if name == "bytea" && as == i+3 {
			r.hexBytes(i + 2)
		}
		r.typeName(as+1, last, name)
	}
	for j := as; j <= last; j++ {
		r.rewritten[j] = true
	}
	return i + 1
}

// arrayLiteral makes a text that is cast to an array, '{a,b}'::text[], or stands
// where one must, ANY('{a,b}'), a list.
func (r *rewriter) arrayLiteral(i int) {
	if !strings.HasPrefix(r.tokens[i].Text(r.sql), "'{") {
		return
	}
	if word := r.keywordAt(i - 2); r.isSymbol(i-1, "(") && r.isSymbol(i+1, ")") &&
		(word == "any" || word == "all" || word == "some") {
		r.wrap(i, i, "array")
		return
	}
	if !r.isSymbol(i+1, "::") {
		return
	}
	if _, last := r.typeAt(i + 2); r.nameAt(last) != "" && r.isSymbol(last+1, "[") {
		r.wrap(i, i, "array")
	}
}
