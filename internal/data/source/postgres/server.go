package postgres

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
)

// Limits of the connections to a server.
const (
	defaultConnections = 16
	connectLimit       = 10 * time.Second
	resetLimit         = 5 * time.Second        // for what ends a client's use of a connection
	takeTries          = 3                      // connections that a client tries to take over
	idleLimit          = time.Minute            // a connection without a client
	trustLimit         = 100 * time.Millisecond // a connection without a client is not checked
)

// server is a database of a PostgreSQL server, with its connections.
type server struct {
	id      string
	config  *pgconn.Config
	pool    *puddle.Pool[*connection]
	sweeper *time.Timer        // nil when it is closed
	mu      sync.Mutex         // guards sweeper
	held    *resource.Resource // by the datasets that read it
	writers chan struct{}      // has a token for each transaction that writes
}

// connection is a connection to a server. A client takes it over and gives it back.
type connection struct{ *pgconn.PgConn }

func newServer(id string, config *pgconn.Config, connections int) (*server, error) {
	// A transaction that writes waits for statements that read, which have most connections.
	s := &server{id: id, config: config, writers: make(chan struct{}, connections/4)}
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return newBulkConn(c), nil
	}
	var err error
	s.pool, err = puddle.NewPool(&puddle.Config[*connection]{
		MaxSize: int32(connections),
		Constructor: func(ctx context.Context) (*connection, error) {
			c, err := pgconn.ConnectConfig(ctx, config)
			return &connection{c}, err
		},
		Destructor: func(c *connection) {
			ctx, cancel := context.WithTimeout(context.Background(), resetLimit)
			defer cancel()
			c.Close(ctx)
		},
	})
	if err != nil {
		return nil, err
	}
	s.sweeper = time.AfterFunc(idleLimit, s.sweep)
	return s, nil
}

// sweep closes connections that have had no client for some time.
func (s *server) sweep() {
	for _, r := range s.pool.AcquireAllIdle() {
		if r.IdleDuration() > idleLimit {
			r.Destroy()
		} else {
			r.ReleaseUnused()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sweeper != nil {
		s.sweeper.Reset(idleLimit)
	}
}

// close closes the connections. It waits for their clients.
func (s *server) close() {
	s.mu.Lock()
	s.sweeper.Stop()
	s.sweeper = nil
	s.mu.Unlock()
	s.pool.Close()
}

// acquire returns a connection that works. The error is a fault.
func (s *server) acquire(ctx context.Context) (*puddle.Resource[*connection], error) {
	return s.acquireTrusted(ctx, trustLimit)
}

// acquireTrusted is acquire for a use that must not meet a connection that the server has
// ended: those that are idle for as long as trusted, or longer, are asked.
func (s *server) acquireTrusted(ctx context.Context, trusted time.Duration) (*puddle.Resource[*connection], error) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	for {
		r, err := s.pool.Acquire(ctx)
		switch {
		case err != nil && ctx.Err() != nil && s.pool.Stat().AcquiredResources() == s.pool.Stat().MaxResources():
			return nil, fault.New("params", "try again later, or raise params.connection_pool_size", "all %d connections to %s are in use", s.pool.Stat().MaxResources(), s.address()).Retryable()
		case err != nil:
			return nil, s.fault(err)
		case r.IdleDuration() < trusted || r.Value().Ping(ctx) == nil:
			return r, nil
		}
		r.Destroy()
	}
}

// serve connects the client to a connection of the server until one of them disconnects,
// and keeps the connection for others if it has answered everything.
func (s *server) serve(client net.Conn, r *puddle.Resource[*connection], start func(*pgconn.HijackedConn) error) error {
	raw, err := r.Value().takeOver()
	for tries := 1; err != nil; tries++ {
		r.Destroy()
		if tries == takeTries {
			return err
		}
		if r, err = s.acquire(context.Background()); err != nil {
			return err
		}
		raw, err = r.Value().takeOver()
	}
	err = start(raw)
	reusable, gone := false, false
	if err == nil {
		reusable, gone = relay(client, raw.Conn)
	}
	if gone {
		s.pool.Reset() // it may have ended all
	}
	conn, constructErr := pgconn.Construct(raw)
	if constructErr != nil {
		raw.Conn.Close()
		r.Destroy()
		return cmp.Or(err, constructErr)
	}
	r.Value().PgConn = conn
	if reusable && r.Value().reset() == nil {
		r.Release()
		return err
	}
	r.Value().abandon()
	r.Destroy()
	return err
}

// takeOver returns the network connection. After a write that took long, pgx reads it in the
// background until the server sends something, which the client would not get.
func (c *connection) takeOver() (*pgconn.HijackedConn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), resetLimit)
	defer cancel()
	if err := c.SyncConn(ctx); err != nil {
		return nil, err
	}
	return c.Hijack()
}

