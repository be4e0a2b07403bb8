package httpx_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/httpx"
)

func TestRetry(t *testing.T) {
	retry := httpx.Retry{Max: 4, First: time.Second, Most: 3 * time.Second, MaxAfter: time.Minute}
	for name, c := range map[string]struct {
		useful      int // attempts after which another one is useful
		after       time.Duration
		deadline    time.Duration
		attempts    int
		least, most time.Duration
	}{
		"success":                        {0, 0, 0, 1, 0, 0},
		"one failure":                    {1, 0, 0, 2, time.Second / 2, time.Second},
		"always":                         {9, 0, 0, 5, 4500 * time.Millisecond, 9 * time.Second},
		"as the server asks":             {2, 10 * time.Second, 0, 3, 20 * time.Second, 20 * time.Second},
		"the longest wait":               {1, time.Minute, 0, 2, time.Minute, time.Minute},
		"the server asks for more":       {9, time.Minute + 1, 0, 1, 0, 0},
		"the deadline is before a retry": {9, 10 * time.Second, 15 * time.Second, 2, 10 * time.Second, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				began, attempts := time.Now(), 0
				retry.Do(ctx, func() (bool, time.Duration) {
					attempts++
					return attempts <= c.useful, c.after
				})
				if took := time.Since(began); attempts != c.attempts || took < c.least || took > c.most {
					t.Errorf("%d attempts in %s, want %d in %s to %s", attempts, took, c.attempts, c.least, c.most)
				}
			})
		})
	}
}

func TestRetryEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began, attempts := time.Now(), 0
		httpx.Retry{Max: 1, MaxAfter: time.Hour}.Do(ctx, func() (bool, time.Duration) {
			attempts++
			return true, time.Hour
		})
		if attempts != 1 || time.Since(began) != time.Second {
			t.Errorf("%d attempts in %s", attempts, time.Since(began))
		}
		if err := httpx.Sleep(t.Context(), time.Minute); err != nil || time.Since(began) != time.Second+time.Minute {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if err := httpx.Sleep(ctx, time.Minute); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestRefusedAgain(t *testing.T) {
	for _, c := range []struct {
		status       int
		header, body string
		want         bool
	}{
		{400, "", "", false},
		{401, "", "", false},
		{404, "", "", false},
		{422, "", "", false},
		{408, "", "", true},
		{409, "", "", true},
		{429, "", "", true},
		{429, "", `{"error": {"message": "pay", "code": "insufficient_quota"}}`, false},
		{429, "true", `{"error": {"message": "pay", "code": "insufficient_quota"}}`, false},
		{500, "", "", true},
		{529, "", "", true},
		{400, "true", "", true},
		{500, "false", "", false},
		{500, "perhaps", "", true},
	} {
		res := &http.Response{StatusCode: c.status, Header: http.Header{"X-Should-Retry": {c.header}, "Retry-After": {"7"}}}
		got := httpx.Refused(res, strings.NewReader(c.body))
		if got.Again != c.want || got.After != 7*time.Second || got.Message != "" && got.Message != "pay" {
			t.Errorf("%d %q %q: %+v", c.status, c.header, c.body, got)
		}
	}
}

// TestRefusedIsBounded reads a body without end.
func TestRefusedIsBounded(t *testing.T) {
	endless := &counter{}
	httpx.Refused(&http.Response{StatusCode: 500}, endless)
	if endless.read > 128<<10 {
		t.Errorf("%d bytes were read", endless.read)
	}
}

type counter struct{ read int }

func (c *counter) Read(p []byte) (int, error) {
	c.read += len(p)
	return len(p), nil
}
