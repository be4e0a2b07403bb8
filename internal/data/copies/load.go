package copies

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/disk"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Load is one load of a table's copy.
type Load struct {
	Stage *engine.Stage // where Rows can be read
	Table *tables.Table
	Rows  string          // query of the rows
	Base  *tables.Version // rows to append to; nil: all rows are replaced
	Time  string          // column that says how new a row is, with Base
}

// Load loads the rows into a new database, or into Base's if that is in memory,
// and returns what is there then.
func (s *Store) Load(ctx context.Context, l Load) (*tables.Version, error) {
	if l.Base != nil && l.Base.Copy.Path == "" {
		return s.insert(ctx, l)
	}
	path := ""
	if s.Files || l.Table.Acceleration.Mode == spicepod.ModeFile {
		stem := fileStem(l.Table.Relation)
		if l.Table.Kind == "view" {
			stem = "view-" + stem
		}
		path = filepath.Join(s.Dir, fmt.Sprintf("%s-%016x.duckdb", stem, rand.Uint64()))
	}
	db, err := s.Attacher.Attach(ctx, "load", path, false, s.deleteCopy)
	if err != nil {
		return nil, err
	}
	if err = create(ctx, l, db); err == nil && path != "" {
		db, err = s.reopen(ctx, db)
	}
	var v *tables.Version
	if err == nil {
		v, err = s.describe(ctx, l.Table, db)
	}
	if err != nil && db != nil {
		resource.Release(db.Resource)
	}
	return v, err
}

// create makes the table with its key and indexes.
func create(ctx context.Context, l Load, db *resource.Database) error {
	rows := l.Rows
	if l.Base != nil {
		rows = fmt.Sprintf("SELECT * FROM %s UNION ALL BY NAME %s", data(l.Base.Copy), l.newer())
	}
	if err := l.exec(ctx, "CREATE TABLE "+data(db)+" AS "+rows); err != nil {
		return fault.FromDuckDB(err)
	}
	for _, x := range indexes(l.Table.Acceleration) {
		columns := make([]string, len(x.columns))
		for i, c := range x.columns {
			columns[i] = engine.Identifier(c)
		}
		if err := l.exec(ctx, fmt.Sprintf(x.sql, data(db), strings.Join(columns, ", "))); err != nil {
			f := fault.FromDuckDB(err)
			f.Path = x.path
			return f
		}
	}
	return nil
}

func data(db *resource.Database) string { return db.Table("main", dataTable) }

// newer selects the rows that are newer than all of Base's.
func (l Load) newer() string {
	column := engine.Identifier(l.Time)
	newest := fmt.Sprintf("(SELECT max(%s) FROM %s)", column, data(l.Base.Copy))
	return fmt.Sprintf("SELECT * FROM (%s) WHERE %s > %s OR %s IS NULL", l.Rows, column, newest, newest)
}

func (l Load) exec(ctx context.Context, sql string) error {
	return l.Stage.Run(ctx, func() error { return l.Stage.Exec(sql) })
}

// insert appends to a database in memory: one statement, so that readers see
// all of it or nothing.
func (s *Store) insert(ctx context.Context, l Load) (*tables.Version, error) {
	db := l.Base.Copy
	if err := l.exec(ctx, "INSERT INTO "+data(db)+" BY NAME "+l.newer()); err != nil {
		return nil, fault.FromDuckDB(err)
	}
	v, err := s.describe(ctx, l.Table, db)
	if err == nil {
		db.Retain()
	}
	return v, err
}

// reopen attaches a filled file again, read-only: nothing changes it any more,
// and other processes may attach it too. Without an error the database that was
// filled is gone, and its holder holds the new one.
func (s *Store) reopen(ctx context.Context, db *resource.Database) (*resource.Database, error) {
	for _, sql := range []string{"CHECKPOINT " + engine.Identifier(db.Alias), "DETACH " + engine.Identifier(db.Alias)} {
		if err := s.DB.Exec(context.WithoutCancel(ctx), sql); err != nil {
			return db, err
		}
	}
	again, err := s.Attacher.Attach(ctx, "data", db.Path, true, s.deleteCopy)
	if err != nil {
		s.delete(db.Path)
	}
	return again, err
}

// describe returns what a database holds as a version. The version holds the
// database as its caller does.
func (s *Store) describe(ctx context.Context, t *tables.Table, db *resource.Database) (*tables.Version, error) {
	v := &tables.Version{Query: "SELECT * FROM " + data(db), Copy: db, Resources: []*resource.Resource{db.Resource}}
	columns, err := tables.Describe(ctx, s.DB, v.Query)
	if err != nil {
		return nil, err
	}
	if v.Columns, err = tables.Match(columns, t.Described); err != nil {
		return nil, err
	}
	v.Stats = tables.Stats{Refreshed: s.Clock.Now(), Bytes: -1}
	if db.Path != "" {
		v.Stats.Bytes = disk.Size(db.Path)
	}
	return v, tables.Query(ctx, s.DB, "SELECT count(*) FROM "+data(db), func(c *engine.Chunk) {
		v.Stats.Rows = engine.Value[int64](c.Column(0), 0)
	})
}

// index is a key or index of a copy.
type index struct {
	sql     string // with the table and the columns to be filled in
	columns []string
	path    string
}

func indexes(a *spicepod.Acceleration) []index {
	var out []index
	if a.PrimaryKey != "" {
		out = append(out, index{"ALTER TABLE %s ADD PRIMARY KEY (%s)", columnList(a.PrimaryKey), "acceleration.primary_key"})
	}
	for i, key := range slices.Sorted(maps.Keys(a.Indexes)) {
		kind := ""
		if a.Indexes[key] == "unique" {
			kind = "UNIQUE "
		}
		out = append(out, index{fmt.Sprintf("CREATE %sINDEX index_%d ON ", kind, i) + "%s (%s)", columnList(key), "acceleration.indexes"})
	}
	return out
}

// CheckIndexes checks the kinds of the declared indexes.
func CheckIndexes(a *spicepod.Acceleration) error {
	for column, kind := range a.Indexes {
		if kind != "enabled" && kind != "unique" {
			return fault.New("acceleration.indexes", "write enabled or unique", "index on %q is %q", column, kind)
		}
	}
	return nil
}

// columnList reads "a" or "(a, b)".
func columnList(text string) []string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") {
		text = text[1 : len(text)-1]
	}
	parts := strings.Split(text, ",")
	for i, p := range parts {
		p = strings.TrimSpace(p)
		if len(p) > 1 && p[0] == '"' && p[len(p)-1] == '"' {
			p = strings.ReplaceAll(p[1:len(p)-1], `""`, `"`)
		}
		parts[i] = p
	}
	return parts
}
