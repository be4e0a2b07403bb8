package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/spiced-sql/spiced/internal/test/measure"
)

// ownMemory is the memory of this process without mapped files.
func ownMemory() (int64, error) { return measure.Memory(os.Getpid(), "RssAnon") }

// rowPod searches a dataset of the rows, which has a filter for callers of a team.
const rowPod = `embeddings: [{name: local, from: 'builtin:semantic'}]
datasets:
  - name: chunks
    from: file:chunks.parquet
    acceleration: { enabled: true, engine: duckdb, mode: file, primary_key: id }
    columns: [{ name: body, full_text_search: { enabled: true }, embeddings: [{ from: local, row_id: id }] }]
`

// serves has spiced build the index of a dataset, and searches over HTTP; then it starts again.
func (b *rowBench) serves(ctx context.Context, e *env) ([]row, error) {
	dir, err := e.write(ctx, pod{name: "rowserve", text: rowPod})
	if err != nil {
		return nil, err
	}
	if err := b.parquet(ctx, filepath.Join(dir, "chunks.parquet")); err != nil {
		return nil, err
	}
	state := filepath.Join(e.dir, "rowstate")
	start := func() (*server, time.Duration, error) {
		s, err := e.serveFolder(ctx, dir, "--state-dir", state)
		if err != nil {
			return nil, 0, err
		}
		ready := time.Since(s.began)
		return s, ready, s.indexed(ctx)
	}
	s, ready, err := start()
	if err != nil {
		return nil, err
	}
	rate := float64(b.rows) / (time.Since(s.began) - ready).Seconds()
	rows := []row{{
		fmt.Sprintf("a dataset of %d chunks in a file: spiced reads, embeds and indexes it, after it is ready", b.rows),
		fmt.Sprintf("%.0f chunks/s", rate), "≥ 2,000 chunks/s",
	}}
	for _, c := range []struct{ what, more string }{
		{"", ""}, {", with a condition that half of the rows fulfil", `,"where":"id % 2 = 0"`},
	} {
		var times []float64
		for i := range rowQueries / 3 {
			text, err := json.Marshal(b.query(i))
			if err != nil {
				return nil, err
			}
			body := fmt.Sprintf(`{"text":%s,"datasets":["chunks"],"limit":%d%s}`, text, rowLimit, c.more)
			began := time.Now()
			if _, err := s.post(ctx, "/v1/search", body); err != nil {
				return nil, err
			}
			times = append(times, ms(time.Since(began)))
		}
		slices.Sort(times)
		rows = append(rows, row{
			fmt.Sprintf("the same: POST /v1/search, hybrid%s, p50 / p99 of %d queries", c.what, len(times)),
			fmt.Sprintf("%.1f / %.1f ms", median(times), load{times: times}.p99()), "reported",
		})
	}
	s.stop()
	s, ready, err = start()
	if err != nil {
		return nil, err
	}
	defer s.stop()
	return append(rows, row{
		"the same: start with the kept index, to ready / to the first search",
		fmt.Sprintf("%.2f / %.2f s", ready.Seconds(), time.Since(s.began).Seconds()), "≤ 3 s",
	}), nil
}

// indexed waits until a search answers.
func (s *server) indexed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Minute)
	defer cancel()
	for {
		found, err := s.sql(ctx, "SELECT state, rows, message FROM spiced.search_indexes")
		switch {
		case err != nil:
			return err
		case strings.Contains(found, `"failed"`):
			return fmt.Errorf("the index: %s", found)
		case strings.Contains(found, `"ready"`):
			_, err := s.post(ctx, "/v1/search", `{"text":"boundary layer","datasets":["chunks"]}`)
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the index is not ready: %s", found)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// parquet writes the rows.
func (b *rowBench) parquet(ctx context.Context, path string) error {
	connector, err := duckdb.NewConnector("", nil)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE TABLE chunks (id BIGINT, body VARCHAR)"); err != nil {
		return err
	}
	if err := appendRows(ctx, connector, b.rows, func(i int) []driver.Value { return []driver.Value{int64(i), b.text(i)} }); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "COPY chunks TO '"+path+"' (FORMAT parquet)")
	return err
}

// post sends JSON and returns the answer.
func (s *server) post(ctx context.Context, path, body string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	return answer(req)
}
