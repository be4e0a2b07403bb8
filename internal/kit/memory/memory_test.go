package memory_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/memory"
)

const mib = 1 << 20

func TestTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewBudget(32 * mib) // 16 for a caller, 2 MiB of text
		first, endFirst := b.Begin(t.Context(), "ann")
		if err := memory.Take(first, 100*mib); err != nil { // more than the share: it gets the whole share
			t.Fatal(err)
		}
		if err := memory.Take(first, 100*mib); err != nil {
			t.Fatal(err)
		}
		second, endSecond := b.Begin(t.Context(), "ann")
		defer endSecond()
		if err := memory.Take(second, memory.Free); err != nil {
			t.Errorf("a small request: %v", err)
		}
		began := time.Now()
		if err := memory.Take(second, mib); !errors.Is(err, memory.ErrShort) || time.Since(began) != 10*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		other, endOther := b.Begin(t.Context(), "bob")
		defer endOther()
		began = time.Now()
		if err := memory.Take(other, 100*mib); err != nil || time.Since(began) > 0 {
			t.Errorf("another caller: %v after %s", err, time.Since(began))
		}
		third, endThird := b.Begin(t.Context(), "eve")
		defer endThird()
		time.AfterFunc(time.Second, endFirst)
		began = time.Now()
		if err := memory.Take(third, mib); err != nil || time.Since(began) != time.Second {
			t.Errorf("after the end of another: %v after %s", err, time.Since(began))
		}
	})
}

func TestTakeEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewBudget(mib)
		first, end := b.Begin(t.Context(), "ann")
		defer end()
		if err := memory.Take(first, mib); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		second, endSecond := b.Begin(ctx, "ann")
		defer endSecond()
		time.AfterFunc(time.Second, cancel)
		if err := memory.Take(second, mib); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestWhatIsTakenIsFreeAgain has many requests of several callers at once, which read bodies of
// unknown sizes. Some are refused, so that others end; in the end all memory is free.
func TestWhatIsTakenIsFreeAgain(t *testing.T) { synctest.Test(t, testWhatIsTakenIsFreeAgain) }

func testWhatIsTakenIsFreeAgain(t *testing.T) {
	b := memory.NewBudget(16 * mib)
	var work sync.WaitGroup
	var whole, refused atomic.Int64
	for i := range 400 {
		work.Go(func() {
			ctx, end := b.Begin(t.Context(), string(rune('a'+i%7)))
			defer end()
			text := strings.Repeat("x", i*1000)
			got, err := io.ReadAll(memory.Reader(ctx, io.NopCloser(strings.NewReader(text))))
			switch {
			case errors.Is(err, memory.ErrShort):
				refused.Add(1)
			case err != nil || string(got) != text:
				t.Errorf("%d of %d bytes: %v", len(got), len(text), err)
			default:
				whole.Add(1)
			}
		})
	}
	work.Wait()
	t.Logf("%d whole, %d refused", whole.Load(), refused.Load())
	if whole.Load() < 100 {
		t.Errorf("only %d were read", whole.Load())
	}
	ctx, end := b.Begin(t.Context(), "a")
	defer end()
	other, endOther := b.Begin(t.Context(), "b")
	defer endOther()
	for _, ctx := range []context.Context{ctx, other} {
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := memory.Take(short, 100*mib); err != nil {
			t.Errorf("not all was given back: %v", err)
		}
	}
}

func TestReaderIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewBudget(mib)
		first, end := b.Begin(t.Context(), "ann")
		defer end()
		if err := memory.Take(first, mib); err != nil {
			t.Fatal(err)
		}
		second, endSecond := b.Begin(t.Context(), "ann")
		defer endSecond()
		r := memory.Reader(second, io.NopCloser(strings.NewReader(strings.Repeat("x", mib))))
		if got, err := io.ReadAll(r); !errors.Is(err, memory.ErrShort) || len(got) > 200<<10 {
			t.Errorf("%d bytes: %v", len(got), err)
		}
	})
}

