package datasets

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/data/views"
	"github.com/spiced-sql/spiced/spicepod"
)

// Acceleration describes the copy of an accelerated dataset.
type Acceleration struct {
	Mode            spicepod.Mode
	RefreshMode     spicepod.RefreshMode
	RefreshInterval time.Duration
	File            string // of mode file, for other processes to attach; "" in memory or while it loads
}

// State is the state of a dataset or view.
type State string

// States.
const (
	Ready      State = "ready"
	Loading    State = "loading" // is served, but not from its copy yet
	Refreshing State = "refreshing"
	Failed     State = "error" // is not served
)

// Status describes a declared dataset or view as it is now. Error may be set in
// any state: the old rows are served while refreshes fail.
type Status struct {
	Schema, Name string
	Kind         string // dataset or view
	Declared     string // its name as written
	From         string // as written; "" for a view
	Description  string
	Format       string // of the files; duckdb for a table
	State        State
	tables.Stats
	Columns      []tables.Column
	Acceleration *Acceleration // nil: none
	Error        string
	Position     spicepod.Position
}

// Status returns every published dataset and view, and every dataset that
// could not be loaded, by schema and name.
func (m *Manager) Status() []Status {
	m.mu.Lock()
	live := slices.Collect(maps.Values(m.live))
	m.mu.Unlock()
	return m.statusOf(live)
}

// StatusOf is Status as it will be once these are published.
func (m *Manager) StatusOf(datasets []*Dataset, views []*views.View) []Status {
	return m.statusOf(slices.Collect(maps.Values(m.servedOf(datasets, views))))
}

func (m *Manager) statusOf(live []*served) []Status {
	m.mu.Lock()
	failed := maps.Clone(m.failed)
	m.mu.Unlock()
	out := make([]Status, 0, len(live)+len(failed))
	for _, s := range live {
		st := s.status()
		if f, ok := failed[s.Name]; ok && s.dataset != nil {
			st.Error = f.err.Error() // an older version is served
			delete(failed, s.Name)
		}
		out = append(out, st)
	}
	for _, f := range failed {
		schema, table := f.declared.Qualified()
		out = append(out, Status{
			Schema: cmp.Or(schema, "public"), Name: table, Kind: "dataset", Declared: f.declared.Name, From: f.declared.From.Raw,
			Description: f.declared.Description, State: Failed, Stats: tables.Stats{Rows: -1, Bytes: -1}, Error: f.err.Error(), Position: f.position,
		})
	}
	slices.SortFunc(out, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

func (s *served) status() Status {
	v := s.Current()
	st := Status{
		Schema: s.Relation.Schema, Name: s.Relation.Name, Kind: s.Kind, Declared: s.Name, Description: s.Description,
		State: Ready, Stats: tables.Stats{Rows: -1, Bytes: -1}, Position: s.State.Position(),
	}
	if s.dataset != nil {
		st.From = s.dataset.from.Shown
	}
	if v != nil {
		st.Format, st.Stats, st.Columns = v.Format, v.Stats, v.Columns
	}
	if s.Protected {
		st.Rows, st.Bytes = -1, -1 // of all rows, which no caller may see
	}
	busy, message := s.State.Snapshot()
	st.Error = message
	if busy {
		st.State = Refreshing
	}
	if a := s.Acceleration; a != nil {
		st.Acceleration = &Acceleration{Mode: a.Mode, RefreshMode: a.RefreshMode, RefreshInterval: a.RefreshCheckInterval}
		if v != nil && v.Copy != nil {
			st.Acceleration.File = v.Copy.Path
		} else if message == "" {
			st.State = Loading
		}
	}
	return st
}
