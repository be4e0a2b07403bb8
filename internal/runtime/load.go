package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
)

// Report is the outcome of one load.
type Report struct {
	Generation  uint64                 // the one that serves after it
	Accepted    bool                   // whether it made that generation
	Trigger     string                 // start, file, signal, request or retry
	Time        time.Time              // when it began
	Duration    time.Duration          //
	Changed     []string               // components made anew or removed, such as "function f"
	Problems    spicepod.Problems      // every fault, in file order
	Tests       []functions.TestResult // of the functions that changed
	SearchTests []registry.SearchTestResult
}

// Load reads the Spicepod and publishes the generation it makes. A structural
// fault, any fault under [Options.Strict], or the end of ctx leaves the
// generation that serves. Only one goroutine loads; others use
// [Runtime.Reload].
func (d *Runtime) Load(ctx context.Context, trigger string) *Report {
	report := &Report{Trigger: trigger, Time: time.Now()}
	err := d.load(ctx, report)
	report.Duration = time.Since(report.Time)
	if g := d.Current(); g != nil {
		report.Generation = g.Number
	}
	var problems spicepod.Problems
	switch {
	case errors.As(err, &problems):
		report.Problems = problems
	case err != nil:
		report.Problems = append(report.Problems, spicepod.Problem{
			Position: spicepod.Position{File: d.opts.Path}, Message: err.Error(),
		})
	}
	report.Problems.Sort()
	report.Accepted = err == nil
	d.report.Store(report)
	if report.Accepted {
		d.ready.Store(true) // who sees it can read the report
	}
	d.tell(report)
	d.count(report)
	if !report.Accepted && d.Current() != nil && ctx.Err() == nil {
		d.noteRefusal(ctx, report)
	}
	return report
}

// reading is a Spicepod as its files were at one moment.
type reading struct {
	began time.Time
	files []string // to watch, those of a refused Spicepod too
	pod   *spicepod.Pod
}

func (r *reading) read(path string) (err error) {
	r.pod, r.files, err = spicepod.LoadFiles(path)
	return err
}

// errStrict says that faults of components refuse the load.
var errStrict = errors.New("strict: a component has a fault")

func (d *Runtime) load(ctx context.Context, report *Report) error {
	r := d.first
	var err error
	if d.first = nil; r == nil {
		r = &reading{began: report.Time}
		err = r.read(d.opts.Path)
	}
	if d.watcher != nil {
		d.watcher.watch(d.watched(r), r.began)
	}
	if err != nil {
		return err
	}
	keys, err := d.readKeys(r.pod, report)
	if err != nil {
		return err
	}
	b := newBuild(d, r.pod, report)
	b.keys = keys
	b.prepare(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if d.opts.Strict && report.Problems.HasErrors() {
		return report.Problems
	}
	if err := b.publish(ctx); err != nil {
		if errors.Is(err, errStrict) || errors.Is(err, errSearchTests) {
			return report.Problems
		}
		return fmt.Errorf("publish: %w", err)
	}
	d.warmWorkers()
	for _, f := range d.hear {
		f()
	}
	return nil
}

// watched are the files whose change is a reason to load.
func (d *Runtime) watched(r *reading) []string {
	if r.pod == nil {
		return r.files
	}
	return append(slices.Clip(r.files), lockFile(r.pod))
}

// tell writes the outcome, and each fault, to the log.
func (d *Runtime) tell(r *Report) {
	for _, p := range r.Problems {
		level, message := d.log.Error, p.Message
		if p.Severity == spicepod.Warning {
			level = d.log.Warn
		}
		attrs := []any{"at", p.Position.String()}
		if p.Component != "" {
			attrs = append(attrs, "component", p.Component)
		}
		if p.Hint != "" {
			attrs = append(attrs, "hint", p.Hint)
		}
		level(message, attrs...)
	}
	switch {
	case !r.Accepted && d.Current() != nil:
		d.log.Error("the Spicepod was refused; the last one goes on serving", "trigger", r.Trigger, "generation", r.Generation, "problems", len(r.Problems))
	case r.Accepted:
		g := d.Current()
		d.log.Info("generation published", "generation", g.Number, "trigger", r.Trigger, "took", r.Duration.Round(time.Microsecond),
			"functions", g.Functions.Len(), "datasets", len(g.Datasets), "views", len(g.Views), "changed", len(r.Changed), "problems", len(r.Problems))
	}
}

// count keeps the metrics of loads.
func (d *Runtime) count(r *Report) {
	m, g := d.opts.Metrics, d.Current()
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
}

// noteRefusal puts the faults of a refused load where SQL finds them.
func (d *Runtime) noteRefusal(ctx context.Context, report *Report) {
	err := d.republish(ctx, func(tx *engine.Tx) error { return fillLoadErrors(tx, report) })
	if err != nil {
		d.log.Warn("spiced.load_errors is out of date", "error", err)
	}
}

// republish runs build in a publication that leaves the generation as it is.
func (d *Runtime) republish(ctx context.Context, build func(*engine.Tx) error) error {
	d.publishing.Lock()
	defer d.publishing.Unlock()
	g := d.Current()
	if g == nil {
		return errors.New("nothing is published yet")
	}
	if err := d.db.Publish(ctx, d.db.Current().Renew(), build); err != nil {
		return err
	}
	d.warmWorkers()
	return nil
}
