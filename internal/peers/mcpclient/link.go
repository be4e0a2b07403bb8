package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/tools"
)

// State is the state of a server.
type State string

// The states of a server.
const (
	Initializing State = "Initializing" // the first attempt is running
	Ready        State = "Ready"
	Error        State = "Error" // the link retries
)

// link keeps a server connected across sessions. One goroutine, run, owns it.
type link struct {
	target    *target
	log       *slog.Logger
	limits    limits
	version   string
	transport http.RoundTripper
	changed   func()

	life    context.Context
	cancel  context.CancelFunc
	tried   chan struct{} // closed after the first attempt
	retired chan struct{} // closed when no generation declares the server

	mu      sync.Mutex
	state   State
	err     error
	session *session      // nil while disconnected
	again   bool          // disconnected, and connecting again for calls that wait in enter
	news    chan struct{} // closed when one of the above changes
	listing *listing      // the last one, nil before the first session
	looked  bool          // set once a load called look
	seen    string        // the checksum that it saw, "" if the server was unavailable

	closing sync.WaitGroup // sessions that are left and whose calls still run
}

func newLink(ctx context.Context, t *target, o Options, l limits, changed func()) *link {
	transport := shared()
	if o.HTTP != nil && o.HTTP.Transport != nil {
		transport = o.HTTP.Transport
	}
	life, cancel := context.WithCancel(ctx)
	return &link{
		target: t, log: o.Log.With("server", t.name), limits: l, version: o.Version, transport: transport,
		news: make(chan struct{}), changed: changed, life: life, cancel: cancel,
		tried: make(chan struct{}), retired: make(chan struct{}), state: Initializing,
	}
}

// run connects, and reconnects, until the link is retired.
func (l *link) run() {
	defer l.cancel()
	defer l.closing.Wait()
	first := sync.OnceFunc(func() { close(l.tried) })
	defer first()
	for failures := 0; ; {
		began, left := time.Now(), false
		s, err := l.connect()
		if err == nil {
			l.ready(s)
			first()
			err, left = l.serve(s)
			if time.Since(began) > l.limits.maxRetry {
				failures = 0
			}
		}
		if l.over() {
			return
		}
		failures++
		wait := l.limits.backoff(failures)
		switch {
		case !left:
			l.down(err, wait)
		case time.Since(began) > l.limits.retry:
			wait = 0 // calls wait
		}
		first()
		select {
		case <-l.life.Done():
			return
		case <-time.After(wait):
		}
	}
}

func (l *link) over() bool {
	select {
	case <-l.retired:
		return true
	default:
		return l.life.Err() != nil
	}
}

// retire ends the link once its calls have ended. Call it once.
func (l *link) retire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.retired)
	if l.session == nil {
		l.cancel()
	}
}

// connect makes one attempt: a session whose tools are listed.
func (l *link) connect() (*session, error) {
	life, end := context.WithCancelCause(l.life)
	s := &session{
		target: l.target, log: l.log, limits: l.limits, life: life, end: end,
		stale: make(chan struct{}, 1), broken: make(chan error, 1),
	}
	slow := time.AfterFunc(l.limits.connect, func() { end(errSlow) })
	err := s.connect(l.version, l.transport)
	if err == nil {
		s.listing, err = s.list(life)
	}
	if !slow.Stop() {
		err = errSlow
	}
	if err != nil {
		err = s.explain(err)
		s.close(errClosed)
		return nil, err
	}
	return s, nil
}

// serve keeps a session until it ends, and returns the reason; left: it was left after an error of
// one call. Then its other calls go on, for at most limits.drain, and new ones wait for the next
// session.
func (l *link) serve(s *session) (err error, left bool) {
	ended := make(chan error, 1)
	go func() { ended <- s.cs.Wait() }()
	err, left = l.watch(s, ended)
	l.leave(left)
	switch {
	case left:
		l.log.Info("an MCP server is connected again", "reason", err)
		l.closing.Go(func() {
			s.drain(l.life)
			s.close(errClosed)
		})
		return err, true
	case errors.Is(err, errRemoved):
		s.drain(l.life)
	case !errors.Is(err, errClosed):
		err = s.explain(err)
	}
	s.close(errClosed)
	return err, false
}

