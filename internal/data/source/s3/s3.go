// Package s3 is the connector for objects in S3, in stores with its API and in Google Cloud
// Storage, which DuckDB's extension httpfs reads through a proxy.
//
//	connector := s3.New(db, proxy, 100_000)
//	src, err := connector.Compile(declaration)
//	opened, err := src.Open(ctx)
package s3

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/fileformat"
	"github.com/spiced-sql/spiced/internal/data/source/objectstore"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// kind is a kind of stores.
type kind struct {
	scheme string // of URLs
	params []spicepod.Param
	store  objectstore.Names
}

var (
	s3Kind = newKind("s3", objectstore.Names{
		Endpoint: "s3_endpoint", Region: "s3_region", Auth: "s3_auth", Key: "s3_key", Secret: "s3_secret", Token: "s3_session_token", AllowHTTP: "allow_http",
		IAM: true, Permissions: objectstore.S3Permissions,
	})
	gcsKind = newKind("gs", objectstore.Names{
		Endpoint: "gcs_endpoint", Auth: "gcs_auth", Key: "gcs_key", Secret: "gcs_secret", AllowHTTP: "allow_http",
		Default: "https://storage.googleapis.com", Permissions: "permit storage.objects.list and storage.objects.get to the account of the key",
	})
)

func newKind(scheme string, names objectstore.Names) kind {
	params := append(names.Params(), spicepod.Param{Name: "file_extension", Doc: "Extension of the files of a folder."})
	return kind{scheme, params, names}
}

// Params are those of the connector for S3, and of that for Google Cloud Storage, beside
// the options of the file format.
var (
	Params    = s3Kind.params
	GCSParams = gcsKind.params
)

// Connector reads objects.
type Connector struct {
	kind
	db    *engine.DB
	proxy *objectstore.Proxy
	limit int // of objects in a dataset
}

// New returns a connector for datasets of at most limit objects in S3.
func New(db *engine.DB, proxy *objectstore.Proxy, limit int) *Connector {
	return &Connector{s3Kind, db, proxy, limit}
}

// NewGCS returns a connector for datasets of at most limit objects in Google Cloud
// Storage, of which it uses the API for clients of S3, with HMAC keys:
// https://cloud.google.com/storage/docs/interoperability.
func NewGCS(db *engine.DB, proxy *objectstore.Proxy, limit int) *Connector {
	return &Connector{gcsKind, db, proxy, limit}
}

type s3Source struct {
	*Connector
	bucket, key string // key may be a glob
	extension   string // of the files of a folder; "": any that is served
	reader      *fileformat.Reader
	store       *objectstore.S3
}

// Compile checks the params.
func (c *Connector) Compile(d source.Declaration) (source.Source, error) {
	s := &s3Source{Connector: c}
	_, rest, _ := strings.Cut(d.From.Target, "://")
	s.bucket, s.key, _ = strings.Cut(rest, "/")
	switch {
	case !objectstore.ValidBucket(s.bucket):
		return nil, fault.New("from", "write "+c.scheme+"://bucket/folder/ or "+c.scheme+"://bucket/file.parquet", "%q is not the name of a bucket", s.bucket)
	case !objectstore.CleanKey(s.key):
		return nil, fault.New("from", "write the folder itself", "a part of a key must not be . or ..")
	case strings.ContainsAny(s.key, "#\\") || strings.Contains(s.key, "//") || strings.HasPrefix(s.key, "/"):
		return nil, fault.New("from", "", "the key must not have #, \\ or an empty part")
	}
	var err error
	if s.extension, err = d.Params.String("file_extension"); err != nil {
		return nil, err
	}
	if s.extension != "" {
		s.extension = "." + strings.TrimPrefix(strings.ToLower(s.extension), ".")
	}
	if s.reader, err = fileformat.Compile(d, s.key, slices.Clone(c.params)); err != nil {
		return nil, err
	}
	s.store, err = c.kind.store.Compile(d.Params)
	return s, err
}

