package mysql

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
)

// Capabilities of the protocol that are used:
// https://dev.mysql.com/doc/dev/mysql-server/latest/group__group__cs__capabilities__flags.html.
// Those that change results are the same towards DuckDB and towards servers, so that
// results pass as they are.
const (
	clientLongPassword = 1 << 0
	clientFoundRows    = 1 << 1 // an UPDATE counts rows that it leaves as they are
	clientLongFlag     = 1 << 2
	clientDatabase     = 1 << 3
	clientProtocol41   = 1 << 9
	clientTLS          = 1 << 11
	clientTransactions = 1 << 13
	clientSecure       = 1 << 15
	clientResults      = 1 << 17
	clientStmtResults  = 1 << 18
	clientPlugins      = 1 << 19
	clientLongAuth     = 1 << 21

	shared = clientLongPassword | clientLongFlag | clientProtocol41 | clientTransactions | clientSecure | clientResults |
		clientStmtResults | clientPlugins
)

const utf8mb4 = 45 // the number of a collation of utf8mb4

// Methods of authentication.
const (
	nativePassword = "mysql_native_password"
	cachingSHA2    = "caching_sha2_password"
	clearPassword  = "mysql_clear_password"
)

// config is how to connect to a server.
type config struct {
	host     string // or the path of a socket
	port     int
	database string
	user     string
	password string
	mode     string // one of sslModes
	roots    string // file with certificates; "": those of the system
}

// address is host:port, or the path of a socket.
func (c *config) address() string {
	if c.socket() {
		return c.host
	}
	return net.JoinHostPort(c.host, strconv.Itoa(c.port))
}

func (c *config) socket() bool { return len(c.host) > 0 && c.host[0] == '/' }

// errNoTLS is the error of a server without TLS.
var errNoTLS = errors.New("the server has no TLS")

// errMethod is the error of a user whose method of authentication is not known.
type errMethod string

func (e errMethod) Error() string { return "the method of authentication is " + string(e) }

// connection is a connection to a server.
type connection struct {
	*wire
	thread uint32 // its number in the server
}

// connect opens a connection.
func connect(ctx context.Context, c *config) (*connection, error) {
	network := "tcp"
	if c.socket() {
		network = "unix"
	}
	raw, err := (&net.Dialer{}).DialContext(ctx, network, c.address())
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { raw.SetDeadline(past) })
	conn := &connection{wire: newWire(raw)}
	err = conn.start(c)
	if !stop() {
		err = cmp.Or(err, ctx.Err())
	}
	if err != nil {
		raw.Close()
		return nil, err
	}
	return conn, nil
}

// greeting is the first packet of a server.
type greeting struct {
	thread       uint32
	nonce        []byte
	capabilities uint32
	method       string
}

func parseGreeting(p []byte) (g greeting, err error) {
	if len(p) > 0 && p[0] == kindError {
		return g, parseError(p)
	}
	c := cursor{rest: p}
	if c.byte() != 10 {
		return g, errPacket
	}
	c.terminated() // the version
	g.thread = c.uint32()
	g.nonce = append(g.nonce, c.take(8)...)
	c.take(1)
	g.capabilities = uint32(c.uint16())
	c.take(3) // collation and status
	g.capabilities |= uint32(c.uint16()) << 16
	size := int(c.byte())
	c.take(10)
	g.nonce = append(g.nonce, c.take(max(13, size-8))...)
	g.nonce = g.nonce[:20]
	g.method = c.terminated()
	if c.bad || g.capabilities&(clientProtocol41|clientSecure) != clientProtocol41|clientSecure {
		return g, errPacket
	}
	return g, nil
}

