package rowsearch

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/rowindex"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// MaxAge is how old the index of a table may be whose rows can change at any time. A search waits for
// maxWait until it is up to date, and then uses the older one.
const (
	MaxAge  = time.Minute
	maxWait = 2 * time.Second
)

// Waits between attempts of an update that failed.
const (
	firstRetry = time.Second
	lastRetry  = 10 * time.Minute
)

// Index is the index of a table. It is safe for concurrent use.
type Index struct {
	m      *Manager
	spec   *Spec
	models map[string]embeddings.Model // by name, of the columns
	ending chan struct{}               // closed by close
	before *Index                      // whose folder it takes over; nil: none
	ended  sync.WaitGroup
	gone   chan struct{} // closed when the files are released

	mu      sync.Mutex
	store   *rowindex.Store // nil until it is open
	running *run            // nil: none
	stop    func()          // ends the running update; nil before the first
	again   bool            // the table changed since the running update began
	closed  bool
	failure error // of the last update
	tries   int
	done    int64 // rows that the running update has read
}

// run is an update that runs.
type run struct{ done chan struct{} }

func newIndex(m *Manager, s *Spec, models *embeddings.Set) *Index {
	ix := &Index{m: m, spec: s, models: map[string]embeddings.Model{}, gone: make(chan struct{})}
	for _, c := range s.Columns {
		if model := modelOf(models, c.Model); model != nil {
			ix.models[c.Model] = model
		}
	}
	ix.ending = make(chan struct{})
	return ix
}

// uses reports whether the models of a set are those of the index.
func (ix *Index) uses(models *embeddings.Set) bool {
	for _, c := range ix.spec.Columns {
		if modelOf(models, c.Model) != ix.models[c.Model] {
			return false
		}
	}
	return true
}

// modelOf returns the model of a name, in any case; nil if it was not loaded.
func modelOf(set *embeddings.Set, name string) embeddings.Model {
	for _, known := range set.Names() {
		if strings.EqualFold(known, name) {
			model, _ := set.Model(known) // else it is nil
			return model
		}
	}
	return nil
}

// refresh begins an update, unless it is left to the first search.
func (ix *Index) refresh() {
	ix.mu.Lock()
	searched := ix.store != nil || ix.running != nil
	ix.mu.Unlock()
	if searched || ix.m.opts.Eager {
		ix.begin()
	}
}

// begin begins an update, or has the running one followed by another.
func (ix *Index) begin() *run {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.closed || ix.spec.Unserved != "" || ix.spec.Personal {
		return nil
	}
	if ix.running != nil {
		ix.again = true
		return ix.running
	}
	r := &run{done: make(chan struct{})}
	ix.running = r
	ix.ended.Add(1)
	go func() {
		defer ix.ended.Done()
		ix.m.run(func(ctx context.Context) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			ix.mu.Lock()
			ix.stop = cancel
			closed := ix.closed
			ix.mu.Unlock()
			if closed {
				cancel()
			}
			ix.updates(ctx, r)
		})
	}()
	return r
}

// updates runs updates until the index is that of the table's rows.
func (ix *Index) updates(ctx context.Context, r *run) {
	defer close(r.done)
	if ix.before != nil {
		<-ix.before.gone
		ix.before = nil
	}
	for {
		err := ix.update(ctx)
		ix.mu.Lock()
		again := ix.again && err == nil && ctx.Err() == nil
		ix.again, ix.done = false, 0
		if ctx.Err() == nil {
			ix.failure = err
		}
		if !again {
			ix.running = nil
			if err != nil {
				ix.retry()
			} else {
				ix.tries = 0
			}
		}
		ix.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			ix.m.opts.Log.Warn("a search index could not be brought up to date", "table", ix.spec.Table.Name, "error", err)
		}
		if !again {
			return
		}
	}
}

// retry begins another update after a while. The caller holds mu.
func (ix *Index) retry() {
	if ix.closed {
		return
	}
	wait := min(firstRetry<<min(ix.tries, 20), lastRetry)
	ix.tries++
	ix.ended.Add(1)
	go func() {
		defer ix.ended.Done()
		select {
		case <-ix.m.opts.Clock.After(wait):
			ix.begin()
		case <-ix.ending:
		case <-ix.m.ending:
		}
	}()
}

