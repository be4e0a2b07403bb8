package sqlapi

import (
	"errors"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/spiced-sql/spiced/internal/access/auth"
)

// responseWriter is the ResponseWriter of every handler: it records what was
// sent and gives up on clients that do not read.
type responseWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	renewed time.Time // when the write deadline was set
	status  int       // 0 while nothing was sent
	bytes   int64
	stalled bool   // a write was given up: the client does not read
	code    string // of the error, if any
	attrs   []slog.Attr

	principal *auth.Principal // nil until the request is authorised
}

func newResponseWriter(w http.ResponseWriter, timeout time.Duration) *responseWriter {
	return &responseWriter{ResponseWriter: w, control: http.NewResponseController(w), timeout: timeout}
}

// Unwrap lets http.ResponseController through.
func (x *responseWriter) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// WriteHeader sends the header.
func (x *responseWriter) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
		x.renew()
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body, in pieces, each with its own deadline.
func (x *responseWriter) Write(p []byte) (int, error) {
	if x.status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	sent := 0
	for len(p) > 0 {
		x.renew()
		n, err := x.ResponseWriter.Write(p[:min(len(p), pieceSize)])
		sent += n
		x.bytes += int64(n)
		if err != nil {
			x.stalled = x.stalled || errors.Is(err, os.ErrDeadlineExceeded)
			return sent, err
		}
		p = p[n:]
	}
	return sent, nil
}

// flush sends what net/http has collected.
func (x *responseWriter) flush() error {
	x.renew()
	err := x.control.Flush()
	x.stalled = x.stalled || errors.Is(err, os.ErrDeadlineExceeded)
	return err
}

// renew moves the write deadline; a second of it more or less is not worth a
// system call.
func (x *responseWriter) renew() {
	now := time.Now()
	if now.Sub(x.renewed) < min(time.Second, x.timeout/4) {
		return
	}
	x.renewed = now
	// A ResponseWriter without deadlines, as in tests, has no slow reader.
	_ = x.control.SetWriteDeadline(now.Add(x.timeout))
}

// note adds something to the request's line in the log.
func note(w http.ResponseWriter, attrs ...slog.Attr) {
	if x, ok := w.(*responseWriter); ok {
		x.attrs = append(x.attrs, attrs...)
	}
}

// sent is how many bytes of the body were written, and whether the client did
// not read the rest.
func sent(w http.ResponseWriter) (bytes int64, stalled bool) {
	if x, ok := w.(*responseWriter); ok {
		return x.bytes, x.stalled
	}
	return 0, false
}
