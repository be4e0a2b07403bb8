package diff

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSpiced runs a slice of the differential tester with the spiced of this tree.
func TestSpiced(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "spiced")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/spiced")
	build.Dir = "../../../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build spiced: %v\n%s", err, out)
	}
	for _, isolation := range []string{"none", "process"} {
		t.Run("statements agree with DuckDB/"+isolation, func(t *testing.T) {
			t.Parallel()
			var differences strings.Builder
			o := Options{Program: []string{binary}, Seed: 1, Statements: 16, Isolations: []string{isolation}, Out: &differences}
			report, err := Run(t.Context(), o)
			if err != nil || report.Differences > 0 {
				t.Errorf("%s: %v\n%s", report, err, &differences)
			}
			if report.Compared < 100 || report.Errors > report.Compared/4 {
				t.Errorf("too little was compared: %s", report)
			}
		})
	}
	t.Run("our files in the format of DuckDB's tests", func(t *testing.T) {
		t.Parallel()
		var differences strings.Builder
		counts, err := RunFiles(t.Context(), Options{Program: []string{binary}, Out: &differences}, "testdata/sqllogic")
		if err != nil || counts.Different+counts.WronglyRefused > 0 {
			t.Errorf("%s: %v\n%s", counts, err, &differences)
		}
		if counts.Files != 2 || counts.Equal < 30 || counts.Documented != 2 || counts.Errors < 2 || counts.Skipped != 1 {
			t.Errorf("got %s", counts)
		}
	})
}
