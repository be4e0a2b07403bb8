package datasets

import (
	"context"

	"github.com/spiced-sql/spiced/internal/data/copies"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Prune returns a version without the rows that the retention removes, or nil if there are
// none.
func (s *served) Prune(ctx context.Context) (*tables.Version, error) {
	last := s.Current()
	if last.Copy == nil { // read at its source, or not loaded yet
		return nil, nil
	}
	l := copies.Load{Table: s.Table, Rows: "SELECT * FROM " + engine.Identifier(s.Relation.Name)}
	var err error
	if s.Acceleration.RetentionSQL != "" {
		if l.Rows, err = copies.RetainedQuery(ctx, s.m.opts.DB, s.Table); err != nil {
			return nil, err
		}
	}
	if s.dataset != nil {
		l.Time = s.dataset.time()
	}
	v, err := s.m.copies.Prune(ctx, l, s.Acceleration.RetentionPeriod)
	if err != nil && s.dataset != nil {
		return nil, s.dataset.redacted(err)
	}
	if v == nil || err != nil {
		return nil, err
	}
	v.Stale = last.Stale
	if s.dataset != nil {
		v.Annotate(last.Comments())
		if err := s.m.protect(ctx, s.dataset, v); err != nil {
			resource.Release(v.Resources...)
			return nil, err
		}
	}
	return v, nil
}
