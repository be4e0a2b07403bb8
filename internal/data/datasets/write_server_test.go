package datasets

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// writesAtOnce has writers that change the same rows of shop; no change is lost.
func writesAtOnce(t *testing.T, w *world) {
	w.mustChange("INSERT INTO shop (id, code) SELECT 1 + range, 'c' || range FROM range(10)")
	const writers, times = 5, 5
	failed := make(chan error)
	for i := range writers {
		go func() {
			var err error
			for range times {
				for _, sql := range []string{
					"UPDATE shop SET hits = hits + 1 WHERE id <= 5",
					fmt.Sprintf("INSERT INTO shop (id, code) VALUES (%d, 'w%[1]d') ON CONFLICT DO NOTHING", 100+i),
					"INSERT INTO shop AS o (id, code, hits) VALUES (200, 'shared', 1) ON CONFLICT (id) DO UPDATE SET hits = o.hits + excluded.hits",
				} {
					_, e := w.rowsOf(context.Background(), sql)
					for state(e) == "40P01" { // MariaDB ends one of two that wait for each other
						_, e = w.rowsOf(context.Background(), sql)
					}
					err = errors.Join(err, e)
				}
			}
			failed <- err
		}()
	}
	for range writers {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	w.want("SELECT id, hits FROM shop WHERE id <= 5 ORDER BY id", "1|25, 2|25, 3|25, 4|25, 5|25")
	w.want("SELECT hits FROM shop WHERE code = 'SHARED'", "25")
	w.want("SELECT count(*) FROM shop", "16")
}

// transaction is an open transaction of the server's own client.
type transaction interface{ Exec(statements ...string) }

// writeWaits has writes that wait for rows of shop that another transaction holds; waits
// counts them at the server. The statements more wait as well.
func writeWaits(t *testing.T, w *world, begin func() transaction, waits string, value func(string) string, more ...string) {
	w.mustChange("INSERT INTO shop (id, code, hits) VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 1)")
	other := begin()
	other.Exec("UPDATE shop SET hits = 10 WHERE id = 1", "DELETE FROM shop WHERE id = 2", "UPDATE shop SET hits = 20, name = 'x' WHERE id = 3")
	type outcome struct {
		rows string
		err  error
	}
	ended := make(chan outcome)
	run := func(ctx context.Context, sql string) {
		rows, err := w.rowsOf(ctx, sql)
		ended <- outcome{rows, err}
	}
	waiting := func() bool { return value(waits) != "0" }
	go run(context.Background(), "UPDATE shop SET hits = hits + 1 WHERE name = 'new' RETURNING id, hits")
	wait.Until(t, "the UPDATE waits for the rows", waiting)
	other.Exec("COMMIT")
	if got := <-ended; got.err != nil || got.rows != "1|11" {
		t.Errorf("got %q, %v; want the row that is still there and new, as it is now", got.rows, got.err)
	}
	w.want("SELECT id, hits FROM shop ORDER BY id", "1|11, 3|20")

	other = begin()
	other.Exec("SELECT 1 FROM shop FOR UPDATE")
	for _, sql := range append(more, "DELETE FROM shop", "UPDATE shop SET hits = 0", "INSERT INTO shop (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET hits = 0") {
		ctx, cancel := context.WithCancel(t.Context())
		go run(ctx, sql)
		wait.Until(t, "the statement waits", waiting)
		cancel()
		var e *engine.Error
		if got := <-ended; !errors.As(got.err, &e) || e.Code != errcode.Cancelled {
			t.Errorf("%s: got %v", sql, got.err)
		}
		wait.Until(t, "the server has ended the statement", func() bool { return !waiting() })
	}
	rows, err := w.db.Query(t.Context(), engine.Request{SQL: "DELETE FROM shop", Write: true, Limits: engine.Limits{Timeout: 200 * time.Millisecond}})
	var e *engine.Error
	if !errors.As(err, &e) || e.Code != errcode.Timeout {
		t.Errorf("a time limit: got %v, %v", rows, err)
	}
	wait.Until(t, "the server has ended the statement", func() bool { return !waiting() })
	other.Exec("ROLLBACK")
	w.want("SELECT id, hits FROM shop ORDER BY id", "1|11, 3|20")
}
