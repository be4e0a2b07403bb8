package duckdb

import (
	"github.com/spiced-sql/spiced/internal/data/source"
)

// Kind is the connector of DuckDB files.
var Kind = source.Kind{
	Names: []string{"duckdb"}, Params: duckFile.params, Locked: true, Written: true,
	Draft: draft,
	From:  "`duckdb:orders` with `params.duckdb_open: shop.duckdb`, or `duckdb:shop.duckdb` with `params.table`",
	About: "a table of a DuckDB file; with `access: read_write` it can be written",
	Note:  "`from` names the table and `open` the file, or `from` the file and `table` the table.",
	Open:  duckFile.open,
}

// DuckLake is the connector of tables of DuckLake, which are read only.
var DuckLake = source.Kind{
	Names: []string{"ducklake"}, Params: duckLake.params, Extension: duckLake.extension, Root: "s3://",
	From:    "`ducklake:orders`, `ducklake:schema.orders`",
	Catalog: "`ducklake:metadata.ducklake`, `ducklake:sqlite:metadata.sqlite`",
	About:   "a table or view of a DuckLake catalog in a DuckDB or SQLite file",
	Note: "The data of the catalog is below `runtime.data_roots`, or at `s3://`. A catalog in a DuckDB file cannot " +
		"be written by others while a dataset reads it in place; one in a SQLite file " +
		"can, and statements see each commit. A catalog names the files of its tables: who may write it may read all that " +
		"is below the data roots, and what datasets read at `s3://`.",
	Open: func(h source.Host) source.Connector { return LakeConnector{duckLake.connector(h)} },
}

// SQLite is the connector of SQLite files, which are read only. Other processes may write them
// meanwhile.
var SQLite = source.Kind{
	Names: []string{"sqlite"}, Params: sqliteFile.params, Extension: sqliteFile.extension,
	Draft: draft,
	From:  "`sqlite:shop.db/orders`, `sqlite:orders` with `params.sqlite_file: shop.db`",
	About: "a table or view of a SQLite file, which other processes may write meanwhile",
	Note: "`from` names the table and `open` the file, or `from` the file and `table` the table. A column without " +
		"a type is a BLOB.",
	Open: sqliteFile.open,
}
