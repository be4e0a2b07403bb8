package listen

import (
	"container/list"
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Conn is a connection of a [Table]. The methods of a nil Conn do not bound
// anything.
type Conn struct {
	net.Conn
	table  *Table
	remote *remote
	closed chan struct{}
	once   sync.Once
	shown  atomic.Bool // it was admitted

	// With the table's lock:
	in       *pool // nil: it is closed, or must be
	own      *group
	key      string
	queued   [2]*list.Element // in the queues of in and own; nil while it is in use
	uses     int              // of an admitted connection
	deadline *time.Timer      // while it is pending; may be nil
}

// remote is the address of a client; it leads to the connection through any
// layers that servers put over it.
type remote struct {
	net.Addr
	conn *Conn
}

// Of returns the connection with a remote address, which is that of a connection
// over it, too. It is nil for an address of another listener.
func Of(addr net.Addr) *Conn {
	if r, ok := addr.(*remote); ok {
		return r.conn
	}
	return nil
}

type contextKey struct{}

// Context is ConnContext of [net/http.Server]; see [FromContext].
func Context(ctx context.Context, nc net.Conn) context.Context {
	return context.WithValue(ctx, contextKey{}, Of(nc.RemoteAddr()))
}

// FromContext returns the connection of a request, or nil.
func FromContext(ctx context.Context) *Conn {
	c, _ := ctx.Value(contextKey{}).(*Conn)
	return c
}

// RemoteAddr returns the address of the client.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// Read reads what the client sends. Of the pending connections it becomes the last
// to be closed for another one.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && !c.shown.Load() {
		c.heard()
	}
	return n, err
}

func (c *Conn) heard() {
	c.table.mu.Lock()
	defer c.table.mu.Unlock()
	if c.in == &c.table.pending {
		c.unqueue()
		c.queue()
	}
}

// Close closes the connection, once.
func (c *Conn) Close() (err error) {
	c.once.Do(func() {
		c.table.mu.Lock()
		c.leave()
		c.table.mu.Unlock()
		close(c.closed)
		err = c.Conn.Close()
	})
	return err
}

// end closes the connection if there is one.
func (c *Conn) end() {
	if c != nil {
		c.Close()
	}
}

// Admit admits a connection for a use by a caller; "" is whoever uses the address.
// When the last use has left, the connection is idle: it remains the caller's, and
// may be closed for another one. leave may be called more than once. The error is a
// [*FullError].
func (c *Conn) Admit(caller string) (leave func(), err error) {
	if c == nil {
		return func() {}, nil
	}
	t := c.table
	t.mu.Lock()
	victim, err := c.admit(caller)
	t.mu.Unlock()
	victim.end()
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(c.idle), nil
}

// admit returns the connection that must be closed, if any.
func (c *Conn) admit(caller string) (victim *Conn, err error) {
	t := c.table
	switch c.in {
	case nil:
		return nil, errEvicted
	case &t.admitted:
		c.unqueue()
		c.uses++
		return nil, nil
	}
	shown := fmt.Sprintf("principal %q", caller)
	if caller == "" {
		caller = c.key
		shown = "address " + caller
	}
	if victim, err = t.admitted.room(caller); err != nil {
		return nil, t.limits.full(err, shown)
	}
	c.leave()
	t.admitted.join(c, caller)
	c.shown.Store(true)
	c.uses++
	return victim, nil
}

// idle ends a use.
func (c *Conn) idle() {
	c.table.mu.Lock()
	defer c.table.mu.Unlock()
	if c.uses--; c.uses == 0 && c.in != nil {
		c.queue()
	}
}

// queue lets the connection be closed for another one.
func (c *Conn) queue() {
	c.queued = [2]*list.Element{c.in.all.queue.PushBack(c), c.own.queue.PushBack(c)}
}

// unqueue ends what queue began.
func (c *Conn) unqueue() {
	if c.queued[0] != nil {
		c.in.all.queue.Remove(c.queued[0])
		c.own.queue.Remove(c.queued[1])
		c.queued = [2]*list.Element{}
	}
}

// leave removes the connection, if there is one, from its pool.
func (c *Conn) leave() {
	if c == nil || c.in == nil {
		return
	}
	c.unqueue()
	c.in.all.open--
	if c.own.open--; c.own.open == 0 {
		delete(c.in.byKey, c.key)
	}
	if c.deadline != nil {
		c.deadline.Stop()
	}
	c.in, c.own = nil, nil
}

// expire closes the connection if it is pending.
func (c *Conn) expire() {
	c.table.mu.Lock()
	late := c.in == &c.table.pending
	if late {
		c.leave()
	}
	c.table.mu.Unlock()
	if late {
		c.Close()
	}
}

// AfterClose calls f when the connection has closed, unless stop is called before that.
func (c *Conn) AfterClose(f func()) (stop func()) {
	if c == nil {
		return func() {}
	}
	stopped := make(chan struct{})
	go func() {
		select {
		case <-c.closed:
			f()
		case <-stopped:
		}
	}()
	return sync.OnceFunc(func() { close(stopped) })
}

// Pause waits for d, or until the context ends or the connection is closed.
func (c *Conn) Pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	var closed chan struct{}
	if c != nil {
		closed = c.closed
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-closed:
	}
}

// ipv6Prefix is the size of the networks that one client commonly has.
const ipv6Prefix = 64

// Address returns the part of a remote address, host:port, by which clients are
// counted: the IPv4 address, or the /64 network of IPv6.
func Address(remote string) string {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	addr := ap.Addr().Unmap().WithZone("")
	if addr.Is6() {
		network, _ := addr.Prefix(ipv6Prefix) // 64 bits are in range
		return network.String()
	}
	return addr.String()
}
