package embeddings

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// fail makes an error with a message that is safe to show.
func (o *openAI) fail(status int, again bool, cause error, format string, args ...any) *Error {
	message := truncate.Line(o.redact(fmt.Sprintf(format, args...)), MaxMessage)
	return &Error{Model: o.name, Status: status, Message: message, Retryable: again, Err: cause}
}

// attempt sends the body once. It holds one of the model's slots meanwhile.
func (o *openAI) attempt(ctx context.Context, body []byte, texts int) (answer, *Error) {
	select {
	case o.slots <- struct{}{}:
		defer func() { <-o.slots }()
	case <-ctx.Done():
		return answer{}, o.fail(0, false, ctx.Err(), "cancelled")
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url, bytes.NewReader(body))
	if err != nil {
		return answer{}, o.fail(0, false, nil, "the endpoint cannot be requested")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "spiced")
	o.authorize(req)
	resp, err := o.client.Do(req)
	if err != nil {
		return answer{}, o.transferError(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return answer{}, o.refused(resp)
	}
	return o.read(resp.Body, texts)
}

// read decodes an answer of bounded size and checks it.
func (o *openAI) read(body io.Reader, texts int) (answer, *Error) {
	limit := int64(o.answerLimit(texts))
	raw, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return answer{}, o.transferError(err)
	}
	if int64(len(raw)) > limit {
		return answer{}, o.fail(http.StatusOK, false, nil, "the answer is larger than %d bytes, too much for %d texts", limit, texts)
	}
	a, err := decodeAnswer(raw, texts)
	if err != nil {
		return answer{}, o.fail(http.StatusOK, false, nil, "%s", err)
	}
	if len(a.vectors) > 0 {
		got := len(a.vectors[0])
		o.known.CompareAndSwap(0, int64(got))
		if want := o.Dimensions(); got != want {
			return answer{}, o.fail(http.StatusOK, false, nil, "the provider gave %d dimensions, not %d", got, want)
		}
	}
	return a, nil
}

// answerLimit is how large an answer for so many texts may be.
func (o *openAI) answerLimit(texts int) int {
	dimensions := cmp.Or(o.Dimensions(), MaxDimensions)
	return min(MaxAnswerBytes, answerSlack+texts*(dimensions*numberBytes+answerSlack))
}

// refused makes an error of an answer that is not 200.
func (o *openAI) refused(resp *http.Response) *Error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	message, code := httpx.Message(body)
	// OpenAI answers 429 also when the account has run out of credit.
	e := o.fail(resp.StatusCode, retryable(resp.StatusCode) && code != "insufficient_quota", nil, "%s", message)
	if e.wait = httpx.RetryAfter(resp.Header); e.Retryable && e.wait > MaxRetryAfter {
		e.Message = strings.TrimSpace(fmt.Sprintf("%s (asks to wait %s, longer than %s)", e.Message, e.wait.Round(time.Second), MaxRetryAfter))
	}
	return e
}

// retryable reports the statuses that OpenAI's own clients try again.
func retryable(status int) bool {
	return slices.Contains([]int{http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests}, status) || status >= 500
}

// transferError makes an error of one of the HTTP client's.
func (o *openAI) transferError(err error) *Error {
	err = httpx.Cause(err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return o.fail(0, true, context.DeadlineExceeded, "no full answer within %s (params.timeout)", o.timeout)
	case httpx.Permanent(err):
		return o.fail(0, false, nil, "%s", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return o.fail(0, true, io.ErrUnexpectedEOF, "the connection was closed before the end of the answer")
	}
	return o.fail(0, true, nil, "%s", err)
}

// backoff is how long to wait after so many failed attempts: twice as long
// each time, with the lower half of it fixed and the upper half at random, so
// that clients that failed together do not come back together.
func backoff(attempt int) time.Duration {
	most := min(backoffFirst<<(attempt-1), backoffMost)
	return most/2 + rand.N(most/2+1)
}

// wait waits for d or until ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
