package pgwire

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
)

// The codes that replace a version in a connection's first packet.
const (
	codeCancel = 80877102
	codeTLS    = 80877103
	codeGSS    = 80877104
)

const (
	major       = 3
	newestMinor = 2
	// secrets are 4 bytes up to 3.0.
	shortSecret, longSecret = 4, 32
)

// alpn is the name of the protocol within TLS.
const alpn = "postgresql"

// tlsRecord is the first byte of a client that begins with TLS at once.
const tlsRecord = 0x16

// hello is the first packet of a client that wants to run statements.
type hello struct {
	minor  int
	params map[string]string
	order  []string // of params
}

// login is the time of a connection before its first statement.
type login struct {
	*conn
	user    string // of the startup message
	tlsData []byte // the data of the channel binding, nil without TLS
}

// start takes the first packets, identifies the client and welcomes it.
func (c *conn) start(ctx context.Context) error {
	opts := &c.server.opts
	c.in.loginBy(time.Now().Add(opts.AuthTimeout))
	l := &login{conn: c}
	h, err := l.firstPackets(ctx)
	if err != nil {
		return err
	}
	c.session = newSession(opts.Version)
	c.session.hasRelation = opts.HasRelation
	if err := l.negotiate(h); err != nil {
		return err
	}
	c.backend = pgproto3.NewBackend(c.in, io.Discard)
	c.backend.SetMaxBodyLen(maxLogin)
	l.user = h.params["user"]
	if err := l.authenticate(ctx); err != nil {
		return err
	}
	if _, err := c.bounded.Admit(c.client.principal.Name); err != nil { // for its life
		return asError(err)
	}
	c.backend.SetMaxBodyLen(maxMessage)
	c.in.loginBy(time.Time{})
	c.countMemory(ctx)
	l.welcome(h.minor)
	return c.out.err
}

// firstPackets answers what comes before the startup message, which it returns.
func (l *login) firstPackets(ctx context.Context) (*hello, error) {
	secured := false
	for range maxPackets {
		code, body, err := l.packet(secured)
		if err != nil {
			return nil, err
		}
		switch {
		case body == nil && !secured: // TLS at once
			if err := l.secure(ctx, code); err != nil {
				return nil, err
			}
			secured = true
		case code == codeTLS && !secured && l.server.opts.TLS != nil:
			if err := l.reply('S'); err != nil {
				return nil, err
			}
			if err := l.secure(ctx, 0); err != nil {
				return nil, err
			}
			secured = true
		case code == codeTLS && !secured, code == codeGSS && !secured:
			if err := l.reply('N'); err != nil {
				return nil, err
			}
		case code == codeCancel && len(body) > 4:
			l.server.cancel(binary.BigEndian.Uint32(body), body[4:])
			return nil, errClosed
		case l.server.opts.RequireTLS && !secured:
			return nil, sqlstate.Errorf(sqlstate.Authorization, "connect with sslmode=require", "this server requires TLS")
		default:
			return parseHello(code, body)
		}
	}
	return nil, sqlstate.Errorf(sqlstate.Protocol, "", "no startup message in %d packets", maxPackets)
}

// reply sends the one byte that answers a request for encryption.
func (l *login) reply(b byte) error {
	l.out.buf = append(l.out.buf, b)
	return l.out.flush()
}

// packet reads a packet before the login: its code and its body. A nil body
// means that the client has begun with TLS at once; the code is its first bytes.
func (l *login) packet(secured bool) (code uint32, body []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(l.in, head[:4]); err != nil {
		return 0, nil, err
	}
	if head[0] == tlsRecord && !secured && l.server.opts.TLS != nil {
		return binary.BigEndian.Uint32(head[:4]), nil, nil
	}
	n := int64(binary.BigEndian.Uint32(head[:4]))
	if n < 8 || n > maxStartup {
		return 0, nil, sqlstate.Errorf(sqlstate.Protocol, "speak PostgreSQL's protocol, version 3",
			"the first packet has %d bytes, which is not PostgreSQL's protocol", n)
	}
	if _, err := io.ReadFull(l.in, head[4:]); err != nil {
		return 0, nil, err
	}
	body = make([]byte, n-8)
	_, err = io.ReadFull(l.in, body)
	return binary.BigEndian.Uint32(head[4:]), body, err
}

