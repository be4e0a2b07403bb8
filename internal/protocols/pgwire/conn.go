package pgwire

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime/debug"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/kit/listen"
	"github.com/spiced-sql/spiced/internal/kit/memory"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
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
	bounded *listen.Conn // the connection below
	pid     uint32
	stop    context.CancelFunc // ends the connection's statements
	skip    bool               // messages until the next Sync, after an error

	running running
	round   round
	client  client  // who it is
	session session // settings and state of the transaction block
	block   block
	store   store // prepared statements and portals
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{
		server: s, remote: nc.RemoteAddr().String(), bounded: listen.Of(nc.RemoteAddr()),
		out: output{nc: nc, timeout: s.opts.WriteTimeout}, store: newStore(),
	}
	c.round.counted = true // the login
	c.in = newInput(nc, s.opts.IdleTimeout, func() { c.running.cancel(errClosed) })
	c.running.in = c.in
	c.block.c = c
	return c
}

// serve answers the client until one of the two ends the connection.
func (c *conn) serve(ctx context.Context) {
	defer c.in.abort()
	defer c.in.large.end()
	defer c.block.leave(ctx)
	defer c.store.closePortals(func(*portal) bool { return true })
	defer func() {
		if v := recover(); v != nil {
			c.server.opts.Log.Error("a PostgreSQL connection failed", "error", v, "stack", string(debug.Stack()))
			c.end(sqlstate.Errorf(sqlstate.Internal, "please report it with the statement",
				"the runtime failed on this connection: %v", v))
		}
	}()
	c.end(c.talk(ctx))
}

// end reports why the connection ends, if the client can still receive it.
func (c *conn) end(err error) {
	var network net.Error
	why, ok := errors.AsType[*sqlstate.Error](err)
	switch {
	case ok:
	case errors.Is(err, errClosed), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), c.out.err != nil,
		errors.As(err, &network), errors.Is(err, net.ErrClosed):
		return
	default:
		why = sqlstate.Errorf(sqlstate.Protocol, "", "%s", err)
	}
	c.out.send(why.Response("FATAL"))
	_ = c.out.flush() // stored in out.err
}

func (c *conn) talk(ctx context.Context) error {
	if err := c.start(ctx); err != nil {
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

// readError is err, or the error of the protocol that it means.
func readError(err error) error {
	if long, ok := errors.AsType[*pgproto3.ExceededMaxBodyLenErr](err); ok {
		return sqlstate.Errorf(sqlstate.Program, "send less at once", "a message of %d bytes exceeds the limit of %d",
			long.ActualBodyLen, long.MaxExpectedBodyLen)
	}
	if errors.Is(err, memory.ErrShort) {
		return sqlstate.Errorf(sqlstate.OutOfMemory, "send fewer large messages at once", "%s", err)
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
		_ = c.out.flush() // stored in out.err
		return nil
	case *pgproto3.CopyData, *pgproto3.CopyDone, *pgproto3.CopyFail:
		return nil // of a COPY that was refused
	}
	c.running.serve()
	switch m := m.(type) {
	case *pgproto3.Query:
		return c.answered(c.simple(ctx, m.String))
	case *pgproto3.FunctionCall:
		return c.answered(sqlstate.Errorf(sqlstate.Unsupported, "write SELECT f(…)",
			"the function call protocol is not served"))
	}
	err := c.extended(ctx, m)
	if err == nil {
		return nil
	}
	c.skip = true
	err = c.fail(err)
	_ = c.out.flush() // stored in out.err; a client that sends Flush waits for it, and Sync only after it
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

// fail sends an error, if there is one, and fails the transaction. It returns an
// error that ends the connection.
func (c *conn) fail(err error) error {
	if err == nil {
		return nil
	}
	e := asError(err)
	if e.Fatal {
		return e
	}
	c.out.send(e.Response("ERROR"))
	if c.session.tx == txOpen {
		c.session.tx = txFailed
	}
	return nil
}

// ready ends a request: outside of a transaction block its portals end, too. As
// in PostgreSQL 14 and later it reports settings that have changed.
func (c *conn) ready() {
	c.endRound()
	if c.session.tx == txIdle {
		c.store.closePortals(func(p *portal) bool { return !p.hold })
	}
	c.session.report(&c.out)
	c.running.rest()
	c.out.send(&pgproto3.ReadyForQuery{TxStatus: c.session.tx})
	c.out.rest()
}
