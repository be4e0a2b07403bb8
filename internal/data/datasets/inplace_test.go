package datasets

import (
	"strings"
	"testing"
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
