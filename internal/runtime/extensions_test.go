package runtime

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// lockedBuffer may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements [io.Writer].
func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns what was written.
func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestExtensionThatCannotBeInstalled is that the log says why, and the rest is served.
func TestExtensionThatCannotBeInstalled(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	if err := os.WriteFile(home, nil, 0o600); err != nil { // DuckDB cannot make a folder in a file
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	var log lockedBuffer
	r := start(t, files{"x.csv": "id\n1\n", "spicepod.yaml": `raw:version: v1
kind: Spicepod
name: test
runtime: { extensions: { install: true } }
datasets:
  - { name: good, from: 'file:x.csv' }
  - { name: shop, from: 'sqlite:shop.db/orders' }
`}, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	r.problems(r.LastReport(), "the connector needs DuckDB's extension sqlite_scanner, which is not installed")
	r.want("FROM good", "1")
	if !strings.Contains(log.String(), `msg="cannot install an extension of DuckDB" extension=sqlite_scanner error=`) {
		t.Error(log.String())
	}
}
