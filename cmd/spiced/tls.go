package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/spiced-sql/spiced/spicepod"
)

// certificates holds the certificate of the endpoints, which a reload replaces.
type certificates struct {
	current atomic.Pointer[tls.Certificate]
}

// tlsFlags are the flags of encryption. They override runtime.tls.
type tlsFlags struct {
	enabled                  bool
	certificateFile, keyFile string
}

// settings returns the flags, with the Spicepod's values where they are not set,
// or nil without encryption.
func (f tlsFlags) settings(pod *spicepod.TLS) *spicepod.TLS {
	var t spicepod.TLS
	if pod != nil {
		t = *pod
	}
	if f.certificateFile != "" || f.keyFile != "" {
		t = spicepod.TLS{Enabled: true, CertificateFile: f.certificateFile, KeyFile: f.keyFile}
	}
	if f.enabled {
		t.Enabled = true
	}
	if !t.Enabled {
		return nil
	}
	return &t
}

// load reads the certificate and its key. On failure the last ones stay in use.
func (c *certificates) load(t *spicepod.TLS) error {
	certificate, err := pemOf("certificate", t.Certificate.Reveal(), t.CertificateFile)
	if err != nil {
		return err
	}
	key, err := pemOf("key", t.Key.Reveal(), t.KeyFile)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return fmt.Errorf("runtime.tls: %w", err)
	}
	c.current.Store(&pair)
	return nil
}

// pemOf returns the text of a certificate or key, given directly or in a file.
func pemOf(what, text, file string) ([]byte, error) {
	switch {
	case text != "" && file != "":
		return nil, fmt.Errorf("runtime.tls has both %s and %s_file: remove one", what, what)
	case text != "":
		return []byte(text), nil
	case file == "":
		return nil, fmt.Errorf("runtime.tls has no %s: add %s_file, or --tls-%s-file", what, what, what)
	}
	raw, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("runtime.tls.%s_file: file %s does not exist", what, file)
	}
	if err != nil {
		return nil, fmt.Errorf("runtime.tls.%s_file: %w", what, err)
	}
	return raw, nil
}

// config returns the TLS configuration of an endpoint: TLS 1.2 or newer, or nil without
// certificates.
func (c *certificates) config() *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}
