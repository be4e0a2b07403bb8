package duckdb

import (
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// SQLiteExtension is the extension of DuckDB that reads SQLite files.
const SQLiteExtension = "sqlite_scanner"

// SQLiteParams are the params of the connector for SQLite files.
var SQLiteParams = []spicepod.Param{
	{Name: "open", Doc: "Path of the database; from names the table."},
	{Name: "sqlite_file", Doc: "Another name of open."},
	{Name: "table", Doc: "The table, if from is the path of the database."},
}

// NewSQLite returns a connector for SQLite files, which are read only. Other processes may
// write them meanwhile.
func NewSQLite(db *engine.DB, attacher *resource.Attacher, roots source.Roots) *Connector {
	return newConnector(kind{name: "sqlite", extension: SQLiteExtension, params: SQLiteParams}, db, attacher, roots)
}
