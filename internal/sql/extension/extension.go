// Package extension knows the extensions of DuckDB that connectors need, and finds their
// files.
//
//	path := extension.Find("postgres_scanner", directory) // "": it is not installed
package extension

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Known are the extensions that connectors need, with what they serve.
var Known = []struct{ Name, Serves string }{
	{"postgres_scanner", "postgres: tables of PostgreSQL servers"},
	{"httpfs", "s3: objects of S3 and stores like it"},
	{"sqlite_scanner", "sqlite: tables of SQLite files"},
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
