package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// lookupPod is a Spicepod with functions that look rows up by key, in data that is
// copied, written and protected.
const lookupPod = `version: v1
kind: Spicepod
name: lookups
runtime: { functions: { enabled: true } }
datasets:
  - { name: items, from: "file:items.csv", acceleration: { primary_key: id } }
  - { name: kept, from: "duckdb:kept.db/kept", access: read_write }
  - { name: own, from: "file:items.csv", row_filter: "id < 100", acceleration: { primary_key: id } }
views:
  - { name: item_notes, sql: "SELECT id, note FROM items" }
functions:
  - { name: by_key, from: sql, signature: { args: [{ name: k, type: int64 }], returns: utf8 }, body: "(SELECT note FROM items WHERE id = k)" }
  - { name: by_view, from: sql, signature: { args: [{ name: k, type: int64 }], returns: utf8 }, body: "(SELECT note FROM item_notes WHERE id = k)" }
  - { name: by_filter, from: sql, signature: { args: [{ name: k, type: int64 }], returns: utf8 }, body: "(SELECT note FROM own WHERE id = k)" }
  - { name: of_kept, from: sql, signature: { args: [{ name: k, type: int64 }], returns: utf8 }, body: "(SELECT note FROM kept WHERE id = k)" }
  - { name: rows_of, from: sql, kind: table, as_tool: true, signature: { args: [{ name: k, type: int64 }], returns: [{ name: note, type: utf8 }] }, body: "SELECT note FROM items WHERE id = (SELECT k FROM args)" }
`

func lookupFolder(t *testing.T) string {
	t.Helper()
	dir := folder(t, "spicepod.yaml", lookupPod)
	writeItems(t, dir, "n")
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, sql := range []string{
		"ATTACH '" + filepath.Join(dir, "kept.db") + "' AS kept",
		"CREATE TABLE kept.main.kept (id BIGINT PRIMARY KEY, note VARCHAR)",
		"INSERT INTO kept.main.kept SELECT i, 'k' || i FROM range(100) t(i)",
		"DETACH kept",
	} {
		if err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func writeItems(t *testing.T, dir, prefix string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("id,note\n")
	for i := range 5000 {
		fmt.Fprintf(&b, "%d,%s%d\n", i, prefix, i)
	}
	if err := os.WriteFile(filepath.Join(dir, "items.csv"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestLookups: functions that look rows up by key use the index, in workers and through
// views too, and never return what was there before.
func TestLookups(t *testing.T) {
	t.Parallel()
	dir := lookupFolder(t)
	p := start(t, dir, "--watch=false")
	for _, sql := range []string{"SELECT by_key(7) AS note", "SELECT by_view(7) AS note", "SELECT note FROM rows_of(7)"} {
		p.want(p.do("POST", "/v1/sql", sql), 200, `[{"note":"n7"}]`)
		p.want(p.do("POST", "/v1/sql", "EXPLAIN ANALYZE "+sql), 200, "Index Scan")
	}
	p.want(p.do("POST", "/v1/sql", "SELECT by_filter(7) AS a, by_filter(700) AS b"), 200, `[{"a":"n7","b":null}]`)
	p.want(p.do("POST", "/v1/sql", "EXPLAIN SELECT by_filter(7)"), 400, "EXPLAIN is refused")
	p.want(p.do("POST", "/v1/sql", "SELECT execution FROM spiced.functions WHERE name = 'by_key'"), 200, "share a look-up")

	invoke := func(name string, key int) reply {
		return p.do("POST", "/v1/tools/"+name+":invoke", fmt.Sprintf(`{"args":{"k":%d}}`, key))
	}
	for round := range 10 {
		id := 200 + round
		p.want(invoke("of_kept", id), 200, `null`)
		p.want(p.do("POST", "/v1/sql", fmt.Sprintf("SELECT of_kept(%d) AS a", id)), 200, `[{"a":null}]`)
		p.want(p.do("POST", "/v1/sql", fmt.Sprintf("INSERT INTO kept VALUES (%d, 'new')", id)), 200)
		p.want(invoke("of_kept", id), 200, `"new"`)
		p.want(p.do("POST", "/v1/sql", fmt.Sprintf("SELECT of_kept(%d) AS a", id)), 200, `[{"a":"new"}]`)
	}
	var wg sync.WaitGroup
	for caller := range 16 {
		wg.Go(func() {
			for i := range 20 {
				key := (caller*20 + i) * 13 % 5000
				p.want(invoke("by_key", key), 200, fmt.Sprintf(`"n%d"`, key))
			}
		})
	}
	wg.Wait()
	writeItems(t, dir, "m")
	p.want(p.do("POST", "/v1/datasets/items/acceleration/refresh", ""), 201)
	p.eventually("to have the new rows", func() bool { return strings.Contains(invoke("by_key", 7).body, `"m7"`) })
	p.want(p.do("POST", "/v1/sql", "SELECT by_key(8) AS a, by_view(9) AS b"), 200, `[{"a":"m8","b":"m9"}]`)
}
