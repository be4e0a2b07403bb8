package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/clients"
	"github.com/spiced-sql/spiced/internal/test/reserve"
)

// statesTable is the table of testdata/sqlclients/states.sql.
const statesTable = "t (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, n SMALLINT CHECK (n < 100), d DATE, ts TIMESTAMP, price DECIMAL(6,2), UNIQUE (name, n))"

const statesRow = "INSERT INTO t VALUES (1, 'one', 1, NULL, NULL, 1.5)"

// TestSQLStates: wrong statements have the SQLSTATEs that PostgreSQL gives them,
// which a real PostgreSQL confirms where there is one.
func TestSQLStates(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", "version: v1\nkind: Spicepod\nname: states\n"+
		"runtime: { auth: { api-key: { keys: ["+writerKey+":rw] } } }\ndatasets:\n  - { name: t, from: \"duckdb:states.db\", access: read_write }\n")
	duckFile(t, filepath.Join(dir, "states.db"), "CREATE TABLE f."+statesTable, strings.Replace(statesRow, "INTO t", "INTO f.t", 1))
	p := start(t, dir, sqlProtocols()...)
	t.Run("spiced", func(t *testing.T) {
		wantStates(t, pgxConnect(t, p, writerKey, "sslmode=disable"), func(line string) string {
			state, _, _ := strings.Cut(line, ",")
			return state
		})
	})
	t.Run("postgres", func(t *testing.T) {
		c := realPostgres(t)
		if _, err := c.Exec(t.Context(), "CREATE TABLE "+statesTable+"; "+statesRow, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
		wantStates(t, c, func(line string) string {
			state, theirs, _ := strings.Cut(line, ", PostgreSQL ")
			if theirs != "" {
				return theirs
			}
			return state
		})
	})
}

// wantStates runs the statements of states.sql, whose comments have the states.
func wantStates(t *testing.T, c *pgx.Conn, want func(line string) string) {
	t.Helper()
	line := ""
	for text := range strings.Lines(read(t, sqlSessions+"/states.sql")) {
		text = strings.TrimSpace(text)
		if comment, is := strings.CutPrefix(text, "-- "); is {
			line = comment
			continue
		}
		_, err := c.Exec(t.Context(), text, pgx.QueryExecModeSimpleProtocol)
		got := "00000"
		var e *pgconn.PgError
		if errors.As(err, &e) {
			got = e.Code
		} else if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got != want(line) {
			t.Errorf("%s: got %s, %v; want %s", text, got, err, want(line))
		}
	}
}

// duckFile runs statements on a new DuckDB file, which they know as f.
func duckFile(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, sql := range append(append([]string{"ATTACH '" + path + "' AS f"}, statements...), "DETACH f") {
		if err := db.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// realPostgres starts a PostgreSQL server with an empty database.
func realPostgres(t *testing.T) *pgx.Conn {
	t.Helper()
	clients.Need(t, "A REAL POSTGRESQL")
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(found) == 0 {
		t.Skip("A REAL POSTGRESQL IS NOT TESTED: /usr/lib/postgresql has no version: install postgresql")
	}
	bin := found[len(found)-1]
	dir, err := os.MkdirTemp("", "spiced-pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var as *syscall.Credential
	if os.Getuid() == 0 { // it refuses to run as root
		as = &syscall.Credential{Uid: 65534, Gid: 65534}
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: as}
		return cmd
	}
	if out, err := command("initdb", "-D", dir+"/data", "-A", "trust", "-U", "spice", "--no-sync", "-E", "UTF8").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	port := strconv.Itoa(reserve.Port(reserve.Address(t)))
	server := command("postgres", "-D", dir+"/data", "-k", dir, "-h", "", "-p", port, "-F")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Signal(syscall.SIGQUIT) //nolint:errcheck // it is gone then
		server.Wait()                          //nolint:errcheck // it was ended
	})
	var c *pgx.Conn
	(&program{t: t, log: &logged{}}).eventually("a real PostgreSQL", func() bool {
		c, err = pgx.Connect(t.Context(), "host="+dir+" port="+port+" user=spice dbname=postgres")
		return err == nil
	})
	t.Cleanup(func() { c.Close(t.Context()) })
	return c
}
