package postgres

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source/dbproxy"
)

// takeTries is how many connections a client tries to take over.
const takeTries = 3

// server is a database of a PostgreSQL server, with its connections.
type server struct {
	*dbproxy.Pool[*connection]
	config *pgconn.Config
}

// connection is a connection to a server. A client takes it over and gives it back.
type connection struct{ *pgconn.PgConn }

func newServer(config *pgconn.Config, connections int) (_ *server, err error) {
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return newBulkConn(c), nil
	}
	s := &server{config: config}
	s.Pool, err = dbproxy.NewPool(dbproxy.PoolOptions[*connection]{
		Connections: connections, Param: "connection_pool_size", Address: s.address(), Fault: s.fault,
		Connect: func(ctx context.Context) (*connection, error) {
			c, err := pgconn.ConnectConfig(ctx, config)
			return &connection{c}, err
		},
		Disconnect: func(c *connection) {
			ctx, cancel := context.WithTimeout(context.Background(), dbproxy.ResetLimit)
			defer cancel()
			c.Close(ctx)
		},
		Ping: func(ctx context.Context, c *connection) error { return c.Ping(ctx) },
	})
	return s, err
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
		if r, err = s.Acquire(context.Background()); err != nil {
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
		s.Reset() // it may have ended all
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
	ctx, cancel := context.WithTimeout(context.Background(), dbproxy.ResetLimit)
	defer cancel()
	if err := c.SyncConn(ctx); err != nil {
		return nil, err
	}
	return c.Hijack()
}

// reset ends the client's transaction and forgets its settings.
func (c *connection) reset() error {
	ctx, cancel := context.WithTimeout(context.Background(), dbproxy.ResetLimit)
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
	ctx, cancel := context.WithTimeout(context.Background(), dbproxy.ResetLimit)
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
		return fault.New("params", "correct the host", "cannot find the PostgreSQL server %s: there is no host of that name",
			at).Retryable()
	case errors.As(err, &dial) && errors.As(err, &number):
		return fault.New("params", "", "cannot connect to the PostgreSQL server %s: %s", at, number.Error()).Retryable()
	case strings.Contains(err.Error(), "server refused TLS"): // pgx has no other sign
		return fault.New("params.pg_sslmode",
			"set params.pg_sslmode: disable, if no one else can read the network between both",
			"the PostgreSQL server %s has no TLS", at)
	case certificate != "":
		return fault.New("params.pg_sslmode",
			"set params.pg_sslrootcert to the certificate of the server's authority, or params.pg_sslmode: require, which "+
				"does not check it",
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
		return fault.New("params.pg_user", "correct params.pg_user and params.pg_pass", "the PostgreSQL server %s: %s",
			at, e.Message)
	case "3D000": // invalid_catalog_name
		return fault.New("params.pg_db", "correct params.pg_db", "the PostgreSQL server %s: %s", at, e.Message)
	case "42501": // insufficient_privilege
		return fault.New("from", "grant it: GRANT SELECT ON the table TO the user", "the PostgreSQL server %s: %s", at,
			e.Message).Retryable()
	}
	return fault.New("from", e.Hint, "the PostgreSQL server %s: %s", at, e.Message).Retryable()
}
