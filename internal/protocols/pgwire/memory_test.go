package pgwire_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

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
