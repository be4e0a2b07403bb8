package main

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/clients"
)

// keyedPod is a Spicepod with tables that have constraints.
const keyedPod = "version: v1\nkind: Spicepod\nname: keyed\n" + `runtime:
  functions: { enabled: true }
  auth: { api-key: { keys: ["` + readerKey + `", "` + writerKey + `:rw"] } }
functions:
  - { name: twice, from: sql, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: x * 2 }
datasets:
  - { name: customers, from: "duckdb:shop.db", access: read_write }
  - { name: orders, from: "duckdb:shop.db", access: read_write }
  - { name: wares, from: "duckdb:shop.db", columns: [{ name: id, description: The number of the ware. }] }
`

// keyed makes a folder with keyedPod and the file of the tables.
func keyed(t *testing.T) string {
	t.Helper()
	dir := folder(t, "spicepod.yaml", keyedPod)
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tables := strings.Join([]string{
		"ATTACH '" + filepath.Join(dir, "shop.db") + "' AS shop",
		"USE shop", // a foreign key is in the current database
		"CREATE TABLE customers (id INTEGER PRIMARY KEY, email VARCHAR NOT NULL UNIQUE, born DATE)",
		`CREATE TABLE orders (id BIGINT PRIMARY KEY, customer_id INTEGER REFERENCES customers(id),
			amount DECIMAL(10, 2) NOT NULL, note VARCHAR DEFAULT 'none', UNIQUE (customer_id, note))`,
		"CREATE TABLE wares AS SELECT 7 AS id, 'cup' AS name",
		"INSERT INTO customers VALUES (1, 'ann@x', DATE '2000-02-29'), (2, 'bob@x', NULL)",
		"INSERT INTO orders VALUES (1, 1, 9.5, 'first')",
		"USE memory",
		"DETACH shop",
	}, ";\n")
	if err := db.Exec(t.Context(), tables); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestPythonTools has sessions of what Python's programs for data are made on,
// with tables that may be written.
func TestPythonTools(t *testing.T) {
	t.Parallel()
	for _, which := range []string{"pg8000", "sqlalchemy", "pandas", "polars", "adbc", "pyarrow", "pgcli"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			python := clients.Find(t, "PYTHON", "python/bin/python")
			p := start(t, keyed(t), sqlProtocols()...)
			env := append(libpq(t, p, writerKey), "FLIGHT="+p.address("flight"))
			wantSession(t, which+".txt", env, python, "tools.py", which)
		})
	}
}

const dbtProfile = `shop:
  target: test
  outputs:
    test: { type: postgres, host: "%s", port: %s, user: ann, password: ` + readerKey + `, dbname: spice, schema: public }
`

// TestDBT has dbt try its connection, and show what a model reads. It cannot run
// models: it would create tables.
func TestDBT(t *testing.T) {
	t.Parallel()
	dbt := clients.Find(t, "DBT", "dbt/bin/dbt")
	p := start(t, keyed(t), sqlProtocols()...)
	host, port, err := net.SplitHostPort(p.address("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t, "profiles.yml", fmt.Sprintf(dbtProfile, host, port),
		"dbt_project.yml", "{ name: shop, version: '1.0', profile: shop, model-paths: ['.'] }",
		"buyers.sql", "SELECT c.email, twice(o.id) AS twofold FROM customers AS c JOIN orders AS o ON o.customer_id = c.id")
	env := []string{"DBT_SEND_ANONYMOUS_USAGE_STATS=false", "DBT_TARGET_PATH=" + t.TempDir()}
	for _, call := range []struct {
		args   []string
		status int
		want   []string
	}{
		{[]string{"debug"}, 0, []string{"Connection test: [OK connection ok]", "All checks passed!"}},
		{[]string{"show", "--select", "buyers"}, 0, []string{"| email | twofold |", "| ann@x |       2 |"}},
		{[]string{"run"}, 1, []string{"CREATE statements are refused"}},
	} {
		status, out := session(t, env, dbt, append(call.args, "--no-use-colors", "--project-dir", dir, "--profiles-dir", dir, "--log-path", dir)...)
		if status != call.status {
			t.Errorf("dbt %s: status %d, want %d:\n%s", call.args, status, call.status, out)
		}
		for _, want := range call.want {
			if !strings.Contains(out, want) {
				t.Errorf("dbt %s: want %q in\n%s", call.args, want, out)
			}
		}
	}
}
