package fetch

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/kit/httpx"
)

// Client sends the requests for the pages of a web API. Redirects to other hosts are not
// followed.
type Client struct {
	Header    http.Header
	Transport http.RoundTripper // nil: that of the process
	Timeout   time.Duration     // of an attempt, with the body
	Retries   Retries           // of a request
	MaxBody   int64             // bytes
	Interval  time.Duration     // between requests, at least
	Pace      *Pace
	Clock     load.Clock
	// Check returns an error for a response that is not the one expected, or nil. Nil: all
	// but 200 are errors.
	Check func(*Response) *Error
}

// Response is a response that has been read.
type Response struct {
	*http.Response
	Body []byte
}

// Do sends a request until it succeeds, fails for good or has failed often enough.
func (c *Client) Do(ctx context.Context, method string, u *url.URL, body []byte) (resp *Response, err error) {
	err = Retry(ctx, c.Clock, c.Retries, func() error {
		if err := c.Pace.wait(ctx, c.Clock, u.Host, c.Interval); err != nil {
			return err
		}
		resp, err = c.once(ctx, method, u, body)
		return err
	})
	return resp, err
}

func (c *Client) once(ctx context.Context, method string, u *url.URL, body []byte) (*Response, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, ErrSlow)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, Errorf("", "", "the URL cannot be requested")
	}
	req.Header = c.Header.Clone()
	resp, err := httpx.Client(&http.Client{Transport: c.Transport}).Do(req)
	if err != nil {
		return nil, Transfer(ctx, c.Timeout, err)
	}
	defer resp.Body.Close()
	return c.Read(ctx, resp)
}

// Read reads the body of a response, and checks it.
func (c *Client) Read(ctx context.Context, resp *http.Response) (*Response, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.MaxBody+1))
	switch {
	case err != nil:
		return nil, Transfer(ctx, c.Timeout, err)
	case int64(len(body)) > c.MaxBody:
		return nil, TooLarge("the answer", c.MaxBody)
	}
	read := &Response{resp, body}
	if c.Check != nil {
		if e := c.Check(read); e != nil {
			return nil, e
		}
	} else if resp.StatusCode != http.StatusOK {
		return nil, Status(resp)
	}
	return read, nil
}

// Pace keeps the time between requests to each host. It is safe for concurrent use; its
// zero value is ready for use.
type Pace struct {
	mu   sync.Mutex
	next map[string]time.Time // by host
}

// wait waits until a request may be sent, after which the next one has to wait for the
// interval.
func (p *Pace) wait(ctx context.Context, clock load.Clock, host string, interval time.Duration) error {
	if interval <= 0 {
		return nil
	}
	p.mu.Lock()
	now := clock.Now()
	at := now
	if next := p.next[host]; next.After(now) {
		at = next
	}
	if p.next == nil {
		p.next = map[string]time.Time{}
	}
	p.next[host] = at.Add(interval)
	p.mu.Unlock()
	if at.Equal(now) {
		return nil
	}
	return load.Pause(ctx, clock, at.Sub(now))
}
