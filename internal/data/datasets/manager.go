package datasets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Options configures [NewManager]. DB is needed; all else has a default.
type Options struct {
	DB    *engine.DB
	Roots []string // absolute folders that sources may be read from
	// StateDir holds accelerated data and fetched files; DuckDB must be
	// allowed to use it. "": a folder made for this run and removed by Close.
	StateDir string
	HTTP     *http.Client // nil: http.DefaultClient; its redirects are ours
	Log      *slog.Logger
	Progress func(Progress) // told of loads that take long; called by several goroutines
	Files    bool           // data accelerated in memory is in files, too, for other processes to attach
	Parallel int            // loads at once, where the Spicepod does not say; 0: one for each CPU
	// Type maps a declared column type to DuckDB's, beyond the simple ones.
	Type func(string) (string, error)
	// Publish runs build in a publishing transaction of the current
	// generation, after and before any other publication, never beside one.
	Publish func(ctx context.Context, what string, build func(*engine.Tx) error) error
	// Retry asks for a reload because these datasets, which could not be
	// loaded, may be there now. Run waits for it: return quickly.
	Retry func(ctx context.Context, datasets []string)
}

// Manager keeps sources and accelerated data across generations. One
// goroutine calls Prepare; all else is safe for concurrent use.
type Manager struct {
	opts      Options
	log       *slog.Logger
	clock     clock
	limits    limits
	realRoots []string // Roots without symbolic links
	stateDir  string
	ownState  bool
	stateLock *os.File
	serial    atomic.Uint64 // of database names
	wake      chan struct{} // tells Run that the schedule changed

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	tasks  tasks

	attaching sync.Mutex
	mu        sync.Mutex
	fetching  map[string]*sync.Mutex
	sources   map[string]*database // attached files of duckdb: sources
	written   map[string]bool      // real paths of those that the last Prepare's datasets write
	cacheUse  map[string]*resource // fetched files in use, by name
	cacheOld  map[string]bool      // fetched files to remove when unused
	live      map[string]*served   // what is published, by relation
	prepared  map[string]*Dataset  // what is not published yet, by relation
	failed    map[string]*failure  // what the last Prepare could not load
}

// served is a published dataset or view.
type served struct {
	*common
	dataset *Dataset // one of the two
	view    *View
}

