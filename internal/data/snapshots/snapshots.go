// Package snapshots writes the rows of accelerated datasets to a store, and loads them at
// a start that has none: on a new machine, or on one that has lost its state.
//
//	s := snapshots.New(snapshots.Options{DB: db, Copies: store, Dir: dir, …})
//	defer s.Close()
//	problems := s.Configure(pod)                   // for each Spicepod
//	version, err := s.Load(ctx, target, complete)  // the newest snapshot, or nil
//	s.Write(target, version)                       // in the background
//
// A snapshot is two objects in a folder of its dataset:
//
//	<location>/<Spicepod>/<dataset>/<time>-<random>.parquet   the rows
//	<location>/<Spicepod>/<dataset>/<time>-<random>.json      the manifest
//
// The manifest is written last: rows without one are no snapshot. It has a checksum of the
// rows and names the declaration that they were loaded with. What is read is not trusted: it is bounded,
// compared with its checksum, and SQL is made of names and types only, which are quoted.
package snapshots

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/data/copies"
	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source/objectstore"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Outcome is how a write or a load of a snapshot ended.
type Outcome string

// Outcomes.
const (
	Written    Outcome = "written"
	NotWritten Outcome = "write_failed"
	Unchanged  Outcome = "unchanged" // the last one has the same rows
	Loaded     Outcome = "loaded"
	NotLoaded  Outcome = "load_failed"
)

// Options configures [New]. All fields are required.
type Options struct {
	DB       *engine.DB
	Copies   *copies.Store
	Dir      string // for temporary files, which DuckDB may access; an absolute path
	MaxBytes int64  // of a snapshot
	Clock    load.Clock
	Progress *load.Reporter
	Log      *slog.Logger
	// Ended is called when a snapshot was written or loaded, or could not be.
	Ended func(ctx context.Context, t *tables.Table, o Outcome)
}

// Target is a dataset with snapshots.
type Target struct {
	*tables.Table
	Declaration string      // see [Identity]
	Time        copies.Time // of the newest row
	Redact      func(error) error
}

// Identity returns a name for the declarations by which a source has equal rows. It has no
// values of secrets: params that are secrets are left out, and references count as they are
// written. Names the settings that change no row, such as how often a dataset is refreshed,
// are not part of it.
func Identity(d spicepod.Dataset, params []spicepod.Param) string {
	kept := spicepod.Params{}
	for name, value := range d.Params {
		kept[name] = spicepod.MapTexts(value, func(t spicepod.Text) string { return withoutUser(t.Raw) })
	}
	for _, p := range params {
		if p.Secret {
			delete(kept, p.Name)
		}
	}
	var columns []string
	for _, c := range d.Columns {
		columns = append(columns, c.Name, c.Type)
	}
	a := d.Acceleration
	return spicepod.Fingerprint([]any{
		d.Name, withoutUser(d.From.Raw), map[string]any(kept), columns, d.TimeColumn, d.TimeFormat,
		a.RefreshSQL, a.Window(), a.PrimaryKey, a.OnConflict, a.Indexes, a.RetentionSQL, a.RetentionCheckEnabled,
	})
}

// Snapshots are the snapshots of a process. It is safe for concurrent use.
type Snapshots struct {
	Options
	work   sync.WaitGroup
	cancel context.CancelFunc
	wake   chan struct{} // something is queued

	mu       sync.Mutex
	location *location // nil: none
	pod      string    // name of the Spicepod
	queue    map[string]*queued
	unused   []*resource.Resource // to release
	last     map[string]last
	writing  bool
	closed   bool
	idle     sync.Cond // nothing is queued or written
}

// New returns snapshots without a location.
func New(o Options) *Snapshots {
	s := &Snapshots{Options: o, wake: make(chan struct{}, 1), queue: map[string]*queued{}, last: map[string]last{}}
	s.idle.L = &s.mu
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.work.Go(func() { s.run(ctx) })
	return s
}

// Configure makes the location of a Spicepod the one that is used. With a fault there, no
// snapshot is written or loaded.
func (s *Snapshots) Configure(pod *spicepod.Pod) (problems spicepod.Problems) {
	next, err := locate(pod)
	if err != nil {
		next = nil
		problems = append(problems, fault.Of(err).Problem(pod, "snapshots", "snapshots"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.location == nil || next == nil || s.location.id != next.id {
		s.location = next
	}
	s.pod = pod.Name
	return problems
}

// Check returns an error if an acceleration uses snapshots in a way that has no effect.
// declared says that the Spicepod has a location.
func Check(a *spicepod.Acceleration, declared bool) error {
	const hint = "write snapshots: create_only, or "
	switch {
	case !a.Snapshots.Loads() && !a.Snapshots.Writes():
		return nil
	case !declared:
		return fault.New("acceleration.snapshots", "add the top-level section snapshots: { location: … }, or leave it out",
			"the Spicepod has no location for snapshots")
	case a.Snapshots.Loads() && a.Mode == spicepod.ModeFileCreate:
		return fault.New("acceleration.snapshots", hint+"mode: file",
			"mode file_create loads the source at each start, not a snapshot")
	case a.Snapshots.Loads() && a.RefreshOnStartup == spicepod.RefreshAlways:
		return fault.New("acceleration.snapshots", hint+"leave refresh_on_startup out",
			"refresh_on_startup always loads the source at each start, not a snapshot")
	}
	return nil
}

// place returns the location and the folder of a table there; false if there is none.
func (s *Snapshots) place(t *tables.Table) (l *location, folder objectstore.Area, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.location == nil {
		return nil, folder, false
	}
	return s.location, s.location.area.Sub(folderName(s.pod)).Sub(folderName(tableName(t.Relation))), true
}

// tableName returns a name of a relation that no other one has.
func tableName(r engine.Relation) string {
	if r.Schema == engine.Public && plain.MatchString(r.Name) {
		return r.Name
	}
	return tables.Key(r)
}

// ofStore makes the hint of an error of the store name its params as the Spicepod has them.
func ofStore(err error) error {
	var f *fault.Fault
	if !errors.As(err, &f) {
		return err
	}
	own := *f
	own.Hint = strings.ReplaceAll(own.Hint, "params.", "snapshots.params.")
	return &own
}

// Close cancels what is written and waits for it.
func (s *Snapshots) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.work.Wait()
	s.Keep(nil)
	s.free()
}

// Wait waits until nothing is queued or written.
func (s *Snapshots) Wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.writing || len(s.queue) > 0 || len(s.unused) > 0 {
		s.idle.Wait()
	}
}

const (
	maxTime     = 6 * time.Hour    // of a write or a load
	cleanupTime = 30 * time.Second // of what is done after a write, also at the end of the process
)

// cleanup runs f with a context that the end of ctx does not end.
func cleanup(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	return f(ctx)
}
