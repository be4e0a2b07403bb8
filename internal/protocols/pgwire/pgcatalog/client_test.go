package pgcatalog_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/golden"
)

// TestClients runs what clients send, as they send it, through Rewrite and the
// engine's guard. Each testdata/<client>/<case>.sql has its rows in .txt.
func TestClients(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases: ", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), "testdata/"), ".sql")
		t.Run(name, func(t *testing.T) {
			sql, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := query(t, string(sql))
			if err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, strings.TrimSuffix(file, ".sql")+".txt", got)
		})
	}
}
