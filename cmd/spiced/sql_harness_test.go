package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/golden"
	"github.com/spiced-sql/spiced/internal/test/selfsigned"
)

// sqlPod is the Spicepod that every SQL client has a session with.
const sqlPod = "../../testdata/spicepods/sqlclients"

// sqlSessions is where the scripts of the sessions are, and what they print.
const sqlSessions = "testdata/sqlclients"

// Keys of sqlPod.
const (
	readerKey = "reader-key-0123456789"
	writerKey = "writer-key-0123456789"
)

// endless runs longer than any test waits.
const endless = "SELECT count(*) AS n FROM range(10000000) a, range(10000000) b WHERE a.range % 7 = b.range % 5"

// sqlProtocols open the protocols of SQL clients.
func sqlProtocols(args ...string) []string {
	return append([]string{"--postgres", "127.0.0.1:0", "--flight", "127.0.0.1:0"}, args...)
}

// startSQL serves sqlPod at every protocol.
func startSQL(t *testing.T) *program {
	t.Helper()
	return start(t, sqlPod, sqlProtocols()...)
}

// sqlPodWith is a copy of sqlPod with another spicepod.yaml.
func sqlPodWith(t *testing.T, change func(pod string) string) string {
	t.Helper()
	pod := read(t, sqlPod+"/spicepod.yaml")
	changed := change(pod)
	if changed == pod {
		t.Fatalf("nothing to change in\n%s", pod)
	}
	return folder(t, "spicepod.yaml", changed, "people.csv", read(t, sqlPod+"/people.csv"), "every_type.sql", read(t, sqlPod+"/every_type.sql"))
}

// address is where a protocol listens, as host:port.
func (p *program) address(protocol string) (address string) {
	p.t.Helper()
	p.eventually("to open "+protocol, func() (open bool) {
		_, address, open = strings.Cut(p.endpoint(protocol), "://")
		return open
	})
	return address
}

// active waits until the reader has n statements running.
func (p *program) active(n int) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("to run %d statements", n), func() bool {
		r := p.do("GET", "/v1/sql/active", "", "X-API-Key", readerKey)
		return r.status == 200 && strings.Count(r.body, `"query_id"`) == n
	})
}

// libpq is the environment that tells the clients made on libpq where the
// server is.
func libpq(t *testing.T, p *program, key string) []string {
	t.Helper()
	host, port, err := net.SplitHostPort(p.address("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		"PGHOST=" + host, "PGPORT=" + port, "PGUSER=ann", "PGDATABASE=spice", "PGPASSWORD=" + key,
		"PGCLIENTENCODING=UTF8", "LC_ALL=C.UTF-8", "PYTHONIOENCODING=utf-8", "TZ=UTC",
	}
}

// session runs a client to its end and returns its status and what it wrote.
func session(t *testing.T, env []string, program string, args ...string) (status int, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = append(os.Environ(), env...), sqlSessions, time.Second
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// wantSession runs a client that must succeed, and compares what it wrote with
// a golden file.
func wantSession(t *testing.T, file string, env []string, program string, args ...string) {
	t.Helper()
	status, out := session(t, env, program, args...)
	if status != 0 {
		t.Fatalf("%s: status %d:\n%s", filepath.Base(program), status, out)
	}
	golden.Equal(t, filepath.Join(sqlSessions, file), out)
}

// encrypted is a program with a self-signed certificate.
type encrypted struct {
	*program
	root string // the file of the certificate
	pool *x509.CertPool
}

// startEncrypted serves sqlPod at every protocol with TLS.
func startEncrypted(t *testing.T) *encrypted {
	t.Helper()
	certificate, key := selfSigned(t)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(read(t, certificate)))

	p := launched(t, sqlPod, sqlProtocols("--tls-certificate-file", certificate, "--tls-key-file", key)...)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: patience}
	ready := "https://" + p.address("http") + "/v1/ready"
	p.eventually("to be ready", func() bool {
		resp, err := client.Get(ready)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return &encrypted{p, certificate, pool}
}

// selfSigned makes a certificate for this machine and returns its files.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	made := selfsigned.Certificate(t)
	secret, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t, "tls.crt", inPEM("CERTIFICATE", made.Certificate[0]), "tls.key", inPEM("PRIVATE KEY", secret))
	return filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
}

func inPEM(kind string, der []byte) string {
	var b bytes.Buffer
	pem.Encode(&b, &pem.Block{Type: kind, Bytes: der}) //nolint:errcheck // a buffer takes all
	return b.String()
}
