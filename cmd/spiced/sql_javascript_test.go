package main

import (
	"encoding/json"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/golden"
)

// sqlScript runs a script of sqlSessions with the clients for JavaScript, and
// compares what it prints with a golden file.
func sqlScript(t *testing.T, script, file string, options map[string]any) {
	t.Helper()
	argument, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	dir := jsPackages(t, sqlSessions)
	node, err := findNode(dir)
	if err != nil {
		t.Skipf("THE JAVASCRIPT CLIENTS ARE NOT TESTED: %v: install nodejs", err)
	}
	out, status := peers{dir, node}.run(t, jsScript(t, dir, sqlSessions+"/"+script), string(argument))
	if status != 0 {
		t.Fatalf("%s: status %d: %s", script, status, out)
	}
	golden.Equal(t, filepath.Join(sqlSessions, file), out)
}

// TestSQLJavaScriptPostgres has a session of node-postgres.
func TestSQLJavaScriptPostgres(t *testing.T) {
	t.Parallel()
	p := startSQL(t)
	host, port, err := net.SplitHostPort(p.address("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	sqlScript(t, "pg.mjs", "pg.txt", map[string]any{
		"url": p.url, "host": host, "port": json.Number(port), "database": "spice", "password": readerKey,
	})
}

// TestSQLJavaScriptSpice has a session of Spice's client over HTTP: it sends no
// key by Flight that is not encrypted.
func TestSQLJavaScriptSpice(t *testing.T) {
	t.Parallel()
	p := startSQL(t)
	sqlScript(t, "spice.mjs", "spice.txt", map[string]any{"httpUrl": p.url, "flightUrl": p.address("flight"), "apiKey": writerKey})
}

// TestSQLJavaScriptSpiceFlight has a session of Spice's client over encrypted
// Flight, and over Flight that is not, without keys.
func TestSQLJavaScriptSpiceFlight(t *testing.T) {
	t.Parallel()
	t.Run("tls", func(t *testing.T) {
		t.Parallel()
		p := startEncrypted(t)
		sqlScript(t, "spice-flight.mjs", "spice-flight-tls.txt", map[string]any{
			"flightUrl": p.address("flight"), "flightTlsEnabled": true, "tlsRootCertFile": p.root, "apiKey": readerKey,
		})
	})
	t.Run("plain", func(t *testing.T) {
		t.Parallel()
		p := start(t, sqlPodWith(t, withoutKeys), sqlProtocols()...)
		sqlScript(t, "spice-flight.mjs", "spice-flight.txt", map[string]any{
			"flightUrl": p.address("flight"), "flightTlsEnabled": false,
		})
	})
}

// withoutKeys is a Spicepod's text without runtime.auth, which ends runtime.
func withoutKeys(pod string) string {
	before, rest, _ := strings.Cut(pod, "  auth:\n")
	_, after, _ := strings.Cut(rest, "\ndatasets:\n")
	return before + "\ndatasets:\n" + after
}

// TestSQLJavaScriptKnex has a session of Knex, which writes.
func TestSQLJavaScriptKnex(t *testing.T) {
	t.Parallel()
	p := start(t, keyed(t), sqlProtocols()...)
	host, port, err := net.SplitHostPort(p.address("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	sqlScript(t, "knex.mjs", "knex.txt", map[string]any{"host": host, "port": json.Number(port), "database": "spice", "password": writerKey})
}

// TestSQLJavaScriptDrizzle has drizzle-kit write the schema of the tables that it sees.
func TestSQLJavaScriptDrizzle(t *testing.T) {
	t.Parallel()
	packages := jsPackages(t, sqlSessions)
	node, err := findNode(packages)
	if err != nil {
		t.Skipf("DRIZZLE-KIT IS NOT TESTED: %v: install nodejs", err)
	}
	p := start(t, keyed(t), sqlProtocols()...)
	dir := folder(t, "drizzle.config.json", `{"dialect": "postgresql", "out": "./pulled", "dbCredentials": {"url": "postgresql://ann:`+readerKey+"@"+
		p.address("postgres")+`/spice"}}`)
	cmd := exec.CommandContext(t.Context(), node, filepath.Join(packages, "node_modules/drizzle-kit/bin.cjs"), "pull", "--config", "drizzle.config.json")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	tables := strings.Split(strings.TrimSpace(read(t, filepath.Join(dir, "pulled/schema.ts"))), "\n\nexport ")
	for i := range tables {
		tables[i] = strings.TrimSpace(tables[i])
	}
	tables = tables[1:] // without the imports
	slices.Sort(tables) // they come in the order in which they were fetched
	golden.Equal(t, filepath.Join(sqlSessions, "drizzle.txt"), strings.Join(tables, "\n\n")+"\n")
}
