package lake

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source/objectstore"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

var icebergFormat = format{
	connector: "iceberg", title: "Iceberg", extension: "iceberg", log: "metadata", store: icebergNames,
	azure: icebergAzure, version: icebergVersion, selectRows: icebergRows,
	params: slices.Concat(icebergNames.Params(), icebergAzure.Params(), []spicepod.Param{{
		Name: metadataPath, Doc: "The metadata file to read, such as v1.metadata.json or " +
			"s3://bucket/table/metadata/v1.metadata.json. Default: the newest of the table.",
	}}),
}

var (
	icebergNames = objectstore.S3Names("iceberg_s3")
	icebergAzure = objectstore.AzurePrefix("iceberg_azure_storage")
)

// icebergRows reads a table. The paths in its files are those of its writer; DuckDB
// only uses the part of them in the folder of the table.
func icebergRows(url string) string {
	return "SELECT * FROM iceberg_scan(" + engine.Literal(url) + ", allow_moved_paths = true)"
}

const (
	metadataPath = "metadata_path" // a param
	versionHint  = "metadata/version-hint.text"
	metadataFile = ".metadata.json"
)

// icebergVersion returns a function that returns the version to read, as the file
// version-hint.text has it.
func icebergVersion(ctx context.Context, s *lakeSource) (func(context.Context) (string, error), error) {
	if !s.params.Has(metadataPath) {
		_, err := s.newest(ctx)
		return s.newest, err
	}
	wanted, err := s.params.String(metadataPath)
	if err != nil {
		return nil, err
	}
	name := path.Base(wanted)
	if !strings.HasSuffix(name, metadataFile) {
		return nil, fault.New("params."+metadataPath, "", "%q is not the name of a file *%s", wanted, metadataFile)
	}
	found, err := s.store.List(ctx, s.bucket, s.folder+"metadata/"+name, "", 0)
	switch {
	case err != nil:
		return nil, s.store.Fault(err)
	case len(found) == 0 || path.Base(found[0].Key) != name:
		return nil, fault.New("params."+metadataPath, "it must be in the folder metadata of the table",
			"the table has no metadata file %q", name).Retryable()
	}
	return func(context.Context) (string, error) { return version(name), nil }, nil
}

// newest returns the version of the newest metadata file.
func (s *lakeSource) newest(ctx context.Context) (string, error) {
	found, err := s.store.List(ctx, s.bucket, s.folder+"metadata/", "", maxMetadata)
	if err != nil {
		return "", s.store.Fault(err)
	}
	if len(found) > maxMetadata {
		return "", fault.New("from", "remove orphan files and old snapshots",
			"the folder metadata of the table has more than %d files", maxMetadata)
	}
	found = slices.DeleteFunc(found, func(o objectstore.Object) bool { return !strings.HasSuffix(o.Key, metadataFile) })
	if len(found) == 0 {
		return "", fault.New("from", "name the folder of a table",
			"%q is not a table of Iceberg: its folder metadata has no file *%s", s.from, metadataFile).Retryable()
	}
	last := slices.MaxFunc(found, func(a, b objectstore.Object) int {
		return cmp.Or(cmp.Compare(number(a.Key), number(b.Key)), a.Modified.Compare(b.Modified))
	})
	return version(path.Base(last.Key)), nil
}

const maxMetadata = 100_000

// version is the version of a metadata file: 3 of v3.metadata.json, 00003-… of
// 00003-….metadata.json.
func version(name string) string {
	name = strings.TrimSuffix(name, metadataFile)
	if n := number(name); n >= 0 && name == "v"+strconv.Itoa(n) {
		return strconv.Itoa(n)
	}
	return name
}

// number returns the number that a metadata file begins with, or -1.
func number(key string) int {
	name := strings.TrimPrefix(path.Base(key), "v")
	end := strings.IndexFunc(name, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(name)
	}
	n, err := strconv.Atoi(name[:end])
	if err != nil {
		return -1
	}
	return n
}
