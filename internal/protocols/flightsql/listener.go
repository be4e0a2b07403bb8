package flightsql

import (
	"net"
	"sync"
	"sync/atomic"
)

// boundedListener closes connections beyond a number of open ones.
type boundedListener struct {
	net.Listener
	most int64
	open atomic.Int64
}

// Accept implements [net.Listener].
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.most {
			return &boundedConn{Conn: conn, ended: sync.OnceFunc(func() { l.open.Add(-1) })}, nil
		}
		l.open.Add(-1)
		conn.Close()
	}
}

// boundedConn is a connection that is counted until it is closed.
type boundedConn struct {
	net.Conn
	ended func()
}

// Close implements [net.Conn].
func (c *boundedConn) Close() error {
	defer c.ended()
	return c.Conn.Close()
}
