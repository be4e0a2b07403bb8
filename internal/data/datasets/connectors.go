package datasets

import (
	"cmp"
	"log/slog"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/duckdb"
	"github.com/spiced-sql/spiced/internal/data/source/fetch"
	"github.com/spiced-sql/spiced/internal/data/source/file"
	"github.com/spiced-sql/spiced/internal/data/source/flightsql"
	"github.com/spiced-sql/spiced/internal/data/source/github"
	"github.com/spiced-sql/spiced/internal/data/source/https"
	"github.com/spiced-sql/spiced/internal/data/source/lake"
	"github.com/spiced-sql/spiced/internal/data/source/mysql"
	"github.com/spiced-sql/spiced/internal/data/source/objects"
	"github.com/spiced-sql/spiced/internal/data/source/objectstore"
	"github.com/spiced-sql/spiced/internal/data/source/postgres"
	"github.com/spiced-sql/spiced/spicepod"
)

// distinctNote is about a fault of the filters that extensions of DuckDB send to servers.
const distinctNote = "Conditions with `IS [NOT] DISTINCT FROM` within OR cannot be sent to the server, and fail: " +
	"write `x = 5` for `x IS NOT DISTINCT FROM 5`, and `x <> 5 OR x IS NULL` for `x IS DISTINCT FROM 5`."

// joinNote is about DuckDB 1.5.5, see package extension.
const joinNote = "With a dataset from postgres, DuckDB's optimizer `join_filter_pushdown` is off: with it, recursive " +
	"CTEs that join a table of the server lose rows."

// connector compiles declarations to sources. If it has a method Close, that is called
// when the manager is closed.
type connector interface {
	Compile(source.Declaration) (source.Source, error)
}

// kind describes a connector. docs/connectors.md is made of the kinds.
type kind struct {
	names     []string // of the connector: prefixes of `from`
	from      string   // examples of `from`, in Markdown
	about     string   // what it reads, in Markdown
	params    []spicepod.Param
	note      string // on the params, in Markdown
	extension string // of DuckDB, which must be loaded before DuckDB is locked; "": none
	root      string // what DuckDB must be allowed to read, in addition to folders; "": nothing
	copied    bool   // only a copy can be read
	written   bool   // tables can be written
	catalog   string // examples of `from` of catalogs, in Markdown; "": it has none
	open      func(parts) (connector, error)
	proxy     func(*slog.Logger) (proxy, error)             // that the extension reads; nil: none
	draft     func(text, more string) (source.Draft, error) // see NewDraft; nil: the text is the `from`
}

// parts are what connectors are made of.
type parts struct {
	Options
	attacher *resource.Attacher
	roots    source.Roots
	progress *load.Reporter
	objects  *objectstore.Proxy
	cache    *fetch.Cache
}

const formatNote = "And `file_format`, if the name does not show it, with the options of the format."

