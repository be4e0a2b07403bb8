package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/kit/telemetry"
	"github.com/spiced-sql/spiced/spicepod"
)

const keysPod = `version: v1
kind: Spicepod
name: pod
runtime:
  auth:
    api-key:
      keys: [%]
datasets:
  - { name: k, from: "file:k.csv" }
functions: []
`

const oneKey, otherKey = "one-0123456789abcdef", "other-0123456789abcdef"

// podWith has the given keys.
func podWith(keys string) string { return strings.Replace(keysPod, "%", keys, 1) }

func TestAddressesThatOthersReachNeedKeys(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", strings.Replace(podWith(""), "  auth:\n    api-key:\n      keys: []\n", "", 1), "k.csv", "id\n1\n")
	for _, flag := range []string{"--http", "--metrics", "--postgres", "--flight"} {
		status, out := spiced(t, "serve", dir, "--http", "127.0.0.1:0", "--metrics", "", flag, "0.0.0.0:0")
		if status != 1 || !strings.Contains(out, flag+" 0.0.0.0:0 can be reached from other machines and no keys are configured") {
			t.Errorf("%s: status %d: %s", flag, status, out)
		}
	}
	write(t, filepath.Join(dir, "spicepod.yaml"), podWith(oneKey))
	p := start(t, dir, "--http", "0.0.0.0:0", "--metrics", "0.0.0.0:0")
	p.url = "http://127.0.0.1" + p.url[strings.LastIndex(p.url, ":"):]
	p.want(p.do("POST", "/v1/sql", "SELECT 1 AS a"), 401, "a key is needed")
	p.want(p.do("POST", "/v1/sql", "SELECT 1 AS a", "X-API-Key", oneKey), 200, `[{"a":1}]`)
	metrics := *p
	metrics.url = "http://127.0.0.1" + p.endpoint("metrics")[strings.LastIndex(p.endpoint("metrics"), ":"):]
	p.want(metrics.do("GET", "/metrics", ""), 401)
	p.want(metrics.do("GET", "/metrics", "", "Authorization", "Bearer "+oneKey), 200, "queries_total")
}

func TestKeysAreReplacedByAReload(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", podWith(oneKey), "k.csv", "id\n1\n")
	p := start(t, dir)
	p.want(p.do("POST", "/v1/sql", "SELECT 1 AS a", "X-API-Key", oneKey), 200)
	p.want(p.do("POST", "/v1/sql", "SELECT 1 AS a", "X-API-Key", otherKey), 401)
	write(t, filepath.Join(dir, "spicepod.yaml"), podWith(otherKey))
	p.eventually("to know the other key", func() bool {
		return p.do("POST", "/v1/sql", "SELECT 1 AS a", "X-API-Key", otherKey).status == 200
	})
	p.want(p.do("POST", "/v1/sql", "SELECT 1 AS a", "X-API-Key", oneKey), 401)
	// A mistake in the keys refuses the reload; the last ones stay.
	write(t, filepath.Join(dir, "spicepod.yaml"), podWith(oneKey+", "+oneKey))
	p.eventually("to refuse the reload", func() bool { return strings.Contains(p.log.String(), "the Spicepod was refused") })
	p.want(p.do("POST", "/v1/sql", "SELECT 1 AS a", "X-API-Key", otherKey), 200)
	for _, key := range []string{oneKey, otherKey} {
		if strings.Contains(p.log.String(), key) {
			t.Errorf("the log has the key %s", key)
		}
	}
}

func TestEverythingIsAudited(t *testing.T) {
	t.Parallel()
	pod := strings.Replace(podWith(oneKey+`:rw`), "  auth:", "  audit: { file: audit.jsonl }\n  auth:", 1)
	dir := folder(t, "spicepod.yaml", strings.Replace(pod, oneKey+":rw", "'"+oneKey+":rw'", 1), "k.csv", "id\n1\n")
	p := start(t, dir)
	p.do("POST", "/v1/sql", "SELECT 'a literal' AS a FROM k", "X-API-Key", oneKey)
	p.do("POST", "/v1/sql", "SELECT 'a literal' AS a FROM k", "X-API-Key", oneKey) // remembered
	p.do("POST", "/v1/sql", "SELECT nosuch FROM k", "X-API-Key", oneKey)
	p.do("POST", "/v1/sql", "SELECT 1", "X-API-Key", otherKey)
	p.do("POST", "/v1/tools/sql:invoke", `{"args":{"query":"SELECT 'a literal' AS a"}}`, "X-API-Key", oneKey)
	log := auditLog(t, dir)
	for want, n := range map[string]int{
		`"kind":"statement","door":"http","outcome":"ok","principal":"key-1","user":"key-1"`:         2,
		`"kind":"statement","door":"http","outcome":"not_found","principal":"key-1"`:                 1,
		`"kind":"login","door":"http","outcome":"unauthorized"`:                                      1,
		`"kind":"tool","door":"http","outcome":"ok","principal":"key-1","user":"key-1","tool":"sql"`: 1,
		`"sql":"select ? as a"`: 1, // the tool's
	} {
		if got := strings.Count(log, want); got != n {
			t.Errorf("%d times %s, want %d:\n%s", got, want, n, log)
		}
	}
	if strings.Contains(log, "literal") || strings.Contains(log, oneKey) || strings.Contains(log, otherKey) {
		t.Errorf("it has a literal or a key: %s", log)
	}
	if info, err := os.Stat(filepath.Join(dir, "audit.jsonl")); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
}

