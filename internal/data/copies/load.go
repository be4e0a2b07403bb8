package copies

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/disk"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// Load describes a load.
type Load struct {
	Table   *tables.Table
	Source  string        // query of a temporary view with the name of the table, for Rows; "": none
	Rows    string        // query
	Time    Time          // for Append and Window
	Window  time.Duration // only rows of Source that are newer are read; 0: all
	Untimed bool          // rows of Source without a time are read whatever Window is

	Append  bool            // the rows that are newer than those of Base are added to them
	Overlap time.Duration   // how far back before the newest row of Base an append reads
	Base    *tables.Version // with Append; nil: none
	// Replaces is the condition of the rows of Base, which has the same columns, that an
	// append replaces, whatever their time; "": none.
	Replaces string

	Remote *Remote         // the source, if it can leave out rows; nil: it cannot
	Needs  *sqltree.Filter // of Source, by Rows; nil: all rows

	Step *load.Step // reports the progress; nil: nothing is reported
}

// run is a running load.
type run struct {
	Load
	stage    *engine.Stage
	log      *slog.Logger
	now      time.Time
	inserts  bool   // the rows fit into the table of Base
	incoming string // query of the rows to add, or of all rows
	replaced string // condition of the rows of Base that the incoming ones replace; "": none

	order   string               // expressions of ORDER BY; "": that of the source
	windows []*sqltree.Condition // of the window, on Source
	newer   *sqltree.Condition   // of an append, on Rows; nil: none
}

// Load loads rows into a new database, or into that of Base if it is in memory and only
// gets more rows. If the file of the first rows of a table cannot be written, they are in
// memory.
func (s *Store) Load(ctx context.Context, declared Load) (*tables.Version, error) {
	order, err := OrderBy(ctx, s.DB, declared.Table)
	if err != nil {
		return nil, err
	}
	stage, err := s.DB.Stage(ctx)
	if err != nil {
		return nil, err
	}
	defer stage.Close()
	l := &run{Load: declared, stage: stage, log: s.Log, now: s.Clock.Now(), incoming: declared.Rows, order: order}
	if l.Step != nil {
		if err := stage.TrackProgress(); err != nil {
			return nil, err
		}
		defer l.Step.Measure(stage.Progress)()
	}
	if err := l.prepare(ctx); err != nil {
		return nil, err
	}
	if l.inserts && l.Base.Copy.Path == "" {
		if l.replaced == "" {
			return s.insert(ctx, l)
		}
		l.inserts = false // readers must not see a part of the change
	}
	if !s.Files && !l.Table.Acceleration.Mode.File() {
		return s.make(ctx, l, "")
	}
	name := s.newFile(l.Table)
	v, err := s.make(ctx, l, filepath.Join(s.Dir, name))
	if ctx.Err() == nil && l.Table.Current() == nil && unwritten(err, name) {
		s.Log.Warn("cannot write accelerated data; it is in memory until the next refresh or restart", l.Table.Kind,
			l.Table.Name, "error", err)
		return s.make(ctx, l, "")
	}
	return v, err
}

// unwritten reports whether an error is that a file could not be written. Of DuckDB's
// errors only the text says which file it is.
func unwritten(err error, file string) bool {
	var e *engine.Error
	return errors.As(err, &e) && e.Class == "IO" && strings.Contains(e.Message, file)
}

// newFile returns a name for the file of a copy.
func (s *Store) newFile(t *tables.Table) string {
	return fmt.Sprintf("%s-%016x.duckdb", fileStem(t), rand.Uint64())
}

// prepare makes the temporary view of the source, and finds what an append changes.
func (l *run) prepare(ctx context.Context) error {
	if err := l.compare(ctx); err != nil {
		return err
	}
	l.narrow(l.Needs)
	return nil
}

