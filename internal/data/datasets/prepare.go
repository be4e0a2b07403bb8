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
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Prepare compiles the datasets of a Spicepod, opens their sources and loads those
// that are accelerated, several at a time. It reuses the data of datasets whose
// declarations are equal. Datasets with an error are not returned; the runtime may
// publish an earlier version.
func (m *Manager) Prepare(ctx context.Context, pod *spicepod.Pod) ([]*Dataset, spicepod.Problems) {
	ready := make([]*Dataset, len(pod.Datasets)) // compiled at first
	faults := make([][]error, len(pod.Datasets))
	seen := map[string]int{}
	var sources []source.Source
	for i := range pod.Datasets {
		d, err := m.compile(ctx, pod, i)
		if err == nil {
			err = cmp.Or(m.checkUnique(pod, d, i, seen), d.checkAccess())
		}
		if err != nil {
			faults[i] = []error{err}
			continue
		}
		ready[i], sources = d, append(sources, d.source)
	}
	m.databases.Share(sources)
	var group errgroup.Group
	group.SetLimit(cmp.Or(pod.Runtime.DatasetLoadParallelism, runtime.GOMAXPROCS(0)))
	for i, d := range ready {
		if d == nil {
			continue
		}
		group.Go(func() error {
			var stale, err error
			ready[i], stale, err = m.make(ctx, d)
			faults[i] = slices.DeleteFunc([]error{stale, err}, func(err error) bool { return err == nil })
			return nil
		})
	}
	_ = group.Wait()
	ready = slices.DeleteFunc(ready, func(d *Dataset) bool { return d == nil })
	m.hold(ready)
	return ready, m.problems(pod, faults)
}

// checkUnique returns an error for the second dataset of a name and for too many
// datasets.
func (m *Manager) checkUnique(pod *spicepod.Pod, d *Dataset, index int, seen map[string]int) error {
	if index >= m.opts.Limits.Datasets {
		return fault.New("", "split the Spicepod", "more than %d datasets are declared", m.opts.Limits.Datasets)
	}
	key := tables.Key(d.Relation)
	if first, ok := seen[key]; ok {
		return fault.New("name", "rename one of them", "the dataset at %s has the same name", pod.At(fmt.Sprintf("datasets[%d]", first)))
	}
	seen[key] = index
	return nil
}

// make returns a dataset that can be published: the earlier one if nothing has
// changed, or d with a version. stale is a warning that an older copy is read
// instead of the source.
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

// known returns the earlier dataset with an equal declaration, or nil.
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

// hold keeps the datasets until they are published, and frees those of an earlier
// Prepare that were not published.
func (m *Manager) hold(ready []*Dataset) {
	next := map[string]*Dataset{}
	for _, d := range ready {
		next[tables.Key(d.Relation)] = d
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

// problems returns the faults with their positions. Datasets that could not be
// loaded are in [Manager.Status], and are retried if that may succeed.
func (m *Manager) problems(pod *spicepod.Pod, faults [][]error) (problems spicepod.Problems) {
	failed := map[string]Status{}
	var retries []refresh.Failure
	for i, list := range faults {
		decl, path := pod.Datasets[i], fmt.Sprintf("datasets[%d]", i)
		for _, err := range list {
			f := fault.Of(err)
			problems = append(problems, f.Problem(pod, path, "dataset "+decl.Name))
			if f.Retry {
				retries = append(retries, refresh.Failure{Name: decl.Name, Hash: spicepod.Fingerprint(decl)})
			}
			if f.Retry || !f.Warning {
				schema, table := decl.Qualified()
				failed[decl.Name] = Status{
					Schema: cmp.Or(schema, engine.Public), Name: table, Kind: "dataset", Declared: decl.Name, From: decl.From.Raw,
					Description: decl.Description, State: Failed, Stats: tables.Stats{Rows: -1, Bytes: -1}, Error: f.Error(), Position: pod.At(path),
				}
			}
		}
	}
	m.mu.Lock()
	m.failed = failed
	m.mu.Unlock()
	m.refreshes.Fail(retries)
	return problems
}
