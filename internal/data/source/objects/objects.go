// Package objects is the connectors for objects in S3, in stores with its API, in Google
// Cloud Storage and in Azure Storage, which DuckDB's extension httpfs reads through a proxy.
//
//	connector := objects.S3.Open(source.Host{DB: db, Objects: proxy, MaxFiles: 100_000})
//	src, err := connector.Compile(declaration)
//	opened, err := src.Open(ctx)
package objects

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
	"github.com/spiced-sql/spiced/spicepod"
)

// kind is a kind of stores.
type kind struct {
	params []spicepod.Param
	// locate returns where the objects of `from` are, and the store that params declare.
	locate func(target string, params spicepod.Params) (place, objectstore.Store, error)
}

// place is where the objects of a dataset are.
type place struct {
	scheme, bucket string // of URLs for DuckDB
	shown          string // what comes before keys in messages
	key            string // may be a glob
}

var (
	s3 = newKind("s3", objectstore.Names{
		Endpoint: "s3_endpoint", Region: "s3_region", Auth: "s3_auth", Key: "s3_key", Secret: "s3_secret",
		Token: "s3_session_token", AllowHTTP: "allow_http",
		IAM: true, Permissions: objectstore.S3Permissions,
	})
	gcs = newKind("gs", objectstore.Names{
		Endpoint: "gcs_endpoint", Auth: "gcs_auth", Key: "gcs_key", Secret: "gcs_secret", AllowHTTP: "allow_http",
		Default:     "https://storage.googleapis.com",
		Permissions: "permit storage.objects.list and storage.objects.get to the account of the key",
	})
	azure = kind{withExtension(objectstore.AzureParams()), locateAzure}
)

func newKind(scheme string, names objectstore.Names) kind {
	return kind{
		withExtension(names.Params()),
		func(target string, params spicepod.Params) (place, objectstore.Store, error) {
			_, rest, _ := strings.Cut(target, "://")
			bucket, key, _ := strings.Cut(rest, "/")
			if !objectstore.ValidBucket(bucket) {
				return place{}, nil, fault.New("from", "write "+scheme+"://bucket/folder/ or "+scheme+"://bucket/file.parquet",
					"%q is not the name of a bucket", bucket)
			}
			store, err := names.Compile(params)
			if err != nil {
				return place{}, nil, err
			}
			return place{scheme, store.Bucket(bucket), scheme + "://" + bucket + "/", key}, store, nil
		},
	}
}

// locateAzure names a container, which DuckDB knows as a bucket of S3.
func locateAzure(target string, params spicepod.Params) (place, objectstore.Store, error) {
	store, bucket, key, err := objectstore.CompileAzure(target, params)
	shown, _, _ := strings.Cut(bucket, "~")
	return place{"s3", bucket, "abfs://" + shown + "/", key}, store, err
}

func withExtension(params []spicepod.Param) []spicepod.Param {
	return append(params, spicepod.Param{Name: "file_extension", Doc: "Extension of the files of a folder."})
}

// Connector reads objects.
type Connector struct {
	kind
	source.Host
}

func (k kind) open(h source.Host) source.Connector { return &Connector{k, h} }

type objectSource struct {
	*Connector
	place
	extension string // of the files of a folder; "": any that is served
	reader    *fileformat.Reader
	store     objectstore.Store
}

// Compile checks the params.
func (c *Connector) Compile(d source.Declaration) (source.Source, error) {
	s := &objectSource{Connector: c}
	var err error
	if s.place, s.store, err = c.locate(d.From.Target, d.Params); err != nil {
		return nil, err
	}
	switch {
	case !objectstore.CleanKey(s.key):
		return nil, fault.New("from", "write the folder itself", "a part of a key must not be . or ..")
	case strings.ContainsAny(s.key, "#\\") || strings.Contains(s.key, "//") || strings.HasPrefix(s.key, "/"):
		return nil, fault.New("from", "", "the key must not have #, \\ or an empty part")
	}
	if s.extension, err = d.Params.String("file_extension"); err != nil {
		return nil, err
	}
	if s.extension != "" {
		s.extension = "." + strings.TrimPrefix(strings.ToLower(s.extension), ".")
	}
	s.reader, err = fileformat.Compile(d, s.key, slices.Clone(c.params))
	return s, err
}

