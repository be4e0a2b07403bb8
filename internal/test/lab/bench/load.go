package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	loadCallers = 32
	loadTime    = 4 * time.Second
	loadRounds  = 3
)

// caller calls repeatedly, the i-th time with i, on its own connection if it needs one.
type caller struct {
	call  func(i int) error
	close func() // may be nil
}

// load is what several callers measured.
type load struct {
	rate  float64   // calls per second
	times []float64 // of the calls, in milliseconds, sorted
}

// p99 returns the 99th percentile of the latencies.
func (l load) p99() float64 { return l.times[int(0.99*float64(len(l.times)-1))] }

// apply runs callers for a while. open returns a new caller; ctx ends with the load.
func apply(ctx context.Context, callers int, open func(context.Context) (caller, error)) (load, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, loadTime, nil)
	defer cancel()
	var mu sync.Mutex
	var all []float64
	var failed error
	var wg sync.WaitGroup
	began := time.Now()
	for range callers {
		wg.Go(func() {
			times, err := repeat(ctx, open)
			mu.Lock()
			defer mu.Unlock()
			if all = append(all, times...); err != nil && ctx.Err() == nil {
				failed = err
				cancel()
			}
		})
	}
	wg.Wait()
	took := time.Since(began).Seconds()
	slices.Sort(all)
	if failed == nil && len(all) == 0 {
		failed = errors.New("no call succeeded")
	}
	return load{float64(len(all)) / took, all}, failed
}

// repeat calls until ctx ends and returns how long each call took.
func repeat(ctx context.Context, open func(context.Context) (caller, error)) (times []float64, err error) {
	c, err := open(ctx)
	if err != nil {
		return nil, err
	}
	if c.close != nil {
		defer c.close()
	}
	for i := 0; ctx.Err() == nil; i++ {
		began := time.Now()
		if err := c.call(i); err != nil {
			return times, err
		}
		times = append(times, ms(time.Since(began)))
	}
	return times, nil
}

// alternate measures a and b in turn, and returns the medians and that of the ratios.
func alternate(rounds int, a, b func() (float64, error)) (medianA, medianB, ratio float64, err error) {
	var as, bs, ratios []float64
	for range rounds {
		x, err := a()
		if err != nil {
			return 0, 0, 0, err
		}
		y, err := b()
		if err != nil {
			return 0, 0, 0, err
		}
		as, bs, ratios = append(as, x), append(bs, y), append(ratios, x/y)
	}
	return median(as), median(bs), median(ratios), nil
}

// compare measures the rates of two kinds of callers in turn.
func compare(ctx context.Context, callers int, a, b func(context.Context) (caller, error)) (rateA, rateB, ratio float64, err error) {
	rate := func(open func(context.Context) (caller, error)) func() (float64, error) {
		return func() (float64, error) {
			l, err := apply(ctx, callers, open)
			return l.rate, err
		}
	}
	return alternate(loadRounds, rate(a), rate(b))
}

// connection is an HTTP connection to a server. It writes requests and parses answers by
// hand, because the load generator shares the machine with the server and must be cheap.
type connection struct {
	net.Conn
	host   string
	reader *bufio.Reader
}

// connect opens a connection that is closed when ctx ends.
func (s *server) connect(ctx context.Context) (*connection, error) {
	host := strings.TrimPrefix(s.url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	return &connection{conn, host, bufio.NewReader(conn)}, nil
}

// post sends a request with header lines and reads the answer.
func (c *connection) post(path, header, body string) (http.Header, []byte, error) {
	if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\n%sContent-Length: %d\r\n\r\n%s", path, c.host, header, len(body), body); err != nil {
		return nil, nil, err
	}
	res, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = errors.New(res.Status)
	}
	return res.Header, answer, err
}

// poster returns callers that post a body to path.
func (s *server) poster(path, header string, body func(i int) string) func(context.Context) (caller, error) {
	return func(ctx context.Context) (caller, error) {
		c, err := s.connect(ctx)
		if err != nil {
			return caller{}, err
		}
		return caller{func(i int) error {
			_, _, err := c.post(path, header, body(i))
			return err
		}, func() { c.Close() }}, nil
	}
}

const (
	jsonHeader = "Content-Type: application/json\r\n"
	textHeader = "Content-Type: text/plain\r\n"
)
