package runtime

import (
	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/internal/bodies/exec"
	"github.com/spiced-sql/spiced/internal/bodies/remote"
	"github.com/spiced-sql/spiced/internal/bodies/wasm"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/duckdb"
	"github.com/spiced-sql/spiced/internal/data/source/file"
	"github.com/spiced-sql/spiced/internal/data/source/flightsql"
	"github.com/spiced-sql/spiced/internal/data/source/github"
	"github.com/spiced-sql/spiced/internal/data/source/https"
	"github.com/spiced-sql/spiced/internal/data/source/lake"
	"github.com/spiced-sql/spiced/internal/data/source/mysql"
	"github.com/spiced-sql/spiced/internal/data/source/objects"
	"github.com/spiced-sql/spiced/internal/data/source/postgres"
	"github.com/spiced-sql/spiced/spicepod"
)

// Parts are what a Spicepod declares and what comes in kinds. Two more lists are where their kinds
// are: providers of models in internal/llm/models/open.go, and of embeddings in
// internal/find/embeddings/open.go. Toolsets that come with the program
// are read in toolsets.go. Protocols are opened in cmd/spiced/protocols.go.

// bodyKinds are the kinds of bodies of functions that are not SQL.
var bodyKinds = []body.Kind{exec.Kind, wasm.Kind, remote.Kind}

// Connectors are the connectors of datasets and catalogs, in the order of docs/connectors.md.
var Connectors = source.Kinds{
	objects.Azure, file.Kind, https.Kind, duckdb.Kind, lake.Delta, duckdb.DuckLake, flightsql.Kind, github.Kind,
	objects.GCS, lake.Iceberg, mysql.Kind, postgres.Kind, objects.S3, flightsql.Spice, duckdb.SQLite,
}

// Bodies are what functions may declare, for [spicepod.Load].
var Bodies = func() (list []spicepod.BodyKind) {
	for _, k := range bodyKinds {
		list = append(list, k.BodyKind)
	}
	return list
}()

// openBodies returns the makers of bodies, by scheme.
func openBodies(h body.Host) map[string]body.Maker {
	makers := map[string]body.Maker{}
	for _, k := range bodyKinds {
		maker := k.Open(h)
		for _, scheme := range k.Schemes {
			makers[scheme] = maker
		}
	}
	return makers
}
