package s3

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"encoding/xml"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/s3utils"
	"github.com/minio/minio-go/v7/pkg/signer"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// proxy is an S3 server on loopback that only DuckDB in this process and in its workers
// reads from. It sends their requests on to the stores of datasets, with the signature
// of each, and only those for objects and lists below the prefix of a dataset. DuckDB
// sees neither addresses nor keys of the stores.
type proxy struct {
	server *http.Server
	host   string // host:port
	key    string // of DuckDB
	log    *slog.Logger
	work   sync.WaitGroup

	mu       sync.Mutex
	prefixes []*prefix // the longest first
}

// prefix is where a dataset reads.
type prefix struct {
	bucket, key string // key is "" or ends with a slash, unless it is one object
	store       *store
	held        *resource.Resource
}

// secretName is the name of DuckDB's secret for the proxy.
const secretName = engine.Hidden + "s3"

func newProxy(log *slog.Logger) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{host: l.Addr().String(), key: rand.Text(), log: log}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	p.work.Go(func() { p.server.Serve(l) })
	return p, nil
}

func (p *proxy) close() {
	p.server.Close()
	p.work.Wait()
}

// createSecret is the statement that makes DuckDB read s3:// URLs through the proxy.
func (p *proxy) createSecret() string {
	return fmt.Sprintf("CREATE OR REPLACE TEMPORARY SECRET %s (TYPE s3, SCOPE 's3://', KEY_ID %s, SECRET 'none', REGION 'us-east-1', ENDPOINT %s, URL_STYLE 'path', USE_SSL false)",
		engine.Identifier(secretName), engine.Literal(p.key), engine.Literal(p.host))
}

// serve serves objects below a prefix until the resource is released by all that got it.
func (p *proxy) serve(bucket, key string, s *store) (*resource.Resource, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, have := range p.prefixes {
		if have.bucket != bucket || have.key != key {
			continue
		}
		if have.store.id != s.id {
			return nil, fault.New("params", "read both with equal params, or from different folders",
				"another dataset reads s3://%s/%s with other params", bucket, key)
		}
		have.held.Retain()
		return have.held, nil
	}
	added := &prefix{bucket: bucket, key: key, store: s}
	added.held = resource.NewWith([]string{p.createSecret()}, func() { p.forget(added) })
	p.prefixes = append(p.prefixes, added)
	slices.SortStableFunc(p.prefixes, func(a, b *prefix) int { return len(b.key) - len(a.key) })
	return added.held, nil
}

// forget ends a prefix without holders, unless it was retained again.
func (p *proxy) forget(gone *prefix) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !gone.held.Held() {
		p.prefixes = slices.DeleteFunc(p.prefixes, func(have *prefix) bool { return have == gone })
	}
}

// find returns the store of the longest prefix of a key, or nil.
func (p *proxy) find(bucket, key string) *store {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, have := range p.prefixes {
		if have.bucket == bucket && strings.HasPrefix(key, have.key) {
			return have.store
		}
	}
	return nil
}

// Parameters of lists, and headers, that are passed on.
var (
	listParams      = []string{"list-type", "prefix", "delimiter", "continuation-token", "encoding-type", "start-after", "max-keys"}
	requestHeaders  = []string{"Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"}
	responseHeaders = []string{"Content-Length", "Content-Type", "Content-Range", "Accept-Ranges", "Etag", "Last-Modified"}
)

// ServeHTTP answers GET and HEAD of objects, and ListObjectsV2:
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.authentic(r) {
		refuse(w, http.StatusForbidden, "AccessDenied", "only DuckDB may connect")
		return
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	query, under := url.Values{}, key
	if key == "" {
		for _, name := range listParams {
			if r.URL.Query().Has(name) {
				query.Set(name, r.URL.Query().Get(name))
			}
		}
		under = query.Get("prefix")
	}
	s := p.find(bucket, under)
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "objects are only read")
		return
	case s == nil || !cleanKey(under) || key == "" && query.Get("list-type") != "2":
		refuse(w, http.StatusForbidden, "AccessDenied", "no dataset reads there")
		return
	}
	out, err := s.request(r.Context(), r.Method, bucket, key, query)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, "ServiceUnavailable", err.Error())
		return
	}
	for _, name := range requestHeaders {
		if v := r.Header.Get(name); v != "" {
			out.Header.Set(name, v)
		}
	}
	p.pass(w, s, out)
}

// pass sends a request and its response on.
func (p *proxy) pass(w http.ResponseWriter, s *store, out *http.Request) {
	if s.signed() {
		keys, err := s.credentials.GetWithContext(nil)
		if err != nil {
			refuse(w, http.StatusForbidden, "AccessDenied", "there are no credentials")
			return
		}
		out = signer.SignV4(*out, keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken, s.region)
	}
	in, err := s.transport.RoundTrip(out)
	if err != nil {
		p.log.Debug("an object store did not answer", "error", err)
		refuse(w, http.StatusServiceUnavailable, "ServiceUnavailable", s.fault(err).Message)
		return
	}
	defer in.Body.Close()
	for _, name := range responseHeaders {
		if v := in.Header.Get(name); v != "" {
			w.Header().Set(name, v)
		}
	}
	w.WriteHeader(in.StatusCode)
	if _, err := io.CopyBuffer(struct{ io.Writer }{w}, in.Body, make([]byte, 256<<10)); err != nil {
		panic(http.ErrAbortHandler) // DuckDB must not take a part for the whole
	}
}

// authentic reports whether a request is signed with DuckDB's key. The signature is not
// checked: the key is only known to this process and its workers.
func (p *proxy) authentic(r *http.Request) bool {
	_, credential, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	key, _, _ := strings.Cut(credential, "/")
	return subtle.ConstantTimeCompare([]byte(key), []byte(p.key)) == 1
}

// refuse answers as S3 does.
func refuse(w http.ResponseWriter, status int, code, message string) {
	var text bytes.Buffer
	xml.EscapeText(&text, []byte(message)) //nolint:errcheck // a buffer takes all
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>%s</Message></Error>`, code, &text)
}

// cleanKey reports whether no part of a key is . or .., which some servers resolve.
func cleanKey(key string) bool {
	for part := range strings.SplitSeq(key, "/") {
		if part == "." || part == ".." {
			return false
		}
	}
	return true
}

// objectURL returns the URL of an object or a list at an endpoint, in path style.
func objectURL(endpoint *url.URL, bucket, key string, query url.Values) *url.URL {
	u := *endpoint
	u.Path = strings.TrimSuffix(u.Path, "/") + "/" + bucket + "/" + key
	u.RawPath = s3utils.EncodePath(u.Path)
	u.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	return &u
}