// Open finds the objects.
func (s *objectSource) Open(ctx context.Context) (*source.Opened, error) {
	if err := source.NeedsExtension(s.DB, objectstore.Extension); err != nil {
		return nil, err
	}
	files, folder, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	held, err := s.Objects.Serve(s.scheme, s.bucket, folder, s.store)
	if err != nil {
		return nil, err
	}
	files.Prefix, files.ShownPrefix = s.prefix(), s.shown
	if strings.HasSuffix(folder, "/") || folder == "" {
		files.Base = files.Prefix + folder
	}
	out, err := s.reader.Open(ctx, s.Host, files)
	if err != nil {
		resource.Release(held)
		return nil, err
	}
	out.Resources = append(out.Resources, held)
	return out, nil
}

// fixed is the folder of a glob, or the key itself.
func (s *objectSource) fixed() string {
	if at := strings.IndexAny(s.key, "*?["); at >= 0 {
		return s.key[:strings.LastIndexByte(s.key[:at], '/')+1]
	}
	return s.key
}

// prefix is what comes before keys in URLs for DuckDB.
func (p place) prefix() string { return p.scheme + "://" + p.bucket + "/" }

// find returns the objects of the key, one, those of a folder, or those that a glob
// matches, and the prefix that they have.
func (s *objectSource) find(ctx context.Context) (files fileformat.Files, prefix string, err error) {
	objects, err := s.store.List(ctx, s.bucket, s.fixed(), "", s.MaxFiles)
	if err != nil {
		return files, "", s.store.Fault(err)
	}
	has := func(found func(key string) bool) int {
		return slices.IndexFunc(objects, func(o objectstore.Object) bool { return found(o.Key) })
	}
	at, pattern := s.shown+s.key, s.prefix()+s.key
	switch one := has(func(key string) bool { return key == s.key }); {
	case len(objects) > s.MaxFiles:
		return files, "", fault.New("from", "name fewer", "%s has more than %d objects", s.shown+s.fixed(), s.MaxFiles)
	case len(objects) == 0:
		return files, "", fault.New("from", "", "there is no object at %s", at).Retryable()
	case strings.ContainsAny(s.key, "*?["):
		files.Patterns, files.Shown = []string{pattern}, at
		for _, o := range objects {
			if matches(s.key, o.Key) {
				files.Found, files.Bytes = append(files.Found, o.Key), files.Bytes+o.Size
			}
		}
		if len(files.Found) == 0 {
			err = fault.New("from", "an object there is "+s.shown+objects[0].Key, "no object matches %s", at).Retryable()
		}
		return files, s.fixed(), err
	case one >= 0:
		return fileformat.Files{
			Patterns: []string{pattern}, Found: []string{s.key}, Bytes: objects[one].Size,
			Shown: at,
		}, s.key, nil
	}
	folder := s.key
	if folder != "" && !strings.HasSuffix(folder, "/") {
		folder += "/"
	}
	if has(func(key string) bool { return strings.HasPrefix(key, folder) }) < 0 {
		return files, "", fault.New("from", "an object there is "+s.shown+objects[0].Key, "there is no object at %s",
			at).Retryable()
	}
	files, err = s.folder(folder, objects)
	return files, folder, err
}

// folder returns the objects of one format in a folder.
func (s *objectSource) folder(folder string, objects []objectstore.Object) (files fileformat.Files, err error) {
	files.Shown = s.shown + folder
	for _, o := range objects {
		if strings.HasPrefix(o.Key, folder) {
			files.Found, files.Bytes = append(files.Found, "/"+o.Key), files.Bytes+o.Size
		}
	}
	files.Ignored = s.reader.Ignored("/"+folder, files.Found)
	files.Patterns, err = s.reader.Patterns("/"+strings.TrimSuffix(folder, "/"), files.Found, s.extension)
	for i, p := range files.Patterns {
		files.Patterns[i] = s.prefix() + strings.TrimPrefix(p, "/")
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
