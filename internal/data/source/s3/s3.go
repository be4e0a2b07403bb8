// Package s3 is the connector for objects in S3 and stores with its API, which DuckDB's
// extension httpfs reads through a [proxy].
//
//	connector := s3.New(db, 100_000, log)
//	defer connector.Close()
//	src, err := connector.Compile(declaration)
//	opened, err := src.Open(ctx)
package s3

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/fileformat"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Extension is the extension of DuckDB that the connector needs.
const Extension = "httpfs"

// Root is what DuckDB must be allowed to read.
const Root = "s3://"

// Params are those of the connector, beside the options of the file format.
var Params = []spicepod.Param{
	{Name: "s3_endpoint", Doc: "URL of the store, for example https://minio.example.com. Default: that of S3 in the region."},
	{Name: "s3_region", Doc: "Region of the bucket. Default: us-east-1."},
	{Name: "s3_auth", Doc: "public, key, or iam_role: the keys of the environment, of ~/.aws or of the machine. Default: key with s3_key, else public."},
	{Name: "s3_key", Doc: "Access key."},
	{Name: "s3_secret", Secret: true, Doc: "Secret of the access key."},
	{Name: "s3_session_token", Secret: true, Doc: "Session token of temporary keys."},
	{Name: "client_timeout", Type: spicepod.ParamDuration, Doc: "How long the store may take to answer. Default: 30s."},
	{Name: "allow_http", Type: spicepod.ParamBool, Doc: "Permit an s3_endpoint with http://, which is permitted on this machine anyway."},
	{Name: "file_extension", Doc: "Extension of the files of a folder."},
}

// Connector reads objects.
type Connector struct {
	db    *engine.DB
	limit int // of objects in a dataset
	log   *slog.Logger

	mu    sync.Mutex
	proxy *proxy // nil until a source is opened
}

// New returns a connector for datasets of at most limit objects.
func New(db *engine.DB, limit int, log *slog.Logger) *Connector {
	return &Connector{db: db, limit: limit, log: log}
}

// Close ends all requests.
func (c *Connector) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.proxy != nil {
		c.proxy.close()
	}
}

type s3Source struct {
	*Connector
	bucket, key string // key may be a glob
	extension   string // of the files of a folder; "": any that is served
	reader      *fileformat.Reader
	store       *store
}

// Compile checks the params.
func (c *Connector) Compile(d source.Declaration) (source.Source, error) {
	s := &s3Source{Connector: c}
	_, rest, _ := strings.Cut(d.From.Target, "://")
	s.bucket, s.key, _ = strings.Cut(rest, "/")
	switch {
	case !validBucket(s.bucket):
		return nil, fault.New("from", "write s3://bucket/folder/ or s3://bucket/file.parquet", "%q is not the name of a bucket", s.bucket)
	case !cleanKey(s.key):
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
	if s.reader, err = fileformat.Compile(d, s.key, Params); err != nil {
		return nil, err
	}
	s.store, err = compileStore(d.Params)
	return s, err
}

// validBucket checks the characters and the length of a bucket's name:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html.
func validBucket(name string) bool {
	return len(name) >= 3 && len(name) <= 63 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-._ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" &&
		!strings.Contains(name, "..") && name[0] != '.' && name[0] != '-'
}

// compileStore reads the params of the store.
func compileStore(params spicepod.Params) (*store, error) {
	values := map[string]string{}
	for _, key := range []string{"s3_endpoint", "s3_region", "s3_auth", "s3_key", "s3_secret", "s3_session_token"} {
		var err error
		if values[key], err = params.String(key); err != nil {
			return nil, err
		}
	}
	timeout, err := params.Duration("client_timeout", defaultTimeout)
	if err != nil {
		return nil, err
	}
	if values["s3_region"] == "" {
		values["s3_region"] = "us-east-1"
	}
	endpoint, err := parseEndpoint(params, values["s3_endpoint"], values["s3_region"])
	if err != nil {
		return nil, err
	}
	keys, err := compileKeys(values)
	if err != nil {
		return nil, err
	}
	id := fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q %s", values, timeout)))
	return newStore(id, endpoint, values["s3_region"], keys, timeout)
}

func parseEndpoint(params spicepod.Params, text, region string) (*url.URL, error) {
	if text == "" {
		text = "https://s3." + region + ".amazonaws.com"
	}
	const at = "params.s3_endpoint"
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return nil, fault.New(at, "write https://host, or https://host:port", "the endpoint is not a URL of a store")
	}
	if strings.Trim(u.Path, "/") != "" {
		return nil, fault.New(at, "leave the path out; from names the bucket", "the endpoint has a path")
	}
	permitted, err := params.Value("allow_http", spicepod.ParamBool)
	if params.Has("allow_http") && err != nil {
		return nil, err
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) && (!params.Has("allow_http") || permitted != true) {
		return nil, fault.New(at, "write https://, or set params.allow_http: true", "http://%s sends keys and data in the clear", u.Host)
	}
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// compileKeys returns the keys; nil for public buckets.
func compileKeys(values map[string]string) (*credentials.Credentials, error) {
	auth := values["s3_auth"]
	if auth == "" && values["s3_key"] != "" {
		auth = "key"
	}
	switch {
	case auth == "key" && (values["s3_key"] == "" || values["s3_secret"] == ""):
		return nil, fault.New("params", "set params.s3_key and params.s3_secret", "s3_auth key needs both")
	case auth == "key":
		return credentials.NewStaticV4(values["s3_key"], values["s3_secret"], values["s3_session_token"]), nil
	case auth == "iam_role":
		return credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{}}), nil
	case auth != "" && auth != "public":
		return nil, fault.New("params.s3_auth", "write public, key or iam_role", "%q is not a way to authenticate", auth)
	case values["s3_key"] != "" || values["s3_secret"] != "":
		return nil, fault.New("params.s3_auth", "write s3_auth: key, and both s3_key and s3_secret, or leave them out", "a public bucket is read without a key")
	}
	return nil, nil
}

