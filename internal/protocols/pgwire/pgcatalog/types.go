package pgcatalog

import (
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// pgType is a type of PostgreSQL's, as its pg_type.dat has it.
type pgType struct {
	oid, array int    // array is the OID of the type of its lists, or 0
	name       string // in pg_type
	sql        string // as format_type writes it
	length     int    // bytes, -1 if it varies
	category   string // see typcategory
	preferred  bool   // within its category
	duck       string // DuckDB's types that are shown as it, by commas
}

// The types of the database and those that clients ask for by name.
var types = []pgType{
	{16, 1000, "bool", "boolean", 1, "B", true, "BOOLEAN"},
	{17, 1001, "bytea", "bytea", -1, "U", false, "BLOB"},
	{18, 1002, "char", `"char"`, 1, "Z", false, ""},
	{19, 1003, "name", "name", 64, "S", false, ""},
	{20, 1016, "int8", "bigint", 8, "N", false, "BIGINT,UINTEGER"},
	{21, 1005, "int2", "smallint", 2, "N", false, "SMALLINT,TINYINT,UTINYINT"},
	{22, 1006, "int2vector", "int2vector", -1, "A", false, ""},
	{23, 1007, "int4", "integer", 4, "N", false, "INTEGER,USMALLINT,NULL"},
	{24, 1008, "regproc", "regproc", 4, "N", false, ""},
	{25, 1009, "text", "text", -1, "S", true, "VARCHAR,ENUM"},
	{26, 1028, "oid", "oid", 4, "N", true, ""},
	{30, 1013, "oidvector", "oidvector", -1, "A", false, ""},
	{114, 199, "json", "json", -1, "U", false, "JSON"},
	{700, 1021, "float4", "real", 4, "N", false, "FLOAT"},
	{701, 1022, "float8", "double precision", 8, "N", true, "DOUBLE"},
	{705, 0, "unknown", "unknown", -2, "X", false, ""},
	{1042, 1014, "bpchar", "character", -1, "S", false, ""},
	{1043, 1015, "varchar", "character varying", -1, "S", false, ""},
	{1082, 1182, "date", "date", 4, "D", false, "DATE"},
	{1083, 1183, "time", "time without time zone", 8, "D", false, "TIME,TIME_NS"},
	{
		1114, 1115, "timestamp", "timestamp without time zone", 8, "D",
		false, "TIMESTAMP,TIMESTAMP_S,TIMESTAMP_MS,TIMESTAMP_NS",
	},
	{1184, 1185, "timestamptz", "timestamp with time zone", 8, "D", true, "TIMESTAMP WITH TIME ZONE"},
	{1186, 1187, "interval", "interval", 16, "T", true, "INTERVAL"},
	{1266, 1270, "timetz", "time with time zone", 12, "D", false, "TIME WITH TIME ZONE"},
	{1560, 1561, "bit", "bit", -1, "V", false, ""},
	{1562, 1563, "varbit", "bit varying", -1, "V", true, "BIT"},
	{1700, 1231, "numeric", "numeric", -1, "N", false, "DECIMAL,HUGEINT,UHUGEINT,UBIGINT,BIGNUM"},
	{2205, 2210, "regclass", "regclass", 4, "N", false, "table"},
	{2206, 2211, "regtype", "regtype", 4, "N", false, ""},
	{2249, 2287, "record", "record", -1, "P", false, ""},
	{2275, 1263, "cstring", "cstring", -2, "P", false, ""},
	{2276, 0, "any", `"any"`, 4, "P", false, ""},
	{2277, 0, "anyarray", "anyarray", -1, "P", false, ""},
	{2278, 0, "void", "void", 4, "P", false, ""},
	{2279, 0, "trigger", "trigger", 4, "P", false, ""},
	{2283, 0, "anyelement", "anyelement", 4, "P", false, ""},
	{2950, 2951, "uuid", "uuid", 16, "U", false, "UUID"},
	{3802, 3807, "jsonb", "jsonb", -1, "U", false, ""},
	{3838, 0, "event_trigger", "event_trigger", 4, "P", false, ""},
}

// sqlMap is a MAP literal.
type sqlMap struct{ entries []string }

func (m *sqlMap) add(key string, value any) {
	m.entries = append(m.entries, fmt.Sprintf("%s: %v", key, value))
}

func (m *sqlMap) String() string { return "MAP {" + strings.Join(m.entries, ", ") + "}" }

// typeMacros return the OID of a DuckDB type and the name of the type of an OID.
// They are as package pgwire sends the values: a type that PostgreSQL has nothing
// like is json, as lists of lists are, and DuckDB makes a column of NULLs INTEGER.
func typeMacros() []macro {
	var oids, arrays, names, named, modified sqlMap
	names.add("0", "'-'")
	for _, t := range types {
		names.add(fmt.Sprint(t.oid), engine.Literal(t.sql))
		named.add(engine.Literal(t.name), engine.Literal(t.sql))
		if t.array != 0 {
			named.add(engine.Literal("_"+t.name), engine.Literal(t.sql+"[]"))
			names.add(fmt.Sprint(t.array), engine.Literal(t.sql+"[]"))
		}
		for duck := range strings.SplitSeq(t.duck, ",") {
			if duck == "" {
				continue
			}
			oids.add(engine.Literal(duck), t.oid)
			arrays.add(engine.Literal(duck), t.array)
		}
	}
	modified.add("1700", "'numeric('||((m-4)>>16)||','||((m-4)&65535)||')'")
	modified.add("1231", "'numeric('||((m-4)>>16)||','||((m-4)&65535)||')[]'")
	head := `regexp_extract(t, '^"?([A-Za-z_]+( WITH TIME ZONE)?)', 1)`
	const nested = `regexp_matches(t, '\]\[\d*\]$')`
	digits := func(group int) string {
		return fmt.Sprintf(`TRY_CAST(regexp_extract(t, '^DECIMAL\((\d+),(\d+)\)', %d) AS INTEGER)`, group)
	}
	return []macro{
		one("type_oid", "t", "CAST(coalesce(CASE WHEN "+nested+" THEN NULL WHEN suffix(t, ']') THEN "+arrays.String()+"["+
			head+"] ELSE "+oids.String()+"["+head+"] END, 114) AS BIGINT)"),
		one("type_modifier", "t", "CASE WHEN "+nested+" THEN -1 ELSE coalesce(("+digits(1)+" << 16) + "+digits(2)+
			" + 4, -1) END"),
		one("format_type", "o, m", "CASE WHEN o IS NULL THEN NULL WHEN m >= 4 AND o IN (1700, 1231) THEN "+modified.String()+
			"[o::BIGINT] ELSE coalesce("+names.String()+"[o::BIGINT], '???') END"),
		one("regtype_name", "o", "coalesce(spice.pgcatalog.compat_format_type("+numeral+", NULL), "+named.String()+"["+
			bare("o::VARCHAR")+"], o::VARCHAR)"),
	}
}

// joined are the types whose input and output functions have no underscore in their
// names: int4in, but date_in.
var joined = set("bool bytea char name int8 int2 int2vector int4 regproc text oid oidvector float4 float8 unknown " +
	"bpchar varchar regclass regtype")

// oneWay are pseudo-types that no one can send or receive.
var oneWay = set("any trigger anyelement event_trigger")

// typeTable keeps the rows of pg_type, which DuckDB would otherwise plan with each
// statement.
func typeTable() string {
	rows := make([]string, 0, 2*len(types))
	for _, t := range types {
		kind := "b"
		if t.category == "P" || t.category == "X" {
			kind = "p"
		}
		stem := t.name
		if !joined[t.name] {
			stem += "_"
		}
		rows = append(rows, fmt.Sprintf("(%d, %s, %d, '%s', '%s', %t, 0, %d, %s, %t)",
			t.oid, engine.Literal(t.name), t.length, kind, t.category, t.preferred, t.array, engine.Literal(stem),
			!oneWay[t.name]))
		if t.array != 0 {
			rows = append(rows, fmt.Sprintf("(%d, %s, -1, 'b', 'A', false, %d, 0, 'array_', true)", t.array,
				engine.Literal("_"+t.name), t.oid))
		}
	}
	return `CREATE TABLE spice.pgcatalog.all_types AS SELECT CAST(oid AS BIGINT) AS oid, typname, 11::BIGINT AS typnamespace, 10::BIGINT AS typowner,
		CAST(len AS SMALLINT) AS typlen, len IN (1, 2, 4, 8) AS typbyval, kind AS typtype, category AS typcategory,
		preferred AS typispreferred, true AS typisdefined, ',' AS typdelim, 0::BIGINT AS typrelid,
		CASE WHEN elem = 0 THEN '-' ELSE 'array_subscript_handler' END AS typsubscript,
		CAST(elem AS BIGINT) AS typelem, CAST(array_oid AS BIGINT) AS typarray, stem || 'in' AS typinput, stem || 'out' AS typoutput,
		CASE WHEN sent THEN stem || 'recv' ELSE '-' END AS typreceive, CASE WHEN sent THEN stem || 'send' ELSE '-' END AS typsend, '-' AS typmodin, '-' AS typmodout,
		'-' AS typanalyze, CASE len WHEN 1 THEN 'c' WHEN 2 THEN 's' WHEN 8 THEN 'd' ELSE 'i' END AS typalign,
		CASE WHEN len = -1 THEN 'x' ELSE 'p' END AS typstorage, false AS typnotnull, 0::BIGINT AS typbasetype, -1 AS typtypmod,
		0 AS typndims, CASE WHEN category = 'S' THEN 100 ELSE 0 END::BIGINT AS typcollation, NULL::VARCHAR AS typdefaultbin,
		NULL::VARCHAR AS typdefault, NULL::VARCHAR[] AS typacl, 1247::BIGINT AS tableoid, 0::BIGINT AS xmin
		FROM (VALUES ` + strings.Join(rows, ",\n") +
		`) AS t(oid, typname, len, kind, category, preferred, elem, array_oid, stem, sent)`
}

// typeView is pg_type.
var typeView = view{"pg_type", "FROM spice.pgcatalog.all_types"}

// one is a macro that is called in one way.
func one(name, params, body string) macro {
	return macro{name, []overload{{params, body}}}
}
