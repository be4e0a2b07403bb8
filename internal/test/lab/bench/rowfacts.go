package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
)

// peerFacts tries what DuckDB's extensions do when rows change, and with a condition.
func peerFacts(ctx context.Context, db *sql.DB, dir string) (rows []row, err error) {
	fail := func(e error) {
		if err == nil {
			err = e
		}
	}
	run := func(statement string) {
		_, e := db.ExecContext(ctx, statement)
		fail(e)
	}
	count := func(statement string) (n int) {
		fail(db.QueryRowContext(ctx, "SELECT count(*) FROM ("+statement+")").Scan(&n))
		return n
	}
	plan := func(statement string) string {
		var kind, text string
		fail(db.QueryRowContext(ctx, "EXPLAIN "+statement).Scan(&kind, &text))
		if strings.Contains(text, "HNSW_INDEX_SCAN") {
			return "uses the index"
		}
		return "compares with all rows"
	}
	add := func(what string, measured any) {
		rows = append(rows, row{"DuckDB's fts and vss: " + what, fmt.Sprint(measured), "reported"})
	}
	run("CREATE TABLE facts AS SELECT i AS id, 'word' || i AS body, i % 100 AS team, [sin(i), cos(i), i % 7]::FLOAT[3] AS vec FROM range(10000) t(i)")
	run("PRAGMA create_fts_index('facts', 'id', 'body')")
	run("CREATE INDEX facts_near ON facts USING HNSW (vec) WITH (metric = 'cosine')")
	run("INSERT INTO facts VALUES (10000, 'umbrella', 0, [1, 0, 0])")
	add("fts, rows found by a word of a row that was inserted after the index was made, of 1",
		count("SELECT id FROM facts WHERE fts_main_facts.match_bm25(id, 'umbrella') IS NOT NULL"))
	const nearest = " ORDER BY array_cosine_distance(vec, [1, 0, 0]::FLOAT[3]) LIMIT 10"
	add("vss, the nearest 10 of all rows", plan("SELECT id FROM facts"+nearest))
	const filtered = "SELECT id FROM facts WHERE team = 3" + nearest
	add("vss, the nearest 10 with a condition that 1 % of the rows fulfil", fmt.Sprintf("%s, finds %d", plan(filtered), count(filtered)))
	add("vss, the same over a subquery with the condition", plan("SELECT id FROM (SELECT * FROM facts WHERE team = 3)"+nearest))
	run("CREATE TEMP TABLE gone AS SELECT id FROM facts ORDER BY array_cosine_distance(vec, [1, 0, 0]::FLOAT[3]) + 0 LIMIT 5000")
	run("DELETE FROM facts WHERE id IN (SELECT id FROM gone)")
	add("vss, rows found after the nearest 5,000 of 10,001 were deleted, of 10", count("SELECT id FROM facts"+nearest))
	run("ATTACH '" + filepath.Join(dir, "facts.db") + "' AS kept")
	run("CREATE TABLE kept.facts AS SELECT * FROM facts")
	_, e := db.ExecContext(ctx, "CREATE INDEX kept_near ON kept.facts USING HNSW (vec)")
	add("vss, an index in a file", e)
	return rows, err
}
