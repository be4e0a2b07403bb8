package pgcatalog

import (
	"encoding/hex"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// typeAt reads the name of a type at token i: folded, without schema, and its
// last token. The name is "" without one.
func (r *rewriter) typeAt(i int) (name string, last int) {
	if s := r.name(i); (s == "pg_catalog" || s == "information_schema") && r.is(i+1, ".") {
		i += 2
	}
	return r.name(i), i
}

// cast rewrites x::type, where token i is the "::".
func (r *rewriter) cast(i int) int {
	from := r.operand(i - 1)
	r.other[i] = from
	name, last := r.typeAt(i + 1)
	if name == "" {
		return i + 1
	}
	if a, is := aliases[name]; is && from >= 0 && !r.is(last+1, "[") {
		r.enclose(from, last, r.aliasOf(a, from, i-1, last))
		r.replace(i, last, ")")
		if r.column(from, i-1) {
			r.title(from, last, r.name(i-1))
		}
		return last + 1
	}
	if name == "regtype" && from >= 0 && r.is(last+1, "[") && r.is(last+2, "]") {
		macro := "regtype_names"
		if from == i-1 && r.kind(from, sqltree.String) { // '{int,text}' is OIDs
			macro = "to_regtypes"
		}
		r.enclose(from, last+2, macro)
		r.replace(i, last+2, ")")
		return last + 3
	}
	if name == "oid" && procedures[r.name(i-1)] && r.catalog {
		r.wrap(from, i-1, "to_regproc") // the column holds a name
	}
	if numerics[name] && from == i-1 && strings.EqualFold(r.tokens[from].Text(r.sql), "'NaN'") && !r.is(last+1, "(") &&
		!r.is(last+1, "[") {
		r.replace(i+1, last, "DOUBLE") // a DECIMAL has no NaN
		return last + 1
	}
	if name == "bytea" && from == i-1 {
		r.hexBytes(from)
	}
	r.typeName(i+1, last, name)
	if r.catalog && integers[name] && r.is(last+1, "/") && r.kind(last+2, sqltree.Number) {
		r.insert(r.tokens[last+1].End, "/") // PostgreSQL divides integers without a rest
	}
	return last + 1
}

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
	if duck, known := typeNames[name]; known && (name != "char" || r.kind(last, sqltree.QuotedIdent)) {
		text = duck
	}
	if text != r.sql[r.tokens[from].Start:r.tokens[last].End] {
		r.replace(from, last, text)
	}
}

// aliasOf chooses the macro for a cast to an OID alias type: of a column, which
// holds an OID or a name, the name is wanted, unless it is compared to a text that
// is cast so, which becomes an OID, or cast to oid next; any other value is a text,
// unless its own text is asked for next, as in '16384'::regclass::text. The type ends with token typ.
func (r *rewriter) aliasOf(a alias, from, last, typ int) string {
	next, _ := r.typeAt(typ + 2)
	switch {
	case r.column(from, last) && r.comparedToAlias(typ+1):
		return a.text
	case r.column(from, last) && next == "oid":
		return a.oid
	case r.column(from, last):
		return a.name
	case !r.is(typ+1, "::"):
		return a.text
	case next == "oid":
		return a.oid
	case (next == "text" || next == "varchar") && r.numeral(from, last):
		return a.name
	}
	return a.text
}

// comparedToAlias reports whether token i begins a comparison to a text that is
// cast to an OID alias type.
func (r *rewriter) comparedToAlias(i int) bool {
	first := i
	for r.is(i, "=") || r.is(i, "!") || r.is(i, "<") || r.is(i, ">") {
		i++
	}
	if i == first || !r.kind(i, sqltree.String) || !r.is(i+1, "::") {
		return false
	}
	name, last := r.typeAt(i + 2)
	_, is := aliases[name]
	return is && !r.is(last+1, "[")
}

// column reports whether tokens are a column: x, t.x or s.t.x. It looks from
// their end: where they hold a cast, one is near.
func (r *rewriter) column(from, last int) bool {
	for ; last > from; last -= 2 {
		if r.name(last) == "" || !r.is(last-1, ".") {
			return false
		}
	}
	return last == from && r.name(from) != ""
}

// numeral reports whether tokens are a number, be it in quotes.
func (r *rewriter) numeral(from, last int) bool {
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
	for r.is(i, "]") { // a subscript, a list, or the type x[]
		open := r.other[i]
		if open == 0 {
			return 0
		}
		if i = open - 1; r.kind(i, sqltree.Symbol) && !r.closes(i) {
			return open
		}
	}
	if r.closes(i) {
		if i = r.other[i]; r.name(i-1) == "" || notCalled[r.word(i-1)] {
			return i
		}
		i--
	} else if r.kind(i, sqltree.Symbol) {
		return -1
	}
	for r.is(i-1, ".") && r.name(i-2) != "" && r.name(i) != "" {
		i -= 2
	}
	switch {
	case r.is(i-1, "::"):
		return r.other[i-1]
	case r.is(i-1, "."):
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
	end, as := r.other[i+1], 0
	for j := i + 2; j < end; j++ {
		switch {
		case r.opens(j):
			j = r.other[j]
		case r.word(j) == "as":
			as = j
		}
	}
	if as < i+3 || r.is(i-1, ".") {
		return i + 1
	}
	name, last := r.typeAt(as + 1)
	if a, is := aliases[name]; is && last+1 == end {
		r.replace(i, i+1, call(r.aliasOf(a, i+2, as-1, end)))
		r.replace(as, last, blank(r.sql[r.tokens[as].Start:r.tokens[last].End]))
	} else if name != "" && last < end {
		if name == "bytea" && as == i+3 {
			r.hexBytes(i + 2)
		}
		r.typeName(as+1, last, name)
	}
	for j := as; j <= last; j++ {
		r.done[j] = true
	}
	return i + 1
}

// arrayLiteral makes a text that is cast to an array, '{a,b}'::text[], or stands
// where one must, ANY('{a,b}'), a list.
func (r *rewriter) arrayLiteral(i int) {
	if !strings.HasPrefix(r.tokens[i].Text(r.sql), "'{") {
		return
	}
	if word := r.word(i - 2); r.is(i-1, "(") && r.is(i+1, ")") && (word == "any" || word == "all" || word == "some") {
		r.wrap(i, i, "array")
		return
	}
	if !r.is(i+1, "::") {
		return
	}
	if _, last := r.typeAt(i + 2); r.name(last) != "" && r.is(last+1, "[") {
		r.wrap(i, i, "array")
	}
}
