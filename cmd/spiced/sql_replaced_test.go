package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/full"
)

// replacedPod is a Spicepod with files that are read as they are, and what reads
// them in every way.
const replacedPod = "version: v1\nkind: Spicepod\nname: replaced\n" + `runtime:
  functions: { enabled: true }
  query: { timeout: 20s%s }
  auth: { api-key: { keys: ["` + readerKey + `"] } }
functions:
  - { name: longest, from: sql, signature: { args: [{ name: least, type: int64 }], returns: utf8 }, body: (SELECT max(val)::VARCHAR FROM p WHERE a >= least) }
  - name: p_from
    from: sql
    signature: { args: [{ name: least, type: int64 }], returns: [{ name: a, type: int64 }, { name: val, type: utf8 }] }
    body: SELECT a, val::VARCHAR AS val FROM p WHERE a >= least
datasets:
  - { name: p, from: "file:p.parquet" }
  - { name: c, from: "file:c.csv" }
views:
  - { name: pv, sql: "SELECT val, s, l FROM p" }
  - { name: cv, sql: "SELECT *, val AS again FROM c" }
`

var replacedSelects = []string{
	"SELECT val FROM p", "SELECT * FROM p", "SELECT l, s FROM p", "SELECT * FROM pv", "SELECT max(val) AS m FROM p",
	"SELECT longest(0) AS v", "SELECT * FROM p_from(0)", "SELECT * FROM c", "SELECT val, again FROM cv",
}

// fileVersions are what the files have, one after the other: for the Parquet
// file a SELECT, for the CSV its text. All have the columns a and val.
var fileVersions = [][2]string{
	{"SELECT 1 AS a, 'hello' AS val, {'x': 1, 'y': 'u'} AS s, [1, 2] AS l", "a,val\n1,hello\n"},
	{"SELECT 1 AS a, 7::BIGINT AS val, {'x': 'a text, longer than twelve bytes', 'y': 'u'} AS s, ['a text, longer than twelve bytes'] AS l", "a,val\n1,7\n"},
	{
		"SELECT 1 AS a, 'x1, and longer than twelve bytes' AS val, {'x': 1::HUGEINT, 'y': 2.5, 'z': [1]} AS s, [{'k': 'v'}, NULL] AS l",
		"a,val\n1,\"x1, and longer than twelve bytes\"\n",
	},
	{"SELECT 1 AS a, 1.25::DECIMAL(9, 2) AS val, {'y': 'u', 'w': 1} AS s, [2.5::DOUBLE] AS l, 'more' AS added", "a,val,added\n1,2.5,more\n"},
	{"SELECT true AS val, 1 AS a, MAP {'k': 1} AS s, 5 AS l", "val,a\ntrue,1\n"},
	{"SELECT 1 AS a, TIMESTAMP '2024-02-29 13:14:15' AS val, 'text' AS s, NULL AS l", "a,other,val\n1,2,13:14:15\n"},
}

// replaceFiles writes version v of the folder's files, at once.
func replaceFiles(t *testing.T, dir string, v int) {
	t.Helper()
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	parquet, csv := filepath.Join(dir, "p.new"), filepath.Join(dir, "c.new")
	if err := db.Exec(t.Context(), fmt.Sprintf("COPY (%s) TO '%s' (FORMAT parquet)", fileVersions[v][0], parquet)); err != nil {
		t.Fatal(err)
	}
	write(t, csv, fileVersions[v][1])
	for from, to := range map[string]string{parquet: "p.parquet", csv: "c.csv"} {
		if err := os.Rename(from, filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
}

// replacedClient runs a statement and returns what to compare. changed reports
// whether an error says that the columns have changed.
type replacedClient struct {
	ask     func(sql string) (string, error)
	changed func(error) bool // nil: it must not happen
}

// TestSQLReplacedFiles replaces files by ones with other columns while sessions
// have prepared statements that read them. Every client must get what the same
// statement gives in a text that is new, or an error that its columns have
// changed if these were announced before.
func TestSQLReplacedFiles(t *testing.T) {
	t.Parallel()
	for name, isolation := range map[string]string{"in process": "", "isolated": ", isolation: process, isolate: all, workers: 2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, "spicepod.yaml", fmt.Sprintf(replacedPod, isolation))
			replaceFiles(t, dir, 0)
			p := startProcess(t, dir, sqlProtocols("--watch=false")...)
			clients := replacedClients(t, p)
			for v := range full.Size(3, len(fileVersions)) {
				if v > 0 {
					replaceFiles(t, dir, v)
				}
				for client, c := range clients {
					for _, sql := range replacedSelects {
						c.check(t, fmt.Sprintf("%s, version %d", client, v), sql, v)
					}
				}
			}
		})
	}
}

