package runtime

import (
	"fmt"
	"strings"
	"testing"
)

// TestPlansOfBodies pins how DuckDB reads a table with a primary key for each kind of body,
// called with a constant: by the index, or a whole scan that skips blocks by a condition.
// What is below a row filter is in package datasets.
func TestPlansOfBodies(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("note,id,pay,boss\n")
	for i := range 5000 {
		fmt.Fprintf(&rows, "n%d,%d,%d,%d\n", i, i, i%97, i/2)
	}
	scalar := func(name, body string) string {
		return "- {name: " + name + ", from: sql, volatility: stable, signature: {args: [{name: k, type: int64}], returns: utf8}, body: \"" + body + "\"}\n"
	}
	table := func(name, body string) string {
		return "- {name: " + name + ", from: sql, kind: table, volatility: stable, signature: {args: [{name: k, type: int64}], returns: [{name: note, type: " +
			"utf8}]}, body: \"" + body + "\"}\n"
	}
	r := start(t, files{"t.csv": rows.String(), "spicepod.yaml": `datasets:
- {name: t, from: 'file:t.csv', acceleration: {primary_key: id}}
- {name: u, from: 'file:t.csv', acceleration: {enabled: true}}
views: [{name: v, sql: "SELECT id, note, pay + 1 AS paid FROM t"}]
functions:
` + scalar("lookup", "(SELECT note FROM t WHERE id = k)") +
		scalar("filtered", "(SELECT note FROM t WHERE id = k AND pay < 90)") +
		scalar("ranged", "(SELECT max(note) FROM t WHERE id BETWEEN k AND k + 5)") +
		scalar("aggregated", "(SELECT CAST(sum(pay) AS VARCHAR) FROM t WHERE id = k)") +
		scalar("joined", "(SELECT b.note FROM t a JOIN t b ON b.id = a.boss WHERE a.id = k)") +
		scalar("correlated", "(SELECT note || (SELECT max(p.note) FROM u p WHERE p.boss = o.id) FROM t o WHERE o.id = k)") +
		scalar("viewed", "(SELECT note FROM v WHERE id = k)") +
		scalar("unindexed", "(SELECT note FROM u WHERE id = k)") +
		scalar("recursive_", "(WITH RECURSIVE up AS (SELECT id, boss FROM t WHERE id = k UNION SELECT o.id, o.boss FROM up JOIN t o ON o.id = up.boss) "+
			"SELECT CAST(count(*) AS VARCHAR) FROM up)") +
		table("rows_of", "SELECT note FROM t WHERE id = (SELECT k FROM args)") +
		table("joined_to", "SELECT t.note FROM t JOIN args ON t.id = args.k")})
	r.problems(r.LastReport())
	for _, c := range []struct {
		sql          string
		index, whole int // scans
		pushed       string
	}{
		{"SELECT lookup(5)", 1, 0, "id=5"},
		{"SELECT filtered(5)", 0, 1, "id=5"},
		{"SELECT ranged(5)", 0, 1, "id>=5"},
		{"SELECT aggregated(5)", 1, 0, "id=5"},
		{"SELECT joined(5)", 1, 1, "id=5"},
		{"SELECT correlated(5)", 1, 1, "id=5"},
		{"SELECT viewed(5)", 1, 0, "id=5"},
		{"SELECT unindexed(5)", 0, 1, "id=5"},
		{"SELECT recursive_(5)", 2, 0, "id=5"},
		{"FROM rows_of(5)", 1, 0, "id=5"},
		{"FROM joined_to(5)", 1, 0, "id=5"},
	} {
		plan := r.as("ann", "EXPLAIN ANALYZE "+c.sql)
		index, whole := strings.Count(plan, "Index Scan"), strings.Count(plan, "Sequential Scan")
		if index != c.index || whole != c.whole || !strings.Contains(plan, c.pushed) {
			t.Errorf("%s: %d index scans, %d whole scans, want %d and %d with %s\n%s", c.sql, index, whole, c.index, c.whole, c.pushed,
				strings.ReplaceAll(plan, `\n`, "\n"))
		}
	}
}
