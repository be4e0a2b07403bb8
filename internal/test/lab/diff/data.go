package diff

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// kind groups the types that the grammar of expressions knows.
type kind int

const (
	boolean kind = iota
	integer
	double
	text
	date
	timestamp
	decimal
	list
	object
	opaque // any other type: values are only passed on
)

// sqlTypes are the types of the kinds, in DuckDB and in a Spicepod.
var sqlTypes = [...]struct{ sql, declared string }{
	boolean:   {"BOOLEAN", "boolean"},
	integer:   {"BIGINT", "int64"},
	double:    {"DOUBLE", "float64"},
	text:      {"VARCHAR", "utf8"},
	date:      {"DATE", "date32"},
	timestamp: {"TIMESTAMP", "timestamp(us)"},
	decimal:   {"DECIMAL(18,3)", "decimal(18,3)"},
	list:      {"BIGINT[]", "list<int64>"},
	object:    {`STRUCT(a BIGINT, b VARCHAR)`, "struct<a:int64, b:utf8>"},
}

// column is a column of a generated table, with some of the values that it has.
type column struct {
	name, typ string
	kind      kind
	values    []string // SQL expressions, which are cast to the type
}

// columns are the columns of each table. The names are those that bodies use for
// arguments, lambdas and columns, too.
var columns = []column{
	{"id", "INTEGER", integer, []string{"0", "1", "2", "3", "5", "8", "13", "150", "2147483647", "-2147483648"}},
	{"k", "BIGINT", integer, []string{"0", "1", "2", "7", "-1", "9223372036854775807", "-9223372036854775808"}},
	{"x", "DOUBLE", double, []string{"0", "1.5", "-2.25", "1e300", "5e-324", "'nan'", "'inf'", "'-inf'"}},
	{"s", "VARCHAR", text, []string{"''", "'a'", "'b'", "'é漢🦆'", "'it''s'", "'a text that is longer than twelve bytes'", "chr(0)", "' '"}},
	{"b", "BOOLEAN", boolean, []string{"true", "false"}},
	{"d", "DATE", date, []string{"'2024-02-29'", "'1970-01-01'", "'infinity'", "'-infinity'", "'5877642-06-25 (BC)'", "'5881580-07-10'"}},
	{"t", "TIMESTAMP", timestamp, []string{"'2024-02-29 13:14:15.123456'", "'1969-12-31 23:59:59.999999'", "'infinity'", "'290309-12-22 (BC) 00:00:00'"}},
	{"n", "DECIMAL(18,3)", decimal, []string{"0", "1.5", "-2.125", "999999999999999.999", "-999999999999999.999"}},
	{"l", "BIGINT[]", list, []string{"[]", "[1, 2, 3]", "[NULL]", "[5, NULL, -7]"}},
	{"o", "STRUCT(a BIGINT, b VARCHAR)", object, []string{"{'a': 1, 'b': 'x'}", "{'a': NULL, 'b': NULL}", "{'a': 7, 'b': ''}"}},
}

// others are further columns, of the types that Parquet files do not have as well.
var others = []column{
	{"c1", "TINYINT", opaque, []string{"127", "-128", "0"}},
	{"c2", "UTINYINT", opaque, []string{"255", "0"}},
	{"c3", "SMALLINT", opaque, []string{"32767", "-32768"}},
	{"c4", "USMALLINT", opaque, []string{"65535", "1"}},
	{"c5", "UINTEGER", opaque, []string{"4294967295", "0"}},
	{"c6", "UBIGINT", opaque, []string{"18446744073709551615", "9223372036854775808"}},
	{"c7", "HUGEINT", opaque, []string{"170141183460469231731687303715884105727", "-170141183460469231731687303715884105728", "0"}},
	{"c8", "UHUGEINT", opaque, []string{"340282366920938463463374607431768211455", "0"}},
	{"c9", "FLOAT", opaque, []string{"1.5", "3.4028235e38", "'nan'", "'-inf'"}},
	{"c10", "DECIMAL(38,10)", opaque, []string{"'9999999999999999999999999999.9999999999'", "-0.0000000001"}},
	{"c11", "DECIMAL(4,1)", opaque, []string{"999.9", "-0.1"}},
	{"c12", "BLOB", opaque, []string{`'\x00\xFF'`, "''", "'bytes, and more than twelve of them'"}},
	{"c13", "BIT", opaque, []string{"'1'", "'010101010'"}},
	{"c14", "UUID", opaque, []string{"'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"}},
	{"c15", "TIME", opaque, []string{"'00:00:00'", "'23:59:59.999999'", "'24:00:00'"}},
	{"c16", "TIMETZ", opaque, []string{"'12:00:00+15:59'", "'00:00:00-15:59'"}},
	{"c17", "TIMESTAMP_S", opaque, []string{"'2024-02-29 13:14:15'", "'infinity'"}},
	{"c18", "TIMESTAMP_MS", opaque, []string{"'2024-02-29 13:14:15.123'", "'-infinity'"}},
	{"c19", "TIMESTAMP_NS", opaque, []string{"'2024-02-29 13:14:15.123456789'", "'1970-01-01'"}},
	{"c20", "TIMESTAMPTZ", opaque, []string{"'2024-02-29 13:14:15+00'", "'infinity'"}},
	{"c21", "INTERVAL", opaque, []string{"INTERVAL '1 month 2 days 3.5 seconds'", "INTERVAL '-40 years'", "INTERVAL '0 days'"}},
	{"c22", "JSON", opaque, []string{`'{"a": [1, null, 2.50]}'`, "'null'", "'[]'"}},
	{"c23", "ENUM('a', 'é', '')", opaque, []string{"'a'", "'é'", "''"}},
	{"c24", "VARCHAR[]", opaque, []string{"['a', NULL, 'a text that is longer than twelve bytes']", "[]"}},
	{"c25", "INTEGER[3]", opaque, []string{"[1, NULL, 3]", "[0, 0, 0]"}},
	{"c26", "MAP(VARCHAR, DECIMAL(9,2))", opaque, []string{"MAP {'a': 1.5, 'b': NULL}", "MAP {}"}},
	{"c27", "UNION(num BIGINT, str VARCHAR)", opaque, []string{"union_value(num := 5)", "union_value(str := 'five')"}},
	{"c28", "STRUCT(i HUGEINT, l DATE[])[]", opaque, []string{"[{'i': 5, 'l': [DATE '2024-02-29', NULL]}, NULL]", "[]"}},
	{"c29", "TIME_NS", opaque, []string{"'23:59:59.123456789'"}},
}

