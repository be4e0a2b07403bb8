package datasets

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/spicepod"
)

// Request is what [Manager.Prepare] prepares.
type Request struct {
	Pod *spicepod.Pod
	// Enough ends the wait for loads when it is closed. Nil: Prepare waits for all.
	Enough <-chan struct{}
	// Loaded says that only loads have ended since the last Prepare: no source is
	// read again.
	Loaded bool
}

// Prepared is what [Manager.Prepare] returns.
type Prepared struct {
	Pod   *spicepod.Pod // the Spicepod, with the tables of its catalogs as datasets
	Ready []*Dataset
	// Loading are the datasets whose first load, as they are declared now, runs. An
	// earlier version may serve meanwhile.
	Loading  []*Load
	Catalogs []CatalogState // whose tables are not known
	Problems spicepod.Problems
}

// unset are the faults of references to variables that are not set, or that the
// connector is not served, which no variable changes.
func unset(pod *spicepod.Pod, i int, served source.Kinds) (faults []error) {
	for _, u := range pod.Unset(fmt.Sprintf("datasets[%d]", i)) {
		_, below, _ := strings.Cut(u.Path, ".")
		if _, err := served.Parse(pod.Datasets[i].From, ""); err != nil && below != "from" {
			return []error{err}
		}
		faults = append(faults, fault.At(below, u.Offset, u.Hint, "%s", u.Message))
	}
	return faults
}

// Prepare compiles the datasets of a Spicepod and begins the loads of those that
// are new, failed, or may have changed at their sources. It reuses the data of
// datasets whose declarations are equal, and loads that run. It waits for the loads
// that it began, at most until Enough is closed; when a load ends later,
// Options.Loaded is called, and the next Prepare has its outcome. Loads of what is
// no longer declared are cancelled. Datasets with an error are not returned; the
// runtime may publish an earlier version.
//
// compiled, faults and known are by the index of a dataset in the Spicepod: a dataset
// that cannot be compiled is nil in compiled and has a fault, and nothing is loaded for it.
func (m *Manager) Prepare(ctx context.Context, r Request) Prepared {
	in := m.catalogs.prepare(ctx, r)
	in.problems = append(in.problems, m.snapshots.Configure(r.Pod)...)
	r.Pod = in.pod

	// Compile.
	compiled := make([]*Dataset, len(r.Pod.Datasets))
	faults := make([][]error, len(r.Pod.Datasets))
	seen := map[string]int{}
	var sources []source.Source
	for i := range r.Pod.Datasets {
		if faults[i] = unset(r.Pod, i, m.opts.Connectors); len(faults[i]) > 0 {
			continue
		}
		d, err := m.compile(ctx, &in, i)
		if err == nil && d.listed != nil {
			err = d.listed.Fault()
		}
		if err == nil {
			err = cmp.Or(m.checkUnique(r.Pod, d, i, seen), m.checkAccess(d))
		}
		if err != nil {
			f := fault.Of(err).Redacted(d.redact)
			f.Message = spicepod.HidePasswords(f.Message)
			faults[i] = []error{f}
			continue
		}
		compiled[i], sources = d, append(sources, d.source)
	}
	for _, c := range m.connectors {
		if c, ok := c.(interface{ Share([]source.Source) }); ok {
			c.Share(sources)
		}
	}

	// Load, and wait.
	for _, l := range m.beginLoads(r, compiled) {
		select {
		case <-l.done:
		case <-r.Enough:
		case <-ctx.Done():
		}
	}

	// Return what has been loaded, and report the rest.
	p := Prepared{Pod: r.Pod, Catalogs: in.unserved}
	known := make([]bool, len(compiled))
	for i, o := range m.outcomes(compiled) {
		switch {
		case o.load != nil:
			p.Loading = append(p.Loading, o.load)
		case o.made != nil:
			p.Ready = append(p.Ready, o.made)
			faults[i] = append(faults[i], o.made.Current().Remarks...)
		}
		known[i] = o.reported
		for _, err := range []error{o.stale, o.err} {
			if err != nil {
				faults[i] = append(faults[i], err)
			}
		}
	}
	p.Problems = append(in.problems, m.problems(r.Pod, faults, known)...)
	m.mu.Lock()
	m.loading = p.Loading
	m.mu.Unlock()
	return p
}

