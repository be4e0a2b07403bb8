package runtime

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/scratch"
)

const stated = "datasets: [{name: o, from: 'file:o.csv', acceleration: {enabled: true, mode: file}}]\nfunctions:\n"

// A state directory that cannot be used, as a whole or in part, is said once and does
// not stop the runtime.
func TestBrokenStateDirectory(t *testing.T) {
	file := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("no folder"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	folder := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.MkdirAll(filepath.Join(dir, name, "x"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		breakIt func(t *testing.T, dir string)
		says    string // in the log
		faulty  string // component
	}{
		"it is a file":             {file("."), "cannot use the state directory", "state"},
		"a parent is a file":       {func(t *testing.T, dir string) { file(".")(t, filepath.Dir(dir)) }, "cannot use the state directory", "state"},
		"the lock is a folder":     {folder("lock"), "cannot use the state directory", "state"},
		"accelerated is a file":    {file("accelerated"), "cannot use the state directory", "state"},
		"http is a file":           {file("http"), "cannot use the state directory", "state"},
		"results is a file":        {file("results"), "cannot use the state directory", "state"},
		"workers is a file":        {file("workers"), "cannot use the state directory", "state"},
		"usage is a file":          {file("usage"), "usage counts are in memory only until a restart", "usage"},
		"the snapshot is a folder": {folder("usage/usage.snapshot"), "cannot write usage counts", "usage"},
		"the journal is a folder":  {folder("usage/usage.journal"), "cannot write usage counts", "usage"},
		"the snapshot is damaged":  {file("usage/usage.snapshot"), "the usage file is damaged", ""},
		"no copy of the damage": {func(t *testing.T, dir string) {
			file("usage/usage.snapshot")(t, dir)
			folder("usage/usage.snapshot.damaged")(t, dir)
		}, "cannot copy the damaged usage file", ""},
		"vectors is a file":          {file("vectors"), "", ""},
		"a manifest is damaged":      {file("accelerated/o-00000000.json"), "", ""},
		"a result cannot be removed": {folder("results/r_x.duckdb"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a", "state")
			c.breakIt(t, dir)
			var log safeBuffer
			r := start(t, files{"spicepod.yaml": stated + fn("f", "x", "x + 1"), "o.csv": "id\n1\n2\n"}, func(o *Options) {
				o.StateDir, o.Log = dir, slog.New(slog.NewTextHandler(&log, nil))
			})
			r.want("SELECT f(max(id)) FROM o", "3")
			if n := strings.Count(log.String(), c.says); c.says != "" && n != 1 {
				t.Errorf("%d times %q:\n%s", n, c.says, log.String())
			}
			var faulty []string
			for _, f := range r.Faults() {
				faulty = append(faulty, f.Component)
			}
			if got := strings.Join(faulty, " "); got != c.faulty {
				t.Errorf("faults of %q, want %q", got, c.faulty)
			}
		})
	}
}

// safeBuffer may be read while it is written.
type safeBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestOneProcessHoldsTheStateDirectory(t *testing.T) {
	dir := t.TempDir()
	pod := files{"spicepod.yaml": "functions:\n" + fn("f", "x", "x + 1")}
	first := prepare(t, pod, func(o *Options) { o.StateDir = dir })
	_, err := New(t.Context(), Options{Path: first.dir, StateDir: dir})
	if !errors.Is(err, scratch.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v", err)
	}
}
