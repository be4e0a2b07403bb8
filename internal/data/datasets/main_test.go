package datasets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/duckdb"
	"github.com/spiced-sql/spiced/internal/data/source/file"
	"github.com/spiced-sql/spiced/internal/data/source/flightsql"
	"github.com/spiced-sql/spiced/internal/data/source/github"
	"github.com/spiced-sql/spiced/internal/data/source/https"
	"github.com/spiced-sql/spiced/internal/data/source/lake"
	"github.com/spiced-sql/spiced/internal/data/source/mysql"
	"github.com/spiced-sql/spiced/internal/data/source/objects"
	"github.com/spiced-sql/spiced/internal/data/source/postgres"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/data/views"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/spicepod"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is the folder of a Spicepod, an engine and a manager, which publishes as
// the runtime does.
type world struct {
	t         *testing.T
	dir       string
	state     string
	db        *engine.DB
	m         *Manager
	clock     *fakeClock
	log       *lockedBuffer
	onPublish func(ctx context.Context, build func(*engine.Tx) error) error // of refreshes
	retried   chan struct{}

	extensions []engine.Extension
	proxies    *Proxies

	// publish guards what follows: refreshes and snapshots publish from their goroutines. A test
	// reads served and views without it, since only reload changes them.
	publish sync.Mutex
	gen     uint64
	served  []*Dataset
	views   []*views.View
	opened  map[*tables.Table]*tables.Version // by refreshes: the versions that are published next
}

// connectors are those of internal/runtime/parts.go.
var connectors = source.Kinds{
	objects.Azure, file.Kind, https.Kind, duckdb.Kind, lake.Delta, duckdb.DuckLake, flightsql.Kind, github.Kind,
	objects.GCS, lake.Iceberg, mysql.Kind, postgres.Kind, objects.S3, flightsql.Spice, duckdb.SQLite,
}

func newWorld(t *testing.T, extensions ...engine.Extension) *world {
	t.Helper()
	return newWorldWith(t, NewProxies(connectors, slog.New(slog.DiscardHandler)), extensions...)
}

func newWorldWith(t *testing.T, proxies *Proxies, extensions ...engine.Extension) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), state: t.TempDir(), retried: make(chan struct{}, 16), extensions: extensions, proxies: proxies}
	w.start()
	t.Cleanup(w.stop)
	return w
}

