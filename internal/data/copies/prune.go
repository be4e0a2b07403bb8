package copies

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/tables"
)

// Prune returns a version with the rows of the current one that Rows selects and that are
// not older than a period, or nil if these are all rows. It keeps rows without a time.
func (s *Store) Prune(ctx context.Context, l Load, period time.Duration) (*tables.Version, error) {
	last := l.Table.Current()
	l.Source = "SELECT * FROM " + data(last.Copy)
	if period > 0 {
		columns, err := tables.Describe(ctx, s.DB, l.Source)
		if err != nil {
			return nil, err
		}
		t, err := timeOf(l.Time, columns, false)
		if err != nil {
			return nil, err
		}
		l.Source += fmt.Sprintf(" WHERE (%s < %s) IS NOT TRUE", t.expr, t.literal(s.Clock.Now().Add(-period)))
	}
	count, err := tables.Texts(ctx, s.DB, "SELECT count(*)::VARCHAR FROM ("+retainedOf(l.Table, l.Source, l.Rows)+")")
	if err != nil {
		return nil, fault.FromDuckDB(err)
	}
	if count[0] == strconv.FormatInt(last.Stats.Rows, 10) {
		return nil, nil
	}
	v, err := s.Load(ctx, l)
	if err != nil {
		return nil, err
	}
	v.Format, v.Stats.Refreshed, v.Stats.Took = last.Format, last.Stats.Refreshed, last.Stats.Took
	if !v.Changed.After(v.Stats.Refreshed) { // a clock that stands still or was set back
		v.Changed = v.Stats.Refreshed.Add(1)
	}
	return v, nil
}
