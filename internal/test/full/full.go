// Package full tells tests that take long whether they run in full, as in .ci/run, which sets
// SPICED_TEST_FULL. Elsewhere they run a part, or skip, so that go test ./... takes minutes.
//
//	full.Need(t, "it reads 200 MB")
//	games := 2_000
//	if full.Test() {
//		games = 20_000
//	}
package full

import (
	"os"
	"testing"
)

// Test reports whether tests run in full.
func Test() bool { return os.Getenv("SPICED_TEST_FULL") != "" }

// Need skips the test, saying why, unless tests run in full.
func Need(t testing.TB, why string) {
	t.Helper()
	if !Test() {
		t.Skip("runs with SPICED_TEST_FULL only: " + why)
	}
}
