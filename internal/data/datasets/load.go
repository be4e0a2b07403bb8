package datasets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/copies"
	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/data/views"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// open opens the source of a dataset, with its declared types. The caller
// releases its resources.
func (m *Manager) open(ctx context.Context, d *Dataset) (*source.Opened, error) {
	out, err := d.source.Open(ctx)
	if err != nil {
		return nil, d.redacted(err)
	}
	if out.Stale != nil {
		out.Stale = d.redacted(out.Stale)
	}
	if err := m.castColumns(ctx, d, out); err != nil {
		resource.Release(out.Resources...)
		return nil, d.redacted(err)
	}
	return out, nil
}

// castColumns gives declared columns their types, and checks that they exist.
func (m *Manager) castColumns(ctx context.Context, d *Dataset, out *source.Opened) error {
	if _, err := tables.Match(out.Columns, d.Described); err != nil {
		return err
	}
	var replace []string
	at := 0
	for i, c := range d.columns {
		if c.Type == "" {
			continue
		}
		j := slices.IndexFunc(out.Columns, func(h engine.Column) bool { return strings.EqualFold(h.Name, c.Name) })
		name := engine.Identifier(out.Columns[j].Name)
		replace = append(replace, fmt.Sprintf("CAST(%s AS %s) AS %s", name, c.Type, name))
		at = i
	}
	if len(replace) == 0 {
		return nil
	}
	query := strings.Replace(out.Query, "SELECT *", "SELECT * REPLACE ("+strings.Join(replace, ", ")+")", 1)
	columns, err := tables.Describe(ctx, m.opts.DB, query)
	if err != nil {
		f := fault.FromDuckDB(err)
		f.Path = fmt.Sprintf("columns[%d].type", at)
		return f
	}
	out.Query, out.Columns = query, columns
	return nil
}

// load makes a new version of a dataset from its source.
func (m *Manager) load(ctx context.Context, d *Dataset, o refresh.Override) (*tables.Version, error) {
	src, err := m.open(ctx, d)
	if err != nil {
		return nil, err
	}
	if d.Acceleration == nil {
		v := &tables.Version{
			Query: src.Query, Base: src.Base, Private: src.Private, Direct: d.from.Connector != "duckdb",
			Format: src.Format, Resources: src.Resources, Stale: src.Stale,
		}
		v.Stats = tables.Stats{Rows: -1, Bytes: src.Bytes, Refreshed: m.opts.Clock.Now()}
		if v.Columns, err = tables.Match(src.Columns, d.Described); err == nil {
			err = m.protect(ctx, d, v)
		}
		if err != nil {
			resource.Release(v.Resources...)
		}
		return v, err
	}
	defer resource.Release(src.Resources...)
	if src.Stale != nil && d.Current() != nil {
		return nil, src.Stale // what is there is as new
	}
	v, err := m.copy(ctx, d, o, src)
	if err != nil {
		return nil, err
	}
	v.Format, v.Stale = src.Format, src.Stale
	if err := m.protect(ctx, d, v); err != nil {
		resource.Release(v.Resources...)
		return nil, err
	}
	return v, nil
}

// protect puts the dataset's policy into a version.
func (m *Manager) protect(ctx context.Context, d *Dataset, v *tables.Version) (err error) {
	v.Query, v.Columns, err = d.policy.Bind(ctx, m.opts.DB, v.Query, v.Columns)
	return err
}

// copy loads the rows of an opened source.
func (m *Manager) copy(ctx context.Context, d *Dataset, o refresh.Override, src *source.Opened) (v *tables.Version, err error) {
	stage, err := m.opts.DB.Stage(ctx)
	if err != nil {
		return nil, err
	}
	defer stage.Close()
	create := "CREATE TEMP VIEW " + engine.Identifier(d.Relation.Name) + " AS " + src.Query
	if err := stage.Run(ctx, func() error { return stage.Exec(create) }); err != nil {
		return nil, d.redacted(err)
	}
	l, err := m.plan(ctx, d, o, stage)
	if err != nil {
		return nil, err
	}
	err = m.progress.Start(d.Name, "load", src.Bytes).Watch(func() error { v, err = m.copies.Load(ctx, l); return err })
	if err != nil {
		return nil, errors.Join(ctx.Err(), d.redacted(err))
	}
	return v, nil
}

