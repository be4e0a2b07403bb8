package datasets

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/tables"
)

// A dataset without acceleration reads its source in each statement, and may find other
// columns there than it was loaded with, a file that cannot be read, or none. Only a load
// finds that out; this file decides when one is needed.

const (
	checkEvery = time.Second     // at most, for a dataset, when statements fail
	checkAgain = 5 * time.Second // while it has a fault
	checkTime  = 30 * time.Second
)

// Check looks, in the background, whether a dataset reads its source as it did at the
// last load, and requests a load if it does not: if it has other columns, or cannot be
// read. Then it looks until it can be read again.
func (m *Manager) Check(d *Dataset) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if d.Acceleration != nil || d.Current().Unopened || m.loads.closed || m.watched[d] != nil ||
		now.Sub(m.checked[d.Name]) < checkEvery {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.watched[d], m.checked[d.Name] = cancel, now
	m.loads.done.Go(func() {
		m.watch(ctx, d)
		cancel()
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.watched, d)
	})
}

// watch looks at the source of a dataset until it is as at the last load.
func (m *Manager) watch(ctx context.Context, d *Dataset) {
	again := time.NewTicker(checkAgain)
	defer again.Stop()
	for {
		failed, serves := m.serving(d)
		if !serves || !m.differs(ctx, d, failed) && failed == "" {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// serving returns the error of the last load of a dataset, or "", and whether it serves.
func (m *Manager) serving(d *Dataset) (failed string, serves bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed[d.Name].Error, m.liveDataset(tables.Key(d.Relation)) == d
}

// differs reports whether a dataset reads its source in another way than at the last load,
// whose error is failed, and then requests a load.
func (m *Manager) differs(ctx context.Context, d *Dataset, failed string) bool {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	v, err := m.load(ctx, d, refresh.Override{})
	if err != nil {
		if fault.Of(err).Error() == failed || ctx.Err() != nil {
			return false
		}
		m.opts.Retry()
		return true
	}
	defer resource.Release(v.Resources...)
	before := d.Current()
	if before.Query != v.Query || !slices.Equal(before.Columns, v.Columns) {
		m.opts.Log.Warn("the columns of a dataset have changed at its source", "dataset", d.Name, "before",
			shown(before.Columns), "now", shown(v.Columns))
	} else if failed == "" {
		return false
	}
	m.opts.Retry()
	return true
}

func shown(columns []tables.Column) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.Name + " " + c.Type
	}
	return strings.Join(list, ", ")
}
