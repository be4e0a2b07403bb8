// Package dbproxy has what connectors of database servers share: the proxy that DuckDB
// connects to in place of the servers, the connections to each server, and the transactions
// that write to it. The protocols are the connectors' own.
//
//	p, err := dbproxy.New[*server]("postgres", ".s.PGSQL.5432", log)
//	p.Start(serve) // a connection of DuckDB
//	defer p.Close()
//	server, held, err := p.Register(id, func() (*server, error) { return newServer(config) })
//	…
//	resource.Release(held)
package dbproxy

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/kit/scratch"
)

// Limits of a proxy.
const (
	// StartLimit is for the start of a client's connection.
	StartLimit = 30 * time.Second
	maxClients = 10_000
)

// Proxy is a server at a Unix socket that only DuckDB in this process and in its workers
// connects to. It connects to the servers of datasets, so that DuckDB sees neither addresses
// nor passwords, and keeps their connections for the next statement.
type Proxy[S Server] struct {
	Folder   string // of the socket
	Socket   string // its path
	Password string // of all clients

	dir      *scratch.Dir
	listener net.Listener
	log      *slog.Logger
	work     sync.WaitGroup

	mu      sync.Mutex
	servers map[string]*registered[S] // by id
	clients map[net.Conn]bool
	closed  bool
}

// Server is a server of datasets, with its connections. Close waits for their users.
type Server interface{ Close() }

type registered[S Server] struct {
	server S
	held   *resource.Resource // by the datasets that read it
}

// New makes the socket, in a folder of its own.
func New[S Server](name, socket string, log *slog.Logger) (*Proxy[S], error) {
	dir, err := scratch.New(name)
	if err != nil {
		return nil, fmt.Errorf("make a socket for DuckDB: %w", err)
	}
	path := filepath.Join(dir.Path, socket)
	l, err := net.Listen("unix", path)
	if err != nil {
		dir.Remove()
		return nil, fmt.Errorf("make a socket for DuckDB: %w", err)
	}
	return &Proxy[S]{
		Folder: dir.Path, Socket: path, Password: rand.Text(),
		dir: dir, listener: l, log: log.With("proxy", name), servers: map[string]*registered[S]{},
		clients: map[net.Conn]bool{},
	}, nil
}

// Start serves each connection of DuckDB with serve, until it returns or Close closes the
// connection. It returns at once.
func (p *Proxy[S]) Start(serve func(net.Conn) error) {
	p.work.Go(func() {
		for {
			conn, err := p.listener.Accept()
			if err != nil {
				return
			}
			if !p.add(conn) {
				conn.Close()
				continue
			}
			p.work.Go(func() {
				defer p.remove(conn)
				if err := serve(conn); err != nil {
					p.log.Debug("a connection from DuckDB failed", "error", err)
				}
			})
		}
	})
}

func (p *Proxy[S]) add(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.clients) == maxClients {
		return false
	}
	p.clients[conn] = true
	return true
}

func (p *Proxy[S]) remove(conn net.Conn) {
	conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.clients, conn)
}

// Go calls f in a goroutine that Close waits for. It does nothing once the proxy is closed.
func (p *Proxy[S]) Go(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.work.Go(f)
	}
}

// Close ends all connections and removes the socket.
func (p *Proxy[S]) Close() {
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
	for _, r := range servers {
		r.server.Close()
	}
	p.dir.Remove()
}

// Register returns the server with an id, and a resource that holds it. The first caller opens
// the server; it is closed when all who got the resource have released it.
func (p *Proxy[S]) Register(id string, open func() (S, error)) (server S, held *resource.Resource, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.servers[id]; r != nil {
		r.held.Retain()
		return r.server, r.held, nil
	}
	if server, err = open(); err != nil {
		return server, nil, err
	}
	r := &registered[S]{server: server}
	r.held = resource.New(func() { p.forget(id, r) })
	p.servers[id] = r
	return server, r.held, nil
}

// forget ends a server without holders, unless it was retained again.
func (p *Proxy[S]) forget(id string, r *registered[S]) {
	p.mu.Lock()
	gone := p.servers[id] == r && !r.held.Held()
	if gone {
		delete(p.servers, id)
	}
	closed := p.closed
	if gone && !closed {
		p.work.Go(r.server.Close)
	}
	p.mu.Unlock()
	if gone && closed {
		r.server.Close()
	}
}

// Server returns the server of an id; ok is false unless a dataset reads it.
func (p *Proxy[S]) Server(id string) (server S, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.servers[id]; r != nil {
		return r.server, true
	}
	return server, false
}

// DistinctNote is about a fault of the filters that extensions of DuckDB send to servers.
const DistinctNote = "Conditions with `IS [NOT] DISTINCT FROM` within OR cannot be sent to the server, and fail: " +
	"write `x = 5` for `x IS NOT DISTINCT FROM 5`, and `x <> 5 OR x IS NULL` for `x IS DISTINCT FROM 5`."
