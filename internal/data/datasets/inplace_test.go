package datasets

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/full"
	"github.com/spiced-sql/spiced/spicepod"
)

// TestInPlace reads accelerated datasets at their sources, and finds the faults of
// copies.
func TestInPlace(t *testing.T) {
	w := newWorld(t)
	w.stop()
	w.start(func(o *Options) { o.InPlace = true })
	w.file("t.csv", "id,name\n1,a\n2,b\n3,c\n")
	problems := w.reload(`datasets:
  - { name: whole, from: "file:t.csv", acceleration: { primary_key: id } }
  - { name: part, from: "file:t.csv", acceleration: { refresh_sql: "SELECT id, upper(name) AS name FROM part WHERE id > 1;" } }
  - { name: newer, from: "file:t.csv", time_column: id, acceleration: { refresh_mode: append } }
  - { name: wrong, from: "file:t.csv", acceleration: { indexes: { nope: enabled } } }
views:
  - { name: totals, sql: SELECT count(*) AS n FROM whole, acceleration: { primary_key: n } }
  - { name: lists, sql: "SELECT [id] AS ids FROM whole", acceleration: { indexes: { ids: enabled } } }
`)
	if len(problems) != 2 || !strings.Contains(problems[0].Error(), `dataset wrong: the source has no column "nope"`) ||
		!strings.Contains(problems[1].Error(), `view lists: column "ids" is BIGINT[], a type that DuckDB cannot index`) {
		t.Errorf("got %v", problems)
	}
	w.file("t.csv", "id,name\n1,a\n2,b\n3,c\n4,d\n") // there is no copy
	for sql, want := range map[string]string{
		"SELECT count(*)::VARCHAR FROM whole":               "4",
		"SELECT string_agg(name, '' ORDER BY id) FROM part": "BCD",
		"SELECT count(*)::VARCHAR FROM newer WHERE id > 2":  "2",
		"SELECT n::VARCHAR FROM totals":                     "4",
	} {
		w.want(sql, want)
	}
}

// TestChecksAgreeWithLoads loads datasets with every kind of key, policy and source, with
// rows that the key allows and rows that violate it, as a check does and as a server does:
// both find the same faults.
func TestChecksAgreeWithLoads(t *testing.T) {
	w := newWorld(t)
	rows := map[string]string{
		"unique":    "(1, 'a', 'EU'), (2, 'b', 'US'), (3, 'c', 'EU')",
		"duplicate": "(1, 'a', 'EU'), (3, 'c', 'EU'), (3, 'c', 'US'), (4, 'd', 'EU')",
		"equal":     "(1, 'a', 'EU'), (3, 'c', 'EU'), (3, 'c', 'EU')",
		"null":      "(1, 'a', 'EU'), (NULL, 'b', 'US'), (NULL, NULL, 'EU')",
	}
	kinds := slices.Sorted(maps.Keys(rows))
	for _, name := range kinds {
		query := "SELECT * FROM (VALUES " + rows[name] + ") AS t(id, name, region)"
		for _, format := range []string{"csv", "parquet", "json"} {
			w.exec("COPY (" + query + ") TO '" + filepath.Join(w.dir, name+"."+format) + "' (FORMAT " + format + ")")
		}
		w.exec("ATTACH '" + filepath.Join(w.dir, name+".duckdb") + "' AS made")
		w.exec("CREATE TABLE made.t AS " + query)
		w.exec("DETACH made")
	}
	sources := []string{"file:%s.csv", "file:%s.parquet", "file:%s.json", "duckdb:%s.duckdb/t"}
	keys := []string{
		"", "primary_key: id", "primary_key: '(id, name)'", "indexes: {name: unique}", "indexes: {name: enabled, '(name, region)': unique}",
		"primary_key: id, on_conflict: {id: upsert}", "primary_key: id, on_conflict: {id: drop}", "primary_key: id, on_conflict: {id: upsert_dedup}",
		"primary_key: id, indexes: {name: unique}, on_conflict: {id: drop}", "primary_key: id, refresh_sql: \"SELECT * FROM %s WHERE region = 'EU'\"",
		"primary_key: nope", "indexes: {name: unique}, refresh_mode: append",
	}
	policies := []string{
		"", "row_filter: \"region = 'EU'\"", "column_mask: {name: \"'x'\"}", "column_mask: {id: \"0\"}",
		"row_filter: \"id > 1\", column_mask: {region: \"'?'\"}",
	}
	var pod strings.Builder
	pod.WriteString("datasets:\n")
	for i, from := range sources {
		for j, key := range keys {
			for k, policy := range policies {
				if !full.Test() && k > 0 && i != (j+k)%len(sources) { // each key with each policy, over one of the sources
					continue
				}
				name := fmt.Sprintf("d_%d_%d_%d", i, j, k)
				from := fmt.Sprintf(from, kinds[(i+j+k)%len(kinds)]) // each kind of rows with each key and source
				fmt.Fprintf(&pod, "  - {name: %s, from: '%s', time_column: id, acceleration: {enabled: true, %s}, %s}\n", name, from,
					strings.ReplaceAll(key, "%s", name), policy)
			}
		}
	}
	loaded := messages(w.reload(pod.String()))
	w.restart(func(o *Options) { o.InPlace = true })
	checked := messages(w.reload(pod.String()))
	if loaded != checked {
		t.Errorf("%s", firstDifference(loaded, checked))
	}
	for _, want := range []string{
		"rows have a duplicate key (id): 3 ", "rows have a duplicate key (name, region): c, EU", "rows have no value for the key (id)",
		"different rows have the same (id)",
	} {
		if !strings.Contains(loaded, want) {
			t.Errorf("no dataset has the fault %q", want)
		}
	}
}

