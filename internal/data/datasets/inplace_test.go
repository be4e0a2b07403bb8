package datasets

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
		!strings.Contains(problems[1].Error(), `view lists: column "ids" is BIGINT[], of which DuckDB has no index`) {
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
	policies := []string{"", "row_filter: \"region = 'EU'\"", "column_mask: {name: \"'x'\"}", "column_mask: {id: \"0\"}", "row_filter: \"id > 1\", column_mask: {region: \"'?'\"}"}
	var pod strings.Builder
	pod.WriteString("datasets:\n")
	for i, from := range sources {
		for j, key := range keys {
			for k, policy := range policies {
				name := fmt.Sprintf("d_%d_%d_%d", i, j, k)
				from := fmt.Sprintf(from, kinds[(i+j+k)%len(kinds)]) // each kind of rows with each key and source
				fmt.Fprintf(&pod, "  - {name: %s, from: '%s', time_column: id, acceleration: {enabled: true, %s}, %s}\n", name, from, strings.ReplaceAll(key, "%s", name), policy)
			}
		}
	}
	loaded := messages(w.reload(pod.String()))
	w.restart(func(o *Options) { o.InPlace = true })
	checked := messages(w.reload(pod.String()))
	if loaded != checked {
		t.Errorf("%s", firstDifference(loaded, checked))
	}
	for _, want := range []string{"rows have a duplicate key (id): 3 ", "rows have a duplicate key (name, region): c, EU", "rows have no value for the key (id)", "different rows have the same (id)"} {
		if !strings.Contains(loaded, want) {
			t.Errorf("no dataset has the fault %q", want)
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