// start greets the server and logs in.
func (c *connection) start(config *config) error {
	p, err := c.readUpTo(maxGreeting)
	if err != nil {
		return err
	}
	g, err := parseGreeting(p)
	if err != nil {
		return err
	}
	c.thread = g.thread
	flags := uint32(shared | clientFoundRows)
	if config.database != "" {
		flags |= clientDatabase
	}
	secure := config.socket()
	if config.mode != sslDisabled && !config.socket() && g.capabilities&clientTLS != 0 {
		flags |= clientTLS
		if err := c.encrypt(config, flags); err != nil {
			return err
		}
		secure = true
	} else if config.mode != sslDisabled && config.mode != sslPreferred && !config.socket() {
		return errNoTLS
	}
	method := g.method
	if method != nativePassword && method != cachingSHA2 {
		method = nativePassword // the server asks for another
	}
	answer, _ := scramble(method, config.password, g.nonce)
	out := loginHead(flags)
	out = append(append(out, config.user...), 0)
	out = append(append(out, byte(len(answer))), answer...)
	if config.database != "" {
		out = append(append(out, config.database...), 0)
	}
	out = append(append(out, method...), 0)
	if err := c.write(out); err != nil {
		return err
	}
	return c.authenticate(config, g.nonce, secure)
}

// loginHead is the begin of a login, which is also the request for TLS.
func loginHead(flags uint32) []byte {
	out := binary.LittleEndian.AppendUint32(nil, flags)
	out = binary.LittleEndian.AppendUint32(out, fullPacket)
	out = append(out, utf8mb4)
	return append(out, make([]byte, 23)...)
}

// encrypt begins TLS.
func (c *connection) encrypt(config *config, flags uint32) error {
	settings, err := config.tls()
	if err != nil {
		return err
	}
	if err := c.write(loginHead(flags)); err != nil {
		return err
	}
	secure := tls.Client(c.Conn, settings)
	if err := secure.Handshake(); err != nil {
		return fmt.Errorf("tls: %w", err)
	}
	number := c.number
	*c.wire = *newWire(secure)
	c.number = number
	return nil
}

