package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// generation publishes lo() and hi(), which both answer n, and a table with n.
func generation(n int, retired func()) (*Catalog, func(*Tx) error) {
	fs := []*Function{{Name: "lo", Signature: "lo()"}, {Name: "hi", Signature: "hi()"}}
	cat := NewCatalog(Contents{Generation: uint64(n), Relations: []Relation{{"public", "gen"}, {"public", "big"}}, Functions: fs, Retired: retired})
	sqls := []string{
		fmt.Sprintf("CREATE OR REPLACE FUNCTION spice.public.lo() AS %d::BIGINT", n),
		fmt.Sprintf("CREATE OR REPLACE FUNCTION spice.public.hi() AS %d::BIGINT", n),
		fmt.Sprintf("CREATE OR REPLACE TABLE spice.public.gen AS SELECT %d::BIGINT AS n", n),
	}
	if n == 1 {
		sqls = append(sqls, "CREATE TABLE spice.public.big AS SELECT range AS i FROM range(200000)")
	}
	return cat, execAll(sqls...)
}

// TestStatementsSeeOneGeneration queries while publications change two
// functions and a table together.
func TestStatementsSeeOneGeneration(t *testing.T) {
	db := open(t)
	const generations = 220
	var retired [generations + 1]atomic.Int32
	next := func(n int) {
		cat, build := generation(n, func() { retired[n].Add(1) })
		if err := db.Publish(context.Background(), cat, build); err != nil {
			t.Error(err)
		}
	}
	next(1)
	ctx, stop := context.WithTimeout(context.Background(), wait.Limit)
	defer stop()
	done := make(chan struct{})
	var wg sync.WaitGroup
	var queries, changes atomic.Int64
	for g := range 16 {
		wg.Go(func() {
			last := uint64(0)
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				sql := "SELECT lo(), hi(), (SELECT n FROM gen), lo()"
				if (i+g)%3 == 0 {
					sql += fmt.Sprintf(" -- %d", i) // judged and prepared again
				}
				gen, err := oneGeneration(ctx, db, sql)
				if err != nil {
					t.Errorf("%s: %v", sql, err)
					return
				}
				if gen < last {
					t.Errorf("generation %d after %d", gen, last)
				}
				if gen != last {
					changes.Add(1)
				}
				last = gen
				queries.Add(1)
			}
		})
	}
	for n := 2; n <= generations; n++ {
		next(n)
	}
	close(done)
	wg.Wait()
	idle(t, db)
	t.Logf("%d queries, %d changes seen, %d generations", queries.Load(), changes.Load(), generations)
	for n := 1; n < generations; n++ {
		if got := retired[n].Load(); got != 1 {
			t.Errorf("generation %d was retired %d times", n, got)
		}
	}
	if retired[generations].Load() != 0 {
		t.Error("the current generation was retired")
	}
}

// oneGeneration returns the generation all values of a statement agree on.
func oneGeneration(ctx context.Context, db *DB, sql string) (uint64, error) {
	rows, err := db.Query(ctx, Request{SQL: sql})
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	gen := rows.Generation()
	for c, err := range rows.Chunks() {
		if err != nil {
			return 0, err
		}
		for i := range rows.Columns() {
			if v := Value[int64](c.Column(i), 0); uint64(v) != gen {
				return 0, fmt.Errorf("column %d is of generation %d, the statement of %d", i, v, gen)
			}
		}
	}
	return gen, nil
}

func TestSameTextUsesTheNewBody(t *testing.T) {
	db := open(t)
	for n := 1; n <= 5; n++ {
		cat, build := generation(n, nil)
		if err := db.Publish(context.Background(), cat, build); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			mustInteger(t, db, "SELECT lo()", int64(n))
		}
	}
	idle(t, db)
	db.pools[0].mu.Lock()
	defer db.pools[0].mu.Unlock()
	for _, c := range db.pools[0].idle {
		c.prepared.DeleteFunc(func(key stmtKey, _ *stmt) bool {
			if key.serial != db.Current().serial {
				t.Errorf("the statement of catalog %d is still prepared", key.serial)
			}
			return false
		})
	}
}

func TestStreamKeepsItsGeneration(t *testing.T) {
	db := open(t)
	retired := make(chan struct{})
	cat, build := generation(1, func() { close(retired) })
	if err := db.Publish(context.Background(), cat, build); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(context.Background(), Request{SQL: "SELECT lo(), hi(), n FROM big, gen"})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 1
	for c, err := range rows.Chunks() {
		if err != nil {
			t.Fatal(err)
		}
		if n < 6 { // while chunks are still to be made
			n++
			cat, build := generation(n, nil)
			if err := db.Publish(context.Background(), cat, build); err != nil {
				t.Fatal(err)
			}
			select {
			case <-retired:
				t.Fatal("retired under a stream")
			default:
			}
		}
		for i := range c.Len() {
			if Value[int64](c.Column(0), i) != 1 || Value[int64](c.Column(1), i) != 1 || Value[int64](c.Column(2), i) != 1 {
				t.Fatal("the stream changed its generation")
			}
		}
	}
	if rows.Read() != 200000 {
		t.Errorf("read %d rows", rows.Read())
	}
	rows.Close()
	select {
	case <-retired:
	case <-time.After(wait.Limit):
		t.Fatal("never retired")
	}
}

