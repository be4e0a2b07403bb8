package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestCachedPlansSeeWrites writes what the statistics of cached plans rule out.
func TestCachedPlansSeeWrites(t *testing.T) {
	for _, connections := range []int{1, 3} { // with more, each has its own cached plans
		db, _ := writing(t, Options{Connections: connections})
		selects := []string{
			"SELECT count(*) FROM orders WHERE id > 150",
			"SELECT count(*) FROM orders",
			"SELECT coalesce(max(id), 0) FROM orders",
			"SELECT count(*) FROM orders WHERE price IS NULL",
			"SELECT count(*) FROM orders o JOIN stock s ON o.id = s.id",
			"SELECT count(*) FROM orders o, orders p WHERE o.id = p.id + 150",
			"SELECT count(*) FROM tab((SELECT id FROM orders WHERE id > 150), 2)",
			"SELECT count(*) FROM orders WHERE name = 'new' AND id IN (SELECT id FROM orders WHERE price > 100)",
		}
		writes := []string{
			"INSERT INTO orders VALUES (200, 'new', 1)",
			"INSERT INTO orders VALUES (7, NULL, NULL)",
			"UPDATE orders SET price = 1000 WHERE id = 200",
			"UPDATE orders SET id = 151 WHERE id = 1",
			"DELETE FROM orders WHERE id = 200",
			"DELETE FROM orders WHERE true",
			"INSERT INTO orders VALUES (-1, '', NULL), (300, 'new', 101)",
		}
		check := func(after string) {
			for i, sql := range selects {
				want, err := integer(context.Background(), db, fmt.Sprintf("%s -- %s %d", sql, after, i))
				if err != nil {
					t.Fatal(err)
				}
				for range 2 * connections {
					mustInteger(t, db, sql, want)
				}
			}
		}
		check("nothing")
		for _, sql := range writes {
			for range 2 { // an UPDATE, a DELETE and an INSERT that reads have plans, too
				_, _ = changeRows(context.Background(), db, sql) // fails where the key is there already
				check(sql)
			}
		}
	}
}

// TestPlanIsMadeAgainOnlyAfterWrites requires that plans stay cached where nothing they
// read was written.
func TestPlanIsMadeAgainOnlyAfterWrites(t *testing.T) {
	db, _ := writing(t, Options{Connections: 1})
	db.maxRun = time.Hour // even on a busy machine
	plan := func(sql string) *stmt {
		t.Helper()
		mustInteger(t, db, sql, 1)
		return cachedPlan(t, db, sql)
	}
	const read, written = "SELECT count(*) FROM k WHERE i = 5", "SELECT count(*) FROM orders WHERE id = 1"
	first, other := plan(read), plan(written)
	if plan(read) != first || plan(written) != other {
		t.Error("without a write a plan was made again")
	}
	if _, err := changeRows(context.Background(), db, "INSERT INTO orders VALUES (200, 'x', 1)"); err != nil {
		t.Fatal(err)
	}
	if plan(read) != first {
		t.Error("the plan of what is only read was made again")
	}
	if plan(written) == other {
		t.Error("the plan of what was written was not made again")
	}
}

// TestSnapshotsUnderWrites reads while others write: both parts of a statement
// must see the same rows, and all that was acknowledged before it began.
func TestSnapshotsUnderWrites(t *testing.T) {
	db, _ := writing(t, Options{Connections: 4})
	const first, last = 1001, 1150
	var acknowledged atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for id := int64(first); id <= last; id++ {
			if _, err := changeRows(context.Background(), db, "INSERT INTO orders (id) VALUES (?)", id); err != nil {
				t.Errorf("insert %d: %v", id, err)
			}
			acknowledged.Add(1)
		}
	}()
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for acknowledged.Load() < last-first+1 && !t.Failed() {
				mustInteger(t, db, "SELECT (SELECT count(*) FROM orders WHERE id > 1000) - (SELECT count(*) - 3 FROM orders)", 0)
				mustInteger(t, db, "SELECT greatest(?, count(*)) - count(*) FROM orders WHERE id > 1000", 0, acknowledged.Load())
			}
		})
	}
	readers.Wait()
	<-done
}

