package isolate

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// payload is the nth payload of a test.
func payload(n, size int) []byte { return bytes.Repeat([]byte{byte(n)}, size) }

// TestASlowReaderGetsEveryRow: whatever the pauses of the reader, it gets each
// payload once and in order, and the budget is free afterwards.
func TestASlowReaderGetsEveryRow(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			random := rand.New(rand.NewPCG(seed, 0))
			b := &budget{limit: 64 << 20}
			s := newSpool(dir, b, func() bool { return seed%2 == 0 })
			fail := errors.New("at the end")
			const payloads = 200
			go func() {
				for n := range payloads {
					if err := s.put(t.Context(), payload(n, 1+n*n*4)); err != nil {
						t.Error(err)
					}
				}
				s.finish(fail)
			}()
			for n := range payloads {
				if random.IntN(20) == 0 {
					time.Sleep(time.Duration(random.IntN(5)) * time.Second) // on the clock of the test
				}
				got, err := s.take(t.Context())
				if err != nil || !bytes.Equal(got, payload(n, 1+n*n*4)) {
					t.Fatalf("payload %d: got %d bytes, %v", n, len(got), err)
				}
			}
			if got, err := s.take(t.Context()); got != nil || !errors.Is(err, fail) {
				t.Errorf("at the end: got %d bytes, %v", len(got), err)
			}
			s.close()
			if used := b.used.Load(); used != 0 {
				t.Errorf("%d bytes are still used", used)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestAReaderThatPausesFreesTheWorker: the rows of a reader that reads nothing move
// to a file within about a second.
func TestAReaderThatPausesFreesTheWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpool(t.TempDir(), &budget{limit: 1 << 30}, func() bool { return false })
		began := time.Now()
		for n := range 40 {
			if err := s.put(t.Context(), payload(n, 1<<20)); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took > readerPause+2*checkEvery {
			t.Errorf("it took %s", took)
		}
		s.close()
	})
}

// TestASteadySlowReaderFreesTheWorker: if others wait for it, the rows of a reader that
// never pauses for long move to a file, too.
func TestASteadySlowReaderFreesTheWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpool(t.TempDir(), &budget{limit: 1 << 30}, func() bool { return true })
		const payloads = 40
		began := time.Now()
		go func() {
			for range payloads {
				if _, err := s.take(t.Context()); err != nil {
					t.Error(err)
				}
				time.Sleep(readerPause / 2) // on the clock of the test
			}
		}()
		for n := range payloads {
			if err := s.put(t.Context(), payload(n, 1<<20)); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took > 2*readerPause {
			t.Errorf("it took %s", took)
		}
		time.Sleep(payloads * readerPause)
		s.close()
	})
}

// TestAFullSpool: the worker waits for the reader while no statement waits for the
// worker, else the statement fails.
func TestAFullSpool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		contended := false
		s := newSpool(t.TempDir(), &budget{limit: 1 << 20}, func() bool { return contended })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var err error
		for n := 0; err == nil; n++ {
			err = s.put(ctx, payload(n, 1<<20))
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without others: got %v", err)
		}
		contended = true
		began := time.Now()
		if err := s.put(t.Context(), payload(0, 1<<20)); !errors.Is(err, errSlowReader) || time.Since(began) > 2*readerPause {
			t.Errorf("with others: got %v after %s", err, time.Since(began))
		}
		s.close()
	})
}
