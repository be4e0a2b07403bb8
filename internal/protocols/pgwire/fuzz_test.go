package pgwire_test

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire"
	"github.com/spiced-sql/spiced/internal/test/selfsigned"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// FuzzStartup sends anything as the first bytes of a connection.
func FuzzStartup(f *testing.F) {
	fix := serve(f, func(o *pgwire.Options) {
		o.TLS = &tls.Config{Certificates: []tls.Certificate{selfsigned.Certificate(f)}}
	})
	for _, seed := range [][]byte{
		packet(3<<16, "user", "ann", "database", "db", "client_encoding", "UTF8"),
		packet(3<<16|9999, "user", "ann", "_pq_.x", "1"),
		packet(80877103), packet(80877104), packet(80877102),
		{0x16, 3, 1, 0, 5},
		{},
		append(packet(80877104), packet(3<<16, "user", "x", "statement_timeout", "5")...),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		own := *fix
		own.TB = t
		own.wellFormed(own.talk(sent))
	})
}

// FuzzMessages sends anything after the login.
func FuzzMessages(f *testing.F) {
	fix := serve(f, nil)
	for _, seed := range [][]pgproto3.FrontendMessage{
		{&pgproto3.Query{String: "SELECT 1; SELECT nosuch; BEGIN"}},
		{
			&pgproto3.Parse{Query: "SELECT $1::INTEGER"}, &pgproto3.Describe{ObjectType: 'S'}, &pgproto3.Bind{Parameters: [][]byte{[]byte("5")}}, &pgproto3.Execute{},
			&pgproto3.Sync{},
		},
		{
			&pgproto3.Parse{Query: "FROM numbers", Name: "s"}, &pgproto3.Bind{PreparedStatement: "s", DestinationPortal: "p"},
			&pgproto3.Execute{Portal: "p", MaxRows: 2}, &pgproto3.Flush{}, &pgproto3.Close{ObjectType: 'P', Name: "p"}, &pgproto3.Sync{},
		},
		{&pgproto3.Query{String: "BEGIN; DECLARE c CURSOR FOR SELECT 1; FETCH c; ROLLBACK"}, &pgproto3.Terminate{}},
		{&pgproto3.FunctionCall{}, &pgproto3.CopyData{Data: []byte("x")}, &pgproto3.CopyFail{}, &pgproto3.Sync{}},
		{&pgproto3.Query{String: "COPY one TO STDOUT; COPY (SELECT 'x' || e'\\t') TO STDOUT (FORMAT csv, HEADER, FORCE_QUOTE *)"}},
		{
			&pgproto3.Parse{Query: "COPY (SELECT $1::INTEGER) TO STDOUT WITH BINARY"}, &pgproto3.Bind{Parameters: [][]byte{[]byte("5")}}, &pgproto3.Execute{},
			&pgproto3.Sync{},
		},
		{&pgproto3.PasswordMessage{Password: "x"}},
	} {
		var sent []byte
		for _, m := range seed {
			sent, _ = m.Encode(sent)
		}
		f.Add(sent)
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		own := *fix
		own.TB = t
		hello := packet(3<<16, "user", "ann", "statement_timeout", "100")
		own.wellFormed(own.talk(append(hello, sent...)))
	})
}

// talk sends bytes, closes its side and returns all that comes back.
func (f *fixture) talk(sent []byte) []byte {
	f.Helper()
	nc, err := net.Dial("tcp", f.addr)
	if err != nil {
		f.Fatal(err)
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(wait.Limit)); err != nil {
		f.Fatal(err)
	}
	_, _ = nc.Write(sent) // the server may have closed already
	_ = nc.(*net.TCPConn).CloseWrite()
	got, err := io.ReadAll(nc)
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		f.Fatal("the server hangs")
	}
	return got
}

// wellFormed checks that what a server sent is whole messages, behind the
// bytes that answer requests for TLS.
func (f *fixture) wellFormed(got []byte) {
	f.Helper()
	for len(got) > 0 && (got[0] == 'N' || got[0] == 'S') {
		if got[0] == 'S' && len(got) > 4 && got[1] == 0 { // ParameterStatus
			break
		}
		if got[0] == 'S' {
			return // TLS follows
		}
		got = got[1:]
	}
	if len(got) > 0 && (got[0] == 0x15 || got[0] == 0x16) {
		return // TLS
	}
	for len(got) > 0 {
		if len(got) < 5 {
			f.Fatalf("%d bytes are no message: %x", len(got), got)
		}
		n := int(binary.BigEndian.Uint32(got[1:]))
		if n < 4 || len(got) < n+1 {
			f.Fatalf("message %q has the length %d of %d", got[0], n, len(got))
		}
		if got[0] == 'E' && len(got) > n+1 && string(got[6:11]) == "FATAL" {
			f.Fatalf("%q comes after a fatal error", got[n+1:])
		}
		got = got[n+1:]
	}
}
