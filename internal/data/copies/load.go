package copies

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/disk"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// Load describes a load.
type Load struct {
	Table  *tables.Table
	Source string          // query of a temporary view with the name of the table, for Rows; "": none
	Rows   string          // query
	Time   string          // column with the time of a row; "" replaces all rows
	Base   *tables.Version // with Time: newer rows are appended to these; nil: none
	Step   *load.Step      // reports the progress; nil: nothing is reported
}

// run is a running load.
type run struct {
	Load
	stage   *engine.Stage
	inserts bool // the newer rows fit into the table of Base
}

// Load loads rows into a new database, or into that of Base if it is in memory. If the
// file of the first rows of a table cannot be written, they are in memory.
func (s *Store) Load(ctx context.Context, declared Load) (*tables.Version, error) {
	stage, err := s.DB.Stage(ctx)
	if err != nil {
		return nil, err
	}
	defer stage.Close()
	l := run{Load: declared, stage: stage}
	if l.Step != nil {
		if err := stage.TrackProgress(); err != nil {
			return nil, err
		}
		defer l.Step.Measure(stage.Progress)()
	}
	if l.Source != "" {
		if err := l.exec(ctx, "CREATE TEMP VIEW "+engine.Identifier(l.Table.Relation.Name)+" AS "+l.Source); err != nil {
			return nil, err
		}
	}
	if l.Time != "" {
		if l.inserts, err = l.checkAppend(ctx); err != nil {
			return nil, err
		}
	}
	if l.inserts && l.Base.Copy.Path == "" {
		return s.insert(ctx, l)
	}
	if !s.Files && l.Table.Acceleration.Mode != spicepod.ModeFile {
		return s.make(ctx, l, "")
	}
	name := fmt.Sprintf("%s-%016x.duckdb", fileStem(l.Table), rand.Uint64())
	v, err := s.make(ctx, l, filepath.Join(s.Dir, name))
	// Of DuckDB's errors only the text says which file could not be written.
	if err != nil && ctx.Err() == nil && l.Table.Current() == nil && strings.Contains(err.Error(), name) {
		s.Log.Warn("cannot write accelerated data; it is in memory until the next refresh or restart", l.Table.Kind, l.Table.Name, "error", err)
		return s.make(ctx, l, "")
	}
	return v, err
}

// make loads rows into a new database, in the file of that path or in memory. Rows
// that fit into the table of Base are inserted into a copy of its file.
func (s *Store) make(ctx context.Context, l run, path string) (*tables.Version, error) {
	fill := l.create
	if l.inserts && path != "" {
		if err := disk.Copy(path, l.Base.Copy.Path); err != nil {
			var e *fs.PathError
			if errors.As(err, &e) {
				err = e.Err // callers must not see paths
			}
			return nil, fmt.Errorf("copy the accelerated data: %w", err)
		}
		fill = l.insert
	}
	db, err := s.Attacher.Attach(ctx, "load", resource.File{Path: path}, s.deleteCopy)
	if err != nil {
		s.delete(path)
		return nil, err
	}
	if err = fill(ctx, db); err == nil && path != "" {
		var loaded *resource.Database
		if loaded, err = s.Attacher.AttachReadOnly(ctx, "data", db, s.deleteCopy); err == nil {
			db = loaded
		}
	}
	var v *tables.Version
	if err == nil {
		v, err = s.describe(ctx, l.Table, db)
	}
	if err != nil {
		resource.Release(db.Resource)
	}
	return v, err
}

// checkAppend checks the columns of rows that are appended, and reports whether they
// have the types of Base.
func (l run) checkAppend(ctx context.Context) (inserts bool, err error) {
	columns, err := l.columns(ctx, l.Rows)
	if err != nil {
		return false, fault.FromDuckDB(err)
	}
	find := func(name string) int {
		return slices.IndexFunc(columns, func(c engine.Column) bool { return strings.EqualFold(c.Name, name) })
	}
	if find(l.Time) < 0 {
		names, _ := tables.Match(columns, nil)
		return false, fault.New("time_column", nearest.Hint(l.Time, tables.Names(names), ""), "the rows have no column %q", l.Time)
	}
	if l.Base == nil {
		return false, nil
	}
	loaded, err := l.columns(ctx, "FROM "+data(l.Base.Copy))
	if err != nil {
		return false, err
	}
	inserts = true
	for _, c := range loaded {
		at := find(c.Name)
		if at < 0 || len(columns) != len(loaded) {
			return false, fault.New("from", "refresh once with refresh_mode full", "the columns of the source differ from those of the loaded rows")
		}
		inserts = inserts && columns[at].Type.String() == c.Type.String()
	}
	return inserts, nil
}