// Open finds the objects.
func (s *s3Source) Open(ctx context.Context) (*source.Opened, error) {
	if err := source.NeedsExtension(s.db, Extension); err != nil {
		return nil, err
	}
	files, folder, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	held, err := s.serve(folder)
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
func (s *s3Source) url(key string) string { return Root + s.bucket + "/" + key }

// find returns the objects of the key, one, those of a folder, or those that a glob
// matches, and the prefix that they have.
func (s *s3Source) find(ctx context.Context) (files fileformat.Files, prefix string, err error) {
	objects, err := s.store.list(ctx, s.bucket, s.fixed(), s.limit)
	if err != nil {
		return files, "", s.store.fault(err)
	}
	has := func(found func(key string) bool) int {
		return slices.IndexFunc(objects, func(o object) bool { return found(o.key) })
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
			if matches(s.key, o.key) {
				files.Found, files.Bytes = append(files.Found, o.key), files.Bytes+o.size
			}
		}
		if len(files.Found) == 0 {
			err = fault.New("from", "an object there is "+s.url(objects[0].key), "no object matches %s", at).Retryable()
		}
		return files, s.fixed(), err
	case one >= 0:
		return fileformat.Files{Patterns: []string{at}, Found: []string{s.key}, Bytes: objects[one].size, Shown: at}, s.key, nil
	}
	folder := s.key
	if folder != "" && !strings.HasSuffix(folder, "/") {
		folder += "/"
	}
	if has(func(key string) bool { return strings.HasPrefix(key, folder) }) < 0 {
		return files, "", fault.New("from", "an object there is "+s.url(objects[0].key), "there is no object at %s", at).Retryable()
	}
	files, err = s.folder(folder, objects)
	return files, folder, err
}

// folder returns the objects of one format in a folder.
func (s *s3Source) folder(folder string, objects []object) (files fileformat.Files, err error) {
	files.Shown = s.url(folder)
	for _, o := range objects {
		if strings.HasPrefix(o.key, folder) {
			files.Found, files.Bytes = append(files.Found, "/"+o.key), files.Bytes+o.size
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

// serve makes the proxy serve the objects below a prefix, until what it returns is released.
func (s *s3Source) serve(prefix string) (*resource.Resource, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proxy == nil {
		p, err := newProxy(s.log)
		if err != nil {
			return nil, fmt.Errorf("listen for DuckDB: %w", err)
		}
		if err := s.db.Exec(context.Background(), p.createSecret()); err != nil {
			p.close()
			return nil, fmt.Errorf("make a secret for DuckDB: %w", err)
		}
		s.proxy = p
	}
	return s.proxy.serve(s.bucket, prefix, s.store)
}