// secure begins TLS and stores the data of the channel binding
// tls-server-end-point. direct is what was read already, if it is not 0: then
// the client must name the protocol, as in PostgreSQL 17.
func (l *login) secure(ctx context.Context, direct uint32) error {
	nc, err := l.in.begin() // the handshake waits for the client, too
	if err != nil {
		return errClosed // a client that waits for TLS cannot receive an error
	}
	if direct != 0 {
		nc = &prefixed{Conn: nc, head: binary.BigEndian.AppendUint32(nil, direct)}
	}
	if err := nc.SetWriteDeadline(l.in.deadline); err != nil {
		return err
	}
	var used *tls.Certificate
	secured := tls.Server(nc, recordCertificate(l.server.opts.TLS, &used))
	if err := l.in.end(secured.HandshakeContext(ctx)); err != nil {
		return errClosed
	}
	if direct != 0 && secured.ConnectionState().NegotiatedProtocol != alpn {
		secured.Close()
		return errClosed
	}
	l.in.upgrade(secured)
	l.out.nc = secured
	l.tlsData = endPoint(used)
	return nil
}

// prefixed is a connection with bytes that were read already.
type prefixed struct {
	net.Conn
	head []byte
}

func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.head) > 0 {
		n := copy(b, p.head)
		p.head = p.head[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}

// parseHello reads a startup message: pairs of names and values, each ended by
// a zero byte, and one more.
func parseHello(version uint32, body []byte) (*hello, error) {
	if version>>16 != major {
		return nil, sqlstate.Errorf(sqlstate.Protocol, "speak version 3", "the protocol's version %d.%d is not served",
			version>>16, version&0xffff)
	}
	h := &hello{minor: int(version & 0xffff), params: map[string]string{}}
	for len(body) > 0 && body[0] != 0 {
		var pair [2]string
		for i := range pair {
			at := bytes.IndexByte(body, 0)
			if at < 0 {
				return nil, sqlstate.Errorf(sqlstate.Protocol, "", "the startup message ends too early")
			}
			pair[i], body = string(body[:at]), body[at+1:]
		}
		if _, twice := h.params[pair[0]]; !twice {
			h.order = append(h.order, pair[0])
		}
		h.params[pair[0]] = pair[1]
	}
	if len(body) != 1 {
		return nil, sqlstate.Errorf(sqlstate.Protocol, "", "the startup message has no end")
	}
	if h.params["user"] == "" {
		return nil, sqlstate.Errorf(sqlstate.Authorization, "give the name of a user", "the startup message names no user")
	}
	return h, nil
}

// options are the parameters of a startup message that are not settings.
var options = []string{"user", "database", "options", "replication"}

// negotiate chooses the version and takes the settings that the client sends.
func (l *login) negotiate(h *hello) error {
	var unknown []string
	for _, name := range h.order {
		if strings.HasPrefix(name, "_pq_.") {
			unknown = append(unknown, name)
		}
	}
	if h.minor > newestMinor || len(unknown) > 0 {
		h.minor = min(h.minor, newestMinor)
		l.out.send(&pgproto3.NegotiateProtocolVersion{
			NewestMinorProtocol: major<<16 | uint32(h.minor),
			UnrecognizedOptions: unknown,
		})
	}
	if r := strings.ToLower(h.params["replication"]); !slices.Contains([]string{"", "0", "off", "false", "no"}, r) {
		return sqlstate.Errorf(sqlstate.Unsupported, "connect without it", "replication is not served")
	}
	for _, name := range h.order {
		if slices.Contains(options, name) || strings.HasPrefix(name, "_pq_.") {
			continue
		}
		if err := l.session.set(name, h.params[name], false); err != nil && asError(err).Code != sqlstate.UnknownSetting {
			return err
		}
	}
	return nil
}

// welcome ends the login: the client may send statements.
func (l *login) welcome(minor int) {
	l.session.begin(l.user)
	l.out.send(&pgproto3.AuthenticationOk{})
	l.session.report(&l.out)
	size := shortSecret
	if minor >= newestMinor {
		size = longSecret
	}
	l.out.send(&pgproto3.BackendKeyData{ProcessID: l.pid, SecretKey: l.running.makeSecret(size)})
	l.ready()
}
