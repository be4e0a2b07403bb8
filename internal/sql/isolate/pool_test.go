package isolate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/isolate"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

func one(n string) string { return "CREATE OR REPLACE FUNCTION spice.public.one() AS " + n }

// declare publishes a catalog with a function one() that returns n, which the
// statements create in workers.
func (w *world) declare(t *testing.T, n string, there ...string) {
	t.Helper()
	if there == nil {
		there = []string{one(n)}
	}
	w.publish(t, engine.Contents{
		Functions: []*engine.Function{{Name: "one", Signature: "one()", Once: true}}, Dependencies: always(there...),
	}, one(n))
}

func TestAStatementRunsUnderTheCatalogThatItWasJudgedBy(t *testing.T) {
	w := newWorld(t, func(o *isolate.Options) { o.Workers = 2 })
	w.declare(t, "1")
	rows, err := w.Query(t.Context(), engine.Request{SQL: "SELECT one() AS v, i FROM range(1000000) t(i)", Isolate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	w.declare(t, "2")
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
}

func TestWorkersStartWhenStatementsNeedThem(t *testing.T) {
	w := newWorld(t, func(o *isolate.Options) { o.Workers = 8 })
	if s := w.pool.Stats(); s.Workers != 0 {
		t.Errorf("before a statement there are %+v", s)
	}
	for range 3 {
		if got := w.isolated("SELECT 1 AS v", 0); got.JSON != `[{"v":1}]` {
			t.Fatalf("got %+v", got)
		}
		wait.Until(t, "the worker idle", func() bool { return w.pool.Stats().Idle == 1 })
	}
	if s := w.pool.Stats(); s.Started != 1 {
		t.Errorf("after three statements there are %+v", s)
	}
}

func TestAWorkerOutlivesGenerations(t *testing.T) {
	w := newWorld(t)
	for n := range 20 {
		value := strconv.Itoa(n)
		w.declare(t, value)
		for range 2 {
			if got := w.isolated("SELECT one() AS v", 0); got.JSON != `[{"v":`+value+`}]` {
				t.Fatalf("got %+v", got)
			}
		}
	}
	if s := w.pool.Stats(); s.Started != 1 {
		t.Errorf("20 generations took %+v", s)
	}
}

// TestADependencyThatFails: its error is the statement's, and the worker is as it was.
func TestADependencyThatFails(t *testing.T) {
	w := newWorld(t)
	w.declare(t, "1", one("1"))
	for range 3 {
		w.declare(t, "2", one("2"), "CREATE VIEW spice.public.v AS SELECT * FROM nowhere")
		got := w.isolated("SELECT one() AS v", 0)
		if got.code() != errcode.NotFound || !strings.Contains(got.Err.Message, "nowhere") {
			t.Fatalf("got %+v", got)
		}
		w.declare(t, "1")
		if got := w.isolated("SELECT one() AS v", 0); got.JSON != `[{"v":1}]` {
			t.Errorf("after the next publication: got %+v", got)
		}
	}
	if s := w.pool.Stats(); s.Started != 1 {
		t.Errorf("got %+v, want one worker", s)
	}
}

// TestOutdatedFilesAreClosed: an idle worker closes the files that no catalog needs.
func TestOutdatedFilesAreClosed(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, func(o *isolate.Options) { o.Roots = []string{dir} })
	file := func(name string) *engine.Dependency {
		path := filepath.Join(dir, name)
		for _, sql := range []string{"ATTACH " + engine.Literal(path) + " AS " + name, "CREATE TABLE " + name + ".t AS SELECT 7 AS a", "DETACH " + name} {
			if err := w.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		d := engine.NewDependency(name, []string{"ATTACH " + engine.Literal(path) + " AS " + name + " (READ_ONLY)"}, []string{"DETACH " + name})
		d.File = true
		return d
	}
	for _, name := range []string{"first", "second", "third"} {
		data := file(name)
		view := engine.NewDependency("view", []string{"CREATE OR REPLACE VIEW spice.public.v AS FROM " + name + ".t"}, nil, data)
		w.publish(t, engine.Contents{
			Relations: []engine.Relation{{Schema: "public", Name: "v"}},
			Dependencies: func([]engine.Relation, []string) ([]*engine.Dependency, error) {
				return []*engine.Dependency{data, view}, nil
			},
		})
		w.pool.Retain(map[string]bool{name: true})
		if got := w.isolated("FROM v", 0); got.JSON != `[{"a":7}]` {
			t.Fatalf("got %+v", got)
		}
		wait.Until(t, "only "+name+" open", func() bool {
			pids := w.pool.Pids()
			return len(pids) == 1 && slices.Equal(openFiles(t, pids[0], dir), []string{name})
		})
	}
	if s := w.pool.Stats(); s.Started != 1 {
		t.Errorf("got %+v, want one worker", s)
	}
}

// openFiles returns the names of the files below dir that a process has open.
func openFiles(t *testing.T, pid int, dir string) []string {
	t.Helper()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(links) == 0 {
		t.Skip("this system does not list the open files of a process")
	}
	var names []string
	for _, link := range links {
		if path, err := os.Readlink(link); err == nil && filepath.Dir(path) == dir {
			names = append(names, filepath.Base(path))
		}
	}
	return names
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
	w.warm(t)
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

// warm makes a worker idle.
func (w *world) warm(t *testing.T) {
	t.Helper()
	if got := w.isolated("SELECT 1 AS v", 0); got.JSON != `[{"v":1}]` {
		t.Fatalf("got %+v", got)
	}
	wait.Until(t, "a worker", func() bool { return w.pool.Stats().Idle == 1 })
}

func TestAnIdleWorkerThatEndsIsForgotten(t *testing.T) {
	w := newWorld(t)
	w.warm(t)
	if err := signal(w.pool.Pids()[0], syscall.SIGSEGV); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "no worker", func() bool { return w.pool.Stats().Workers == 0 })
	if s := w.pool.Stats(); s.Crashed != 1 {
		t.Errorf("got %+v, want one crashed", s)
	}
	w.warm(t)
}

// deep is JSON on which the recursion of some functions ends the process.
const deep = "(repeat('[', 100000) || repeat(']', 100000))::JSON"

// TestAStatementThatCrashes: it costs its caller one error, and is refused after the
// second time, until the next generation and for that caller only.
func TestAStatementThatCrashes(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector reports the crash at length")
	}
	w := newWorld(t)
	ann := caller.With(t.Context(), caller.Caller{Principal: "ann"})
	bob := caller.With(t.Context(), caller.Caller{Principal: "bob"})
	ask := func(ctx context.Context, want string) {
		t.Helper()
		rows, err := w.Query(ctx, engine.Request{SQL: "SELECT json_structure(" + deep + ")", Isolate: true})
		if err == nil {
			rows.Close()
			t.Fatal("no error")
		}
		if !strings.HasPrefix(engine.AsError(err).Message, want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	w.declare(t, "1")
	const crash, refusal = "the statement ended its worker: ", "the statement has ended its worker 2 times"
	for _, want := range []string{crash, crash, refusal, refusal} {
		ask(ann, want)
		w.warm(t)
	}
	ask(bob, crash)
	w.declare(t, "2")
	ask(ann, crash)
	if s := w.pool.Stats(); s.Crashed != 4 {
		t.Errorf("got %+v, want four crashed", s)
	}
}

func TestAWorkerIsReplacedAfterManyStatements(t *testing.T) {
	w := newWorld(t)
	w.warm(t)
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
	w.warm(t)
	pids := w.pool.Pids()
	ended := make(chan result)
	go func() { ended <- w.isolated(endless, wait.Limit) }()
	wait.Until(t, "it busy", func() bool { return w.pool.Stats().Idle == 0 })
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

func TestStoredResultsCanBeRead(t *testing.T) {
	root := t.TempDir()
	stored := refs{}
	w := newWorld(t, func(o *isolate.Options) { o.Roots = []string{root} })
	w.UseRefs(stored)
	store := func(name, sql string) {
		t.Helper()
		stored[name] = engine.Table{Database: name, Path: filepath.Join(root, name+".db")}
		w.save(t, stored[name], sql)
	}
	store("r1", "SELECT i AS n FROM range(5000) t(i)")
	store("r2", "SELECT 'x' AS s")
	sql := "SELECT count(*) AS n, any_value(s) AS s FROM ref('r1'), ref('r2')"
	for range 3 {
		w.same(t, sql, engine.Params{})
	}
	w.DropTable(stored["r1"])
	store("r1", "SELECT 1.5 AS n")
	w.same(t, sql, engine.Params{})
	w.same(t, "SELECT * FROM ref('r1')", engine.Params{})
	if got := w.isolated("SELECT n FROM ref('r1')", 0); got.JSON != `[{"n":1.5}]` && got.JSON != `[{"n":"1.5"}]` {
		t.Errorf("got %+v", got)
	}
}

// save stores the result of a statement.
func (w *world) save(t *testing.T, table engine.Table, sql string) {
	t.Helper()
	ctx := context.Background()
	rows, err := w.Query(ctx, engine.Request{SQL: sql, Isolate: true}) // what a worker returned can be stored
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

// TestAStatementOfAnotherCallerFindsAWorkerReady: while one caller's statements hold all
// workers, one more starts before another caller needs it.
func TestAStatementOfAnotherCallerFindsAWorkerReady(t *testing.T) {
	w := newWorld(t, func(o *isolate.Options) { o.Workers = 2 })
	ctx, cancel := context.WithCancel(caller.With(t.Context(), caller.Caller{Principal: "ann"}))
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for range 4 {
		running.Go(func() {
			rows, err := w.Query(ctx, engine.Request{SQL: endless, Isolate: true})
			if err == nil {
				rows.Close()
			}
		})
	}
	wait.Until(t, "one worker to spare", func() bool { s := w.pool.Stats(); return s.Workers == 3 && s.Idle == 1 && s.Waiting == 2 })
	if got := w.isolated("SELECT 1 AS v", 0); got.JSON != `[{"v":1}]` {
		t.Errorf("got %+v", got)
	}
	if s := w.pool.Stats(); s.Started != 3 || s.Killed > 0 {
		t.Errorf("got %+v, want the worker to spare used", s)
	}
}

// TestACallerWhoseStatementCrashedHasOneWorker: the other workers are for other callers,
// however many statements it sends.
func TestACallerWhoseStatementCrashedHasOneWorker(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector reports the crash at length")
	}
	w := newWorld(t, func(o *isolate.Options) { o.Workers = 4 })
	ctx, cancel := context.WithCancel(t.Context())
	ann := caller.With(ctx, caller.Caller{Principal: "ann"})
	bob := caller.With(ctx, caller.Caller{Principal: "bob"})
	run := func(ctx context.Context, sql string) error {
		rows, err := w.Query(ctx, engine.Request{SQL: sql, Isolate: true})
		if err != nil {
			return err
		}
		defer rows.Close()
		for _, err := range rows.Chunks() {
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := run(ann, "SELECT json_structure("+deep+")"); err == nil || !engine.AsError(err).Crashed {
		t.Fatalf("got %v, want a crash", err)
	}
	var endless sync.WaitGroup
	for range 3 {
		endless.Go(func() { _ = run(ann, "SELECT count(*) FROM range(1000000000000) a, range(1000) b") })
	}
	wait.Until(t, "two of ann's statements wait for the third", func() bool { return w.pool.Stats().Waiting == 2 })
	if err := run(bob, "SELECT 1"); err != nil {
		t.Error(err)
	}
	if got := w.pool.Stats().Waiting; got != 2 {
		t.Errorf("%d of ann's statements wait, want 2", got)
	}
	cancel()
	endless.Wait()
}

// TestAWorkerRunsNothingAfterAVariant: values of that type may damage its memory.
func TestAWorkerRunsNothingAfterAVariant(t *testing.T) {
	w := newWorld(t)
	w.warm(t)
	old := w.pool.Pids()[0]
	if got := w.isolated("SELECT 1::VARIANT::VARCHAR AS v", 0); got.JSON != `[{"v":"1"}]` {
		t.Fatalf("got %+v", got)
	}
	wait.Until(t, "another worker", func() bool {
		pids := w.pool.Pids()
		return len(pids) == 1 && pids[0] != old
	})
}

// TestAMissingDependencyFailsItsStatement: a statement that is to run in a worker, and names
// what no worker can have, does not run here.
func TestAMissingDependencyFailsItsStatement(t *testing.T) {
	w := newWorld(t)
	w.publish(t, engine.Contents{
		Relations: []engine.Relation{{Schema: "public", Name: "t"}},
		Dependencies: func([]engine.Relation, []string) ([]*engine.Dependency, error) {
			return nil, engine.NewError(errcode.Execution, "", "no worker can have t")
		},
	}, "CREATE TABLE spice.public.t AS SELECT 7 AS a")
	if got := w.isolated("SELECT * FROM t", 0); got.code() != errcode.Execution || got.Err.Message != "no worker can have t" {
		t.Errorf("got %+v", got)
	}
	if got := w.result(engine.Request{SQL: "SELECT * FROM t"}); got.JSON != `[{"a":7}]` {
		t.Errorf("got %+v", got)
	}
}