// columns returns the columns of a query.
func (l run) columns(ctx context.Context, query string) (columns []engine.Column, err error) {
	err = l.stage.Run(ctx, func() (err error) {
		columns, err = l.stage.Describe(query)
		return err
	})
	return columns, err
}

// create creates the table with its key and indexes.
func (l run) create(ctx context.Context, db *resource.Database) error {
	rows := l.Rows
	if l.Base != nil {
		rows = fmt.Sprintf("SELECT * FROM %s UNION ALL BY NAME %s", data(l.Base.Copy), l.newer())
	}
	if err := l.exec(ctx, "CREATE TABLE "+data(db)+" AS "+rows); err != nil {
		return fault.FromDuckDB(err)
	}
	if err := l.checkKeys(ctx, db); err != nil {
		return err
	}
	for _, x := range indexes(l.Table.Acceleration, data(db)) {
		if err := l.exec(ctx, x.sql); err != nil {
			f := fault.FromDuckDB(err)
			f.Path = x.path
			return f
		}
	}
	return nil
}

// checkKeys returns an error about a key or index that DuckDB cannot create.
func (l run) checkKeys(ctx context.Context, db *resource.Database) error {
	if len(keys(l.Table.Acceleration)) == 0 {
		return nil
	}
	columns, err := l.columns(ctx, "FROM "+data(db))
	if err != nil {
		return err
	}
	return CheckKeys(l.Table.Acceleration, columns)
}

// CheckKeys returns an error about a key or index that DuckDB cannot create in a copy with
// these columns.
func CheckKeys(a *spicepod.Acceleration, columns []engine.Column) error {
	for i, key := range keys(a) {
		path := "acceleration.indexes"
		if i == 0 && a.PrimaryKey != "" {
			path = "acceleration.primary_key"
		}
		for _, name := range key {
			at := slices.IndexFunc(columns, func(c engine.Column) bool { return sqltree.Fold(c.Name) == sqltree.Fold(name) })
			if at < 0 {
				have, _ := tables.Match(columns, nil)
				return fault.NoColumn(path, name, tables.Names(have))
			}
			switch t := columns[at].Type; t.ID {
			case engine.Interval, engine.List, engine.Array, engine.Struct, engine.Map, engine.Union:
				return fault.New(path, "leave it out, or load a column of a simple type made of it with refresh_sql", "column %q is %s, of which DuckDB has no index", name, t)
			}
		}
	}
	return nil
}

func data(db *resource.Database) string { return db.Table("main", dataTable) }

// newer returns a query of the rows that are newer than those of Base.
func (l run) newer() string {
	column := engine.Identifier(l.Time)
	newest := fmt.Sprintf("(SELECT max(%s) FROM %s)", column, data(l.Base.Copy))
	return fmt.Sprintf("SELECT * FROM (%s) WHERE %s > %s OR %s IS NULL", l.Rows, column, newest, newest)
}

func (l run) exec(ctx context.Context, sql string) error {
	return l.stage.Run(ctx, func() error { return l.stage.Exec(sql) })
}

// insert appends the newer rows to a database that has those of Base.
func (l run) insert(ctx context.Context, db *resource.Database) error {
	if err := l.exec(ctx, "INSERT INTO "+data(db)+" BY NAME "+l.newer()); err != nil {
		return fault.FromDuckDB(err)
	}
	return nil
}

// insert appends to the database of Base, which is in memory, atomically.
func (s *Store) insert(ctx context.Context, l run) (*tables.Version, error) {
	db := l.Base.Copy
	if err := s.DB.Change(l.Table.Relation, func() error { return l.insert(ctx, db) }); err != nil {
		return nil, err
	}
	v, err := s.describe(ctx, l.Table, db)
	if err == nil {
		db.Retain()
	}
	return v, err
}

// describe returns a version of the database, whose holder is the caller.
func (s *Store) describe(ctx context.Context, t *tables.Table, db *resource.Database) (*tables.Version, error) {
	v := &tables.Version{Copy: db, Rows: data(db), Resources: []*resource.Resource{db.Resource}}
	columns, err := tables.Describe(ctx, s.DB, "FROM "+v.Rows)
	if err != nil {
		return nil, err
	}
	v.Query = query(t.Acceleration, columns, v.Rows)
	if v.Columns, err = tables.Match(columns, t.Described); err != nil {
		return nil, err
	}
	v.Stats = tables.Stats{Refreshed: s.Clock.Now(), Bytes: disk.Size(db.Path)}
	return v, tables.Query(ctx, s.DB, "SELECT count(*) FROM "+data(db), func(c *engine.Chunk) {
		v.Stats.Rows = engine.Value[int64](c.Column(0), 0)
	})
}

