package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/spicepod"
)

const (
	firstBackoff = 200 * time.Millisecond
	mostBackoff  = 8 * time.Second
	maxWait      = 30 * time.Second // for the service to be ready
	maxErrorBody = 16 << 10
	snippet      = 256 // characters of an error's body that are shown
)

var errSlow = errors.New("the request took too long")

// again is a failed request that the service has not run.
type again struct {
	error
	after time.Duration // as the service asks
}

// send posts a request, if need be several times, and returns the body of the response.
func (s *Service) send(ctx context.Context, text []byte) (response []byte, err error) {
	var retry *again
	retries := httpx.Retry{Max: s.set.retries, First: firstBackoff, Most: mostBackoff, MaxAfter: maxWait}
	retries.Do(ctx, func() (bool, time.Duration) {
		response, err = s.attempt(ctx, text)
		if !errors.As(err, &retry) {
			return false, 0
		}
		return true, retry.after
	})
	switch {
	case !errors.As(err, &retry):
		return response, err
	case retry.after > maxWait:
		return nil, fmt.Errorf("%w (it asks to wait %s, which is longer than %s)", retry.error,
			retry.after.Round(time.Second), maxWait)
	}
	return nil, retry.error
}

// attempt posts a request once.
func (s *Service) attempt(parent context.Context, text []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(parent, s.set.timeout, errSlow)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.target.String(), bytes.NewReader(text))
	if err != nil {
		return nil, s.fail("request failed: the URL cannot be requested")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "spiced")
	if s.set.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+s.set.bearer)
	}
	if s.replay {
		req.Header["Idempotency-Key"] = nil // not sent: a request may be sent again on a new connection
	}
	res, err := s.client.Do(req)
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, s.status(res)
	}
	data, err := readAll(res, s.set.maxResponse)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, s.fail("response is larger than %s (params.max_response_bytes)", spicepod.Size(s.set.maxResponse))
	case err != nil:
		return nil, s.failed(ctx, err)
	}
	return data, nil
}

var errTooLarge = errors.New("too large")

// readAll reads the body of a response, decompressed, up to a limit.
func readAll(res *http.Response, limit int64) ([]byte, error) {
	if res.ContentLength > limit {
		return nil, errTooLarge
	}
	var buf bytes.Buffer
	if res.ContentLength > 0 {
		buf.Grow(int(res.ContentLength) + bytes.MinRead)
	}
	n, err := buf.ReadFrom(io.LimitReader(res.Body, limit+1))
	if err == nil && n > limit {
		err = errTooLarge
	}
	return buf.Bytes(), err
}

// failed returns the error of a request without a response, without its URL.
func (s *Service) failed(ctx context.Context, err error) error {
	var dial *net.OpError
	var address *AddressError
	switch {
	case errors.Is(context.Cause(ctx), errSlow):
		return s.fail("request failed: the service took longer than %s (params.timeout)", s.set.timeout)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &address):
		return s.fail("request failed: %w", address)
	}
	failure := s.fail("request failed: %s", s.redact(truncate.Line(httpx.Cause(err).Error(), 400)))
	if errors.As(err, &dial) && dial.Op == "dial" {
		return &again{error: failure}
	}
	return failure
}

// status returns the error of a response that is no success.
func (s *Service) status(res *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	shown := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(text), "\uFFFD"))
	shown = s.redact(shown)
	if short := []rune(shown); len(short) > snippet {
		shown = string(short[:snippet]) + "… [truncated]"
	}
	err := s.fail("returned HTTP %d: %s", res.StatusCode, shown)
	if res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusServiceUnavailable {
		return &again{err, httpx.RetryAfter(res.Header)}
	}
	return err
}
