// Package pgwire serves the PostgreSQL frontend/backend protocol 3.0 and 3.2,
// so that psql, drivers and BI tools can run statements.
//
//	server := pgwire.New(pgwire.Options{Query: service, Keys: keys, Version: "16.0 (spiced 1.0)"})
//	go server.Serve(listener)
//	defer server.Shutdown(ctx)
//
// Simple and extended queries are served, with parameters and results in text
// and in binary, portals with row limits, cursors, COPY TO STDOUT, cancellation,
// TLS and SCRAM. COPY FROM, the function call protocol, replication and LISTEN's
// notifications are not.
//
// The file statement.go has a statement's life: parse, describe, bind, execute.
// Package wire encodes and decodes values, package infer finds the types of
// parameters.
//
// # Transactions
//
// BEGIN, COMMIT and ROLLBACK keep the state that clients expect, and do not
// reach the engine: each statement is its own transaction and sees the
// generation that is current when it begins. INSERT, UPDATE and DELETE are
// refused in a transaction block, since ROLLBACK could not take them back, and
// before the last statement of a simple query.
//
// # Types
//
// Each type of the engine has one of PostgreSQL; see wire.TypeOf. Lists of values
// that are not nested are arrays; other nested types are json. Dates and times
// beyond the range of their type in PostgreSQL become its infinities. Times are
// shown in UTC, whatever TimeZone says.
//
// # Portals
//
// A portal with rows left keeps one of the engine's connections, and counts to
// its principal's concurrency, until it is closed or the statement's time is
// over.
package pgwire

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/kit/listen"
	"github.com/spiced-sql/spiced/internal/kit/memory"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/pgcatalog"
	"github.com/spiced-sql/spiced/internal/sql/query"
)

// Options configures [New]. Query is required.
type Options struct {
	Query *query.Service
	// Keys returns the current keys; nil: callers need none.
	Keys func() *auth.Keyring
	// TLS is offered to clients that ask for it; nil: none is.
	TLS        *tls.Config
	RequireTLS bool // others are refused
	// Cleartext asks for the key as a password, over TLS and on loopback,
	// instead of SCRAM.
	Cleartext bool
	// HasRelation reports whether a relation is declared, or with the name "" whether
	// its schema has any. Nil: search_path can only be public.
	HasRelation func(schema, name string) bool
	// Rewrite returns the statement to run instead of one, and whether they
	// differ; nil: none is rewritten.
	Rewrite func(sql string, s pgcatalog.Session) (string, bool)
	// Catalog reports whether a rewritten statement reads PostgreSQL's
	// catalog, where lists of BIGINT are OIDs; nil: none does.
	Catalog func(sql string) bool
	// Version is the parameter server_version, such as "16.0 (spiced 1.0)".
	Version string
	// Generation numbers the catalogs: descriptions of statements are valid for
	// one generation. nil: for ever.
	Generation func() uint64
	Log        *slog.Logger // nil: discarded
	Audit      *audit.Log   // takes refused logins
	// Connections are the limits of connections. Those of clients that have not
	// logged in are pending.
	Connections listen.Limits
	// AuthTimeout is how long the login may take; 0: 30 s.
	AuthTimeout time.Duration
	// IdleTimeout is how long a client may be silent; 0: an hour.
	IdleTimeout time.Duration
	// WriteTimeout is how long a client may take to read what it was sent; 0:
	// 30 s.
	WriteTimeout time.Duration
	// Memory is that of large messages; nil: it has no limit.
	Memory *memory.Budget
}

// Server serves any number of clients. It is safe for concurrent use.
type Server struct {
	opts  Options
	table *listen.Table
	work  sync.WaitGroup // the connections and listeners

	mu        sync.Mutex
	closing   bool
	listeners map[net.Listener]bool
	conns     map[uint32]*conn // by process id
	last      uint32           // the last process id
}

// New makes a server.
func New(o Options) *Server {
	if o.Keys == nil {
		none := &auth.Keyring{}
		o.Keys = func() *auth.Keyring { return none }
	}
	if o.Catalog == nil {
		o.Catalog = func(string) bool { return false }
	}
	if o.Rewrite == nil {
		o.Rewrite = func(sql string, _ pgcatalog.Session) (string, bool) { return sql, false }
	}
	if o.Generation == nil {
		o.Generation = func() uint64 { return 0 }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Version = cmp.Or(o.Version, "16.0 (spiced)")
	o.AuthTimeout = cmp.Or(o.AuthTimeout, defaultAuthTime)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, defaultIdleTime)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, writeTime)
	return &Server{
		opts: o, table: listen.New(o.Connections), listeners: map[net.Listener]bool{},
		conns: map[uint32]*conn{},
	}
}

// ErrServerClosed is what [Server.Serve] returns after Shutdown or Close.
var ErrServerClosed = errors.New("pgwire: the server is closed")

// acceptPause is how long Serve waits after a temporary failure, such as too
// many open files.
const acceptPause = 50 * time.Millisecond

// Serve serves the clients of a listener until Shutdown or Close, which close
// it.
func (s *Server) Serve(l net.Listener) error {
	l = s.table.Listener(l)
	if !s.listen(l) {
		l.Close()
		return ErrServerClosed
	}
	defer s.unlisten(l)
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			s.accept(nc)
		case s.isClosing():
			return ErrServerClosed
		case errors.Is(err, net.ErrClosed):
			return err
		default:
			s.opts.Log.Warn("accept a PostgreSQL client", "error", err)
			time.Sleep(acceptPause)
		}
	}
}

func (s *Server) listen(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.listeners[l] = true
	s.work.Add(1)
	return true
}

func (s *Server) unlisten(l net.Listener) {
	s.mu.Lock()
	delete(s.listeners, l)
	s.mu.Unlock()
	l.Close()
	s.work.Done()
}

func (s *Server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// accept serves a client in a new goroutine.
func (s *Server) accept(nc net.Conn) {
	c := newConn(s, nc)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		nc.Close()
		return
	}
	for s.last++; s.last == 0 || s.conns[s.last] != nil; {
		s.last++
	}
	c.pid = s.last
	s.conns[c.pid] = c
	var ctx context.Context
	ctx, c.stop = context.WithCancel(context.Background())
	s.work.Go(func() {
		defer s.forget(c)
		c.serve(ctx)
	})
}

func (s *Server) forget(c *conn) {
	c.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c.pid)
}

// cancel ends the statement that runs on a connection, for a client that knows
// its secret.
func (s *Server) cancel(pid uint32, secret []byte) {
	s.mu.Lock()
	c := s.conns[pid]
	s.mu.Unlock()
	if c != nil && c.running.hasSecret(secret) {
		c.running.cancel(nil)
	}
}

// Shutdown takes no more clients, ends those that wait for their next
// statement, and the others after the one that runs. When ctx ends before
// that, it ends them all and returns ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	for _, c := range s.beginClosing() {
		c.in.close()
	}
	stop := context.AfterFunc(ctx, s.Close)
	s.work.Wait()
	if !stop() {
		return ctx.Err()
	}
	return nil
}

func (s *Server) beginClosing() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	for l := range s.listeners {
		l.Close()
	}
	return slices.Collect(maps.Values(s.conns))
}

// Close ends all connections and their statements, and waits for them.
func (s *Server) Close() {
	for _, c := range s.beginClosing() {
		c.stop()
		c.in.abort()
	}
	s.work.Wait()
}
