package pgcatalog

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// typeFunctionOIDs are the input and output functions of the types, with the OIDs of
// PostgreSQL's pg_proc.dat. Drivers join pg_proc to pg_type by them: a type whose
// typreceive is array_recv is an array.
//
//go:embed typefunctions.txt
var typeFunctionOIDs string

// typeFunctions keeps the rows of pg_proc for the functions of types. in takes a cstring
// (2275), recv an internal (2281), out and send the type; send returns a bytea (17).
func typeFunctions() string {
	var rows []string
	for line := range strings.Lines(typeFunctionOIDs) {
		name, oid, _ := strings.Cut(strings.TrimSpace(line), " ")
		rows = append(rows, fmt.Sprintf("(%s, %s)", engine.Literal(name), oid))
	}
	return `CREATE TABLE spice.pgcatalog.type_functions AS SELECT f.name, f.oid::BIGINT AS oid,
		CASE verb WHEN 'out' THEN 2275 WHEN 'send' THEN 17 WHEN 'handler' THEN 2281 ELSE type_oid END::BIGINT AS result,
		CASE verb WHEN 'in' THEN 2275 WHEN 'recv' THEN 2281 WHEN 'handler' THEN 2281 ELSE type_oid END::BIGINT AS argument
		FROM (SELECT *, regexp_extract(name, '(in|out|recv|send|handler)$') AS verb FROM (VALUES ` +
		strings.Join(rows, ", ") + `) AS v(name, oid)) AS f
		LEFT JOIN (SELECT typname, oid AS type_oid FROM spice.pgcatalog.all_types) AS t
			ON t.typname = CASE WHEN f.name LIKE 'array%' THEN 'anyarray' ELSE regexp_replace(f.name, '_?(in|out|recv|send)$', '') END`
}

// procedures are the columns of type regproc: names here, as clients see them.
var procedures = set("typinput typoutput typreceive typsend typmodin typmodout typanalyze typsubscript amhandler " +
	"aggtransfn aggfinalfn aggcombinefn oprcode oprrest oprjoin")

// procedure makes a column of regproc, whose name is token i, an OID where it is compared
// with one: with anything that is neither a text nor another such column.
func (r *rewriter) procedure(i int) {
	from := i
	for r.isSymbol(from-1, ".") && r.nameAt(from-2) != "" {
		from -= 2
	}
	right, left := i+1, from-1
	for r.isComparison(right) {
		right++
	}
	for r.isComparison(left) {
		left--
	}
	switch {
	case right > i+1:
		if end, ok := r.operandEnd(right); !ok || r.namesProcedure(right, end) {
			return
		}
	case left < from-1:
		if r.namesProcedure(left, left) {
			return
		}
	default:
		return
	}
	if !r.isSymbol(i+1, "::") {
		r.wrap(from, i, "to_regproc")
	}
}

// isComparison reports whether token i is a character of an operator that compares.
func (r *rewriter) isComparison(i int) bool {
	return r.isKind(i, sqltree.Symbol) && strings.Contains("=!<>", r.tokens[i].Text(r.sql))
}

// namesProcedure reports whether the operand of tokens from to last, or the one that ends
// with them, is a text or the name of a procedure.
func (r *rewriter) namesProcedure(from, last int) bool {
	switch name := r.nameAt(last); {
	case r.isSymbol(last-1, "::"):
		return name != "oid" && !integers[name]
	case r.isKind(from, sqltree.String):
		return true
	default:
		return procedures[name] || r.keywordAt(from) == "cast"
	}
}
