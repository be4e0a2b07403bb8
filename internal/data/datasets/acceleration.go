package datasets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// checkAcceleration checks what can be checked without the source.
func (m *Manager) checkAcceleration(ctx context.Context, d *Dataset) error {
	a := d.acceleration
	if a.RefreshMode == spicepod.RefreshAppend && d.Declared.TimeColumn == "" {
		return newFault("acceleration.refresh_mode", "add time_column: with the column that says how new a row is",
			"refresh_mode append needs a time_column")
	}
	for column, kind := range a.Indexes {
		if kind != "enabled" && kind != "unique" {
			return newFault("acceleration.indexes", "write enabled or unique", "index on %q is %q", column, kind)
		}
	}
	if a.RefreshSQL == "" {
		return nil
	}
	_, err := m.refreshQuery(ctx, d, a.RefreshSQL)
	return err
}

// onlyTable lets a text mention one relation and no declared function.
type onlyTable struct{ relation engine.Relation }

func (o onlyTable) Relation(catalog, schema, name string) (engine.Relation, bool) {
	c := engine.NewCatalog(engine.Contents{Relations: []engine.Relation{o.relation}})
	if schema == "" && o.relation.Schema != engine.Public {
		schema = o.relation.Schema // the dataset's own name needs no schema
	}
	return c.Relation(catalog, schema, name)
}

func (onlyTable) Function(string) *engine.Function { return nil }

func (o onlyTable) RelationNames() []string { return []string{o.relation.Name} }

func (onlyTable) FunctionNames() []string { return nil }

// refreshQuery checks a refresh_sql and returns it as a query over the
// temporary view that stands for the source on a stage.
func (m *Manager) refreshQuery(ctx context.Context, d *Dataset, text string) (string, error) {
	const path = "acceleration.refresh_sql"
	fail := func(err error) (string, error) {
		e := engine.AsError(err)
		f := newFault(path, e.Hint, "%s", selectMessage(e.Message))
		f.offset = max(e.Offset, 0)
		return "", f
	}
	st, err := m.opts.DB.Parse(ctx, text)
	if err != nil {
		return fail(err)
	}
	switch {
	case len(st.Shows) > 0 || len(st.Params) > 0:
		return "", newFault(path, "write SELECT … FROM "+d.name+" WHERE …", "refresh_sql is one SELECT without parameters")
	case len(st.Relations) == 0:
		return "", newFault(path, "write SELECT … FROM "+d.name+" WHERE …", "refresh_sql does not read %q", d.name)
	}
	only := onlyTable{d.Relation}
	for _, r := range st.Relations {
		if _, ok := only.Relation(r.Catalog, r.Schema, r.Name); !ok {
			f := newFault(path, "it may only read "+d.name, "refresh_sql reads %q", r.Name)
			f.offset = max(r.Offset, 0)
			return "", f
		}
	}
	if _, err := m.opts.DB.Check(text, st, only); err != nil {
		return fail(err)
	}
	tokens := sqltree.Scan(text)
	var edits []sqltree.Edit
	for _, r := range st.Relations {
		if span, ok := sqltree.LocateRelation(text, tokens, r); ok {
			edits = append(edits, sqltree.Edit{Span: span, New: engine.Identifier(d.Relation.Name)})
		}
	}
	edited, _ := sqltree.Apply(text, edits)
	query, _ := trimStatement(edited)
	return query, nil
}

// selectMessage says in our words that a text is more than one SELECT.
func selectMessage(message string) string {
	if strings.Contains(message, "serialized to json") {
		return "the text is not one SELECT statement"
	}
	return message
}

// trimStatement cuts comments and semicolons off the ends, so that a text can
// be put in brackets. It also returns how much it cut off the begin.
func trimStatement(text string) (string, int) {
	tokens := sqltree.Scan(text)
	for len(tokens) > 0 && tokens[len(tokens)-1].Is(text, ";") {
		tokens = tokens[:len(tokens)-1]
	}
	if len(tokens) == 0 {
		return text, 0
	}
	return text[tokens[0].Start:tokens[len(tokens)-1].End], tokens[0].Start
}

// loader fills one materialisation.
type loader struct {
	m     *Manager
	stage *engine.Stage
	c     *common
	name  string   // file stem
	rows  string   // query of the rows to keep
	prev  *version // rows to append to; nil: all rows anew
	time  string   // time column, with prev
}

