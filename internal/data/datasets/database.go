package datasets

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// database is a DuckDB database that is attached beside the runtime's own.
type database struct {
	*resource
	alias    string
	path     string // "" in memory
	readOnly bool
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
	db := &database{alias: fmt.Sprintf("%s%s_%d", engine.Hidden, prefix, m.serial.Add(1)), path: path, readOnly: readOnly}
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

// attachSource attaches a user's DuckDB file. Datasets that read the same state
// of the same file share it. One that datasets write is attached once, for
// readers too: DuckDB opens no file both ways.
func (m *Manager) attachSource(ctx context.Context, path string, write bool) (*database, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, missingFile(path)
	}
	real := realPath(path)
	state := fmt.Sprintf("%s\x00%d\x00%d", real, info.Size(), info.ModTime().UnixNano())
	m.attaching.Lock()
	defer m.attaching.Unlock()
	db, readOnly := m.attached(real, state, write)
	switch {
	case db != nil && write && db.readOnly:
		return nil, newFault("access", "restart spiced: DuckDB opens no file both ways at once",
			"file %q is attached read-only for the datasets that are served", path)
	case db != nil:
		return db, nil
	}
	prefix, key := "source", state
	if !readOnly {
		prefix, key = "written", real // not for other processes to attach
	}
	db, err = m.attach(ctx, prefix, path, readOnly, nil)
	if err != nil {
		return nil, describeError(err)
	}
	detach := db.free
	db.free = func() { m.detachSource(key, db, detach) }
	m.mu.Lock()
	m.sources[key] = db
	m.mu.Unlock()
	return db, nil
}

// attached returns the attachment that a dataset can use: one more holder of it
// is counted, unless it is read-only and the dataset writes. Without one it
// says how the file is to be attached. The caller holds m.attaching.
func (m *Manager) attached(real, state string, write bool) (db *database, readOnly bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if db := m.sources[real]; db != nil {
		db.retain()
		return db, false
	}
	var reader *database // of whatever state of the file
	for key, db := range m.sources {
		if strings.HasPrefix(key, real+"\x00") {
			reader = db
		}
	}
	if write && reader != nil {
		return reader, true
	}
	if db := m.sources[state]; db != nil {
		db.retain()
		return db, true
	}
	return nil, reader != nil || !m.written[real]
}

// detachSource detaches a file that has lost its last holder, unless another
// took it meanwhile. Nothing is attached before it is done.
func (m *Manager) detachSource(key string, db *database, detach func()) {
	m.attaching.Lock()
	defer m.attaching.Unlock()
	m.mu.Lock()
	again := db.refs > 0
	if !again {
		delete(m.sources, key)
	}
	m.mu.Unlock()
	if !again {
		detach()
	}
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
