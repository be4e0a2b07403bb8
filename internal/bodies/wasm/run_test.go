package wasm

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/arrowtest"
)

// endless is a function that would run for days.
const endless = "params: {fuel: 1000000000000000000}, "

// TestCallsEnd ends calls that loop, that call themselves without a loop, and that run long
// instructions, by their deadline and by cancelling. The call after it works.
func TestCallsEnd(t *testing.T) {
	for _, c := range []struct{ name, declaration, rows string }{
		{"a loop", "body_ref: numbers.wasm, entrypoint: spin, " + endless + number, `[{"x": 1}]`},
		{"calls", "body_ref: numbers.wasm, entrypoint: branch, " + endless + number, `[{"x": 64}]`},
		{"long instructions", "body_ref: hostile.wasm, entrypoint: fill, " + endless + number, `[{"x": 1}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := function(t, c.declaration)
			rows := arrowtest.Batch(t, b.spec.Args, c.rows)
			for range 2 {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				_, err := b.Call(ctx, rows)
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("got %v, want an exceeded deadline", err)
				}
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			reason := errors.New("no longer needed")
			done := make(chan error)
			go func() {
				_, err := b.Call(ctx, rows)
				done <- err
			}()
			for len(b.slots) == 0 {
				runtime.Gosched()
			}
			cancel(reason)
			if err := <-done; !errors.Is(err, reason) {
				t.Fatalf("got %v, want %v", err, reason)
			}
		})
	}
}

// TestGarbageCollection needs that a running module can be stopped: without that it would
// wait until the module ends.
func TestGarbageCollection(t *testing.T) {
	b := function(t, "body_ref: numbers.wasm, entrypoint: spin, "+endless+number)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := b.Call(ctx, arrowtest.Batch(t, b.spec.Args, `[{"x": 1}]`))
		done <- err
	}()
	for len(b.slots) == 0 {
		runtime.Gosched()
	}
	for range 10 {
		runtime.GC()
	}
	select {
	case err := <-done:
		t.Fatal(err)
	default:
	}
	cancel()
	<-done
}

func TestClose(t *testing.T) {
	b, err := made(t, specOf(t, pod(t, "functions:\n- {name: f, from: wasm, body_ref: numbers.wasm, entrypoint: spin, "+endless+number+"}\n"), 0),
		Maker{Instances: 1})
	if err != nil {
		t.Fatal(err)
	}
	rows := arrowtest.Batch(t, b.spec.Args, `[{"x": 1}]`)
	done := make(chan error, 2)
	for range 2 { // one runs, and one waits for it
		go func() {
			_, err := b.Call(context.Background(), rows)
			done <- err
		}()
	}
	for len(b.slots) == 0 {
		runtime.Gosched()
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-done; !errors.Is(err, errClosed) {
			t.Errorf("got %v, want %v", err, errClosed)
		}
	}
	if _, err := b.Call(t.Context(), rows); !errors.Is(err, errClosed) {
		t.Errorf("got %v, want %v", err, errClosed)
	}
}

// TestConcurrentCalls calls one function many times at once. Memories are pooled, and not
// more of them than calls may run at once.
func TestConcurrentCalls(t *testing.T) {
	b := function(t, "body_ref: arrow.wasm, "+number)
	rows := arrowtest.Batch(t, b.spec.Args, `[{"x": 1}, {"x": 2}]`)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 20 {
				values, err := b.Call(t.Context(), rows)
				if err != nil || values.String() != "[2 3]" {
					t.Errorf("got %v, %v", values, err)
				}
			}
		})
	}
	wait.Wait()
	if n := len(b.memories.free); pooled && (n == 0 || n > cap(b.slots)) {
		t.Errorf("%d memories are pooled, want 1 to %d", n, cap(b.slots))
	}
}

// TestFuelIsCounted compares the fuel of loops of different length.
func TestFuelIsCounted(t *testing.T) {
	enough := func(iterations string, fuel string) bool {
		b := function(t, "body_ref: numbers.wasm, entrypoint: work, params: {fuel: "+fuel+"}, "+number)
		_, err := call(t, b, `[{"x": `+iterations+`}]`)
		return err == nil
	}
	for _, c := range []struct {
		iterations, fuel string
		want             bool
	}{{"1000", "3000", false}, {"1000", "40000", true}, {"100000", "300000", false}, {"100000", "4000000", true}} {
		if got := enough(c.iterations, c.fuel); got != c.want {
			t.Errorf("%s iterations with fuel %s: %t", c.iterations, c.fuel, got)
		}
	}
}
