package isolate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/isolate"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

func one(n string) string { return "CREATE OR REPLACE FUNCTION spice.public.one() AS " + n }

// declare publishes a catalog with a function one() that returns n.
func (w *world) declare(t *testing.T, n string, script ...string) *engine.Catalog {
	t.Helper()
	if script == nil {
		script = []string{one(n)}
	}
	return w.declareBy(t, n, func() []string { return script })
}

// declareBy is declare with a function that returns the script.
func (w *world) declareBy(t *testing.T, n string, script func() []string) *engine.Catalog {
	t.Helper()
	w.serial++
	cat := engine.NewCatalog(engine.Contents{
		Generation: w.serial, Functions: []*engine.Function{{Name: "one", Signature: "one()", Once: true}}, Script: script,
	})
	err := w.Publish(context.Background(), cat, func(tx *engine.Tx) error { return tx.Exec(one(n)) })
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

func TestAStatementRunsUnderTheCatalogThatItWasJudgedBy(t *testing.T) {
	w := newWorld(t, func(o *isolate.Options) { o.Workers = 2 })
	first := w.declare(t, "1")
	w.pool.Prewarm(first)
	req := engine.Request{SQL: "SELECT one() AS v, i FROM range(1000000) t(i)", Isolate: true}
	rows, err := w.Query(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	w.pool.Prewarm(w.declare(t, "2"))
	if got := w.isolated("SELECT one() AS v", 0); got.JSON != `[{"v":2}]` {
		t.Errorf("after the publication: got %+v", got)
	}
	for chunk, err := range rows.Chunks() {
		if err != nil {
			t.Fatal(err)
		}
		if v := engine.Value[int32](chunk.Column(0), chunk.Len()-1); v != 1 {
			t.Fatalf("a statement of the old catalog: got %d", v)
		}
	}
	rows.Close()
	wait.Until(t, "two workers, of the new catalog", func() bool {
		s := w.pool.Stats()
		return s.Workers == 2 && s.Idle == 2
	})
}

func TestAPublicationDoesNotWaitAndTheOldWorkersGoOn(t *testing.T) {
	w := newWorld(t)
	w.pool.Prewarm(w.declare(t, "1"))
	wait.Until(t, "a worker", func() bool { return w.pool.Stats().Idle == 1 })
	old := w.pool.Pids()
	w.pool.Prewarm(w.declare(t, "2")) // it returns although the worker is not there yet
	wait.Until(t, "another worker", func() bool {
		pids := w.pool.Pids()
		return w.pool.Stats().Workers == 1 && len(pids) == 1 && pids[0] != old[0]
	})
	wait.Until(t, "the old process gone", func() bool { return gone(old[0]) })
}

func gone(pid int) bool { return signal(pid, syscall.Signal(0)) != nil }

func signal(pid int, s os.Signal) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	defer p.Release()
	return p.Signal(s)
}

func TestAScriptThatFailsIsToldOnceAndTheNextOneHeals(t *testing.T) {
	w := newWorld(t)
	w.pool.Prewarm(w.declare(t, "1", "SELECT 1", "CREATE VIEW spice.public.v AS SELECT * FROM nowhere"))
	for range 3 {
		got := w.isolated("SELECT one() AS v", 0)
		if got.code() != errcode.Internal || !strings.Contains(got.Err.Message, "statement 2 of the script") {
			t.Fatalf("got %+v", got)
		}
	}
	if n := strings.Count(w.log.String(), "statement 2 of the script"); n != 1 {
		t.Errorf("the log has it %d times:\n%s", n, w.log)
	}
	w.pool.Prewarm(w.declare(t, "2"))
	if got := w.isolated("SELECT one() AS v", 0); got.JSON != `[{"v":2}]` {
		t.Errorf("after the next publication: got %+v", got)
	}
}

// TestAScriptIsMadeAnew: what the first one names is gone when the worker reads
// it, as the file of a dataset that is refreshed at that moment.
func TestAScriptIsMadeAnew(t *testing.T) {
	w := newWorld(t)
	var made atomic.Int64
	w.declareBy(t, "1", func() []string {
		if made.Add(1) == 1 {
			return []string{"ATTACH 'gone.duckdb' AS data_1 (READ_ONLY)"}
		}
		return []string{one("1")}
	})
	if got := w.isolated("SELECT one() AS v", 0); got.JSON != `[{"v":1}]` {
		t.Errorf("got %+v", got)
	}
	if log := w.log.String(); strings.Contains(log, "cannot be isolated") || made.Load() < 2 {
		t.Errorf("%d scripts:\n%s", made.Load(), log)
	}
}

func TestACommandThatCannotBeStartedIsTold(t *testing.T) {
	w := newWorld(t, func(o *isolate.Options) { o.Command = []string{filepath.Join(t.TempDir(), "nothing")} })
	for range 2 {
		got := w.isolated("SELECT 1", 0)
		if got.code() != errcode.Internal || !strings.Contains(got.Err.Message, "no worker could be started") {
			t.Errorf("got %+v", got)
		}
	}
}

func TestAKilledWorkerIsReplaced(t *testing.T) {
	w := newWorld(t)
	wait.Until(t, "a worker", func() bool { return w.pool.Stats().Idle == 1 })
	old := w.pool.Pids()[0]
	for w.pool.Stats().Killed == 0 { // its time may be over before it comes to the kernel
		if got := w.isolated(endless, 200*time.Millisecond); got.code() != errcode.Timeout {
			t.Fatalf("got %+v", got)
		}
		wait.Until(t, "a worker again", func() bool { return w.pool.Stats().Idle == 1 })
	}
	if got := w.isolated("SELECT 1 AS v", 0); got.JSON != `[{"v":1}]` {
		t.Fatalf("after the kill: got %+v", got)
	}
	if s := w.pool.Stats(); s.Killed != 1 || s.Crashed != 0 || s.Started != 2 || !gone(old) {
		t.Errorf("got %+v, want one killed", s)
	}
}

func TestAnIdleWorkerThatEndsIsReplaced(t *testing.T) {
	w := newWorld(t)
	if got := w.isolated("SELECT 1 AS v", 0); got.JSON != `[{"v":1}]` {
		t.Fatalf("got %+v", got)
	}
	wait.Until(t, "a worker", func() bool { return w.pool.Stats().Idle == 1 })
	old := w.pool.Pids()[0]
	if err := signal(old, syscall.SIGSEGV); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "another worker", func() bool {
		pids := w.pool.Pids()
		return len(pids) == 1 && pids[0] != old
	})
	if s := w.pool.Stats(); s.Crashed != 1 {
		t.Errorf("got %+v, want one crashed", s)
	}
}

