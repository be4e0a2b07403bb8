package datasets

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/source/duckdb"
	"github.com/spiced-sql/spiced/internal/data/source/file"
	"github.com/spiced-sql/spiced/internal/data/source/fileformat"
	"github.com/spiced-sql/spiced/internal/data/source/https"
	"github.com/spiced-sql/spiced/internal/data/source/postgres"
	"github.com/spiced-sql/spiced/internal/data/source/s3"
	"github.com/spiced-sql/spiced/internal/test/golden"
	"github.com/spiced-sql/spiced/spicepod"
)

const connectorsHead = `# Connectors

<!-- Written by internal/data/datasets/docs_test.go. Do not edit: change the params
     of the connectors and run: make docs -->

` + "`from: connector:path`" + ` of a dataset names where its rows are; ` + "`params`" + ` has what the connector
needs. Values may contain ` + "`${env:NAME}` and `${secrets:name}`" + `. With ` + "`acceleration: {}`" + ` the rows are
copied and indexed, otherwise each statement reads them where they are:
[spicepod.md](spicepod.md) lists the keys of a dataset.

| connector | ` + "`from`" + ` | |
|---|---|---|
| ` + "`file`" + ` | ` + "`file:trips.csv`, `file:trips/*.parquet`, `file:folder/`" + ` | a file, files by pattern, or a folder of files of one format, below ` + "`runtime.data_roots`" + `; relative paths start at the folder of the Spicepod. ` + "`.gz` and `.zst`" + ` are read, too |
| ` + "`http`, `https`" + ` | ` + "`https://example.com/trips.parquet`" + ` | a file that is fetched, and again when it has changed |
| ` + "`duckdb`" + ` | ` + "`duckdb:orders`" + ` with ` + "`params.duckdb_open: shop.duckdb`, or `duckdb:shop.duckdb` with `params.table`" + ` | a table of a DuckDB file; with ` + "`access: read_write`" + ` it can be written |

| ` + "`postgres`" + ` | ` + "`postgres:orders`, `postgres:shop.public.orders`" + ` | a table or view of a PostgreSQL server, by ` + "`table`, `schema.table` or `database.schema.table`" + `, each part quoted if it has a dot; statements send the columns and conditions that they need to the server |
| ` + "`s3`" + ` | ` + "`s3://bucket/folder/`, `s3://bucket/folder/*.csv`, `s3://bucket/file.parquet`" + ` | an object, objects by pattern, or those of one format in a folder, of S3 or a store like it; each statement lists them and reads the parts that it needs |
| ` + "`sqlite`" + ` | ` + "`sqlite:shop.db/orders`, `sqlite:orders`" + ` with ` + "`params.sqlite_file: shop.db`" + ` | a table or view of a SQLite file, which other processes may write meanwhile |

` + "`postgres`, `s3` and `sqlite`" + ` need extensions of DuckDB, which ` + "`spiced extensions install postgres_scanner httpfs sqlite_scanner`" + `
installs, and which are loaded at the start of a Spicepod with such a dataset.

The other connectors of Spice (MySQL, GitHub and so on) are not served yet; a dataset with one is
named in ` + "`spiced.load_errors`" + ` and the rest is served.
`

// TestDocsOfConnectors compares docs/connectors.md with the params that are taken.
func TestDocsOfConnectors(t *testing.T) {
	var page strings.Builder
	page.WriteString(connectorsHead)
	connector := func(title, more string, params []spicepod.Param) {
		fmt.Fprintf(&page, "\n## %s\n\n| param | type | |\n|---|---|---|\n", title)
		for _, p := range params {
			about := p.Doc
			if p.Secret {
				about += " Use a reference."
			}
			fmt.Fprintf(&page, "| `%s` | %s | %s |\n", p.Name, p.Type, about)
		}
		fmt.Fprintf(&page, "\n%s\n", more)
	}
	options := "And `file_format`, if the name does not show it, with the options of the format."
	connector("file", options, file.Params)
	connector("http, https", options, https.Params)
	connector("duckdb", "`from` names the table and `open` the file, or `from` the file and `table` the table.", duckdb.Params)
	connector("s3", options+" Two datasets that read from one folder must have equal params.", s3.Params)
	connector("sqlite", "`from` names the table and `open` the file, or `from` the file and `table` the table. A column without a type is a BLOB.", duckdb.SQLiteParams)
	connector("postgres", "For a server on this machine, `pg_sslmode` is `prefer` unless it is set: such servers often have no TLS. Types that DuckDB does not have, such as enums, `jsonb`, `inet` and domains, are texts, on which conditions are not sent to the server. DuckDB's extension reads NaN of `numeric` as 0, and `numeric` without a precision as DOUBLE.", postgres.Params)
	page.WriteString("\n## Formats of files\n\nOptions are those of DuckDB's `read_csv`, `read_json` and `read_parquet`, by DuckDB's name or by Spice's, " +
		"each also with the prefix of the format. A CSV file has a header unless `header: false` says otherwise, and its delimiter is a comma, or what splits the header.\n")
	for _, f := range fileformat.Formats() {
		fmt.Fprintf(&page, "\n### %s\n\nExtensions: `%s`. Prefixes: `%s`.\n\n| param | other names | type |\n|---|---|---|\n", f.Name, strings.Join(f.Extensions, "`, `"), strings.Join(f.Prefixes, "`, `"))
		for _, name := range slices.Sorted(maps.Keys(f.Options)) {
			others := ""
			if aliases := f.Aliases[name]; len(aliases) > 0 {
				others = "`" + strings.Join(aliases, "`, `") + "`"
			}
			fmt.Fprintf(&page, "| `%s` | %s | %s |\n", name, others, f.Options[name])
		}
	}
	golden.Equal(t, "../../../docs/connectors.md", page.String())
}
