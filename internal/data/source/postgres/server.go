package postgres

import (
	"context"
	"errors"
	"maps"
	"net"
	"strings"
	"sync"
	"sync/atomic"
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

	reported atomic.Pointer[map[string]string] // parameters; nil until the first connection
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
		MaxSize:     int32(connections),
		Constructor: s.connect,
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

// serve answers the client until it disconnects. The client has a connection of the server
// from its first message on, and as a rule until it disconnects; see [client.next].
func (s *server) serve(c *client) error {
	for {
		once, err := c.next()
		if err != nil {
			return nil // it has disconnected
		}
		r, raw, err := s.take(c.begin)
		if err != nil {
			return c.refuse(s.fault(err).Error())
		}
		session := relay(c, raw.Conn, once)
		if session.gone {
			s.pool.Reset() // it may have ended all
		}
		if err := takeBack(r, raw, session.reusable()); err != nil || !session.answered() {
			return err
		}
	}
}

// take returns a connection that has run the statement begin, "" for none. pgx does not
// read it until [takeBack].
func (s *server) take(begin string) (*puddle.Resource[*connection], *pgconn.HijackedConn, error) {
	for tries := 1; ; tries++ {
		r, err := s.acquire(context.Background())
		if err != nil {
			return nil, nil, err
		}
		raw, err := r.Value().takeOver(begin)
		if err == nil {
			return r, raw, nil
		}
		r.Destroy()
		if tries == takeTries {
			return nil, nil, err
		}
	}
}

// takeBack keeps a connection for others if it is reusable.
func takeBack(r *puddle.Resource[*connection], raw *pgconn.HijackedConn, reusable bool) error {
	conn, err := pgconn.Construct(raw)
	if err != nil {
		raw.Conn.Close()
		r.Destroy()
		return err
	}
	r.Value().PgConn = conn
	if reusable && r.Value().reset() == nil {
		r.Release()
		return nil
	}
	r.Value().abandon()
	r.Destroy()
	return nil
}

// takeOver runs the statement begin, "" for none, and returns the network connection. After
// a write that took long, pgx reads it in the background until the server sends something,
// which the client would not get.
func (c *connection) takeOver(begin string) (*pgconn.HijackedConn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), resetLimit)
	defer cancel()
	if begin != "" {
		if err := c.Exec(ctx, begin).Close(); err != nil {
			return nil, err
		}
	}
	if err := c.SyncConn(ctx); err != nil {
		return nil, err
	}
	return c.Hijack()
}

// parameters returns what the server reports of itself at the start of a connection.
func (s *server) parameters() (map[string]string, error) {
	if known := s.reported.Load(); known != nil {
		return *known, nil
	}
	r, err := s.acquire(context.Background())
	if err != nil {
		return nil, err
	}
	r.ReleaseUnused()
	return *s.reported.Load(), nil
}

// connect returns a new connection.
func (s *server) connect(ctx context.Context) (*connection, error) {
	c, err := pgconn.ConnectConfig(ctx, s.config)
	if err != nil {
		return nil, err
	}
	raw, err := c.Hijack() // has the parameters
	if err != nil {
		return nil, err
	}
	reported := maps.Clone(raw.ParameterStatuses)
	s.reported.Store(&reported)
	c, err = pgconn.Construct(raw)
	return &connection{c}, err
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
