package pgwire

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// input reads what a client sends. While a statement runs, it watches whether the
// client closes the connection. One goroutine reads; close and abort may be called by
// others.
type input struct {
	idle time.Duration

	mu       sync.Mutex
	nc       net.Conn
	deadline time.Time // of the login; zero afterwards
	closing  bool
	waiting  bool // for the client
	stopped  bool // the watch must end

	timer *time.Timer // begins the watch
	ended chan bool   // the watch is over
	gone  func()      // what the watch calls when the client has left
	ahead []byte      // read by the watch and not by Read yet
	err   error       // met by the watch

	large largeMessages
}

// newInput reads from nc. gone is called when the client leaves while it is
// watched.
func newInput(nc net.Conn, idle time.Duration, gone func()) *input {
	return &input{nc: nc, idle: idle, gone: gone, ended: make(chan bool, 1)}
}

// Read waits for the client. The error is errLate when the login takes too
// long, errIdle after too long a silence and errShutdown when the server does
// not wait any more.
func (in *input) Read(p []byte) (int, error) {
	if err := in.large.begin(len(p)); err != nil {
		return 0, err
	}
	if len(in.ahead) > 0 {
		n := copy(p, in.ahead)
		in.ahead = in.ahead[n:]
		in.large.read(n)
		return n, nil
	}
	if in.err != nil {
		return 0, in.err
	}
	nc, err := in.begin()
	if err != nil {
		return 0, err
	}
	n, err := nc.Read(p)
	in.large.read(n)
	if err = in.end(err); n > 0 {
		return n, nil // an error comes again
	}
	return n, err
}

// begin is the start of reading from the connection, which close ends; end is
// its end, and says what its error means.
func (in *input) begin() (net.Conn, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closing {
		return nil, errShutdown
	}
	in.waiting = true
	deadline := in.deadline
	if deadline.IsZero() {
		deadline = time.Now().Add(in.idle)
	}
	return in.nc, in.nc.SetReadDeadline(deadline)
}

func (in *input) end(err error) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.waiting = false
	switch {
	case err == nil:
		return nil
	case in.closing:
		return errShutdown
	case errors.Is(err, os.ErrDeadlineExceeded) && !in.deadline.IsZero():
		return errLate
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errIdle
	}
	return err
}

// close lets a Read that waits, and the next one, end with errShutdown.
func (in *input) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closing = true
	if in.waiting {
		_ = in.nc.SetReadDeadline(time.Unix(1, 0)) // fails if it is closed, which ends the Read too
	}
}

// abort closes the connection.
func (in *input) abort() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.nc.Close()
}

// upgrade goes on with another connection, made over the last one.
func (in *input) upgrade(nc net.Conn) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.nc = nc
}

// loginBy bounds the login; the zero time ends it.
func (in *input) loginBy(deadline time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.deadline = deadline
}

// watch begins to look, after a moment, for the client to leave. The moment
// makes short statements pay next to nothing. Each watch is ended by unwatch
// before the next Read.
func (in *input) watch() {
	in.stopped = false
	if in.timer == nil {
		in.timer = time.AfterFunc(watchAfter, in.look)
		return
	}
	in.timer.Reset(watchAfter)
}

// unwatch ends the watch and waits for it.
func (in *input) unwatch() {
	if in.timer.Stop() {
		return
	}
	in.mu.Lock()
	in.stopped = true
	_ = in.nc.SetReadDeadline(time.Unix(1, 0))
	in.mu.Unlock()
	<-in.ended
}

// look reads ahead until there is no more room, the client leaves or the watch
// ends.
func (in *input) look() {
	defer func() { in.ended <- true }()
	in.mu.Lock()
	nc, stopped := in.nc, in.stopped
	if !stopped {
		_ = nc.SetReadDeadline(time.Time{})
	}
	in.mu.Unlock()
	if stopped {
		return
	}
	if len(in.ahead) == 0 && cap(in.ahead) < readAhead {
		in.ahead = make([]byte, 0, readAhead)
	}
	for len(in.ahead) < cap(in.ahead) {
		n, err := nc.Read(in.ahead[len(in.ahead):cap(in.ahead)])
		in.ahead = in.ahead[:len(in.ahead)+n]
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		if err != nil {
			in.err = err
			in.gone()
			return
		}
	}
}
