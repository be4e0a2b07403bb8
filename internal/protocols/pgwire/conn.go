package pgwire

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"runtime/debug"
	"sync"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/access/caller"
)

// The states of a connection's transaction, as ReadyForQuery has them.
const (
	txIdle   = 'I'
	txOpen   = 'T'
	txFailed = 'E'
)

// conn is a client's connection. One goroutine serves it.
type conn struct {
	server  *Server
	in      *input
	out     output
	backend *pgproto3.Backend // reads messages
	remote  string
	surplus bool // one too many

	pid     uint32
	secret  []byte // nil until the client is known
	keyMu   sync.Mutex
	running running

	user      string // of the startup message
	principal *auth.Principal
	caller    caller.Caller
	session   session
	told      map[string]string // the reported settings, as the client knows them

	plans      map[planKey]*plan
	statements map[string]*prepared
	portals    map[string]*portal
	open       int  // portals with rows left
	held       int  // bytes of the names, texts and parameters of both
	skip       bool // until the next Sync, after an error
}

// running is the statement that a connection runs, for others to cancel. What
// comes between two statements of a request counts for the next one.
type running struct {
	mu        sync.Mutex
	stop      context.CancelCauseFunc // nil between statements
	busy      bool                    // with a request, up to its ReadyForQuery
	cancelled bool                    // the request is
}

// serve begins a request, or goes on with it; rest ends it.
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

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{
		server: s, remote: nc.RemoteAddr().String(), out: output{nc: nc, timeout: s.opts.WriteTimeout},
		told: map[string]string{}, plans: map[planKey]*plan{}, statements: map[string]*prepared{}, portals: map[string]*portal{},
	}
	c.in = newInput(nc, s.opts.IdleTimeout, func() { c.running.cancel(errClosed) })
	return c
}

// serve speaks with the client until one of the two ends it.
func (c *conn) serve(ctx context.Context) {
	defer c.in.abort()
	defer c.closePortals(func(*portal) bool { return true })
	defer func() {
		if v := recover(); v != nil {
			c.server.opts.Log.Error("a PostgreSQL connection failed", "error", v, "stack", string(debug.Stack()))
			c.end(failure(stateInternal, "please report it with the statement", "the runtime failed on this connection: %v", v))
		}
	}()
	c.end(c.talk(ctx))
}

// end says why the connection ends, if the client can still hear it.
func (c *conn) end(err error) {
	var why *stateError
	switch {
	case errors.As(err, &why):
		c.out.send(why.response("FATAL"))
	case errors.Is(err, errClosed), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), c.out.err != nil:
		return
	default:
		var network net.Error
		if errors.As(err, &network) || errors.Is(err, net.ErrClosed) {
			return
		}
		c.out.send(failure(stateProtocol, "", "%s", err).response("FATAL"))
	}
	_ = c.out.flush() // kept in out.err
}

func (c *conn) talk(ctx context.Context) error {
	ctx, err := c.start(ctx)
	if err != nil {
		return err
	}
	for {
		m, err := c.backend.Receive()
		if err != nil {
			return readError(err)
		}
		if err := c.handle(ctx, m); err != nil {
			return err
		}
		if c.out.ease(); c.out.err != nil {
			return c.out.err
		}
	}
}

// readError is err, or what it says of the protocol.
func readError(err error) error {
	var long *pgproto3.ExceededMaxBodyLenErr
	if errors.As(err, &long) {
		return failure(stateProgram, "send less at once", "a message of %d bytes is longer than the %d that are taken", long.ActualBodyLen, long.MaxExpectedBodyLen)
	}
	return err
}

// handle answers a message. An error ends the connection.
func (c *conn) handle(ctx context.Context, m pgproto3.FrontendMessage) error {
	switch m.(type) {
	case *pgproto3.Terminate:
		return errClosed
	case *pgproto3.Sync:
		c.skip = false
		c.ready()
		return nil
	}
	if c.skip {
		return nil
	}
	switch m.(type) {
	case *pgproto3.Flush:
		_ = c.out.flush() // kept in out.err
		return nil
	case *pgproto3.CopyData, *pgproto3.CopyDone, *pgproto3.CopyFail:
		return nil // of a COPY that was refused
	}
	c.running.serve()
	switch m := m.(type) {
	case *pgproto3.Query:
		return c.answered(c.simple(ctx, m.String))
	case *pgproto3.FunctionCall:
		return c.answered(failure(stateUnsupported, "write SELECT f(…)", "the function call protocol is not served"))
	}
	err := c.extended(ctx, m)
	if err == nil {
		return nil
	}
	c.skip = true
	err = c.fail(err)
	_ = c.out.flush() // kept in out.err; a client that sends Flush waits for it, and Sync only after it
	return err
}

// answered ends a request that has no Sync. err is why it failed.
func (c *conn) answered(err error) error {
	if err := c.fail(err); err != nil {
		return err
	}
	c.ready()
	return nil
}

// fail sends an error, if there is one, which ends what the client's
// transaction can do. One that ends the connection is returned in place.
func (c *conn) fail(err error) error {
	if err == nil {
		return nil
	}
	e := asState(err)
	if e.fatal {
		return e
	}
	c.out.send(e.response("ERROR"))
	if c.session.tx == txOpen {
		c.session.tx = txFailed
	}
	return nil
}

// ready ends what was asked: outside of a transaction block its portals end,
// too. As in PostgreSQL 14 and later it tells of settings that have changed.
func (c *conn) ready() {
	if c.session.tx == txIdle {
		c.closePortals(func(p *portal) bool { return !p.hold })
	}
	if c.session.changed {
		c.report()
	}
	c.running.rest()
	start := c.out.begin('Z')
	c.out.buf = append(c.out.buf, c.session.tx)
	c.out.finish(start)
	c.out.rest()
}

// makeSecret makes the key by which the client may cancel its statements.
func (c *conn) makeSecret(size int) {
	secret := make([]byte, size)
	rand.Read(secret) //nolint:errcheck // never fails
	c.keyMu.Lock()
	defer c.keyMu.Unlock()
	c.secret = secret
}

func (c *conn) secretIs(secret []byte) bool {
	c.keyMu.Lock()
	defer c.keyMu.Unlock()
	return c.secret != nil && subtle.ConstantTimeCompare(c.secret, secret) == 1
}
