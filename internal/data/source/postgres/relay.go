package postgres

import (
	"bufio"
	"io"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// bufferSize is for what a server sends.
const bufferSize = 256 << 10

// relay copies what the client and the server send until one of them disconnects, or, if
// once is set, until the server has answered everything, after which the client has more to
// say. The session that it returns has ended.
func relay(c *client, server net.Conn, once bool) *session {
	s := &session{once: once}
	done := make(chan struct{})
	go func() {
		defer close(done)
		switch idle := s.toClient(c, server); {
		case s.answered():
			c.SetReadDeadline(time.Now()) // ends toServer
		case !idle:
			c.Close() // ends toServer
		}
	}()
	if s.toServer(c, server) {
		c.Close() // ends a write to it
		server.SetReadDeadline(time.Now())
	}
	<-done
	server.SetReadDeadline(time.Time{})
	c.SetReadDeadline(time.Time{})
	return s
}

// session is the state of a server's connection, as its messages show. The protocol is
// https://www.postgresql.org/docs/current/protocol-message-formats.html.
type session struct {
	once     bool // it ends when the server has answered everything
	mu       sync.Mutex
	pending  int  // requests that the server has not answered with ReadyForQuery
	unsynced bool // the client has sent messages that only a Sync ends
	failed   bool // the server disconnected, or stopped within a message
	done     bool // it ended because of once
	gone     bool // the server disconnected; read it when both have ended
}

func (s *session) reusable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending == 0 && !s.unsynced && !s.failed
}

// answered reports whether the session ended because the server has answered everything.
func (s *session) answered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done
}

// toServer copies messages until the client ends the connection, or returns false if the
// server does or the session is done. The message with which the client ends it is not
// copied: the server's connection stays.
func (s *session) toServer(c *client, server io.Writer) bool {
	out := bufio.NewWriter(server)
	for {
		head, err := c.in.Peek(5)
		if err != nil || head[0] == 'X' { // Terminate
			return !s.answered()
		}
		size := 1 + int64(length(head))
		if !s.sent(head[0]) {
			if s.answered() {
				return false // the next session has the message
			}
			if _, err := io.CopyN(io.Discard, c.in, size); err == nil {
				c.Write(ended) //nolint:errcheck // it may be gone
			}
			return false
		}
		_, err = io.CopyN(out, c.in, size)
		if err == nil && c.in.Buffered() == 0 {
			err = out.Flush()
		}
		if err != nil {
			s.fail()
			return false
		}
	}
}

// sent records a message of the client, unless the server gets no more.
func (s *session) sent(kind byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed || s.done {
		return false
	}
	switch kind {
	case 'Q', 'F', 'S': // Query, FunctionCall, Sync
		s.pending++
		s.unsynced = false
	case 'd', 'c', 'f': // of a COPY
	default:
		s.unsynced = true
	}
	return true
}

// finish ends a session with once that has answered everything.
func (s *session) finish() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = s.once && s.pending == 0 && !s.unsynced && !s.failed
	return s.done
}

func (s *session) fail() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = true
}

// toClient copies what the server sends until one of them disconnects, the deadline of the
// server's connection, or the end of a session with once. It reports whether the client waits for nothing: it need not
// know then that the server disconnected.
func (s *session) toClient(client io.Writer, server io.Reader) (idle bool) {
	buffer := make([]byte, bufferSize)
	var f frames
	for {
		n, err := server.Read(buffer)
		idle = s.reusable() && !f.within()
		if ready := f.scan(buffer[:n]); ready > 0 {
			s.mu.Lock()
			s.pending -= ready
			s.mu.Unlock()
		}
		if n > 0 && !idle { // else that it ends the connection, say, which libpq would print
			if _, err := client.Write(buffer[:n]); err != nil {
				s.failIf(f.within())
				return false
			}
		}
		if n > 0 && !f.within() && s.finish() {
			return true
		}
		if err == nil {
			continue
		}
		if e, ok := err.(net.Error); ok && e.Timeout() {
			s.failIf(f.within())
			return true
		}
		s.fail()
		s.gone = true
		if !f.within() && !idle {
			client.Write(ended) //nolint:errcheck // it may be gone
		}
		return idle
	}
}

// ended is what a client gets when its server disconnects without a message.
var ended = func() []byte {
	b, err := (&pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "08006", Message: "the PostgreSQL server ended the connection"}).Encode(nil)
	if err != nil {
		panic(err)
	}
	return b
}()

func (s *session) failIf(failed bool) {
	if failed {
		s.fail()
	}
}

// frames follows the messages in a stream: a byte for the kind, four for the length of
// what follows with themselves, and the rest.
type frames struct {
	head [5]byte
	have int // bytes of head
	left int // bytes of the message after head
}

// scan reads on, and returns how many ReadyForQuery messages began.
func (f *frames) scan(p []byte) (ready int) {
	for len(p) > 0 {
		if f.left > 0 {
			n := min(f.left, len(p))
			f.left -= n
			p = p[n:]
			continue
		}
		n := copy(f.head[f.have:], p)
		f.have += n
		p = p[n:]
		if f.have < len(f.head) {
			return ready
		}
		if f.head[0] == 'Z' {
			ready++
		}
		f.have, f.left = 0, length(f.head[:])-4
	}
	return ready
}

// within reports whether a message has begun and not ended.
func (f *frames) within() bool { return f.have > 0 || f.left > 0 }

// length returns the length in a message's head.
func length(head []byte) int {
	return max(4, int(head[1])<<24|int(head[2])<<16|int(head[3])<<8|int(head[4]))
}
