package pgwire

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"sync"
	"time"
)

// running is the statement that a connection runs, for others to cancel. A cancel
// request between two statements of a client's request cancels the next one.
type running struct {
	in *input // watched meanwhile

	mu        sync.Mutex
	secret    []byte                  // the key for cancel requests; nil until the client is known
	stop      context.CancelCauseFunc // nil between statements
	busy      bool                    // with a request, up to its ReadyForQuery
	cancelled bool                    // the request is
}

// makeSecret makes the key by which the client may cancel its statements.
func (r *running) makeSecret(size int) []byte {
	secret := make([]byte, size)
	rand.Read(secret) //nolint:errcheck // never fails
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secret = secret
	return secret
}

func (r *running) hasSecret(secret []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.secret != nil && subtle.ConstantTimeCompare(r.secret, secret) == 1
}

// serve begins a request, or continues it; rest ends it.
func (r *running) serve() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = true
}

func (r *running) rest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy, r.cancelled = false, false
}

func (r *running) set(stop context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop = stop
	if r.cancelled && stop != nil {
		stop(nil)
	}
}

func (r *running) cancel(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancelled = r.busy
	if r.stop != nil {
		r.stop(cause)
	}
}

// begin starts work for a client. Until finish, a cancel request and the client's
// leaving end the context; the timeout does, unless it is 0.
func (r *running) begin(ctx context.Context, timeout time.Duration) (context.Context, context.CancelCauseFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		cancelled := stop
		stop = func(cause error) { cancelled(cause); cancel() }
	}
	r.resume(stop)
	return ctx, stop
}

// resume continues work that begin started.
func (r *running) resume(stop context.CancelCauseFunc) {
	r.set(stop)
	r.in.watch()
}

func (r *running) finish() {
	r.in.unwatch()
	r.set(nil)
}
