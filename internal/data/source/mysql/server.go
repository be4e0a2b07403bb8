package mysql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/puddle/v2"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source/dbproxy"
)

// settings are those of every connection. DuckDB sends times of UTC, and texts whose
// backslashes are no escapes. A statement may read slowly what it selects.
const settings = "SET NAMES utf8mb4, time_zone = '+00:00', sql_mode = 'NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT', " +
	"net_write_timeout = 3600"

// server is a database of a MySQL server, with its connections.
type server struct {
	*dbproxy.Pool[*connection]
	id      string
	config  *config
	written atomic.Bool // a dataset writes to it
}

func newServer(id string, config *config, connections int) (_ *server, err error) {
	s := &server{id: id, config: config}
	s.Pool, err = dbproxy.NewPool(dbproxy.PoolOptions[*connection]{
		Connections: connections, Param: "mysql_pool_max", Address: config.address(), Fault: s.fault,
		Connect: func(ctx context.Context) (*connection, error) {
			c, err := connect(ctx, config)
			if err != nil {
				return nil, err
			}
			if err := c.within(dbproxy.ResetLimit, func() error { return c.do(commandQuery, settings) }); err != nil {
				c.Close()
				return nil, err
			}
			return c, nil
		},
		Disconnect: func(c *connection) { c.Close() },
		Ping: func(_ context.Context, c *connection) error {
			return c.within(dbproxy.ResetLimit, func() error { return c.do(commandPing, "") })
		},
	})
	return s, err
}

// within calls f with a deadline.
func (c *connection) within(limit time.Duration, f func() error) error {
	c.SetDeadline(time.Now().Add(limit))
	defer c.SetDeadline(time.Time{})
	return f()
}

// giveBack gives a connection back, as new.
func (s *server) giveBack(r *puddle.Resource[*connection]) {
	c := r.Value()
	err := c.within(dbproxy.ResetLimit, func() error {
		// Both at once: the server answers one after the other.
		c.number = 0
		if err := c.write([]byte{commandReset}); err != nil {
			return err
		}
		if err := c.command(append([]byte{commandQuery}, settings...)); err != nil {
			return err
		}
		return errors.Join(c.acknowledged(), c.acknowledged())
	})
	if err != nil || c.in.Buffered() > 0 {
		r.Destroy()
		return
	}
	r.Release()
}

// kill ends what the server does for a connection, with another connection.
func (s *server) kill(thread uint32) error {
	ctx, cancel := context.WithTimeout(context.Background(), dbproxy.ResetLimit)
	defer cancel()
	c, err := connect(ctx, s.config)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.within(dbproxy.ResetLimit, func() error { return c.do(commandQuery, "KILL QUERY "+utoa(thread)) })
}

// fault explains an error of a connection. Its message has no secret.
func (s *server) fault(err error) *fault.Fault {
	var f *fault.Fault
	var refusal *serverError
	var name *net.DNSError
	var dial *net.OpError
	var number syscall.Errno
	var method errMethod
	at := s.config.address()
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &refusal):
		return s.refused(refusal)
	case errors.As(err, &name):
		return fault.New("params", "correct the host", "cannot find the MySQL server %s: there is no host of that name",
			at).Retryable()
	case errors.Is(err, errNoTLS):
		return fault.New("params.mysql_sslmode",
			"set params.mysql_sslmode: disabled, if no one else can read the network between both",
			"the MySQL server %s has no TLS", at)
	case errors.Is(err, errRoots):
		return fault.New("params.mysql_sslrootcert", "write the path of a file with certificates in PEM",
			"no certificate can be read from %q", s.config.roots)
	case isTLS(err):
		text := err.Error()
		return fault.New("params.mysql_sslmode",
			"set params.mysql_sslrootcert to the certificate of the server's authority, or params.mysql_sslmode: required, "+
				"which does not check it",
			"the certificate of the MySQL server %s is not valid: %s", at,
			text[max(strings.LastIndex(text, "tls: "), strings.LastIndex(text, "x509: "), 0):])
	case errors.As(err, &method):
		return fault.New("params.mysql_user", "use a user of mysql_native_password or caching_sha2_password",
			"the MySQL server %s: %s, which is not supported", at, method.Error())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fault.New("params", "", "the MySQL server %s does not answer", at).Retryable()
	case errors.As(err, &dial) && dial.Op == "dial" && errors.As(err, &number):
		return fault.New("params", "", "cannot connect to the MySQL server %s: %s", at, number.Error()).Retryable()
	case errors.Is(err, errPacket):
		return fault.New("params", "correct the host and the port", "the server %s is no MySQL server", at).Retryable()
	}
	return fault.New("params", "", "the MySQL server %s ended the connection", at).Retryable()
}

func isTLS(err error) bool {
	var invalid *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var wrong x509.HostnameError
	return errors.As(err, &invalid) || errors.As(err, &unknown) || errors.As(err, &wrong) ||
		strings.HasPrefix(err.Error(), "tls: ")
}

// Numbers of errors of servers:
// https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html.
const (
	accessDeniedDatabase = 1044
	accessDenied         = 1045
	unknownDatabase      = 1049
	tableAccessDenied    = 1142
	hostNotAllowed       = 1130
	hostBlocked          = 1129
	unsupported          = 1235
	unknownError         = 1105
)

// refused explains why a server refuses a connection or statement.
func (s *server) refused(e *serverError) *fault.Fault {
	at := s.config.address()
	switch e.Number {
	case accessDenied, hostNotAllowed, hostBlocked:
		return fault.New("params.mysql_user", "correct params.mysql_user and params.mysql_pass", "the MySQL server %s: %s",
			at, e.Message)
	case unknownDatabase, accessDeniedDatabase:
		return fault.New("params.mysql_db", "correct params.mysql_db", "the MySQL server %s: %s", at, e.Message)
	case tableAccessDenied:
		return fault.New("from", "grant it: GRANT SELECT ON the table TO the user", "the MySQL server %s: %s", at,
			e.Message).Retryable()
	}
	return fault.New("from", "", "the MySQL server %s: %s", at, e.Message).Retryable()
}