// TestHold gives back the memory of parts of a request, while others wait for it.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewBudget(32 * mib)
		first, end := b.Begin(t.Context(), "ann")
		defer end()
		if err := memory.Take(first, 100<<10); err != nil {
			t.Fatal(err)
		}
		free, err := memory.Hold(first, 100*mib) // it has the whole share now
		if err != nil {
			t.Fatal(err)
		}
		again, err := memory.Hold(first, 100*mib)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, free)
		time.AfterFunc(2*time.Second, func() { again(); again() })
		second, endSecond := b.Begin(t.Context(), "ann")
		began := time.Now()
		if _, err := memory.Hold(second, mib); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		time.AfterFunc(time.Second, endSecond)
		began = time.Now()
		if _, err := memory.Hold(first, 2*mib); err != nil || time.Since(began) != time.Second {
			t.Errorf("a request that has a part: %v after %s", err, time.Since(began))
		}
	})
}

// TestPartsThatWaitForEachOther has requests whose parts come and go: none waits for ever, and all
// is given back.
func TestPartsThatWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewBudget(16 * mib)
		var work sync.WaitGroup
		var held, refused atomic.Int64
		for i := range 60 {
			work.Go(func() {
				ctx, end := b.Begin(t.Context(), string(rune('a'+i%3)))
				defer end()
				for j := range 20 {
					free, err := memory.Hold(ctx, int64(1+(i*7+j*13)%11)*mib/16)
					if errors.Is(err, memory.ErrShort) {
						refused.Add(1)
						continue
					}
					if err != nil {
						t.Error(err)
					}
					held.Add(1)
					time.Sleep(time.Duration(1+j%3) * time.Millisecond)
					if j%4 > 0 {
						free()
					}
				}
			})
		}
		work.Wait()
		t.Logf("%d held, %d refused", held.Load(), refused.Load())
		if held.Load() < 100 {
			t.Errorf("only %d parts", held.Load())
		}
		ctx, end := b.Begin(t.Context(), "a")
		defer end()
		other, endOther := b.Begin(t.Context(), "b")
		defer endOther()
		began := time.Now()
		if err := errors.Join(memory.Take(ctx, 100*mib), memory.Take(other, 100*mib)); err != nil || time.Since(began) > 0 {
			t.Errorf("not all was given back: %v", err)
		}
	})
}

func TestWithoutABudget(t *testing.T) {
	var b *memory.Budget
	ctx, end := b.Begin(t.Context(), "ann")
	defer end()
	if err := memory.Take(ctx, 1<<40); err != nil {
		t.Error(err)
	}
	if got, err := io.ReadAll(memory.Reader(ctx, io.NopCloser(strings.NewReader("x")))); string(got) != "x" || err != nil {
		t.Error(err)
	}
}

// TestSlowBodies gives back the memory for what has not arrived, and takes it when it does.
func TestSlowBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewBudget(32 * mib)
		ann, end := b.Begin(t.Context(), "ann")
		defer end()
		from, to := io.Pipe()
		body, err := memory.Body(ann, from, 2*mib)
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		began := time.Now()
		go func() {
			to.Write(make([]byte, mib)) // the half arrives at once
			time.Sleep(time.Minute)
			to.Write(make([]byte, mib))
			to.Close()
		}()
		read := make(chan error, 1)
		go func() {
			n, err := io.Copy(io.Discard, body)
			if err == nil && n != 2*mib {
				err = fmt.Errorf("%d bytes", n)
			}
			read <- err
		}()
		again, endAgain := b.Begin(t.Context(), "ann")
		if err := memory.Take(again, mib); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("another request of the caller: %v after %s", err, time.Since(began))
		}
		endAgain()
		if err := <-read; err != nil || time.Since(began) < time.Minute {
			t.Errorf("the slow one: %v after %s", err, time.Since(began))
		}
		end()
		all, endAll := b.Begin(t.Context(), "ann")
		defer endAll()
		began = time.Now()
		if err := memory.Take(all, 100*mib); err != nil || time.Since(began) > 0 {
			t.Errorf("not all was given back: %v", err)
		}
	})
}
