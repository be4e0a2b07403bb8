// Package resource counts the holders of the attached databases and cached
// files that datasets read, and frees each when its last holder releases it.
//
//	db, err := attacher.Attach(ctx, "data", resource.File{Path: path, ReadOnly: true}, (*resource.Database).Detach)
//	…
//	resource.Release(db.Resource) // detaches it unless another holder retained it
package resource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Resource is an attached database or a cached file.
type Resource struct {
	holders  atomic.Int64
	lost     atomic.Bool
	free     func()
	database *Database
	setup    []string
}

// New returns a resource with one holder. When the last holder releases it,
// free is called; by then, it may have been retained again.
func New(free func()) *Resource {
	r := &Resource{free: free}
	r.Retain()
	return r
}

// NewWith is New for a resource that another DuckDB can read after the statements setup.
func NewWith(setup []string, free func()) *Resource {
	r := New(free)
	r.setup = setup
	return r
}

// Setup are the statements of [NewWith].
func (r *Resource) Setup() []string { return r.setup }

// Retain adds a holder.
func (r *Resource) Retain() { r.holders.Add(1) }

// TryRetain adds a holder unless the last one has released the resource.
func (r *Resource) TryRetain() bool {
	for {
		n := r.holders.Load()
		if n == 0 {
			return false
		}
		if r.holders.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Held reports whether it has a holder.
func (r *Resource) Held() bool { return r.holders.Load() > 0 }

// Lost reports whether what it holds is gone, although it has holders: see [Attacher.Restore].
func (r *Resource) Lost() bool { return r.lost.Load() }

// Database returns the database that the resource is, or nil.
func (r *Resource) Database() *Database { return r.database }

// Release removes one holder of each resource.
func Release(list ...*Resource) {
	for _, r := range list {
		if r.holders.Add(-1) == 0 {
			r.free()
		}
	}
}

// File is a file with a database.
type File struct {
	Path     string // "" means in memory
	Type     string // as ATTACH writes it; "" means DuckDB's
	ReadOnly bool
}

// Database is an attached database.
type Database struct {
	*Resource
	File
	Alias string

	attacher *Attacher
	opening  uint64 // of the DuckDB that it was attached in
}

// AttachSQL returns the statement that attaches the database.
func (db *Database) AttachSQL() string {
	target, options := db.Path, []string{}
	if db.Path == "" {
		target = ":memory:"
	}
	if db.Type != "" {
		options = append(options, "TYPE "+db.Type)
	}
	if db.ReadOnly {
		options = append(options, "READ_ONLY")
	}
	sql := "ATTACH " + engine.Literal(target) + " AS " + engine.Identifier(db.Alias)
	if len(options) > 0 {
		sql += " (" + strings.Join(options, ", ") + ")"
	}
	return sql
}

// Table returns the qualified name of a table in the database.
func (db *Database) Table(schema, table string) string {
	return engine.Identifier(db.Alias) + "." + engine.Identifier(schema) + "." + engine.Identifier(table)
}

// Attacher attaches databases, each under a unique name.
type Attacher struct {
	db     *engine.DB
	log    *slog.Logger
	serial atomic.Uint64

	mu       sync.Mutex
	attached map[*Database]struct{}
}

// NewAttacher returns an attacher for db.
func NewAttacher(db *engine.DB, log *slog.Logger) *Attacher {
	return &Attacher{db: db, log: log, attached: map[*Database]struct{}{}}
}

// Restore makes a DuckDB that was opened again ([engine.DB.Renew]) as the one before it was:
// it attaches the same files under the same names, and runs the statements of other
// resources ([NewWith]). A database in memory is lost, and what cannot be restored.
func (a *Attacher) Restore(ctx context.Context, others []*Resource) {
	run := func(r *Resource, statements ...string) {
		for _, sql := range statements {
			if err := a.db.Exec(ctx, sql); err != nil {
				r.lost.Store(true)
				a.log.Error("cannot restore what DuckDB had before it was opened again", "error", err)
			}
		}
	}
	for _, r := range others {
		run(r, r.setup...)
	}
	a.mu.Lock()
	all := slices.SortedFunc(maps.Keys(a.attached), func(x, y *Database) int { return cmp.Compare(x.Alias, y.Alias) })
	a.mu.Unlock()
	for _, db := range all {
		switch {
		case db.opening == a.db.Openings():
		case db.Path == "":
			db.lost.Store(true)
		default:
			run(db.Resource, db.AttachSQL())
		}
	}
}

// Attach attaches a database. The caller holds it. When the last holder releases it, free
// is called and must detach it.
func (a *Attacher) Attach(ctx context.Context, prefix string, file File, free func(*Database)) (*Database, error) {
	db := a.database(prefix, file)
	if err := a.db.Exec(ctx, db.AttachSQL()); err != nil {
		return nil, newerFile(err)
	}
	return db.held(free), nil
}

// AttachReadOnly completes the file of a database that was written, and attaches it
// read-only instead: see [engine.DB.AttachReadOnly]. The caller holds the new database
// and no longer the old one.
func (a *Attacher) AttachReadOnly(ctx context.Context, prefix string, old *Database,
	free func(*Database),
) (*Database, error) {
	db := a.database(prefix, File{Path: old.Path, ReadOnly: true})
	if err := a.db.AttachReadOnly(ctx, old.Alias, old.Path, db.Alias); err != nil {
		return nil, err
	}
	return db.held(free), nil
}

func (a *Attacher) database(prefix string, file File) *Database {
	alias := fmt.Sprintf("%s%s_%d", engine.Hidden, prefix, a.serial.Add(1))
	return &Database{File: file, Alias: alias, attacher: a, opening: a.db.Openings()}
}

// held gives the database, which is attached, a holder.
func (db *Database) held(free func(*Database)) *Database {
	db.Resource = New(func() { free(db) })
	db.database = db
	a := db.attacher
	a.mu.Lock()
	defer a.mu.Unlock()
	a.attached[db] = struct{}{}
	return db
}

// newerFile says what to do about a file of a newer DuckDB.
func newerFile(err error) error {
	var e *engine.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, "newer version of DuckDB") {
		return err
	}
	newer := *e
	newer.Message = "the file was written by a newer DuckDB than " + engine.Version() +
		"; write it with ATTACH 'file.db' (STORAGE_VERSION 'v1.2.0'), which every DuckDB since 1.2 reads"
	return &newer
}

// Detach detaches the database, if it is attached.
func (db *Database) Detach() {
	a := db.attacher
	a.mu.Lock()
	delete(a.attached, db)
	a.mu.Unlock()
	if err := db.attacher.db.Exec(context.Background(), "DETACH DATABASE IF EXISTS "+
		engine.Identifier(db.Alias)); err != nil {
		db.attacher.log.Error("cannot detach a database", "database", db.Alias, "error", err)
	}
}
