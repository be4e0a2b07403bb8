// Package extension knows the extensions of DuckDB that connectors need, and finds their
// files.
//
//	path := extension.Find("postgres_scanner", directory) // "": it is not installed
package extension

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Known are the extensions that connectors need, with what they serve.
var Known = []struct {
	Name, Serves string
	set          []string // statements
	needs        []string // other extensions, which must be loaded before it
	environment  []string // variables for its C code, as NAME=value
}{
	// A scan of a large table is one statement to the server for each so many pages, also
	// if a condition selects one row. The default is 1000, which is 8 MB. The second setting
	// works around a fault of DuckDB 1.5: a scan of a recursive CTE keeps the filter that the
	// join had in its first iteration, so that later iterations lose rows. Without that
	// optimizer, a join of ten million rows takes a sixth longer.
	{
		"postgres_scanner", "postgres: tables of PostgreSQL servers",
		[]string{"SET GLOBAL pg_pages_per_task = 20000", "SET GLOBAL disabled_optimizers = 'join_filter_pushdown," +
			engine.DisabledOptimizers + "'"},
		nil, nil,
	},
	{"httpfs", "s3:, gs: and abfs: objects of S3, stores like it, Google Cloud Storage and Azure Storage", nil, nil, nil},
	{"mysql_scanner", "mysql: tables of MySQL and MariaDB servers", nil, nil, nil},
	{"sqlite_scanner", "sqlite: tables of SQLite files", nil, nil, nil},
	// Its library in Rust reads all certificates of the system four times in each statement
	// (10 ms each), though it only speaks to the runtime's proxy, without TLS.
	{"delta", "delta_lake: tables of Delta Lake", nil, []string{"httpfs"}, []string{"SSL_CERT_FILE=/dev/null"}},
	{"ducklake", "ducklake: tables of DuckLake", nil, []string{"httpfs", "sqlite_scanner"}, nil},
	{"avro", "iceberg: the manifests of tables", nil, nil, nil},
	{"iceberg", "iceberg: tables of Iceberg", nil, []string{"httpfs", "avro"}, nil},
}

// Needed returns the extensions that must be loaded for some, in an order in which each can
// be loaded.
func Needed(names ...string) (all []string) {
	for _, name := range names {
		for _, k := range Known {
			if k.Name == name {
				all = append(all, Needed(k.needs...)...)
			}
		}
		all = append(all, name)
	}
	for i, name := range slices.Backward(all) {
		if slices.Index(all, name) < i {
			all = slices.Delete(all, i, i+1)
		}
	}
	return all
}

// Get returns the extension of that name, with its file if [Find] finds it.
func Get(name, directory string) engine.Extension {
	e := engine.Extension{Name: name, Path: Find(name, directory)}
	for _, k := range Known {
		if k.Name == name {
			e.Set, e.Environment = k.set, k.environment
		}
	}
	return e
}

// Find returns the path of an extension's file: in the directory, unless it is "", or
// where DuckDB installs extensions. It returns "" if there is none.
func Find(name, directory string) string {
	var folders []string
	if directory != "" {
		folders = append(folders, directory)
	}
	if home, err := os.UserHomeDir(); err == nil {
		folders = append(folders, filepath.Join(home, ".duckdb", "extensions", engine.Version(), platform()))
	}
	for _, folder := range folders {
		path := filepath.Join(folder, name+".duckdb_extension")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// platform is DuckDB's name of this system.
func platform() string {
	system := map[string]string{"darwin": "osx"}[runtime.GOOS]
	if system == "" {
		system = runtime.GOOS
	}
	return system + "_" + runtime.GOARCH
}
