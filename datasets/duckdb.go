package datasets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spiced-sql/spiced/engine"
	"github.com/spiced-sql/spiced/nearest"
)

// A `duckdb:` source is a table of another DuckDB file, attached read-only.
// Three spellings name it, tried in this order:
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
				return duckTable{}, newFault("params."+key, "", "%s", err)
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
			return duckTable{}, newFault("params.table", "", "%s", err)
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
	db, err := m.attachSource(ctx, t.path)
	if err != nil {
		return err
	}
	out.resources, out.format = []*resource{db.resource}, "duckdb"
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
	if errors.As(err, &e) && e.Code == engine.CodeNotFound {
		return m.missingTable(ctx, db, t)
	}
	return err
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
		hint += "; it has " + shorten(strings.Join(names, ", "), MaxMessage)
	}
	return newFault("from", hint, "database %q has no table %q", t.path, want)
}
