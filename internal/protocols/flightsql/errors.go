package flightsql

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/listen"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// statusCodes are gRPC's codes of the engine's.
var statusCodes = map[errcode.Code]codes.Code{
	errcode.Parse:     codes.InvalidArgument,
	errcode.Argument:  codes.InvalidArgument,
	errcode.Refused:   codes.PermissionDenied,
	errcode.NotFound:  codes.NotFound,
	errcode.Execution: codes.FailedPrecondition, // the data is not as the statement needs it
	errcode.Timeout:   codes.DeadlineExceeded,
	errcode.Cancelled: codes.Canceled,
	errcode.Limit:     codes.ResourceExhausted,
	errcode.Busy:      codes.Unavailable,
	errcode.Loading:   codes.Unavailable,
	errcode.Internal:  codes.Internal,
}

// busyRetry is when to try again after the queue was full or data was loading.
const busyRetry = time.Second

// errorDomain is the domain of the reasons in details of type ErrorInfo.
const errorDomain = "spiced"

// settle ends a call: it makes its error, or what it panicked with, a status,
// and writes internal faults to the log.
func (s *service) settle(ctx context.Context, method string, err error, fault any) error {
	if fault != nil {
		s.log.LogAttrs(context.WithoutCancel(ctx), slog.LevelError, "panic",
			slog.String("method", method), slog.Any("value", fault), slog.String("stack", string(debug.Stack())))
		return errPanicked
	}
	if err == nil {
		return nil
	}
	st := statusOf(err)
	if st.Code() == codes.Internal && !errors.Is(err, errPanicked) {
		s.log.LogAttrs(context.WithoutCancel(ctx), slog.LevelError, "internal error",
			slog.String("method", method), slog.String("error", err.Error()))
	}
	return st.Err()
}

// errPanicked is the error of a call that panicked. The log has the panic.
var errPanicked = status.Error(codes.Internal, "the runtime failed on this call; please report it")

// statusOf is the status that tells a client of an error.
func statusOf(err error) *status.Status {
	var (
		limit  *auth.LimitError
		full   *listen.FullError
		denied *auth.DeniedError
		e      *engine.Error
	)
	switch {
	case errors.As(err, &limit):
		wait := time.Duration(limit.RetryAfter * float64(time.Second))
		return newStatus(codes.ResourceExhausted, limit.Message, retryIn(wait))
	case errors.As(err, &full):
		return newStatus(codes.ResourceExhausted, full.Message, retryIn(busyRetry))
	case errors.As(err, &denied):
		return newStatus(codes.PermissionDenied, denied.Message)
	case errors.As(err, &e):
		return engineStatus(e)
	}
	if st, ok := status.FromError(err); ok {
		return st
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return newStatus(codes.DeadlineExceeded, "the call took longer than its caller waits")
	}
	return engineStatus(engine.AsError(err))
}

// engineStatus has the code as the reason of an ErrorInfo, and the place in
// the statement in its metadata.
func engineStatus(e *engine.Error) *status.Status {
	info := &errdetails.ErrorInfo{Reason: string(e.Code), Domain: errorDomain, Metadata: map[string]string{}}
	if e.Line > 0 {
		info.Metadata["line"], info.Metadata["column"] = strconv.Itoa(e.Line), strconv.Itoa(e.Column)
	}
	details := []protoadapt.MessageV1{info}
	if e.Code == errcode.Busy || e.Code == errcode.Loading {
		details = append(details, retryIn(busyRetry))
	}
	code, ok := statusCodes[e.Code]
	if !ok {
		code = codes.Unknown
	}
	return newStatus(code, e.Error(), details...)
}

func retryIn(wait time.Duration) protoadapt.MessageV1 {
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(wait)}
}

// newStatus makes a status that every client can read: gRPC demands UTF-8, and
// clients bound the trailers in which it travels.
func newStatus(code codes.Code, text string, details ...protoadapt.MessageV1) *status.Status {
	st := status.New(code, truncate.Ellipsis(strings.ToValidUTF8(text, "\uFFFD"), maxErrorText))
	if with, err := st.WithDetails(details...); err == nil {
		return with
	}
	return st
}

// invalid is the error of a call that is not as it must be.
func invalid(format string, args ...any) error {
	return newStatus(codes.InvalidArgument, fmt.Sprintf(format, args...)).Err()
}

// unsupported is the error of parts of Flight SQL that the server does not implement.
func unsupported(format string, args ...any) error {
	return newStatus(codes.Unimplemented, fmt.Sprintf(format, args...)).Err()
}

// errNotRunning is the error of cancelling what does not run.
var errNotRunning = status.Error(codes.NotFound, "no rows are being read with that ticket")

// errNoTicket is the error of a ticket that is not known, or not the caller's.
var errNoTicket = status.Error(codes.NotFound,
	"the ticket is not known, or has expired; ask for another with GetFlightInfo")
