package runtime

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/peers/mcplock"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
)

// Report is the outcome of one load.
type Report struct {
	Generation  uint64    // in service after the load
	Accepted    bool      // the load made that generation
	Trigger     string    // start, file, signal, request, retry, mcp, loaded or lost
	Time        time.Time // of the start
	Duration    time.Duration
	Changed     []string               // components created again or removed, such as "function f"
	Problems    spicepod.Problems      // every fault, in file order
	Loading     int                    // datasets whose data is still loaded
	Tests       []functions.TestResult // of the functions that changed
	SearchTests []registry.SearchTestResult
	Skipped     []functions.TestResult // of functions that are not served
	Counts      []Count                // nil if the Spicepod's files cannot be read

	tools   int  // of the catalog
	metrics int  // that are served
	renewed bool // DuckDB was opened again, and has nothing of the old generation
}

// loader builds generations from the Spicepod's files.
type loader struct {
	*services
	path     string
	strict   bool          // any fault refuses the load
	patience time.Duration // how long data may take before the rest is published; 0: any time
	first    *reading      // of New, for the first load
	watcher  *watcher      // nil unless files are watched
	outcome  func(*Report) // may be nil
	again    func()        // requests a load after one that left DuckDB without a generation

	undescribed []string        // tools that were logged
	logged      map[string]bool // faults that were, of the last load
}

// load is [Runtime.Load].
func (l *loader) load(ctx context.Context, trigger string) *Report {
	report := &Report{Trigger: trigger, Time: time.Now()}
	err := l.publish(ctx, report)
	report.Duration = time.Since(report.Time)
	if g := l.Current(); g != nil {
		report.Generation = g.Number
	}
	var problems spicepod.Problems
	switch {
	case errors.As(err, &problems):
		report.Problems = problems
	case err != nil:
		report.Problems = append(report.Problems, spicepod.Problem{
			Position: spicepod.Position{File: l.path}, Message: err.Error(),
		})
	}
	report.Problems.Sort()
	report.Accepted = err == nil
	l.finished(report)
	if !report.Accepted && ctx.Err() != nil { // what fails then fails because of it
		l.log.Info("the load was stopped", "trigger", trigger)
		return report
	}
	l.logReport(report)
	l.count(report)
	l.events.Poke()
	if l.outcome != nil {
		l.outcome(report)
	}
	switch {
	case ctx.Err() != nil:
	case l.db.Lost():
		l.again()
	case !report.Accepted && l.Current() != nil:
		l.storeRefusal(ctx, report)
	}
	return report
}

// reading is a Spicepod as its files were at one moment.
type reading struct {
	began time.Time
	files []string // to watch, those of a refused Spicepod too
	pod   *spicepod.Pod
}

func read(path string) (r *reading, err error) {
	r = &reading{began: time.Now()}
	r.pod, r.files, err = spicepod.LoadFiles(path, Bodies...)
	return r, err
}

// errStrict means that faults of components refuse the load.
var errStrict = errors.New("strict: a component has a fault")

// publish reads the Spicepod, builds a generation of it, and publishes that. Faults go to the
// report; an error means that the generation before is still served.
//
// A load for data (of a dataset whose load has ended, or of a DuckDB that replaces a lost one)
// must not fail because someone is in the middle of an edit: if the files have faults, the data
// goes to the Spicepod that is served.
func (l *loader) publish(ctx context.Context, report *Report) (err error) {
	// Read.
	r := l.first
	if l.first = nil; r == nil {
		r, err = read(l.path)
	}
	if l.watcher != nil {
		l.watcher.watch(append(r.watched(), l.sandboxes.watched(r.pod)...), r.began)
	}
	report.renewed = l.db.Lost()
	forData := report.Trigger == triggerLoaded || report.renewed
	if problems := (spicepod.Problems{}); forData && l.Current() != nil && errors.As(err, &problems) {
		report.Problems = problems
		r, err = &reading{pod: l.Current().Pod}, nil
	}
	if err != nil {
		return err
	}
	if report.renewed {
		if err := l.renew(ctx); err != nil {
			return err
		}
	}

	// Build.
	b := newBuild(l.services, r.pod, report, l.strict && !report.renewed)
	if b.keys, err = l.readKeys(r.pod, report); err != nil {
		return err
	}
	wait, cancel := ctx, context.CancelFunc(func() {})
	if l.patience > 0 {
		wait, cancel = context.WithTimeout(ctx, l.patience)
	}
	defer cancel()
	defer releaseBodies(b)
	defer count(b)
	if err := b.prepare(ctx, wait); errors.Is(err, errTests) {
		return report.Problems
	} else if err != nil {
		return err
	}
	if l.strict && report.Problems.HasErrors() {
		return report.Problems
	}

	// Publish, and free what only the generation before used.
	if err := b.publish(ctx); err != nil {
		if errors.Is(err, errStrict) || errors.Is(err, errSearchTests) {
			return report.Problems
		}
		return fmt.Errorf("publish: %w", err)
	}
	views := datasets.CheckViews(ctx, l.data)
	report.Problems, b.unloadable = append(report.Problems, views...), len(views)
	report.Problems.Sort()
	l.db.retainFiles(l.Current())
	l.sandboxes.collect()
	return nil
}