// watch returns why the session must end, or has ended; left: a call reported it.
func (l *link) watch(s *session, ended <-chan error) (err error, left bool) {
	var debounced <-chan time.Time
	pause := l.limits.debounce
	for {
		select {
		case <-l.life.Done():
			return errClosed, false
		case <-l.retired:
			return errRemoved, false
		case err := <-ended:
			return err, false
		case err := <-s.broken:
			return err, true
		case <-s.stale:
			if debounced == nil { // more reports do not put it off
				debounced = time.After(pause)
			}
		case <-debounced:
			debounced = nil
			if pause *= 2; l.list(s) { // otherwise the server reports changes without any
				pause = l.limits.debounce
			}
			pause = min(pause, l.limits.maxRetry)
		}
	}
}

// list lists the tools of a server again after it reported a change, and reports whether there is
// one.
func (l *link) list(s *session) bool {
	ctx, cancel := context.WithTimeout(s.life, l.limits.connect)
	defer cancel()
	listing, err := s.list(ctx)
	if err != nil {
		l.log.Warn("the changed tools of an MCP server cannot be listed", "error", s.show(err.Error(), maxReason))
		return false
	}
	l.mu.Lock()
	same := l.listing.sum == listing.sum
	l.mu.Unlock()
	if same {
		return false
	}
	l.log.Info("the tools of an MCP server changed", "tools", listing.total)
	l.take(func() { l.listing = listing })
	return true
}

// ready starts using a session.
func (l *link) ready(s *session) {
	l.log.Info("an MCP server is connected", "tools", s.listing.total, "protocol", s.cs.InitializeResult().ProtocolVersion)
	l.take(func() {
		l.session, l.listing, l.state, l.err, l.again = s, s.listing, Ready, nil, false
		l.wake()
	})
}

// wake wakes the calls that wait in enter. The caller must hold mu.
func (l *link) wake() {
	close(l.news)
	l.news = make(chan struct{})
}

// take applies a change, and reports it if the last load saw other tools.
func (l *link) take(change func()) {
	l.mu.Lock()
	change()
	news := l.looked && l.seen != l.listing.sum
	l.mu.Unlock()
	if news {
		l.changed()
	}
}

// down records that the server is unavailable. It warns once per cause.
func (l *link) down(err error, wait time.Duration) {
	l.mu.Lock()
	known := l.state == Error && l.err != nil && l.err.Error() == err.Error()
	news := l.looked && l.state == Initializing // the last load did not know
	l.state, l.err, l.again = Error, err, false
	l.wake()
	l.mu.Unlock()
	if news {
		l.changed()
	}
	level := slog.LevelWarn
	if known {
		level = slog.LevelDebug
	}
	l.log.Log(l.life, level, "an MCP server is not available", "error", err, "next_try", wait)
}

// leave stops using the session; again: calls wait for the next one.
func (l *link) leave(again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session, l.again = nil, again
	l.wake()
}

// enter returns the session for a call, but not lost, in which the call was and did not run; the
// caller must call calls.Done at the end. While the link connects again, it waits.
func (l *link) enter(ctx context.Context, lost *session) (*session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		select {
		case <-l.retired:
			return nil, tools.ErrChanged
		default:
		}
		switch {
		case l.session != nil && l.session != lost:
			l.session.calls.Add(1)
			return l.session, nil
		case l.session == nil && !l.again:
			return nil, tools.NewError(errcode.ToolUnavailable, l.reason(), "")
		}
		news := l.news
		l.mu.Unlock()
		select {
		case <-news:
		case <-l.retired:
		case <-l.life.Done():
		case <-ctx.Done():
		}
		l.mu.Lock()
		if err := cmp.Or(ctx.Err(), l.life.Err()); err != nil {
			return nil, err
		}
	}
}

// unavailable returns "", or the reason why the server is unavailable.
func (l *link) unavailable() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != nil || l.again {
		return ""
	}
	return l.reason()
}

func (l *link) reason() string {
	why := "it is being connected"
	if l.err != nil {
		why = l.err.Error()
	}
	return fmt.Sprintf("%s %q is not available: %s", l.target.kind(), l.target.name, why)
}

// connecting is why a server is not available while the first attempt runs.
const connecting = "it does not answer yet"

// look returns what a load uses: the last listing, and "" or the reason why
// there is no session.
func (l *link) look() (*listing, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looked, l.seen = true, ""
	switch {
	case l.session != nil || l.again:
		l.seen = l.listing.sum
		return l.listing, ""
	case l.err != nil:
		return l.listing, l.err.Error()
	}
	return l.listing, connecting
}

func (l *link) status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Status{Name: l.target.name, From: l.target.from, State: l.state}
	if l.err != nil {
		s.Error = l.err.Error()
	}
	return s
}
