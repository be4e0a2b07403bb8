// Package wait lets tests wait for a state that they cannot be notified of.
//
//	wait.Until(t, "the statement runs", func() bool { return db.Stats().Running == 1 })
package wait

import (
	"testing"
	"time"
)

// Limit bounds every wait.
const Limit = 2 * time.Minute

// Until returns when f returns true. The test fails after Limit.
func Until(t testing.TB, what string, f func() bool) {
	t.Helper()
	deadline := time.NewTimer(Limit)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("waited %s in vain until %s", Limit, what)
		}
	}
}
