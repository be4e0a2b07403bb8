package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/openai/openai-go/v3/option"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// call is one request with its retries.
type call struct {
	endpoint *Endpoint
	attempts int
	answer   *answer     // of the last attempt, if it succeeded
	failed   *chat.Error // of the last attempt, if it failed
}

// send sends the request and returns the answer once its headers have arrived.
func (c *call) send(ctx context.Context, path string, body []byte, header http.Header) (*answer, *chat.Error) {
	var res *http.Response
	err := c.endpoint.client.Post(ctx, c.endpoint.target(path), body, &res,
		append(set(header), option.WithMiddleware(c.attempt))...)
	switch {
	case ctx.Err() != nil:
		if c.answer != nil {
			_ = c.answer.Close()
		}
		return nil, c.endpoint.cancelled(ctx)
	case c.failed != nil:
		c.failed.Retried = c.attempts > 1
		return nil, c.failed
	case err != nil || c.answer == nil:
		return nil, c.endpoint.fail(errcode.Internal, nil, "cannot build the request: params.endpoint must be a URL such as https://host/v1")
	}
	return c.answer, nil
}

// attempt sends the request once. The client that calls it retries after an error, and
// after status 408, 409, 429 and 5xx.
func (c *call) attempt(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	c.attempts++
	c.failed = nil
	ctx, cancel := context.WithCancel(req.Context())
	a := &answer{cancel: cancel, idle: c.endpoint.idle, most: IdleFactor * c.endpoint.idle}
	a.timer = time.AfterFunc(c.endpoint.timeout, a.expire)
	res, err := next(req.WithContext(ctx))
	if err != nil {
		a.stop()
		again := false
		c.failed, again = c.endpoint.unreachable(err, a)
		if again {
			return nil, err
		}
		return giveUp(), nil
	}
	a.timer.Stop()
	a.body, res.Body = res.Body, a
	if res.StatusCode/100 == 2 {
		c.answer = a
		return res, nil
	}
	defer a.Close()
	c.failed = c.refused(res)
	res.Body = http.NoBody
	return res, nil
}

// refused returns the error of an answer with an error status, and marks the answer if
// a retry is useless.
func (c *call) refused(res *http.Response) *chat.Error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, MaxErrorBytes))
	failed, final := c.endpoint.refused(res, body)
	if final {
		res.Header.Set(shouldRetry, "false")
	}
	return failed
}

// shouldRetry is the header by which OpenAI's servers control retries, and the only way
// to control retries in the client.
const shouldRetry = "X-Should-Retry"

// giveUp returns an answer that the client does not retry.
func giveUp() *http.Response {
	return &http.Response{
		StatusCode: http.StatusBadGateway,
		Header:     http.Header{shouldRetry: {"false"}},
		Body:       http.NoBody,
	}
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