// NewManager opens the state directory.
func NewManager(opts Options) (*Manager, error) {
	if opts.DB == nil {
		return nil, errors.New("datasets: Options.DB is missing")
	}
	m := &Manager{
		opts: opts, log: opts.Log, clock: realClock{}, limits: defaultLimits(), wake: make(chan struct{}, 1),
		fetching: map[string]*sync.Mutex{}, sources: map[string]*database{},
		cacheUse: map[string]*resource{}, cacheOld: map[string]bool{},
		live: map[string]*served{}, prepared: map[string]*Dataset{}, failed: map[string]*failure{},
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	if opts.HTTP == nil {
		m.opts.HTTP = http.DefaultClient
	}
	for _, root := range opts.Roots {
		if real, err := filepath.EvalSymlinks(root); err == nil {
			m.realRoots = append(m.realRoots, real)
		}
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	if err := m.openState(); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// StateDir is the folder that DuckDB must be allowed to use, with the roots.
func (m *Manager) StateDir() string { return m.stateDir }

// Close ends what runs in the background and waits for it. Data in files
// stays for the next start.
func (m *Manager) Close() {
	m.tasks.close()
	m.cancel()
	m.tasks.wait()
	if m.stateLock != nil {
		m.stateLock.Close()
	}
	if m.ownState {
		os.RemoveAll(m.stateDir)
	}
}

// Prepare makes the datasets of a Spicepod ready to be published: it checks
// them, opens their sources and loads what is accelerated, several at a time.
// What an earlier Prepare made of an equal declaration is taken over, and not
// loaded again. A dataset with a problem that is no warning is not in the
// result; the runtime may publish the one it had before.
func (m *Manager) Prepare(ctx context.Context, pod *spicepod.Pod) ([]*Dataset, spicepod.Problems) {
	var group errgroup.Group
	group.SetLimit(parallelism(pod.Runtime.DatasetLoadParallelism, m.opts.Parallel))
	ready := make([]*Dataset, len(pod.Datasets))
	faults := make([][]error, len(pod.Datasets))
	seen := map[string]int{}
	compiled := make([]*Dataset, len(pod.Datasets))
	for i := range pod.Datasets {
		d, err := m.compile(ctx, pod, i)
		if err == nil {
			err = cmp.Or(m.checkUnique(pod, d, i, seen), d.checkAccess())
		}
		if err != nil {
			faults[i] = append(faults[i], err)
			continue
		}
		compiled[i] = d
	}
	m.noteWritten(compiled)
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
			problems = append(problems, asFault(err).problem(pod, fmt.Sprintf("datasets[%d]", i), "dataset "+pod.Datasets[i].Name))
		}
	}
	m.remember(ready)
	return slices.DeleteFunc(ready, func(d *Dataset) bool { return d == nil }), problems
}

// checkUnique refuses two datasets of one name, and too many.
func (m *Manager) checkUnique(pod *spicepod.Pod, d *Dataset, index int, seen map[string]int) error {
	if index >= m.limits.datasets {
		return newFault("", "split the Spicepod", "more than %d datasets are declared", m.limits.datasets)
	}
	key := relationKey(d.Relation)
	if first, ok := seen[key]; ok {
		return newFault("name", "rename one", "the name means the same table as that of the dataset at %s", pod.At(fmt.Sprintf("datasets[%d]", first)))
	}
	seen[key] = index
	return nil
}

// make returns a dataset that can be published: the one of before when
// nothing changed, else one that was opened or loaded now. stale warns that an
// older copy stands for the source.
func (m *Manager) make(ctx context.Context, d *Dataset) (made *Dataset, stale, err error) {
	before := m.known(d)
	if before != nil {
		before.Path = d.Path
		before.state.move(d.state.place())
	}
	if before != nil && d.acceleration != nil {
		return before, nil, nil
	}
	started := m.clock.Now()
	v := m.restore(ctx, d)
	if v == nil {
		if v, err = m.loadDataset(ctx, d, Override{}); err != nil {
			return nil, nil, err
		}
		v.stats.Took = m.clock.Now().Sub(started)
	}
	if before != nil && before.current.Load().query == v.query && slices.Equal(before.Columns(), v.columns) {
		m.release(v.resources...)
		before.state.loaded(v)
		return before, v.stats.warning(), nil
	}
	d.current.Store(v)
	d.state.loaded(v)
	if v.stats.stale != nil && d.acceleration != nil {
		d.state.retryAt(m.clock.Now().Add(m.limits.backoff(1)))
	}
	attrs := []any{"dataset", d.name, "from", d.source.shown, "took", v.stats.Took}
	if v.stats.Rows >= 0 {
		attrs = append(attrs, "rows", v.stats.Rows)
	}
	m.log.Info("dataset is ready", attrs...)
	return d, v.stats.warning(), nil
}

// known returns the dataset that was made of an equal declaration.
func (m *Manager) known(d *Dataset) *Dataset {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := relationKey(d.Relation)
	for _, k := range []*Dataset{m.prepared[key], m.live[key].datasetOrNil()} {
		if k != nil && k.Hash == d.Hash {
			return k
		}
	}
	return nil
}

func (s *served) datasetOrNil() *Dataset {
	if s == nil {
		return nil
	}
	return s.dataset
}

// remember keeps what is ready until it is published, and frees what an
// earlier Prepare made for nothing.
func (m *Manager) remember(ready []*Dataset) {
	var unused []*Dataset
	m.mu.Lock()
	next := map[string]*Dataset{}
	for _, d := range ready {
		if d != nil {
			next[relationKey(d.Relation)] = d
		}
	}
	for key, d := range m.prepared {
		if next[key] != d && m.live[key].datasetOrNil() != d {
			unused = append(unused, d)
		}
	}
	m.prepared = next
	m.mu.Unlock()
	for _, d := range unused {
		m.release(d.current.Load().resources...)
	}
}

// Publish says that the transaction makes these the datasets and views that
// are served, and no others. On commit the others' data is freed as soon as
// no statement sees it, and accelerated views begin to load.
func (m *Manager) Publish(tx *engine.Tx, datasets []*Dataset, views []*View) {
	tx.Committed(func() { m.switchTo(servedOf(datasets, views)) })
}

func servedOf(datasets []*Dataset, views []*View) map[string]*served {
	all := make(map[string]*served, len(datasets)+len(views))
	for _, d := range datasets {
		all[relationKey(d.Relation)] = &served{common: &d.common, dataset: d}
	}
	for _, v := range views {
		all[relationKey(v.Relation)] = &served{common: &v.common, view: v}
	}
	return all
}

func (m *Manager) switchTo(next map[string]*served) {
	m.mu.Lock()
	last := m.live
	m.live = next
	var fresh []*served
	for key, s := range next {
		if last[key] == nil || last[key].common != s.common {
			fresh = append(fresh, s)
		}
		if m.prepared[key] == s.dataset {
			delete(m.prepared, key)
		}
	}
	m.mu.Unlock()
	for key, s := range last {
		if next[key] != nil && next[key].common == s.common {
			continue
		}
		if next[key] == nil && s.dataset != nil {
			m.forget(s.relation)
		}
		if v := s.current.Load(); v != nil {
			m.releaseDrained(v.resources)
		}
	}
	for _, s := range fresh {
		if s.dataset != nil && s.acceleration != nil {
			m.keep(s.dataset, s.current.Load(), last[relationKey(s.relation)] == nil)
		}
	}
	for _, s := range outdated(next, fresh) {
		m.enqueue(s, Override{})
	}
	m.poke()
}

// outdated returns the accelerated views that are fresh or read something that
// is, through other views too.
func outdated(all map[string]*served, fresh []*served) []*served {
	changed := make(map[engine.Relation]bool, len(fresh))
	for _, s := range fresh {
		changed[s.relation] = true
	}
	for again := true; again; {
		again = false
		for _, s := range all {
			if s.view != nil && !changed[s.relation] && slices.ContainsFunc(s.view.Uses.Relations, func(r engine.Relation) bool { return changed[r] }) {
				changed[s.relation], again = true, true
			}
		}
	}
	var out []*served
	for _, s := range all {
		if s.view != nil && s.acceleration != nil && changed[s.relation] {
			out = append(out, s)
		}
	}
	return out
}

// poke wakes the schedule.
func (m *Manager) poke() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}