// tls returns the settings of TLS for the mode.
func (c *config) tls() (*tls.Config, error) {
	settings := &tls.Config{ServerName: c.host, MinVersion: tls.VersionTLS12}
	if c.roots != "" {
		text, err := os.ReadFile(c.roots)
		if err != nil {
			return nil, errRoots
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(text) {
			return nil, errRoots
		}
	}
	if c.mode == sslVerifyIdentity {
		return settings, nil
	}
	settings.InsecureSkipVerify = true
	if c.mode == sslVerifyCA || c.mode == sslRequired && c.roots != "" {
		settings.VerifyConnection = func(state tls.ConnectionState) error {
			options := x509.VerifyOptions{Roots: settings.RootCAs, Intermediates: x509.NewCertPool()}
			for _, extra := range state.PeerCertificates[1:] {
				options.Intermediates.AddCert(extra)
			}
			_, err := state.PeerCertificates[0].Verify(options)
			return err
		}
	}
	return settings, nil
}

// errRoots is the error of a file of certificates.
var errRoots = errors.New("the file of certificates cannot be read")

// authenticate answers the server until it accepts the login.
func (c *connection) authenticate(config *config, nonce []byte, secure bool) error {
	for range 8 { // a server asks three times at most
		p, err := c.read()
		switch {
		case err != nil:
			return err
		case len(p) == 0:
			return errPacket
		}
		var answer []byte
		switch p[0] {
		case kindOK:
			return nil
		case kindError:
			return parseError(p)
		case kindEOF: // another method
			rest := cursor{rest: p[1:]}
			method := rest.terminated()
			nonce = rest.rest
			if len(nonce) > 20 {
				nonce = nonce[:20]
			}
			if method == clearPassword && secure {
				answer = append([]byte(config.password), 0)
			} else if answer, err = scramble(method, config.password, nonce); err != nil {
				return err
			}
		case kindMore:
			if answer, err = moreSHA2(p[1:], config.password, nonce, secure); err != nil {
				return err
			}
			if answer == nil {
				continue // the password is in the server's cache
			}
		default:
			return errPacket
		}
		if err := c.write(answer); err != nil {
			return err
		}
	}
	return errPacket
}

// scramble proves that one has the password.
func scramble(method, password string, nonce []byte) ([]byte, error) {
	switch {
	case method != nativePassword && method != cachingSHA2:
		return nil, errMethod(method)
	case password == "":
		return nil, nil
	case method == nativePassword:
		once := sha1.Sum([]byte(password))
		twice := sha1.Sum(once[:])
		mask := sha1.Sum(append(append([]byte{}, nonce...), twice[:]...))
		subtle.XORBytes(once[:], once[:], mask[:])
		return once[:], nil
	}
	once := sha256.Sum256([]byte(password))
	twice := sha256.Sum256(once[:])
	mask := sha256.Sum256(append(append([]byte{}, twice[:]...), nonce...))
	subtle.XORBytes(once[:], once[:], mask[:])
	return once[:], nil
}

// moreSHA2 answers what a server asks for in caching_sha2_password after the scramble:
// nil if it asks for nothing, else the password, which is encrypted unless the connection
// is.
func moreSHA2(asked []byte, password string, nonce []byte, secure bool) ([]byte, error) {
	switch {
	case len(asked) == 1 && asked[0] == 3:
		return nil, nil
	case len(asked) == 1 && asked[0] == 4 && secure:
		return append([]byte(password), 0), nil
	case len(asked) == 1 && asked[0] == 4:
		return []byte{2}, nil // asks for the server's key
	}
	block, _ := pem.Decode(asked)
	if block == nil || len(nonce) == 0 {
		return nil, errPacket
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	key, ok := parsed.(*rsa.PublicKey)
	if err != nil || !ok {
		return nil, errPacket
	}
	text := append([]byte(password), 0)
	for i := range text {
		text[i] ^= nonce[i%len(nonce)]
	}
	return rsa.EncryptOAEP(sha1.New(), rand.Reader, key, text, nil)
}

// Commands.
const (
	commandQuit    = 0x01
	commandUse     = 0x02
	commandQuery   = 0x03
	commandPing    = 0x0e
	commandPrepare = 0x16
	commandExecute = 0x17
	commandClose   = 0x19
	commandReset   = 0x1f
)

// do sends a command whose answer has no rows.
func (c *connection) do(kind byte, text string) error {
	if err := c.command(append([]byte{kind}, text...)); err != nil {
		return err
	}
	return c.acknowledged()
}

// acknowledged reads an answer without rows.
func (c *connection) acknowledged() error {
	p, err := c.read()
	switch {
	case err != nil:
		return err
	case len(p) > 0 && p[0] == kindError:
		return parseError(p)
	case len(p) == 0 || p[0] != kindOK && !isEOF(p):
		return errPacket
	}
	return nil
}

// query returns the rows of a statement, which have that many columns. NULL is "".
func (c *connection) query(sql string, columns int) (rows [][]string, err error) {
	_, err = c.execute(sql, columns, func(values []*string) error {
		if len(rows) == maxRowsRead {
			return errPacket
		}
		row := make([]string, len(values))
		for i, v := range values {
			if v != nil {
				row[i] = *v
			}
		}
		rows = append(rows, row)
		return nil
	})
	return rows, err
}

// execute runs a statement and calls f with its rows, of that many columns. Without columns,
// it returns how many rows the statement changed, else how many it returns.
func (c *connection) execute(sql string, columns int, f func(row []*string) error) (n int64, err error) {
	if err := c.command(append([]byte{commandQuery}, sql...)); err != nil {
		return 0, err
	}
	p, err := c.read()
	switch {
	case err != nil:
		return 0, err
	case len(p) > 0 && p[0] == kindError:
		return 0, parseError(p)
	case len(p) == 0 || p[0] == kindLocal || (p[0] == kindOK) != (columns == 0):
		return 0, errPacket
	}
	head := cursor{rest: p}
	if columns == 0 {
		head.take(1)
		n = int64(head.length())
		if head.bad {
			return 0, errPacket
		}
		return n, nil
	}
	if head.length() != columns || head.bad {
		return 0, errPacket
	}
	for ended := 0; ended < 2; {
		p, err := c.read()
		switch {
		case err != nil:
			return n, err
		case len(p) > 0 && p[0] == kindError:
			return n, parseError(p)
		case isEOF(p):
			ended++
		case ended == 1:
			row, values := make([]*string, columns), cursor{rest: p}
			for i := range row {
				if !values.null() {
					text := values.text()
					row[i] = &text
				}
			}
			if values.bad {
				return n, errPacket
			}
			if err := f(row); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}
