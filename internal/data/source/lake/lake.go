// Package lake is the connector for tables of Delta Lake and of Iceberg, in folders below
// the data roots, in stores with the API of S3 and in Azure Storage. DuckDB's extensions
// read them through the proxy of package objectstore: what the files of a table name is in its folder, or
// is not read.
//
//	connector := lake.Delta.Open(source.Host{DB: db, Objects: proxy, Roots: roots})
//	src, err := connector.Compile(declaration)
//	opened, err := src.Open(ctx)
package lake

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/objectstore"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// format is a format of tables.
type format struct {
	connector string
	title     string
	extension string // of DuckDB
	log       string // the folder in a table that makes it one
	store     objectstore.Names
	azure     objectstore.AzureNames
	params    []spicepod.Param
	// nil: there is none
	version    func(ctx context.Context, s *lakeSource) (func(context.Context) (string, error), error)
	selectRows func(url string) string
}

// Connector reads tables of one format.
type Connector struct {
	*format
	db    *engine.DB
	proxy *objectstore.Proxy
	roots source.Roots
}

func (f *format) open(h source.Host) source.Connector { return &Connector{f, h.DB, h.Objects, h.Roots} }

// lakeSource is a table.
type lakeSource struct {
	*Connector
	declared source.From
	from     string // as declared, without file://
	params   spicepod.Params
	store    objectstore.Store
	bucket   string
	folder   string // in the bucket: "", or it ends with a slash
}

// Compile checks the params.
func (c *Connector) Compile(d source.Declaration) (source.Source, error) {
	if err := d.Params.CheckKnown("a dataset from "+c.connector, spicepod.ParamNames(c.params)); err != nil {
		return nil, err
	}
	s := &lakeSource{Connector: c, declared: d.From, params: d.Params, from: d.From.Target}
	scheme, rest, isURL := strings.Cut(s.from, "://")
	switch {
	case isURL && (scheme == "s3" || scheme == "s3a"):
		return s, s.compileS3(rest)
	case isURL && (scheme == "abfs" || scheme == "abfss"):
		return s, s.compileAzure()
	case isURL && scheme == "file":
		s.from = rest
	case isURL:
		return nil, fault.New("from", "write "+c.connector+":s3://bucket/table/, "+c.connector+
			":abfss://container@account/table/ or "+c.connector+":folder", "%s tables at %s:// are not served", c.title, scheme)
	}
	s.from = d.From.Absolute(s.from)
	s.store = objectstore.NewFolder(s.from, c.roots.Open)
	return s, nil
}

func (s *lakeSource) compileS3(rest string) (err error) {
	var key string
	s.bucket, key, _ = strings.Cut(strings.TrimRight(rest, "/"), "/")
	if !objectstore.ValidBucket(s.bucket) {
		return fault.New("from", "write "+s.connector+":s3://bucket/table/", "%q is not the name of a bucket", s.bucket)
	}
	if err = s.setFolder(key); err == nil {
		s.store, err = s.format.store.Compile(s.params)
	}
	return err
}

func (s *lakeSource) compileAzure() error {
	store, bucket, key, err := s.azure.Compile(s.from, s.params)
	if err != nil {
		return err
	}
	s.store, s.bucket = store, bucket
	return s.setFolder(strings.TrimRight(key, "/"))
}

func (s *lakeSource) setFolder(key string) error {
	if !objectstore.CleanKey(key) || strings.Contains(key, "//") {
		return fault.New("from", "write the folder itself", "a part of a key must not be empty, . or ..")
	}
	if key != "" {
		s.folder = key + "/"
	}
	return nil
}

// Open finds the table.
func (s *lakeSource) Open(ctx context.Context) (*source.Opened, error) {
	if err := source.NeedsExtension(s.db, s.extension); err != nil {
		return nil, err
	}
	if err := s.find(ctx); err != nil {
		return nil, err
	}
	table := objectstore.Table{Kind: s.connector, Store: s.store, Bucket: s.bucket, Folder: s.folder}
	if s.version != nil {
		version, err := s.version(ctx, s)
		if err != nil {
			return nil, err
		}
		path, _ := s.params.String(metadataPath)
		table.Kind, table.Computed = s.connector+" "+path,
			map[string]func(context.Context) (string, error){versionHint: version}
	}
	url, held, err := s.proxy.ServeTable(table)
	if err != nil {
		return nil, err
	}
	out := &source.Opened{Query: s.selectRows(url), Format: s.connector, Resources: []*resource.Resource{held}}
	if out.Columns, err = tables.Describe(ctx, s.db, out.Query); err != nil {
		resource.Release(held)
		return nil, s.explain(err)
	}
	return out, nil
}

// find returns a fault if there is no table.
func (s *lakeSource) find(ctx context.Context) error {
	if s.bucket == "" {
		if err := s.findFolder(); err != nil {
			return err
		}
	}
	found, err := s.store.List(ctx, s.bucket, s.folder+s.log+"/", "", 0)
	switch {
	case err != nil:
		return s.store.Fault(err)
	case len(found) > 0:
		return nil
	case s.bucket == "":
		return fault.New("from", "name the folder that has "+s.log, "%q is not a table of %s: it has no folder %s with files",
			s.from, s.title, s.log).Retryable()
	}
	return fault.New("from", "name the folder that has "+s.log, "%s is not a table of %s: there is no object below %s%s/",
		s.from, s.title, s.folder, s.log).Retryable()
}

func (s *lakeSource) findFolder() error {
	if err := s.roots.CheckFrom(s.declared, s.from); err != nil {
		return err
	}
	info, err := os.Stat(s.from)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return source.MissingFile(s.from)
	case err != nil:
		return s.store.Fault(err)
	case !info.IsDir():
		return fault.New("from", "name the folder of the table", "%q is not a folder", s.from)
	}
	return nil
}