// fill loads the rows into a new database, or into prev's if that is in
// memory, and returns what is there then.
func (l *loader) fill(ctx context.Context) (*version, error) {
	if l.prev != nil && l.prev.data.path == "" {
		return l.insert(ctx)
	}
	path := ""
	var then func()
	if l.m.opts.Files || l.c.acceleration.Mode == spicepod.ModeFile {
		path = filepath.Join(l.m.dataDir(), fmt.Sprintf("%s-%016x.duckdb", l.name, rand.Uint64()))
		then = l.m.deleteFile(path)
	}
	db, err := l.m.attach(ctx, "load", path, false, then)
	if err != nil {
		return nil, err
	}
	if err := l.create(ctx, db); err != nil {
		l.m.release(db.resource)
		return nil, err
	}
	if path != "" {
		if db, err = l.reopen(ctx, db); err != nil {
			return nil, err
		}
	}
	v, err := l.version(ctx, db)
	if err != nil {
		l.m.release(db.resource)
		return nil, err
	}
	v.resources = []*resource{db.resource}
	return v, nil
}

// create makes the table with its key and indexes.
func (l *loader) create(ctx context.Context, db *database) error {
	rows := l.rows
	if l.prev != nil {
		rows = fmt.Sprintf("SELECT * FROM %s UNION ALL BY NAME %s", l.prev.data.data(), l.newer())
	}
	if err := l.exec(ctx, "CREATE TABLE "+db.data()+" AS "+rows); err != nil {
		return describeError(err)
	}
	for _, x := range indexes(l.c.acceleration) {
		columns := make([]string, len(x.columns))
		for i, c := range x.columns {
			columns[i] = engine.Identifier(c)
		}
		if err := l.exec(ctx, fmt.Sprintf(x.sql, db.data(), strings.Join(columns, ", "))); err != nil {
			f := describeError(err)
			f.path = x.path
			return f
		}
	}
	return nil
}

// newer selects the rows that are newer than all of prev's.
func (l *loader) newer() string {
	column := engine.Identifier(l.time)
	newest := fmt.Sprintf("(SELECT max(%s) FROM %s)", column, l.prev.data.data())
	return fmt.Sprintf("SELECT * FROM (%s) WHERE %s > %s OR %s IS NULL", l.rows, column, newest, newest)
}

// insert appends to a database in memory: one statement, so that readers see
// all of it or nothing.
func (l *loader) insert(ctx context.Context) (*version, error) {
	if err := l.exec(ctx, "INSERT INTO "+l.prev.data.data()+" BY NAME "+l.newer()); err != nil {
		return nil, describeError(err)
	}
	v, err := l.version(ctx, l.prev.data)
	if err == nil {
		l.m.mu.Lock()
		v.resources = []*resource{l.prev.data.retain()}
		l.m.mu.Unlock()
	}
	return v, err
}

// reopen attaches a filled file again, read-only: nothing changes it any
// more, and other processes may attach it too.
func (l *loader) reopen(ctx context.Context, db *database) (*database, error) {
	remove := l.m.deleteFile(db.path)
	for _, sql := range []string{"CHECKPOINT " + engine.Identifier(db.alias), "DETACH " + engine.Identifier(db.alias)} {
		if err := l.m.opts.DB.Exec(context.WithoutCancel(ctx), sql); err != nil {
			l.m.release(db.resource)
			return nil, err
		}
	}
	again, err := l.m.attach(ctx, "data", db.path, true, remove)
	if err != nil {
		remove()
	}
	return again, err
}

// version describes what a database holds.
func (l *loader) version(ctx context.Context, db *database) (*version, error) {
	v := &version{query: "SELECT * FROM " + db.data(), data: db}
	columns, err := l.m.describe(ctx, v.query)
	if err != nil {
		return nil, err
	}
	if v.columns, err = matchColumns(columns, l.c.columns); err != nil {
		return nil, err
	}
	v.stats = Stats{Refreshed: l.m.clock.Now(), Bytes: -1}
	if db.path != "" {
		v.stats.Bytes = fileSize(db.path)
	}
	return v, l.m.query(ctx, "SELECT count(*) FROM "+db.data(), func(c *engine.Chunk) {
		v.stats.Rows = engine.Value[int64](c.Column(0), 0)
	})
}

