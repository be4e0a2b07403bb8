package datasets

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/exttest"
	"github.com/spiced-sql/spiced/internal/test/pgtest"
)

// TestPostgresTypes compares values of every type with PostgreSQL's own text of them, and
// conditions on them with those on a copy.
func TestPostgresTypes(t *testing.T) {
	t.Setenv("PASS", pgtest.Password)
	w := newWorld(t, exttest.Find(t, "postgres_scanner"))
	s := pgtest.Start(t)
	s.Exec("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')", "CREATE DOMAIN positive AS int CHECK (VALUE > 0)", "CREATE TYPE pair AS (a int, b text)")
	for i, c := range []struct {
		declared, duckdb string
		values           []string
		differ           map[string]string // DuckDB's text, where it is not PostgreSQL's
	}{
		{"boolean", "BOOLEAN", []string{"true", "false"}, nil},
		{"smallint", "SMALLINT", []string{"-32768", "32767"}, nil},
		{"integer", "INTEGER", []string{"-2147483648", "2147483647"}, nil},
		{"bigint", "BIGINT", []string{"-9223372036854775808", "9223372036854775807"}, nil},
		{"numeric(10,2)", "DECIMAL(10,2)", []string{"-99999999.99", "0.01", "0"}, nil},
		{"numeric(38,0)", "DECIMAL(38,0)", []string{"99999999999999999999999999999999999999"}, nil},
		{"real", "FLOAT", []string{"1.5", "-3.4028235e+38"}, nil},
		{"double precision", "DOUBLE", []string{"1.5", "1e300", "-2.2250738585072014e-308"}, nil},
		{"text", "VARCHAR", []string{"", "Grüße ☃ 你好", "a\nb\t\"'\\", strings.Repeat("x", 100000)}, nil},
		{"varchar(10)", "VARCHAR", []string{"abc"}, nil},
		{"char(5)", "VARCHAR", []string{"abc"}, nil},
		{"bytea", "BLOB", []string{`\x00ff10`, `\x`}, map[string]string{`\x00ff10`: `\x00\xFF\x10`, `\x`: ""}},
		{"date", "DATE", []string{"2026-02-28", "0001-01-01", "4713-01-01 BC", "5874897-12-31", "infinity"}, map[string]string{"4713-01-01 BC": "4713-01-01 (BC)"}},
		{"time", "TIME", []string{"00:00:00", "23:59:59.999999"}, nil},
		{"timestamp", "TIMESTAMP", []string{"2026-02-28 12:34:56.789012", "0001-01-01 00:00:00", "infinity", "-infinity"}, nil},
		{"timestamptz", "TIMESTAMP WITH TIME ZONE", []string{"2026-02-28 12:34:56.789012+00", "1970-01-01 00:00:00+00"}, nil},
		{
			"interval", "INTERVAL",
			[]string{"1 year 2 mons 3 days 04:05:06.7"},
			map[string]string{"1 year 2 mons 3 days 04:05:06.7": "1 year 2 months 3 days 04:05:06.7"},
		},
		{"uuid", "UUID", []string{"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}, nil},
		{"json", "VARCHAR", []string{`{"a": [1, null]}`}, nil},
		{"jsonb", "VARCHAR", []string{`{"a":[1,null]}`, "null", "1"}, nil},
		{"mood", "VARCHAR", []string{"happy", "sad", "ok"}, nil},
		{"positive", "VARCHAR", []string{"7", "10"}, nil},
		{"integer[]", "INTEGER[]", []string{"{1,2,NULL}", "{}"}, map[string]string{"{1,2,NULL}": "[1, 2, NULL]", "{}": "[]"}},
		{"text[]", "VARCHAR[]", []string{`{a,"b c",NULL}`}, map[string]string{`{a,"b c",NULL}`: "[a, b c, NULL]"}},
		{"inet", "VARCHAR", []string{"192.168.0.1/24", "9.0.0.1"}, nil},
		{`text COLLATE "en-x-icu"`, "VARCHAR", []string{"a", "B", "c", "É"}, nil},
		{"name", "VARCHAR", []string{"a", "B"}, nil},
		{"pair", "VARCHAR", []string{"(1,x)"}, nil},
		{"numeric", "DOUBLE", []string{"1.5"}, nil},
		{"numeric(40,2)", "DOUBLE", []string{"1.50"}, map[string]string{"1.50": "1.5"}},
		{"xml", "VARCHAR", []string{"<a/>"}, nil},
		{"money", "VARCHAR", []string{"$1.50", "$12.00"}, nil},
		{"int4range", "VARCHAR", []string{"[1,5)"}, nil},
		{"bit(3)", "VARCHAR", []string{"101"}, nil},
		{"oid", "UINTEGER", []string{"4294967295"}, nil},
		{"timetz", "TIME WITH TIME ZONE", []string{"12:00:00+02"}, nil},
		{"tsvector", "VARCHAR", []string{"'a' 'b'"}, nil},
		{"point", "STRUCT(x DOUBLE, y DOUBLE)", []string{"(1,2)"}, map[string]string{"(1,2)": "{'x': 1.0, 'y': 2.0}"}},
	} {
		t.Run(c.declared, func(t *testing.T) {
			w.t = t
			table := fmt.Sprintf("t%d", i)
			s.Exec(fmt.Sprintf("CREATE TABLE %s (id int, v %s)", table, c.declared), "INSERT INTO "+table+" VALUES (-1, NULL)")
			for id, v := range c.values {
				s.Exec(fmt.Sprintf("INSERT INTO %s VALUES (%d, '%s')", table, id, strings.ReplaceAll(v, "'", "''")))
			}
			s.Exec("GRANT SELECT ON " + table + " TO reader")
			if problems := w.reload("datasets:\n- {name: t, from: 'postgres:" + table + "', " + pgParams(s) + "}\n- {name: copied, from: 'postgres:" + table + "', " +
				pgParams(s) + ", acceleration: {}}\n"); len(problems) > 0 {
				t.Fatal(problems)
			}
			got, err := w.read("SELECT DISTINCT typeof(v) FROM t")
			if got != c.duckdb {
				t.Errorf("the type is %s, %v; want %s", got, err, c.duckdb)
			}
			if got, err := w.read("SELECT v FROM t WHERE id = -1"); got != "NULL" {
				t.Errorf("NULL is %s, %v", got, err)
			}
			for id, v := range c.values {
				want := s.Value(fmt.Sprintf("SELECT v FROM %s WHERE id = %d", table, id))
				if other, ok := c.differ[v]; ok {
					want = other
				}
				if got, err := w.read(fmt.Sprintf("SELECT v FROM t WHERE id = %d", id)); got != want {
					t.Errorf("%.80s is %.80s, %v; want %.80s", v, got, err, want)
				}
				// Conditions that may be sent to the server select what DuckDB selects.
				w.sameConditions([]string{"v = $", "v <> $", "v < $", "v >= $", "v IN ($, $)", "v BETWEEN $ AND $", "v IS NOT NULL", "v = $ OR v IS NULL"}, want)
			}
			w.sameConditions([]string{"v = 'none'"}, "")
		})
	}
}

// TestPostgresLosses: what the extension reads otherwise than it is, as docs/connectors.md says.
func TestPostgresLosses(t *testing.T) {
	t.Setenv("PASS", pgtest.Password)
	w := newWorld(t, exttest.Find(t, "postgres_scanner"))
	s := pgtest.Start(t)
	s.Exec("CREATE TABLE losses (n numeric, c char(5))", "INSERT INTO losses VALUES ('NaN', 'a'), ('Infinity', 'b'), ('-Infinity', 'c')",
		"GRANT SELECT ON losses TO reader",
		"CREATE TABLE times (id int, at timestamp)", "INSERT INTO times VALUES (1, NULL), (2, '2099-01-01'), (3, '2020-01-01')", "GRANT SELECT ON times TO reader")
	w.ok("datasets:\n- {name: t, from: 'postgres:losses', " + pgParams(s) + ", acceleration: {}}\n" +
		"- {name: kept, from: 'postgres:times', time_column: at, " + pgParams(s) +
		", acceleration: {retention_period: 1h, retention_check_enabled: true, retention_check_interval: 10m}}\n")
	w.want("SELECT n, c, length(c) FROM t ORDER BY c", "0.0|a|1, 0.0|b|1, 0.0|c|1")
	w.want("SELECT id FROM kept ORDER BY id", "1, 2")
}

// sameConditions compares the rows of t and copied that each condition selects, with a value
// in place of $.
func (w *world) sameConditions(conditions []string, value string) {
	w.t.Helper()
	var queries []string
	for _, c := range conditions {
		queries = append(queries, "SELECT list(id ORDER BY id) FROM $t WHERE "+strings.ReplaceAll(c, "$", engine.Literal(value)))
	}
	w.sameRows(queries...)
}

// sameRows compares the results of queries on t and on copied, in place of $t, or that both
// fail. All are parts of one statement; if it fails or differs, each is run alone.
func (w *world) sameRows(queries ...string) {
	w.t.Helper()
	same := func(sql string) (live string, failed, ok bool) {
		live, liveErr := w.read(strings.ReplaceAll(sql, "$t", "t"))
		copied, copiedErr := w.read(strings.ReplaceAll(sql, "$t", "copied"))
		if ok = live == copied && (liveErr == nil) == (copiedErr == nil); !ok && len(queries) == 1 {
			w.t.Errorf("%.120s: got %.80s, %v; a copy has %.80s, %v", sql, live, liveErr, copied, copiedErr)
		}
		return live, liveErr != nil, ok
	}
	parts := make([]string, len(queries))
	for i, q := range queries {
		parts[i] = "(SELECT list(r) FROM (" + q + ") AS r)"
	}
	if _, failed, ok := same("SELECT " + strings.Join(parts, ", ")); (failed || !ok) && len(queries) > 1 {
		for _, q := range queries {
			w.sameRows(q)
		}
		if !failed && !w.t.Failed() {
			w.t.Errorf("%.200s: the results differ from those of a copy only in one statement", queries)
		}
	}
}
