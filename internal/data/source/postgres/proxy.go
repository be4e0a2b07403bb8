package postgres

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/kit/scratch"
)

// proxy is a PostgreSQL server at a Unix socket that only DuckDB in this process and in
// its workers connects to. It connects to the servers of datasets, so that DuckDB sees
// neither addresses nor passwords, and keeps their connections for the next statement.
//
// A client names a server by the user of its connection: see [server.dsn].
type proxy struct {
	dir      *scratch.Dir
	listener net.Listener
	password string // of all clients
	log      *slog.Logger
	work     sync.WaitGroup

	mu      sync.Mutex
	servers map[string]*server // by id
	clients map[net.Conn]bool
	closed  bool
}

// Limits of the proxy.
const (
	startLimit = 30 * time.Second // for the start of a client's connection
	bufferSize = 256 << 10        // for what a server sends
)

// newProxy makes the socket.
func newProxy(log *slog.Logger) (*proxy, error) {
	dir, err := scratch.New("postgres")
	if err != nil {
		return nil, err
	}
	// The name is what libpq expects in the folder that its parameter host names.
	l, err := net.Listen("unix", filepath.Join(dir.Path, ".s.PGSQL.5432"))
	if err != nil {
		dir.Remove()
		return nil, err
	}
	p := &proxy{dir: dir, listener: l, password: rand.Text(), log: log, servers: map[string]*server{}, clients: map[net.Conn]bool{}}
	p.work.Go(p.accept)
	return p, nil
}

// close ends all connections and removes the socket.
func (p *proxy) close() {
	p.mu.Lock()
	p.closed = true
	p.listener.Close()
	for c := range p.clients {
		c.Close()
	}
	p.mu.Unlock()
	p.work.Wait()
	for _, s := range p.servers {
		s.close()
	}
	p.dir.Remove()
}

func (p *proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.add(conn) {
			p.work.Go(func() {
				defer p.remove(conn)
				if err := p.serve(conn); err != nil {
					p.log.Debug("a connection from DuckDB to PostgreSQL failed", "error", err)
				}
			})
		}
	}
}

func (p *proxy) add(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		conn.Close()
		return false
	}
	p.clients[conn] = true
	return true
}

func (p *proxy) remove(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.clients, conn)
	conn.Close()
}

// serve serves one client until it or its server disconnects.
func (p *proxy) serve(client net.Conn) error {
	backend := pgproto3.NewBackend(client, client)
	client.SetDeadline(time.Now().Add(startLimit))
	s, err := p.authenticate(client, backend)
	if err != nil || s == nil {
		return err
	}
	r, err := s.acquire(context.Background())
	if err != nil {
		return refuse(backend, "08006", fault.Of(err).Message)
	}
	return s.relay(client, r, func(server *pgconn.HijackedConn) error {
		backend.Send(&pgproto3.AuthenticationOk{})
		for name, value := range server.ParameterStatuses {
			backend.Send(&pgproto3.ParameterStatus{Name: name, Value: value})
		}
		backend.Send(&pgproto3.BackendKeyData{SecretKey: make([]byte, 4)})
		backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		defer client.SetDeadline(time.Time{})
		return backend.Flush()
	})
}

// refuse ends the start of a connection with an error.
func refuse(backend *pgproto3.Backend, code, message string) error {
	backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: code, Message: message})
	return backend.Flush()
}

// authenticate reads the start of a connection, and returns the server that the client
// names; nil if there is none to connect to.
func (p *proxy) authenticate(client net.Conn, backend *pgproto3.Backend) (*server, error) {
	for {
		m, err := backend.ReceiveStartupMessage()
		if err != nil {
			return nil, err
		}
		switch m := m.(type) {
		case *pgproto3.SSLRequest, *pgproto3.GSSEncRequest:
			if _, err := client.Write([]byte{'N'}); err != nil {
				return nil, err
			}
			continue
		case *pgproto3.StartupMessage:
			return p.check(backend, m.Parameters["user"])
		}
		return nil, nil // a request to cancel, which the end of a connection does as well
	}
}

func (p *proxy) check(backend *pgproto3.Backend, id string) (*server, error) {
	backend.Send(&pgproto3.AuthenticationCleartextPassword{})
	if err := backend.Flush(); err != nil {
		return nil, err
	}
	if err := backend.SetAuthType(pgproto3.AuthTypeCleartextPassword); err != nil {
		return nil, err
	}
	m, err := backend.Receive()
	if err != nil {
		return nil, err
	}
	given, ok := m.(*pgproto3.PasswordMessage)
	if !ok || subtle.ConstantTimeCompare([]byte(given.Password), []byte(p.password)) != 1 {
		return nil, refuse(backend, "28P01", "the password is wrong")
	}
	p.mu.Lock()
	s := p.servers[id]
	p.mu.Unlock()
	if s == nil {
		return nil, refuse(backend, "3D000", "the dataset is no longer served")
	}
	return s, nil
}

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

// serveServer serves a server until the resource is released by all that got it.
func (p *proxy) serveServer(id string, config *pgconn.Config, connections int) (*server, *resource.Resource, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.servers[id]
	if s != nil {
		s.held.Retain()
		return s, s.held, nil
	}
	s, err := newServer(id, config, connections)
	if err != nil {
		return nil, nil, err
	}
	s.held = resource.New(func() { p.forget(s) })
	p.servers[id] = s
	return s, s.held, nil
}

// forget ends a server without holders, unless it was retained again.
func (p *proxy) forget(s *server) {
	p.mu.Lock()
	gone := p.servers[s.id] == s && !s.held.Held()
	if gone {
		delete(p.servers, s.id)
	}
	p.mu.Unlock()
	if gone {
		p.work.Go(s.close)
	}
}

// dsn is the connection string with which DuckDB connects to a server.
func (p *proxy) dsn(id string) string {
	return fmt.Sprintf("host=%s port=5432 user=%s password=%s dbname=source sslmode=disable gssencmode=disable", p.dir.Path, id, p.password)
}
