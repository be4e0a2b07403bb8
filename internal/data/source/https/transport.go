package https

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/spicepod"
)

// Params of connections. Spice has them by these names.
var transportParams = []spicepod.Param{
	{
		Name: "connect_timeout", Type: spicepod.ParamDuration,
		Doc: "How long a connection, and its TLS handshake, may take. Default: 10s.",
	},
	{
		Name: "pool_max_idle_per_host", Type: spicepod.ParamInt,
		Doc: "Most idle connections that are kept. Default: 10; 0: none.",
	},
	{Name: "pool_idle_timeout", Type: spicepod.ParamDuration, Doc: "How long an idle connection is kept. Default: 90s."},
	{Name: "http_tls_client_certificate_file", Doc: "PEM file of the certificate that the client shows (mTLS)."},
	{Name: "http_tls_client_key_file", Doc: "PEM file of its key."},
	{Name: "http_tls_client_certificate", Secret: true, Doc: "The certificate itself, instead of a file."},
	{Name: "http_tls_client_key", Secret: true, Doc: "Its key, instead of a file."},
}

const (
	connectTimeout    = 10 * time.Second
	maxConnectTimeout = 10 * time.Minute
	idleConnections   = 10
	maxIdle           = 1000
	idleTimeout       = 90 * time.Second
	maxIdleTimeout    = time.Hour
)

// newTransport returns what sends the requests of a dataset: its connections, which ask
// for a token if there are params of OAuth.
func (c *Connector) newTransport(d source.Declaration) (http.RoundTripper, error) {
	base, err := connections(d)
	if err != nil {
		return nil, err
	}
	return c.authorize(d, base)
}

// connections returns the default transport unless a param says otherwise.
func connections(d source.Declaration) (http.RoundTripper, error) {
	connect, err1 := within(d.Params, "connect_timeout", connectTimeout, maxConnectTimeout)
	idle, err2 := within(d.Params, "pool_idle_timeout", idleTimeout, maxIdleTimeout)
	most, err3 := d.Params.Int("pool_max_idle_per_host", idleConnections)
	certificate, err4 := clientCertificate(d)
	if err := cmp.Or(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	if most < 0 || most > maxIdle {
		return nil, fault.New("params.pool_max_idle_per_host", fmt.Sprintf("write a number from 0 to %d", maxIdle),
			"%d is not a number of connections", most)
	}
	if certificate == nil && !d.Params.Has("connect_timeout") && !d.Params.Has("pool_idle_timeout") &&
		!d.Params.Has("pool_max_idle_per_host") {
		return http.DefaultTransport, nil
	}
	return httpx.Transport(func(t *http.Transport) {
		t.DialContext = (&net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}).DialContext
		t.TLSHandshakeTimeout, t.IdleConnTimeout = connect, idle
		t.MaxIdleConnsPerHost, t.DisableKeepAlives = most, most == 0
		if certificate != nil {
			t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*certificate}}
		}
	}), nil
}

// within returns a duration above 0.
func within(p spicepod.Params, name string, fallback, most time.Duration) (time.Duration, error) {
	v, err := p.Duration(name, fallback)
	if err == nil && (v <= 0 || v > most) {
		err = fault.New("params."+name, "write a duration above 0, at most "+most.String(),
			"%s is not a value of %s", v, name)
	}
	return v, err
}

// clientCertificate returns the certificate of the client; nil without one.
func clientCertificate(d source.Declaration) (*tls.Certificate, error) {
	var values [4]string
	names := [4]string{
		"http_tls_client_certificate_file", "http_tls_client_key_file", "http_tls_client_certificate",
		"http_tls_client_key",
	}
	for i, name := range names {
		var err error
		if values[i], err = d.Params.String(name); err != nil {
			return nil, err
		}
	}
	at := 0
	switch files, texts := values[0] != "" || values[1] != "", values[2] != "" || values[3] != ""; {
	case !files && !texts:
		return nil, nil
	case files && texts:
		return nil, fault.OfKey("params."+names[2], "leave it out",
			"the client's certificate is given as a file and as a text")
	case texts:
		at = 2
	}
	for i := at; i < at+2; i++ {
		if values[i] == "" {
			return nil, fault.New("params", "set params."+names[i],
				"a client's certificate needs a key, and a key its certificate")
		}
	}
	pair := [2][]byte{[]byte(values[at]), []byte(values[at+1])}
	for i := range pair {
		if at > 0 {
			break
		}
		var err error
		if pair[i], err = os.ReadFile(d.From.Absolute(values[i])); err != nil {
			var p *os.PathError
			if errors.As(err, &p) {
				err = p.Err
			}
			return nil, fault.New("params."+names[i], "", "cannot read %q: %s", values[i], err)
		}
	}
	certificate, err := tls.X509KeyPair(pair[0], pair[1])
	if err != nil {
		return nil, fault.New("params."+names[at], "write a certificate and its key, in PEM",
			"the client's certificate and key cannot be used")
	}
	return &certificate, nil
}
