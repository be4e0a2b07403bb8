package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/test/full"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

const endless = "SELECT count(*) FROM range(10000000) a, range(10000000) b"

// deaf is one kernel call that DuckDB cannot interrupt; it ends by itself.
const deaf = "SELECT levenshtein(repeat('a', 12000 + i), repeat('b', 12000 + i)) FROM k WHERE i = 0"

func TestLimits(t *testing.T) {
	db := fixture(t, Options{Grace: 100 * time.Millisecond})
	for _, c := range []struct {
		name, sql string
		limits    Limits
		code      errcode.Code
		text      string
	}{
		{"time", endless, Limits{Timeout: 50 * time.Millisecond}, errcode.Timeout, "the statement took longer than 50ms"},
		{
			"time while planning", "SELECT count(*) FROM " + strings.Repeat("k JOIN ", 12) + "k ON " + strings.Repeat("true ON ", 11) + "true",
			Limits{Timeout: 50 * time.Millisecond},
			errcode.Timeout, "50ms",
		},
		{"rows", "FROM range(5000)", Limits{MaxRows: 4999}, errcode.Limit, "the result has more than 4999 rows"},
		{"rows in one chunk", "FROM range(11)", Limits{MaxRows: 10}, errcode.Limit, "more than 10 rows"},
		{"bytes", "SELECT repeat('x', 1000) FROM range(5000)", Limits{MaxBytes: 1 << 20}, errcode.Limit, "the result has more than 1048576 bytes"},
		{"bytes of one value", "SELECT repeat('x', 2000000)", Limits{MaxBytes: 1 << 20}, errcode.Limit, "more than 1048576 bytes"},
		{"bytes nested", "SELECT [{'a': repeat('x', 2000000)}]", Limits{MaxBytes: 1 << 20}, errcode.Limit, "bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			_, err := run(context.Background(), db, Request{SQL: c.sql, Limits: c.limits})
			if err == nil {
				t.Fatal("no error")
			}
			if e := asError(t, err); e.Code != c.code || !strings.Contains(e.Message, c.text) {
				t.Errorf("%s: %s", e.Code, e)
			}
			if took := time.Since(start); took > reaction {
				t.Errorf("took %s", took)
			}
			idle(t, db)
		})
	}
	for sql, limits := range map[string]Limits{
		"FROM range(5000)":                   {MaxRows: 5000},
		"SELECT repeat('x', 1000) FROM k":    {MaxBytes: 100_000},
		"SELECT 'x' FROM range(100) LIMIT 0": {MaxRows: 1, MaxBytes: 1},
	} {
		if _, err := run(context.Background(), db, Request{SQL: sql, Limits: limits}); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	db := fixture(t, Options{MemoryLimit: "64MB"})
	_, err := run(t.Context(), db, Request{SQL: "SELECT list(range) FROM range(100000000)"})
	if e := asError(t, err); e.Code != errcode.Limit || !strings.Contains(e.Hint, "runtime.query.memory_limit") {
		t.Errorf("got %+v", e)
	}
}