// reset ends the client's transaction and forgets its settings.
func (c *connection) reset() error {
	ctx, cancel := context.WithTimeout(context.Background(), resetLimit)
	defer cancel()
	for _, sql := range []string{"ROLLBACK", "DISCARD ALL"} {
		if err := c.Exec(ctx, sql).Close(); err != nil {
			return err
		}
	}
	return nil
}

// abandon cancels what the server still does.
func (c *connection) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), resetLimit)
	defer cancel()
	c.CancelRequest(ctx) //nolint:errcheck // it ends when it sends, at the latest
	c.Conn().Close()
}

// address is host:port, or the folder of a socket.
func (s *server) address() string {
	if strings.HasPrefix(s.config.Host, "/") {
		return s.config.Host
	}
	_, address := pgconn.NetworkAddress(s.config.Host, s.config.Port)
	return address
}

// fault explains an error of a connection. Its message has no secret.
func (s *server) fault(err error) *fault.Fault {
	var f *fault.Fault
	if errors.As(err, &f) {
		return f
	}
	var server *pgconn.PgError
	var name *net.DNSError
	var dial *net.OpError
	var number syscall.Errno
	at, certificate := s.address(), fault.Certificate(err)
	switch {
	case errors.As(err, &server):
		return refused(server, at)
	case errors.As(err, &name):
		return fault.New("params", "correct the host", "cannot find the PostgreSQL server %s: there is no host of that name", at).Retryable()
	case errors.As(err, &dial) && errors.As(err, &number):
		return fault.New("params", "", "cannot connect to the PostgreSQL server %s: %s", at, number.Error()).Retryable()
	case strings.Contains(err.Error(), "server refused TLS"): // pgx has no other sign
		return fault.New("params.pg_sslmode", "set params.pg_sslmode: disable, if no one else can read the network between both", "the PostgreSQL server %s has no TLS", at)
	case certificate != "":
		return fault.New("params.pg_sslmode", "set params.pg_sslrootcert to the certificate of the server's authority, or params.pg_sslmode: require, which does not check it",
			"the certificate of the PostgreSQL server %s is not valid: %s", at, certificate)
	case errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err):
		return fault.New("params", "", "the PostgreSQL server %s does not answer", at).Retryable()
	}
	return fault.New("params", "", "cannot connect to the PostgreSQL server %s", at).Retryable()
}

// refused explains why a server refuses a connection or statement.
func refused(e *pgconn.PgError, at string) *fault.Fault {
	switch e.Code {
	case "28P01", "28000": // invalid_password, invalid_authorization_specification
		return fault.New("params.pg_user", "correct params.pg_user and params.pg_pass", "the PostgreSQL server %s: %s", at, e.Message)
	case "3D000": // invalid_catalog_name
		return fault.New("params.pg_db", "correct params.pg_db", "the PostgreSQL server %s: %s", at, e.Message)
	case "42501": // insufficient_privilege
		return fault.New("from", "grant it: GRANT SELECT ON the table TO the user", "the PostgreSQL server %s: %s", at, e.Message).Retryable()
	}
	return fault.New("from", e.Hint, "the PostgreSQL server %s: %s", at, e.Message).Retryable()
}
