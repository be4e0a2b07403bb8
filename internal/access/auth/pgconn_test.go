package auth_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/test/selfsigned"
)

// TestPostgresClient has pgconn log in over a socket, with and without TLS.
func TestPostgresClient(t *testing.T) {
	keys, certificate := keyring(t, four), selfsigned.Certificate(t)
	for _, c := range []struct {
		name, user, key, binding string
		tls                      bool
		want                     string // the principal; "": denied
	}{
		{"a key", "postgres", keyTwo, "prefer", false, "key-2"},
		{"a principal", "bi", keyBI, "prefer", false, "bi"},
		{"another's name", "bi", keyTwo, "prefer", false, ""},
		{"wrong key", "postgres", unknown, "prefer", false, ""},
		{"TLS", "web", keyWeb, "require", true, "web"},
		{"TLS, not bound", "web", keyWeb, "disable", true, "web"},
		{"TLS, wrong key", "web", unknown, "require", true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &backend{keys: keys}
			if c.tls {
				server.certificate = &certificate
			}
			config, err := pgconn.ParseConfig("postgres://127.0.0.1/db?sslmode=disable")
			if err != nil {
				t.Fatal(err)
			}
			config.User, config.Password, config.ChannelBinding = c.user, c.key, c.binding
			if c.tls {
				config.TLSConfig = &tls.Config{InsecureSkipVerify: true}
			}
			who, err := server.login(t, config)
			if who != c.want || (err == nil) != (c.want != "") {
				t.Errorf("%q, %v", who, err)
			}
		})
	}
}

// backend is the log-in of a PostgreSQL server.
type backend struct {
	keys        *auth.Keyring
	certificate *tls.Certificate // nil: no TLS
}

// login has a client connect; who is the server's view, err the client's.
func (b *backend) login(t *testing.T, config *pgconn.Config) (who string, err error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	served := make(chan string, 1)
	go func() { served <- b.serve(listener) }()

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	config.Port = uint16(listener.Addr().(*net.TCPAddr).Port)
	conn, err := pgconn.ConnectConfig(ctx, config)
	if conn != nil {
		conn.Close(ctx)
	}
	return <-served, err
}

// serve takes one connection and returns who logged in.
func (b *backend) serve(listener net.Listener) string {
	conn, err := listener.Accept()
	if err != nil {
		return ""
	}
	defer func() { conn.Close() }()
	wire := pgproto3.NewBackend(conn, conn)
	message, err := wire.ReceiveStartupMessage()
	if _, asks := message.(*pgproto3.SSLRequest); asks && b.certificate != nil {
		conn.Write([]byte("S"))
		conn = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{*b.certificate}})
		wire = pgproto3.NewBackend(conn, conn)
		message, err = wire.ReceiveStartupMessage()
	}
	startup, ok := message.(*pgproto3.StartupMessage)
	if err != nil || !ok {
		return ""
	}
	p, err := b.scram(wire, startup.Parameters["user"])
	if err != nil {
		wire.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "28P01", Message: err.Error()})
		wire.Flush()
		return ""
	}
	wire.Send(&pgproto3.AuthenticationOk{})
	wire.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	wire.Flush()
	wire.Receive() // the client's Terminate
	return p.Name
}

func (b *backend) scram(wire *pgproto3.Backend, user string) (*auth.Principal, error) {
	var channel []byte
	if b.certificate != nil {
		sum := sha256.Sum256(b.certificate.Certificate[0])
		channel = sum[:]
	}
	s := b.keys.SCRAM(user, channel)
	wire.Send(&pgproto3.AuthenticationSASL{AuthMechanisms: s.Mechanisms()})
	first, err := receive[*pgproto3.SASLInitialResponse](wire, pgproto3.AuthTypeSASL)
	if err != nil {
		return nil, err
	}
	answer, err := s.First(first.AuthMechanism, first.Data)
	if err != nil {
		return nil, err
	}
	wire.Send(&pgproto3.AuthenticationSASLContinue{Data: answer})
	final, err := receive[*pgproto3.SASLResponse](wire, pgproto3.AuthTypeSASLContinue)
	if err != nil {
		return nil, err
	}
	answer, p, err := s.Final(final.Data)
	if err == nil {
		wire.Send(&pgproto3.AuthenticationSASLFinal{Data: answer})
	}
	return p, err
}

// receive sends what is written and waits for a message of one type.
func receive[M pgproto3.FrontendMessage](wire *pgproto3.Backend, state uint32) (m M, err error) {
	if err := errors.Join(wire.Flush(), wire.SetAuthType(state)); err != nil {
		return m, err
	}
	message, err := wire.Receive()
	if err != nil {
		return m, err
	}
	m, ok := message.(M)
	if !ok {
		return m, errors.New("another message was due")
	}
	return m, nil
}
