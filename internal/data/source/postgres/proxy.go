package postgres

import (
	"context"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source/dbproxy"
)

// proxy is the [dbproxy.Proxy] of PostgreSQL. A client names a server by the user of its
// connection: see [proxy.dsn].
type proxy struct{ *dbproxy.Proxy[*server] }

// newProxy makes the socket, by the name that libpq expects in the folder that its
// parameter host names.
func newProxy(log *slog.Logger) (*proxy, error) {
	base, err := dbproxy.New[*server]("postgres", ".s.PGSQL.5432", log)
	if err != nil {
		return nil, err
	}
	p := &proxy{base}
	p.Start(p.serve)
	return p, nil
}

// serve serves one client until it or its server disconnects.
func (p *proxy) serve(client net.Conn) error {
	backend := pgproto3.NewBackend(client, client)
	client.SetDeadline(time.Now().Add(dbproxy.StartLimit))
	s, err := p.authenticate(client, backend)
	if err != nil || s == nil {
		return err
	}
	r, err := s.Acquire(context.Background())
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
	if !ok || subtle.ConstantTimeCompare([]byte(given.Password), []byte(p.Password)) != 1 {
		return nil, refuse(backend, "28P01", "the password is wrong")
	}
	s, ok := p.Server(id)
	if !ok {
		return nil, refuse(backend, "3D000", "the dataset is no longer served")
	}
	return s, nil
}

// dsn is the connection string with which DuckDB connects to a server.
func (p *proxy) dsn(id string) string {
	return fmt.Sprintf("host=%s port=5432 user=%s password=%s dbname=source sslmode=disable gssencmode=disable", p.Folder,
		id, p.Password)
}