func TestAWorkerIsReplacedAfterManyStatements(t *testing.T) {
	w := newWorld(t)
	wait.Until(t, "a worker", func() bool { return w.pool.Stats().Idle == 1 })
	old := w.pool.Pids()[0]
	w.pool.Retire()
	for range 2 {
		if got := w.isolated("SELECT 1 AS v", 0); got.JSON != `[{"v":1}]` {
			t.Fatalf("got %+v", got)
		}
	}
	wait.Until(t, "another worker", func() bool {
		pids := w.pool.Pids()
		return len(pids) == 1 && pids[0] != old
	})
}

func TestMoreStatementsThanWorkersWait(t *testing.T) {
	w := newWorld(t, func(o *isolate.Options) { o.Workers, o.Grace = 2, wait.Limit })
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 10 {
				if got := w.isolated("SELECT count(*) AS n FROM range(10000)", wait.Limit); got.JSON != `[{"n":10000}]` {
					t.Errorf("got %+v", got)
				}
			}
		})
	}
	callers.Wait()
	if s := w.pool.Stats(); s.Started > 2 || s.Waiting != 0 {
		t.Errorf("got %+v", s)
	}
}

func TestWhoWaitsForAWorkerCanLeave(t *testing.T) {
	w := newWorld(t)
	w.Handle("hold", hold)
	busy, err := w.Query(context.Background(), engine.Request{SQL: "SELECT i FROM range(100000000) t(i)", Isolate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	if got := w.isolated("SELECT 1", 100*time.Millisecond); got.code() != errcode.Timeout {
		t.Errorf("got %+v, want a timeout", got)
	}
	busy.Close()
	if got := w.isolated("SELECT 1 AS v", 0); got.JSON != `[{"v":1}]` {
		t.Errorf("got %+v", got)
	}
}

func TestCloseEndsWhatRunsAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, func(o *isolate.Options) { o.Workers, o.TempDir = 2, dir })
	wait.Until(t, "two workers", func() bool { return w.pool.Stats().Idle == 2 })
	pids := w.pool.Pids()
	ended := make(chan result)
	go func() { ended <- w.isolated(endless, wait.Limit) }()
	wait.Until(t, "one of them busy", func() bool { return w.pool.Stats().Idle == 1 })
	w.pool.Close()
	if got := <-ended; got.Err == nil {
		t.Errorf("got %+v, want an error", got)
	}
	for _, pid := range pids {
		if !gone(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// refs are stored results by name.
type refs map[string]engine.Table

func (r refs) Ref(_ context.Context, name string) (engine.Table, func(), error) {
	return r[name], func() {}, nil
}

func TestKeptResultsCanBeRead(t *testing.T) {
	root := t.TempDir()
	kept := refs{}
	w := newWorld(t, func(o *isolate.Options) { o.Roots = []string{root} })
	w.UseRefs(kept)
	keep := func(name, sql string) {
		t.Helper()
		kept[name] = engine.Table{Database: name, Path: filepath.Join(root, name+".db")}
		w.keep(t, kept[name], sql)
	}
	keep("r1", "SELECT i AS n FROM range(5000) t(i)")
	keep("r2", "SELECT 'x' AS s")
	sql := "SELECT count(*) AS n, any_value(s) AS s FROM ref('r1'), ref('r2')"
	for range 3 {
		w.same(t, sql, engine.Params{})
	}
	w.DropTable(kept["r1"])
	keep("r1", "SELECT 1.5 AS n")
	w.same(t, sql, engine.Params{})
	w.same(t, "SELECT * FROM ref('r1')", engine.Params{})
	if got := w.isolated("SELECT n FROM ref('r1')", 0); got.JSON != `[{"n":1.5}]` && got.JSON != `[{"n":"1.5"}]` {
		t.Errorf("got %+v", got)
	}
}

// keep stores the result of a statement.
func (w *world) keep(t *testing.T, table engine.Table, sql string) {
	t.Helper()
	ctx := context.Background()
	rows, err := w.Query(ctx, engine.Request{SQL: sql, Isolate: true}) // what a worker returned can be kept
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	into, err := w.CreateTable(ctx, table, rows.Columns())
	if err != nil {
		t.Fatal(err)
	}
	for chunk, err := range rows.Chunks() {
		if err := errors.Join(err, into.Append(chunk)); err != nil {
			t.Fatal(err)
		}
	}
	if err := into.Close(); err != nil {
		t.Fatal(err)
	}
}
