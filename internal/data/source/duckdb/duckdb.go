// Package duckdb is the connector for tables and views in DuckDB files, and in SQLite
// files and catalogs of DuckLake, which DuckDB's extensions read. A file is
// attached read-only unless one of its datasets has access: read_write. The
// table is named in one of three ways, tried in this order:
//
//	from: duckdb:sales.orders         # with params.open: path/to.db, as in Spice
//	from: duckdb:path/to.db           # table from params.table, else the dataset's name
//	from: duckdb:path/to.db/sales.orders
//
// All sources of a Spicepod must be shared before one is opened:
//
//	connector := duckdb.Kind.Open(source.Host{DB: db, Attacher: attacher, Roots: roots})
//	src, err := connector.Compile(declaration)
//	connector.Share(compiled)
//	opened, err := src.Open(ctx)
package duckdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spiced-sql/spiced/internal/kit/errcode"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/objectstore"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/disk"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Connector attaches files.
type Connector struct {
	kind
	db    *engine.DB
	roots source.Roots
	files *files

	objects *objectstore.Proxy // for the data of a DuckLake
}

// kind is a kind of files.
type kind struct {
	name      string           // of the connector
	extension string           // of DuckDB; "": none is needed
	params    []spicepod.Param // those before the last name the file
}

var duckFile = kind{name: "duckdb", params: []spicepod.Param{
	{Name: "open", Doc: "Path of the database; from names the table."},
	{Name: "duckdb_open", Doc: "Another name of open."},
	{Name: "table", Doc: "The table, if from is the path of the database."},
}}

var sqliteFile = kind{name: "sqlite", extension: "sqlite_scanner", params: []spicepod.Param{
	{Name: "open", Doc: "Path of the database; from names the table."},
	{Name: "sqlite_file", Doc: "Another name of open."},
	{Name: "table", Doc: "The table, if from is the path of the database."},
}}

func (k kind) open(h source.Host) source.Connector { return k.connector(h) }

func (k kind) connector(h source.Host) *Connector {
	f := &files{attacher: h.Attacher, open: map[string]*resource.Database{}}
	if k.extension != "" {
		f.fileType = k.name
	}
	return &Connector{kind: k, db: h.DB, roots: h.Roots, files: f, objects: h.Objects}
}

// Share sets the sources of the Spicepod. A file that one of them writes is
// attached once, also for those that only read it.
func (c *Connector) Share(sources []source.Source) {
	written := map[string]bool{}
	for _, src := range sources {
		if s, ok := src.(*duckSource); ok && s.d.Write {
			if t, err := s.find(); err == nil {
				written[realPath(t.path)] = true
			}
		}
	}
	c.files.mu.Lock()
	defer c.files.mu.Unlock()
	c.files.written = written
}

type duckSource struct {
	*Connector
	d source.Declaration
}

// Compile checks the names of the params.
func (c *Connector) Compile(d source.Declaration) (source.Source, error) {
	if err := d.Params.CheckKnown("a dataset from "+c.name, spicepod.ParamNames(c.params)); err != nil {
		return nil, err
	}
	return &duckSource{c, d}, nil
}

// Open attaches the file.
func (s *duckSource) Open(ctx context.Context) (*source.Opened, error) {
	if s.extension != "" {
		if err := source.NeedsExtension(s.db, s.extension); err != nil {
			return nil, err
		}
	}
	t, err := s.find()
	if err != nil {
		return nil, err
	}
	db, err := s.files.attach(ctx, t, s.d.Write)
	if err != nil {
		return nil, err
	}
	held := []*resource.Resource{db.Resource}
	if t.fileType != "" {
		data, err := s.serveData(ctx, db)
		if err != nil {
			resource.Release(held...)
			return nil, err
		}
		held = append(held, data...)
	}
	out, err := s.openTable(ctx, db, t)
	if err != nil {
		resource.Release(held...)
		return nil, err
	}
	out.Resources = held
	return out, nil
}