// cachedPlan is the statement that the one connection of db has cached for sql.
func cachedPlan(t testing.TB, db *DB, sql string) *stmt {
	t.Helper()
	idle(t, db)
	p := db.pools[0]
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.idle[0].prepared.Get(stmtKey{db.Current().serial, sql})
	if !ok {
		t.Errorf("%s: its plan is not cached", sql)
	}
	return s
}

// TestColumnsOfResultsAreThoseOfPlans runs statements whose columns do not
// change: their plans must stay cached.
func TestColumnsOfResultsAreThoseOfPlans(t *testing.T) {
	db := fixture(t, Options{Connections: 1})
	db.maxRun = time.Hour // even on a busy machine
	for _, sql := range []string{
		"SELECT 1 AS a, 2 AS a, 3 AS A FROM k", "SELECT i + 1, i, NULL, 'x', true, 1.5, 1e3 FROM k",
		"SELECT [NULL] AS l, [] AS e, [i] AS i, [[i::VARCHAR]] AS n, MAP {'k': i} AS m, {'a': i, 'b': [i]} AS s FROM k",
		"SELECT ROW(i, 'x') AS r, array_value(i, i) AS a, union_value(n := i) AS u, i::DECIMAL(9, 2) AS d, i::VARCHAR::JSON AS j FROM k",
		"SELECT 'b'::ENUM('a', 'b') AS e, uuid() AS u, 'x'::BLOB AS b, '101'::BIT AS t, DATE '2024-02-29' AS d, INTERVAL 1 DAY AS v FROM k",
		"SELECT i::HUGEINT AS h, i::UHUGEINT AS u, TIMESTAMPTZ '2024-02-29 12:00:00Z' AS z, TIME '12:00' AS t, i::FLOAT AS f FROM k",
	} {
		var first *stmt
		for range 2 {
			n, err := run(context.Background(), db, Request{SQL: sql})
			if err != nil || n != 100 {
				t.Errorf("%s: %d rows, %v", sql, n, err)
			}
			s := cachedPlan(t, db, sql)
			if first == nil {
				first = s
			}
			if s != first {
				t.Errorf("%s: its plan was made again", sql)
			}
		}
	}
}

// TestChunksOfOtherTypesAreRefused offers chunks with columns that they do not
// have.
func TestChunksOfOtherTypesAreRefused(t *testing.T) {
	typ := func(id TypeID) *Type { return &Type{ID: id} }
	list := func(elem *Type) *Type { return &Type{ID: List, Elem: elem} }
	object := func(types ...*Type) *Type {
		out := &Type{ID: Struct}
		for i, t := range types {
			out.Fields = append(out.Fields, Field{fmt.Sprint("f", i), t})
		}
		return out
	}
	types := []*Type{
		typ(BigInt), typ(Varchar), typ(Double), typ(HugeInt), list(typ(BigInt)), list(typ(Varchar)), list(list(typ(BigInt))),
		object(typ(BigInt)), object(typ(Varchar)), object(typ(BigInt), typ(BigInt)), list(object(typ(BigInt))), list(object(typ(Varchar))),
		{ID: Decimal, Width: 9, Scale: 2},
		{ID: Decimal, Width: 20, Scale: 2},
		{ID: Decimal, Width: 9, Scale: 3},
		{ID: Array, Elem: typ(BigInt), Size: 2},
		{ID: Array, Elem: typ(BigInt), Size: 3},
		{ID: Map, Elem: object(typ(Varchar), typ(BigInt))},
		{ID: Map, Elem: object(typ(BigInt), typ(BigInt))},
		{ID: Enum, Values: []string{"a"}},
		{ID: Enum, Values: []string{"a", "b"}},
		{ID: Union, Fields: []Field{{"a", typ(BigInt)}}},
		{ID: Union, Fields: []Field{{"a", typ(Varchar)}}},
	}
	for i, have := range types {
		chunk := newDuckChunk([]Column{{"c", have}})
		for j, want := range types {
			if err := checkChunk(chunk.raw, []Column{{"c", want}}); (err == nil) != (i == j) {
				t.Errorf("%s read as %s: %v", have, want, err)
			}
		}
		if err := checkChunk(chunk.raw, []Column{{"c", have}, {"d", have}}); err == nil {
			t.Errorf("%s: a column that is not there", have)
		}
		chunk.Destroy()
	}
}
