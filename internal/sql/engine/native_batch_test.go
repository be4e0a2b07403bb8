package engine

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/memory"
)

// echoes is a database whose functions return their first argument, and the numbers of rows of
// their calls.
func echoes(t *testing.T, types ...string) (db *DB, calls *[]int) {
	t.Helper()
	calls = &[]int{}
	db = openWith(t, Options{Batch: func(_ context.Context, _ string, _ *Type, args *Chunk) (*Chunk, error) {
		*calls = append(*calls, args.Len())
		return &Chunk{rows: args.rows, cols: args.cols[:1]}, nil
	}})
	for _, name := range types {
		if err := db.AddBatches(typeNamed(t, db, name)); err != nil {
			t.Fatal(err)
		}
	}
	return db, calls
}

func typeNamed(t *testing.T, db *DB, name string) *Type {
	t.Helper()
	rows, err := db.Query(t.Context(), Request{SQL: "SELECT NULL::" + name, Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	return rows.Columns()[0].Type
}

// TestLargeArgumentsAreSplit passes values of all kinds of types, whose rows have very different
// sizes, through a function: what it returns has its place, and no call is large.
func TestLargeArgumentsAreSplit(t *testing.T) {
	text := "CASE WHEN i % 7 = 3 THEN NULL WHEN i % 20 = 0 THEN repeat('é' || i, 60000) ELSE 'n' || i END"
	for name, value := range map[string]string{
		"VARCHAR":     text,
		"BLOB":        "encode(" + text + ")",
		"VARCHAR[]":   "CASE WHEN i % 5 = 1 THEN NULL WHEN i % 5 = 2 THEN [] ELSE [" + text + ", 'a', NULL] END",
		"VARCHAR[][]": "[[], [" + text + "], NULL, ['b', " + text + "]]",
		"VARCHAR[2]":  "[" + text + ", 'b' || i]",
		"STRUCT(a INTEGER, b BOOLEAN, c VARCHAR[])": "CASE WHEN i % 3 > 0 THEN {'a': i::INTEGER, 'b': i % 2 = 0, 'c': [" + text + "]} END",
		"MAP(VARCHAR, STRUCT(x HUGEINT, y DATE))[]": "[map([coalesce(" + text + ", '')], [{'x': i::HUGEINT, 'y': DATE '2026-01-01' + i::INTEGER}])]",
		"UNION(n BIGINT, s VARCHAR)": "CASE WHEN i % 2 = 0 THEN union_value(s := " + text +
			") ELSE union_value(n := i)::UNION(n BIGINT, s VARCHAR) END",
	} {
		t.Run(name, func(t *testing.T) {
			db, calls := echoes(t, name)
			sql := "SELECT count(*) FROM (SELECT v, " + BatchName(typeNamed(t, db, name)) + "('f@1', v) AS w FROM (SELECT (" + value + ")::" + name +
				" AS v FROM range(999) t(i))) WHERE v IS DISTINCT FROM w"
			if got := one(t, db, sql); got != 0 {
				t.Errorf("%d values changed", got)
			}
			if len(*calls) < 3 || sum(*calls) != 999 {
				t.Errorf("calls of %d rows", *calls)
			}
		})
	}
}

func sum(list []int) (n int) {
	for _, x := range list {
		n += x
	}
	return n
}

// one returns the value of a statement, a BIGINT.
func one(t *testing.T, db *DB, sql string) int64 {
	t.Helper()
	rows, err := db.Query(t.Context(), Request{SQL: sql, Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := int64(-1)
	for chunk, err := range rows.Chunks() {
		if err != nil {
			t.Fatal(err)
		}
		n = Value[int64](chunk.Column(0), 0)
	}
	return n
}

// TestTooLargeArguments refuses a row whose arguments are too large.
func TestTooLargeArguments(t *testing.T) {
	db, _ := echoes(t, "VARCHAR")
	function := BatchName(&Type{ID: Varchar})
	rows, err := db.Query(t.Context(), Request{SQL: "SELECT length(" + function + "('slug@1', repeat('x', 70000000)))", Trusted: true})
	if err == nil {
		defer rows.Close()
		for _, err = range rows.Chunks() {
		}
	}
	want := "the arguments of function 'slug' are too large: those of one call take 66 MiB, and at most 64 are possible"
	if err == nil || AsError(err).Code != errcode.Limit || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}

// TestNoMemoryForArguments waits for memory that another statement of the caller has.
func TestNoMemoryForArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := memory.NewBudget(16 << 20)
		other, end := budget.Begin(t.Context(), "ann")
		defer end()
		if err := memory.Take(other, 2<<20); err != nil {
			t.Fatal(err)
		}
		ctx, endToo := budget.Begin(t.Context(), "ann")
		defer endToo()
		_, err := hold(ctx, 1<<20)
		if err == nil || AsError(err).Code != errcode.Busy || !strings.Contains(err.Error(), "large requests that run already hold as much memory as they may") {
			t.Error(err)
		}
	})
}
