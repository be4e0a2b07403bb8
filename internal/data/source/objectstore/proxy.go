// Package objectstore makes DuckDB read object stores, and folders as if they were stores,
// through a [Proxy].
//
//	proxy := objectstore.New(db.Exec, log)
//	defer proxy.Close()
//	store, err := objectstore.S3Names("iceberg_s3").Compile(params)
//	held, err := proxy.Serve("s3", "bucket", "folder/", store) // now DuckDB reads s3://bucket/folder/
package objectstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/xml"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Extension is the extension of DuckDB that reads from the proxy.
const Extension = "httpfs"

// Schemes of URLs that DuckDB reads through the proxy, with the types of its secrets.
var schemes = map[string]string{"s3": "s3", "gs": "gcs"}

// Store is where objects are.
type Store interface {
	// ID is equal for stores that are the same and are read with the same keys.
	ID() string
	// List returns the objects whose keys have a prefix and are greater than after, in
	// their order, at most limit+1.
	List(ctx context.Context, bucket, prefix, after string, limit int) ([]Object, error)
	// Fault explains an error of List.
	Fault(err error) *fault.Fault
	// serve answers a request for an object or, if its key is "", for a list.
	serve(p *Proxy, w http.ResponseWriter, r *request)
}

// Object is an object of a store.
type Object struct {
	Key      string
	Size     int64
	Modified time.Time
	Tag      string // that reads of the object have; "": computed
}

// request is a request of DuckDB that a dataset permits.
type request struct {
	*http.Request
	bucket, key string     // of the store
	list        url.Values // the parameters of a list
	final       bool       // a failure of the store must not look as if it could pass
}

// Proxy is an S3 server on loopback that only DuckDB in this process and in its workers
// reads from. It sends their requests on to the stores of datasets, with the signature
// of each, and only those for objects and lists below the prefix of a dataset. DuckDB
// sees neither addresses nor keys of the stores.
type Proxy struct {
	exec func(ctx context.Context, sql string) error // of DuckDB
	log  *slog.Logger
	work sync.WaitGroup

	mu     sync.Mutex
	server *http.Server // nil until something is served
	host   string       // host:port
	key    string       // of DuckDB
	mounts []*mount     // the longest prefix first
}

// mount is where a dataset reads.
type mount struct {
	scheme, bucket string // as DuckDB sees it
	key            string // prefix of keys: "", or it ends with a slash, or it is one object
	store          Store
	table          *table // nil unless the bucket is hidden
	held           *resource.Resource
}

// New returns a proxy that listens once something is served. exec runs a statement in DuckDB.
func New(exec func(ctx context.Context, sql string) error, log *slog.Logger) *Proxy {
	return &Proxy{exec: exec, log: log}
}

// listen begins to listen.
func (p *Proxy) listen() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for DuckDB: %w", err)
	}
	p.host, p.key = l.Addr().String(), rand.Text()
	p.server = &http.Server{
		Handler: p, ReadHeaderTimeout: time.Minute,
		ErrorLog: slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
	}
	p.work.Go(func() { p.server.Serve(l) })
	return nil
}

// Close ends all requests.
func (p *Proxy) Close() {
	p.mu.Lock()
	server := p.server
	p.mu.Unlock()
	if server != nil {
		server.Close()
		p.work.Wait()
	}
}

// createSecret is the statement that makes DuckDB read the URLs of a scheme through the
// proxy.
func (p *Proxy) createSecret(scheme string) string {
	return fmt.Sprintf("CREATE OR REPLACE TEMPORARY SECRET %s (TYPE %s, SCOPE '%s://', KEY_ID %s, SECRET 'none', REGION "+
		"'us-east-1', ENDPOINT %s, URL_STYLE 'path', USE_SSL false)",
		engine.Identifier(engine.Hidden+scheme), schemes[scheme], scheme, engine.Literal(p.key),
		engine.Literal(p.host+"/"+scheme))
}