// kinds are the connectors, in the order of the docs.
var kinds = []kind{
	{
		names: []string{"abfs", "abfss"}, params: objects.AzureParams, extension: objectstore.Extension, root: "s3://",
		note: formatNote + " One of the access key, the SAS, the bearer token, the client secret and `abfs_skip_signature` " +
			"is needed. Managed identities, the tokens of the Azure CLI and of Kubernetes, " +
			"and proxies by params are not served; a proxy of the environment is used. The tests have Azurite " +
			"in place of Azure.",
		from: "`abfs://container/folder/` with `params.abfs_account`, " +
			"`abfs://container@account.dfs.core.windows.net/folder/*.csv`",
		about: "as `s3`, of Azure Blob Storage and Azure Data Lake Storage (Gen2)",
		open:  func(p parts) (connector, error) { return objects.NewAzure(p.DB, p.objects, p.Limits.Files), nil },
	},
	{
		names: []string{"file"}, params: file.Params, note: formatNote,
		from: "`file:trips.csv`, `file:trips/*.parquet`, `file:folder/`",
		about: "a file, files by pattern, or a folder of files of one format, below `runtime.data_roots`; relative paths " +
			"start at the folder of the Spicepod. `.gz` and `.zst` are read, too",
		open: func(p parts) (connector, error) { return file.New(p.DB, p.roots, p.Limits.Files), nil },
	},
	{
		names: []string{"http", "https"}, draft: https.Draft, params: https.Params,
		note: formatNote + " Set an acceleration with `refresh_check_interval` for an API whose rows change: without one, " +
			"the rows are those of the last reload. " +
			"With `allowed_request_paths`, `request_query_filters` or `request_body_filters`, statements choose the requests " +
			"below the URL: [acceleration.md](acceleration.md#answers-of-apis). " +
			"Everyone who may read the dataset sends them with its credentials; a path must match a pattern as it is written " +
			"and when it is decoded. " +
			"With `auth_token_url`, requests have an access token of OAuth 2.0, which is renewed a minute before it expires " +
			"and once when the server answers 401; datasets with equal params share it. " +
			"A refresh token that the endpoint replaces is kept in memory only: if it may be used once, use " +
			"`client_credentials`, or write the newest one before a restart.",
		from: "`https://example.com/trips.parquet`, `https://api.example.com/v1/trips`",
		about: "a file that is fetched, and again when it has changed; or the rows of a JSON API, page by page; or the " +
			"answers of an API to requests that statements choose",
		open: func(p parts) (connector, error) {
			return https.New(https.Options{
				DB: p.DB, Cache: p.cache, MaxDownload: p.Limits.Download, Clock: p.Clock,
				Progress: p.progress,
			}), nil
		},
	},
	{
		names: []string{"duckdb"}, draft: duckdb.Draft, params: duckdb.Params, written: true,
		note:  "`from` names the table and `open` the file, or `from` the file and `table` the table.",
		from:  "`duckdb:orders` with `params.duckdb_open: shop.duckdb`, or `duckdb:shop.duckdb` with `params.table`",
		about: "a table of a DuckDB file; with `access: read_write` it can be written",
		open:  func(p parts) (connector, error) { return duckdb.New(p.DB, p.attacher, p.roots), nil },
	},
	{
		names: []string{"delta_lake"}, params: lake.DeltaParams, extension: lake.DeltaExtension, root: "s3://",
		note: "Each statement reads the newest version of the table. Only files in the folder of the table are read: its " +
			"log must not name others.",
		from: "`delta_lake:folder`, `delta_lake:s3://bucket/table/`, `delta_lake:abfss://container@account/table/`",
		about: "a table of Delta Lake, in a folder below `runtime.data_roots`, in a store with the API of S3 or " +
			"in Azure Storage",
		open: func(p parts) (connector, error) { return lake.NewDelta(p.DB, p.objects, p.roots), nil },
	},
	{
		names: []string{"ducklake"}, params: duckdb.DuckLakeParams, extension: duckdb.DuckLakeExtension, root: "s3://",
		catalog: "`ducklake:metadata.ducklake`, `ducklake:sqlite:metadata.sqlite`",
		note: "The data of the catalog is below `runtime.data_roots`, or at `s3://`. A catalog in a DuckDB file cannot " +
			"be written by others while a dataset reads it in place; one in a SQLite file " +
			"can, and statements see each commit. A catalog names the files of its tables: who may write it may read all that " +
			"is below the data roots, and what datasets read at `s3://`.",
		from:  "`ducklake:orders`, `ducklake:schema.orders`",
		about: "a table or view of a DuckLake catalog in a DuckDB or SQLite file",
		open:  func(p parts) (connector, error) { return duckdb.NewDuckLake(p.DB, p.attacher, p.roots, p.objects), nil },
	},
	{
		names: []string{"flightsql"}, draft: flightsql.Draft, params: flightsql.Params, copied: true,
		catalog: "`flightsql`, `flightsql:catalog`",
		note:    "The user and password are sent as the handshake of Flight and, to servers without one, with each call.",
		from:    "`flightsql:orders`, `flightsql:catalog.schema.orders`",
		about: "a table of a Flight SQL server, such as another spiced, InfluxDB 3 or Dremio, by its name, with each part " +
			"quoted if it has a dot, into an accelerated copy",
		open: func(p parts) (connector, error) { return flightsql.New(p.DB), nil },
	},
	{
		names: []string{"github"}, params: github.Params, copied: true,
		note: "The columns are those of Spice. Each load asks for all rows: about one request for 100 issues, commits or " +
			"stargazers, 50 pull requests, or one file. " +
			"Of the labels, assignees, comments and commits of a row the first 100 are there. `content` of a file is NULL " +
			"if it is not a text or larger than 8 MiB.",
		from: "`github:github.com/owner/repository/issues`, `…/pulls`, `…/commits`, `…/stargazers`, `…/files/branch`",
		about: "issues, pull requests, commits of the default branch, stargazers, or the files of a branch, tag or commit, " +
			"of a repository at GitHub, into an accelerated copy",
		open: func(p parts) (connector, error) {
			return github.New(github.Options{
				DB: p.DB, Cache: p.cache, MaxBytes: p.Limits.Download, Clock: p.Clock,
				Progress: p.progress,
			}), nil
		},
	},
	{
		names: []string{"gs"}, params: objects.GCSParams, extension: objectstore.Extension, root: "gs://",
		note: formatNote + " `gcs_key` and `gcs_secret` are an HMAC key of Cloud Storage; service accounts by their JSON " +
			"files are not served. Two datasets that read from one folder must have equal params.",
		from:  "`gs://bucket/folder/`, `gs://bucket/folder/*.csv`, `gs://bucket/file.parquet`",
		about: "as `s3`, of Google Cloud Storage",
		open:  func(p parts) (connector, error) { return objects.NewGCS(p.DB, p.objects, p.Limits.Files), nil },
	},
	{
		names: []string{"iceberg"}, params: lake.IcebergParams, extension: lake.IcebergExtension, root: "s3://",
		note: "Each statement reads the newest metadata file in the folder `metadata`. Where the table is written through " +
			"a catalog, such as REST or Glue, that may be one " +
			"that the catalog does not have, after a commit that failed; catalogs are not served. Only files in the folder " +
			"of the table are read, whatever it names.",
		from: "`iceberg:folder`, `iceberg:file:///folder`, `iceberg:s3://bucket/table/`, " +
			"`iceberg:abfss://container@account/table/`",
		about: "a table of Iceberg, in a folder below `runtime.data_roots`, in a store with the API of S3 or in " +
			"Azure Storage",
		open: func(p parts) (connector, error) { return lake.NewIceberg(p.DB, p.objects, p.roots), nil },
	},
	{
		names: []string{"mysql"}, draft: mysql.Draft, params: mysql.Params, written: true, extension: mysql.Extension,
		catalog: "`mysql`, `mysql:shop`",
		note: "For a server on this machine, `mysql_sslmode` is `preferred` unless it is set: such servers often have no " +
			"TLS. Enums, sets, `json` and `time` are texts, " +
			"and texts are compared by their bytes, as everywhere in DuckDB, not by the collation of their column. Dates with " +
			"a zero are NULL. " +
			"A `decimal` of more than 38 digits is a DOUBLE, and the blanks at the end of `char(n)` are left out. " +
			"INSERT … RETURNING and ON CONFLICT DO UPDATE need MariaDB, since 10.5. " + distinctNote,
		from: "`mysql:orders`, `mysql:shop.orders`",
		about: "a table or view of a MySQL or MariaDB server, by `table` or `database.table`, each part quoted if it has " +
			"a dot; statements send the columns and conditions that they need to the server; with `access: " +
			"read_write` a table " +
			"can be written",
		proxy: func(log *slog.Logger) (proxy, error) { return mysql.NewProxy(log) },
		open: func(p parts) (connector, error) {
			proxy, _ := p.Proxies.of[mysql.Extension].(*mysql.Proxy)
			return mysql.New(p.DB, proxy), nil
		},
	},
	{
		names: []string{"postgres"}, draft: postgres.Draft, params: postgres.Params, written: true,
		extension: postgres.Extension, catalog: "`pg`, `postgres:shop`",
		note: "For a server on this machine, `pg_sslmode` is `prefer` unless it is set: such servers often have no TLS. " +
			"Types that DuckDB does not have, such as enums, " +
			"`jsonb`, `inet` and domains, are texts, on which conditions are not sent to the server. DuckDB's extension reads " +
			"NaN and Infinity of `numeric` as 0, and `numeric` without a precision, or with one of more than " +
			"38 digits, as DOUBLE. " +
			"A view of the server with a cast to `text` keeps them. The blanks at the end of `char(n)` are left out. " +
			"A statement takes a connection of `connection_pool_size` for each table that it names, and for one of more than " +
			"160 MB one for each thread, until it ends. " +
			"A statement that needs more than there are, and statements that wait for each other, fail after 10 seconds with " +
			"`too_many_requests`: raise it. " + distinctNote + " " + joinNote,
		from: "`postgres:orders`, `postgres:shop.public.orders`",
		about: "a table or view of a PostgreSQL server, by `table`, `schema.table` or `database.schema.table`, each part " +
			"quoted if it has a dot; statements send the columns and conditions that they need to the server; with `access: " +
			"read_write` a table can be written",
		open: func(p parts) (connector, error) { return postgres.New(p.DB, p.Log), nil },
	},
	{
		names: []string{"s3"}, params: objects.S3Params, extension: objectstore.Extension, root: "s3://",
		note: formatNote + " Two datasets that read from one folder must have equal params.",
		from: "`s3://bucket/folder/`, `s3://bucket/folder/*.csv`, `s3://bucket/file.parquet`",
		about: "an object, objects by pattern, or those of one format in a folder, of S3 or a store like " +
			"it; each statement " +
			"lists them and reads the parts that it needs",
		open: func(p parts) (connector, error) { return objects.NewS3(p.DB, p.objects, p.Limits.Files), nil },
	},
	{
		names: []string{"spice.ai", "spiceai"}, draft: flightsql.SpiceDraft, params: flightsql.SpiceParams, copied: true,
		catalog: "`spice.ai:https://host:50051`",
		from:    "`spice.ai:https://host:50051`, `spice.ai/orders`, `spice.ai/org/app/datasets/orders`",
		about: "a dataset of another spiced or Spice, or of Spice.ai; where `from` has the endpoint, the one of " +
			"the dataset's " +
			"own name; into an accelerated copy",
		open: func(p parts) (connector, error) { return flightsql.NewSpice(p.DB), nil },
	},
	{
		names: []string{"sqlite"}, draft: duckdb.Draft, params: duckdb.SQLiteParams, extension: duckdb.SQLiteExtension,
		note: "`from` names the table and `open` the file, or `from` the file and `table` the table. A column without " +
			"a type is a BLOB.",
		from:  "`sqlite:shop.db/orders`, `sqlite:orders` with `params.sqlite_file: shop.db`",
		about: "a table or view of a SQLite file, which other processes may write meanwhile",
		open:  func(p parts) (connector, error) { return duckdb.NewSQLite(p.DB, p.attacher, p.roots), nil },
	},
}