// plan settles which rows are loaded, and whether they are added to others.
func (m *Manager) plan(ctx context.Context, d *Dataset, o refresh.Override, stage *engine.Stage) (copies.Load, error) {
	a := *d.Acceleration
	if o.RefreshSQL != "" {
		a.RefreshSQL = o.RefreshSQL
	}
	if o.RefreshMode != "" {
		a.RefreshMode = o.RefreshMode
	}
	l := copies.Load{Stage: stage, Table: &d.Table, Rows: "SELECT * FROM " + engine.Identifier(d.Relation.Name)}
	var err error
	if a.RefreshSQL != "" {
		if l.Rows, err = m.refreshQuery(ctx, d, a.RefreshSQL); err != nil {
			return l, err
		}
	}
	if a.RefreshMode != spicepod.RefreshAppend {
		return l, nil
	}
	var columns []engine.Column
	err = stage.Run(ctx, func() (err error) {
		columns, err = stage.Describe(l.Rows)
		return err
	})
	if err != nil {
		return l, fault.FromDuckDB(err)
	}
	names := tables.Names(columns)
	l.Time, l.Base = d.Declared.TimeColumn, d.Current()
	if !contains(names, l.Time) {
		return l, fault.New("time_column", nearest.Hint(l.Time, names, ""), "the rows have no column %q", l.Time)
	}
	if l.Base != nil && (len(names) != len(l.Base.Columns) ||
		slices.ContainsFunc(l.Base.Columns, func(c tables.Column) bool { return !contains(names, c.Name) })) {
		return l, fault.New("from", "refresh once with refresh_mode full", "the source has other columns now than the rows that were loaded")
	}
	return l, nil
}

func contains(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

// loadView loads what an accelerated view selects.
func (m *Manager) loadView(ctx context.Context, v *views.View) (out *tables.Version, err error) {
	stage, err := m.opts.DB.Stage(ctx)
	if err != nil {
		return nil, err
	}
	defer stage.Close()
	err = m.progress.Start(v.Name, "load", -1).Watch(func() error {
		out, err = m.copies.Load(ctx, copies.Load{Stage: stage, Table: &v.Table, Rows: v.Query()})
		return err
	})
	return out, err
}

// onlyTable lets a text mention one relation, by its own name without a schema
// too, and no declared function.
type onlyTable struct {
	*engine.Catalog
	schema string
}

// Relation returns the relation, if the reference means it.
func (o onlyTable) Relation(catalog, schema, name string) (engine.Relation, bool) {
	if schema == "" {
		schema = o.schema
	}
	return o.Catalog.Relation(catalog, schema, name)
}

// refreshQuery checks a refresh_sql and returns it as a query over the
// temporary view of the source on a stage.
func (m *Manager) refreshQuery(ctx context.Context, d *Dataset, text string) (string, error) {
	const path = "acceleration.refresh_sql"
	fail := func(err error) (string, error) {
		e := engine.AsError(err)
		return "", fault.At(path, e.Offset, e.Hint, "%s", fault.SelectMessage(e.Message))
	}
	st, err := m.opts.DB.Parse(ctx, text)
	if err != nil {
		return fail(err)
	}
	switch {
	case len(st.Shows) > 0 || len(st.Params) > 0:
		return "", fault.New(path, "write SELECT … FROM "+d.Name+" WHERE …", "refresh_sql is one SELECT without parameters")
	case len(st.Relations) == 0:
		return "", fault.New(path, "write SELECT … FROM "+d.Name+" WHERE …", "refresh_sql does not read %q", d.Name)
	}
	only := onlyTable{engine.NewCatalog(0, []engine.Relation{d.Relation}, nil), d.Relation.Schema}
	for _, r := range st.Relations {
		if _, ok := only.Relation(r.Catalog, r.Schema, r.Name); !ok {
			return "", fault.At(path, r.Offset, "it may only read "+d.Name, "refresh_sql reads %q", r.Name)
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
	query, _ := tables.TrimStatement(edited)
	return query, nil
}