func TestCloseEndsAPublication(t *testing.T) {
	db, err := Open(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	begun, done := make(chan struct{}), make(chan error)
	go func() {
		done <- db.Publish(context.Background(), NewCatalog(Contents{Generation: 1}), func(tx *Tx) error {
			close(begun)
			return tx.Exec("CREATE TABLE spice.public.endless AS SELECT count(*) FROM range(10000000) a, range(10000000) b")
		})
	}()
	<-begun
	db.Close()
	if err := <-done; !errors.Is(err, ErrClosing) {
		t.Errorf("during Close: got %v", err)
	}
	if err := db.Publish(context.Background(), NewCatalog(Contents{Generation: 2}), execAll()); !errors.Is(err, ErrClosing) {
		t.Errorf("after Close: got %v", err)
	}
}

func TestFailedBuildChangesNothing(t *testing.T) {
	db := open(t)
	cat, build := generation(1, func() { t.Error("retired") })
	if err := db.Publish(context.Background(), cat, build); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	cancel := func() {}
	for name, c := range map[string]struct {
		build func(*Tx) error
		check func(error) bool
	}{
		"error of the caller": {
			func(tx *Tx) error { return errors.Join(tx.Exec("DROP TABLE spice.public.gen"), boom) },
			func(err error) bool { return errors.Is(err, boom) },
		},
		"SQL that does not bind": {
			execAll("DROP FUNCTION spice.public.lo", "SELECT nosuch()"),
			func(err error) bool { return asError(t, err).Code == errcode.NotFound },
		},
		"SQL that fails": {
			execAll("DROP TABLE spice.public.gen", "SELECT error('x')"),
			func(err error) bool { return asError(t, err).Code == errcode.Execution },
		},
		"SQL that fails and is ignored": {func(tx *Tx) error {
			_ = tx.Exec("DROP TABLE spice.public.gen")
			_ = tx.Exec("SELECT error('x')")
			return nil
		}, func(err error) bool { return err != nil }},
		"the caller leaves": {func(tx *Tx) error {
			cancel()
			return tx.Exec("CREATE TABLE spice.public.endless AS SELECT count(*) FROM range(10000000) a, range(10000000) b")
		}, func(err error) bool { return errors.Is(err, context.Canceled) }},
		"the caller has left": {func(*Tx) error { return nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var own context.Context
			own, cancel = context.WithCancel(context.Background())
			defer cancel()
			if c.check == nil {
				cancel()
				c.check = func(err error) bool { return errors.Is(err, context.Canceled) }
			}
			if err := db.Publish(own, NewCatalog(Contents{Generation: 9}), c.build); err == nil || !c.check(err) {
				t.Errorf("got %v", err)
			}
			if gen, err := oneGeneration(context.Background(), db, "SELECT lo(), hi(), (SELECT n FROM gen)"); gen != 1 || err != nil {
				t.Error(gen, err)
			}
		})
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = db.Publish(context.Background(), NewCatalog(Contents{Generation: 9}), func(tx *Tx) error {
			_ = tx.Exec("DROP TABLE spice.public.gen")
			panic("boom")
		})
	}()
	cat.retired = nil
	cat, build = generation(2, nil)
	if err := db.Publish(context.Background(), cat, build); err != nil {
		t.Fatal("after the failures:", err)
	}
	mustInteger(t, db, "SELECT hi() + n FROM gen", 4)
}

// TestSwitchedRunsBeforeStatementsOfTheNextCatalog: workers read what it changes, and keep
// it for as long as the catalog is in use.
func TestSwitchedRunsBeforeStatementsOfTheNextCatalog(t *testing.T) {
	db := open(t)
	cat, build := generation(1, nil)
	called := false
	err := db.Publish(t.Context(), cat, func(tx *Tx) error {
		tx.Switched(func() {
			if called = true; db.commit.TryRLock() {
				db.commit.RUnlock()
				t.Error("a statement could have had the next catalog before")
			}
		})
		if called {
			t.Error("it ran before the commit")
		}
		return build(tx)
	})
	if err != nil || !called {
		t.Errorf("called: %t, %v", called, err)
	}
}

// TestSlowPlans: a statement whose plan takes longer than the time between two publications
// runs all the same.
func TestSlowPlans(t *testing.T) {
	db := open(t)
	next := func(n int) {
		cat, build := generation(n, nil)
		if err := db.Publish(context.Background(), cat, build); err != nil {
			t.Error(err)
		}
	}
	next(1)
	done, first := make(chan struct{}), make(chan struct{})
	var publisher sync.WaitGroup
	publisher.Go(func() {
		for n := 2; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			if next(n); n == 2 {
				close(first)
			}
		}
	})
	<-first
	ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
	defer cancel()
	before := db.epoch.Load()
	sql := "SELECT lo() - hi()" + strings.Repeat(" + (SELECT count(*) FROM gen a, gen b, gen c WHERE a.n = b.n AND b.n = c.n)", 50)
	got, err := integer(ctx, db, sql)
	if err != nil || got != 50 {
		t.Errorf("got %d, %v", got, err)
	}
	if n := (db.epoch.Load() - before) / 2; n == 0 {
		t.Error("there was no publication meanwhile")
	}
	close(done)
	publisher.Wait()
}