// openConnectors returns the connectors by the prefixes of `from`.
func openConnectors(p parts) (map[string]connector, error) {
	all := map[string]connector{}
	for _, k := range kinds {
		c, err := k.open(p)
		if err != nil {
			return nil, err
		}
		for _, name := range k.names {
			all[name] = c
		}
	}
	return all, nil
}

// kindOf returns the kind of a connector that is served.
func kindOf(name string) kind {
	return kinds[slices.IndexFunc(kinds, func(k kind) bool { return slices.Contains(k.names, name) })]
}

// catalogNames are other names of connectors in `from` of catalogs.
var catalogNames = map[string]string{"pg": "postgres", "postgresql": "postgres"}

// catalogConnector returns the connector and the target of `from` of a catalog.
func catalogConnector(from spicepod.Text) (name, target string) {
	text := strings.TrimSpace(from.Reveal())
	end := strings.IndexAny(text+":", ":/")
	name = strings.ToLower(text[:end])
	if end < len(text) {
		target = strings.TrimPrefix(text[end+1:], "//")
	}
	return cmp.Or(catalogNames[name], name), target
}

// used are the kinds of the datasets and catalogs of a Spicepod.
func used(pod *spicepod.Pod) (some []kind) {
	names := map[string]bool{}
	for _, d := range pod.Datasets {
		name, _, _ := strings.Cut(strings.TrimSpace(d.From.Reveal()), ":")
		names[strings.ToLower(name)] = true
	}
	for _, c := range pod.Catalogs {
		name, _ := catalogConnector(c.From)
		names[name] = true
	}
	for _, k := range kinds {
		if slices.ContainsFunc(k.names, func(name string) bool { return names[name] }) {
			some = append(some, k)
		}
	}
	return some
}

// Extensions returns the extensions of DuckDB that the datasets of a Spicepod need. They
// must be loaded before DuckDB is locked.
func Extensions(pod *spicepod.Pod) (names []string) {
	for _, k := range used(pod) {
		if k.extension != "" {
			names = append(names, k.extension)
		}
	}
	return names
}

// Roots are what DuckDB must be allowed to read for the datasets of a Spicepod, in addition to
// folders.
func Roots(pod *spicepod.Pod) (roots []string) {
	for _, k := range used(pod) {
		if k.root != "" {
			roots = append(roots, k.root)
		}
	}
	return roots
}
