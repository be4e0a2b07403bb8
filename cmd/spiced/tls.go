package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
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

// tlsFault is what is wrong with a key of runtime.tls, or with the flag in its place.
type tlsFault struct{ key, message, hint string }

func (f *tlsFault) Error() string {
	text := "runtime.tls"
	if f.key != "" {
		text += "." + f.key
	}
	if text += ": " + f.message; f.hint != "" {
		text += "; " + f.hint
	}
	return text
}

// tlsProblem returns the fault of runtime.tls, with its position, or nothing. A start with it
// fails.
func tlsProblem(pod *spicepod.Pod) spicepod.Problems {
	t := tlsFlags{}.settings(pod.Runtime.TLS)
	if t == nil {
		return nil
	}
	var unset spicepod.Problems
	for _, u := range t.Unset {
		unset = append(unset, pod.TextProblem(u.Path, u.Offset, u.Message, u.Hint))
	}
	var f *tlsFault
	if len(unset) > 0 || !errors.As(new(certificates).load(t), &f) {
		return unset
	}
	p := pod.Problem(strings.TrimSuffix("runtime.tls."+f.key, "."), f.message, f.hint)
	if f.key == "" && f.hint != "" { // flags may have it
		p.Severity = spicepod.Warning
	}
	return spicepod.Problems{p}
}

// load reads the certificate and its key. On failure the last ones stay in use.
func (c *certificates) load(t *spicepod.TLS) error {
	for _, u := range t.Unset {
		return &tlsFault{strings.TrimPrefix(u.Path, "runtime.tls."), u.Message, u.Hint}
	}
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
		return &tlsFault{message: err.Error()}
	}
	c.current.Store(&pair)
	return nil
}

// pemOf returns the text of a certificate or key, given directly or in a file.
func pemOf(what, text, file string) ([]byte, error) {
	switch {
	case text != "" && file != "":
		return nil, &tlsFault{what, fmt.Sprintf("%s and %s_file are both set", what, what), "remove one"}
	case text != "":
		return []byte(text), nil
	case file == "":
		return nil, &tlsFault{"", "it has no " + what, fmt.Sprintf("add %s_file, or --tls-%s-file", what, what)}
	}
	raw, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		hint := ""
		if strings.Contains(file, "${") {
			hint = fmt.Sprintf("%s_file is read as it is; %s takes a reference such as ${env:NAME} to the PEM itself",
				what, what)
		}
		return nil, &tlsFault{what + "_file", fmt.Sprintf("file %q does not exist", file), hint}
	}
	if err != nil {
		return nil, &tlsFault{what + "_file", err.Error(), ""}
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
