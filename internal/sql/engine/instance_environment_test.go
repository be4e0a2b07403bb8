package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEnvironment: code in C, such as DuckDB's for ~, sees a variable; Go and the programs
// that it starts do not. It runs in a separate process because it changes HOME.
func TestEnvironment(t *testing.T) {
	if os.Getenv("SPICED_TEST_ENVIRONMENT") == "" {
		own := exec.Command(os.Args[0], "-test.run", "^TestEnvironment$", "-test.v")
		own.Env = append(os.Environ(), "SPICED_TEST_ENVIRONMENT=1", "HOME="+t.TempDir())
		if out, err := own.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	home, before := t.TempDir(), os.Getenv("HOME")
	if err := os.WriteFile(filepath.Join(home, "one.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	setenv("HOME=" + home)
	db := open(t)
	if err := db.duck.Load().writer.exec("SELECT CASE WHEN count(*) = 1 THEN 1 ELSE error('no file') END FROM glob('~/*.txt')"); err != nil {
		t.Error(err)
	}
	if now := os.Getenv("HOME"); now != before {
		t.Errorf("Go sees %s", now)
	}
	if out, err := exec.Command("env").Output(); err != nil || strings.Contains(string(out), home) {
		t.Errorf("another program sees %s, %v", out, err)
	}
}
