package datasets

import (
	"context"
	"fmt"
	"os"

	"github.com/spiced-sql/spiced/engine"
)

// database is a DuckDB database that is attached beside the runtime's own.
type database struct {
	*resource
	alias string
	path  string // "" in memory
}

// dataTable is the one table of a materialisation.
const dataTable = "data"

// table is the qualified name of a table of the database.
func (db *database) table(schema, table string) string {
	return engine.Identifier(db.alias) + "." + engine.Identifier(schema) + "." + engine.Identifier(table)
}

// data is the table of a materialisation.
func (db *database) data() string { return db.table("main", dataTable) }

// attach attaches a database under a new name; path "" makes one in memory.
// The caller is its first holder. When the last one is gone it is detached
// and then is called, if any.
func (m *Manager) attach(ctx context.Context, prefix, path string, readOnly bool, then func()) (*database, error) {
	db := &database{alias: fmt.Sprintf("%s_%d", prefix, m.serial.Add(1)), path: path}
	sql := "ATTACH " + literal(":memory:") + " AS " + engine.Identifier(db.alias)
	if path != "" {
		sql = "ATTACH " + literal(path) + " AS " + engine.Identifier(db.alias)
		if readOnly {
			sql += " (READ_ONLY)"
		}
	}
	if err := m.opts.DB.Exec(ctx, sql); err != nil {
		return nil, err
	}
	db.resource = &resource{refs: 1, free: func() {
		if err := m.opts.DB.Exec(context.WithoutCancel(ctx), "DETACH "+engine.Identifier(db.alias)); err != nil {
			m.log.Error("detach a database", "database", db.alias, "error", err)
		}
		if then != nil {
			then()
		}
	}}
	return db, nil
}

// attachSource attaches a user's DuckDB file; datasets that read the same
// state of the same file share it.
func (m *Manager) attachSource(ctx context.Context, path string) (*database, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, missingFile(path)
	}
	key := fmt.Sprintf("%s\x00%d\x00%d", path, info.Size(), info.ModTime().UnixNano())
	m.attaching.Lock()
	defer m.attaching.Unlock()
	m.mu.Lock()
	if db := m.sources[key]; db != nil {
		db.retain()
		m.mu.Unlock()
		return db, nil
	}
	m.mu.Unlock()
	db, err := m.attach(ctx, "source", path, true, nil)
	if err != nil {
		return nil, describeError(err)
	}
	detach := db.free
	db.free = func() {
		m.mu.Lock()
		again := db.refs > 0 // somebody took it meanwhile
		if !again {
			delete(m.sources, key)
		}
		m.mu.Unlock()
		if !again {
			detach()
		}
	}
	m.mu.Lock()
	m.sources[key] = db
	m.mu.Unlock()
	return db, nil
}

// deleteFile removes the file of a materialisation and DuckDB's log of it.
func (m *Manager) deleteFile(path string) func() {
	return func() {
		for _, p := range []string{path, path + ".wal"} {
			if err := os.Remove(p); err != nil && !os.IsNotExist(err) {
				m.log.Warn("remove accelerated data", "file", p, "error", err)
			}
		}
	}
}
