package functions

import (
	"strings"
	"testing"
)

// library declares one function for each property a call must have.
const library = `
- name: haversine_km
  from: sql
  volatility: immutable
  signature:
    args: [{ name: lat1, type: float64 }, { name: lon1, type: float64 }, { name: lat2, type: float64 }, { name: lon2, type: float64 }]
    returns: float64
  body: |
    6371 * acos(
      cos(radians(lat1)) * cos(radians(lat2)) * cos(radians(lon2) - radians(lon1))
      + sin(radians(lat1)) * sin(radians(lat2)))
- name: internal_hash
  from: sql
  as_tool: false
  signature: { args: [{ name: x, type: int64 }], returns: int64 }
  body: "x * 2654435761"
- { name: minus, from: sql, signature: { args: [{ name: x, type: float64 }], returns: float64 }, body: x - x }
- { name: calls_minus, from: sql, signature: { args: [{ name: x, type: float64 }], returns: float64 }, body: minus(x) }
- { name: half, from: sql, signature: { args: [{ name: x, type: float64 }], returns: float64 }, body: x * 0.5 }
- { name: noise, from: sql, signature: { args: [], returns: float64 }, body: minus(random()) }
- { name: spent, from: sql, signature: { args: [{ name: c, type: int64 }], returns: int64 }, body: "(SELECT sum(amount) FROM orders WHERE customer = c)" }
- { name: spent_twice, from: sql, signature: { args: [{ name: c, type: int64 }], returns: int64 }, body: spent(c) + spent(c) }
- { name: is_null, from: sql, signature: { args: [{ name: v, type: utf8 }], returns: boolean }, body: v IS NULL }
- { name: split_full_name, from: sql, signature: { args: [{ name: full_name, type: utf8 }], returns: 'struct<first:utf8, last:utf8>' },
    body: "named_struct('first', split_part(full_name, ' ', 1), 'last', split_part(full_name, ' ', 2))" }
- { name: total_quantity, from: sql, signature: { args: [{ name: q, type: list<int64> }], returns: int64 }, body: array_sum(q) }
- { name: add_all, from: sql, signature: { args: [{ name: l, type: list<int64> }, { name: n, type: int64 }], returns: list<int64> }, body: "list_transform(l, lambda e: e + n)" }
- { name: shout, from: sql, signature: { args: [{ name: s, type: utf8 }], returns: utf8 }, body: "upper(s) -- loud" }
- { name: day_of, from: sql, signature: { args: [{ name: d, type: date32 }], returns: date32 }, body: d }
- { name: small, from: sql, signature: { args: [{ name: x, type: int8 }], returns: int64 }, body: x }
- { name: 'User_Fn', from: sql, signature: { args: [], returns: int64 }, body: "41 + 1;" }
- name: emit_pair
  from: sql
  kind: table
  signature: { args: [{ name: n, type: int64 }], returns: [{ name: value, type: int64 }, { name: doubled, type: int64 }] }
  body: |
    SELECT n AS value, n * 2 AS doubled FROM args
    UNION ALL
    SELECT n + 1, (n + 1) * 2 FROM args
- name: scale_values
  from: sql
  kind: table
  signature:
    tables: [{ name: numbers, columns: [{ name: value, type: int64 }] }]
    args: [{ name: factor, type: int64 }]
    returns: [{ name: scaled, type: int64 }]
  body: SELECT value * (SELECT factor FROM args) AS scaled FROM numbers
- name: pair_up
  from: sql
  kind: table
  signature:
    tables: [{ name: a, columns: [{ name: value, type: int64 }] }, { name: b, columns: [{ name: value, type: int64 }] }]
    returns: [{ name: x, type: int64 }, { name: y, type: int64 }]
  body: SELECT (SELECT sum(value) FROM a) AS x, (SELECT sum(value) FROM b) AS y
- name: scaled_orders
  from: sql
  kind: table
  signature: { args: [{ name: f, type: int64 }], returns: [{ name: s, type: int64 }] }
  body: |
    WITH o AS (SELECT id AS value FROM orders WHERE id < 2)
    SELECT scaled AS s FROM scale_values(o, (SELECT max(f) FROM args)) UNION ALL SELECT internal_hash(1) UNION ALL FROM scale_values(numbers, 1)
`

