package duckdb

import (
	"context"
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

const lakeConnection = "ducklake_connection_string"

// lakeStore are the names of the params of the store that has the data of a catalog.
var lakeStore = objectstore.S3Names("ducklake_aws")

var duckLake = kind{name: "ducklake", extension: "ducklake", params: append([]spicepod.Param{
	{Name: lakeConnection, Doc: "The catalog: the path of a DuckDB file, or sqlite: and the path of a SQLite file."},
}, lakeStore.Params()...)}

// findLake returns the table of a catalog.
func (s *duckSource) findLake() (table, error) {
	const at = "params." + lakeConnection
	text, err := s.d.Params.String(lakeConnection)
	if err != nil {
		return table{}, err
	}
	text = strings.TrimPrefix(text, "ducklake:")
	path, isSQLite := strings.CutPrefix(text, "sqlite:")
	scheme, _, isURL := strings.Cut(path, ":")
	t := splitTable(s.d.From.Target)
	t.path, t.fileType = s.d.From.Absolute(path), "ducklake"
	switch {
	case text == "":
		return t, fault.New("params", "set "+at+" to the catalog, such as metadata.ducklake or sqlite:metadata.sqlite",
			"the connector needs the catalog of the table")
	case isURL && !strings.Contains(scheme, "/"):
		return t, fault.New(at, "write the path of a DuckDB file, or sqlite: and the path of a SQLite file",
			"catalogs at %s: are not served", scheme)
	case isSQLite:
		t.prefix = "sqlite:"
		if err := source.NeedsExtension(s.db, sqliteFile.extension); err != nil {
			return t, err
		}
	}
	return t, s.checkDatabase(t.path, at)
}

// serveData makes the data of a catalog readable, if it is in a store.
func (s *duckSource) serveData(ctx context.Context, db *resource.Database) ([]*resource.Resource, error) {
	path, err := tables.Texts(ctx, s.db, "SELECT value FROM "+engine.Identifier("__ducklake_metadata_"+db.Alias)+
		".ducklake_metadata WHERE key = 'data_path' AND scope IS NULL")
	switch {
	case err != nil:
		return nil, fault.FromDuckDB(err)
	case len(path) != 1:
		return nil, fault.New("params."+lakeConnection, "", "the catalog does not say where its data is")
	}
	scheme, rest, isURL := strings.Cut(path[0], "://")
	switch {
	case !isURL:
		return nil, s.checkData(path[0])
	case scheme != "s3":
		return nil, fault.New("params."+lakeConnection, "", "the catalog has its data at %s://, which is not served", scheme)
	}
	if err := source.NeedsExtension(s.db, objectstore.Extension); err != nil {
		return nil, err
	}
	bucket, key, _ := strings.Cut(strings.TrimSuffix(rest, "/")+"/", "/")
	if !objectstore.ValidBucket(bucket) || !objectstore.CleanKey(key) {
		return nil, fault.New("params."+lakeConnection,
			"", "the catalog has its data at %q, which is not a folder of a store", path[0])
	}
	store, err := lakeStore.Compile(s.d.Params)
	if err != nil {
		return nil, err
	}
	if _, err := store.List(ctx, bucket, key, "", 0); err != nil {
		return nil, store.Fault(err)
	}
	held, err := s.objects.Serve("s3", bucket, key, store)
	if err != nil {
		return nil, err
	}
	return []*resource.Resource{held}, nil
}

// checkData returns a fault if a folder of data is outside of the data roots.
func (s *duckSource) checkData(path string) error {
	if _, err := os.Stat(path); err != nil {
		return nil // a catalog without data has none
	}
	if err := s.roots.CheckFrom(s.d.From, strings.TrimSuffix(path, "/")); err != nil {
		f := fault.Of(err)
		f.Path = "params." + lakeConnection
		return f
	}
	return nil
}
