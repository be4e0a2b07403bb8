package datasets

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/copies"
	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// open opens the source of a dataset and applies the declared types. sql is the refresh_sql,
// which has the requests of a [source.Requester]. The caller releases the resources.
func (m *Manager) open(ctx context.Context, d *Dataset, sql string) (*source.Opened, error) {
	out, err := d.source.Open(ctx)
	if err == nil && d.requests != nil && !d.Caches() {
		out, err = d.requests.whole(ctx, sql, out)
	}
	if err != nil {
		return nil, d.redacted(err)
	}
	if out.Stale != nil {
		out.Stale = d.redacted(out.Stale)
	}
	for i, remark := range out.Remarks {
		out.Remarks[i] = d.redacted(remark)
	}
	if err := m.castColumns(ctx, d, out); err != nil {
		resource.Release(out.Resources...)
		return nil, d.redacted(err)
	}
	return out, nil
}

// castColumns checks that the declared columns exist and casts them to their types.
func (m *Manager) castColumns(ctx context.Context, d *Dataset, out *source.Opened) error {
	if _, err := tables.Match(out.Columns, d.Described); err != nil {
		return err
	}
	var replace []string
	at := 0
	for i, c := range d.Described {
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

// uncast returns the columns that are read with the type that the source says.
func (d *Dataset) uncast(columns []engine.Column) []engine.Column {
	return slices.DeleteFunc(slices.Clone(columns), func(c engine.Column) bool {
		return slices.ContainsFunc(d.Described, func(x spicepod.DatasetColumn) bool {
			return x.Type != "" && strings.EqualFold(x.Name, c.Name)
		})
	})
}

// load loads a new version of a dataset.
func (m *Manager) load(ctx context.Context, d *Dataset, o refresh.Override) (*tables.Version, error) {
	sql := ""
	if d.Acceleration != nil {
		sql = cmp.Or(o.RefreshSQL, d.Acceleration.RefreshSQL)
	}
	src, err := m.open(ctx, d, sql)
	if err != nil {
		return nil, err
	}
	var v *tables.Version
	switch {
	case d.Acceleration == nil:
		v = &tables.Version{
			Query: src.Query, Base: src.Base, Writer: src.Writer, ReadOnly: d.readOnly(src.ReadOnly), Written: src.Written,
			Changing: src.Written || src.Changing,
			Files:    !m.kind(d).Locked, Resources: src.Resources,
		}
		if v.Writer != nil {
			v.Base = engine.StandIn(d.Relation)
		}
		v.Stats = tables.Stats{Rows: -1, Bytes: src.Bytes, Refreshed: m.opts.Clock.Now()}
		v.Columns, err = tables.Match(src.Columns, d.Described)
	case m.opts.InPlace:
		if v, err = m.inPlace(ctx, d, src); err != nil {
			return nil, err
		}
	case d.Caches():
		return d.requests.load(ctx, sql, src)
	default:
		defer resource.Release(src.Resources...)
		if src.Stale != nil && d.Current() != nil {
			return nil, src.Stale // the rows that are served are as new
		}
		var l copies.Load
		if l, err = m.plan(ctx, d, o, src.Query); err != nil {
			return nil, err
		}
		if src.Narrow != nil {
			l.Remote = &copies.Remote{Columns: d.uncast(src.Columns), Narrow: src.Narrow}
		}
		if v, err = m.copy(ctx, l, src.Bytes); err != nil {
			return nil, d.redacted(err)
		}
		err = copies.CheckRetained(ctx, m.opts.DB, &d.Table, "SELECT * FROM "+v.Rows)
	}
	v.Format, v.Stale, v.Remarks = src.Format, src.Stale, src.Remarks
	if f := d.remarkTime(src.Columns); f != nil {
		v.Remarks = append(v.Remarks, f)
	}
	noteRemarks(m.opts.Log, d, v)
	v.Annotate(src.Comments)
	if err == nil {
		err = m.protect(ctx, d, v)
	}
	if err != nil {
		resource.Release(v.Resources...)
		return nil, err
	}
	return v, nil
}

// remarkTime warns about a time_column that the source lacks. It is a fault where it is used.
func (d *Dataset) remarkTime(columns []engine.Column) error {
	name := d.Declared.TimeColumn
	if name == "" || slices.ContainsFunc(columns, func(c engine.Column) bool { return strings.EqualFold(c.Name, name) }) {
		return nil
	}
	have, _ := tables.Match(columns, nil)
	f := fault.NoColumn("time_column", name, tables.Names(have))
	f.Warning = true
	return f
}

// noteRemarks logs the remarks of a refresh that the version before did not have. The load of a
// Spicepod reports those of the first version.
func noteRemarks(log *slog.Logger, d *Dataset, v *tables.Version) {
	before := d.Current()
	if before == nil {
		return
	}
	known := map[string]bool{}
	for _, r := range before.Remarks {
		known[r.Error()] = true
	}
	for _, r := range v.Remarks {
		if f := fault.Of(r); !known[f.Error()] {
			log.Warn(f.Message, "component", "dataset "+d.Name, "hint", f.Hint)
		}
	}
}

// readOnly returns why a table of a catalog cannot be written.
func (d *Dataset) readOnly(err error) error {
	if err == nil {
		return nil
	}
	return fault.New("access", "", "%s", d.redacted(err).Message) // set access: read is a hint for a dataset
}

// inPlace returns a version of an accelerated dataset that reads its source, with the
// columns of a copy without rows: to make that finds the faults of the acceleration.
func (m *Manager) inPlace(ctx context.Context, d *Dataset, src *source.Opened) (*tables.Version, error) {
	l, err := m.plan(ctx, d, refresh.Override{RefreshMode: spicepod.RefreshFull}, src.Query)
	if err != nil {
		resource.Release(src.Resources...)
		return nil, err
	}
	rows := l.Rows
	l.Rows = "SELECT * FROM (" + rows + "\n) LIMIT 0"
	empty, err := m.copies.Load(ctx, l)
	if err != nil {
		resource.Release(src.Resources...)
		return nil, d.redacted(err)
	}
	resource.Release(empty.Resources...)
	query := "WITH " + engine.Identifier(d.Relation.Name) + " AS (" + src.Query + ") " + rows
	if err = copies.CheckRows(ctx, m.opts.DB, d.Acceleration, d.time(), query); err == nil {
		err = copies.CheckRetained(ctx, m.opts.DB, &d.Table, query)
	}
	if err == nil && d.Acceleration.RefreshSQL != "" {
		err = compute(ctx, m.opts.DB, query)
	}
	if err != nil {
		resource.Release(src.Resources...)
		return nil, d.redacted(err)
	}
	return &tables.Version{
		Query: query, Files: !m.kind(d).Locked, Resources: src.Resources,
		Columns: empty.Columns, Stats: tables.Stats{Rows: -1, Bytes: src.Bytes, Refreshed: m.opts.Clock.Now()},
	}, nil
}

// compute reads the rows of a query, which a load would copy, to find the values that it
// cannot compute.
func compute(ctx context.Context, db *engine.DB, query string) error {
	return tables.Query(ctx, db, query, func(*engine.Chunk) {})
}

// protect applies the policy of the dataset to a version.
func (m *Manager) protect(ctx context.Context, d *Dataset, v *tables.Version) (err error) {
	if v.Rows != "" { // look-ups by key read a table that has an index
		v.ByKey = d.policy.ByKey(d.Relation, d.Keys, v.Rows, v.Columns)
	}
	if d.policy != nil {
		v.Unguarded = v.Query
	}
	v.Query, v.Columns, err = d.policy.Bind(ctx, m.opts.DB, v.Query, v.Columns)
	return err
}

// copy loads a copy and reports the progress; bytes is the size of the source.
func (m *Manager) copy(ctx context.Context, l copies.Load, bytes int64) (v *tables.Version, err error) {
	l.Step = m.progress.Start(l.Table.Name, "load", bytes)
	err = l.Step.Watch(func() error { v, err = m.copies.Load(ctx, l); return err })
	return v, err
}

// plan returns which rows are loaded, and whether they are appended.
func (m *Manager) plan(ctx context.Context, d *Dataset, o refresh.Override, source string) (copies.Load, error) {
	a := d.Acceleration
	l := copies.Load{
		Table: &d.Table, Source: source, Rows: "SELECT * FROM " + engine.Identifier(d.Relation.Name),
		Time: d.time(), Window: a.Window(), Untimed: a.RefreshDataWindow == 0,
		Needs: &sqltree.Filter{Whole: true, Plain: true},
	}
	if cmp.Or(o.RefreshMode, a.RefreshMode) == spicepod.RefreshAppend {
		l.Append, l.Overlap, l.Base = true, a.RefreshAppendOverlap, d.Current()
	}
	var err error
	if sql := cmp.Or(o.RefreshSQL, a.RefreshSQL); sql != "" {
		l.Rows, l.Needs, err = copies.OwnQuery(ctx, m.opts.DB, &d.Table, "refresh_sql", sql)
	}
	return l, err
}
