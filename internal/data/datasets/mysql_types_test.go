package datasets

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/mysqltest"
)

// TestMySQLTypes compares values of every type with the server's own text of them, and
// conditions with its client's, and orders, groups and more conditions with those of a copy.
func TestMySQLTypes(t *testing.T) {
	t.Setenv("PASS", mysqltest.Password)
	w := newMySQLWorld(t)
	s := mysqltest.Start(t)
	for i, c := range []struct {
		declared, duckdb string
		values           []string
		differ           map[string]string // DuckDB's text, where it is not the server's
	}{
		{"tinyint", "TINYINT", []string{"-128", "127", "0"}, nil},
		{"tinyint(1)", "TINYINT", []string{"1", "5", "-1"}, nil},
		{"tinyint unsigned", "UTINYINT", []string{"255", "0"}, nil},
		{"smallint", "SMALLINT", []string{"-32768", "32767"}, nil},
		{"smallint unsigned", "USMALLINT", []string{"65535"}, nil},
		{"mediumint", "INTEGER", []string{"-8388608", "8388607"}, nil},
		{"mediumint unsigned", "UINTEGER", []string{"16777215"}, nil},
		{"int", "INTEGER", []string{"-2147483648", "2147483647"}, nil},
		{"int unsigned", "UINTEGER", []string{"4294967295"}, nil},
		{"bigint", "BIGINT", []string{"-9223372036854775808", "9223372036854775807"}, nil},
		{"bigint unsigned", "UBIGINT", []string{"18446744073709551615", "0"}, nil},
		{"decimal(10,2)", "DECIMAL(10,2)", []string{"-99999999.99", "0.01", "0.00"}, nil},
		{"decimal(38,0)", "DECIMAL(38,0)", []string{"99999999999999999999999999999999999999"}, nil},
		{"decimal(65,2)", "DOUBLE", []string{"1.50"}, map[string]string{"1.50": "1.5"}},
		{"float", "FLOAT", []string{"1.5", "1.1", "-3.40282e38"}, map[string]string{"-3.40282e38": "-3.40282e+38"}},
		{"double", "DOUBLE", []string{"1.5", "1.5e300", "-2.2250738585072014e-308", "0.1"}, map[string]string{"1.5e300": "1.5e+300"}},
		{"bit(1)", "BOOLEAN", []string{"b'1'", "b'0'"}, map[string]string{"b'1'": "true", "b'0'": "false"}},
		{"bit(64)", "UBIGINT", []string{"18446744073709551615", "5"}, map[string]string{"18446744073709551615": "18446744073709551615", "5": "5"}},
		{"char(5)", "VARCHAR", []string{"abc", "ABC"}, nil},
		{"varchar(100)", "VARCHAR", []string{"", "a", "A", "é", "e", "Grüße ☃ 你好 🦆", "a ", "a\nb\t\"'\\", "%_", "a''b"}, nil},
		{"varchar(100) CHARACTER SET latin1", "VARCHAR", []string{"Grüße", "a", "A", "a "}, nil},
		{"varchar(100) COLLATE utf8mb4_bin", "VARCHAR", []string{"b", "B", "b "}, nil},
		{"varchar(100) COLLATE utf8mb4_nopad_bin", "VARCHAR", []string{"b", "B", "b ", "\\"}, nil},
		{"varchar(100) COLLATE utf8mb4_german2_ci", "VARCHAR", []string{"ä", "ae", "Ä"}, nil},
		{"longtext", "VARCHAR", []string{"x", strings.Repeat("x", 100000)}, nil},
		{"binary(3)", "BLOB", []string{"0x00ff10"}, map[string]string{"0x00ff10": `\x00\xFF\x10`}},
		{"varbinary(10)", "BLOB", []string{"0x00ff10", "0x61", "0x4100"}, map[string]string{"0x00ff10": `\x00\xFF\x10`, "0x61": "a", "0x4100": `A\x00`}},
		{"longblob", "BLOB", []string{"0x00ff10"}, map[string]string{"0x00ff10": `\x00\xFF\x10`}},
		{
			"date", "DATE",
			[]string{"2026-02-28", "0001-01-01", "9999-12-31", "0000-00-00", "2026-00-00"},
			map[string]string{"0000-00-00": "NULL", "2026-00-00": "NULL"},
		},
		{
			"datetime", "TIMESTAMP",
			[]string{"2026-02-28 12:34:56", "1000-01-01 00:00:00", "9999-12-31 23:59:59", "0000-00-00 00:00:00"},
			map[string]string{"0000-00-00 00:00:00": "NULL"},
		},
		{"datetime(6)", "TIMESTAMP", []string{"2026-02-28 12:34:56.789012", "2026-02-28 00:00:00.000001"}, nil},
		{"timestamp NULL", "TIMESTAMP", []string{"2026-02-28 12:34:56", "1970-01-01 00:00:01", "2038-01-19 03:14:07"}, nil},
		{"timestamp(3) NULL", "TIMESTAMP", []string{"2026-02-28 12:34:56.789"}, nil},
		{"time", "VARCHAR", []string{"00:00:00", "23:59:59", "-838:59:59", "100:00:00"}, nil},
		{"time(6)", "VARCHAR", []string{"23:59:59.999999"}, nil},
		{"year", "INTEGER", []string{"1901", "2155", "0000"}, map[string]string{"0000": "0"}},
		{"enum('sad','ok','Happy')", "VARCHAR", []string{"Happy", "sad", "ok"}, nil},
		{"set('a','b','c')", "VARCHAR", []string{"a,c", "", "b"}, nil},
		{"json", "VARCHAR", []string{`{"a": [1, null, "é"]}`, "null", "1"}, nil},
		{"uuid", "VARCHAR", []string{"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}, nil},
		{"inet6", "VARCHAR", []string{"2001:db8::1"}, nil},
		{"point", "VARCHAR", []string{"POINT(1 2)"}, nil},
	} {
		t.Run(c.declared, func(t *testing.T) {
			w.t = t
			table := fmt.Sprintf("t%d", i)
			statements := []string{fmt.Sprintf("CREATE TABLE %s (id int, v %s)", table, c.declared), "INSERT INTO " + table + " VALUES (-1, NULL)"}
			for id, v := range c.values {
				statements = append(statements, fmt.Sprintf("INSERT INTO %s VALUES (%d, %s)", table, id, mysqlValue(c.declared, v)))
			}
			s.Exec(append(statements, "GRANT SELECT ON "+table+" TO reader")...)
			if problems := w.reload("datasets:\n- {name: t, from: 'mysql:" + table + "', " + mysqlParams(s) + "}\n- {name: copied, from: 'mysql:" + table + "', " +
				mysqlParams(s) + ", acceleration: {}}\n"); len(problems) > 0 {
				t.Fatal(problems)
			}
			if got, err := w.read("SELECT DISTINCT typeof(v) FROM t"); got != c.duckdb {
				t.Errorf("the type is %s, %v; want %s", got, err, c.duckdb)
			}
			if got, err := w.read("SELECT v FROM t WHERE id = -1"); got != "NULL" {
				t.Errorf("NULL is %s, %v", got, err)
			}
			for id, v := range c.values {
				want, other := c.differ[v]
				if !other {
					column := "v"
					if c.declared == "point" {
						column = "ST_AsText(v)"
					}
					want = s.Value(fmt.Sprintf("SELECT %s FROM %s WHERE id = %d", column, table, id))
				}
				if got, err := w.read(fmt.Sprintf("SELECT v FROM t WHERE id = %d", id)); got != want {
					t.Errorf("%.80s is %.80s, %v; want %.80s", v, got, err, want)
				}
				if want == "NULL" {
					continue
				}
				// The server's client selects the same. Texts are compared by their bytes.
				comparable := "v"
				if c.duckdb == "VARCHAR" {
					comparable = "CAST(CAST(v AS CHAR) AS BINARY)"
				}
				if c.declared == "point" {
					comparable = "CAST(ST_AsText(v) AS BINARY)"
				}
				var theirs, ours []string
				for _, operator := range []string{"=", "<>", "<", ">="} {
					theirs = append(theirs,
						fmt.Sprintf("(SELECT GROUP_CONCAT(id ORDER BY id) FROM %[1]s WHERE %[2]s %[3]s (SELECT %[2]s FROM %[1]s WHERE id = %[4]d) AND v NOT LIKE '%%-00-00%%')",
							table, comparable, operator, id))
					ours = append(ours, fmt.Sprintf("(SELECT string_agg(id, ',' ORDER BY id) FROM t WHERE v %s %s)", operator, engine.Literal(want)))
				}
				client := strings.ReplaceAll(s.Value("SELECT "+strings.Join(theirs, ", ")), "\t", "|")
				if got, err := w.read("SELECT " + strings.Join(ours, ", ")); got != client || err != nil {
					t.Errorf("= <> < >= %.80s: got %s, %v; the server's client has %s", want, got, err, client)
				}
				// Conditions that may be sent to the server select what DuckDB selects.
				conditions := []string{
					"v = $", "v <> $", "v < $", "v >= $", "v IN ($, $)", "v IN ($, NULL)", "v NOT IN ($)", "v BETWEEN $ AND $", "v IS NOT NULL",
					"v = $ OR v IS NULL", "v = $ OR id = 1", "v IS DISTINCT FROM $",
				}
				if c.duckdb == "VARCHAR" {
					conditions = append(conditions, "v LIKE $ || '%'", "starts_with(v, $)", "contains(v, $)", "v ILIKE $", "lower(v) = lower($)", "suffix(v, $)")
				}
				w.sameConditions(conditions, want)
			}
			w.sameConditions([]string{"v = 'none'"}, "")
			w.sameRows(
				"SELECT min(v), max(v), count(v), count(DISTINCT v) FROM $t", "SELECT v, count(*) FROM $t GROUP BY v ORDER BY v", "SELECT id FROM $t ORDER BY v, id",
				"SELECT id FROM $t ORDER BY v DESC, id LIMIT 2",
				"SELECT id FROM $t ORDER BY v NULLS FIRST, id LIMIT 1", "SELECT v FROM $t ORDER BY v LIMIT 1 OFFSET 1", "SELECT count(*) FROM $t a JOIN $t b USING (v)",
				"SELECT id FROM $t WHERE v IS NULL",
			)
		})
	}
}

// mysqlValue writes a value of a type.
func mysqlValue(declared, v string) string {
	switch {
	case strings.HasPrefix(v, "0x"), strings.HasPrefix(declared, "bit"):
		return v
	case declared == "point":
		return "ST_GeomFromText('" + v + "')"
	}
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(v) + "'"
}
