package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// send posts body, with retries, and returns the answer once its headers have arrived.
func (e *Endpoint) send(ctx context.Context, path string, body []byte, header http.Header) (*answer, *chat.Error) {
	var a *answer
	var failed *chat.Error
	attempts := 0
	e.retry.Do(ctx, func() (again bool, after time.Duration) {
		attempts++
		if a, failed, again = e.attempt(ctx, path, body, header); failed != nil {
			after = failed.RetryAfter
		}
		return again, after
	})
	switch {
	case ctx.Err() != nil:
		if a != nil {
			_ = a.Close()
		}
		return nil, e.cancelled(ctx)
	case failed != nil:
		failed.Retried = attempts > 1
		return nil, failed
	}
	return a, nil
}

// attempt posts body once. again reports whether another attempt may succeed.
func (e *Endpoint) attempt(ctx context.Context, path string, body []byte,
	header http.Header,
) (a *answer, failed *chat.Error, again bool) {
	ctx, cancel := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.target(path), bytes.NewReader(body))
	if err != nil || e.host == "" {
		cancel()
		return nil, e.fail(errcode.Internal, nil,
			"cannot build the request: params.endpoint must be a URL such as https://host/v1"), false
	}
	maps.Copy(req.Header, e.header)
	maps.Copy(req.Header, header)
	a = &answer{cancel: cancel, idle: e.idle, most: IdleFactor * e.idle}
	a.timer = time.AfterFunc(e.timeout, a.expire)
	res, err := e.client.Do(req)
	if err != nil {
		a.stop()
		failed, again = e.unreachable(err, a)
		return nil, failed, again
	}
	a.timer.Stop()
	a.body = res.Body
	if res.StatusCode/100 == 2 {
		return a, nil, false
	}
	r := httpx.Refused(res, a)
	_ = a.Close()
	return nil, e.refused(res.StatusCode, r), r.Again
}

// answer is the body of an answer, bounded in size. A read that exceeds the idle
// timeout ends the attempt.
type answer struct {
	body   io.ReadCloser
	cancel context.CancelFunc // of the attempt
	timer  *time.Timer        // calls expire
	idle   time.Duration
	most   time.Duration // of waited
	waited time.Duration // for data since the last content
	late   atomic.Bool
	read   int64
}

var _ io.ReadCloser = (*answer)(nil)

// errTooLong is returned for an answer that exceeds a limit.
var errTooLong = errors.New("too long")

func (a *answer) expire() {
	a.late.Store(true)
	a.cancel()
}

// Read waits for data at most for the idle timeout, and for content at most for
// [IdleFactor] times as long. The time between two reads, which is the reader's, does
// not count.
func (a *answer) Read(p []byte) (int, error) {
	began := time.Now()
	a.timer.Reset(min(a.idle, a.most-a.waited))
	n, err := a.body.Read(p)
	a.timer.Stop()
	a.waited += time.Since(began)
	a.read += int64(n)
	if a.read > MaxStreamBytes {
		return n, errTooLong
	}
	return n, err
}

// progressed begins the wait for more content.
func (a *answer) progressed() { a.waited = 0 }

// drain waits a moment for the end of a stream after its last event.
func (a *answer) drain() {
	a.idle = min(a.idle, endGrace)
	var rest [1]byte
	_, _ = a.Read(rest[:])
}

// stop ends the attempt.
func (a *answer) stop() {
	a.timer.Stop()
	a.cancel()
}

// Close ends the attempt; a connection in the middle of an answer is closed.
func (a *answer) Close() error {
	a.stop()
	return a.body.Close()
}
