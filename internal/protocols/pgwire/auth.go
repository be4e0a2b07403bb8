package pgwire

import (
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"net"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/sql/query"
)

// login finds out who the client is. tlsData is the data of the channel
// binding, nil without TLS.
func (c *conn) login(user string, tlsData []byte) error {
	keys := c.server.opts.Keys()
	c.user = user
	var err error
	switch {
	case !keys.Enabled():
		c.principal = keys.Anonymous()
	case c.server.opts.Cleartext && c.private():
		err = c.askPassword(keys, user)
	default:
		err = c.askSCRAM(keys.SCRAM(user, tlsData))
	}
	if err != nil {
		return c.refuse(user, err)
	}
	return c.actFor(user)
}

// renew asks whether the key of the session is still there: a reload may have
// taken it out, or changed what its principal may do.
func (c *conn) renew() error {
	p, ok := c.server.opts.Keys().Current(c.principal)
	switch {
	case !ok:
		return fatal(failure(statePassword, "connect again with a key of runtime.auth", "the key of this session is not known any more"))
	case p == c.principal:
		return nil
	}
	c.principal = p
	if err := c.actFor(c.user); err != nil {
		return fatal(err)
	}
	return nil
}

// private reports whether nobody else can read what the client sends.
func (c *conn) private() bool {
	if _, ok := c.out.nc.(*tls.Conn); ok {
		return true
	}
	host, _, err := net.SplitHostPort(c.remote)
	return err == nil && net.ParseIP(host).IsLoopback()
}

func (c *conn) askPassword(keys *auth.Keyring, user string) error {
	c.out.send(&pgproto3.AuthenticationCleartextPassword{})
	m, err := c.answer(pgproto3.AuthTypeCleartextPassword)
	if err != nil {
		return err
	}
	password, ok := m.(*pgproto3.PasswordMessage)
	if !ok {
		return failure(stateProtocol, "", "a password was expected")
	}
	if c.principal, ok = keys.LookupFor(user, password.Password); !ok {
		return auth.ErrDenied
	}
	return nil
}

// askSCRAM has the two rounds of SASL's SCRAM (RFC 5802).
func (c *conn) askSCRAM(s *auth.SCRAM) error {
	c.out.send(&pgproto3.AuthenticationSASL{AuthMechanisms: s.Mechanisms()})
	m, err := c.answer(pgproto3.AuthTypeSASL)
	if err != nil {
		return err
	}
	first, ok := m.(*pgproto3.SASLInitialResponse)
	if !ok {
		return failure(stateProtocol, "", "a message of SASL was expected")
	}
	challenge, err := s.First(first.AuthMechanism, first.Data)
	if err != nil {
		return auth.ErrDenied
	}
	c.out.send(&pgproto3.AuthenticationSASLContinue{Data: challenge})
	if m, err = c.answer(pgproto3.AuthTypeSASLContinue); err != nil {
		return err
	}
	final, ok := m.(*pgproto3.SASLResponse)
	if !ok {
		return failure(stateProtocol, "", "a message of SASL was expected")
	}
	proof, principal, err := s.Final(final.Data)
	if err != nil {
		return auth.ErrDenied
	}
	c.principal = principal
	c.out.send(&pgproto3.AuthenticationSASLFinal{Data: proof})
	return nil
}

// answer flushes a request for authentication and reads what comes back.
func (c *conn) answer(kind uint32) (pgproto3.FrontendMessage, error) {
	if err := c.out.flush(); err != nil {
		return nil, err
	}
	if err := c.backend.SetAuthType(kind); err != nil {
		return nil, err
	}
	m, err := c.backend.Receive()
	if err != nil {
		return nil, readError(err)
	}
	return m, nil
}

// refuse records a login that failed. Its error tells nothing of why.
func (c *conn) refuse(user string, err error) error {
	if err != auth.ErrDenied { //nolint:errorlint // ours, never wrapped
		return err
	}
	c.server.opts.Audit.Record(context.Background(), audit.Entry{
		Kind: audit.Login, Door: string(query.Postgres), User: user, Remote: c.remote, Outcome: audit.Unauthorized,
	})
	return failure(statePassword, "the password is a key of runtime.auth", "password authentication failed for user %q", user)
}

// actFor settles on whose behalf statements run. The user's name says so where
// the principal may name one; else, and where it is the principal's own name,
// it is a label.
func (c *conn) actFor(user string) error {
	p := c.principal
	asked := caller.Caller{Protocol: caller.SQL}
	if p.OnBehalfOf && user != p.Name {
		if err := caller.CheckWord(user); err != nil {
			return failure(stateAuthorization, "", "the user %s", err)
		}
		asked.UserID = user
	}
	who, err := p.Caller(asked)
	if err != nil {
		asked.UserID = ""
		who, err = p.Caller(asked)
	}
	if err != nil {
		return failure(stateAuthorization, "", "%s", err)
	}
	c.caller = who
	return nil
}

// recordCertificate is config for one connection; the certificate it uses is
// stored. A session that is resumed would use none, so none is.
func recordCertificate(config *tls.Config, used **tls.Certificate) *tls.Config {
	own := config.Clone()
	own.NextProtos = []string{alpn}
	own.Certificates = nil // else package tls may choose among them without GetCertificate
	own.SessionTicketsDisabled = true
	own.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if config.GetConfigForClient == nil {
			return nil, nil
		}
		chosen, err := config.GetConfigForClient(hello)
		if chosen == nil || err != nil {
			return nil, err
		}
		return recordCertificate(chosen, used), nil
	}
	own.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		cert, err := chooseCertificate(config, hello)
		*used = cert
		return cert, err
	}
	return own
}

// chooseCertificate does what package tls does without GetCertificate.
func chooseCertificate(config *tls.Config, hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if config.GetCertificate != nil {
		if cert, err := config.GetCertificate(hello); cert != nil || err != nil {
			return cert, err
		}
	}
	for i := range config.Certificates {
		if hello.SupportsCertificate(&config.Certificates[i]) == nil {
			return &config.Certificates[i], nil
		}
	}
	if len(config.Certificates) > 0 {
		return &config.Certificates[0], nil
	}
	return nil, nil
}

// endPoint is the data of tls-server-end-point (RFC 5929, section 4.1): the
// hash of the certificate by its signature's algorithm, SHA-256 in place of
// older ones. It is nil where the RFC names none.
func endPoint(cert *tls.Certificate) []byte {
	if cert == nil || len(cert.Certificate) == 0 {
		return nil
	}
	parsed, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		return nil
	}
	var hash crypto.Hash
	switch parsed.SignatureAlgorithm {
	case x509.MD5WithRSA, x509.SHA1WithRSA, x509.ECDSAWithSHA1, x509.SHA256WithRSA, x509.ECDSAWithSHA256, x509.SHA256WithRSAPSS:
		hash = crypto.SHA256
	case x509.SHA384WithRSA, x509.ECDSAWithSHA384, x509.SHA384WithRSAPSS:
		hash = crypto.SHA384
	case x509.SHA512WithRSA, x509.ECDSAWithSHA512, x509.SHA512WithRSAPSS:
		hash = crypto.SHA512
	default:
		return nil
	}
	h := hash.New()
	h.Write(parsed.Raw)
	return h.Sum(nil)
}
