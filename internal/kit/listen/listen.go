// Package listen bounds the connections of a server, so that clients that
// connect and say nothing cannot keep others out.
//
// A connection is pending until its server calls [Conn.Admit], when it knows
// whose it is. A new connection beyond the bounds of pending ones, in total or of
// its address, closes the one from which nothing has come for longest. Admitted
// connections have bounds of their own, in total and of each caller: one more closes
// the connection that has been idle for longest, and is refused where none is idle.
//
//	table := listen.New(listen.Limits{Connections: 1000, Settings: "runtime.postgres"})
//	l = table.Listener(l)
//	nc, err := l.Accept()
//	// read who it is, then
//	leave, err := listen.Of(nc.RemoteAddr()).Admit("ann")
//	defer leave() // the connection is idle
package listen

import (
	"cmp"
	"container/list"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"
)

// Limits are the limits of a [Table].
type Limits struct {
	Connections int // admitted; 0: 1000
	PerCaller   int // admitted, of one caller; 0: a quarter of Connections
	Pending     int // not admitted; 0: 2000. One address may have half of them.
	// Wait is how long a connection may be pending; 0: for ever.
	Wait time.Duration
	// Settings is the mapping of max_connections and max_connections_per_caller,
	// for errors; "": there are no such settings.
	Settings string
}

const (
	defaultConnections = 1000
	defaultPending     = 2000
)

// Table has the connections of a server's listeners. It is safe for concurrent
// use.
type Table struct {
	limits Limits

	mu       sync.Mutex
	pending  pool // by address
	admitted pool // by caller
}

// New returns an empty table.
func New(l Limits) *Table {
	l.Connections = cmp.Or(l.Connections, defaultConnections)
	l.PerCaller = cmp.Or(l.PerCaller, max(1, l.Connections/4))
	l.Pending = cmp.Or(l.Pending, defaultPending)
	return &Table{
		limits:   l,
		pending:  pool{most: l.Pending, mostOfKey: max(1, l.Pending/2), byKey: map[string]*group{}},
		admitted: pool{most: l.Connections, mostOfKey: l.PerCaller, byKey: map[string]*group{}},
	}
}

// Listener returns a listener whose connections are in the table.
func (t *Table) Listener(l net.Listener) net.Listener { return &listener{l, t} }

type listener struct {
	net.Listener
	table *Table
}

// Accept implements [net.Listener]. Where the process cannot open more files it
// closes pending connections.
func (l *listener) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err == nil {
			return l.table.add(nc), nil
		}
		if full := errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE); !full || !l.table.closeOldest() {
			return nil, err
		}
	}
}

// add makes a pending connection.
func (t *Table) add(nc net.Conn) *Conn {
	c := &Conn{Conn: nc, table: t, closed: make(chan struct{})}
	c.remote = &remote{nc.RemoteAddr(), c}
	address := Address(c.remote.String())
	t.mu.Lock()
	victim, _ := t.pending.room(address) // all that are pending can be closed
	t.pending.join(c, address)
	c.queue()
	if t.limits.Wait > 0 {
		c.deadline = time.AfterFunc(t.limits.Wait, c.expire)
	}
	t.mu.Unlock()
	victim.end()
	return c
}

// closeOldest closes the oldest pending connection and reports whether there was
// one.
func (t *Table) closeOldest() bool {
	t.mu.Lock()
	victim := t.pending.all.oldest()
	victim.leave()
	t.mu.Unlock()
	victim.end()
	return victim != nil
}

// pool is a bounded set of connections, each of which has a key.
type pool struct {
	most, mostOfKey int
	all             group
	byKey           map[string]*group
}

// group counts connections. Those that may be closed for another one are in its
// queue.
type group struct {
	open  int
	queue list.List // of *Conn, the next to be closed first
}

// oldest returns the next connection to be closed, or nil.
func (g *group) oldest() *Conn {
	if e := g.queue.Front(); e != nil {
		return e.Value.(*Conn)
	}
	return nil
}

// room makes room for one more connection. It removes and returns the one that
// must be closed for it, if any. If none can be, the error is the bound.
func (p *pool) room(key string) (victim *Conn, err error) {
	switch own := p.byKey[key]; {
	case own != nil && own.open >= p.mostOfKey:
		victim, err = own.oldest(), errOfKey
	case p.all.open >= p.most:
		victim, err = p.all.oldest(), errInTotal
	default:
		return nil, nil
	}
	if victim == nil {
		return nil, err
	}
	victim.leave()
	return victim, nil
}

// join adds a connection, which has left its last pool.
func (p *pool) join(c *Conn, key string) {
	own := p.byKey[key]
	if own == nil {
		own = &group{}
		p.byKey[key] = own
	}
	p.all.open++
	own.open++
	c.in, c.own, c.key = p, own, key
}

// The bounds of a pool.
var (
	errOfKey   = errors.New("the bound of a key")
	errInTotal = errors.New("the bound of all")
)

// FullError means that a connection exceeds a bound.
type FullError struct{ Message string }

// Error returns the message.
func (e *FullError) Error() string { return e.Message }

// errEvicted is the error for a connection that was closed before it was admitted.
var errEvicted = &FullError{"the connection was closed: it was pending for too long, or too many are"}

// full is the error for one connection of the caller too many.
func (l *Limits) full(bound error, caller string) error {
	message, setting := fmt.Sprintf("there are %d connections already", l.Connections), "max_connections"
	if bound == errOfKey {
		message, setting = fmt.Sprintf("%s has %d connections already", caller, l.PerCaller), "max_connections_per_caller"
	}
	if l.Settings != "" {
		message += ", the limit of " + l.Settings + "." + setting
	}
	return &FullError{message}
}
