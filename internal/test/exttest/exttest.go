// Package exttest finds DuckDB's extensions for tests, which skip where they
// are not installed.
package exttest

import (
	"os"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/extension"
)

// Variable is the environment variable with the folder of the extensions' files.
const Variable = "SPICED_TEST_EXTENSIONS"

// Find returns an extension.
func Find(t testing.TB, name string) engine.Extension {
	t.Helper()
	e := extension.Get(name, os.Getenv(Variable))
	if e.Path == "" {
		t.Skipf("%s IS NOT TESTED: there is no %[1]s.duckdb_extension in the folder that %s names", name, Variable)
	}
	return e
}
