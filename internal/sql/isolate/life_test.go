package isolate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/isolate"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// reaction is how long a worker may run beyond the limit of its statement, on a
// busy machine.
const reaction = 5 * time.Second

// isolated runs a statement in a worker and returns its rows as JSON.
func (w *world) isolated(sql string, limit time.Duration) result {
	return w.result(engine.Request{SQL: sql, Isolate: true, Limits: engine.Limits{Timeout: limit}})
}

// code is the code of a statement's error, or "".
func (r result) code() errcode.Code {
	if r.Err == nil {
		return ""
	}
	return r.Err.Code
}

// endless is one call of a kernel that nothing interrupts.
const endless = "SELECT levenshtein(repeat('a', 200000), repeat('b', 200000))"

func TestAnOverrunEndsWithinItsLimitAndOthersAreAnswered(t *testing.T) {
	w := newWorld(t, func(o *isolate.Options) { o.Workers = 3 })
	const limit = time.Second
	stop := make(chan struct{})
	var others sync.WaitGroup
	var answered [4]int
	for i := range answered {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				got := w.result(engine.Request{SQL: "SELECT 42 AS v", Isolate: i%2 == 0, Limits: engine.Limits{Timeout: wait.Limit}})
				if got.JSON != `[{"v":42}]` {
					t.Errorf("meanwhile, caller %d got %+v", i, got)
					return
				}
				answered[i]++
			}
		})
	}
	for _, sql := range []string{endless, "SELECT length(repeat('x', 1000000000)) + length(repeat('y', 1000000000))"} {
		if raceDetector && sql != endless {
			continue // no limit of memory, see noMemoryLimit
		}
		begin := time.Now()
		got := w.isolated(sql, limit)
		if took := time.Since(begin); took > limit+reaction {
			t.Errorf("%s took %s", sql, took)
		}
		t.Logf("%s: %v after %s", sql, got.Err, time.Since(begin))
		if got.code() != errcode.Timeout && got.code() != errcode.Limit {
			t.Errorf("%s: got %+v, want an error of a limit", sql, got)
		}
	}
	close(stop)
	others.Wait()
	t.Logf("answered meanwhile: %v; %+v", answered, w.pool.Stats())
	for i, n := range answered {
		if n == 0 {
			t.Errorf("caller %d was not answered meanwhile", i)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector needs more memory than any limit")
	}
	w := newWorld(t, func(o *isolate.Options) { o.Memory = 512 << 20 })
	for _, sql := range []string{
		"SELECT length(repeat('x', 1000000000))",
		"SELECT list(repeat('x', 1000) || i) FROM range(2000000) t(i)",
		"SELECT length(string_agg(repeat('x', 1000) || i, ',')) FROM range(2000000) t(i)",
		"SELECT len(range(200000000))",
	} {
		got := w.isolated(sql, 20*time.Second)
		if got.code() != errcode.Limit || strings.Contains(got.Err.Message, "\n") {
			t.Errorf("%s: got %+v, want one line of limit_exceeded", sql, got)
		}
	}
	if got := w.isolated("SELECT 1 AS v", 0); got.JSON != `[{"v":1}]` {
		t.Errorf("after them: got %+v", got)
	}
}

// TestAnOverrunPastTheFirstRowsIsKilled: the reader of the rows does not wait
// for DuckDB, whose next rows never come.
func TestAnOverrunPastTheFirstRowsIsKilled(t *testing.T) {
	w := newWorld(t)
	const late = "SELECT CASE WHEN i = 200000 THEN levenshtein(repeat('a', 200000 + i::INT % 2), repeat('b', 200000)) ELSE i END AS v FROM range(2000000) t(i)"
	wait.Until(t, "one killed", func() bool { // its time may be over before it comes to the kernel
		rows, err := w.Query(t.Context(), engine.Request{SQL: late, Isolate: true, Limits: engine.Limits{Timeout: time.Second}})
		if err == nil {
			for _, err = range rows.Chunks() {
			}
			rows.Close()
		}
		if err == nil || engine.AsError(err).Code != errcode.Timeout {
			t.Fatalf("got %v, want a timeout", err)
		}
		wait.Until(t, "a worker", func() bool { return w.pool.Stats().Idle == 1 })
		return w.pool.Stats().Killed > 0
	})
	if s := w.pool.Stats(); s.Started != s.Killed+1 {
		t.Errorf("got %+v, want the killed ones replaced", s)
	}
}

