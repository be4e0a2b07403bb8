package golden_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/golden"
)

// recorder is a test that notes its failures.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func TestEqual(t *testing.T) {
	if golden.Update() {
		t.Skip("-update rewrites the file that must differ")
	}
	path := filepath.Join(t.TempDir(), "file.txt")
	if err := os.WriteFile(path, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &recorder{TB: t}
	golden.Equal(r, path, "one\ntwo\n")
	golden.Equal(r, path, []byte("one\ntwo\n"))
	if len(r.errors) != 0 {
		t.Errorf("equal texts fail: %q", r.errors)
	}
	golden.Equal(r, path, "one\n2\n")
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "-update") {
		t.Errorf("other texts give %q", r.errors)
	}
}
