package engine

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestHelpersRunForLongStatements requires that a long statement gets threads, and that
// they end with it.
func TestHelpersRunForLongStatements(t *testing.T) {
	db := fixture(t, Options{Threads: 3})
	state := func() (running, wanted int) {
		db.duck.Load().helpers.mu.Lock()
		defer db.duck.Load().helpers.mu.Unlock()
		return db.duck.Load().helpers.running, db.duck.Load().helpers.wanted
	}
	for range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			_, err := run(ctx, db, Request{SQL: "SELECT count(*) FROM range(1000000000000) t(i) WHERE i % 7 = 3"})
			done <- err
		}()
		for running, _ := state(); running != 2; running, _ = state() {
			select {
			case err := <-done:
				t.Fatal("it ended: ", err)
			case <-time.After(time.Millisecond):
			}
		}
		cancel()
		if err := <-done; err == nil || !strings.Contains(err.Error(), "cancelled") {
			t.Error(err)
		}
		idle(t, db)
		db.duck.Load().helpers.wait()
		if running, wanted := state(); running != 0 || wanted != 0 {
			t.Errorf("%d run, %d wanted", running, wanted)
		}
	}
}

// TestHelpersBeginAndEnd begins and ends statements that are about as long as the delay.
func TestHelpersBeginAndEnd(t *testing.T) {
	db := fixture(t, Options{Threads: 16})
	done := make(chan struct{})
	for range 8 {
		go func() {
			for range 50 {
				w := db.duck.Load().helpers.begin()
				w.watch()
				_, _ = run(context.Background(), db, Request{SQL: "SELECT count(*) FROM range(300000) t(i) WHERE i % 7 = 3"})
				w.end()
			}
			done <- struct{}{}
		}()
	}
	for range 8 {
		<-done
	}
	idle(t, db)
	db.duck.Load().helpers.wait()
	if h := db.duck.Load().helpers; h.busy != 0 || h.wanted != 0 {
		t.Errorf("%d busy, %d wanted", h.busy, h.wanted)
	}
}

// TestHelpersNeedProcessors requires that a statement gets no helpers while statements use
// all processors, and gets them when one of these ends or waits for its reader.
func TestHelpersNeedProcessors(t *testing.T) {
	db := fixture(t, Options{Threads: 2})
	h := db.duck.Load().helpers
	wants := func(w *work) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		w.ask()
		return w.wants
	}
	one, other := h.begin(), h.begin()
	if wants(one) || wants(other) {
		t.Error("a helper next to two statements on two processors")
	}
	other.pause()
	if !wants(one) {
		t.Error("no helper next to a statement that waits for its reader")
	}
	other.resume()
	if wants(other) {
		t.Error("a helper for the other one")
	}
	one.end()
	if !wants(other) {
		t.Error("no helper for the last statement")
	}
	other.end()
	h.wait()
}
