package objectstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Table is a table whose own files name the others, such as the log of a Delta Lake table.
type Table struct {
	Kind   string // of the table; tables of other kinds are others
	Store  Store
	Bucket string
	Folder string // "", or it ends with a slash
	// Computed returns files that the proxy answers itself, by their names in the folder.
	Computed map[string]func(ctx context.Context) (string, error)
}

// table is a table that is served.
type table struct{ Table }

// The names of a table for DuckDB: its bucket is a random one, so that the files of a
// table cannot name those of another, and its folder is in that bucket alone.
const (
	hiddenBucket = engine.Hidden + "lake_"
	hiddenFolder = "table/"
)

// maxFiles are the files of a table that a list returns.
const maxFiles = 1_000_000

// ServeTable makes DuckDB read a table, but no file outside of its folder, at the URL that
// it returns, until all that got the resource have released it.
func (p *Proxy) ServeTable(t Table) (url string, _ *resource.Resource, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.mounts {
		if m.table != nil && m.table.same(t) {
			m.held.Retain()
			return m.url(), m.held, nil
		}
	}
	m := &mount{
		scheme: "s3", bucket: hiddenBucket + strings.ToLower(rand.Text()), key: hiddenFolder, store: t.Store,
		table: &table{t},
	}
	held, err := p.add(m)
	return m.url(), held, err
}

func (m *mount) url() string {
	return m.scheme + "://" + m.bucket + "/" + strings.TrimSuffix(m.key, "/")
}

func (t *table) same(other Table) bool {
	return t.Kind == other.Kind && t.Store.ID() == other.Store.ID() && t.Bucket == other.Bucket && t.Folder == other.Folder
}

// serve answers a request by the hidden names.
func (t *table) serve(p *Proxy, w http.ResponseWriter, r *request, s Store) {
	name, _ := strings.CutPrefix(r.key, hiddenFolder)
	if r.key == "" {
		t.serveList(w, r, s)
		return
	}
	if compute := t.Computed[name]; compute != nil {
		text, err := compute(r.Context())
		if err != nil {
			refuse(w, http.StatusForbidden, "AccessDenied", s.Fault(err).Message)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(text))))
		http.ServeContent(w, r.Request, "", time.Time{}, strings.NewReader(text))
		return
	}
	r.bucket, r.key = t.Bucket, t.Folder+name
	s.serve(p, w, r)
}

// listResult is the answer of ListObjectsV2.
type listResult struct {
	XMLName     xml.Name `xml:"ListBucketResult"`
	Name        string
	Prefix      string
	KeyCount    int
	MaxKeys     int
	IsTruncated bool
	// EncodingType is "url" if the keys are encoded as in URLs.
	EncodingType          string `xml:",omitempty"`
	NextContinuationToken string `xml:",omitempty"`
	Contents              []listed
}

type listed struct {
	Key          string
	LastModified string
	ETag         string
	Size         int64
}

func (t *table) serveList(w http.ResponseWriter, r *request, s Store) {
	real := func(key string) string {
		if rest, ok := strings.CutPrefix(key, hiddenFolder); ok {
			return t.Folder + rest
		}
		return ""
	}
	prefix := r.list.Get("prefix")
	found, err := s.List(r.Context(), t.Bucket, real(prefix), real(r.list.Get("start-after")), maxFiles)
	switch {
	case err != nil:
		refuse(w, http.StatusForbidden, "AccessDenied", s.Fault(err).Message)
		return
	case len(found) > maxFiles:
		refuse(w, http.StatusForbidden, "AccessDenied", fmt.Sprintf("a folder of the table has more than %d files", maxFiles))
		return
	}
	out := listResult{Name: r.bucket, Prefix: prefix, KeyCount: len(found), MaxKeys: maxFiles}
	for _, o := range found {
		out.Contents = append(out.Contents, o.listed(hiddenFolder+strings.TrimPrefix(o.Key, t.Folder)))
	}
	out.write(w)
}

func (l listResult) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/xml")
	xml.NewEncoder(w).Encode(l) //nolint:errcheck // the client has gone
}

// listed is an object in a list, by another key.
func (o Object) listed(key string) listed {
	return listed{key, o.Modified.UTC().Format("2006-01-02T15:04:05.000Z"), o.tag(), o.Size}
}

// tag is an entity tag of an object.
func (o Object) tag() string {
	return cmp.Or(o.Tag, fmt.Sprintf(`"%x-%x"`, o.Modified.UnixNano(), o.Size))
}
