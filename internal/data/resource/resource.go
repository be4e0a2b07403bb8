// Package resource counts who uses the databases and files that datasets read
// outside of the catalog, and frees each with its last holder.
//
//	db, err := attacher.Attach(ctx, "data", path, true, (*resource.Database).Detach) // the caller holds it
//	…
//	resource.Release(db.Resource)                                          // the last holder detaches it
package resource

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Resource is an attached database or a fetched file.
type Resource struct {
	holders atomic.Int64
	free    func()
}

// New returns a resource with one holder. Whenever the last holder releases
// it, free is called; another holder may have come by then.
func New(free func()) *Resource {
	r := &Resource{free: free}
	r.Retain()
	return r
}

// Retain adds a holder.
func (r *Resource) Retain() { r.holders.Add(1) }

// Held reports whether anyone holds it.
func (r *Resource) Held() bool { return r.holders.Load() > 0 }

// Release takes a holder away from each resource.
func Release(list ...*Resource) {
	for _, r := range list {
		if r.holders.Add(-1) == 0 {
			r.free()
		}
	}
}

// Database is a DuckDB database that is attached beside the runtime's own.
type Database struct {
	*Resource
	Alias    string
	Path     string // "" in memory
	ReadOnly bool

	attacher *Attacher
}

// Table is the qualified name of a table of the database.
func (db *Database) Table(schema, table string) string {
	return engine.Identifier(db.Alias) + "." + engine.Identifier(schema) + "." + engine.Identifier(table)
}

// Attacher attaches databases, each under a unique name.
type Attacher struct {
	db     *engine.DB
	log    *slog.Logger
	serial atomic.Uint64
}

// NewAttacher attaches to db.
func NewAttacher(db *engine.DB, log *slog.Logger) *Attacher { return &Attacher{db: db, log: log} }

// Attach attaches a database; path "" makes one in memory. The caller holds
// it. When the last holder has released it, free is called and must detach it.
func (a *Attacher) Attach(ctx context.Context, prefix, path string, readOnly bool, free func(*Database)) (*Database, error) {
	db := &Database{Alias: fmt.Sprintf("%s%s_%d", engine.Hidden, prefix, a.serial.Add(1)), Path: path, ReadOnly: readOnly, attacher: a}
	target, options := path, ""
	if path == "" {
		target = ":memory:"
	} else if readOnly {
		options = " (READ_ONLY)"
	}
	if err := a.db.Exec(ctx, "ATTACH "+engine.Literal(target)+" AS "+engine.Identifier(db.Alias)+options); err != nil {
		return nil, err
	}
	db.Resource = New(func() { free(db) })
	return db, nil
}

// Detach detaches the database.
func (db *Database) Detach() {
	if err := db.attacher.db.Exec(context.Background(), "DETACH "+engine.Identifier(db.Alias)); err != nil {
		db.attacher.log.Error("detach a database", "database", db.Alias, "error", err)
	}
}