// Open finds the objects.
func (s *s3Source) Open(ctx context.Context) (*source.Opened, error) {
	if err := source.NeedsExtension(s.db, objectstore.Extension); err != nil {
		return nil, err
	}
	files, folder, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	held, err := s.proxy.Serve(s.scheme, s.bucket, folder, s.store)
	if err != nil {
		return nil, err
	}
	out, err := s.reader.Open(ctx, s.db, files)
	if err != nil {
		resource.Release(held)
		return nil, err
	}
	out.Resources = []*resource.Resource{held}
	return out, nil
}

// fixed is the folder of a glob, or the key itself.
func (s *s3Source) fixed() string {
	if at := strings.IndexAny(s.key, "*?["); at >= 0 {
		return s.key[:strings.LastIndexByte(s.key[:at], '/')+1]
	}
	return s.key
}

// url is the URL of a key for DuckDB.
func (s *s3Source) url(key string) string { return s.scheme + "://" + s.bucket + "/" + key }

// find returns the objects of the key, one, those of a folder, or those that a glob
// matches, and the prefix that they have.
func (s *s3Source) find(ctx context.Context) (files fileformat.Files, prefix string, err error) {
	objects, err := s.store.List(ctx, s.bucket, s.fixed(), "", s.limit)
	if err != nil {
		return files, "", s.store.Fault(err)
	}
	has := func(found func(key string) bool) int {
		return slices.IndexFunc(objects, func(o objectstore.Object) bool { return found(o.Key) })
	}
	at := s.url(s.key)
	switch one := has(func(key string) bool { return key == s.key }); {
	case len(objects) > s.limit:
		return files, "", fault.New("from", "name fewer", "%s has more than %d objects", s.url(s.fixed()), s.limit)
	case len(objects) == 0:
		return files, "", fault.New("from", "", "there is no object at %s", at).Retryable()
	case strings.ContainsAny(s.key, "*?["):
		files.Patterns, files.Shown = []string{at}, at
		for _, o := range objects {
			if matches(s.key, o.Key) {
				files.Found, files.Bytes = append(files.Found, o.Key), files.Bytes+o.Size
			}
		}
		if len(files.Found) == 0 {
			err = fault.New("from", "an object there is "+s.url(objects[0].Key), "no object matches %s", at).Retryable()
		}
		return files, s.fixed(), err
	case one >= 0:
		return fileformat.Files{Patterns: []string{at}, Found: []string{s.key}, Bytes: objects[one].Size, Shown: at}, s.key, nil
	}
	folder := s.key
	if folder != "" && !strings.HasSuffix(folder, "/") {
		folder += "/"
	}
	if has(func(key string) bool { return strings.HasPrefix(key, folder) }) < 0 {
		return files, "", fault.New("from", "an object there is "+s.url(objects[0].Key), "there is no object at %s", at).Retryable()
	}
	files, err = s.folder(folder, objects)
	return files, folder, err
}

// folder returns the objects of one format in a folder.
func (s *s3Source) folder(folder string, objects []objectstore.Object) (files fileformat.Files, err error) {
	files.Shown = s.url(folder)
	for _, o := range objects {
		if strings.HasPrefix(o.Key, folder) {
			files.Found, files.Bytes = append(files.Found, "/"+o.Key), files.Bytes+o.Size
		}
	}
	files.Patterns, err = s.reader.Patterns("/"+strings.TrimSuffix(folder, "/"), files.Found, s.extension)
	for i, p := range files.Patterns {
		files.Patterns[i] = s.url(strings.TrimPrefix(p, "/"))
	}
	return files, err
}

// matches reports whether a glob matches a key, where ** matches any folders.
func matches(glob, key string) bool {
	head, rest, more := strings.Cut(glob, "/")
	if head == "**" && more {
		for {
			if matches(rest, key) {
				return true
			}
			_, after, ok := strings.Cut(key, "/")
			if !ok {
				return false
			}
			key = after
		}
	}
	part, after, ok := strings.Cut(key, "/")
	if head == "**" {
		return true
	}
	matched, err := path.Match(head, part)
	return err == nil && matched && more == ok && (!more || matches(rest, after))
}
