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

// relay copies what the client and the server send until one of them disconnects. It
// reports whether the server has answered everything, so that its connection can be used
// again, and whether the server has disconnected.
func relay(client, server net.Conn) (reusable, gone bool) {
	var session session
	done := make(chan struct{})
	go func() {
		defer close(done)
		if !session.toClient(client, server) {
			client.Close() // ends toServer
		}
	}()
	if session.toServer(client, server) {
		client.Close() // ends a write to it
		server.SetReadDeadline(time.Now())
	}
	<-done
	server.SetReadDeadline(time.Time{})
	return session.reusable(), session.gone
}

// session is the state of a server's connection, as its messages show. The protocol is
// https://www.postgresql.org/docs/current/protocol-message-formats.html.
type session struct {
	mu       sync.Mutex
	pending  int  // requests that the server has not answered with ReadyForQuery
	unsynced bool // the client has sent messages that only a Sync ends
	failed   bool // the server disconnected, or stopped within a message
	gone     bool // the server disconnected; read it when both have ended
}

func (s *session) reusable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending == 0 && !s.unsynced && !s.failed
}

// toServer copies messages until the client ends the connection, or returns false if the
// server does. The message with which the client ends it is not copied: the server's
// connection stays.
func (s *session) toServer(client io.ReadWriter, server io.Writer) bool {
	in, out := bufio.NewReader(client), bufio.NewWriter(server)
	for {
		head, err := in.Peek(5)
		if err != nil || head[0] == 'X' { // Terminate
			return true
		}
		size := 1 + int64(length(head))
		if s.sent(head[0]) {
			if _, err := io.CopyN(io.Discard, in, size); err == nil {
				client.Write(ended) //nolint:errcheck // it may be gone
			}
			return false
		}
		_, err = io.CopyN(out, in, size)
		if err == nil && in.Buffered() == 0 {
			err = out.Flush()
		}
		if err != nil {
			s.fail()
			return false
		}
	}
}

// sent records a message of the client, and reports whether the server is gone.
func (s *session) sent(kind byte) (gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch kind {
	case 'Q', 'F', 'S': // Query, FunctionCall, Sync
		s.pending++
		s.unsynced = false
	case 'd', 'c', 'f': // of a COPY
	default:
		s.unsynced = true
	}
	return s.failed
}

func (s *session) fail() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = true
}

// toClient copies what the server sends until one of them disconnects, or the deadline of
// the server's connection. It reports whether the client waits for nothing: it need not
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
	b, err := (&pgproto3.ErrorResponse{
		Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "08006",
		Message: "the PostgreSQL server ended the connection",
	}).Encode(nil)
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