func (l *run) compare(ctx context.Context) error {
	if l.Source != "" {
		source, err := l.windowed(ctx)
		if err != nil {
			return err
		}
		if err := l.exec(ctx, "CREATE TEMP VIEW "+engine.Identifier(l.Table.Relation.Name)+" AS "+source); err != nil {
			return err
		}
		if err := l.checkRows(ctx); err != nil {
			return err
		}
	}
	switch {
	case !l.Append:
		return nil
	case l.Replaces != "":
		l.inserts, l.replaced = true, l.Replaces
	default:
		if err := l.checkAppend(ctx); err != nil {
			return err
		}
		if err := l.resolve(ctx); err != nil || l.replaced == "" {
			return err
		}
	}
	found, err := l.text(ctx, "SELECT 'found' FROM "+data(l.Base.Copy)+" AS "+engine.Identifier(dataTable)+" WHERE "+
		l.replaced+" LIMIT 1")
	if err == nil && found == "" {
		l.replaced = ""
	}
	l.inserts = l.inserts && (l.replaced == "" || l.Replaces == "") // a file keeps the space of rows that are removed
	return err
}

// checkRows returns an error about a refresh_sql that does not fit the columns of the source.
func (l *run) checkRows(ctx context.Context) error {
	if l.Table.Acceleration.RefreshSQL == "" {
		return nil
	}
	_, err := l.columns(ctx, l.Rows)
	if err == nil {
		return nil
	}
	if e := engine.AsError(err); e.Class == "Binder" || e.Class == "Catalog" {
		return fault.New("acceleration.refresh_sql", e.Hint, "%s", fault.FirstLines(e.Message))
	}
	return err
}

// make loads rows into a new database, in the file of that path or in memory. Rows
// that fit into the table of Base are inserted into a copy of its file.
func (s *Store) make(ctx context.Context, l *run, path string) (*tables.Version, error) {
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

// checkAppend compares the columns of the rows with those of Base, and sets which rows are
// added.
func (l *run) checkAppend(ctx context.Context) error {
	columns, err := l.columns(ctx, l.Rows)
	if err != nil {
		return fault.FromDuckDB(err)
	}
	if _, err = timeOf(l.Time, columns, l.Overlap == 0); err != nil || l.Base == nil {
		return err
	}
	loaded, err := l.columns(ctx, "FROM "+data(l.Base.Copy))
	if err != nil {
		return err
	}
	gone, retyped := 0, 0
	for _, c := range loaded {
		at := slices.IndexFunc(columns, func(n engine.Column) bool { return strings.EqualFold(n.Name, c.Name) })
		if at < 0 {
			gone++
		} else if columns[at].Type.String() != c.Type.String() {
			retyped++
		}
	}
	same := gone == 0 && len(columns) == len(loaded)
	switch update := l.Table.Acceleration.Mode == spicepod.ModeFileUpdate; {
	case update && (gone > 0 || retyped > 0):
		l.log.Warn("columns of the source are gone or have other types; all rows are loaded again", l.Table.Kind,
			l.Table.Name)
		l.Base = nil
		return nil
	case !same && !update:
		return fault.New("from", "refresh once with refresh_mode full, or set acceleration.mode: file_update",
			"the columns of the source differ from those of the loaded rows")
	}
	l.inserts = same && retyped == 0
	newer, err := l.since(ctx, loaded)
	if err != nil {
		return err
	}
	l.incoming, l.replaced = "SELECT * FROM ("+l.Rows+"\n) WHERE "+newer, newer
	return nil
}

func (l *run) columns(ctx context.Context, query string) (columns []engine.Column, err error) {
	err = l.stage.Run(ctx, func() (err error) {
		columns, err = l.stage.Describe(query)
		return err
	})
	return columns, err
}

// create creates the table with its key and indexes.
func (l *run) create(ctx context.Context, db *resource.Database) error {
	rows := l.incoming
	if l.Base != nil {
		kept := data(l.Base.Copy) + " AS " + engine.Identifier(dataTable)
		if l.replaced != "" {
			kept += " WHERE (" + l.replaced + ") IS NOT TRUE"
		}
		rows = fmt.Sprintf("SELECT * FROM %s UNION ALL BY NAME %s", kept, rows)
	}
	if err := l.fill(ctx, db, rows); err != nil {
		return err
	}
	if err := l.checkTimes(ctx, data(db)); err != nil {
		return err
	}
	for _, x := range indexes(l.Table.Acceleration, data(db)) {
		if err := l.exec(ctx, x.sql); err != nil {
			return l.violated(ctx, err, x, data(db))
		}
	}
	return nil
}

// checkTimes is [checkTimes] of the rows of a table or query.
func (l *run) checkTimes(ctx context.Context, rows string) error {
	columns, err := l.columns(ctx, "FROM "+rows)
	if err != nil {
		return fault.FromDuckDB(err)
	}
	return checkTimes(l.Table.Acceleration, l.Time, columns, rows, func(sql string) (string, error) {
		return l.text(ctx, sql)
	})
}

// fill creates the table. The rows of a load with on_conflict are in a temporary table
// first: in the order of the source, before they are in that of partition_by, and because
// DuckDB creates an index on deleted rows too while an older transaction, such as that of
// another load, could still read them.
func (l *run) fill(ctx context.Context, db *resource.Database, rows string) error {
	c := conflictOf(l.Table.Acceleration)
	if c.key != nil {
		if err := l.exec(ctx, "CREATE OR REPLACE TEMP TABLE "+unorderedTable+" AS "+rows); err != nil {
			return fault.FromDuckDB(err)
		}
		if err := l.settle(ctx, unorderedTable, c); err != nil {
			return err
		}
		rows, c = "FROM "+unorderedTable, conflict{}
	}
	rows, err := l.ordered(ctx, rows)
	if err != nil {
		return err
	}
	if err := l.exec(ctx, "CREATE TABLE "+data(db)+" AS "+rows); err != nil {
		return fault.FromDuckDB(err)
	}
	return l.settle(ctx, data(db), c)
}

// settle checks the keys of a table and removes rows that share them.
func (l *run) settle(ctx context.Context, table string, c conflict) error {
	if err := l.checkKeys(ctx, "FROM "+table); err != nil {
		return err
	}
	return l.deduplicate(ctx, table, c)
}

// checkKeys returns an error about a key or index that DuckDB cannot create on the rows.
func (l *run) checkKeys(ctx context.Context, rows string) error {
	all := keys(l.Table.Acceleration)
	if len(all) == 0 {
		return nil
	}
	columns, err := l.columns(ctx, rows)
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
				return fault.New(path, "leave it out, or load a column of a simple type made of it with refresh_sql",
					"column %q is %s, a type that DuckDB cannot index", name, t)
			}
		}
	}
	return nil
}

