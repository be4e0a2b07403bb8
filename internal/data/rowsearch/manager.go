package rowsearch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/rowindex"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Options configures [New]. All fields are required.
type Options struct {
	DB    *engine.DB
	Dir   string // in which the indexes are kept
	Log   *slog.Logger
	Clock load.Clock
	// Eager builds indexes when their tables are served. Otherwise the first search does: a command
	// that only checks a Spicepod sends no texts to a provider.
	Eager bool
}

// Manager owns the indexes. It is safe for concurrent use.
type Manager struct {
	opts   Options
	run    func(f func(context.Context)) // with a context that cancel ends
	ending <-chan struct{}               // closed by cancel
	cancel context.CancelFunc
	wait   sync.WaitGroup
	slot   chan struct{} // held by the update that runs: each uses all processors

	mu     sync.Mutex
	tables map[string]*Index // by tables.Key
	closed bool
}

// New returns a manager without indexes.
func New(o Options) *Manager {
	m := &Manager{opts: o, slot: make(chan struct{}, 1), tables: map[string]*Index{}}
	ctx, cancel := context.WithCancel(context.Background())
	m.ending, m.cancel = ctx.Done(), cancel
	m.run = func(f func(context.Context)) { f(ctx) }
	return m
}

// Replace sets the tables that are searched, and the models that embed their texts. Indexes of other
// tables are removed; those whose columns are searched as before are kept, and brought up to date if
// the rows may have changed.
func (m *Manager) Replace(specs []*Spec, models *embeddings.Set) {
	m.mu.Lock()
	next := make(map[string]*Index, len(specs))
	var fresh, again []*Index
	for _, s := range specs {
		key := tables.Key(s.Table.Relation)
		if old := m.tables[key]; old != nil && old.spec.same(s) && old.uses(models) {
			next[key] = old
			if s.Table.Current().Copy == nil {
				again = append(again, old) // its rows may have changed
			}
			continue
		}
		ix := newIndex(m, s, models)
		ix.before = m.tables[key]
		next[key] = ix
		fresh = append(fresh, ix)
	}
	var gone []*Index
	for key, old := range m.tables {
		if next[key] != old {
			gone = append(gone, old)
		}
	}
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.tables = next
	for _, old := range gone {
		m.wait.Go(old.close)
	}
	m.wait.Go(m.removeOthers)
	for _, ix := range append(fresh, again...) {
		ix.refresh()
	}
}

// Changed brings the index of a table up to date, if it has one.
func (m *Manager) Changed(r engine.Relation) {
	if ix := m.of(r); ix != nil {
		ix.refresh()
	}
}

// of returns the index of a table, nil if it has none.
func (m *Manager) of(r engine.Relation) *Index {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tables[tables.Key(r)]
}

// Settled reports whether each index that holds back readiness was built, or failed once.
func (m *Manager) Settled() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, ix := range m.tables {
		if m.opts.Eager && !ix.spec.Optional && !ix.settled() {
			return false
		}
	}
	return true
}

// Status returns the state of each index, in the order of names.
func (m *Manager) Status() []Status {
	m.mu.Lock()
	var list []*Index
	for _, ix := range m.tables {
		list = append(list, ix)
	}
	m.mu.Unlock()
	out := make([]Status, len(list))
	for i, ix := range list {
		out[i] = ix.Status()
	}
	slices.SortFunc(out, func(a, b Status) int {
		return slices.Compare([]string{a.Relation.Schema, a.Relation.Name}, []string{b.Relation.Schema, b.Relation.Name})
	})
	return out
}

// Close ends the updates and releases the files.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	list := m.tables
	m.tables = map[string]*Index{}
	m.mu.Unlock()
	m.cancel()
	m.wait.Wait()
	for _, ix := range list {
		ix.close()
	}
}

// removeOthers removes the folders of tables that no longer have an index.
func (m *Manager) removeOthers() {
	m.slot <- struct{}{}
	defer func() { <-m.slot }()
	entries, err := os.ReadDir(m.opts.Dir)
	if err != nil {
		return // the folder does not exist yet
	}
	m.mu.Lock()
	used := map[string]bool{}
	for key := range m.tables {
		used[folderOf(key)] = true
	}
	m.mu.Unlock()
	for _, e := range entries {
		if !used[e.Name()] {
			if err := os.RemoveAll(filepath.Join(m.opts.Dir, e.Name())); err != nil {
				m.opts.Log.Warn("cannot remove the index of a table that is no longer searched", "error", err)
			}
		}
	}
}

// folderOf is the folder of a table's index: names may have any characters.
func folderOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}

// Status is the state of an index.
type Status struct {
	Relation  engine.Relation
	Columns   []Column
	Protected bool // callers see different rows, so that numbers of rows would tell about hidden ones
	State     State
	Rows      int // that are found; -1: none yet
	Chunks    int
	Done      int64 // rows that the running update has read
	Expected  int64 // rows that it will read; -1: unknown
	Bytes     int64 // of the files
	ReadAt    time.Time
	// Message tells what is wrong, or what is not searched.
	Message string
}

// State is the state of an index.
type State string

// States of an index.
const (
	Waiting  State = "waiting"  // for the first search, which builds it
	Building State = "building" // the first index
	Ready    State = "ready"
	Updating State = "updating" // an older one answers
	Failed   State = "failed"
)

// identity names how the rows of a table are hashed, which an index depends on.
func (s *Spec) identity() string {
	id := "3 duckdb " + engine.Version() + " " + s.keyHash("")
	for _, c := range s.Key {
		id += " " + c.Type
	}
	return id
}

// open opens the store of an index.
func (m *Manager) open(s *Spec, columns []rowindex.Column) (*rowindex.Store, error) {
	folder := filepath.Join(m.opts.Dir, folderOf(tables.Key(s.Table.Relation)))
	store, damaged, err := rowindex.Open(folder, columns, s.identity())
	if damaged != nil {
		m.opts.Log.Warn("the search index of a table is damaged and is built again", "table", s.Table.Name, "error", damaged)
	}
	if err != nil {
		return nil, fmt.Errorf("open the search index: %w", err)
	}
	return store, nil
}