func TestAWorkerTakesTheNextStatement(t *testing.T) {
	w := newWorld(t, func(o *isolate.Options) { o.Grace = wait.Limit })
	for range 20 {
		if got := w.isolated("SELECT 1 AS v", 0); got.JSON != `[{"v":1}]` {
			t.Fatalf("got %+v", got)
		}
	}
	if s := w.pool.Stats(); s.Started != 1 {
		t.Errorf("20 statements took %+v", s)
	}
}

func TestACallerThatLeavesFreesTheWorker(t *testing.T) {
	w := newWorld(t, func(o *isolate.Options) { o.Grace = wait.Limit }) // no kill stands in for the interrupt
	for range 5 {
		ctx, cancel := context.WithCancel(context.Background())
		rows, err := w.Query(ctx, engine.Request{SQL: "SELECT i, repeat('x', 100) FROM range(10000000) t(i)", Isolate: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range rows.Chunks() {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		cancel()
		rows.Close()
	}
	if got := w.isolated("SELECT 1 AS v", 0); got.JSON != `[{"v":1}]` {
		t.Fatalf("got %+v", got)
	}
	if s := w.pool.Stats(); s.Killed > 0 || s.Started != 1 {
		t.Errorf("got %+v, want one worker that was interrupted; log:\n%s", s, w.log)
	}
}

// Whenever a caller disconnects, the worker is interrupted, not killed, and no one
// reads what it sends from then on.
func TestACallerMayLeaveAtAnyMoment(t *testing.T) {
	w := newWorld(t, func(o *isolate.Options) { o.Grace = wait.Limit })
	job := engine.Job{SQL: "SELECT i, repeat('x', 100) AS x FROM range(10000000) t(i)"}
	for i := range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		if i%2 == 0 {
			cancel()
		}
		rows, err := w.pool.Run(ctx, job)
		if err == nil && i%4 == 1 {
			_, err = rows.Next()
		}
		cancel()
		if err == nil {
			rows.Close()
			_, err = rows.Next()
		}
		if e, ok := errors.AsType[*engine.Error](err); !ok || e.Code != errcode.Cancelled {
			t.Fatalf("got %v, want that it was cancelled", err)
		}
	}
	if got := w.isolated("SELECT 1 AS v", 0); got.JSON != `[{"v":1}]` {
		t.Fatalf("got %+v", got)
	}
	if s := w.pool.Stats(); s.Killed > 0 || s.Crashed > 0 {
		t.Errorf("got %+v, want no worker that was killed; log:\n%s", s, w.log)
	}
}

func TestCallsAreAnsweredByTheParent(t *testing.T) {
	w := newWorld(t)
	fail := errors.New("it does not want to")
	w.Handle("double", func(_ context.Context, input string) (string, error) { return input + input, nil })
	w.Handle("fail", func(context.Context, string) (string, error) { return "", fail })
	w.declareCalls(t, "double", "fail", "noone")
	for _, sql := range []string{
		"SELECT double('a' || i) AS v FROM range(100) t(i)", "SELECT double(NULL) AS v", "SELECT fail('x')", "SELECT noone('x')",
	} {
		w.same(t, sql, engine.Params{})
	}
	if got := w.isolated("SELECT double('a') AS v", 0); got.JSON != `[{"v":"aa"}]` {
		t.Errorf("got %+v", got)
	}
}

// TestWhatDoesNotFitAFrameIsTold: the worker says what is wrong before the
// parent would end it for that.
func TestWhatDoesNotFitAFrameIsTold(t *testing.T) {
	w := newWorld(t, func(o *isolate.Options) { o.Memory = noMemoryLimit })
	long := strings.Repeat("x", 1<<20)
	w.Handle("fail", func(context.Context, string) (string, error) { return "", errors.New(long) })
	w.Handle("size", func(_ context.Context, input string) (string, error) { return strconv.Itoa(len(input)), nil })
	w.declareCalls(t, "fail", "size")
	w.same(t, "SELECT fail('x')", engine.Params{})
	got := w.isolated("SELECT size(repeat('x', 20000000)) AS v", 0)
	if got.Err == nil || !strings.Contains(got.Err.Message, "the input of size cannot be sent by the worker: more than 16 MiB") {
		t.Errorf("got %+v", got)
	}
	if log := w.log.String(); strings.Contains(log, "a worker is ended") {
		t.Error(log)
	}
}

func TestCallsOfOneStatementRunAtOnce(t *testing.T) {
	w := newWorld(t)
	var meet sync.WaitGroup
	meet.Add(8)
	w.Handle("meet", func(_ context.Context, input string) (string, error) {
		meet.Done()
		meet.Wait() // for the seven others
		return input, nil
	})
	w.declareCalls(t, "meet")
	if got := w.isolated("SELECT count(meet('' || i)) AS n FROM range(8) t(i)", wait.Limit); got.JSON != `[{"n":8}]` {
		t.Errorf("got %+v", got)
	}
}

func TestACallEndsWithItsStatement(t *testing.T) {
	w := newWorld(t, func(o *isolate.Options) { o.Grace = wait.Limit })
	w.Handle("hold", hold)
	w.declareCalls(t, "hold")
	if got := w.isolated("SELECT 1 AS v", 0); got.JSON != `[{"v":1}]` { // a worker is there now
		t.Fatalf("got %+v", got)
	}
	if got := w.isolated("SELECT hold('')", 200*time.Millisecond); got.code() != errcode.Timeout {
		t.Errorf("got %+v, want a timeout", got)
	}
	if got := w.isolated("SELECT 1 AS v", 0); got.JSON != `[{"v":1}]` {
		t.Errorf("after it: got %+v", got)
	}
	if s := w.pool.Stats(); s.Killed > 0 {
		t.Errorf("got %+v, want the worker interrupted and not killed", s)
	}
}

// declareCalls declares functions that call the handlers of their names.
func (w *world) declareCalls(t *testing.T, names ...string) {
	t.Helper()
	var script []string
	var functions []*engine.Function
	for _, name := range names {
		script = append(script, "CREATE FUNCTION spice.public."+name+"(x) AS __spiced("+engine.Literal(name)+", x)")
		functions = append(functions, &engine.Function{
			Name: name, Signature: name, Args: []engine.FunctionArg{{Name: "x", Type: "VARCHAR"}}, Once: true,
		})
	}
	w.publish(t, engine.Contents{Functions: functions, Dependencies: always(script...)}, script...)
}

func TestErrorsOfAWorkerHaveHintsAndPositions(t *testing.T) {
	w := newWorld(t)
	w.declareCalls(t, "greeting")
	for sql, want := range map[string]string{
		"SELECT 1, greting('x')":        `there is no function "greting" (line 1, column 11); did you mean "greeting"?`,
		"SELECT levenstein('a', 'b')":   `there is no function "levenstein" (line 1, column 8); did you mean "levenshtein"?`,
		"SELECT main.nothinglikeit('')": `there is no function "nothinglikeit" (line 1, column 8)`,
		"SELECT CAST('x' AS INTEGER)":   `Could not convert string 'x' to INT32 (line 1, column 8)`,
	} {
		if got := w.isolated(sql, wait.Limit); got.Err == nil || got.Err.Error() != want {
			t.Errorf("%s: got %v, want %s", sql, got.Err, want)
		}
	}
}

func TestAWorkerReadsItsFoldersOnly(t *testing.T) {
	root, other := t.TempDir(), t.TempDir()
	w := newWorld(t, func(o *isolate.Options) { o.Roots = []string{root} })
	definitions := map[string]string{}
	for name, dir := range map[string]string{"inside": root, "outside": other} {
		path := filepath.Join(dir, "t.csv")
		if err := os.WriteFile(path, []byte("a\n1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		definitions[name] = "CREATE VIEW spice.public." + name + " AS SELECT * FROM read_csv(" + engine.Literal(path) + ")"
	}
	w.publish(t, engine.Contents{
		Relations: []engine.Relation{{Schema: "public", Name: "inside"}, {Schema: "public", Name: "outside"}},
		Dependencies: func(relations []engine.Relation, _ []string) ([]*engine.Dependency, error) {
			return always(definitions[relations[0].Name])(nil, nil)
		},
	})
	if got := w.isolated("SELECT * FROM inside", 0); got.JSON != `[{"a":1}]` {
		t.Errorf("got %+v", got)
	}
	if got := w.isolated("SELECT * FROM outside", 0); got.code() != errcode.Refused {
		t.Errorf("got %+v, want it refused", got)
	}
}

func TestAnInnerStatementDoesNotWaitForTheWorkerOfTheOuterOne(t *testing.T) {
	w := newWorld(t)
	w.Handle("ask", func(ctx context.Context, _ string) (string, error) {
		rows, err := w.Query(ctx, engine.Request{SQL: "SELECT 'inner' AS v", Isolate: true})
		if err != nil {
			return "", err
		}
		defer rows.Close()
		for chunk, err := range rows.Chunks() {
			if err != nil {
				return "", err
			}
			return string(chunk.Column(0).Bytes(0)), nil
		}
		return "", errors.New("no rows")
	})
	w.declareCalls(t, "ask")
	if got := w.isolated("SELECT ask('') AS v", 10*time.Second); got.JSON != `[{"v":"inner"}]` {
		t.Errorf("got %+v", got)
	}
}

// hold is a function of the runtime's that answers when its caller leaves.
func hold(ctx context.Context, _ string) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}
