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
		db.helpers.mu.Lock()
		defer db.helpers.mu.Unlock()
		return db.helpers.running, db.helpers.wanted
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
		db.helpers.wait()
		if running, wanted := state(); running != 0 || wanted != 0 {
			t.Errorf("%d run, %d wanted", running, wanted)
		}
	}
}

// TestHelpersBeginAndEnd begins and ends statements that are about as long as the delay.
func TestHelpersBeginAndEnd(t *testing.T) {
	db := fixture(t, Options{Threads: 4})
	done := make(chan struct{})
	for range 8 {
		go func() {
			for range 50 {
				end := db.helpers.begin()
				_, _ = run(context.Background(), db, Request{SQL: "SELECT count(*) FROM range(300000) t(i) WHERE i % 7 = 3"})
				end()
			}
			done <- struct{}{}
		}()
	}
	for range 8 {
		<-done
	}
	idle(t, db)
	db.helpers.wait()
}
