// Package copies stores the rows of accelerated datasets and views. Each load is
// a DuckDB database, in memory or in a file that survives a restart.
//
//	store, err := copies.Open(copies.Options{DB: db, Attacher: attacher, Dir: dir, …})
//	version := store.Restore(ctx, table, hash, complete) // of the last run, or nil
//	version, err = store.Load(ctx, copies.Load{Table: table, Rows: "SELECT * FROM source"})
//	store.Save(table, hash, version, true)               // when it is served
//
// The folder contains
//
//	<name>-<hash>.json               the manifest of a table, which names the file of its rows
//	<name>-<hash>-<random>.duckdb    rows
//
// [Open] removes files that no manifest names, which a crash left.
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

// dataTable is the table of a copy.
const dataTable = "data"

// Options configures [Open]. All fields but Files are required.
type Options struct {
	DB       *engine.DB
	Attacher *resource.Attacher
	Dir      string // must exist; no other process may use it
	Files    bool   // copies of mode memory are in files too, for other processes to attach
	Clock    load.Clock
	Log      *slog.Logger
}

// Store stores the copies of a process. It is safe for concurrent use.
type Store struct{ Options }

// Open returns the store of a folder.
func Open(o Options) (*Store, error) { return &Store{o}, disk.Clean(o.Dir, o.Log) }

// manifest describes the file of a copy.
type manifest struct {
	Relation  engine.Relation `json:"relation"`
	Hash      string          `json:"hash"`   // of the declaration
	File      string          `json:"file"`   // name in the folder
	Format    string          `json:"format"` // of the source
	Refreshed time.Time       `json:"refreshed"`
	Changed   time.Time       `json:"changed"` // by a refresh, or by a check of the retention
}

// fileStem returns the beginning of the names of a table's files: its name, and
// a hash that makes it unique.
func fileStem(t *tables.Table) string {
	readable := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' {
			return c
		}
		return '-'
	}, strings.ToLower(t.Relation.Name))
	sum := sha256.Sum256([]byte(tables.Key(t.Relation)))
	stem := readable[:min(len(readable), 40)] + "-" + hex.EncodeToString(sum[:4])
	if t.Kind == "view" {
		return "view-" + stem
	}
	return stem
}

func (s *Store) manifestPath(t *tables.Table) string {
	return filepath.Join(s.Dir, fileStem(t)+".json")
}

// Save records the version that is served, for [Store.Restore] after a restart.
// The first version of a declaration removes the file of an earlier declaration.
func (s *Store) Save(t *tables.Table, hash string, v *tables.Version, first bool) {
	path := s.manifestPath(t)
	var old manifest
	if first && disk.ReadJSON(path, &old) == nil && old.File == filepath.Base(old.File) &&
		(v.Copy == nil || old.File != filepath.Base(v.Copy.Path)) {
		s.delete(filepath.Join(s.Dir, old.File))
	}
	if v.Copy == nil || v.Copy.Path == "" {
		os.Remove(path)
		return
	}
	next := manifest{
		Relation: t.Relation, Hash: hash, File: filepath.Base(v.Copy.Path), Format: v.Format,
		Refreshed: v.Stats.Refreshed.UTC(), Changed: v.Changed.UTC(),
	}
	if next == old {
		return // it was restored
	}
	if err := disk.WriteJSON(path, next); err != nil {
		s.Log.Error("cannot record accelerated data; a restart will load it again", t.Kind, t.Name, "error", err)
	}
}

// Forget removes the manifest of a dataset that is no longer served.
func (s *Store) Forget(t *tables.Table) { os.Remove(s.manifestPath(t)) }

// Restore returns the version that the last run saved, or nil if there is none or
// it cannot be read. complete may change or reject it.
func (s *Store) Restore(ctx context.Context, t *tables.Table, hash string,
	complete func(*tables.Version) error,
) *tables.Version {
	a := t.Acceleration
	if a == nil || !a.Mode.File() || a.Mode == spicepod.ModeFileCreate || a.RefreshOnStartup == spicepod.RefreshAlways {
		return nil
	}
	k, ok := s.manifest(t)
	if !ok || k.Hash != hash {
		return nil
	}
	v, err := s.reopen(ctx, t, k, s.deleteCopy)
	if err == nil {
		if err = complete(v); err != nil {
			resource.Release(v.Resources...)
		}
	}
	if err != nil {
		s.Log.Warn("cannot read accelerated data; it is loaded again", t.Kind, t.Name, "error", err)
		return nil
	}
	return v
}

// Last returns the rows of the last run, even with another declaration, to append to; nil if
// there are none. Their file stays when they are released.
func (s *Store) Last(ctx context.Context, t *tables.Table) *tables.Version {
	k, ok := s.manifest(t)
	if !ok {
		return nil
	}
	v, err := s.reopen(ctx, t, k, (*resource.Database).Detach)
	if err != nil {
		s.Log.Warn("cannot read accelerated data; it is loaded again", t.Kind, t.Name, "error", err)
		return nil
	}
	return v
}

func (s *Store) manifest(t *tables.Table) (k manifest, ok bool) {
	err := disk.ReadJSON(s.manifestPath(t), &k)
	return k, err == nil && k.File == filepath.Base(k.File)
}

// reopen returns a version of the file that a manifest names.
func (s *Store) reopen(ctx context.Context, t *tables.Table, k manifest,
	free func(*resource.Database),
) (*tables.Version, error) {
	db, err := s.Attacher.Attach(ctx, "data", resource.File{Path: filepath.Join(s.Dir, k.File), ReadOnly: true}, free)
	if err != nil {
		return nil, err
	}
	v, err := s.describe(ctx, t, db)
	if err != nil {
		resource.Release(db.Resource)
		return nil, err
	}
	v.Format, v.Stats.Refreshed, v.Changed, v.Restored = k.Format, k.Refreshed, k.Changed, true
	if v.Changed.IsZero() { // written by an earlier release
		v.Changed = k.Refreshed
	}
	return v, nil
}

func (s *Store) deleteCopy(db *resource.Database) {
	db.Detach()
	if db.Path != "" {
		s.delete(db.Path)
	}
}

// delete removes the file of a copy and its write-ahead log.
func (s *Store) delete(path string) {
	for _, p := range []string{path, path + ".wal"} {
		if err := os.Remove(p); err != nil && !os.IsNotExist(err) {
			s.Log.Warn("cannot remove accelerated data", "file", p, "error", err)
		}
	}
}