func (s *duckSource) openTable(ctx context.Context, db *resource.Database, t table) (*source.Opened, error) {
	out := &source.Opened{Format: s.name, Written: !db.ReadOnly, Bytes: max(0, disk.Size(t.path))}
	base := db.Table(cmp.Or(t.schema, "main"), t.name)
	out.Query = "SELECT * FROM " + base
	var err error
	out.Columns, err = tables.Describe(ctx, s.db, out.Query)
	var e *engine.Error
	switch {
	case errors.As(err, &e) && e.Code == errcode.NotFound:
		return nil, s.missingTable(ctx, db, t)
	case err != nil:
		return nil, err
	}
	out.Comments = s.comments(ctx, db, t)
	if !s.d.Write {
		return out, nil
	}
	out.Base = base
	return out, s.checkTable(ctx, db, t)
}

// comments returns what COMMENT ON has set for a table or view and its columns. DuckDB
// reads the catalogs of all attached files for it: if one is damaged, there are none.
func (s *duckSource) comments(ctx context.Context, db *resource.Database, t table) tables.Comments {
	of := func(kind string) string {
		return " WHERE comment IS NOT NULL AND database_name = " + engine.Literal(db.Alias) +
			" AND lower(schema_name) = lower(" + engine.Literal(cmp.Or(t.schema, "main")) +
			") AND lower(" + kind + "_name) = lower(" + engine.Literal(t.name) + ")"
	}
	c := tables.Comments{Columns: map[string]string{}}
	if s.name == "sqlite" { // whose tables have no comments
		return c
	}
	err := tables.Query(ctx, s.db, "SELECT NULL, comment FROM duckdb_tables()"+of("table")+
		" UNION ALL SELECT NULL, comment FROM duckdb_views()"+of("view")+
		" UNION ALL SELECT column_name, comment FROM duckdb_columns()"+of("table"), func(chunk *engine.Chunk) {
		name, comment := chunk.Column(0), chunk.Column(1)
		for i := range chunk.Len() {
			if name.Valid(i) {
				c.Columns[string(name.Bytes(i))] = string(comment.Bytes(i))
			} else {
				c.Table = string(comment.Bytes(i))
			}
		}
	})
	if err != nil {
		return tables.Comments{}
	}
	return c
}

// checkTable returns an error if a table that must be writable is a view.
func (s *duckSource) checkTable(ctx context.Context, db *resource.Database, t table) error {
	found, err := tables.Texts(ctx, s.db, "SELECT table_name FROM duckdb_tables() WHERE database_name = "+
		engine.Literal(db.Alias)+
		" AND lower(schema_name) = lower("+engine.Literal(cmp.Or(t.schema, "main"))+") AND lower(table_name) = lower("+
		engine.Literal(t.name)+")")
	if err == nil && len(found) == 0 {
		return fault.New("access", "name the table that the view reads, or set access: read",
			"%q is a view, which cannot be written", t.name)
	}
	return err
}

// table is a table in a file.
type table struct {
	path, schema, name string // schema "": main
	prefix, fileType   string // of a catalog of DuckLake, for ATTACH
}

func (s *duckSource) find() (table, error) {
	if s.name == "ducklake" {
		return s.findLake()
	}
	params := s.d.Params
	for _, p := range s.params[:len(s.params)-1] {
		key := p.Name
		path, err := params.String(key)
		if err != nil {
			return table{}, err
		}
		if params.Has(key) {
			t := splitTable(s.d.From.Target)
			t.path = s.d.From.Absolute(path)
			return t, s.checkDatabase(t.path, "params."+key)
		}
	}
	path := s.d.From.Absolute(s.d.From.Target)
	name := ""
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		if info, err := os.Stat(filepath.Dir(path)); err == nil && info.Mode().IsRegular() {
			path, name = filepath.Split(path)
			path = filepath.Clean(path)
		}
	}
	text, err := params.String("table")
	switch {
	case err != nil:
		return table{}, err
	case params.Has("table") && name != "":
		return table{}, fault.New("params.table", "name the table once", "from names table %q already", name)
	}
	t := splitTable(cmp.Or(name, text, s.d.Table))
	t.path = path
	return t, s.checkDatabase(path, "from")
}

func splitTable(name string) table {
	if schema, rest, ok := strings.Cut(name, "."); ok {
		return table{schema: schema, name: rest}
	}
	return table{name: name}
}

