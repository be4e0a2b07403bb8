package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/spiced-sql/spiced/internal/find/embeddings/semantic"
	"github.com/spiced-sql/spiced/internal/find/rowindex"
)

const (
	peerQueries   = 60
	recallQueries = 60
	maxPeerRows   = 300_000
	peerRanks     = 200 // of each channel that are fused, as in package rowindex
)

// peers builds the indexes of DuckDB's extensions fts and vss on the same rows in memory, and
// compares searches in turn.
func (b *rowBench) peers(ctx context.Context, e *env) ([]row, error) {
	if b.rows > maxPeerRows {
		missing := fmt.Sprintf("not measured: more than %d rows take too long to build", maxPeerRows)
		return []row{{"fts and vss on the same rows", missing, ""}}, nil
	}
	folder := os.Getenv(extensionsVariable)
	for _, name := range []string{"fts", "vss"} {
		if _, err := os.Stat(filepath.Join(folder, name+".duckdb_extension")); folder == "" || err != nil {
			missing := "not measured: " + extensionsVariable + " names no folder with them"
			return []row{{"fts and vss on the same rows", missing, ""}}, nil
		}
	}
	connector, err := duckdb.NewConnector("?allow_unsigned_extensions=false", nil)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	p := &rowPeer{b: b, db: db}
	run := func(statement string) (time.Duration, error) {
		began := time.Now()
		_, err := db.ExecContext(ctx, statement)
		return time.Since(began), err
	}
	for _, statement := range []string{
		"LOAD '" + filepath.Join(folder, "fts.duckdb_extension") + "'", "LOAD '" + filepath.Join(folder, "vss.duckdb_extension") + "'",
		fmt.Sprintf("CREATE TABLE chunks (id BIGINT, body VARCHAR, vec FLOAT[%d])", semantic.Dimensions),
	} {
		if _, err := run(statement); err != nil {
			return nil, err
		}
	}
	if err := p.load(ctx, connector); err != nil {
		return nil, err
	}
	memory, err := ownMemory()
	if err != nil {
		return nil, err
	}
	words, err := run("PRAGMA create_fts_index('chunks', 'id', 'body')")
	if err != nil {
		return nil, fmt.Errorf("fts: %w", err)
	}
	withWords, err := ownMemory()
	if err != nil {
		return nil, err
	}
	vectors, err := run("CREATE INDEX near ON chunks USING HNSW (vec) WITH (metric = 'cosine')")
	if err != nil {
		return nil, fmt.Errorf("vss: %w", err)
	}
	var near int64
	if err := db.QueryRowContext(ctx, "SELECT approx_memory_usage FROM pragma_hnsw_index_info()").Scan(&near); err != nil {
		return nil, err
	}
	perChunk := func(bytes int64) float64 { return float64(bytes) / float64(b.rows) }
	rows := []row{{
		"the same rows: DuckDB's fts / vss (HNSW, cosine), built; memory a chunk without the table",
		fmt.Sprintf("%.0f / %.0f chunks/s; %.0f / %.0f bytes", float64(b.rows)/words.Seconds(), float64(b.rows)/vectors.Seconds(),
			perChunk(withWords-memory), perChunk(near)), "reported",
	}}
	compared, err := p.compare(ctx, run)
	if err != nil {
		return nil, err
	}
	facts, err := peerFacts(ctx, db, e.dir)
	return append(append(rows, compared...), facts...), err
}

// rowPeer is DuckDB with the rows and both indexes.
type rowPeer struct {
	b       *rowBench
	db      *sql.DB
	vectors []float32 // of all rows
}

func (p *rowPeer) load(ctx context.Context, connector driver.Connector) error {
	table := semantic.Builtin()
	return appendRows(ctx, connector, p.b.rows, func(i int) []driver.Value {
		text := p.b.text(i)
		v := table.Text(text)
		p.vectors = append(p.vectors, v...)
		return []driver.Value{int64(i), text, v}
	})
}

// appendRows adds rows to table chunks.
func appendRows(ctx context.Context, connector driver.Connector, rows int, row func(int) []driver.Value) error {
	conn, err := connector.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	a, err := duckdb.NewAppenderFromConn(conn, "", "chunks")
	if err != nil {
		return err
	}
	for i := range rows {
		if err := a.AppendRow(row(i)...); err != nil {
			return errors.Join(err, a.Close())
		}
	}
	return a.Close()
}

// near is the SQL of the rows nearest to a vector. HNSW is used only with a constant.
func near(vector []float32, limit int) string {
	list := make([]string, len(vector))
	for i, x := range vector {
		list[i] = fmt.Sprint(x)
	}
	return fmt.Sprintf("SELECT id FROM chunks ORDER BY array_cosine_distance(vec, [%s]::FLOAT[%d]) LIMIT %d",
		strings.Join(list, ","), len(vector), limit)
}

