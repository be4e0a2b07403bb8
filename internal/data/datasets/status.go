package datasets

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/spicepod"
)

// Stats are numbers of what a dataset holds. -1 is unknown.
type Stats struct {
	Rows, Bytes int64
	Refreshed   time.Time
	Took        time.Duration
	stale       error
}

// warning is stale as a fault that leaves the dataset served.
func (s Stats) warning() error {
	if s.stale == nil {
		return nil
	}
	f := *asFault(s.stale)
	f.warning, f.retry = true, true
	return &f
}

// Acceleration describes the copy of an accelerated dataset.
type Acceleration struct {
	Mode            spicepod.Mode
	RefreshMode     spicepod.RefreshMode
	RefreshInterval time.Duration
	File            string // of mode file, for other processes to attach; "" in memory or while it loads
}

// State says how a dataset is.
type State string

// States.
const (
	Ready      State = "ready"
	Loading    State = "loading" // serves, but not from its copy yet
	Refreshing State = "refreshing"
	Failed     State = "error" // serves nothing
)

// Status is how a declared dataset or view is now. Error may be set beside
// any state: the old rows serve while refreshes fail.
type Status struct {
	Schema, Name string
	Kind         string // dataset or view
	Declared     string // its name as written
	From         string // as written; "" for a view
	Description  string
	Format       string // of the files; duckdb for a table
	State        State
	Stats
	Columns      []Column
	Acceleration *Acceleration // nil: none
	Error        string
	Position     spicepod.Position
}

// itemState is what changes about a dataset as it is refreshed.
type itemState struct {
	mu       sync.Mutex
	busy     bool
	err      error
	tries    int // failures in a row
	finished time.Time
	retry    time.Time
	position spicepod.Position
}

// place is where the dataset is declared; move says that it moved.
func (s *itemState) place() spicepod.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.position
}

func (s *itemState) move(p spicepod.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.position = p
}

func (s *itemState) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy, s.retry = true, time.Time{}
}

func (s *itemState) loaded(v *version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy, s.err, s.tries, s.finished, s.retry = false, v.stats.stale, 0, v.stats.Refreshed, time.Time{}
}

// failedWith notes a failure at a time, from which the interval counts anew,
// and returns how many there are in a row.
func (s *itemState) failedWith(err error, at time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy, s.err, s.finished = false, err, at
	s.tries++
	return s.tries
}

// retryAt sets when to try again.
func (s *itemState) retryAt(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retry = t
}

func (s *itemState) times() (finished, retry time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finished, s.retry
}

func (s *itemState) snapshot() (busy bool, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		message = s.err.Error()
	}
	return s.busy, message
}

// Status returns every published dataset and view, and every dataset that
// could not be loaded, by schema and name.
func (m *Manager) Status() []Status {
	m.mu.Lock()
	live := make([]*served, 0, len(m.live))
	for _, s := range m.live {
		live = append(live, s)
	}
	m.mu.Unlock()
	return m.statusOf(live)
}

// StatusOf is Status as it will be once these are published.
func (m *Manager) StatusOf(datasets []*Dataset, views []*View) []Status {
	return m.statusOf(slices.Collect(maps.Values(servedOf(datasets, views))))
}

func (m *Manager) statusOf(live []*served) []Status {
	m.mu.Lock()
	failed := make(map[string]*failure, len(m.failed))
	for name, f := range m.failed {
		failed[name] = f
	}
	m.mu.Unlock()
	out := make([]Status, 0, len(live)+len(failed))
	for _, s := range live {
		st := s.status()
		if f := failed[s.name]; f != nil && s.dataset != nil {
			st.Error = f.err.Error() // an older version serves
			delete(failed, s.name)
		}
		out = append(out, st)
	}
	for _, f := range failed {
		schema, table := f.declared.Qualified()
		out = append(out, Status{
			Schema: cmp.Or(schema, "public"), Name: table, Kind: "dataset", Declared: f.declared.Name, From: f.declared.From.Raw,
			Description: f.declared.Description, State: Failed, Stats: Stats{Rows: -1, Bytes: -1}, Error: f.err.Error(), Position: f.position,
		})
	}
	slices.SortFunc(out, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

func (s *served) status() Status {
	v := s.current.Load()
	st := Status{
		Schema: s.relation.Schema, Name: s.relation.Name, Kind: s.kind, Declared: s.name, Description: s.description,
		State: Ready, Stats: Stats{Rows: -1, Bytes: -1}, Position: s.state.place(),
	}
	if s.dataset != nil {
		st.From = s.dataset.source.shown
	}
	if v != nil {
		st.Format, st.Stats, st.Columns = v.format, v.stats, v.columns
	}
	if s.policy != nil {
		st.Rows, st.Bytes = -1, -1 // of all rows; nobody may see them
	}
	busy, message := s.state.snapshot()
	st.Error = message
	if busy {
		st.State = Refreshing
	}
	if a := s.acceleration; a != nil {
		st.Acceleration = &Acceleration{Mode: a.Mode, RefreshMode: a.RefreshMode, RefreshInterval: a.RefreshCheckInterval}
		if v != nil && v.data != nil {
			st.Acceleration.File = v.data.path
		} else if message == "" {
			st.State = Loading
		}
	}
	return st
}
