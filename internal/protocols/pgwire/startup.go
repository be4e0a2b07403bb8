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
)

// The codes that stand in place of a version in a connection's first packet.
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

// start takes the first packets and finds out who the client is. The context
// it returns says so.
func (c *conn) start(ctx context.Context) (context.Context, error) {
	c.in.loginBy(time.Now().Add(c.server.opts.AuthTimeout))
	h, tlsData, err := c.firstPackets(ctx)
	if err != nil {
		return ctx, err
	}
	if c.surplus {
		return ctx, failure(stateTooMany, "close others, or use a pool", "there are %d connections already", c.server.opts.MaxConnections)
	}
	c.session = newSession(c.server.opts.Version)
	if err := c.greet(h); err != nil {
		return ctx, err
	}
	c.backend = pgproto3.NewBackend(c.in, io.Discard)
	c.backend.SetMaxBodyLen(maxLogin)
	if err := c.login(h.params["user"], tlsData); err != nil {
		return ctx, err
	}
	c.backend.SetMaxBodyLen(maxMessage)
	c.in.loginBy(time.Time{})
	c.welcome(h)
	return ctx, c.out.err
}

// firstPackets answers what comes before the startup message, which it
// returns with the channel binding data of TLS.
func (c *conn) firstPackets(ctx context.Context) (h *hello, tlsData []byte, err error) {
	secured := false
	for range maxPackets {
		code, body, err := c.packet(secured)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case body == nil && !secured: // TLS at once
			if tlsData, err = c.secure(ctx, code); err != nil {
				return nil, nil, err
			}
			secured = true
		case code == codeTLS && !secured && c.server.opts.TLS != nil:
			c.out.buf = append(c.out.buf, 'S')
			if err := c.out.flush(); err != nil {
				return nil, nil, err
			}
			if tlsData, err = c.secure(ctx, 0); err != nil {
				return nil, nil, err
			}
			secured = true
		case code == codeTLS && !secured, code == codeGSS && !secured:
			c.out.buf = append(c.out.buf, 'N')
			if err := c.out.flush(); err != nil {
				return nil, nil, err
			}
		case code == codeCancel && len(body) > 4:
			c.server.cancel(binary.BigEndian.Uint32(body), body[4:])
			return nil, nil, errClosed
		case c.server.opts.RequireTLS && !secured:
			return nil, nil, failure(stateAuthorization, "connect with sslmode=require", "this server wants TLS")
		default:
			h, err := parseHello(code, body)
			return h, tlsData, err
		}
	}
	return nil, nil, failure(stateProtocol, "", "no startup message in %d packets", maxPackets)
}

// packet reads a packet of the time before the login: its code and what
// follows. A nil body says that the client has begun with TLS at once; the code
// is what was read of it.
func (c *conn) packet(secured bool) (code uint32, body []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(c.in, head[:4]); err != nil {
		return 0, nil, err
	}
	if head[0] == tlsRecord && !secured && c.server.opts.TLS != nil {
		return binary.BigEndian.Uint32(head[:4]), nil, nil
	}
	n := int64(binary.BigEndian.Uint32(head[:4]))
	if n < 8 || n > maxStartup {
		return 0, nil, failure(stateProtocol, "speak PostgreSQL's protocol, version 3", "a first packet of %d bytes is none of PostgreSQL's", n)
	}
	if _, err := io.ReadFull(c.in, head[4:]); err != nil {
		return 0, nil, err
	}
	body = make([]byte, n-8)
	_, err = io.ReadFull(c.in, body)
	return binary.BigEndian.Uint32(head[4:]), body, err
}

// secure begins TLS and returns the data of the channel binding
// tls-server-end-point. direct is what was read already, if it is not 0: then
// the client has to name the protocol, as PostgreSQL 17 asks for.
func (c *conn) secure(ctx context.Context, direct uint32) ([]byte, error) {
	nc, err := c.in.begin() // the handshake waits for the client, too
	if err != nil {
		return nil, errClosed // one who waits for TLS could not be told
	}
	if direct != 0 {
		nc = &prefixed{Conn: nc, head: binary.BigEndian.AppendUint32(nil, direct)}
	}
	if err := nc.SetWriteDeadline(c.in.deadline); err != nil {
		return nil, err
	}
	var used *tls.Certificate
	secured := tls.Server(nc, recordCertificate(c.server.opts.TLS, &used))
	if err := c.in.end(secured.HandshakeContext(ctx)); err != nil {
		return nil, errClosed
	}
	if direct != 0 && secured.ConnectionState().NegotiatedProtocol != alpn {
		secured.Close()
		return nil, errClosed
	}
	c.in.upgrade(secured)
	c.out.nc = secured
	return endPoint(used), nil
}

// prefixed is a connection of which something was read already.
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
		return nil, failure(stateProtocol, "speak version 3", "the protocol's version %d.%d is not served", version>>16, version&0xffff)
	}
	h := &hello{minor: int(version & 0xffff), params: map[string]string{}}
	for len(body) > 0 && body[0] != 0 {
		var pair [2]string
		for i := range pair {
			at := bytes.IndexByte(body, 0)
			if at < 0 {
				return nil, failure(stateProtocol, "", "the startup message ends too early")
			}
			pair[i], body = string(body[:at]), body[at+1:]
		}
		if _, twice := h.params[pair[0]]; !twice {
			h.order = append(h.order, pair[0])
		}
		h.params[pair[0]] = pair[1]
	}
	if len(body) != 1 {
		return nil, failure(stateProtocol, "", "the startup message has no end")
	}
	if h.params["user"] == "" {
		return nil, failure(stateAuthorization, "give the name of a user", "the startup message names no user")
	}
	return h, nil
}

// options are the parameters of a startup message that are no settings.
var options = []string{"user", "database", "options", "replication"}

// greet settles the version and the settings that the client brings.
func (c *conn) greet(h *hello) error {
	var unknown []string
	for _, name := range h.order {
		if strings.HasPrefix(name, "_pq_.") {
			unknown = append(unknown, name)
		}
	}
	if h.minor > newestMinor || len(unknown) > 0 {
		h.minor = min(h.minor, newestMinor)
		c.out.send(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: major<<16 | uint32(h.minor), UnrecognizedOptions: unknown})
	}
	if r := strings.ToLower(h.params["replication"]); !slices.Contains([]string{"", "0", "off", "false", "no"}, r) {
		return failure(stateUnsupported, "connect without it", "replication is not served")
	}
	for _, name := range h.order {
		if slices.Contains(options, name) || strings.HasPrefix(name, "_pq_.") {
			continue
		}
		if err := c.session.set(name, h.params[name], false); err != nil && asState(err).state != stateUnknownSetting {
			return err
		}
	}
	return nil
}

// welcome says that the client may begin.
func (c *conn) welcome(h *hello) {
	c.session.begin(h.params["user"])
	c.out.send(&pgproto3.AuthenticationOk{})
	c.report()
	size := shortSecret
	if h.minor >= newestMinor {
		size = longSecret
	}
	c.makeSecret(size)
	c.out.send(&pgproto3.BackendKeyData{ProcessID: c.pid, SecretKey: c.secret})
	c.ready()
}

// report tells the client of what it does not know yet of the reported
// settings.
func (c *conn) report() {
	for _, name := range reported {
		value := c.session.value(name)
		if told, ok := c.told[name]; !ok || told != value {
			c.told[name] = value
			c.out.send(&pgproto3.ParameterStatus{Name: name, Value: value})
		}
	}
	c.session.changed = false
}
