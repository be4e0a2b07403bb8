// Package fetch has what connectors that fetch over HTTP share: a cache of files, attempts
// of requests, and files of rows of JSON.
//
//	cache, err := fetch.Open(dir, 32<<30, log)
//	file, err := cache.Update(ctx, key, "https://example.com/trips.csv", func(have *fetch.Entry) (*fetch.Entry, error) {
//		err := fetch.Retry(ctx, clock, fetch.Retries{Attempts: 3}, func() error { … })
//		…
//	})
package fetch

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/spicepod"
)

const (
	firstBackoff = 500 * time.Millisecond // before the second attempt; doubles
	maxWait      = 5 * time.Minute        // that a server may ask for
)

// Error is why a request failed, without secrets.
type Error struct {
	Message    string
	Path, Hint string // as those of a fault; "": the `from`, none
	Status     int    // 0: no response
	Again      bool   // a retry may succeed
	Gone       bool   // the server reports that it has no such thing
	After      time.Duration
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Errorf returns an error that a retry does not change.
func Errorf(path, hint, format string, args ...any) *Error {
	return &Error{Path: path, Hint: hint, Message: fmt.Sprintf(format, args...)}
}

// ErrSlow is the cause of contexts that end with the time of an attempt.
var ErrSlow = errors.New("too slow")

// Transfer returns an error of the client or of a body, which may be an [*Error] of its
// transport. The attempt had the time limit, which the param client_timeout sets.
func Transfer(ctx context.Context, limit time.Duration, err error) *Error {
	var explained *Error
	if errors.As(err, &explained) {
		return explained
	}
	if errors.Is(err, ErrSlow) || errors.Is(context.Cause(ctx), ErrSlow) {
		return &Error{Message: fmt.Sprintf("the server took longer than %s (params.client_timeout)", limit), Again: true}
	}
	return &Error{
		Message: httpx.Cause(err).Error(), Hint: transferHint(err),
		Again: ctx.Err() == nil && !httpx.Permanent(err),
	}
}

// transferHint says what to do about an error of a request.
func transferHint(err error) string {
	var plain tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	var host *net.DNSError
	switch {
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		return "write http://, if the server has no TLS"
	case errors.As(err, &certificate):
		return "correct the host, or add the authority of the certificate to those of this machine"
	case errors.As(err, &host) && host.IsNotFound:
		return "correct the host"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "correct the host and the port, or start the server"
	case strings.Contains(err.Error(), "malformed HTTP"): // net/http has no type for it
		return "write https://, if the server has TLS"
	}
	return ""
}

// Status returns the error of a response that is not the one expected.
func Status(resp *http.Response) *Error {
	code := resp.StatusCode
	return &Error{
		Message: fmt.Sprintf("the server answered %d %s", code, http.StatusText(code)),
		Hint:    statusHints[code],
		Status:  code,
		Again:   code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout,
		Gone:    code == http.StatusNotFound || code == http.StatusGone,
		After:   httpx.RetryAfter(resp.Header),
	}
}

// statusHints are what to do about answers.
var statusHints = map[int]string{
	http.StatusUnauthorized: "correct params.http_username and params.http_password, or params.http_headers",
	http.StatusForbidden:    "correct the credentials in params.http_username, params.http_headers or from",
	http.StatusNotFound:     "correct the URL",
	http.StatusGone:         "correct the URL",
}

// TooLarge returns the error of what is larger than a limit of bytes.
func TooLarge(what string, limit int64) *Error {
	return &Error{Message: fmt.Sprintf("%s is larger than %s", what, spicepod.Size(limit))}
}

// Retries is how often a request is retried, and how long the pauses between are.
type Retries struct {
	Attempts int           // with the first one
	Backoff  Backoff       // "": Exponential
	Within   time.Duration // no attempt begins later than that after the first; 0: no limit
	Jitter   float64       // from 0 to 1: the part of a pause by which it is longer or shorter
}

// Backoff is how pauses grow.
type Backoff string

// Each pause is twice the last one, longer by the first one, or the sum of the last two.
const (
	Exponential Backoff = "exponential"
	Linear      Backoff = "linear"
	Fibonacci   Backoff = "fibonacci"
)

// pauses returns a function that returns one pause after the other.
func (r Retries) pauses() func() time.Duration {
	last, next := time.Duration(0), firstBackoff
	return func() time.Duration {
		pause := next
		switch r.Backoff {
		case Linear:
			next += firstBackoff
		case Fibonacci:
			next += last
		default:
			next *= 2
		}
		last = pause
		return min(maxWait, time.Duration(float64(pause)*(1+r.Jitter*(2*rand.Float64()-1))))
	}
}

// Retry calls f until it succeeds, fails for good or has failed too often. It waits as
// long as the server asks.
func Retry(ctx context.Context, clock load.Clock, r Retries, f func() error) error {
	pause, begin := r.pauses(), clock.Now()
	for n := 1; ; n++ {
		err := f()
		var e *Error
		switch {
		case err == nil || !errors.As(err, &e) || !e.Again || n >= r.Attempts:
			return err
		case e.After > maxWait:
			e.Message += fmt.Sprintf(", and asks to wait %s, which is longer than %s", e.After.Round(time.Second), maxWait)
			return err
		}
		wait := max(pause(), e.After)
		if r.Within > 0 && clock.Now().Sub(begin)+wait > r.Within || load.Pause(ctx, clock, wait) != nil {
			return err
		}
	}
}

// Key returns a key of a cache for all that a file depends on.
func Key(parts ...any) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%q", fmt.Sprint(p))
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}
