package sqlapi

import (
	"io"
	"net/http"
	"time"
)

// What is read of the body of a refused request, before it is answered.
const (
	serverBytes  = 256 << 10 // that net/http reads
	refusedBytes = 64 << 20
	refusedTime  = 5 * time.Second
)

// skipBody reads what a refused request still sends. If the connection were closed before, the
// system would reset it, and the sender would lose the answer. net/http reads a
// little itself, which is all that callers without a key get.
func skipBody(x *responseWriter, r *http.Request) {
	if x.principal == nil || x.status != 0 || r.ContentLength <= serverBytes || r.Header.Get("Expect") != "" {
		return // a sender who expects 100-continue waits for the answer
	}
	// A ResponseWriter without deadlines, as in tests, has no slow sender.
	_ = x.control.SetReadDeadline(time.Now().Add(refusedTime))
	_, _ = io.CopyN(io.Discard, r.Body, refusedBytes) // whatever its error is, the answer is the refusal
	// The deadline stays: net/http sets another one before the next request.
}
