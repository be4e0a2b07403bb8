package refresh

import (
	"testing"
	"time"

	"github.com/spiced-sql/spiced/spicepod"
)

func TestBackoff(t *testing.T) {
	for failures, want := range map[int]time.Duration{1: 5 * time.Second, 2: 10 * time.Second, 4: 40 * time.Second, 50: 5 * time.Minute} {
		if got := Backoff(failures); got != want {
			t.Errorf("Backoff(%d) = %s, want %s", failures, got, want)
		}
	}
	a := &spicepod.Acceleration{RefreshRetryEnabled: true, RefreshRetryMaxAttempts: 2}
	if retryTime(a, 2, time.Now()).IsZero() || !retryTime(a, 3, time.Now()).IsZero() {
		t.Error("refresh_retry_max_attempts is ignored")
	}
}
