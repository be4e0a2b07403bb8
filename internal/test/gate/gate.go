// Package gate makes servers of tests go away and come back, whatever they speak: a gate
// passes the bytes of connections on while it is open.
//
//	g := gate.Open(t, server.Address)
//	… // clients connect to g.Address
//	g.Close() // connections end, and new ones are refused
//	g.Reopen()
//	g.CloseAfter(1000) // more bytes of the server
package gate

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/reserve"
)

// Gate is a port of this machine that leads to another one.
type Gate struct {
	Address string

	t      testing.TB
	target string

	mu       sync.Mutex
	listener net.Listener // nil while it is closed
	left     int64        // bytes of the server that pass before it closes; < 0: any number
	open     map[net.Conn]bool
	busy     sync.WaitGroup
}

// Open opens a gate to an address, until the test ends.
func Open(t testing.TB, target string) *Gate {
	t.Helper()
	g := &Gate{t: t, target: target, Address: reserve.Address(t), left: -1, open: map[net.Conn]bool{}}
	g.Reopen()
	t.Cleanup(g.Close)
	return g
}

// Reopen opens the gate again, at its address.
func (g *Gate) Reopen() {
	g.t.Helper()
	l := reserve.Listen(g.t, g.Address)
	g.mu.Lock()
	g.listener, g.left = l, -1
	g.mu.Unlock()
	g.busy.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			g.busy.Go(func() { g.pass(c, l) })
		}
	})
}

// Close closes the gate and ends its connections.
func (g *Gate) Close() {
	g.mu.Lock()
	g.shut()
	g.mu.Unlock()
	g.busy.Wait()
}

// CloseAfter closes the gate when the server has sent some more bytes.
func (g *Gate) CloseAfter(bytes int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left = bytes
}

// shut closes the gate. The caller holds g.mu.
func (g *Gate) shut() {
	if g.listener != nil {
		g.listener.Close()
		g.listener = nil
	}
	for c := range g.open {
		c.Close()
	}
}

// counted are the bytes of a server.
type counted struct {
	net.Conn
	g *Gate
}

// Read returns no bytes that the gate does not let pass.
func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.g.mu.Lock()
	defer c.g.mu.Unlock()
	if c.g.left < 0 {
		return n, err
	}
	if c.g.left -= int64(n); c.g.left < 0 {
		c.g.left = 0
		c.g.shut()
		return 0, net.ErrClosed
	}
	return n, err
}

// pass copies the bytes of a connection of a listener, both ways.
func (g *Gate) pass(c net.Conn, l net.Listener) {
	defer c.Close()
	s, err := net.Dial("tcp", g.target)
	if err != nil {
		return
	}
	defer s.Close()
	g.mu.Lock()
	closed := g.listener != l
	if !closed {
		g.open[c], g.open[s] = true, true
	}
	g.mu.Unlock()
	if closed {
		return
	}
	g.busy.Go(func() {
		io.Copy(s, c) //nolint:errcheck // either end may close
		s.Close()
	})
	io.Copy(c, counted{s, g}) //nolint:errcheck // either end may close
	c.Close()
	g.mu.Lock()
	delete(g.open, c)
	delete(g.open, s)
	g.mu.Unlock()
}
