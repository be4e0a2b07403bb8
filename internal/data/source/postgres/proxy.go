package postgres

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
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
// A client names a server by the user of its connection: see [proxy.dsn].
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

// startLimit is for the start of a client's connection.
const startLimit = 30 * time.Second

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
	p.mu.Lock()
	servers := p.servers
	p.servers = nil
	p.mu.Unlock()
	for _, s := range servers {
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
		return refuse(backend, "08006", fault.Of(err).Error())
	}
	return s.serve(client, r, func(server *pgconn.HijackedConn) error {
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

// register makes the proxy serve a server until the resource is released by all that got it.
func (p *proxy) register(id string, config *pgconn.Config, connections int) (*server, *resource.Resource, error) {
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
	closed := p.closed
	p.mu.Unlock()
	if gone && !closed {
		p.work.Go(s.close)
	} else if gone {
		s.close()
	}
}

// dsn is the connection string with which DuckDB connects to a server.
func (p *proxy) dsn(id string) string {
	return fmt.Sprintf("host=%s port=5432 user=%s password=%s dbname=source sslmode=disable gssencmode=disable", p.dir.Path, id, p.password)
}