func data(db *resource.Database) string { return db.Table("main", dataTable) }

func (l *run) exec(ctx context.Context, sql string) error {
	return l.stage.Run(ctx, func() error { return l.stage.Exec(sql) })
}

// insert adds the rows to a database that has those of Base. A database that has readers
// must get more rows only.
func (l *run) insert(ctx context.Context, db *resource.Database) error {
	if l.replaced != "" {
		if err := l.exec(ctx, "DELETE FROM "+data(db)+" AS "+engine.Identifier(dataTable)+" WHERE "+l.replaced); err != nil {
			return fault.FromDuckDB(err)
		}
	}
	incoming, err := l.ordered(ctx, l.incoming)
	if err != nil {
		return err
	}
	if err := l.checkTimes(ctx, "("+l.incoming+"\n)"); err != nil { // a reader would see the rows
		return err
	}
	if err := l.exec(ctx, "INSERT INTO "+data(db)+" BY NAME "+incoming); err != nil {
		return refusedInsert(err)
	}
	return nil
}

// insert appends to the database of Base, which is in memory, atomically.
func (s *Store) insert(ctx context.Context, l *run) (*tables.Version, error) {
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
	v.Changed = s.Clock.Now()
	v.Stats = tables.Stats{Refreshed: v.Changed, Bytes: disk.Size(db.Path)}
	return v, tables.Query(ctx, s.DB, "SELECT count(*) FROM "+data(db), func(c *engine.Chunk) {
		v.Stats.Rows = engine.Value[int64](c.Column(0), 0)
	})
}
