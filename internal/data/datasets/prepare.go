package datasets

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/spicepod"
)

// Prepare makes the datasets of a Spicepod ready to be published: it checks
// them, opens their sources and loads what is accelerated, several at a time.
// What an earlier Prepare made of an equal declaration is reused, not loaded
// again. A dataset with an error is not in the result; the runtime may publish
// the one it had before.
func (m *Manager) Prepare(ctx context.Context, pod *spicepod.Pod) ([]*Dataset, spicepod.Problems) {
	var group errgroup.Group
	group.SetLimit(cmp.Or(max(0, pod.Runtime.DatasetLoadParallelism), max(0, m.opts.Parallel), runtime.GOMAXPROCS(0)))
	ready := make([]*Dataset, len(pod.Datasets))
	faults := make([][]error, len(pod.Datasets))
	seen := map[string]int{}
	compiled := make([]*Dataset, len(pod.Datasets))
	var sources []source.Source
	for i := range pod.Datasets {
		d, err := m.compile(ctx, pod, i)
		if err == nil {
			err = cmp.Or(m.checkUnique(pod, d, i, seen), d.checkAccess())
		}
		if err != nil {
			faults[i] = append(faults[i], err)
			continue
		}
		compiled[i], sources = d, append(sources, d.source)
	}
	m.databases.Share(sources)
	for i, d := range compiled {
		if d == nil {
			continue
		}
		group.Go(func() error {
			got, stale, err := m.make(ctx, d)
			for _, err := range []error{stale, err} {
				if err != nil {
					faults[i] = append(faults[i], err)
				}
			}
			ready[i] = got
			return nil
		})
	}
	_ = group.Wait()
	m.noteFailures(pod, faults)
	var problems spicepod.Problems
	for i, list := range faults {
		for _, err := range list {
			problems = append(problems, fault.Of(err).Problem(pod, fmt.Sprintf("datasets[%d]", i), "dataset "+pod.Datasets[i].Name))
		}
	}
	m.hold(ready)
	return slices.DeleteFunc(ready, func(d *Dataset) bool { return d == nil }), problems
}

// checkUnique refuses two datasets of one name, and too many.
func (m *Manager) checkUnique(pod *spicepod.Pod, d *Dataset, index int, seen map[string]int) error {
	if index >= m.opts.Limits.Datasets {
		return fault.New("", "split the Spicepod", "more than %d datasets are declared", m.opts.Limits.Datasets)
	}
	key := tables.Key(d.Relation)
	if first, ok := seen[key]; ok {
		return fault.New("name", "rename one", "the name means the same table as that of the dataset at %s", pod.At(fmt.Sprintf("datasets[%d]", first)))
	}
	seen[key] = index
	return nil
}

// make returns a dataset that can be published: the one from before when
// nothing changed, else one that was opened or loaded now. stale warns that an
// older copy is read in place of the source.
func (m *Manager) make(ctx context.Context, d *Dataset) (made *Dataset, stale, err error) {
	before := m.known(d)
	if before != nil {
		before.Path = d.Path
		before.State.Move(d.State.Position())
		if d.Acceleration != nil {
			return before, nil, nil
		}
	}
	started := m.opts.Clock.Now()
	v := m.copies.Restore(ctx, &d.Table, d.Hash, func(v *tables.Version) error { return m.protect(ctx, d, v) })
	if v == nil {
		if v, err = m.load(ctx, d, refresh.Override{}); err != nil {
			return nil, nil, err
		}
		v.Stats.Took = m.opts.Clock.Now().Sub(started)
	}
	if v.Stale != nil {
		warning := *fault.Of(v.Stale)
		warning.Warning, warning.Retry = true, true
		stale = &warning
	}
	if before != nil && before.Current().Query == v.Query && slices.Equal(before.Columns(), v.Columns) {
		resource.Release(v.Resources...)
		before.State.Loaded(v)
		return before, stale, nil
	}
	d.Serve(v)
	d.State.Loaded(v)
	if v.Stale != nil && d.Acceleration != nil {
		d.State.RetryAt(m.opts.Clock.Now().Add(refresh.Backoff(1)))
	}
	attrs := []any{"dataset", d.Name, "from", d.from.Shown, "took", v.Stats.Took}
	if v.Stats.Rows >= 0 {
		attrs = append(attrs, "rows", v.Stats.Rows)
	}
	m.opts.Log.Info("dataset is ready", attrs...)
	return d, stale, nil
}

// known returns the dataset that was made of an equal declaration.
func (m *Manager) known(d *Dataset) *Dataset {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := tables.Key(d.Relation)
	for _, k := range []*Dataset{m.prepared[key], m.liveDataset(key)} {
		if k != nil && k.Hash == d.Hash {
			return k
		}
	}
	return nil
}

// liveDataset returns the dataset that is served, or nil. The caller holds m.mu.
func (m *Manager) liveDataset(key string) *Dataset {
	if s := m.live[key]; s != nil {
		return s.dataset
	}
	return nil
}

// hold keeps what is ready until it is published, and frees what an earlier
// Prepare made that was never published.
func (m *Manager) hold(ready []*Dataset) {
	next := map[string]*Dataset{}
	for _, d := range ready {
		if d != nil {
			next[tables.Key(d.Relation)] = d
		}
	}
	var unused []*resource.Resource
	m.mu.Lock()
	for key, d := range m.prepared {
		if next[key] != d && m.liveDataset(key) != d {
			unused = append(unused, d.Current().Resources...)
		}
	}
	m.prepared = next
	m.mu.Unlock()
	resource.Release(unused...)
}

// noteFailures keeps what could not be loaded, and has those that may return
// tried again.
func (m *Manager) noteFailures(pod *spicepod.Pod, faults [][]error) {
	failed := map[string]failure{}
	var retries []refresh.Failure
	for i, list := range faults {
		for _, err := range list {
			f, decl := fault.Of(err), pod.Datasets[i]
			if f.Retry {
				retries = append(retries, refresh.Failure{Name: decl.Name, Hash: spicepod.Fingerprint(decl)})
			}
			if f.Retry || !f.Warning {
				failed[decl.Name] = failure{decl, pod.At(fmt.Sprintf("datasets[%d]", i)), f}
			}
		}
	}
	m.mu.Lock()
	m.failed = failed
	m.mu.Unlock()
	m.refreshes.Fail(retries)
}