// checkUnique returns an error for the second dataset of a name and for too many
// datasets.
func (m *Manager) checkUnique(pod *spicepod.Pod, d *Dataset, index int, seen map[string]int) error {
	if index >= m.opts.Limits.Datasets {
		return fault.New("", "split the Spicepod", "more than %d datasets are declared", m.opts.Limits.Datasets)
	}
	key := tables.Key(d.Relation)
	if first, ok := seen[key]; ok {
		return fault.New("name", "rename one of them", "the dataset at %s has the same name",
			pod.At(fmt.Sprintf("datasets[%d]", first)))
	}
	seen[key] = index
	return nil
}

// make returns a dataset that can be published: before, the earlier one with an
// equal declaration, if nothing has changed, or d with a version. stale is a warning
// that an older copy is read instead of the source.
//
// The version is the first that there is: the rows of an earlier run in the state
// directory, a snapshot, a load from the source. Where no statement needs the rows yet
// (d is not eager), the dataset is published without opening its source. A version
// owns resources, so that each return either serves it or releases them.
func (m *Manager) make(ctx context.Context, d, before *Dataset) (made *Dataset, stale, err error) {
	started := m.opts.Clock.Now()
	if before != nil && before.Current().Unopened && !d.eager {
		return before, nil, nil
	}
	v := m.copies.Restore(ctx, &d.Table, d.Hash, func(v *tables.Version) error { return m.protect(ctx, d, v) })
	if v == nil && before == nil && !d.eager {
		d.Serve(m.unopened(d))
		return d, nil, nil
	}
	if v == nil {
		if v, err = d.fromSnapshot(ctx, m); v == nil && err == nil {
			v, err = m.first(ctx, d)
		}
		if err != nil {
			return nil, nil, err
		}
		v.Stats.Took = m.opts.Clock.Now().Sub(started)
	}
	if d.Caches() && v.Restored {
		if err := d.requests.restore(ctx, v, started); err != nil {
			resource.Release(v.Resources...)
			return nil, nil, err
		}
	}
	if v.Stale != nil {
		warning := *fault.Of(v.Stale)
		warning.Warning, warning.Retry = true, true
		stale = &warning
	}
	if before != nil && before.servesLike(v) {
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

// servesLike reports whether a version changes nothing for statements on the dataset.
func (d *Dataset) servesLike(v *tables.Version) bool {
	return d.Current().Query == v.Query && slices.Equal(d.Columns(), v.Columns) && d.SameWriter(v)
}

// first loads the first version of a dataset that has no rows of an equal declaration.
func (m *Manager) first(ctx context.Context, d *Dataset) (*tables.Version, error) {
	if a := d.Acceleration; a != nil && a.Mode == spicepod.ModeFileUpdate && a.RefreshMode == spicepod.RefreshAppend {
		if last := m.copies.Last(ctx, &d.Table); last != nil {
			d.Serve(last)
			defer resource.Release(last.Resources...)
			defer d.Serve(nil)
		}
	}
	return m.load(ctx, d, refresh.Override{})
}

// liveDataset returns the dataset that is served, or nil. The caller holds m.mu.
func (m *Manager) liveDataset(key string) *Dataset {
	if s := m.live[key]; s != nil {
		return s.dataset
	}
	return nil
}

// problems returns the faults with their positions. Datasets that could not be
// loaded are in [Manager.Status], and are retried if that may succeed; known are those
// whose retry has been scheduled.
func (m *Manager) problems(pod *spicepod.Pod, faults [][]error, known []bool) (problems spicepod.Problems) {
	failed := map[string]Status{}
	var retries []refresh.Failure
	for i, list := range faults {
		decl, path := pod.Datasets[i], fmt.Sprintf("datasets[%d]", i)
		for _, err := range list {
			f := fault.Of(err)
			if _, isTable := pod.CatalogOf(i); isTable && !f.Retry {
				own := *f
				own.Warning, own.Left = true, true // the others of the catalog serve
				f = &own
			}
			problems = append(problems, f.Problem(pod, path, "dataset "+decl.Name))
			if f.Retry {
				retries = append(retries, refresh.Failure{Name: decl.Name, Hash: spicepod.Fingerprint(decl), Known: known[i]})
			}
			if f.Retry || !f.Warning || f.Left {
				st := declared(decl, pod.At(path))
				st.State, st.Error = Failed, f.Error()
				failed[decl.Name] = st
			}
		}
	}
	m.mu.Lock()
	m.failed = failed
	m.mu.Unlock()
	m.refreshes.Fail(retries)
	return problems
}