// index is the primary key or an index of a copy.
type index struct{ sql, path string }

func indexes(a *spicepod.Acceleration, table string) []index {
	var out []index
	if a.PrimaryKey != "" {
		out = append(out, index{fmt.Sprintf("ALTER TABLE %s ADD PRIMARY KEY (%s)", table, columnList(a.PrimaryKey)), "acceleration.primary_key"})
	}
	for i, key := range slices.Sorted(maps.Keys(a.Indexes)) {
		kind := ""
		if a.Indexes[key] == "unique" {
			kind = "UNIQUE "
		}
		out = append(out, index{fmt.Sprintf("CREATE %sINDEX index_%d ON %s (%s)", kind, i, table, columnList(key)), "acceleration.indexes"})
	}
	return out
}

// CheckIndexes returns an error if the kind of an index is unknown.
func CheckIndexes(a *spicepod.Acceleration) error {
	for column, kind := range a.Indexes {
		if kind != "enabled" && kind != "unique" {
			return fault.New("acceleration.indexes", "write enabled or unique", "index on %q is %q", column, kind)
		}
	}
	return nil
}

// query returns the query of the public view. Through a view, DuckDB 1.5 uses the index of
// a column only if the table or the scan begins with that column, so the scan begins with
// the first key that the table does not begin with.
func query(a *spicepod.Acceleration, columns []engine.Column, table string) string {
	names, key := make([]string, len(columns)), -1
	for i, c := range columns {
		names[i] = engine.Identifier(c.Name)
	}
	for _, k := range keys(a) {
		at := slices.IndexFunc(columns, func(c engine.Column) bool { return sqltree.Fold(c.Name) == sqltree.Fold(k[0]) })
		if len(k) == 1 && at > 0 {
			key = at
			break
		}
	}
	if key < 0 {
		return "SELECT * FROM " + table
	}
	all := strings.Join(names, ", ")
	scan := append([]string{names[key]}, slices.Delete(slices.Clone(names), key, key+1)...)
	return fmt.Sprintf("SELECT %s FROM (SELECT %s FROM %s)", all, strings.Join(scan, ", "), table)
}

// keys returns the columns of the primary key and of each index.
func keys(a *spicepod.Acceleration) (keys [][]string) {
	if a == nil {
		return nil
	}
	for _, key := range append([]string{a.PrimaryKey}, slices.Sorted(maps.Keys(a.Indexes))...) {
		if key != "" {
			keys = append(keys, columnsOf(key))
		}
	}
	return keys
}

// UniqueColumns returns the columns that are a primary key or have a unique index.
func UniqueColumns(a *spicepod.Acceleration) []string {
	return single(a, func(key string) bool { return key == a.PrimaryKey || a.Indexes[key] == "unique" })
}

// IndexedColumns returns the columns that have an index for themselves.
func IndexedColumns(a *spicepod.Acceleration) []string {
	return single(a, func(string) bool { return true })
}

// single returns the columns of the keys of one column that are wanted.
func single(a *spicepod.Acceleration, wanted func(key string) bool) []string {
	if a == nil {
		return nil
	}
	var columns []string
	for _, key := range append([]string{a.PrimaryKey}, slices.Sorted(maps.Keys(a.Indexes))...) {
		if parts := columnsOf(key); key != "" && len(parts) == 1 && wanted(key) && !slices.Contains(columns, parts[0]) {
			columns = append(columns, parts[0])
		}
	}
	return columns
}

// columnsOf returns the columns of a key, a or (a, b).
func columnsOf(key string) []string {
	key = strings.TrimSpace(key)
	if strings.HasPrefix(key, "(") && strings.HasSuffix(key, ")") {
		key = key[1 : len(key)-1]
	}
	parts := strings.Split(key, ",")
	for i, p := range parts {
		p = strings.TrimSpace(p)
		if len(p) > 1 && p[0] == '"' && p[len(p)-1] == '"' {
			p = strings.ReplaceAll(p[1:len(p)-1], `""`, `"`)
		}
		parts[i] = p
	}
	return parts
}

// columnList returns a key as quoted names.
func columnList(key string) string {
	parts := columnsOf(key)
	for i, p := range parts {
		parts[i] = engine.Identifier(p)
	}
	return strings.Join(parts, ", ")
}
