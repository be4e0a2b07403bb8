package main

import (
	"context"
	"database/sql"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	_ "github.com/duckdb/duckdb-go/v2" // the peer
)

// The variables of benchSources: a connection string of a PostgreSQL database in which it
// may make a table, and the folder of DuckDB's extensions.
const (
	postgresVariable   = "SPICED_BENCH_POSTGRES"
	extensionsVariable = "SPICED_TEST_EXTENSIONS"
)

const sourceRows = 10_000_000

// makeRows makes a table of sourceRows rows, or keeps it from an earlier run.
const makeRows = `CREATE UNLOGGED TABLE IF NOT EXISTS spiced_bench AS
	SELECT i::bigint AS id, 'customer ' || i % 1000 AS customer, (i % 100000)::numeric(10,2) AS amount, '2026-01-01Z'::timestamptz + i * interval '1 second' AS created
	FROM generate_series(1, 10000000) i;
	CREATE INDEX IF NOT EXISTS spiced_bench_id ON spiced_bench (id); ANALYZE spiced_bench`

// benchSources reads a PostgreSQL server and an object store through spiced and, in turns,
// through DuckDB with the same extensions in this process.
func benchSources(ctx context.Context, e *env) ([]row, error) {
	connection, extensions := os.Getenv(postgresVariable), os.Getenv(extensionsVariable)
	if connection == "" || extensions == "" {
		return []row{{"sources", "not measured: set " + postgresVariable + " and " + extensionsVariable, ""}}, nil
	}
	c, err := pgx.Connect(ctx, connection)
	if err != nil {
		return nil, err
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, makeRows, pgx.QueryExecModeSimpleProtocol); err != nil {
		return nil, err
	}
	peer, err := sql.Open("duckdb", filepath.Join(e.dir, "peer.db")+"?allow_unsigned_extensions=false")
	if err != nil {
		return nil, err
	}
	defer peer.Close()
	objects, err := newObjects(ctx, e, peer)
	if err != nil {
		return nil, err
	}
	defer objects.Close()
	if err := preparePeer(ctx, peer, connection, extensions, objects.URL); err != nil {
		return nil, err
	}
	postgres := fmt.Sprintf("from: 'postgres:spiced_bench', params: { pg_connection_string: %q }", connection)
	s3 := fmt.Sprintf("from: 's3://lake/rows.parquet', params: { s3_endpoint: %q, s3_key: k, s3_secret: s }", objects.URL)
	s, err := e.serveDatasets(ctx, "sources", "datasets: [{ name: pg, "+postgres+" }, { name: s3, "+s3+" }]\n")
	if err != nil {
		return nil, err
	}
	defer s.stop()
	rows, err := compared(ctx, s, peer, []comparison{
		{
			"PostgreSQL, 10 million rows: all columns aggregated", "pg", "pg.public.spiced_bench",
			"SELECT count(*), sum(id), max(customer), sum(amount), max(created) FROM t",
		},
		{
			"PostgreSQL, 10 million rows: a condition without an index", "pg", "pg.public.spiced_bench",
			"SELECT count(*), sum(amount) FROM t WHERE customer = 'customer 77'",
		},
		{"PostgreSQL: a row by key", "pg", "pg.public.spiced_bench", "SELECT customer FROM t WHERE id = 4711"},
		{
			"object store, 10 million rows of Parquet: all columns aggregated", "s3", "'s3://lake/rows.parquet'",
			"SELECT count(*), sum(id), max(customer), sum(amount) FROM t",
		},
		{"object store: one column with a condition", "s3", "'s3://lake/rows.parquet'", "SELECT sum(amount) FROM t WHERE id BETWEEN 5000000 AND 5001000"},
	})
	if err != nil {
		return nil, err
	}
	copies, err := e.copies(ctx, peer, "", []copied{
		{"PostgreSQL, 10 million rows", postgres, "pg.public.spiced_bench"},
		{"object store, 10 million rows of Parquet", s3, "'s3://lake/rows.parquet'"},
	})
	return append(rows, copies...), err
}

// preparePeer makes the sources readable for DuckDB in this process.
func preparePeer(ctx context.Context, peer *sql.DB, connection, extensions, objects string) error {
	for _, sql := range []string{
		"LOAD '" + filepath.Join(extensions, "postgres_scanner.duckdb_extension") + "'", "LOAD '" + filepath.Join(extensions, "httpfs.duckdb_extension") + "'",
		"ATTACH '" + connection + "' AS pg (TYPE postgres, READ_ONLY)",
		"CREATE SECRET (TYPE s3, KEY_ID 'k', SECRET 's', REGION 'us-east-1', ENDPOINT '" + strings.TrimPrefix(objects, "http://") +
			"', URL_STYLE 'path', USE_SSL false)",
	} {
		if _, err := peer.ExecContext(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// inTurns runs both n times in turns, after a first time each, and returns the shortest
// time of the first by that of the second, and the latter.
func inTurns(n int, first, second func() error) (ratio float64, took time.Duration, err error) {
	var best [2]time.Duration
	for i := range n + 1 {
		for j, f := range []func() error{first, second} {
			began := time.Now()
			if err := f(); err != nil {
				return 0, 0, err
			}
			if d := time.Since(began); i > 0 && (best[j] == 0 || d < best[j]) {
				best[j] = d
			}
		}
	}
	return best[0].Seconds() / best[1].Seconds(), best[1], nil
}

func peerQuery(ctx context.Context, db *sql.DB, statement string) error {
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// newObjects serves the rows as one object of the bucket lake.
func newObjects(ctx context.Context, e *env, peer *sql.DB) (*httptest.Server, error) {
	dir := filepath.Join(e.dir, "objects")
	if err := os.MkdirAll(filepath.Join(dir, "lake"), 0o755); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "lake", "rows.parquet")
	if _, err := peer.ExecContext(ctx,
		fmt.Sprintf("COPY (SELECT i AS id, 'customer ' || i %% 1000 AS customer, (i %% 100000)::DECIMAL(10,2) AS amount FROM range(%d) t(i)) TO "+
			"'%s' (FORMAT parquet)", sourceRows, file)); err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	files := http.FileServer(http.Dir(dir))
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("list-type") == "" {
			files.ServeHTTP(w, r)
			return
		}
		type content struct {
			Key  string
			Size int64
		}
		xml.NewEncoder(w).Encode(struct {
			XMLName  xml.Name `xml:"ListBucketResult"`
			Contents content
		}{Contents: content{"rows.parquet", info.Size()}})
	})), nil
}