// Serve makes DuckDB read the objects below a prefix, at scheme://bucket/key, until all
// that got the resource have released it.
func (p *Proxy) Serve(scheme, bucket, key string, s Store) (*resource.Resource, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, have := range p.mounts {
		if have.scheme != scheme || have.bucket != bucket || have.key != key {
			continue
		}
		if have.store.ID() != s.ID() {
			return nil, fault.New("params", "read both with equal params, or from different folders",
				"another dataset reads %s://%s/%s with other params", scheme, bucket, key)
		}
		have.held.Retain()
		return have.held, nil
	}
	return p.add(&mount{scheme: scheme, bucket: bucket, key: key, store: s})
}

// add serves a mount, which the caller holds.
func (p *Proxy) add(m *mount) (*resource.Resource, error) {
	if p.server == nil {
		if err := p.listen(); err != nil {
			return nil, err
		}
	}
	secret := p.createSecret(m.scheme)
	if err := p.exec(context.Background(), secret); err != nil {
		return nil, fmt.Errorf("make a secret for DuckDB: %w", err)
	}
	m.held = resource.NewWith([]string{secret}, func() { p.forget(m) })
	p.mounts = append(p.mounts, m)
	slices.SortStableFunc(p.mounts, func(a, b *mount) int { return len(b.key) - len(a.key) })
	return m.held, nil
}

// forget ends a mount without holders, unless it was retained again.
func (p *Proxy) forget(gone *mount) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !gone.held.Held() {
		p.mounts = slices.DeleteFunc(p.mounts, func(have *mount) bool { return have == gone })
	}
}

// find returns the mount with the longest prefix of a key, or nil.
func (p *Proxy) find(scheme, bucket, key string) *mount {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, have := range p.mounts {
		if have.scheme == scheme && have.bucket == bucket && strings.HasPrefix(key, have.key) {
			return have
		}
	}
	return nil
}

// listParams are the parameters of lists that are passed on.
var listParams = []string{
	"list-type", "prefix", "delimiter", "continuation-token", "encoding-type", "start-after",
	"max-keys",
}

// ServeHTTP answers GET and HEAD of objects, and ListObjectsV2, at /scheme/bucket/key:
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.authentic(r) {
		refuse(w, http.StatusForbidden, "AccessDenied", "only DuckDB may connect")
		return
	}
	scheme, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	bucket, key, _ := strings.Cut(rest, "/")
	list, under := url.Values{}, key
	if key == "" {
		for _, name := range listParams {
			if r.URL.Query().Has(name) {
				list.Set(name, r.URL.Query().Get(name))
			}
		}
		under = list.Get("prefix")
	}
	m := p.find(scheme, bucket, under)
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "objects are only read")
	case m == nil || !CleanKey(under) || key == "" && list.Get("list-type") != "2":
		refuse(w, http.StatusForbidden, "AccessDenied", "no dataset reads there")
	default:
		m.serve(p, w, &request{r, bucket, key, list, m.table != nil})
	}
}

// authentic reports whether a request is signed with DuckDB's key. The signature is not
// checked: the key is only known to this process and its workers.
func (p *Proxy) authentic(r *http.Request) bool {
	_, credential, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	key, _, _ := strings.Cut(credential, "/")
	return subtle.ConstantTimeCompare([]byte(key), []byte(p.key)) == 1
}

func (m *mount) serve(p *Proxy, w http.ResponseWriter, r *request) {
	if m.table != nil {
		m.table.serve(p, w, r, m.store)
		return
	}
	m.store.serve(p, w, r)
}

// refuse answers as S3 does.
func refuse(w http.ResponseWriter, status int, code, message string) {
	var text bytes.Buffer
	xml.EscapeText(&text, []byte(message)) //nolint:errcheck // a buffer takes all
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>%s</Message></Error>`,
		code, &text)
}

// CleanKey reports whether no part of a key is . or .., which some servers resolve.
func CleanKey(key string) bool {
	for part := range strings.SplitSeq(key, "/") {
		if part == "." || part == ".." {
			return false
		}
	}
	return true
}
