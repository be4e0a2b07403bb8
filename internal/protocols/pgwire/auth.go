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
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/sql/query"
)

// client is who a connection acts for.
type client struct {
	user      string // of the startup message
	remote    string // its address and port
	principal *auth.Principal
	caller    caller.Caller
}

// authenticate identifies the client.
func (l *login) authenticate(ctx context.Context) error {
	keys := l.server.opts.Keys()
	var principal *auth.Principal
	var err error
	switch {
	case !keys.Enabled():
		principal = keys.Anonymous()
	case l.server.opts.Cleartext && l.private():
		principal, err = l.askPassword(keys)
	default:
		principal, err = l.askSCRAM(keys.SCRAM(l.user, l.tlsData))
	}
	if err == nil {
		l.client, err = newClient(l.user, l.remote, principal)
	}
	return l.refuse(ctx, keys, err)
}

// newClient decides on whose behalf statements run. The user's name decides where
// the principal may name one; else, and where it is the principal's own name, it
// is a label.
func newClient(user, remote string, p *auth.Principal) (client, error) {
	asked := caller.Caller{Protocol: caller.SQL, Address: caller.Address(remote)}
	if p.OnBehalfOf && user != p.Name {
		if err := caller.CheckWord(user); err != nil {
			return client{}, sqlstate.Errorf(sqlstate.Authorization, "", "the user %s", err)
		}
		asked.UserID = user
	}
	who, err := p.Caller(asked)
	if err != nil {
		asked.UserID = ""
		who, err = p.Caller(asked)
	}
	if err != nil {
		return client{}, sqlstate.Errorf(sqlstate.Authorization, "", "%s", err)
	}
	return client{user, remote, p, who}, nil
}

// renew checks that the key of the session still exists: a reload may have
// removed it, or changed what its principal may do.
func (k *client) renew(keys *auth.Keyring) error {
	p, ok := keys.Current(k.principal)
	switch {
	case !ok:
		return fatal(sqlstate.Errorf(sqlstate.Password, "connect again with a key of runtime.auth",
			"the key of this session no longer exists"))
	case p == k.principal:
		return nil
	}
	renewed, err := newClient(k.user, k.remote, p)
	if err != nil {
		return fatal(err)
	}
	*k = renewed
	return nil
}

// private reports whether no one else can read what the client sends.
func (l *login) private() bool {
	if _, ok := l.out.nc.(*tls.Conn); ok {
		return true
	}
	host, _, err := net.SplitHostPort(l.remote)
	return err == nil && net.ParseIP(host).IsLoopback()
}

func (l *login) askPassword(keys *auth.Keyring) (*auth.Principal, error) {
	l.out.send(&pgproto3.AuthenticationCleartextPassword{})
	password, err := answer[*pgproto3.PasswordMessage](l, pgproto3.AuthTypeCleartextPassword, "a password")
	if err != nil {
		return nil, err
	}
	principal, ok := keys.LookupFor(l.user, password.Password)
	if !ok {
		return nil, auth.ErrDenied
	}
	return principal, nil
}

// askSCRAM has the two rounds of SASL's SCRAM (RFC 5802).
func (l *login) askSCRAM(s *auth.SCRAM) (*auth.Principal, error) {
	l.out.send(&pgproto3.AuthenticationSASL{AuthMechanisms: s.Mechanisms()})
	first, err := answer[*pgproto3.SASLInitialResponse](l, pgproto3.AuthTypeSASL, "a message of SASL")
	if err != nil {
		return nil, err
	}
	challenge, err := s.First(first.AuthMechanism, first.Data)
	if err != nil {
		return nil, auth.ErrDenied
	}
	l.out.send(&pgproto3.AuthenticationSASLContinue{Data: challenge})
	final, err := answer[*pgproto3.SASLResponse](l, pgproto3.AuthTypeSASLContinue, "a message of SASL")
	if err != nil {
		return nil, err
	}
	proof, principal, err := s.Final(final.Data)
	if err != nil {
		return nil, auth.ErrDenied
	}
	l.out.send(&pgproto3.AuthenticationSASLFinal{Data: proof})
	return principal, nil
}

// answer flushes a request for authentication and reads what comes back.
// what names it in an error.
func answer[M pgproto3.FrontendMessage](l *login, kind uint32, what string) (m M, err error) {
	if err := l.out.flush(); err != nil {
		return m, err
	}
	if err := l.backend.SetAuthType(kind); err != nil {
		return m, err
	}
	received, err := l.backend.Receive()
	if err != nil {
		return m, readError(err)
	}
	m, ok := received.(M)
	if !ok {
		err = sqlstate.Errorf(sqlstate.Protocol, "", "%s was expected", what)
	}
	return m, err
}

// refuse records a login that failed, and waits if its address has failed before.
// Its error does not say why.
func (l *login) refuse(ctx context.Context, keys *auth.Keyring, err error) error {
	if err != auth.ErrDenied { //nolint:errorlint // ours, never wrapped
		return err
	}
	l.server.opts.Audit.Record(ctx, audit.Entry{
		Kind: audit.Login, Protocol: string(query.Postgres), User: l.user, Remote: l.remote, Outcome: audit.Unauthorized,
	})
	l.bounded.Pause(ctx, keys.Failed(l.remote))
	return sqlstate.Errorf(sqlstate.Password, "the password is a key of runtime.auth",
		"password authentication failed for user %q", l.user)
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
// hash of the certificate by its signature's algorithm, SHA-256 instead of
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
	case x509.MD5WithRSA, x509.SHA1WithRSA, x509.ECDSAWithSHA1, x509.SHA256WithRSA, x509.ECDSAWithSHA256,
		x509.SHA256WithRSAPSS:
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