// Who is refused is named, with what they wanted to run where that is known.
func TestRefusalsAreAudited(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", strings.Replace(podWith(oneKey), "  auth:\n    api-key:\n", `  audit: { file: audit.jsonl }
  auth:
    api-key:
      principals: [{ name: slow, key: `+otherKey+`, limits: { requests_per_second: 0.0001, burst: 1 } }]
`, 1), "k.csv", "id\n1\n")
	p := start(t, dir, sqlProtocols()...)
	p.want(p.do("POST", "/v1/sql", "SELECT 1", "X-API-Key", otherKey), 200)
	protocols := p.protocolsFor("slow", otherKey)
	for _, protocol := range protocols {
		if got := protocol.run(t.Context(), "SELECT 'a literal' AS refused"); got.err == nil {
			t.Errorf("%s lets it through", protocol.name)
		}
	}
	p.want(p.do("POST", "/v1/reload", "", "X-API-Key", oneKey), 403, ":rw")
	p.want(p.do("POST", "/v1/sql", "SELECT 1", "X-API-Key", oneKey, "Origin", "https://evil.example"), 403)
	log := auditLog(t, dir)
	for want, n := range map[string]int{
		`"kind":"request","door":"http","outcome":"rate_limited","principal":"slow"`:       3, // a statement, a submitted one, a tool
		`"kind":"statement","door":"postgres","outcome":"rate_limited","principal":"slow"`: 6, // each with a ROLLBACK after it
		`"kind":"statement","door":"flight","outcome":"rate_limited","principal":"slow"`:   2,
		`"sql":"select ? as refused"`: 5,
		`"kind":"request","door":"http","outcome":"permission_denied","principal":"key-1"`: 1,
		`"kind":"request","door":"http","outcome":"origin_not_allowed","request_id"`:       1,
	} {
		if got := strings.Count(log, want); got != n {
			t.Errorf("%d times %s, want %d:\n%s", got, want, n, log)
		}
	}
	if strings.Contains(log, "literal") || strings.Contains(log, "-0123456789") {
		t.Errorf("it has a literal or a key: %s", log)
	}
}

// auditLog is what runtime.audit.file has.
func auditLog(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// certificate writes a self-signed certificate for 127.0.0.1, and its key.
func certificate(t *testing.T, dir, name string) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	write(t, certFile, string(certPEM))
	write(t, keyFile, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})))
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return certFile, keyFile, pool
}

// askTLS asks for /health over TLS and returns the name on the certificate.
func askTLS(t *testing.T, url string, pool *x509.CertPool) (name string, header http.Header, err error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}, Timeout: patience}
	resp, err := client.Get(url + "/health")
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close()
	return resp.TLS.PeerCertificates[0].Subject.CommonName, resp.Header, nil
}

func TestTheCertificateIsReplacedAtSIGHUP(t *testing.T) {
	dir := folder(t, "spicepod.yaml", podWith(oneKey), "k.csv", "id\n1\n")
	certFile, keyFile, pool := certificate(t, dir, "first")
	p := &program{t: t, log: &logged{}, status: make(chan int, 1)}
	p.launch(dir, "--tls-certificate-file", certFile, "--tls-key-file", keyFile)
	p.eventually("to listen", func() bool { p.url = p.endpoint("http"); return p.url != "" })
	if !strings.HasPrefix(p.url, "https://") {
		t.Fatalf("it listens at %s", p.url)
	}
	name, header, err := askTLS(t, p.url, pool)
	if err != nil || name != "first" || header.Get("Strict-Transport-Security") == "" {
		t.Fatalf("%s, %v, %v", name, header, err)
	}
	for _, address := range []string{p.url, "http" + strings.TrimPrefix(p.url, "https")} { // health checks have no authority's certificate
		p.eventually("to answer spiced ready at "+address, func() bool {
			text, err := readiness(t.Context(), address)
			return err == nil && text == "ready"
		})
	}
	_, _, second := certificate(t, dir, "second")
	p.signal(syscall.SIGHUP)
	p.eventually("to show the other certificate", func() bool {
		name, _, err := askTLS(t, p.url, second)
		return err == nil && name == "second"
	})
	write(t, keyFile, "no key")
	p.signal(syscall.SIGHUP)
	p.eventually("to keep it", func() bool { return strings.Contains(p.log.String(), "the certificate was not replaced") })
	if name, _, err := askTLS(t, p.url, second); err != nil || name != "second" {
		t.Errorf("%s, %v", name, err)
	}
}

func TestWrongCertificatesAreRefused(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", podWith(oneKey), "k.csv", "id\n1\n")
	certFile, keyFile, _ := certificate(t, dir, "first")
	for want, args := range map[string][]string{
		`nope.pem" does not exist`: {"--tls-certificate-file", filepath.Join(dir, "nope.pem"), "--tls-key-file", keyFile},
		"it has no key":            {"--tls-certificate-file", certFile},
		"has no certificate":       {"--tls-enabled"},
		"runtime.tls: tls:":        {"--tls-certificate-file", keyFile, "--tls-key-file", certFile},
	} {
		status, out := spiced(t, append([]string{"serve", dir, "--http", "127.0.0.1:0", "--metrics", ""}, args...)...)
		if status != 1 || !strings.Contains(out, want) {
			t.Errorf("%v: status %d: %s; want %s", args, status, out, want)
		}
	}
}

// The level of the log does not apply to the audit log.
func TestAuditIsWrittenAtEveryLogLevel(t *testing.T) {
	var log bytes.Buffer
	s := &server{err: &log, flags: serveFlags{logFormat: telemetry.FormatText}}
	a, err := s.openAudit(spicepod.Audit{Mode: spicepod.AuditOn}, false)
	if err != nil {
		t.Fatal(err)
	}
	a.Record(t.Context(), audit.Entry{Kind: audit.Login, Protocol: "http", Outcome: audit.Unauthorized})
	if !strings.Contains(log.String(), "outcome=unauthorized") {
		t.Errorf("got %q", log.String())
	}
}
