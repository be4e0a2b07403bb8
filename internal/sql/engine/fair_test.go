package engine

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

func as(principal string) context.Context {
	return caller.With(context.Background(), caller.Caller{Principal: principal})
}

// TestFloodOfOneCaller runs 40 endless statements of one caller: another caller's
// statements run next to them.
func TestFloodOfOneCaller(t *testing.T) {
	db := fixture(t, Options{Connections: 4})
	ctx, cancel := context.WithCancel(as("flood"))
	var flood sync.WaitGroup
	for range 40 {
		flood.Go(func() { _, _ = run(ctx, db, Request{SQL: endless}) })
	}
	wait.Until(t, "the flood runs", func() bool { s := db.Stats(); return s.Running == 4 && s.Waiting == 36 })
	var worst time.Duration
	for range 50 {
		start := time.Now()
		if _, err := run(as("ann"), db, Request{SQL: "SELECT 1"}); err != nil {
			t.Fatal(err)
		}
		worst = max(worst, time.Since(start))
	}
	if s := db.Stats(); s.Waiting != 36 || s.Running > 5 {
		t.Errorf("%+v: others run than ann's", s)
	}
	if worst > reaction {
		t.Errorf("the slowest of ann's took %s", worst)
	}
	cancel()
	flood.Wait()
	idle(t, db)
}

// TestAbandonedStatementsCount lets statements of one caller ignore their
// cancellation: it is refused others until they end, and no one else is.
func TestAbandonedStatementsCount(t *testing.T) {
	db := fixture(t, Options{Connections: 4, Grace: 20 * time.Millisecond})
	abandon(t, db, "rude", 3)
	_, err := run(as("rude"), db, Request{SQL: "SELECT 1"})
	if err == nil {
		t.Fatal("no error")
	}
	if e := asError(t, err); e.Code != errcode.Busy || e.Message != "statements of this caller that ignore their cancellation: 3" || e.Hint == "" {
		t.Errorf("%s: %s", e.Code, e)
	}
	if _, err := run(as("ann"), db, Request{SQL: "SELECT 1"}); err != nil {
		t.Error(err)
	}
	db.pools[0].memory = 1 // as if the process held more than the limit
	if residentBytes() > 0 {
		if _, err = run(as("ann"), db, Request{SQL: "SELECT 1"}); err != nil {
			t.Errorf("refused for what others hold: %v", err)
		}
	}
	idle(t, db)
	for _, who := range []string{"rude", "ann"} {
		if _, err := run(as(who), db, Request{SQL: "SELECT 1"}); err != nil {
			t.Errorf("%s, after they have ended: %v", who, err)
		}
	}
}

// abandon runs n statements of a caller that ignore their cancellation.
func abandon(t *testing.T, db *DB, who string, n int) {
	t.Helper()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			sql := strings.ReplaceAll(deaf, "12000", "30000")
			if _, err := run(as(who), db, Request{SQL: sql, Limits: Limits{Timeout: 50 * time.Millisecond}}); err == nil {
				t.Error("the statement is not slow, or its limit does not hold")
			}
		})
	}
	all.Wait()
	wait.Until(t, "they are abandoned", func() bool { return db.Stats().Abandoned == n })
}

func TestMaxSpill(t *testing.T) {
	sorted := Request{SQL: "SELECT md5(range::VARCHAR) AS m FROM range(1000000) ORDER BY m"}
	_, err := run(t.Context(), fixture(t, Options{MemoryLimit: "50MB", MaxSpill: 1 << 20}), sorted)
	if err == nil {
		t.Fatal("the statement spills no more than 1 MiB")
	}
	e := asError(t, err)
	if e.Code != errcode.Limit || !strings.Contains(e.Hint, "runtime.query.max_spill") || strings.Contains(e.Error(), "temp_directory") {
		t.Errorf("%s: %s", e.Code, e)
	}
	if _, err := run(t.Context(), fixture(t, Options{MemoryLimit: "50MB"}), sorted); err != nil {
		t.Errorf("with the default: %v", err)
	}
}

func TestDefaultSpill(t *testing.T) {
	got := defaultSpill(t.TempDir() + "/not/there")
	if got < leastSpill {
		t.Errorf("%d bytes", got)
	}
	if n, err := parseSize("1.5 GiB"); n != 3<<29 || err != nil {
		t.Errorf("1.5 GiB is %d, %v", n, err)
	}
	if _, err := parseSize("lots"); err == nil {
		t.Error("lots is no size")
	}
}
