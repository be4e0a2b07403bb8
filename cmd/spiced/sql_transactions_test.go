package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/clients"
)

// startTransactions serves the shop, and a second file of DuckDB that may be written.
func startTransactions(t *testing.T) *program {
	t.Helper()
	dir := shop(t)
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, sql := range []string{"ATTACH '" + filepath.Join(dir, "stock.db") + "' AS stock", "CREATE TABLE stock.main.stock (id INTEGER)", "DETACH stock"} {
		if err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	pod := shopPod + "  - { name: stock, from: \"duckdb:stock.db\", access: read_write }\n"
	if err := os.WriteFile(filepath.Join(dir, "spicepod.yaml"), []byte(pod), 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, dir, sqlProtocols()...)
}

// TestSQLTransactions has the default modes of clients, which begin a transaction with the
// first statement.
func TestSQLTransactions(t *testing.T) {
	t.Parallel()
	for client, module := range map[string]string{"psycopg": "psycopg", "psycopg2": "psycopg2", "asyncpg": "asyncpg"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			python := pythonWith(t, module)
			p := startTransactions(t)
			file := map[bool]string{true: "transactions-asyncpg.txt", false: "transactions.txt"}[client == "asyncpg"]
			wantSession(t, file, libpq(t, p, writerKey), python, "transactions.py", client)
		})
	}
	t.Run("sqlalchemy", func(t *testing.T) {
		t.Parallel()
		python := clients.Find(t, "PYTHON", "python/bin/python")
		p := startTransactions(t)
		wantSession(t, "transactions-sqlalchemy.txt", libpq(t, p, writerKey), python, "transactions.py", "sqlalchemy")
	})
	t.Run("adbc", func(t *testing.T) {
		t.Parallel()
		python := clients.Find(t, "PYTHON", "python/bin/python")
		p := startTransactions(t)
		wantSession(t, "transactions-adbc.txt", append(libpq(t, p, writerKey), "FLIGHT="+p.address("flight")), python, "transactions.py", "adbc")
	})
	t.Run("jdbc", func(t *testing.T) {
		t.Parallel()
		java := clients.Installed(t, "JDBC", "java", jdk)
		clients.Installed(t, "JDBC", "javac", jdk)
		if _, err := os.Stat(jdbcDriver); err != nil {
			t.Skipf("JDBC IS NOT TESTED: install libpostgresql-jdbc-java: %v", err)
		}
		p := startTransactions(t)
		wantSession(t, "transactions-jdbc.txt", nil, java, "-cp", jdbcDriver, "Transactions.java", "jdbc:postgresql://"+p.address("postgres")+"/spice", writerKey)
	})
}
