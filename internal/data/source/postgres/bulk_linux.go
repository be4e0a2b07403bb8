package postgres

import (
	"net"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	bulkAfter = 1 << 20   // bytes of an answer after which it is read in larger parts
	bulkRead  = 128 << 10 // bytes that a read then waits for
	bulkWait  = 2         // milliseconds that it waits at most
)

// bulkConn is a connection to a server that reads long answers in larger parts. PostgreSQL
// sends 8 KB at a time. If each is read as it comes, the switches between the server, the
// proxy and DuckDB, which often share processors, take longer than all copies. A read that
// waits in poll(2) for SO_RCVLOWAT bytes has no such switches.
type bulkConn struct {
	net.Conn
	raw      syscall.RawConn
	answered atomic.Int64 // bytes since the last request

	// These are the reader's.
	low    int    // bytes that make the socket readable; 1 while a read of Conn waits
	buffer []byte // for a reader of less, which TLS is
	ahead  []byte // of buffer, not read yet
}

// newBulkConn wraps a connection if it is one of TCP.
func newBulkConn(c net.Conn) net.Conn {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return c
	}
	return &bulkConn{Conn: c, raw: raw, low: 1}
}

// Write implements [net.Conn]. What is read from now on is another answer.
func (c *bulkConn) Write(p []byte) (int, error) {
	c.answered.Store(0)
	return c.Conn.Write(p)
}

// Read implements [net.Conn].
func (c *bulkConn) Read(p []byte) (int, error) {
	if len(c.ahead) > 0 || len(p) == 0 {
		return c.take(p), nil
	}
	if c.answered.Load() < bulkAfter {
		c.set(1)
		n, err := c.Conn.Read(p)
		c.answered.Add(int64(n))
		return n, err
	}
	if !c.set(bulkRead) || !c.wait() {
		c.set(1) // the answer ends, or pauses
	}
	to := p
	if len(p) < bulkRead {
		if c.buffer == nil {
			c.buffer = make([]byte, bulkRead)
		}
		to = c.buffer
	}
	n, err := c.Conn.Read(to)
	c.answered.Add(int64(n))
	if len(p) < bulkRead {
		c.ahead = to[:n]
		n = c.take(p)
	}
	return n, err
}

// take reads from what was read ahead.
func (c *bulkConn) take(p []byte) int {
	n := copy(p, c.ahead)
	if c.ahead = c.ahead[n:]; len(c.ahead) == 0 && c.answered.Load() < bulkAfter {
		c.buffer, c.ahead = nil, nil
	}
	return n
}

// set sets how many bytes make the socket readable.
func (c *bulkConn) set(low int) bool {
	if c.low == low {
		return true
	}
	var failed error
	err := c.raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, low)
	})
	if err != nil || failed != nil {
		return false
	}
	c.low = low
	return true
}

// wait reports whether the socket became readable.
func (c *bulkConn) wait() (readable bool) {
	err := c.raw.Control(func(fd uintptr) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, bulkWait)
		readable = err == nil && n > 0
	})
	return err == nil && readable
}
