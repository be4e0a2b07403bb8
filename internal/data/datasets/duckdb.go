package datasets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// A `duckdb:` source is a table of another DuckDB file. The file is attached
// read-only, unless a dataset of it has access: read_write. Three spellings
// name the table, tried in this order:
//
//	from: duckdb:sales.orders         # with params.open: path/to.db, as in Spice
//	from: duckdb:path/to.db           # table from params.table, else the dataset's name
//	from: duckdb:path/to.db/sales.orders

// duckTable is a table in a DuckDB file.
type duckTable struct {
	path          string
	schema, table string // schema "": main
}

func (m *Manager) findTable(d *Dataset) (duckTable, error) {
	params := d.Declared.Params
	for _, key := range []string{"open", "duckdb_open"} {
		if params.Has(key) {
			path, err := params.String(key)
			if err != nil {
				return duckTable{}, err
			}
			t := splitTable(d.source.target)
			t.path = d.source.absolute(path)
			return t, m.checkDatabase(t.path, "params."+key)
		}
	}
	path := d.source.absolute(d.source.target)
	name := ""
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		if info, err := os.Stat(filepath.Dir(path)); err == nil && info.Mode().IsRegular() {
			path, name = filepath.Split(path)
			path = filepath.Clean(path)
		}
	}
	if params.Has("table") {
		text, err := params.String("table")
		if err != nil {
			return duckTable{}, err
		}
		if name != "" {
			return duckTable{}, newFault("params.table", "name the table once", "from names table %q already", name)
		}
		name = text
	}
	if name == "" {
		name = d.Relation.Name
	}
	t := splitTable(name)
	t.path = path
	return t, m.checkDatabase(path, "from")
}

func splitTable(name string) duckTable {
	schema, table, ok := strings.Cut(name, ".")
	if !ok {
		return duckTable{table: name}
	}
	return duckTable{schema: schema, table: table}
}

func (m *Manager) checkDatabase(path, at string) error {
	err := m.checkRoot(path)
	if err == nil {
		_, statErr := os.Stat(path)
		if statErr == nil {
			return nil
		}
		err = missingFile(path)
	}
	f := asFault(err)
	f.path = at
	return f
}

// openDuckDB attaches the file and settles the query of the table.
func (m *Manager) openDuckDB(ctx context.Context, d *Dataset, out *opened) error {
	t, err := m.findTable(d)
	if err != nil {
		return err
	}
	write := d.Declared.Access == spicepod.AccessReadWrite
	db, err := m.attachSource(ctx, t.path, write)
	if err != nil {
		return err
	}
	out.resources, out.format, out.private = []*resource{db.resource}, "duckdb", !db.readOnly
	if info, err := os.Stat(t.path); err == nil {
		out.bytes = info.Size()
	}
	schema := t.schema
	if schema == "" {
		schema = "main"
	}
	out.query = "SELECT * FROM " + db.table(schema, t.table)
	out.columns, err = m.describe(ctx, out.query)
	var e *engine.Error
	if errors.As(err, &e) && e.Code == errcode.NotFound {
		return m.missingTable(ctx, db, t)
	}
	if err == nil && write {
		out.base = db.table(schema, t.table)
		err = m.checkTable(ctx, db, schema, t.table)
	}
	return err
}

// checkTable refuses what can be read but not written.
func (m *Manager) checkTable(ctx context.Context, db *database, schema, table string) error {
	found := false
	err := m.query(ctx, "SELECT 1 FROM duckdb_tables() WHERE database_name = "+literal(db.alias)+
		" AND lower(schema_name) = lower("+literal(schema)+") AND lower(table_name) = lower("+literal(table)+")",
		func(c *engine.Chunk) { found = found || c.Len() > 0 })
	if err == nil && !found {
		return newFault("access", "name the table that it reads, or set access: read", "%q is a view, which cannot be written", table)
	}
	return err
}

// checkAccess refuses access read_write where writes would not do what they
// say.
func (d *Dataset) checkAccess() error {
	const readOnly = "leave access out, or "
	switch {
	case d.Declared.Access != spicepod.AccessReadWrite:
		return nil
	case d.source.connector != "duckdb":
		return newFault("access", readOnly+"keep the data in a DuckDB file (from: duckdb:file.db)", "a %s source cannot be written", d.source.connector)
	case d.acceleration != nil:
		return newFault("access", readOnly+"leave acceleration out", "writes would go to the source and not reach the accelerated copy")
	}
	for i, t := range d.types {
		if t != "" {
			return newFault(fmt.Sprintf("columns[%d].type", i), "leave it out", "a table that is written keeps the types of its columns")
		}
	}
	return nil
}

// noteWritten notes which files the datasets write. A file is attached once,
// for those that only read it too.
func (m *Manager) noteWritten(datasets []*Dataset) {
	written := map[string]bool{}
	for _, d := range datasets {
		if d == nil || d.Declared.Access != spicepod.AccessReadWrite {
			continue
		}
		if t, err := m.findTable(d); err == nil {
			written[realPath(t.path)] = true
		}
	}
	m.mu.Lock()
	m.written = written
	m.mu.Unlock()
}

// realPath is path without symbolic links.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// missingTable names the tables that there are.
func (m *Manager) missingTable(ctx context.Context, db *database, t duckTable) error {
	var names []string
	_ = m.query(ctx, "SELECT CASE WHEN schema_name = 'main' THEN table_name ELSE schema_name || '.' || table_name END FROM "+
		"(SELECT schema_name, table_name, database_name FROM duckdb_tables() UNION ALL SELECT schema_name, view_name, database_name "+
		"FROM duckdb_views() WHERE NOT internal) WHERE database_name = "+literal(db.alias)+" ORDER BY ALL LIMIT 100",
		func(c *engine.Chunk) {
			for i := range c.Len() {
				names = append(names, string(c.Column(0).Bytes(i)))
			}
		})
	want := t.table
	if t.schema != "" {
		want = t.schema + "." + want
	}
	hint := "set params.table, or write duckdb:file.db/schema.table"
	if near := nearest.Name(want, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	} else if len(names) > 0 {
		hint += "; it has " + truncate.Ellipsis(strings.Join(names, ", "), MaxMessage)
	}
	return newFault("from", hint, "database %q has no table %q", t.path, want)
}
