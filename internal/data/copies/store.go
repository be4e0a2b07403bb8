// Package copies keeps the rows of accelerated datasets and views, each load in
// a separate DuckDB database: in memory, or in a file that the next start
// finds.
//
//	store, err := copies.Open(copies.Options{DB: db, Attacher: attacher, Dir: dir, …})
//	version := store.Restore(ctx, table, hash, complete) // of the last run, or nil
//	version, err = store.Load(ctx, copies.Load{Stage: stage, Table: table, Rows: "SELECT * FROM source"})
//	store.Save(table, hash, version, true)               // once it is served
//
// The folder holds
//
//	<name>-<hash>.json               the manifest of a table: which file has its rows
//	<name>-<hash>-<random>.duckdb    rows
//
// A file that no manifest names was left by a crash and is removed at the next
// start.
package copies

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/disk"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// dataTable is the one table of a copy.
const dataTable = "data"

// Options configures [Open]. DB, Attacher, Dir, Clock and Log are needed.
type Options struct {
	DB       *engine.DB
	Attacher *resource.Attacher
	Dir      string // exists, and no other process uses it
	Files    bool   // copies in memory are in files, too, for other processes to attach
	Clock    load.Clock
	Log      *slog.Logger
}

// Store is the copies of one process. It is safe for concurrent use.
type Store struct{ Options }

// Open removes the files that no manifest names.
func Open(o Options) (*Store, error) { return &Store{o}, disk.Clean(o.Dir, o.Log) }

// manifest says what a copy in a file holds.
type manifest struct {
	Relation  engine.Relation `json:"relation"`
	Hash      string          `json:"hash"`   // of the declaration
	File      string          `json:"file"`   // name in the folder
	Format    string          `json:"format"` // of the source
	Rows      int64           `json:"rows"`
	Refreshed time.Time       `json:"refreshed"`
	DuckDB    string          `json:"duckdb"`
}

// fileStem names the files of a relation: readable, and unique by its hash.
func fileStem(r engine.Relation) string {
	readable := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' {
			return c
		}
		return '-'
	}, strings.ToLower(r.Name))
	sum := sha256.Sum256([]byte(tables.Key(r)))
	return readable[:min(len(readable), 40)] + "-" + hex.EncodeToString(sum[:4])
}

func (s *Store) manifestPath(r engine.Relation) string {
	return filepath.Join(s.Dir, fileStem(r)+".json")
}

// Save records a version that is served now, so that a restart finds it. The
// first version of a declaration removes the rows of another one.
func (s *Store) Save(t *tables.Table, hash string, v *tables.Version, first bool) {
	path := s.manifestPath(t.Relation)
	var old manifest
	if first && disk.ReadJSON(path, &old) == nil && old.File == filepath.Base(old.File) &&
		(v.Copy == nil || old.File != filepath.Base(v.Copy.Path)) {
		s.delete(filepath.Join(s.Dir, old.File))
	}
	if v.Copy == nil || v.Copy.Path == "" {
		os.Remove(path)
		return
	}
	err := disk.WriteJSON(path, manifest{
		Relation: t.Relation, Hash: hash, File: filepath.Base(v.Copy.Path), Format: v.Format,
		Rows: v.Stats.Rows, Refreshed: v.Stats.Refreshed.UTC(), DuckDB: engine.Version(),
	})
	if err != nil {
		s.Log.Error("record accelerated data; a restart will load it again", t.Kind, t.Name, "error", err)
	}
}

// Forget removes the manifest of a dataset that has no copy in a file any more.
func (s *Store) Forget(r engine.Relation) { os.Remove(s.manifestPath(r)) }

// Restore returns the version that the last run saved, which complete may
// change or refuse; nil when no copy was saved or it cannot be read.
func (s *Store) Restore(ctx context.Context, t *tables.Table, hash string, complete func(*tables.Version) error) *tables.Version {
	a := t.Acceleration
	if a == nil || a.Mode != spicepod.ModeFile || a.RefreshOnStartup == "always" {
		return nil
	}
	var k manifest
	if disk.ReadJSON(s.manifestPath(t.Relation), &k) != nil || k.Hash != hash || k.File != filepath.Base(k.File) {
		return nil
	}
	path := filepath.Join(s.Dir, k.File)
	db, err := s.Attacher.Attach(ctx, "data", path, true, s.deleteCopy)
	var v *tables.Version
	if err == nil {
		if v, err = s.describe(ctx, t, db); err == nil {
			err = complete(v)
		}
		if err != nil {
			resource.Release(db.Resource)
		}
	}
	if err != nil {
		s.Log.Warn("the saved copy cannot be read and is loaded again", t.Kind, t.Name, "error", err)
		return nil
	}
	v.Format, v.Stats.Refreshed = k.Format, k.Refreshed
	return v
}

func (s *Store) deleteCopy(db *resource.Database) {
	db.Detach()
	if db.Path != "" {
		s.delete(db.Path)
	}
}

// delete removes the file of a copy and DuckDB's log of it.
func (s *Store) delete(path string) {
	for _, p := range []string{path, path + ".wal"} {
		if err := os.Remove(p); err != nil && !os.IsNotExist(err) {
			s.Log.Warn("remove accelerated data", "file", p, "error", err)
		}
	}
}