// table is a table that statements read.
type table struct {
	name    string
	columns []column
	rows    int
	// how it is declared: the connector, and the keys of the dataset
	file, keys string
}

// The tables: one that statements write, one of another file, one that is accelerated
// and refreshed, one that is read from a Parquet file, and one without rows.
var tables = []table{
	{"w", append(columns[:len(columns):len(columns)], others...), 40, "w.duckdb", "access: read_write"},
	{"e", columns, 0, "w.duckdb", "access: read_write"},
	{"r", append(columns[:len(columns):len(columns)], others...), 60, "r.duckdb", ""},
	{"m", columns, 60, "m.parquet", "acceleration: { enabled: true }"},
	{"p", columns, 30, "p.parquet", ""},
}

// view is a view that statements read as if it were a table.
type view struct {
	name string
	sql  expr
	keys string // of its declaration
}

// The views: over tables that are written and refreshed, and one that is accelerated.
var views = []view{
	{"vw", same("SELECT " + columnNames() + " FROM w WHERE k IS NULL OR k % 3 <> 1"), ""},
	{"vm", expr{
		"SELECT id, k, half(x) AS x, echo(s) AS s, b, d, t, n, l, o FROM m WHERE NOT unknown(s)",
		"SELECT id, k, CAST(x * 0.5 AS DOUBLE) AS x, s || '/' || s AS s, b, d, t, n, l, o FROM m WHERE NOT (s IS NULL OR s = '')",
	}, ""},
	{"va", same("SELECT " + columnNames() + " FROM r WHERE id IS NOT NULL"), "acceleration: { enabled: true }"},
}

func columnNames() string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	return strings.Join(names, ", ")
}

// sources are what statements read: tables and views.
func sources() []table {
	all := tables[:len(tables):len(tables)]
	for _, v := range views {
		all = append(all, table{name: v.name, columns: columns})
	}
	return all
}

// parquet reports whether the table is a Parquet file.
func (t table) parquet() bool { return strings.HasSuffix(t.file, ".parquet") }

// create is the statement that makes the table in the schema.
func (t table) create(schema string) string {
	var defs []string
	for _, c := range t.columns {
		defs = append(defs, c.name+" "+c.typ)
	}
	return fmt.Sprintf("CREATE TABLE %s%s (%s)", schema, t.name, strings.Join(defs, ", "))
}

// row is a row of the table, as a list of expressions.
func (t table) row(r *rand.Rand) string {
	var values []string
	for _, c := range t.columns {
		values = append(values, c.value(r))
	}
	return "(" + strings.Join(values, ", ") + ")"
}

// insert is the statement that adds n rows, some of them twice.
func (t table) insert(r *rand.Rand, schema string, n int) string {
	var rows []string
	for range n {
		row := t.row(r)
		rows = append(rows, row)
		if r.IntN(6) == 0 {
			rows = append(rows, row)
		}
	}
	return fmt.Sprintf("INSERT INTO %s%s VALUES %s", schema, t.name, strings.Join(rows, ", "))
}

// value is a value of the column, often NULL.
func (c column) value(r *rand.Rand) string {
	if r.IntN(5) == 0 {
		return "NULL"
	}
	if c.kind == integer && r.IntN(2) == 0 {
		return fmt.Sprint(r.IntN(100))
	}
	return fmt.Sprintf("CAST(%s AS %s)", pick(r, c.values), c.typ)
}

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }
