package usage

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childDir names the folder of the process that TestKilled kills.
const childDir = "SPICED_USAGE_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		recordUntilKilled(dir)
		return
	}
	goleak.VerifyTestMain(m)
}
