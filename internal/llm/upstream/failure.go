package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/internal/kit/memory"
	"github.com/spiced-sql/spiced/internal/kit/sse"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// fail is [Endpoint.Fail] with a cause.
func (e *Endpoint) fail(code errcode.Code, cause error, format string, args ...any) *chat.Error {
	failed := e.Fail(code, format, args...)
	failed.Cause = cause
	return failed
}

func (e *Endpoint) cancelled(ctx context.Context) *chat.Error {
	return e.fail(errcode.Cancelled, ctx.Err(), "the request was cancelled")
}

// unreachable returns the error of an attempt that got no answer, and reports whether
// to retry. A timeout is not retried: the client would wait as long again. The cause is
// wrapped only where it contains no text of the provider.
func (e *Endpoint) unreachable(err error, a *answer) (failed *chat.Error, again bool) {
	err = httpx.Cause(err)
	var network net.Error
	switch {
	case a.late.Load():
		return e.fail(errcode.ProviderTimeout, context.DeadlineExceeded,
			"the provider did not begin to answer within %s (params.timeout)", e.timeout), false
	case httpx.Permanent(err):
		return e.fail(errcode.ProviderError, nil, "%s", err), false
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return e.fail(errcode.ProviderError, io.ErrUnexpectedEOF, "the provider closed the connection without an answer"),
			true
	case errors.As(err, &network):
		return e.fail(errcode.ProviderError, nil, "cannot reach the provider: %s; check params.endpoint", err), true
	}
	return e.fail(errcode.ProviderError, nil, "cannot send the request to the provider: %s", err), true
}

// broken returns the error of a stream that cannot be read to its end.
func (e *Endpoint) broken(ctx context.Context, a *answer, err error) *chat.Error {
	switch {
	case ctx.Err() != nil:
		return e.cancelled(ctx)
	case a.late.Load() && a.waited >= a.most:
		return e.fail(errcode.ProviderTimeout, context.DeadlineExceeded,
			"the provider sent only comments, pings and empty events for %s, %d times params.idle_timeout", a.most, IdleFactor)
	case a.late.Load():
		return e.fail(errcode.ProviderTimeout, context.DeadlineExceeded,
			"the provider sent nothing for %s in the middle of the answer (params.idle_timeout)", e.idle)
	case errors.Is(err, errTooLong), errors.Is(err, sse.ErrTooLong):
		return e.fail(errcode.StreamBroken, nil,
			"the provider's answer is too long: it exceeds %d MiB, or %d MiB in one event", MaxStreamBytes>>20,
			MaxEventBytes>>20)
	case errors.Is(err, memory.ErrShort):
		return e.short()
	case errors.Is(err, errPage):
		return e.fail(errcode.StreamBroken, nil, "the provider answered with an HTML page; check params.endpoint")
	}
	return e.fail(errcode.StreamBroken, io.ErrUnexpectedEOF, "the provider's answer ended unexpectedly: %s", err)
}

// short is the error of an answer that does not fit into the memory of large requests.
func (e *Endpoint) short() *chat.Error {
	return e.fail(errcode.RateLimited, memory.ErrShort, "the answer is large, and was given up: %s", memory.ErrShort)
}

// refused returns the error of an answer whose status is not 2xx.
func (e *Endpoint) refused(status int, r httpx.Refusal) *chat.Error {
	message, said := r.Message, strconv.Itoa(status)
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		// OpenAI repeats parts of the key, which redaction does not find.
		if message = ""; r.Code != "" {
			said += " " + truncate.Line(e.redact(r.Code), maxCode)
		}
	}
	if text := http.StatusText(status); message == "" && text != "" {
		said += " " + text
	}
	said = "(" + said + ")"
	if message != "" {
		// Redact before shortening: half a secret would not be found.
		said += ": " + truncate.Line(e.redact(message), MaxMessage)
	}
	failed := e.status(status, said)
	failed.RetryAfter = r.After
	return failed
}

// status maps an HTTP status to an error.
func (e *Endpoint) status(status int, said string) *chat.Error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return e.fail(errcode.ProviderRefused, nil, "the provider rejected the API key %s; check params.%s of the model",
			said, e.key)
	case http.StatusPaymentRequired:
		return e.fail(errcode.ProviderRefused, nil, "the provider requires payment %s", said)
	case http.StatusNotFound:
		return e.fail(errcode.ProviderRefused, nil,
			"the provider has no such model or path %s; check from and params.endpoint", said)
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return e.fail(errcode.InvalidRequest, nil, "the provider rejected the request as invalid %s", said)
	case http.StatusRequestEntityTooLarge:
		return e.fail(errcode.RequestTooLarge, nil, "the request is too large for the provider %s", said)
	case http.StatusTooManyRequests:
		return e.fail(errcode.RateLimited, nil, "the provider is rate limiting or overloaded %s", said)
	}
	return e.fail(errcode.ProviderError, nil, "the provider failed %s", said)
}
