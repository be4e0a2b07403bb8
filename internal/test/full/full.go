// Package full tells tests that take long whether they run in full, as in .ci/run, which sets
// SPICED_TEST_FULL. Elsewhere they run a part, or skip, so that go test ./... takes minutes.
//
//	full.Need(t, "it reads 200 MB")
//	games := full.Size(2_000, 20_000)
package full

import (
	"os"
	"testing"
)

// Test reports whether tests run in full.
func Test() bool { return os.Getenv("SPICED_TEST_FULL") != "" }

// Size returns whole if tests run in full, else part: how many rounds or cases a test has.
func Size(part, whole int) int {
	if Test() {
		return whole
	}
	return part
}

// Need skips the test, saying why, unless tests run in full.
func Need(t testing.TB, why string) {
	t.Helper()
	if !Test() {
		t.Skip("runs with SPICED_TEST_FULL only: " + why)
	}
}
