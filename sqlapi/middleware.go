package sqlapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/format"
)

// handler decodes a request, calls one method, and encodes what it returns.
// What it returns as an error, it has not sent.
type handler func(http.ResponseWriter, *http.Request) error

// wrap is what every route has around its handler: protection, the request's
// id, errors, panics, metrics and the log.
func (a *API) wrap(rt route) http.Handler {
	check := checkParams(rt)
	h := a.guard.authorised(rt, func(w http.ResponseWriter, r *http.Request) error {
		if err := check(r); err != nil {
			return err
		}
		return rt.handle(w, r)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := newResponseWriter(w, a.writeTimeout)
		start := time.Now()
		ended := a.metrics.HTTPStarted()
		id := requestID(r.Header.Get(headerRequestID))
		x.Header().Set(headerRequestID, id)
		protect(x.Header(), a.tls)
		defer func() {
			fault := recover()
			abort := a.recovered(x, r, rt, fault, id)
			ended()
			a.metrics.ObserveHTTP(r.Method, rt.path, x.loggedStatus(), time.Since(start))
			a.access(x, r, rt, id, start)
			if abort {
				panic(http.ErrAbortHandler)
			}
		}()
		if err := h(x, r); err != nil {
			skipBody(x, r)
			a.fail(x, r, rt, err, id)
		}
	})
}

// fail sends an error. When part of the answer was sent already, or the client
// is gone, it aborts the connection instead, so that no client takes the part
// for the whole answer.
func (a *API) fail(x *responseWriter, r *http.Request, rt route, err error, id string) {
	e := asRequestError(err)
	switch {
	case x.stalled:
		x.code = string(codeNotSent)
		panic(http.ErrAbortHandler)
	case r.Context().Err() != nil && e.Code != codeSlowBody: // net/http ends the context then, too
		x.code = string(errcode.Cancelled)
		panic(http.ErrAbortHandler)
	}
	x.code = string(e.Code)
	if e.Code == errcode.Internal {
		if e.cause != nil {
			err = e.cause
		}
		logInternal(r.Context(), a.log, id, err)
	}
	if x.status != 0 {
		x.attrs = append(x.attrs, slog.Bool("broken_off", true))
		panic(http.ErrAbortHandler)
	}
	writeError(x, r, e, rt, rt.is.has(plainErrors) && !format.AcceptsJSON(accept(r)))
}

// logInternal writes an internal fault to the log.
func logInternal(ctx context.Context, log *slog.Logger, id string, err error) {
	log.LogAttrs(context.WithoutCancel(ctx), slog.LevelError, "internal error",
		slog.String("request_id", id), slog.String("error", fmt.Sprint(err)))
}

// recovered handles a panic and reports whether to abort the connection.
func (a *API) recovered(x *responseWriter, r *http.Request, rt route, fault any, id string) (abort bool) {
	if fault == nil {
		return false
	}
	if err, ok := fault.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		return true
	}
	x.code = string(errcode.Internal)
	a.metrics.HTTPPanicked()
	a.log.Error("panic in a request", "request_id", id, "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
	if x.status != 0 {
		return true
	}
	writeError(x, r, newError(errcode.Internal, "", internalErrorMessage), rt, false)
	return false
}

// loggedStatus is the status that was sent, or that is logged for none.
func (x *responseWriter) loggedStatus() int {
	switch {
	case x.code == string(errcode.Cancelled):
		return statusClientLeft
	case x.status == 0:
		return http.StatusOK // net/http's, for an empty answer
	}
	return x.status
}

// access writes the request's line in the log. It has the route, not the
// path, and of a statement its fingerprint: never a literal.
func (a *API) access(x *responseWriter, r *http.Request, rt route, id string, start time.Time) {
	level := slog.LevelDebug
	if x.loggedStatus() >= http.StatusInternalServerError && !rt.is.has(quiet) {
		level = slog.LevelWarn
	}
	ctx := context.WithoutCancel(r.Context())
	if !a.log.Enabled(ctx, level) {
		return
	}
	attrs := append([]slog.Attr{
		slog.String("method", r.Method),
		slog.String("route", rt.path),
		slog.Int("status", x.loggedStatus()),
		slog.Duration("took", time.Since(start).Round(time.Microsecond)),
		slog.Int64("bytes", x.bytes),
		slog.String("remote", r.RemoteAddr),
		slog.String("request_id", id),
	}, x.attrs...)
	if x.code != "" {
		attrs = append(attrs, slog.String("code", x.code))
	}
	a.log.LogAttrs(ctx, level, "http request", attrs...)
}

// requestID is the client's id if it is fit to be sent back, or a new one.
func requestID(theirs string) string {
	fit := theirs != "" && len(theirs) <= maxRequestID && strings.IndexFunc(theirs, func(r rune) bool {
		letter := r|0x20 >= 'a' && r|0x20 <= 'z'
		return !letter && (r < '0' || r > '9') && !strings.ContainsRune("-_.:/+=@", r)
	}) < 0
	if fit {
		return theirs
	}
	var raw [16]byte
	rand.Read(raw[:]) //nolint:errcheck // never fails
	return hex.EncodeToString(raw[:])
}

// accept is the whole Accept header.
func accept(r *http.Request) string { return strings.Join(r.Header.Values("Accept"), ",") }
