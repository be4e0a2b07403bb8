package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/test/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB) *DB { return openWith(t, Options{}) }

func openWith(t testing.TB, opts Options) *DB {
	t.Helper()
	db, err := Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func publish(t testing.TB, db *DB, cat *Catalog, sqls ...string) {
	t.Helper()
	if err := db.Publish(context.Background(), cat, execAll(sqls...)); err != nil {
		t.Fatal(err)
	}
}

func execAll(sqls ...string) func(*Tx) error {
	return func(tx *Tx) error {
		for _, s := range sqls {
			if err := tx.Exec(s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	}
}

// twice, tab and pair are the declared functions most tests use.
var (
	twice = &Function{
		Name: "twice", Signature: "twice(x float64) → float64",
		Args: []FunctionArg{{Name: "x", Type: "DOUBLE", Numeric: true}}, Once: true,
	}
	same = &Function{
		Name: "same", Signature: "same(a float64, b utf8) → float64", Once: true,
		Args: []FunctionArg{{Name: "a", Type: "DOUBLE", Numeric: true}, {Name: "b", Type: "VARCHAR"}},
	}
	tab = &Function{
		Name: "tab", Signature: "tab(t table, n int64) → table", Table: true,
		Args: []FunctionArg{{Name: "t", Table: true}, {Name: "n", Type: "BIGINT", Numeric: true}},
	}
	fixtureSQL = []string{
		"CREATE FUNCTION spice.public.twice(x DOUBLE) AS CAST((x + x) AS DOUBLE)",
		// same is 0 unless an argument was evaluated twice.
		"CREATE FUNCTION spice.public.same(a DOUBLE, b VARCHAR) AS CAST((a - a) + (length(b) - length(b)) AS DOUBLE)",
		"CREATE FUNCTION spice.public.tab(t, n) AS TABLE SELECT *, n AS n FROM query_table(t)",
		"CREATE TABLE spice.public.hidden AS SELECT 42 AS secret",
		"CREATE TABLE spice.public.keys AS SELECT 42 AS secret",
		"CREATE TABLE spice.spiced.internal AS SELECT 42 AS secret",
		`CREATE TABLE spice.public."my table.x" AS SELECT 42::BIGINT AS v`,
		"CREATE TABLE spice.public.k AS SELECT range AS i FROM range(100)",
	}
)

func fixtureCatalog() *Catalog {
	return NewCatalog(Contents{Generation: 1, Relations: []Relation{{"public", "k"}, {"public", "my table.x"}}, Functions: []*Function{twice, same, tab}})
}

func fixture(t testing.TB, opts Options) *DB {
	t.Helper()
	db := openWith(t, opts)
	publish(t, db, fixtureCatalog(), fixtureSQL...)
	return db
}

// locked is the fixture, locked, with an attached file and a CSV under root.
func locked(t testing.TB, opts Options) (db *DB, root string) {
	t.Helper()
	db, root = fixture(t, opts), t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "in.csv"), []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"ATTACH " + Literal(filepath.Join(root, "att.db")) + " AS att",
		"CREATE TABLE att.main.secret AS SELECT 42 AS secret",
		"ATTACH ':memory:' AS __source_1",
		"CREATE TYPE __source_1.main.mood AS ENUM ('secret')",
		"CREATE MACRO __source_1.main.leak() AS (SELECT max(secret) FROM att.main.secret)",
		"CREATE MACRO __source_1.main.length(t) AS TABLE FROM query_table(t)",
		"CREATE MACRO __source_1.main.same(t) AS getvariable(t)",
	} {
		if err := db.Exec(context.Background(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Lock([]string{root}); err != nil {
		t.Fatal(err)
	}
	return db, root
}

// run reads a statement to its end and returns the number of rows.
func run(ctx context.Context, db *DB, req Request) (int64, error) {
	rows, err := db.Query(ctx, req)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for _, err := range rows.Chunks() {
		if err != nil {
			return rows.Read(), err
		}
	}
	return rows.Read(), nil
}

// integer returns the first value of a statement with a BIGINT column.
func integer(ctx context.Context, db *DB, sql string, params ...any) (int64, error) {
	rows, err := db.Query(ctx, Request{SQL: sql, Params: Params{Positional: params}})
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var v int64
	for c, err := range rows.Chunks() {
		if err != nil {
			return 0, err
		}
		if id := rows.Columns()[0].Type.ID; id != BigInt {
			return 0, fmt.Errorf("the first column has type %s", rows.Columns()[0].Type)
		}
		v = Value[int64](c.Column(0), 0)
	}
	return v, nil
}

func mustInteger(t testing.TB, db *DB, sql string, want int64, params ...any) {
	t.Helper()
	if got, err := integer(context.Background(), db, sql, params...); err != nil || got != want {
		t.Errorf("%s = %d, %v; want %d", sql, got, err, want)
	}
}

// asError returns err as the [*Error] every failure of a statement must be.
func asError(t testing.TB, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%v (%T) is no *Error", err, err)
	}
	return e
}

// idle waits until no statement runs, waits or is abandoned.
func idle(t testing.TB, db *DB) {
	t.Helper()
	wait.Until(t, "the pool is idle", func() bool { return db.Stats() == Stats{} })
}