func (c replacedClient) check(t *testing.T, client, sql string, v int) {
	t.Helper()
	want, wantErr := c.ask(fmt.Sprintf("%s -- %d", sql, v))
	for attempt := range 2 {
		got, err := c.ask(sql)
		if attempt == 0 && err != nil && c.changed != nil && c.changed(err) {
			continue
		}
		if got != want || (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %s\ngave %q, %v\nwant %q, %v", client, sql, got, err, want, wantErr)
		}
	}
}

// replacedClients are the clients by name. Those with sessions keep them.
func replacedClients(t *testing.T, p *program) map[string]replacedClient {
	t.Helper()
	post := func(accept string) replacedClient {
		return replacedClient{ask: func(sql string) (string, error) {
			r := p.do("POST", "/v1/sql", sql, "X-API-Key", readerKey, "Accept", accept, "Cache-Control", "no-cache")
			if r.status != 200 {
				return "", errors.New(r.body)
			}
			return r.body, nil
		}}
	}
	clients := map[string]replacedClient{"json": post("application/json"), "arrow": post("application/vnd.apache.arrow.stream")}
	for _, mode := range []string{"cache_statement", "cache_describe", "simple_protocol"} {
		conn := pgxConnect(t, p, readerKey, "sslmode=disable&default_query_exec_mode="+mode)
		clients[mode] = replacedClient{func(sql string) (string, error) {
			rows, err := conn.Query(t.Context(), sql)
			if err != nil {
				return "", err
			}
			defer rows.Close()
			var out strings.Builder
			for rows.Next() {
				for i, f := range rows.FieldDescriptions() {
					fmt.Fprintf(&out, "%s %d", f.Name, f.DataTypeOID)
					if mode != "cache_describe" { // which asks for text or binary by the columns of before
						fmt.Fprintf(&out, " %d %q", f.Format, rows.RawValues()[i])
					}
					out.WriteString("\n")
				}
			}
			return out.String(), rows.Err()
		}, func(err error) bool {
			var e *pgconn.PgError
			return errors.As(err, &e) && (mode == "cache_statement" && e.Code == "0A000" ||
				mode == "cache_describe" && e.Code == "08P01") // it asks for more or fewer columns than there are
		}}
	}
	c := flightConnect(t, p, readerKey, insecure.NewCredentials())
	clients["flight"] = replacedClient{ask: c.query}
	clients["flight, prepared"] = preparedClient(c)
	return clients
}

// preparedClient prepares each statement once, and again when its columns have
// changed.
func preparedClient(c flightSQL) replacedClient {
	handles := map[string]func() (string, error){}
	changed := func(err error) bool {
		return status.Code(err) == codes.FailedPrecondition && strings.Contains(err.Error(), "columns of the result have changed")
	}
	return replacedClient{func(sql string) (string, error) {
		if handles[sql] == nil {
			prepared, err := c.Prepare(c.ctx, sql)
			if err != nil {
				return "", err
			}
			handles[sql] = func() (string, error) { return c.read(prepared.Execute(c.ctx)) }
		}
		text, err := handles[sql]()
		if err != nil {
			delete(handles, sql)
		}
		return text, err
	}, changed}
}

// TestSQLAnnouncedColumnsChange replaces the files between the moment when
// columns are announced and the one when rows are asked for.
func TestSQLAnnouncedColumnsChange(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", fmt.Sprintf(replacedPod, ""))
	replaceFiles(t, dir, 0)
	p := start(t, dir, sqlProtocols("--watch=false")...)
	const sql = "SELECT * FROM c"
	c := flightConnect(t, p, readerKey, insecure.NewCredentials())
	info, err := c.Execute(c.ctx, sql)
	if err != nil {
		t.Fatal(err)
	}
	prepared, err := c.Prepare(c.ctx, sql)
	if err != nil {
		t.Fatal(err)
	}
	pg := pgxConnect(t, p, readerKey, "sslmode=disable")
	if _, err := pg.Prepare(t.Context(), "named", sql); err != nil {
		t.Fatal(err)
	}
	for v, content := range []string{"a,val\n1,2\n", "a,renamed\n1,hello\n", "a\n1\n", "a,val,c\n1,hello,2\n"} {
		write(t, filepath.Join(dir, "c.new"), content)
		if err := os.Rename(filepath.Join(dir, "c.new"), filepath.Join(dir, "c.csv")); err != nil {
			t.Fatal(err)
		}
		_, err := c.read(info, nil)
		wantStatus(t, err, codes.FailedPrecondition, "the columns of the result have changed")
		_, err = c.read(prepared.Execute(c.ctx))
		wantStatus(t, err, codes.FailedPrecondition, "the columns of the result have changed")
		rows, err := pg.Query(t.Context(), "named")
		if err == nil {
			rows.Close()
			err = rows.Err()
		}
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Code != "0A000" && e.Code != "08P01" {
			t.Errorf("version %d over PostgreSQL: %v", v, err)
		}
	}
}