// watched returns the files whose change causes a load.
func (r *reading) watched() []string {
	if r.pod == nil {
		return r.files
	}
	return append(slices.Clip(r.files), filepath.Join(r.pod.Dir, mcplock.Name))
}

// logReport logs each fault, with what waits for its component, and the outcome. A load that only
// has other data than the one before logs new faults.
func (l *loader) logReport(r *Report) {
	before := l.logged
	l.logged = make(map[string]bool, len(r.Problems))
	causes := r.Problems.Causes()
	for _, p := range causes {
		l.logged[p.Error()] = true
		if r.Trigger == triggerLoaded && before[p.Error()] {
			continue
		}
		level, message := l.log.Error, p.Message
		if p.Severity == spicepod.Warning {
			level = l.log.Warn
		}
		attrs := []any{"at", p.Position.String()}
		if p.Component != "" {
			attrs = append(attrs, "component", p.Component)
		}
		if p.Hint != "" {
			attrs = append(attrs, "hint", p.Hint)
		}
		if waiting := p.WaitingText(); waiting != "" {
			attrs = append(attrs, "waiting", waiting)
		}
		level(message, attrs...)
	}
	switch {
	case !r.Accepted && l.Current() != nil:
		l.log.Error("the Spicepod was refused; the last good one stays in service", "trigger", r.Trigger, "generation",
			r.Generation, "problems", len(causes))
	case r.Accepted:
		g := l.Current()
		l.log.Info("generation published", "generation", g.Number, "trigger", r.Trigger, "took",
			r.Duration.Round(time.Microsecond),
			"functions", g.Functions.Len(), "datasets", len(g.Datasets), "views", len(g.Views), "loading", r.Loading, "changed",
			len(r.Changed), "problems", len(causes))
		l.logUndescribed(g)
	}
}

// maxUndescribed is how many tools without a description are named in a line of the log.
const maxUndescribed = 10

// logUndescribed logs which functions are tools without a description, once until they change.
func (l *loader) logUndescribed(g *Generation) {
	var names []string
	for _, f := range g.Functions.All() {
		if f.Declared.AsToolEffective() && strings.TrimSpace(f.Declared.Description) == "" {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	if len(names) > 0 && !slices.Equal(names, l.undescribed) {
		l.log.Warn("tools have no description, by which models choose them", "count", len(names), "tools",
			strings.Join(names[:min(len(names), maxUndescribed)], ", "))
	}
	l.undescribed = names
}

// count updates the metrics of loads.
func (l *loader) count(r *Report) {
	m, g := l.metrics, l.Current()
	if m == nil {
		return
	}
	if !r.Accepted {
		m.Reloaded("refused")
	} else {
		m.Reloaded("ok")
	}
	if g == nil {
		return
	}
	m.SetTools(g.Tools.Len())
	m.SetGeneration(g.Number, g.Functions.Len(), len(g.Datasets)+len(g.Views), len(r.Problems))
	var names []string
	for _, d := range g.Datasets {
		names = append(names, d.Declared.Name)
	}
	for _, v := range g.Views {
		names = append(names, v.Declared.Name)
	}
	m.KeepDatasets(names)
	m.KeepSandboxes(g.environments.Names())
}

// storeRefusal stores the faults of a refused load in spiced.load_errors.
func (l *loader) storeRefusal(ctx context.Context, report *Report) {
	err := l.db.republish(ctx, func(tx *engine.Tx) error { return l.db.fillLoadErrors(tx, report) })
	if err != nil {
		l.log.Warn("spiced.load_errors is out of date", "error", err)
	}
}
