package pgwire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/kit/memory"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// TestMemoryOfLargeMessages holds all memory: a large message waits, and small ones do not.
func TestMemoryOfLargeMessages(t *testing.T) {
	budget := memory.NewBudget(16 << 20)
	f := serve(t, func(o *pgwire.Options) { o.Memory = budget })
	length := func(text string) (n int, err error) {
		c, err := pgx.Connect(f.context(), f.dsn(""))
		if err != nil {
			return 0, err
		}
		defer c.Close(f.context())
		err = c.QueryRow(f.context(), "SELECT length($1::text)", text).Scan(&n)
		return n, err
	}
	var ends []func()
	for _, caller := range []string{"a", "b"} {
		ctx, end := budget.Begin(t.Context(), caller)
		ends = append(ends, end)
		if err := memory.Take(ctx, 64<<20); err != nil {
			t.Fatal(err)
		}
	}
	large := strings.Repeat("x", 8<<20)
	type answer struct {
		n   int
		err error
	}
	answers := make(chan answer, 20)
	for range cap(answers) {
		go func() {
			n, err := length(large)
			answers <- answer{n, err}
		}()
	}
	if n, err := length("small"); n != 5 || err != nil {
		t.Errorf("a small message: %d, %v", n, err)
	}
	select {
	case a := <-answers:
		t.Errorf("a large message did not wait: %+v", a)
	default:
	}
	for _, end := range ends {
		end()
	}
	for range cap(answers) { // one after the other: each takes all that a caller may have
		if a := <-answers; a.n != len(large) || a.err != nil {
			t.Errorf("%+v", a)
		}
	}
	ctx, end := budget.Begin(t.Context(), "c")
	defer end()
	wait.Until(t, "all memory is given back", func() bool { return memory.Take(ctx, 64<<20) == nil })
}

// TestMemoryOfBoundValues binds a large value: it holds memory until its statement has run, also
// while small messages arrive.
func TestMemoryOfBoundValues(t *testing.T) {
	budget := memory.NewBudget(16 << 20)
	f := serve(t, func(o *pgwire.Options) { o.Memory = budget })
	c, err := pgx.Connect(f.context(), f.dsn(""))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(f.context())
	fe := c.PgConn().Frontend()
	until := func(want string, send ...pgproto3.FrontendMessage) {
		t.Helper()
		for _, m := range send {
			fe.Send(m)
		}
		if err := fe.Flush(); err != nil {
			t.Fatal(err)
		}
		for got := ""; got != want; {
			m, err := fe.Receive()
			if err != nil {
				t.Fatal(err)
			}
			if got = fmt.Sprintf("%T", m); got == "*pgproto3.ErrorResponse" {
				t.Fatal(m)
			}
		}
	}
	until("*pgproto3.BindComplete", &pgproto3.Parse{Query: "SELECT length($1::text)"}, &pgproto3.Bind{Parameters: [][]byte{bytes.Repeat([]byte{'x'}, 4<<20)}},
		&pgproto3.Flush{})
	until("*pgproto3.NoData", &pgproto3.Parse{Name: "empty"}, &pgproto3.Describe{ObjectType: 'S', Name: "empty"}, &pgproto3.Flush{})

	other, end := budget.Begin(t.Context(), "b")
	defer end()
	if err := memory.Take(other, 64<<20); err != nil {
		t.Fatal(err)
	}
	free := func(patience time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		ctx, end := budget.Begin(ctx, "c")
		defer end()
		return memory.Take(ctx, 1<<20)
	}
	if err := free(50 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a bound value holds no memory: %v", err)
	}
	until("*pgproto3.ReadyForQuery", &pgproto3.Execute{}, &pgproto3.Sync{})
	if err := free(10 * time.Second); err != nil {
		t.Errorf("the value of a statement that has run holds memory: %v", err)
	}
}

// TestMemoryOfCopiedData sends COPY FROM more data, in small messages, than there is memory for: it
// fails, and the connection can be used.
func TestMemoryOfCopiedData(t *testing.T) {
	budget := memory.NewBudget(16 << 20)
	f := serveWriting(t, func(o *pgwire.Options) { o.Memory = budget })
	c := f.connect("")
	var ends []func()
	for _, caller := range []string{"a", "b"} {
		ctx, end := budget.Begin(t.Context(), caller)
		ends = append(ends, end)
		if err := memory.Take(ctx, 1000<<10); err != nil {
			t.Fatal(err)
		}
	}
	line := strings.Repeat("x", 999) + "\n"
	_, err := c.PgConn().CopyFrom(f.context(), strings.NewReader(strings.Repeat(line, 3000)), "COPY words FROM STDIN")
	if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "53200" {
		t.Errorf("got %v", err)
	}
	for _, end := range ends {
		end()
	}
	tag, err := c.PgConn().CopyFrom(f.context(), strings.NewReader(strings.Repeat(line, 3000)), "COPY words FROM STDIN")
	if err != nil || tag.String() != "COPY 3000" {
		t.Errorf("%s, %v", tag, err)
	}
}