// close ends the updates and releases the files.
func (ix *Index) close() {
	defer close(ix.gone)
	close(ix.ending)
	ix.mu.Lock()
	ix.closed = true
	if ix.stop != nil {
		ix.stop()
	}
	ix.mu.Unlock()
	ix.ended.Wait()
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.store != nil {
		ix.store.Close()
		ix.store = nil
	}
}

// settled reports whether there is an index, or an update has failed.
func (ix *Index) settled() bool {
	ix.mu.Lock()
	failed := ix.failure != nil || ix.spec.Personal || ix.spec.Unserved != "" || ix.spec.Table.Current().Unopened
	ix.mu.Unlock()
	return failed || ix.has()
}

// Status returns the state of the index.
func (ix *Index) Status() Status {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	s := Status{
		Relation: ix.spec.Table.Relation, Columns: ix.spec.Columns, State: Building, Rows: -1, Done: ix.done, Expected: -1,
		Message: ix.remark(rowindex.Missing{}), Protected: ix.spec.Table.Protected,
	}
	switch {
	case ix.running != nil:
		s.Expected = ix.spec.Table.Current().Stats.Rows
	case ix.store == nil && !ix.m.opts.Eager:
		s.State = Waiting
	}
	if ix.store != nil {
		s.Bytes = ix.store.Bytes()
		if current := ix.store.Current(); current != nil {
			s.State, s.Rows, s.Chunks, s.ReadAt = Ready, current.Rows(), current.Chunks(), time.Unix(0, current.ReadAt())
			s.Message = ix.remark(current.Missing())
			if ix.running != nil {
				s.State = Updating
			}
			current.Release()
		}
	}
	switch {
	case ix.spec.Unserved != "":
		s.State, s.Message = Failed, ix.spec.Unserved
	case ix.spec.Personal:
		s.State, s.Message = Ready, "each search reads the rows, which depend on its caller"
	case ix.failure != nil:
		s.Message = ix.failure.Error()
		if s.Rows < 0 && ix.running == nil {
			s.State = Failed
		}
	}
	return s
}

// current returns the index to search, held for the caller. It waits for one that is being built
// until ctx ends, and brings one of rows that may have changed up to date.
func (ix *Index) current(ctx context.Context) (*rowindex.Index, error) {
	for {
		ix.mu.Lock()
		store, running, failure, closed := ix.store, ix.running, ix.failure, ix.closed
		ix.mu.Unlock()
		var found *rowindex.Index
		if store != nil {
			found = store.Current()
		}
		switch {
		case ix.spec.Unserved != "":
			return nil, refuse("", "table %s cannot be searched: %s", ix.spec.Table.Name, ix.spec.Unserved)
		case found != nil && (!ix.stale(found) || running != nil && failure != nil):
			return found, nil
		case found == nil && running == nil && failure != nil:
			return nil, engine.NewError(errcode.Execution, "spiced.search_indexes has the state of each index",
				"the search index of table %s cannot be built: %s", ix.spec.Table.Name, failure)
		case closed && found == nil:
			return nil, refuse("try again", "table %s is no longer searched", ix.spec.Table.Name)
		}
		if running == nil {
			running = ix.begin()
		}
		if running == nil {
			return found, nil
		}
		var waited <-chan time.Time
		if found != nil {
			waited = ix.m.opts.Clock.After(maxWait)
		}
		select {
		case <-waited:
			return found, nil
		case <-running.done:
			if found != nil && ix.failed() {
				return found, nil // the older rows, rather than none
			}
			if found != nil {
				found.Release()
			}
		case <-ctx.Done():
			if found != nil {
				return found, nil
			}
			return nil, engine.NewError(errcode.Loading, "try again later; spiced.search_indexes has the progress",
				"the search index of table %s is being built: %s", ix.spec.Table.Name, ix.progress())
		}
	}
}

func (ix *Index) failed() bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.failure != nil
}

// stale reports whether the rows may have changed since the index read them, with no one telling.
func (ix *Index) stale(found *rowindex.Index) bool {
	v := ix.spec.Table.Current()
	return v.Copy == nil && ix.m.opts.Clock.Now().Sub(time.Unix(0, found.ReadAt())) > MaxAge
}

// progress tells how far an update is.
func (ix *Index) progress() string {
	s := ix.Status()
	if s.Expected > 0 {
		return fmt.Sprintf("%d %% of %d rows", min(100*s.Done/s.Expected, 99), s.Expected)
	}
	return fmt.Sprintf("%d rows so far", s.Done)
}
