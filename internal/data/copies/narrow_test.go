package copies

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/full"
)

func openDB(t *testing.T) *engine.DB {
	t.Helper()
	db, err := engine.Open(context.Background(), engine.Options{Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// sentRows has columns of types that conditions are sent about, and of others.
const sentRows = `SELECT * FROM (SELECT
	CASE WHEN i % 7 = 0 THEN NULL ELSE (i % 11 - 5)::TINYINT END AS tiny, (i * 37 % 50 - 20)::BIGINT AS big, (i % 5)::UTINYINT AS small,
	CASE WHEN i % 5 = 0 THEN NULL ELSE (i % 9 * 0.25)::DECIMAL(9, 2) END AS price,
	CASE WHEN i % 6 = 0 THEN NULL ELSE ['a', 'b', '''', 'A', '', 'x y'][i % 6 + 1] END AS text,
	DATE '2024-01-01' + (i % 12)::INTEGER AS day, TIMESTAMP '2024-01-01' + INTERVAL (i * 333333) MICROSECOND AS made,
	(TIMESTAMP '2024-01-01' + INTERVAL (i) MINUTE)::TIMESTAMP_S AS s, (TIMESTAMPTZ '2024-01-01 00:00:00+00' + INTERVAL (i) HOUR) AS zoned,
	i / 3.0::DOUBLE AS ratio, i % 2 = 0 AS even, {'tiny': i} AS struct FROM range(300) t(i))`

// constants are constants that conditions compare columns with, of all types.
var constants = []string{
	"0", "-5", "3", "200", "-300", "99999999999", "12345678901234567890", "1.5", "'a'", "''", "'x y'", `'a\b'`, "'3'", "NULL", "true",
	"DATE '2024-01-05'", "'2024-01-05'", "'2024-01-01 00:00:20.5'", "TIMESTAMP '2024-01-01 00:00:30'", "TIMESTAMPTZ '2024-01-05 00:00:00+02'",
	"TIMESTAMPTZ '2024-01-01 00:00:30+00'",
	"'2024-01-05 00:00:00+05'", "DATE '9999-01-01'", "TIMESTAMP '1500-01-01'", "TIMESTAMP '2024-01-01' + INTERVAL 1 MINUTE", "tiny", "1 + 1",
}

var sentColumns = []string{"tiny", "big", "small", "price", "text", "day", "made", "s", "zoned", "ratio", "even", "t.tiny", "T.Big", "struct.tiny"}

func randomCondition(r *rand.Rand, depth int) string {
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	if depth > 0 && r.IntN(2) == 0 {
		return "(" + randomCondition(r, depth-1) + pick([]string{" AND ", " OR ", " AND "}) + randomCondition(r, depth-1) + ")"
	}
	column := pick(sentColumns)
	switch r.IntN(8) {
	case 0:
		return column + " IN (" + pick(constants) + ", " + pick(constants) + ")"
	case 1:
		return column + " BETWEEN " + pick(constants) + " AND " + pick(constants)
	case 2:
		return column + pick([]string{" IS NULL", " IS NOT NULL"})
	case 3:
		return "NOT (" + column + " = " + pick(constants) + ")"
	case 4:
		return pick(constants) + pick([]string{" < ", " >= ", " = "}) + column
	}
	return column + pick([]string{" = ", " <> ", " < ", " <= ", " > ", " >= "}) + pick(constants)
}

// TestNarrow: a condition that is sent is met by each row that meets the one of a
// refresh_sql, and, where exact is set, by no other; in whatever time zone the process is.
func TestNarrow(t *testing.T) {
	for _, zone := range []string{"UTC", "Asia/Tokyo", "America/New_York"} {
		t.Run(zone, func(t *testing.T) { testNarrow(t, zone) })
	}
}

func testNarrow(t *testing.T, zone string) {
	db := openDB(t)
	ctx := t.Context()
	if err := db.Exec(ctx, "SET GLOBAL TimeZone = "+engine.Literal(zone)); err != nil {
		t.Fatal(err)
	}
	columns, err := tables.Describe(ctx, db, sentRows)
	if err != nil {
		t.Fatal(err)
	}
	remote := &Remote{Columns: columns}
	r := rand.New(rand.NewPCG(1, 2))
	sent, exactly := 0, 0
	n := full.Size(750, 3000)
	for range n {
		where := randomCondition(r, 3)
		if met, exact := compareNarrowed(t, db, remote, where); met {
			sent++
			if exact {
				exactly++
			}
		}
	}
	if sent < n/15 || exactly < n/60 {
		t.Errorf("of %d conditions %d were sent, %d exactly", n, sent, exactly)
	}
}

// compareNarrowed reports whether something is sent for a condition, and whether exactly
// its rows meet that.
func compareNarrowed(t *testing.T, db *engine.DB, remote *Remote, where string) (sent, exact bool) {
	t.Helper()
	st, err := db.Parse(t.Context(), "SELECT * FROM t WHERE "+where)
	if err != nil {
		t.Fatal(where, err)
	}
	if st.Filter.Where == nil {
		return false, false
	}
	narrowed, exact := remote.condition(st.Filter.Where)
	if narrowed == "" {
		return false, false
	}
	exact = exact && st.Filter.Whole
	var lost, more int64
	// A server may be in UTC: what is sent has no time zone of the process.
	err = tables.Query(t.Context(), db,
		fmt.Sprintf("WITH t AS (%s) SELECT count(*) FILTER (WHERE (%s) AND (%s) IS NOT TRUE), count(*) FILTER (WHERE (%s) IS NOT TRUE AND (%s)) FROM t", sentRows,
			where, narrowed, where, narrowed),
		func(c *engine.Chunk) {
			lost, more = engine.Value[int64](c.Column(0), 0), engine.Value[int64](c.Column(1), 0)
		})
	if err != nil {
		return false, false // such as a text that is no number
	}
	if lost > 0 || exact && more > 0 {
		t.Errorf("%s\nsent %s (exact: %v): %d rows lost, %d more", where, narrowed, exact, lost, more)
	}
	return true, exact
}

// TestNarrowed has what is sent for a refresh_sql.
func TestNarrowed(t *testing.T) {
	db := openDB(t)
	columns, err := tables.Describe(t.Context(), db, sentRows)
	if err != nil {
		t.Fatal(err)
	}
	for sql, want := range map[string]string{
		"SELECT * FROM t LIMIT 10":                                       " limit 10",
		"FROM t WHERE tiny > 1 LIMIT 10":                                 `"tiny" > 1 limit 10`,
		"SELECT tiny FROM t x WHERE x.big IN (1, 2) AND 3 >= small":      `("big" IN (1, 2) AND "small" <= 3)`,
		"SELECT * FROM t WHERE tiny > 1 AND ratio > 0.5 LIMIT 10":        `"tiny" > 1`,
		"SELECT * FROM t WHERE text = 'a''b' LIMIT 10":                   `"text" IN ('a''b')`,
		"SELECT * FROM t WHERE tiny > 1 OR ratio > 0.5":                  "",
		"SELECT * FROM t WHERE tiny > 1 ORDER BY big LIMIT 10":           `"tiny" > 1`,
		"SELECT * FROM t WHERE tiny > 1 LIMIT 10 OFFSET 5":               `"tiny" > 1`,
		"SELECT DISTINCT tiny FROM t WHERE tiny > 1 LIMIT 10":            `"tiny" > 1`,
		"SELECT count(*) FROM t WHERE day >= '2024-01-05' LIMIT 1":       `"day" >= DATE '2024-01-05'`,
		"SELECT tiny + 1 AS tiny FROM t WHERE tiny > 1 LIMIT 10":         `"tiny" > 1`,
		"SELECT * FROM t WHERE made > TIMESTAMP '2024-01-01 00:00:00.5'": `"made" >= TIMESTAMP '2023-12-31 23:59:59'`,
		"SELECT * FROM t WHERE zoned < '2024-01-05 00:00:00+02'":         `"zoned" <= CAST('2024-01-06 22:00:01+00:00' AS TIMESTAMP WITH TIME ZONE)`,
		"SELECT * FROM t USING SAMPLE 10":                                "",
		"SELECT * FROM t WHERE tiny > 1 LIMIT 10%":                       `"tiny" > 1`,
		"WITH t AS (SELECT 1 AS tiny) SELECT * FROM t WHERE tiny > 1":    "",
		"SELECT * FROM t WHERE tiny > (SELECT 1)":                        "",
		"SELECT * FROM t, t u WHERE t.tiny > 1":                          "",
	} {
		st, err := db.Parse(t.Context(), sql)
		if err != nil {
			t.Fatal(sql, err)
		}
		got := ""
		l := &run{Load: Load{Table: &tables.Table{}, Remote: &Remote{Columns: columns, Narrow: func(where string, limit int64) {
			if got = where; limit > 0 {
				got += fmt.Sprint(" limit ", limit)
			}
		}}}, log: slog.New(slog.DiscardHandler)}
		l.narrow(st.Filter)
		if strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s\ngot %s\nwant %s", sql, got, want)
		}
	}
}