func TestCallerLeaves(t *testing.T) {
	db := fixture(t, Options{})
	check := func(err error, code errcode.Code, text string) {
		t.Helper()
		if err == nil {
			t.Fatal("no error")
		}
		if e := asError(t, err); e.Code != code || !strings.Contains(e.Message, text) {
			t.Errorf("%s: %s", e.Code, e)
		}
		idle(t, db)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := run(ctx, db, Request{SQL: "SELECT 1"})
	check(err, errcode.Cancelled, "the statement was cancelled")

	ctx, cancel = context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err = run(ctx, db, Request{SQL: endless})
	check(err, errcode.Cancelled, "the statement was cancelled")

	ctx, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = run(ctx, db, Request{SQL: endless})
	check(err, errcode.Timeout, "its caller's deadline")

	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	rows, err := db.Query(ctx, Request{SQL: "FROM range(100000000)"})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for _, err = range rows.Chunks() {
		cancel()
	}
	check(err, errcode.Cancelled, "the statement was cancelled")
}

// TestInterruptStorm cancels statements at random moments. No interrupt may
// hit the statement after, and everything comes back.
func TestInterruptStorm(t *testing.T) {
	db := fixture(t, Options{Connections: 2})
	n := 2000
	if !full.Test() {
		n = 300
	}
	var wg sync.WaitGroup
	for g := range 4 {
		rnd := rand.New(rand.NewPCG(1, uint64(g)))
		wg.Go(func() {
			for range n / 4 {
				ctx, cancel := context.WithCancel(context.Background())
				timer := time.AfterFunc(time.Duration(rnd.IntN(3000))*time.Microsecond, cancel)
				sql := []string{endless, "FROM range(10000000)", "SELECT 1", "SELECT sum(i) FROM k"}[rnd.IntN(4)]
				_, err := run(ctx, db, Request{SQL: sql})
				if err != nil && asError(t, err).Code != errcode.Cancelled || err == nil && sql == endless {
					t.Errorf("%s: %v", sql, err)
				}
				timer.Stop()
				cancel()
				if got, err := integer(context.Background(), db, "SELECT sum(i)::BIGINT FROM k"); got != 4950 || err != nil {
					t.Errorf("the statement after: %d, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
	idle(t, db)
}

// TestDeafStatement runs what does not hear interrupts: its caller returns in
// time and others are served.
func TestDeafStatement(t *testing.T) {
	db := fixture(t, Options{Connections: 1, Grace: 50 * time.Millisecond})
	start := time.Now()
	_, err := run(context.Background(), db, Request{SQL: deaf, Limits: Limits{Timeout: 50 * time.Millisecond}})
	if err == nil {
		t.Fatal("the statement is not slow, or its limit does not hold")
	}
	took := time.Since(start)
	if e := asError(t, err); e.Code != errcode.Timeout {
		t.Error(e)
	}
	mustInteger(t, db, "SELECT count(*) FROM k", 100)
	t.Logf("returned after %s, others served after %s, %+v", took, time.Since(start), db.Stats())
	if took > reaction {
		t.Errorf("took %s", took)
	}
	idle(t, db)
	mustInteger(t, db, "SELECT count(*) FROM k", 100)
}

func TestQueue(t *testing.T) {
	db := fixture(t, Options{Connections: 1, Queue: 1})
	rows, err := db.Query(context.Background(), Request{SQL: "FROM range(100000000)"})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	waited := make(chan error, 1)
	go func() {
		_, err := integer(context.Background(), db, "SELECT count(*) FROM k")
		waited <- err
	}()
	wait.Until(t, "one waits", func() bool { return db.Stats().Waiting == 1 })
	_, err = run(context.Background(), db, Request{SQL: "SELECT 1"})
	if err == nil || asError(t, err).Code != errcode.Busy {
		t.Errorf("got %v", err)
	}
	rows.Close()
	if err := <-waited; err != nil {
		t.Error(err)
	}
	idle(t, db)
}

func TestReaderStops(t *testing.T) {
	db := fixture(t, Options{Connections: 1})
	for _, sql := range []string{"FROM range(100000000)", "FROM range(5000)", "SELECT 1"} {
		for read := range 3 {
			rows, err := db.Query(context.Background(), Request{SQL: sql})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, err := range rows.Chunks() {
				if n++; err != nil || n > read {
					break
				}
			}
			rows.Close()
			rows.Close()
			idle(t, db)
			for range rows.chunks {
				t.Error("a chunk was not freed")
			}
		}
	}
}

// TestResultIsNeverCutShort lets the caller leave while the last chunks wait
// to be read: either all rows come or an error does.
func TestResultIsNeverCutShort(t *testing.T) {
	db := fixture(t, Options{})
	for i := range 200 {
		ctx, cancel := context.WithCancel(context.Background())
		rows, err := db.Query(ctx, Request{SQL: "FROM range(6000)"})
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			idle(t, db)
		}
		cancel()
		var failed error
		for _, err := range rows.Chunks() {
			failed = err
		}
		if failed == nil && rows.Read() != 6000 {
			t.Fatalf("%d rows and no error", rows.Read())
		}
		rows.Close()
	}
}

func TestCloseWhileBusy(t *testing.T) {
	for name, sql := range map[string]string{"running": endless, "streaming": "FROM range(100000000)", "deaf": deaf} {
		t.Run(name, func(t *testing.T) {
			db := fixture(t, Options{Grace: 50 * time.Millisecond, Connections: 2})
			failed := make(chan error, 1)
			go func() {
				rows, err := db.Query(context.Background(), Request{SQL: sql})
				if err == nil {
					defer rows.Close()
					for _, err = range rows.Chunks() {
						if err != nil {
							break
						}
						<-rows.ctx.Done() // a reader that has stopped
					}
				}
				failed <- err
			}()
			wait.Until(t, "it runs", func() bool { return db.Stats().Running == 1 })
			closed := make(chan struct{})
			go func() { db.Close(); close(closed) }()
			select {
			case <-closed:
			case <-time.After(wait.Limit):
				t.Fatal("Close hangs")
			}
			select {
			case err := <-failed:
				if err != nil && asError(t, err).Code != errcode.Cancelled {
					t.Error(err)
				}
			case <-time.After(wait.Limit):
				t.Fatal("the statement hangs")
			}
			if _, err := run(context.Background(), db, Request{SQL: "SELECT 1"}); err == nil || asError(t, err).Code != errcode.Cancelled {
				t.Errorf("after Close: %v", err)
			}
			wait.Until(t, "the deaf one ends", func() bool { return db.Stats().Abandoned == 0 })
		})
	}
}

func TestStageAndExec(t *testing.T) {
	db := fixture(t, Options{})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := db.Exec(ctx, "CREATE TABLE spice.public.t AS "+endless); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, err := db.Stage(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	stage, err := db.Stage(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer stage.Close()
	if err := stage.Exec("CREATE TEMP FUNCTION twice(x) AS 7::BIGINT"); err != nil {
		t.Fatal(err)
	}
	cols, err := stage.Describe("SELECT twice(1) AS a, 'x' AS b")
	if err != nil || len(cols) != 2 || cols[0].Type.ID != BigInt || cols[1].Name != "b" {
		t.Error(cols, err)
	}
	_, err = stage.Describe("SELECT 1,\n nosuch(1)")
	if e := asError(t, err); e.Line != 2 || e.Column != 2 {
		t.Error(e)
	}
	mustInteger(t, db, "SELECT twice(21)::BIGINT", 42)
	gone, leave := context.WithCancel(context.Background())
	leave()
	if err := stage.Run(gone, func() error { t.Error("ran"); return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestLongTextsAreNotCached(t *testing.T) {
	db := fixture(t, Options{Connections: 1})
	db.maxRun = time.Hour // even on a busy machine
	for n, want := range map[int]int{10: 1, textCached: 0} {
		publish(t, db, db.Current().Renew()) // not used by any statement yet
		if _, err := texts(t.Context(), db, "SELECT '"+strings.Repeat("x", n)+"' LIMIT 0"); err != nil {
			t.Fatal(err)
		}
		if !db.Quiet(time.Minute) {
			t.Fatal("the statement goes on")
		}
		if verdicts, plans := len(db.Current().verdicts), db.pools[0].idle[0].prepared.Len(); verdicts != want || plans != want {
			t.Errorf("of a text of %d bytes: %d verdicts, %d plans; want %d", n, verdicts, plans, want)
		}
	}
}

// TestMemoryStaysFlat runs many statements and one long stream.
func TestMemoryStaysFlat(t *testing.T) {
	if !full.Test() || rss(t) == 0 {
		t.Skip("slow, and reads /proc")
	}
	db := fixture(t, Options{})
	small := func(n int) {
		for i := range n {
			sql := "SELECT twice('" + strconv.Itoa(i%200) + "')"
			if i%10 == 0 {
				sql = "FROM range(5000)" // two chunks are left unread
			}
			rows, err := db.Query(context.Background(), Request{SQL: sql})
			if err != nil {
				t.Fatal(err)
			}
			for range rows.Chunks() {
				break
			}
			rows.Close()
		}
	}
	small(20_000)
	before := rss(t)
	small(50_000)
	if n, err := run(context.Background(), db, Request{SQL: "SELECT range, md5(range::VARCHAR) FROM range(10000000)"}); n != 10_000_000 || err != nil {
		t.Fatal(n, err)
	}
	after := rss(t)
	t.Logf("RSS %d MiB → %d MiB", before>>20, after>>20)
	if after > before+64<<20 {
		t.Errorf("RSS grew from %d MiB to %d MiB", before>>20, after>>20)
	}
}

// rss is the resident memory of the process, 0 where it cannot be read.
func rss(t testing.TB) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(b))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

func TestProgressOfAStatement(t *testing.T) {
	db := fixture(t, Options{})
	stage, err := db.Stage(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer stage.Close()
	if err := stage.TrackProgress(); err != nil {
		t.Fatal(err)
	}
	if err := stage.Exec("CREATE TEMP TABLE numbers AS SELECT i FROM range(2000000) r(i)"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- stage.Exec("CREATE TEMP TABLE sums AS SELECT md5(i::VARCHAR) FROM numbers") }()
	seen := map[int]bool{}
	for running := true; running; {
		select {
		case err = <-done:
			running = false
		default:
			if p := stage.Progress(); p > 0 && p < 100 {
				seen[int(p)] = true
			}
		}
	}
	if err != nil || len(seen) < 3 {
		t.Errorf("%d percentages of the statement were seen, error %v", len(seen), err)
	}
}
