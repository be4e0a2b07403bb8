package engine

import (
	"context"
	"errors"
	"testing"
	"time"
)

func open(t testing.TB) *DB {
	t.Helper()
	db, err := Open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func publish(t testing.TB, db *DB, cat *Catalog, sqls ...string) {
	t.Helper()
	err := db.Publish(context.Background(), cat, func(tx *Tx) error {
		for _, s := range sqls {
			if err := tx.Exec(s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func count(t testing.TB, db *DB, sql string, p Params) (int64, error) {
	t.Helper()
	rows, err := db.Query(context.Background(), Request{SQL: sql, Params: p})
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var v int64
	for c, err := range rows.Chunks() {
		if err != nil {
			return 0, err
		}
		v = Value[int64](c.Column(0), 0)
	}
	return v, nil
}

func TestSmoke(t *testing.T) {
	db := open(t)
	f := &Function{Name: "dbl", Signature: "dbl(x float64) → float64", Args: []FunctionArg{{Name: "x", Type: "DOUBLE", Numeric: true}}, Once: true}
	publish(t, db, NewCatalog(1, []Relation{{"public", "k"}}, []*Function{f}),
		"CREATE FUNCTION spice.public.dbl(x DOUBLE) AS CAST((x - x) AS DOUBLE)",
		"CREATE FUNCTION spice.once.dbl(x) AS list_transform([{'x': x}], lambda __a: spice.public.dbl(__a.x))[1]",
		"CREATE TABLE spice.public.k AS SELECT range AS i FROM range(100)")
	for _, sql := range []string{
		"SELECT count(*) FILTER (dbl(random()) <> 0) FROM range(1000000)",
		"SELECT dbl('3')::BIGINT", "SELECT dbl($1)::BIGINT", "SELECT public.dbl(:x)::BIGINT", "EXPLAIN SELECT dbl('3')",
		"SELECT dbl(DATE '2020-01-01')", "SELECT dbl()", "SELECT * FROM k2", "SELECT count(*) FROM spice.public.k", "SELECT nosuch(1)",
		"SELECT 1; SELECT 2", "DROP TABLE k", "", "SELECT * FROM read_csv('/etc/passwd')", "SELECT i FROM k WHERE\n  iy = 3", "WITH k2 AS (SELECT 5) FROM k2",
		"SHOW TABLES", "DESCRIBE k", "SELECT 1/0, error('x')",
	} {
		p := Params{}
		switch sql {
		case "SELECT dbl($1)::BIGINT":
			p.Positional = []any{"5"}
		case "SELECT public.dbl(:x)::BIGINT":
			p.Named = map[string]any{"x": 3.5}
		}
		v, err := count(t, db, sql, p)
		t.Logf("%q -> %d %v", sql, v, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := db.Query(ctx, Request{SQL: "SELECT count(*) FROM range(100000) a, range(100000) b"})
	t.Log(err, time.Since(start))
	start = time.Now()
	_, err = db.Query(context.Background(), Request{SQL: "SELECT levenshtein(repeat('a',20000+i), repeat('b',20000)) FROM k", Limits: Limits{Timeout: 100 * time.Millisecond}})
	t.Log(err, time.Since(start), db.Stats())
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeTimeout {
		t.Error(err)
	}
}