func (l *loader) exec(ctx context.Context, sql string) error {
	return l.stage.Run(ctx, func() error { return l.stage.Exec(sql) })
}

// index is a key or index of a materialisation.
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
		sql := fmt.Sprintf("CREATE INDEX index_%d ON ", i) + "%s (%s)"
		if a.Indexes[key] == "unique" {
			sql = strings.Replace(sql, "CREATE", "CREATE UNIQUE", 1)
		}
		out = append(out, index{sql, columnList(key), "acceleration.indexes"})
	}
	return out
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

// loadDataset makes a new version of a dataset from its source.
func (m *Manager) loadDataset(ctx context.Context, d *Dataset, o Override) (*version, error) {
	src, err := m.open(ctx, d)
	if err != nil {
		return nil, err
	}
	if d.acceleration == nil {
		v := &version{
			query: src.query, base: src.base, private: src.private, direct: d.source.connector != "duckdb",
			format: src.format, resources: src.resources,
		}
		v.stats = Stats{Rows: -1, Bytes: src.bytes, Refreshed: m.clock.Now(), stale: src.stale}
		if v.columns, err = matchColumns(src.columns, d.columns); err == nil {
			err = m.checkPolicy(ctx, d, v)
		}
		if err != nil {
			m.release(v.resources...)
		}
		return v, err
	}
	defer func() { m.release(src.resources...) }()
	if src.stale != nil && d.current.Load() != nil {
		return nil, src.stale // what is there is as new
	}
	stage, err := m.opts.DB.Stage(ctx)
	if err != nil {
		return nil, err
	}
	defer stage.Close()
	l := &loader{m: m, stage: stage, c: &d.common, name: fileStem(d.Relation)}
	if err := l.exec(ctx, "CREATE TEMP VIEW "+engine.Identifier(d.Relation.Name)+" AS "+src.query); err != nil {
		return nil, d.redacted(err)
	}
	if err := l.plan(ctx, d, o); err != nil {
		return nil, err
	}
	var v *version
	progress := m.progress(d.name, "load", src.bytes)
	err = progress.watch(func() (err error) { v, err = l.fill(ctx); return err })
	if err != nil {
		return nil, errors.Join(ctx.Err(), d.redacted(err))
	}
	v.format, v.stats.stale = src.format, src.stale
	if err := m.checkPolicy(ctx, d, v); err != nil {
		m.release(v.resources...)
		return nil, err
	}
	return v, nil
}

// plan settles which rows are loaded, and whether they are added to others.
func (l *loader) plan(ctx context.Context, d *Dataset, o Override) error {
	a := *d.acceleration
	if o.RefreshSQL != "" {
		a.RefreshSQL = o.RefreshSQL
	}
	if o.RefreshMode != "" {
		a.RefreshMode = o.RefreshMode
	}
	l.rows = "SELECT * FROM " + engine.Identifier(d.Relation.Name)
	if a.RefreshSQL != "" {
		query, err := l.m.refreshQuery(ctx, d, a.RefreshSQL)
		if err != nil {
			return err
		}
		l.rows = query
	}
	if a.RefreshMode != spicepod.RefreshAppend {
		return nil
	}
	var columns []engine.Column
	err := l.stage.Run(ctx, func() (err error) {
		columns, err = l.stage.Describe(l.rows)
		return err
	})
	if err != nil {
		return describeError(err)
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	l.time = d.Declared.TimeColumn
	if !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, l.time) }) {
		hint := ""
		if near := nearest.Name(l.time, names); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return newFault("time_column", hint, "the rows have no column %q", l.time)
	}
	l.prev = d.current.Load()
	return l.sameColumns(names)
}

// sameColumns refuses to append rows of another shape.
func (l *loader) sameColumns(names []string) error {
	if l.prev == nil {
		return nil
	}
	same := len(names) == len(l.prev.columns)
	for _, c := range l.prev.columns {
		same = same && slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, c.Name) })
	}
	if !same {
		return newFault("from", "refresh once with refresh_mode full", "the source has other columns now than the rows that were loaded")
	}
	return nil
}
