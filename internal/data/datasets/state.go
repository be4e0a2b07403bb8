package datasets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/scratch"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// The state directory:
//
//	lock                            held by the process that uses the folder
//	accelerated/<name>-<hash>.json  manifest: the file that holds a dataset's rows
//	accelerated/<name>-…-<random>.duckdb  rows; what no manifest names is left over from a crash
//	http/<hash>.json, http/<hash>-… fetched files

// manifest says what a materialisation in a file holds.
type manifest struct {
	Relation  engine.Relation `json:"relation"`
	Hash      string          `json:"hash"`   // Dataset.Hash
	File      string          `json:"file"`   // name in the folder
	Format    string          `json:"format"` // of the source
	Rows      int64           `json:"rows"`
	Refreshed time.Time       `json:"refreshed"`
	DuckDB    string          `json:"duckdb"`
}

func (m *Manager) dataDir() string { return filepath.Join(m.stateDir, "accelerated") }

// openState makes the folders, takes the lock and removes what a crash left.
func (m *Manager) openState() error {
	m.stateDir = m.opts.StateDir
	if m.stateDir == "" {
		dir, err := os.MkdirTemp("", "spiced-state-")
		if err != nil {
			return err
		}
		m.stateDir, m.ownState = dir, true
	}
	var err error
	if m.stateDir, err = filepath.Abs(m.stateDir); err != nil {
		return err
	}
	for _, dir := range []string{m.dataDir(), m.cacheDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make the state directory: %w", err)
		}
	}
	if m.stateLock, err = scratch.LockFile(filepath.Join(m.stateDir, "lock")); err != nil {
		return fmt.Errorf("lock the state directory %q: %w", m.stateDir, err)
	}
	return m.cleanState()
}

// cleanState removes materialisations that no manifest names, and fetched
// files without an entry.
func (m *Manager) cleanState() error {
	for _, dir := range []string{m.dataDir(), m.cacheDir()} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		named := map[string]bool{}
		for _, e := range entries {
			var doc struct{ File string }
			if strings.HasSuffix(e.Name(), ".json") && readJSON(filepath.Join(dir, e.Name()), &doc) == nil {
				named[e.Name()], named[doc.File] = true, true
			}
		}
		for _, e := range entries {
			if !named[e.Name()] && !e.IsDir() {
				m.log.Info("remove a leftover of an earlier run", "file", e.Name())
				os.Remove(filepath.Join(dir, e.Name()))
			}
		}
	}
	return nil
}

// fileStem names the files of a relation: readable, and unique by its hash.
func fileStem(r engine.Relation) string {
	readable := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' {
			return c
		}
		return '-'
	}, strings.ToLower(r.Name))
	sum := sha256.Sum256([]byte(relationKey(r)))
	return shortName(readable) + "-" + hex.EncodeToString(sum[:4])
}

func shortName(s string) string { return s[:min(len(s), 40)] }

func (m *Manager) manifestPath(r engine.Relation) string {
	return filepath.Join(m.dataDir(), fileStem(r)+".json")
}

// keep records a published version in a file, so that a restart finds it. The
// first one removes what was kept of another declaration.
func (m *Manager) keep(d *Dataset, v *version, first bool) {
	var old manifest
	if first && readJSON(m.manifestPath(d.Relation), &old) == nil && old.File == filepath.Base(old.File) &&
		(v.data == nil || old.File != filepath.Base(v.data.path)) {
		m.deleteFile(filepath.Join(m.dataDir(), old.File))()
	}
	if v.data == nil || v.data.path == "" {
		os.Remove(m.manifestPath(d.Relation))
		return
	}
	err := writeJSON(m.manifestPath(d.Relation), manifest{
		Relation: d.Relation, Hash: d.Hash, File: filepath.Base(v.data.path), Format: v.format,
		Rows: v.stats.Rows, Refreshed: v.stats.Refreshed.UTC(), DuckDB: engine.Version(),
	})
	if err != nil {
		m.log.Error("record accelerated data; a restart will load it anew", "dataset", d.name, "error", err)
	}
}

// forget removes the record of a dataset that is accelerated in a file no
// more.
func (m *Manager) forget(r engine.Relation) { os.Remove(m.manifestPath(r)) }

// restore returns the version that the last run kept, or nil.
func (m *Manager) restore(ctx context.Context, d *Dataset) *version {
	a := d.acceleration
	if a == nil || a.Mode != "file" || a.RefreshOnStartup == "always" {
		return nil
	}
	var k manifest
	if readJSON(m.manifestPath(d.Relation), &k) != nil || k.Hash != d.Hash || k.File != filepath.Base(k.File) {
		return nil
	}
	path := filepath.Join(m.dataDir(), k.File)
	db, err := m.attach(ctx, "data", path, true, m.deleteFile(path))
	if err != nil {
		m.log.Warn("kept data cannot be read and is loaded anew", "dataset", d.name, "error", err)
		return nil
	}
	v := &version{query: "SELECT * FROM " + db.data(), data: db, resources: []*resource{db.resource}, format: k.Format}
	columns, err := m.describe(ctx, v.query)
	if err == nil {
		v.columns, err = matchColumns(columns, d.columns)
	}
	if err == nil {
		err = m.checkPolicy(ctx, d, v)
	}
	if err != nil {
		m.log.Warn("kept data cannot be read and is loaded anew", "dataset", d.name, "error", err)
		m.release(v.resources...)
		return nil
	}
	v.stats = Stats{Rows: k.Rows, Bytes: fileSize(path), Refreshed: k.Refreshed}
	return v
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return info.Size()
}