func (s *duckSource) checkDatabase(path, at string) error {
	err := s.roots.CheckFrom(s.d.From, path)
	if err == nil {
		_, statErr := os.Stat(path)
		if statErr == nil {
			return nil
		}
		err = source.MissingFile(path)
	}
	f := fault.Of(err)
	f.Path = at
	return f
}

// missingTable reports a missing table, with the tables of the file.
func (s *duckSource) missingTable(ctx context.Context, db *resource.Database, t table) error {
	names, _ := tables.Texts(ctx,
		s.db, "SELECT CASE WHEN schema_name = 'main' THEN table_name ELSE schema_name || '.' || table_name END FROM "+
			"(SELECT schema_name, table_name, database_name FROM duckdb_tables() UNION ALL SELECT schema_name, view_name, "+
			"database_name "+
			"FROM duckdb_views() WHERE NOT internal) WHERE database_name = "+engine.Literal(db.Alias)+" ORDER BY ALL LIMIT 100")
	want := t.name
	if t.schema != "" {
		want = t.schema + "." + want
	}
	hint := "set params.table, or write " + s.name + ":file.db/table"
	if len(names) > 0 {
		hint += "; it has " + truncate.Ellipsis(strings.Join(names, ", "), fault.MaxMessage)
	}
	return fault.New("from", nearest.Hint(want, names, hint), "database %q has no table %q", t.path, want)
}

// files are the attached files. Datasets that read the same state of a file
// share its attachment. A file that datasets write is attached once, also for
// readers, because DuckDB cannot attach a file both read-only and for writing.
type files struct {
	attacher *resource.Attacher
	fileType string     // see [resource.File]
	changing sync.Mutex // held while a file is attached or detached

	mu      sync.Mutex
	open    map[string]*resource.Database // by path and state, or by path if it is written
	written map[string]bool               // real paths of files that the Spicepod's datasets write
}

func (f *files) attach(ctx context.Context, t table, write bool) (*resource.Database, error) {
	path := t.path
	info, err := os.Stat(path)
	if err != nil {
		return nil, source.MissingFile(path)
	}
	real := realPath(path)
	state := fmt.Sprintf("%s\x00%d\x00%d", real, info.Size(), info.ModTime().UnixNano())
	f.changing.Lock()
	defer f.changing.Unlock()
	db, readOnly := f.attached(real, state, write)
	switch {
	case db != nil && write && db.ReadOnly:
		return nil, fault.New("access", "restart spiced",
			"file %q is attached read-only for the datasets that are served, and cannot be attached for writing as well", path)
	case db != nil:
		return db, nil
	}
	prefix, key := "source", state
	if !readOnly {
		prefix, key = "written", real // other processes cannot attach it
	}
	db, err = f.attacher.Attach(ctx, prefix, resource.File{
		Path: t.prefix + path, Type: cmp.Or(t.fileType, f.fileType),
		ReadOnly: readOnly,
	}, func(db *resource.Database) { f.detach(key, db) })
	if err != nil {
		return nil, fault.FromDuckDB(err)
	}
	f.mu.Lock()
	f.open[key] = db
	f.mu.Unlock()
	return db, nil
}

// attached returns the attachment that a dataset can use and retains it. If the
// dataset writes and the file is attached read-only, it returns that without
// retaining it. If there is none, readOnly is how the file must be attached. The
// caller holds f.changing.
func (f *files) attached(real, state string, write bool) (db *resource.Database, readOnly bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if db := f.open[real]; db != nil {
		db.Retain()
		return db, false
	}
	var reader *resource.Database // of any state of the file
	for key, db := range f.open {
		if strings.HasPrefix(key, real+"\x00") {
			reader = db
		}
	}
	if write && reader != nil {
		return reader, true
	}
	if db := f.open[state]; db != nil {
		db.Retain()
		return db, true
	}
	return nil, reader != nil || !f.written[real]
}

// detach detaches a file without holders, unless it was retained again.
func (f *files) detach(key string, db *resource.Database) {
	f.changing.Lock()
	defer f.changing.Unlock()
	f.mu.Lock()
	gone := f.open[key] == db && !db.Held()
	if gone {
		delete(f.open, key)
	}
	f.mu.Unlock()
	if gone {
		db.Detach()
	}
}

// realPath returns path without symbolic links.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
