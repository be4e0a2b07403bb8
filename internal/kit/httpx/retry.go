package httpx

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"time"
)

// Retry says how often and when a request that failed is sent again.
type Retry struct {
	Max         int           // retries, not attempts
	First, Most time.Duration // the wait before the first retry, which doubles up to Most
	MaxAfter    time.Duration // the longest wait that a server may ask for; a longer one fails the request

	Pause func(ctx context.Context, d time.Duration) error // nil: [Sleep]
}

// Providers returns the retries of the clients of OpenAI and Anthropic.
func Providers(retries int) Retry {
	return Retry{Max: retries, First: 500 * time.Millisecond, Most: 8 * time.Second, MaxAfter: MaxProviderWait}
}

// MaxProviderWait is the longest wait that a provider of models may ask for. A longer one
// fails the request at once.
const MaxProviderWait = time.Minute

// Do calls attempt until that reports that another attempt is useless. It also ends when the
// retries are used up, when ctx is done or would be before the next attempt, and when the server
// asks for a wait longer than MaxAfter. The result is the one of the last attempt, which attempt
// keeps.
//
// It waits as long as the server asks; otherwise the upper half of the wait is random, so that
// clients that failed together do not retry together.
func (r Retry) Do(ctx context.Context, attempt func() (again bool, after time.Duration)) {
	pause := r.Pause
	if pause == nil {
		pause = Sleep
	}
	backoff := r.First
	for retries := 0; ; retries++ {
		again, after := attempt()
		if !again || retries >= r.Max || after > r.MaxAfter || ctx.Err() != nil {
			return
		}
		if after <= 0 {
			after = backoff/2 + rand.N(backoff/2+1)
		}
		if pause(ctx, after) != nil {
			return
		}
		backoff = min(2*backoff, r.Most)
	}
}

// Sleep waits for d. If ctx ends before, or its deadline shows that it will, it returns an error.
func Sleep(ctx context.Context, d time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return context.DeadlineExceeded
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Refusal is a response of a provider of models that is not a success.
type Refusal struct {
	Message, Code string        // see [Message]
	Again         bool          // another attempt may succeed
	After         time.Duration // see [RetryAfter]
}

const maxRefusal = 64 << 10 // bytes of the body of a refusal that are read

// Refused reads the body of a response. OpenAI answers 429 also when the account has run out
// of credit, which no other attempt changes.
func Refused(res *http.Response, body io.Reader) Refusal {
	text, _ := io.ReadAll(io.LimitReader(body, maxRefusal))
	message, code := Message(text)
	return Refusal{message, code, retryable(res) && code != "insufficient_quota", RetryAfter(res.Header)}
}

// retryable reports whether the clients of OpenAI and Anthropic retry after a response: after
// 408, 409, 429 and 5xx, unless the header X-Should-Retry decides.
func retryable(res *http.Response) bool {
	switch res.Header.Get("X-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	switch res.StatusCode {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	}
	return res.StatusCode >= http.StatusInternalServerError
}