// TestChecksFindWhatRefreshesWould checks declarations that a load accepts only if it looks at
// what later refreshes, and the retention, need: a check and a load find the same faults.
func TestChecksFindWhatRefreshesWould(t *testing.T) {
	w := newWorld(t)
	w.file("o.csv", "id,customer,ordered,month\n1,Ann,2026-01-02,2026-01\n2,Bob,2026-01-03,2026-02\n")
	const retention = "retention_check_enabled: true, retention_check_interval: 1m, "
	cases := []struct{ dataset, acceleration, want string }{
		{"time_column: ordred", "refresh_mode: append", `the rows have no column "ordred" (did you mean "ordered"?)`},
		{"time_column: ordered, time_format: unix_seconds", "refresh_mode: append", `column "ordered" is DATE, which is not in the format unix_seconds`},
		{"time_column: customer, time_format: unix_seconds", "refresh_mode: append", `column "customer" is VARCHAR, which is not in the format unix_seconds`},
		{"time_column: id, time_format: date", "refresh_mode: append", `column "id" is BIGINT, which is not in the format date`},
		{"time_column: customer, time_format: ISO8601", "refresh_mode: append", `column "customer" has a text that is not a time: "Ann"`},
		{"time_column: customer", "refresh_mode: append", `column "customer" has a text that is not a time: "Ann"`},
		{"time_column: month", "refresh_mode: append", ""},
		{"time_column: month, time_format: ISO8601", "refresh_mode: append", `column "month" has a text that is not a time: "2026-01"`},
		{"time_column: ordered", "refresh_mode: append, refresh_sql: SELECT id FROM t%d", `the rows have no column "ordered"`},
		{"", retention + "retention_sql: DELETE FROM t%d WHERE nope > 1", "nope"},
		{"", "refresh_sql: SELECT CAST(customer AS INT) AS n FROM t%d", "Could not convert string 'Ann'"},
	}
	var pod strings.Builder
	pod.WriteString("datasets:\n")
	for i, c := range cases {
		fmt.Fprintf(&pod, "  - {name: t%d, from: 'file:o.csv', acceleration: {%s}, %s}\n", i, strings.ReplaceAll(c.acceleration, "%d", fmt.Sprint(i)), c.dataset)
	}
	loaded := messages(w.reload(pod.String()))
	w.restart(func(o *Options) { o.InPlace = true })
	checked := messages(w.reload(pod.String()))
	if loaded != checked {
		t.Errorf("%s", firstDifference(loaded, checked))
	}
	for i, c := range cases {
		var found string
		for line := range strings.Lines(checked) {
			if strings.Contains(line, fmt.Sprintf("dataset t%d: ", i)) {
				found = line
			}
		}
		if c.want == "" && found != "" || !strings.Contains(found, c.want) {
			t.Errorf("t%d: got %q, want %q", i, found, c.want)
		}
	}
}

// TestCheckOfViews finds what the load of an accelerated view would.
func TestCheckOfViews(t *testing.T) {
	w := newWorld(t)
	w.stop()
	w.start(func(o *Options) { o.InPlace = true })
	w.file("o.csv", "id,customer\n1,Ann\n")
	w.ok(`datasets: [{name: o, from: "file:o.csv"}]
views:
  - { name: numbers, sql: SELECT CAST(customer AS INT) AS n FROM o, acceleration: {} }
  - { name: kept, sql: SELECT id FROM o, acceleration: { retention_check_enabled: true, retention_check_interval: 1m, retention_sql: DELETE FROM kept WHERE nope > 1 } }
`)
	got := messages(CheckViews(t.Context(), w.m))
	for _, want := range []string{"view numbers: Could not convert string 'Ann' to INT32", `view kept: Referenced column "nope" not found`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// messages returns the problems, a line each.
func messages(problems spicepod.Problems) string {
	var lines strings.Builder
	for _, p := range problems {
		lines.WriteString(p.Error() + "\n")
	}
	return lines.String()
}

// firstDifference returns the first lines of two texts that differ.
func firstDifference(loaded, checked string) string {
	a, b := strings.Split(loaded, "\n"), strings.Split(checked, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("a load says: %s\na check:     %s", a[i], b[i])
		}
	}
	return fmt.Sprintf("a load has %d lines, a check %d", len(a), len(b))
}
