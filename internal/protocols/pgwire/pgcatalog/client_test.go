package pgcatalog_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden results in testdata")

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
			golden(t, strings.TrimSuffix(file, ".sql")+".txt", got)
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}
