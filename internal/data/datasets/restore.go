package datasets

import (
	"context"

	"github.com/spiced-sql/spiced/internal/data/resource"
)

// Restore makes what the served datasets and views read readable again after DuckDB was
// opened again: see [engine.DB.Renew]. The rows of copies in memory are gone: the next
// Prepare loads them again, and until then, their datasets are loading. Loads that run were
// writing to the old DuckDB and begin again, too.
func Restore(ctx context.Context, m *Manager) {
	var others []*resource.Resource
	m.mu.Lock()
	for _, s := range m.live {
		for _, r := range s.Current().Resources {
			if len(r.Setup()) > 0 {
				others = append(others, r)
			}
		}
	}
	m.mu.Unlock()
	m.copies.Attacher.Restore(ctx, others)
	var unused []*resource.Resource
	m.mu.Lock()
	for key, e := range m.loads.entries {
		if e.load != nil || e.last.made != nil && e.last.made.Current().Lost() {
			unused = append(unused, m.dropEntry(e)...)
			delete(m.loads.entries, key)
		}
	}
	m.mu.Unlock()
	resource.Release(unused...)
}
