package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/full"
)

// hostilePod is the Spicepod that testdata/hostile speaks of, with a key that
// may read and one that may write.
const hostilePod = `version: v2
kind: Spicepod
name: hostile
runtime:
  functions: { enabled: true }
  tools: { limits: { timeout: 300ms } }
  query: { timeout: 300ms, memory_limit: 512MB, max_concurrent_queries: 16 }
  caching: { sql_results: { enabled: false } }
  audit: { mode: "off" }
  auth:
    api-key:
      principals:
        - { name: reader, key: reader-key-0123456789 }
        - { name: writer, key: "writer-key-0123456789:rw" }
datasets:
  - { name: k, from: "file:k.csv", acceleration: { enabled: true } }
  - { name: orders, from: "duckdb:att.db/o", access: read_write }
  - { name: '"private orders"', from: "duckdb:att.db/o", row_filter: "id > 1" }
  - { name: stock, from: "duckdb:att.db/s" }
functions:
  - name: twice
    from: sql
    signature: { args: [{ name: x, type: float64 }], returns: float64 }
    body: x + x
  - name: tab
    kind: table
    from: sql
    signature:
      tables: [{ name: t, columns: [{ name: i, type: int64 }] }]
      args: [{ name: n, type: int64 }]
      returns: [{ name: i, type: int64 }, { name: n, type: int64 }]
    body: SELECT i, (SELECT n FROM args) AS n FROM t
`

