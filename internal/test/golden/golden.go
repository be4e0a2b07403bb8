// Package golden compares what a test produced with a file, and rewrites the
// file when the test runs with -update.
//
//	golden.Equal(t, "testdata/prompt.txt", prompt)
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Update reports whether -update is set, for tests that rewrite parts of a file.
func Update() bool { return *update }

// File returns the text of a golden file, which is got with -update.
func File[T string | []byte](t testing.TB, path string, got T) string {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(want)
}

// Equal compares got with a golden file.
func Equal[T string | []byte](t testing.TB, path string, got T) {
	t.Helper()
	if diff := cmp.Diff(File(t, path, got), string(got)); diff != "" {
		t.Errorf("%s differs (-file +now); review it and run with -update:\n%s", path, diff)
	}
}
