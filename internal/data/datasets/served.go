package datasets

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/spiced-sql/spiced/internal/data/copies"
	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/data/views"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// served is a published dataset or view.
type served struct {
	*tables.Table
	m       *Manager
	dataset *Dataset    // nil for a view
	view    *views.View // nil for a dataset
}

// Base returns the table.
func (s *served) Base() *tables.Table { return s.Table }

// Check returns an error if an override does not apply.
func (s *served) Check(ctx context.Context, o refresh.Override) error {
	switch {
	case s.view != nil && (o.RefreshSQL != "" || o.RefreshMode == spicepod.RefreshAppend):
		return errors.New("a view is refreshed as a whole")
	case s.caches() && o.RefreshMode != "":
		return errors.New("refresh_mode cannot be replaced for a dataset with refresh_mode caching")
	case s.Protected && o.RefreshSQL != "":
		return errors.New("refresh_sql cannot be replaced for a dataset with a row_filter or column_mask")
	case o.RefreshMode == spicepod.RefreshAppend && s.dataset.Declared.TimeColumn == "":
		return errors.New("refresh_mode append needs a time_column")
	case o.RefreshSQL != "":
		_, _, err := copies.OwnQuery(ctx, s.m.opts.DB, s.Table, "refresh_sql", o.RefreshSQL)
		return err
	}
	return nil
}

// Load loads a new version.
func (s *served) Load(ctx context.Context, o refresh.Override) (*tables.Version, error) {
	if s.view != nil {
		v, err := s.m.copy(ctx, copies.Load{Table: s.Table, Rows: s.view.Query}, -1)
		if err != nil {
			return nil, err
		}
		if err := copies.CheckRetained(ctx, s.m.opts.DB, s.Table, "SELECT * FROM "+v.Rows); err != nil {
			resource.Release(v.Resources...)
			return nil, err
		}
		return v, nil
	}
	return s.m.load(ctx, s.dataset, o)
}

// Save records the version of a dataset for the next start.
func (s *served) Save(v *tables.Version) { s.save(v, false) }

func (s *served) save(v *tables.Version, first bool) {
	if s.caches() {
		s.dataset.requests.saved(v)
	}
	if s.dataset != nil && s.Acceleration != nil {
		s.m.copies.Save(s.Table, s.dataset.Hash, v, first)
		if s.Acceleration.Snapshots.Writes() {
			s.m.snapshots.Write(s.m.snapshot(s.dataset), v)
		}
	}
}

func (m *Manager) servedOf(datasets []*Dataset, views []*views.View) map[string]*served {
	all := make(map[string]*served, len(datasets)+len(views))
	for _, d := range datasets {
		all[tables.Key(d.Relation)] = &served{Table: &d.Table, m: m, dataset: d}
	}
	for _, v := range views {
		all[tables.Key(v.Relation)] = &served{Table: &v.Table, m: m, view: v}
	}
	return all
}

// Publish makes these the datasets and views that are served when the transaction
// commits. Data of others is freed when no statement reads it, and accelerated
// views begin to load, unless they are read in place.
func (m *Manager) Publish(tx *engine.Tx, datasets []*Dataset, views []*views.View) {
	tx.Committed(func() { m.switchTo(m.servedOf(datasets, views)) })
}

func (m *Manager) switchTo(next map[string]*served) {
	m.mu.Lock()
	last := m.live
	m.live = next
	fresh := map[engine.Relation]bool{}
	targets, all := make([]refresh.Target, 0, len(next)), make(map[string]*tables.Table, len(next))
	for key, s := range next {
		targets, all[key] = append(targets, s), s.Table
		fresh[s.Relation] = last[key] == nil || last[key].Table != s.Table
	}
	m.mu.Unlock()
	m.snapshots.Keep(all)
	for key, s := range last {
		if next[key] != nil && next[key].Table == s.Table {
			continue
		}
		if next[key] == nil && s.dataset != nil {
			m.copies.Forget(s.Table)
		}
		m.refreshes.Free(s.Current().Resources)
	}
	for key, s := range next {
		if fresh[s.Relation] {
			s.save(s.Current(), last[key] == nil)
		}
	}
	m.refreshes.Replace(targets)
	if !m.opts.InPlace {
		m.refreshes.Start(outdated(next, fresh))
	}
}

// CheckViews returns the faults of accelerated views that a load of their rows would find. A
// manager that reads in place copies no view and would not find them; another one finds none
// here.
func CheckViews(ctx context.Context, m *Manager) (problems spicepod.Problems) {
	if !m.opts.InPlace {
		return nil
	}
	m.mu.Lock()
	live := slices.Collect(maps.Values(m.live))
	m.mu.Unlock()
	for _, s := range live {
		if s.view == nil || s.Acceleration == nil {
			continue
		}
		rows := "SELECT * FROM " + engine.Qualified(s.Relation.Schema, s.Relation.Name)
		err := compute(ctx, m.opts.DB, rows)
		if err == nil {
			err = copies.CheckRows(ctx, m.opts.DB, s.Acceleration, copies.Time{}, rows)
		}
		if err == nil {
			err = copies.CheckRetained(ctx, m.opts.DB, s.Table, rows)
		}
		if err != nil {
			problems = append(problems, s.view.Problem(err))
		}
	}
	return problems
}

// outdated returns the accelerated views that changed or read, also through other
// views, something that changed.
func outdated(all map[string]*served, changed map[engine.Relation]bool) []engine.Relation {
	for again := true; again; {
		again = false
		for _, s := range all {
			if s.view != nil && !changed[s.Relation] && slices.ContainsFunc(s.view.Uses.Relations, func(r engine.Relation) bool {
				return changed[r]
			}) {
				changed[s.Relation], again = true, true
			}
		}
	}
	var out []engine.Relation
	for _, s := range all {
		if s.view != nil && s.Acceleration != nil && changed[s.Relation] {
			out = append(out, s.Relation)
		}
	}
	return out
}
