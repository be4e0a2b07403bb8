package fingerprint

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT  *\nFROM t WHERE name = 'Alice' AND id IN (1, 2, 3)": "select * from t where name = ? and id in (?)",
		"select * from t where name='Bob' and id in (7)":             "select * from t where name = ? and id in (?)",
		"SELECT x::INTEGER, a || 'b' FROM t -- secret":               "SELECT x::INTEGER, a || ? FROM t",
		"FROM t SELECT 1e10, 0xFF, 1_000":                            "FROM t SELECT ?",
		`SELECT "quoted name" FROM t WHERE d = DATE '2020-01-01'`:    `SELECT "quoted name" FROM t WHERE d = DATE ?`,
		"SELECT $1, :name, ? FROM range(10)":                         "SELECT $1, :name, ? FROM range(?)",
		"SELECT 'it''s', $$dollar$$, $t$a$t$, e'\\'x' /* c */":       "select ?",
		"SELECT 'unterminated":                                       unreadable,
		`SELECT 'a\'secret more'`:                                    unreadable,
		"":                                                           "",
		"EXPLAIN ANALYZE SELECT * FROM orders WHERE a = 1":           "EXPLAIN ANALYZE SELECT * FROM orders WHERE a = ?",
		"DESCRIBE orders":                                            "DESCRIBE orders",
		"CREATE TABLE t AS SELECT * FROM orders":                     "CREATE TABLE t AS SELECT * FROM orders",
		"INSERT INTO t VALUES (1, 'x')":                              "insert into t values (?)",
		"SELECT a // 2, b ** 3":                                      "SELECT a // ?, b ** ?",
	} {
		if got := Of(sql); got.Text != want {
			t.Errorf("%q:\n got %q\nwant %q", sql, got.Text, want)
		}
	}
}

func TestSameShapeSameID(t *testing.T) {
	a, b := Of("SELECT * FROM t WHERE id = 1"), Of("select  *  from t where id = 22222")
	if a != b {
		t.Errorf("%v and %v differ", a, b)
	}
	if c := Of("SELECT * FROM u WHERE id = 1"); c.ID == a.ID {
		t.Error("different tables, the same fingerprint")
	}
}

func TestTextIsCutTheIDIsNot(t *testing.T) {
	long := "SELECT " + strings.Repeat("é_column + ", 2000)
	a, b := Of(long+"a"), Of(long+"b")
	if len(a.Text) > maxText+8 || a.ID == b.ID || a.Text != b.Text {
		t.Errorf("got %d bytes, ids %s %s", len(a.Text), a.ID, b.ID)
	}
}

// templates are statements DuckDB accepts; %s is a literal.
var templates = strings.Split(strings.TrimSpace(`
SELECT %s
SELECT * FROM t WHERE a = %s
SELECT a FROM t WHERE a IN (%s, %s, %s)
SELECT a::VARCHAR || %s FROM t
SELECT a || %s || b FROM t
SELECT CAST(%s AS BIGINT)
SELECT TRY_CAST(%s AS DOUBLE)
FROM t WHERE a = %s
FROM t SELECT a, %s
WITH c AS (SELECT %s AS x) SELECT * FROM c
WITH RECURSIVE c(n) AS (SELECT %s UNION ALL SELECT n FROM c) FROM c
SELECT list_transform([%s], x -> x)
SELECT list_filter([%s], lambda x: x = %s)
SELECT {'key': %s, 'other': %s}
SELECT MAP {%s: %s}
SELECT [%s, %s][1]
SELECT a[%s] FROM t
SELECT a[%s:%s] FROM t
SELECT sum(x) OVER (PARTITION BY %s ORDER BY y) FROM t
SELECT x FROM t QUALIFY row_number() OVER () = %s
SELECT * EXCLUDE (a) FROM t WHERE b = %s
SELECT * REPLACE (%s AS a) FROM t
SELECT a FROM t WHERE a ILIKE %s
SELECT a FROM t WHERE a IS DISTINCT FROM %s
SELECT count(*) FILTER (WHERE a = %s) FROM t
SELECT * FROM range(%s)
SELECT * FROM read_csv(%s)
SELECT * FROM t, LATERAL (SELECT %s)
SELECT a, count(*) FROM t GROUP BY ALL HAVING a > %s
SELECT %s INTERSECT SELECT %s
VALUES (%s), (%s)
SELECT DATE %s
SELECT TIMESTAMP %s
SELECT INTERVAL %s
SELECT EXTRACT(year FROM TIMESTAMP %s)
SELECT a // %s FROM t
SELECT a ** %s FROM t
SELECT a # %s FROM t
SELECT a -> %s FROM t
SELECT a ->> %s FROM t
SELECT "col" FROM "t" WHERE "col" = %s
SELECT CASE WHEN a = %s THEN %s ELSE %s END FROM t
SELECT a FROM t ORDER BY a LIMIT %s
SELECT a FROM t LIMIT %s OFFSET %s
SELECT a FROM t TABLESAMPLE reservoir(%s)
SELECT struct_pack(a := %s)
SELECT f(named => %s)
SELECT coalesce(NULL, %s)
SELECT 1 WHERE %s BETWEEN %s AND %s
SELECT regexp_matches(a, %s) FROM t
SELECT position(%s IN a) FROM t
SELECT substring(a FROM %s) FROM t
SELECT (SELECT max(v) FROM u WHERE u.k = %s) FROM t
EXPLAIN SELECT %s
SUMMARIZE SELECT %s
PIVOT t ON a IN (%s) USING sum(b)
SELECT * FROM t ASOF JOIN u ON t.a >= u.a AND t.b = %s
SELECT /* %s */ 1 -- %s
SELECT a FROM t WHERE (a, b) = (%s, %s)
INSERT INTO t VALUES (%s, %s)
UPDATE t SET a = %s WHERE b = %s
DELETE FROM t WHERE a = %s
SELECT e'\n', x = %s
SELECT a FROM t WHERE a = %s; DROP TABLE u
SET VARIABLE x = %s
`), "\n")