// start opens the engine and the manager as a new process does.
func (w *world) start(options ...func(*Options)) {
	w.t.Helper()
	var err error
	o := engine.Options{Extensions: w.extensions, Interrupted: w.proxies.Interrupt}
	if w.db, err = engine.Open(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
	w.log = &lockedBuffer{}
	w.onPublish = func(_ context.Context, build func(*engine.Tx) error) error { return w.commit(build) }
	w.clock = &fakeClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	opts := Options{
		DB: w.db, Connectors: connectors, Proxies: w.proxies, Roots: []string{w.dir}, StateDir: w.state,
		Log:   slog.New(slog.NewTextHandler(w.log, nil)),
		Clock: w.clock,
		Publish: func(ctx context.Context, t *tables.Table, v *tables.Version, build func(*engine.Tx) error) error {
			w.publish.Lock()
			w.opened[t] = v
			w.publish.Unlock()
			return w.onPublish(ctx, func(tx *engine.Tx) error { return errors.Join(build(tx), w.m.Refreshed(tx, t, v, nil)) })
		},
		Ended: func(_ context.Context, t *tables.Table, failed error) {
			if failed == nil {
				return
			}
			if err := w.commit(func(tx *engine.Tx) error { return w.m.Refreshed(tx, t, nil, failed) }); err != nil {
				w.t.Error(err)
			}
		},
		Noted: func(_ context.Context, t *tables.Table) {
			if err := w.commit(func(tx *engine.Tx) error { return w.m.Refreshed(tx, t, nil, nil) }); err != nil {
				w.t.Error(err)
			}
		},
		Retry: func() {
			select {
			case w.retried <- struct{}{}:
			default:
			}
		},
	}
	for _, o := range options {
		o(&opts)
	}
	if w.m, err = NewManager(opts); err != nil {
		w.t.Fatal(err)
	}
	if err := w.db.Lock([]string{w.dir, w.state, "s3://", "gs://"}); err != nil {
		w.t.Fatal(err)
	}
	w.served, w.views, w.gen = nil, nil, 0
	w.opened = map[*tables.Table]*tables.Version{}
}

// restart starts again with other options.
func (w *world) restart(options ...func(*Options)) {
	w.stop()
	w.start(options...)
}

func (w *world) stop() {
	w.m.Close()
	w.db.Close()
}

func (w *world) commit(build func(*engine.Tx) error) error {
	w.publish.Lock()
	defer w.publish.Unlock()
	return w.commitLocked(build)
}

// commitLocked is called with w.publish.
func (w *world) commitLocked(build func(*engine.Tx) error) error {
	w.gen++
	targets := map[engine.Relation]engine.Target{}
	for _, d := range w.served {
		v := d.Current()
		if w.opened[&d.Table] != nil {
			v = w.opened[&d.Table]
		}
		targets[d.Relation] = v.Target()
	}
	asks := map[engine.Relation][]engine.Ask{}
	for _, d := range w.served {
		if d.Caches() {
			asks[d.Relation] = []engine.Ask{{Relation: d.Relation}}
		}
	}
	cat := engine.NewCatalog(engine.Contents{Generation: w.gen, Relations: relations(w.served, w.views), Targets: targets, Open: w.m.Open, Asks: asks})
	return w.db.Publish(context.Background(), cat, build)
}

func relations(served []*Dataset, compiled []*views.View) []engine.Relation {
	var out []engine.Relation
	for _, d := range served {
		out = append(out, d.Relation)
	}
	for _, v := range compiled {
		out = append(out, v.Relation)
	}
	return append(out, engine.Relation{Schema: "spiced", Name: "datasets"}, engine.Relation{Schema: "spiced", Name: "dataset_columns"},
		engine.Relation{Schema: "spiced", Name: "dataset_constraints"})
}

// file writes a file in the folder.
func (w *world) file(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// load reads a Spicepod with the given sections.
func (w *world) load(sections string) *spicepod.Pod {
	w.t.Helper()
	return podtest.LoadIn(w.t, w.dir, sections)
}

// reload prepares and publishes a Spicepod. Datasets with a problem keep their
// earlier version.
func (w *world) reload(sections string) spicepod.Problems {
	w.t.Helper()
	pod := w.load(sections)
	p := w.m.Prepare(w.t.Context(), Request{Pod: pod})
	pod = p.Pod
	ready, problems := p.Ready, p.Problems
	last := w.served
	served := slices.Clone(ready)
	for _, d := range last {
		declared := slices.ContainsFunc(pod.Datasets, func(x spicepod.Dataset) bool { return x.Name == d.Declared.Name })
		if declared && !slices.ContainsFunc(ready, func(r *Dataset) bool { return r.Relation == d.Relation }) {
			served = append(served, d)
		}
	}
	var compiled []*views.View
	for i, decl := range pod.Views {
		names := engine.NewCatalog(engine.Contents{Relations: relations(served, compiled)})
		var reuse *views.View
		for _, v := range w.views {
			if v.Declared.Name == decl.Name {
				reuse = v
			}
		}
		v, problem := views.Compile(w.t.Context(), w.db, pod, i, names, reuse)
		if problem != nil {
			problems = append(problems, *problem)
			continue
		}
		compiled = append(compiled, v)
	}
	w.publish.Lock()
	defer w.publish.Unlock()
	w.served, w.views = served, compiled
	err := w.commitLocked(func(tx *engine.Tx) error {
		for _, d := range served {
			if slices.Contains(last, d) {
				continue
			}
			if err := d.Install(tx); err != nil {
				return err
			}
		}
		var installed []*views.View
		for _, v := range compiled {
			if err := v.Install(tx); err != nil {
				var p *spicepod.Problem
				if !asProblem(err, &p) {
					return err
				}
				problems = append(problems, *p)
				continue
			}
			installed = append(installed, v)
		}
		w.views = installed
		w.m.Publish(tx, served, installed)
		return Fill(tx, w.m.StatusOf(served, installed))
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return problems
}

func asProblem(err error, p **spicepod.Problem) bool {
	got, ok := err.(*spicepod.Problem) //nolint:errorlint
	*p = got
	return ok
}

// ok reloads without problems.
func (w *world) ok(sections string) {
	w.t.Helper()
	if problems := w.reload(sections); problems.HasErrors() {
		w.t.Fatalf("problems:\n%s", problems.Error())
	}
}

// want runs a query and compares its rows with "a|b, c|d".
func (w *world) want(sql, rows string) {
	w.t.Helper()
	got, err := w.read(sql)
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	if got != rows {
		w.t.Errorf("%s:\n got %s\nwant %s", sql, got, rows)
	}
}

func (w *world) read(sql string) (string, error) { return w.readIn(context.Background(), sql) }

func (w *world) readIn(ctx context.Context, sql string) (string, error) {
	rows, err := w.db.Query(ctx, engine.Request{SQL: fmt.Sprintf("SELECT COLUMNS(*)::VARCHAR FROM (%s)", sql)})
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var out []string
	for c, err := range rows.Chunks() {
		if err != nil {
			return "", err
		}
		for i := range c.Len() {
			var cells []string
			for j := range rows.Columns() {
				cell := "NULL"
				if c.Column(j).Valid(i) {
					cell = string(c.Column(j).Bytes(i))
				}
				cells = append(cells, cell)
			}
			out = append(out, strings.Join(cells, "|"))
		}
	}
	return strings.Join(out, ", "), nil
}

// status returns the status of a dataset.
func (w *world) status(name string) Status {
	w.t.Helper()
	for _, s := range w.m.Status() {
		if s.Declared == name {
			return s
		}
	}
	w.t.Fatalf("no status of %q", name)
	return Status{}
}

// copyFile returns the file of an accelerated dataset's copy; "" in memory.
func (w *world) copyFile(name string) string { return w.m.live["public."+name].Current().Copy.Path }

// refresh refreshes a dataset or view and returns the error of its status.
func (w *world) refresh(name string, o refresh.Override) error {
	if err := w.m.Refreshes().Refresh(w.t.Context(), name, o); err != nil {
		return err
	}
	w.m.Refreshes().Wait()
	for _, s := range w.m.Status() {
		if strings.EqualFold(s.Declared, name) && s.Error != "" {
			return errors.New(s.Error)
		}
	}
	return nil
}

// drain waits until versions that no statement reads are freed.
func (w *world) drain() {
	drained := make(chan struct{})
	w.db.Drained(func() { close(drained) })
	<-drained
	w.m.refreshes.Wait()
}

// attached counts the DuckDB files of sources that are attached.
func (w *world) attached() int {
	w.t.Helper()
	paths, err := tables.Texts(w.t.Context(), w.db, "SELECT path FROM duckdb_databases() WHERE path LIKE '%.db'")
	if err != nil {
		w.t.Fatal(err)
	}
	return len(paths)
}

// exec runs SQL without the guard.
func (w *world) exec(sql string) {
	w.t.Helper()
	if err := w.db.Exec(w.t.Context(), sql); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

// lockedBuffer is a log that goroutines write to while a test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// fakeClock advances on request. Timers fire at once and are recorded, unless hold
// is set.
type fakeClock struct {
	mu     sync.Mutex
	now    time.Time
	pauses []time.Duration
	hold   bool // timers wait for advance
	timers []fakeTimer
	added  chan time.Duration // receives timers while hold is set
}

type fakeTimer struct {
	at time.Time
	c  chan time.Time
}

func (f *fakeClock) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// set changes the time, and ends no timer.
func (f *fakeClock) set(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = now
}

func (f *fakeClock) At(t time.Time) <-chan time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.after(t.Sub(f.now))
}

func (f *fakeClock) After(d time.Duration) <-chan time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.after(d)
}

// after is called with the lock.
func (f *fakeClock) after(d time.Duration) <-chan time.Time {
	c := make(chan time.Time, 1)
	if !f.hold {
		f.pauses = append(f.pauses, d)
		f.now = f.now.Add(min(d, 24*time.Hour))
		c <- f.now
		return c
	}
	if d <= 0 {
		c <- f.now
		return c
	}
	f.timers = append(f.timers, fakeTimer{f.now.Add(d), c})
	select {
	case f.added <- d:
	default:
	}
	return c
}

func (f *fakeClock) advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
	f.timers = slices.DeleteFunc(f.timers, func(t fakeTimer) bool {
		if t.at.After(f.now) {
			return false
		}
		t.c <- f.now
		return true
	})
}