func TestCallsBehaveAsBuiltIns(t *testing.T) {
	db := open(t)
	_, problems := publish(t, db, load(t, library), nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, tt := range []struct {
		name, sql string
		params    []any
		want      string // a result, or "!" and part of an error
	}{
		{"seed example", "SELECT round(haversine_km(37.7749, -122.4194, 40.7128, -74.0060), 3)", nil, "4129.086"},
		{"identical points", "SELECT round(max(haversine_km(i, i, i, i)), 2) FROM (SELECT (random() * 90)::DOUBLE AS i FROM range(100000))", nil, "0"},
		{"integer hash", "SELECT internal_hash(3)", nil, "7963307283"},
		{"overflow is an error", "SELECT internal_hash(9223372036854775807)", nil, "!Overflow"},
		{"string literal", "SELECT half('3')", nil, "1.5"},
		{"invalid string literal", "SELECT half('x')", nil, "!Could not convert string 'x' to DOUBLE"},
		{"parameter", "SELECT half($1)", []any{"7"}, "3.5"},
		{"repeated parameter", "SELECT minus($1)", []any{int64(7)}, "0"},
		{"named argument", "SELECT half(x := 3), half(x => 4)", nil, "1.5 2"},
		{"wrong name", "SELECT half(y := 3)", nil, `!there is no argument named "y"`},
		{"too few", "SELECT half()", nil, "!half(x float64) → float64: expected 1 argument, got 0"},
		{"too many", "SELECT half(1, 2)", nil, "!expected 1 argument, got 2"},
		{"lossy", "SELECT internal_hash(1.5)", nil, "!internal_hash(x int64) → int64 does not take these arguments"},
		{"date literal", "SELECT day_of('2024-02-29') = DATE '2024-02-29'", nil, "true"},
		{"exact type", "SELECT typeof(small(3)), typeof(half(1)), typeof(spent(1)), typeof(day_of(DATE '2020-01-01'))", nil, "BIGINT DOUBLE BIGINT DATE"},
		{"random once", "SELECT count(*) FILTER (minus(random()) <> 0) FROM range(10000)", nil, "0"},
		{"random once through a callee", "SELECT count(*) FILTER (calls_minus(random()) <> 0) FROM range(10000)", nil, "0"},
		{"random once inside a body", "SELECT count(*) FILTER (noise() <> 0) FROM range(10000)", nil, "0"},
		{"random differs by row", "SELECT count(DISTINCT half(random())) > 9000 FROM range(10000)", nil, "true"},
		{"random for a subquery", "SELECT spent((random() * 2)::BIGINT) FROM range(3)", nil, "!its body has a subquery"},
		{"lambda parameter", "SELECT add_all([1, 2], (random() * 0)::BIGINT)::VARCHAR", nil, "[1, 2]"},
		{"null reaches the body", "SELECT is_null(NULL), is_null('')", nil, "true false"},
		{"subquery", "SELECT customer, spent(customer) FROM orders GROUP BY ALL ORDER BY ALL", nil, "0 90; 1 120; 2 150"},
		{"subquery, same column name", "SELECT c, spent(c) FROM (SELECT 1 AS c, 2 AS customer, 3 AS amount)", nil, "1 120"},
		{"subquery twice", "SELECT spent_twice(spent_twice(1) - 240 + 1)", nil, "240"},
		{"subquery in an aggregate", "SELECT sum(spent(customer))::BIGINT FROM orders", nil, "1080"},
		{"CTE is not captured", "WITH orders AS (SELECT 1 AS customer, 5 AS amount) SELECT spent(1) FROM orders", nil, "120"},
		{"columns are not captured", "SELECT max(minus(x)) FROM (SELECT 3 AS x, 4 AS lat1)", nil, "0"},
		{"struct", "SELECT split_full_name('Ada Lovelace').last, typeof(split_full_name('a b'))", nil, `Lovelace STRUCT("first" VARCHAR, "last" VARCHAR)`},
		{"list", "SELECT total_quantity([1, 2, 3])", nil, "6"},
		{"trailing comment", "SELECT shout('hello world')", nil, "HELLO WORLD"},
		{"quoted name", `SELECT "User_Fn"(), user_fn(), public.user_fn(), spice.public."USER_FN"()`, nil, "42 42 42 42"},
		{"chained", "SELECT (3.0::DOUBLE).half()", nil, "1.5"},
		{"table function", "SELECT value, doubled FROM emit_pair(4) ORDER BY value", nil, "4 8; 5 10"},
		{"table function, named", "FROM emit_pair(n => 4) LIMIT 1", nil, "4 8"},
		{"table function of a parameter", "FROM emit_pair($1) LIMIT 1", []any{int64(7)}, "7 14"},
		{"table argument", "FROM scale_values(numbers, 3)", nil, "3; 6; 9; 12"},
		{"table argument as text", "FROM scale_values('numbers', 3) LIMIT 1", nil, "3"},
		{"table argument as a subquery", "FROM scale_values((SELECT value FROM numbers WHERE value > 3), 3)", nil, "12"},
		{"table argument as a CTE", "WITH numbers AS (SELECT 7 AS value) FROM scale_values(numbers, 3)", nil, "21"},
		{"table arguments that have each other's names", "WITH a AS (SELECT 1 AS value), b AS (SELECT 2 AS value) FROM pair_up(b, a)", nil, "2 1"},
		{
			"missing column", "FROM scale_values(orders, 3)", nil,
			`!the table given for "numbers" of scale_values(numbers table(value int64), factor int64) → table(scaled int64) has no column "value"`,
		},
		{"missing column of the second table", "FROM pair_up((SELECT 1 AS value), (SELECT 1 AS other))", nil, `!the table given for "b" of pair_up(`},
		{"lateral", "SELECT sum(p.doubled)::BIGINT FROM numbers, emit_pair(numbers.value) p", nil, "48"},
		{"in a body", "FROM scaled_orders(5)", nil, "0; 5; 2654435761; 1; 2; 3; 4"},
		{"internal schema", "SELECT spice.core.spent(1)", nil, "!internal"},
		{"not a table function", "FROM half(1)", nil, "!scalar function"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := query(t, db, tt.sql, tt.params...)
			if want, ok := strings.CutPrefix(tt.want, "!"); ok {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s\n got %q, error %v\nwant error %q", tt.sql, got, err, want)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("%s\n got %q, error %v\nwant %q", tt.sql, got, err, tt.want)
			}
		})
	}
}