// TestNoLiteralSurvives puts a secret into every literal of every statement.
func TestNoLiteralSurvives(t *testing.T) {
	if len(templates) < 60 {
		t.Fatalf("%d templates", len(templates))
	}
	const secret = "5ecre7"
	shapes := []string{
		"'5ecre7'", "'it''s 5ecre7'", "'5ecre7 -- x'", "'/* 5ecre7'", "'a\\5ecre7'", "$$5ecre7$$", "$q$ '5ecre7 $q$", "e'\\'5ecre7'",
		"'\n5ecre7\n'", "'\"5ecre7\"'", "'`5ecre7`'", "'5ecre7;'", "'%5ecre7%'", "5e3", "'5ecre7'::VARCHAR", "('5ecre7')", "- '5ecre7'", "'é5ecre7'",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, template := range templates {
		for range 60 {
			sql := template
			for strings.Contains(sql, "%s") {
				sql = strings.Replace(sql, "%s", shapes[random.IntN(len(shapes))], 1)
			}
			if random.IntN(4) == 0 {
				sql = strings.ReplaceAll(sql, " ", "\n\t")
			}
			if f := Of(sql); strings.Contains(strings.ToLower(f.Text), secret) || strings.Contains(f.Text, "5e3") {
				t.Fatalf("%q: %q", sql, f.Text)
			}
		}
	}
}

func FuzzOf(f *testing.F) {
	for _, template := range templates {
		f.Add(template)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		a, b := Of(sql), Of(sql)
		if a != b || len(a.ID) != 16 || len(a.Text) > maxText+8 {
			t.Fatalf("%v %v", a, b)
		}
	})
}

func FuzzNoLiteralSurvives(f *testing.F) {
	f.Add("SELECT ", " FROM t WHERE ", " = 1")
	f.Add("SELECT 'a' || ", ", \"x\" ", "--")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if strings.ContainsAny(a+b+c, "'\"$-/eExXbB") || strings.Contains(a+b+c, "zzsecretzz") {
			return // it could comment a quote out, or open another literal
		}
		sql := fmt.Sprintf("%s 'zzsecretzz' %s 'it''s zzsecretzz' %s", a, b, c)
		if f := Of(sql); strings.Contains(f.Text, "zzsecretzz") {
			t.Fatalf("%q: %q", sql, f.Text)
		}
	})
}

func BenchmarkOf(b *testing.B) {
	b.Run("known", func(b *testing.B) {
		for b.Loop() {
			Of("SELECT * FROM t WHERE name = 'Alice' AND id IN (1, 2, 3)")
		}
	})
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			memory.made.DeleteFunc(func(string, Fingerprint) bool { return true })
			Of("SELECT * FROM t WHERE name = 'Alice' AND id IN (1, 2, 3)")
		}
	})
}
