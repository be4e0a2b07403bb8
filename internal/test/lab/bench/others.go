package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The variables of benchMySQL and benchLakes: the URL of a MariaDB database in which it may
// make a table, as mysql://user:password@host:port/database, and a folder with a table delta
// of Delta Lake and a table lake/iceberg of Iceberg, each with the columns id, customer and
// amount.
const (
	mysqlVariable = "SPICED_BENCH_MYSQL"
	lakesVariable = "SPICED_BENCH_LAKES"
)

// makeMySQLRows makes a table of ten million rows, or keeps it from an earlier run.
var makeMySQLRows = []string{
	"CREATE TABLE IF NOT EXISTS spiced_bench (id bigint PRIMARY KEY, customer varchar(20), amount decimal(10,2), created datetime)",
	"INSERT IGNORE INTO spiced_bench SELECT seq, concat('customer ', seq % 1000), seq % 100000, '2026-01-01' + INTERVAL seq SECOND FROM seq_1_to_10000000",
}

// comparison is a statement for spiced with FROM t, and what t is there and for DuckDB.
type comparison struct{ what, ours, theirs, statement string }

// compared measures statements through spiced and, in turns, through DuckDB in this process.
func compared(ctx context.Context, s *server, peer *sql.DB, list []comparison) (rows []row, err error) {
	for _, q := range list {
		ratio, ours, err := inTurns(3, func() error {
			return peerQuery(ctx, peer, strings.ReplaceAll(q.statement, "FROM t", "FROM "+q.theirs))
		}, func() error {
			_, err := s.sql(ctx, strings.ReplaceAll(q.statement, "FROM t", "FROM "+q.ours))
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.what, err)
		}
		rows = append(rows, row{q.what + " : DuckDB's extension, speed", fmt.Sprintf("%.2f (%.0f ms)", ratio, ours.Seconds()*1000), "≥ 0.95"})
	}
	return rows, nil
}

// openPeer opens DuckDB in this process with extensions.
func openPeer(ctx context.Context, e *env, name string, extensions ...string) (*sql.DB, error) {
	peer, err := sql.Open("duckdb", filepath.Join(e.dir, name)+"?allow_unsigned_extensions=false")
	if err != nil {
		return nil, err
	}
	for _, extension := range extensions {
		if _, err := peer.ExecContext(ctx, "LOAD '"+filepath.Join(os.Getenv(extensionsVariable), extension+".duckdb_extension")+"'"); err != nil {
			return nil, err
		}
	}
	return peer, nil
}

// serveDatasets serves datasets with the extensions.
func (e *env) serveDatasets(ctx context.Context, name, datasets string) (*server, error) {
	dir := filepath.Join(e.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := writeDatasets(dir, datasets); err != nil {
		return nil, err
	}
	return e.serveFolder(ctx, dir, "--state-dir", filepath.Join(dir, "state"))
}

// benchMySQL reads a MariaDB server.
func benchMySQL(ctx context.Context, e *env) ([]row, error) {
	url := os.Getenv(mysqlVariable)
	if url == "" || os.Getenv(extensionsVariable) == "" {
		return []row{{"MySQL", "not measured: set " + mysqlVariable + " and " + extensionsVariable, ""}}, nil
	}
	peer, err := openPeer(ctx, e, "mysql.db", "mysql_scanner")
	if err != nil {
		return nil, err
	}
	defer peer.Close()
	statements := []string{"ATTACH '" + url + "' AS my (TYPE mysql)"}
	for _, s := range makeMySQLRows {
		statements = append(statements, "CALL mysql_execute('my', '"+strings.ReplaceAll(s, "'", "''")+"')")
	}
	for _, s := range statements {
		if _, err := peer.ExecContext(ctx, s); err != nil {
			return nil, err
		}
	}
	entry := fmt.Sprintf("from: 'mysql:spiced_bench', params: { mysql_connection_string: %q }", url+"?sslmode=disabled")
	s, err := e.serveDatasets(ctx, "mysql", "datasets: [{ name: my, "+entry+" }]\n")
	if err != nil {
		return nil, err
	}
	defer s.stop()
	rows, err := compared(ctx, s, peer, []comparison{
		{"MariaDB, 10 million rows: all columns aggregated", "my", "my.spiced_bench", "SELECT count(*), sum(id), max(customer), sum(amount), max(created) FROM t"},
		{"MariaDB, 10 million rows: a condition without an index", "my", "my.spiced_bench", "SELECT count(*), sum(amount) FROM t WHERE customer = 'customer 77'"},
		{"MariaDB: a row by key", "my", "my.spiced_bench", "SELECT customer FROM t WHERE id = 4711"},
	})
	if err != nil {
		return nil, err
	}
	copies, err := e.copies(ctx, peer, "", []copied{{"MariaDB, 10 million rows", entry, "my.spiced_bench"}})
	return append(rows, copies...), err
}

// benchLakes reads tables of Delta Lake and Iceberg in a folder.
func benchLakes(ctx context.Context, e *env) ([]row, error) {
	folder := os.Getenv(lakesVariable)
	if folder == "" || os.Getenv(extensionsVariable) == "" {
		return []row{{"lakes", "not measured: set " + lakesVariable + " and " + extensionsVariable, ""}}, nil
	}
	peer, err := openPeer(ctx, e, "lakes.db", "httpfs", "delta", "avro", "iceberg")
	if err != nil {
		return nil, err
	}
	defer peer.Close()
	if _, err := peer.ExecContext(ctx, "SET unsafe_enable_version_guessing = true"); err != nil { // of Iceberg
		return nil, err
	}
	delta, iceberg := filepath.Join(folder, "delta"), filepath.Join(folder, "lake", "iceberg")
	roots := fmt.Sprintf("  data_roots: [%q]\n", folder)
	s, err := e.serveDatasets(ctx, "lakes",
		roots+fmt.Sprintf("datasets: [{ name: delta, from: %q }, { name: iceberg, from: %q }]\n", "delta_lake:"+delta, "iceberg:"+iceberg))
	if err != nil {
		return nil, err
	}
	defer s.stop()
	var list []comparison
	var copying []copied
	for _, t := range []struct{ what, name, from, theirs string }{
		{"Delta Lake", "delta", "delta_lake:" + delta, "delta_scan('" + delta + "')"},
		{"Iceberg", "iceberg", "iceberg:" + iceberg, "iceberg_scan('" + iceberg + "', allow_moved_paths = true)"},
	} {
		list = append(list,
			comparison{t.what + ": all columns of all rows aggregated", t.name, t.theirs, "SELECT count(*), sum(id), max(customer), sum(amount) FROM t"},
			comparison{t.what + ": one column with a condition", t.name, t.theirs, "SELECT sum(amount) FROM t WHERE id BETWEEN 5000000 AND 5001000"})
		copying = append(copying, copied{t.what + ", all rows", fmt.Sprintf("from: %q", t.from), t.theirs})
	}
	rows, err := compared(ctx, s, peer, list)
	if err != nil {
		return nil, err
	}
	copies, err := e.copies(ctx, peer, roots, copying)
	return append(rows, copies...), err
}