func bm25(text string, limit int) string {
	return fmt.Sprintf("SELECT id FROM (SELECT id, fts_main_chunks.match_bm25(id, '%s') AS score FROM chunks) "+
		"WHERE score IS NOT NULL ORDER BY score DESC LIMIT %d",
		strings.ReplaceAll(text, "'", "''"), limit)
}

// fused is a hybrid search as DuckDB's documentation has it.
func fused(q rowindex.Query) string {
	return fmt.Sprintf(`WITH v AS (SELECT id, row_number() OVER () AS rank FROM (%s)), k AS (SELECT id, row_number() OVER () AS rank FROM (%s))
SELECT id FROM v FULL JOIN k USING (id) ORDER BY coalesce(%v / (60 + v.rank), 0) + coalesce(1 / (60 + k.rank), 0) DESC LIMIT %d`,
		near(q.Vectors[0].Vector, peerRanks), bm25(q.Text, peerRanks), q.Vectors[0].Weight, q.Limit)
}

// found runs a statement and returns its rows.
func (p *rowPeer) found(ctx context.Context, statement string) (ids []int, err error) {
	rows, err := p.db.QueryContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// compare measures recall of both, and then speed with vss at a recall that is as good, or at its best.
func (p *rowPeer) compare(ctx context.Context, run func(string) (time.Duration, error)) (rows []row, err error) {
	exact := p.exact()
	recall := func(find func(rowindex.Query) ([]int, error)) (float64, error) {
		hits := 0
		for i := range recallQueries {
			ids, err := find(p.b.hybrid(i))
			if err != nil {
				return 0, err
			}
			for _, id := range ids {
				if slices.Contains(exact[i], id) {
					hits++
				}
			}
		}
		return float64(hits) / (recallQueries * rowLimit), nil
	}
	ours, err := recall(func(q rowindex.Query) ([]int, error) {
		q.Mode = rowindex.Vector
		var ids []int
		for _, h := range p.b.index.Search(q) {
			ids = append(ids, int(h.Key))
		}
		return ids, nil
	})
	if err != nil {
		return nil, err
	}
	var theirs float64
	effort := 64
	for ; ; effort *= 2 {
		if _, err := run(fmt.Sprintf("SET hnsw_ef_search = %d", effort)); err != nil {
			return nil, err
		}
		theirs, err = recall(func(q rowindex.Query) ([]int, error) {
			return p.found(ctx, near(q.Vectors[0].Vector, rowLimit))
		})
		if err != nil {
			return nil, err
		}
		if theirs >= ours-.01 || effort == 4096 {
			break
		}
	}
	for _, c := range []struct {
		what, target string
		mode         rowindex.Mode
		statement    func(q rowindex.Query) string
	}{
		{
			fmt.Sprintf("by vectors, recall@%d of exact neighbours %.3f : %.3f (hnsw_ef_search %d)", rowLimit, ours, theirs, effort),
			"reported", rowindex.Vector, func(q rowindex.Query) string { return near(q.Vectors[0].Vector, q.Limit) },
		},
		{"by words", "reported", rowindex.Keyword, func(q rowindex.Query) string { return bm25(q.Text, q.Limit) }},
		{"hybrid", "≥ 2", rowindex.Hybrid, fused},
	} {
		i, k := 0, 0
		one, two, ratio, err := alternate(peerQueries, func() (float64, error) {
			q := p.b.hybrid(k)
			k++
			statement := c.statement(q)
			began := time.Now()
			_, err := p.found(ctx, statement)
			return ms(time.Since(began)), err
		}, func() (float64, error) {
			q := p.b.hybrid(i)
			i++
			q.Mode = c.mode
			began := time.Now()
			p.b.index.Search(q)
			return ms(time.Since(began)), nil
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{
			"a search " + c.what + ", spiced's index : DuckDB's fts and vss on the same rows, speed",
			fmt.Sprintf("%.2f (%.1f ms : %.1f ms)", ratio, two, one), c.target,
		})
	}
	return rows, nil
}

// exact returns the nearest rows of each query, by comparing with all of them.
func (p *rowPeer) exact() [][]int {
	out := make([][]int, recallQueries)
	for i := range out {
		query := p.b.hybrid(i).Vectors[0].Vector
		type scored struct {
			id    int
			score float32
		}
		var best []scored
		for id := range p.b.rows {
			var sum float32
			for k, x := range p.vectors[id*len(query) : (id+1)*len(query)] {
				sum += x * query[k]
			}
			if len(best) < rowLimit || sum > best[rowLimit-1].score {
				at, _ := slices.BinarySearchFunc(best, sum, func(s scored, score float32) int {
					if s.score >= score {
						return -1
					}
					return 1
				})
				best = slices.Insert(best, at, scored{id, sum})
				best = best[:min(len(best), rowLimit)]
			}
		}
		for _, s := range best {
			out[i] = append(out[i], s.id)
		}
	}
	return out
}