// hostileFolder is the Spicepod's folder: k, and a database with orders, stock
// and a table that is not declared.
func hostileFolder(t *testing.T) string {
	t.Helper()
	var k strings.Builder
	k.WriteString("i\n")
	for i := range 100 {
		fmt.Fprintln(&k, i)
	}
	dir := folder(t, "spicepod.yaml", hostilePod, "k.csv", k.String(), "in.csv", "a\n1\n")
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, sql := range []string{
		"ATTACH " + engine.Literal(filepath.Join(dir, "att.db")) + " AS att",
		"CREATE TABLE att.main.secret AS SELECT 42 AS secret",
		"CREATE TABLE att.main.o (id BIGINT, name VARCHAR DEFAULT 'new', price DOUBLE, PRIMARY KEY (id))",
		"INSERT INTO att.main.o VALUES (1, 'one', 1.5), (2, 'two', 2.5), (3, 'three', NULL)",
		"CREATE TABLE att.main.s AS SELECT 7::BIGINT AS id, 'bolt' AS name",
		"DETACH att",
	} {
		if err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// attack is an entry of testdata/hostile.
type attack struct {
	file string
	want string // "ok", or a pattern of codes with ": " and text
	sql  string
}

// readCorpus reads testdata/hostile; see the README there.
func readCorpus(t *testing.T, root string) []attack {
	t.Helper()
	files, err := filepath.Glob("../../testdata/hostile/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal("no hostile statements", err)
	}
	expand := strings.NewReplacer(`\\`, `\`, `\r`, "\r", "{ROOT}", root)
	var all []attack
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(f), ".sql")
		for _, entry := range strings.Split("\n"+string(text), "\n-- want: ")[1:] {
			want, sql, _ := strings.Cut(entry, "\n")
			all = append(all, attack{name, want, expand.Replace(strings.TrimSuffix(sql, "\n"))})
		}
	}
	return all
}

// reaction is how long an answer may take beyond the limit of statements, on a
// busy machine.
const reaction = 10 * time.Second

// TestHostileStatementsOnEveryProtocol sends every statement that must not get
// through to every protocol, as somebody who may read. Each is refused by a code
// of the protocol's, the protocol goes on, and no file changes.
func TestHostileStatementsOnEveryProtocol(t *testing.T) {
	dir := hostileFolder(t)
	all := readCorpus(t, dir)
	if len(all) < 1400 {
		t.Errorf("the corpus has only %d statements", len(all))
	}
	t.Chdir(dir) // a file that is named without a folder would be made here
	p := start(t, dir, sqlProtocols("--log-level", "info", "--watch=false")...)
	before := snapshot(t, dir)
	t.Run("protocols", func(t *testing.T) {
		for _, protocol := range p.protocolsFor("reader", readerKey) {
			t.Run(protocol.name, func(t *testing.T) {
				t.Parallel() // most of the time, endless statements wait for their limit
				p := *p
				p.t = t
				sent := sample(all)
				for _, a := range sent {
					if fault := attackBy(protocol, a); fault != nil {
						t.Errorf("%s: %.200q\n\t%v", a.file, a.sql, fault)
					}
					if a.file == "endless" || a.file == "memory" {
						p.recovers(protocol)
					}
				}
				checkProtocol(t, protocol)
				t.Logf("%d statements", len(sent))
			})
		}
	})
	if after := snapshot(t, dir); !maps.Equal(before, after) {
		t.Errorf("files have changed\nbefore %v\nafter  %v", before, after)
	}
	if got := p.do("POST", "/v1/sql", "SELECT count(*) AS n, sum(id) AS id FROM orders", "X-API-Key", writerKey).body; got != `[{"n":3,"id":6}]` {
		t.Errorf("orders has changed: %s", got)
	}
	if got := p.metric("spiced_http_panics_total"); got != "0" {
		t.Errorf("%s panics", got)
	}
	if strings.Contains(p.log.String(), `"level":"ERROR"`) {
		t.Errorf("errors in the log:\n%s", p.log)
	}
}

// sample leaves out most of the statements where time is short.
func sample(all []attack) []attack {
	if full.Test() {
		return all
	}
	var some []attack
	for i, a := range all {
		if i%10 == 0 && a.file != "endless" && a.file != "memory" {
			some = append(some, a)
		}
	}
	return some
}

// attackBy sends a statement to a protocol and says what is wrong with the answer.
func attackBy(protocol sqlProtocol, a attack) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	wanted := a.wanted(protocol)
	var got outcome
	for range 5 {
		began := time.Now()
		got = protocol.run(ctx, a.sql)
		if took := time.Since(began); took > reaction {
			return fmt.Errorf("took %s", took)
		}
		if wanted.MatchString(string(errcode.Timeout)) || !slices.Contains(got.codes, errcode.Timeout) {
			break
		} // else a busy machine took the limit's time to judge it
	}
	switch {
	case got.fault:
		return fmt.Errorf("a fault: %s", got)
	case got.err == nil && a.want != "ok" && !a.harmless(protocol):
		return fmt.Errorf("was allowed; want %s", wanted)
	case a.harmless(protocol) && slices.Contains(got.codes, errcode.Timeout): // it would have been answered
	case got.err != nil && !slices.ContainsFunc(got.codes, func(c errcode.Code) bool { return wanted.MatchString(string(c)) }):
		return fmt.Errorf("got %s; want %s", got, wanted)
	}
	return nil
}

// wanted are the codes with which a protocol may refuse the statement.
func (a attack) wanted(protocol sqlProtocol) *regexp.Regexp {
	codes, _, _ := strings.Cut(a.want, ": ")
	switch {
	case a.file == "changes": // its codes are those of a caller who may write
		codes = "refused|parse_error"
	case strings.Contains(a.sql, "tab("): // the Spicepod's own takes a table with one BIGINT
		codes += "|invalid_argument"
	case protocol.postgres && strings.Contains(strings.ToLower(a.sql), "current_setting"): // it has one of the session's settings
		codes += "|execution_error|invalid_argument"
	case protocol.postgres && (a.file == "multi" || a.file == "quotes"): // the first of several statements is judged by itself
		codes += "|not_found"
	}
	return regexp.MustCompile("^(" + codes + ")$")
}

// harmless reports whether the statement, which is refused elsewhere, may be
// answered.
func (a attack) harmless(protocol sqlProtocol) bool {
	list := harmlessEverywhere
	if protocol.postgres {
		list = slices.Concat(list, harmlessInPostgres)
	}
	return slices.ContainsFunc(list, func(h harmless) bool { return slices.Contains(h.statements, a.sql) })
}

// harmless are statements that a protocol answers, and why that does no harm.
type harmless struct {
	why        string
	statements []string
}

// harmlessEverywhere are the statements of testdata/hostile that every protocol answers
// where PostgreSQL is served.
var harmlessEverywhere = []harmless{
	{"the catalog that clients read lists what is declared", []string{
		"SELECT * FROM information_schema.tables", `FROM "information_schema"."tables"`, "SELECT * FROM information_schema.schemata",
		"FROM information_schema.columns", "FROM information_schema.views", "FROM information_schema.character_sets",
		"SELECT * FROM pg_catalog.pg_class", "SELECT * FROM pg_tables", "FROM pg_catalog.pg_proc", "FROM pg_settings", "FROM pg_views",
		"FROM pg_namespace", "FROM pg_am", "FROM spice.information_schema.tables", "FROM spice.pg_catalog.pg_class",
	}},
	{"pg_catalog and information_schema hold what is declared for those who write so", []string{
		"SELECT pg_catalog.twice(1)", "SELECT information_schema.twice(1)",
	}},
}

// harmlessInPostgres are the statements of testdata/hostile that the protocol of
// the PostgreSQL protocol answers.
var harmlessInPostgres = []harmless{
	{"the connection has a transaction state only: every statement is a separate transaction", []string{
		"BEGIN", "BEGIN TRANSACTION", "BEGIN TRANSACTION READ ONLY", "BEGIN READ WRITE", "START TRANSACTION", "START TRANSACTION READ ONLY",
		"COMMIT", "COMMIT TRANSACTION", "END", "ROLLBACK", "ROLLBACK TRANSACTION", "ABORT",
	}},
	{"settings are the connection's, for its client to read again; the engine never hears of them", []string{
		"SET LOCAL threads = 1", // without a transaction it sets nothing
		"SET TIME ZONE 'UTC'", "SET search_path = 'att'", "SET search_path = 'spice.core'", "RESET search_path", "SHOW search_path",
	}},
	{"prepared statements and what is listened to are the connection's, and end with it", []string{"DEALLOCATE ALL", "DISCARD ALL", "LISTEN x"}},
	{"no statement at all is the empty one, as in PostgreSQL", []string{
		"/* x", "-- only a comment", "/* only */", "   ", ";", ";;;", "\u00a0",
	}},
	{"a simple query may hold several statements, and each is judged by itself", []string{"SELECT 1; SELECT 2"}},
	{"a parameter that is bound is no fault; these tests bind NULL", []string{"SELECT $1"}},
	{"the functions of the catalog are the protocol's own and know what the catalog says", []string{
		"SELECT inet_server_addr()", "SELECT pg_postmaster_start_time()", "SELECT pg_get_expr('x', 1)", "SELECT pg_get_constraintdef(1)",
		"SELECT pg_get_viewdef(1)",
		"DESCRIBE SELECT current_setting('threads')", "SELECT max(i ORDER BY current_setting('threads')) FROM k", // both without a call of it
	}},
}

// recovers waits until the protocol answers again: a statement that cannot be
// interrupted may hold the memory for a moment after its time limit.
func (p *program) recovers(protocol sqlProtocol) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	p.eventually("to answer by "+protocol.name, func() bool {
		return protocol.run(ctx, "SELECT max(i) FROM k").err == nil && p.metric("spiced_engine_statements_abandoned") == "0"
	})
}

// checkProtocol says whether the protocol still answers.
func checkProtocol(t *testing.T, protocol sqlProtocol) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got outcome
	for range 5 { // a busy machine may take longer than the limit
		if got = protocol.run(ctx, "SELECT twice(i) FROM k"); got.err == nil {
			return
		}
	}
	t.Errorf("afterwards: %s", got)
}

// snapshot is every file below a folder, and what is in it.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = fmt.Sprintf("%d bytes, %x", len(text), sha256.Sum256(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
