package pgwire_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/test/wait"
)

// TestManyClients has 200 clients, of whom half leave in the midst of a
// result. No one else notices, and nothing is left of them.
func TestManyClients(t *testing.T) {
	f := serve(t, nil)
	before := runtime.NumGoroutine()
	var clients sync.WaitGroup
	for i := range 200 {
		clients.Go(func() {
			if i%2 == 0 {
				f.honest()
			} else {
				f.leaving()
			}
		})
	}
	clients.Wait()
	f.idle()
	wait.Until(t, "the connections are forgotten", func() bool { return f.server.Connections() == 0 })
	wait.Until(t, "the goroutines are gone", func() bool { return runtime.NumGoroutine() <= before })
}

func (f *fixture) honest() {
	c, err := connectTo(f.context(), f.dsn(""))
	if err != nil {
		f.Error(err)
		return
	}
	defer c.Close(context.Background())
	for range 3 {
		var n int
		id := rand.IntN(10_000) + 1
		if err := c.QueryRow(f.context(), "SELECT id FROM numbers WHERE id = $1", id).Scan(&n); err != nil || n != id {
			f.Errorf("%d, %v; want %d", n, err, id)
		}
	}
}

// leaving reads a little of a large result and closes the connection.
func (f *fixture) leaving() {
	c, err := connectTo(f.context(), f.dsn(""))
	if err != nil {
		f.Error(err)
		return
	}
	h, err := c.PgConn().Hijack()
	if err != nil {
		f.Error(err)
		return
	}
	defer h.Conn.Close()
	h.Frontend.Send(&pgproto3.Query{String: "SELECT a.id, b.name FROM numbers a, numbers b"})
	if err := h.Frontend.Flush(); err != nil {
		f.Error(err)
		return
	}
	for range rand.IntN(100) {
		if _, err := h.Frontend.Receive(); err != nil {
			f.Error(err)
			return
		}
	}
}
