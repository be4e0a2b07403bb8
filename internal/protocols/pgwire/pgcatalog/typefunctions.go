package pgcatalog

import (
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// typeFunctionOIDs are the input and output functions of the types, with the OIDs of
// PostgreSQL's pg_proc.dat. Drivers join pg_proc to pg_type by them: a type whose
// typreceive is array_recv is an array.
const typeFunctionOIDs = "" +
	"any_in 2294 any_out 2295 anyarray_in 2296 anyarray_out 2297 anyarray_recv 2502 anyarray_send 2503 " +
	"anyelement_in 2312 " +
	"anyelement_out 2313 array_in 750 array_out 751 array_recv 2400 array_send 2401 array_subscript_handler " +
	"6179 bit_in 1564 " +
	"bit_out 1565 bit_recv 2456 bit_send 2457 boolin 1242 boolout 1243 boolrecv 2436 boolsend 2437 bpcharin " +
	"1044 bpcharout 1045 " +
	"bpcharrecv 2430 bpcharsend 2431 byteain 1244 byteaout 31 bytearecv 2412 byteasend 2413 charin 1245 charout " +
	"33 charrecv 2434 " +
	"charsend 2435 cstring_in 2292 cstring_out 2293 cstring_recv 2500 cstring_send 2501 date_in 1084 date_out " +
	"1085 date_recv 2468 " +
	"date_send 2469 event_trigger_in 3594 event_trigger_out 3595 float4in 200 float4out 201 float4recv 2424 " +
	"float4send 2425 " +
	"float8in 214 float8out 215 float8recv 2426 float8send 2427 int2in 38 int2out 39 int2recv 2404 int2send " +
	"2405 int2vectorin 40 " +
	"int2vectorout 41 int2vectorrecv 2410 int2vectorsend 2411 int4in 42 int4out 43 int4recv 2406 int4send " +
	"2407 int8in 460 " +
	"int8out 461 int8recv 2408 int8send 2409 interval_in 1160 interval_out 1161 interval_recv 2478 interval_send " +
	"2479 json_in 321 " +
	"json_out 322 json_recv 323 json_send 324 jsonb_in 3806 jsonb_out 3804 jsonb_recv 3805 jsonb_send 3803 namein " +
	"34 nameout 35 " +
	"namerecv 2422 namesend 2423 numeric_in 1701 numeric_out 1702 numeric_recv 2460 numeric_send 2461 oidin " +
	"1798 oidout 1799 " +
	"oidrecv 2418 oidsend 2419 oidvectorin 54 oidvectorout 55 oidvectorrecv 2420 oidvectorsend 2421 record_in " +
	"2290 record_out 2291 " +
	"record_recv 2402 record_send 2403 regclassin 2218 regclassout 2219 regclassrecv 2452 regclasssend 2453 " +
	"regprocin 44 " +
	"regprocout 45 regprocrecv 2444 regprocsend 2445 regtypein 2220 regtypeout 2221 regtyperecv 2454 regtypesend " +
	"2455 textin 46 " +
	"textout 47 textrecv 2414 textsend 2415 time_in 1143 time_out 1144 time_recv 2470 time_send 2471 timestamp_in 1312 " +
	"timestamp_out 1313 timestamp_recv 2474 timestamp_send 2475 timestamptz_in 1150 timestamptz_out " +
	"1151 timestamptz_recv 2476 " +
	"timestamptz_send 2477 timetz_in 1350 timetz_out 1351 timetz_recv 2472 timetz_send 2473 trigger_in 2300 " +
	"trigger_out 2301 " +
	"unknownin 109 unknownout 110 unknownrecv 2416 unknownsend 2417 uuid_in 2952 uuid_out 2953 uuid_recv 2961 " +
	"uuid_send 2962 " +
	"varbit_in 1579 varbit_out 1580 varbit_recv 2458 varbit_send 2459 varcharin 1046 varcharout 1047 varcharrecv 2432 " +
	"varcharsend 2433 void_in 2298 void_out 2299 void_recv 3120 void_send 3121"

// typeFunctions keeps the rows of pg_proc for the functions of types. in takes a cstring
// (2275), recv an internal (2281), out and send the type; send returns a bytea (17).
func typeFunctions() string {
	words := strings.Fields(typeFunctionOIDs)
	rows := make([]string, 0, len(words)/2)
	for i := 0; i < len(words); i += 2 {
		rows = append(rows, fmt.Sprintf("(%s, %s)", engine.Literal(words[i]), words[i+1]))
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
