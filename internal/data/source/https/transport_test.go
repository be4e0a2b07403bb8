package https

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/spicepod"
)

// clientPair returns a certificate of a client and its key.
func clientPair(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "reader"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
}

// TestClientCertificate: a server that wants a certificate (mTLS) gets it, from a file or
// a text.
func TestClientCertificate(t *testing.T) {
	certificate, key := clientPair(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAnyClientCert}
	s.StartTLS()
	defer s.Close()
	authority := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	dir := t.TempDir()
	files := [2]string{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	for i, text := range []string{certificate, key} {
		if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, names := range [][2]string{{"http_tls_client_certificate_file", "http_tls_client_key_file"}, {"http_tls_client_certificate", "http_tls_client_key"}} {
		values := files
		if names[0] == "http_tls_client_certificate" {
			values = [2]string{certificate, key}
		}
		got, err := connections(source.Declaration{Params: spicepod.Params{names[0]: spicepod.NewText("", values[0]), names[1]: spicepod.NewText("", values[1])}})
		if err != nil {
			t.Fatal(err)
		}
		transport := got.(*http.Transport)
		transport.TLSClientConfig.RootCAs = authority
		resp, err := (&http.Client{Transport: transport}).Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		transport.CloseIdleConnections()
		if string(body) != "reader" || err != nil {
			t.Errorf("%s: got %q, %v", names[0], body, err)
		}
	}
}
