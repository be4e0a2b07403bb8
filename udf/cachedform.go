package udf

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// formChoice chooses the statement that calls run: the one with parameters, which DuckDB plans
// at each call where the body reads data, or one of the cached forms, which read the arguments
// from a table (see [functions.CachedForm]). All return the same result, so the choice is about
// time only.
//
// No rule says which is the fastest: that depends on the body, the data and the indexes. So they
// compete: after the first call, and then at most once in trialPeriod, a trial runs all of them
// with the arguments of that call, and later calls use the fastest.
type formChoice struct {
	trials *Trials // runs the trials; nil: the statement with parameters is never compared
	forms  func() []functions.CachedForm

	mu     sync.Mutex
	used   *functions.CachedForm // nil: parameters
	tried  time.Time
	trying bool
}

const (
	trialPeriod = time.Minute // data and indexes may have changed
	trialRuns   = 20          // executions of a statement at most; the fastest counts
	trialTime   = 100 * time.Millisecond
	// trialTotal is the time after which the statements run no more. Where one execution
	// takes as long, planning is short compared to it, and one is enough.
	trialTotal = 20 * time.Millisecond
)

// newFormChoice returns the choice between the statement with parameters and those of list.
func newFormChoice(trials *Trials, list func() []functions.CachedForm) *formChoice {
	return &formChoice{trials: trials, forms: sync.OnceValue(list)}
}

// form returns the cached form in use, or nil for the statement with parameters.
func (c *formChoice) form() *functions.CachedForm {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

// called starts a trial with the arguments of calls that have run, if one is due. base is
// the statement with parameters. The trial outlives the call, but is the caller's: it has the
// caller's share of the connections.
func (c *formChoice) called(ctx context.Context, db Querier, base engine.Request, rows [][]any) {
	c.mu.Lock()
	due := !c.trying && (c.tried.IsZero() || time.Since(c.tried) > trialPeriod)
	c.trying = c.trying || due
	c.mu.Unlock()
	if !due || c.trials == nil || len(c.forms()) == 0 {
		return
	}
	ctx = engine.WithNesting(caller.With(context.Background(), caller.From(ctx)), engine.Nesting(ctx))
	c.trials.start(func() { c.try(ctx, db, base, rows) })
}

// try runs the statements in turn, so that what disturbs the machine meanwhile disturbs all of
// them, and chooses the one with the fastest single run. A form that fails is never chosen; the
// statement with parameters is what errors are reported from, so it stays in the competition.
func (c *formChoice) try(ctx context.Context, db Querier, base engine.Request, rows [][]any) {
	const failed = time.Duration(math.MaxInt64)
	requests := []engine.Request{base}
	for _, f := range c.forms() {
		requests = append(requests, formRequest(base, f, rows))
	}
	best := make([]time.Duration, len(requests))
	for i := range best {
		requests[i].Limits.Timeout = trialTime
		best[i] = trialTime
	}
	began := time.Now()
	for range trialRuns {
		for i, req := range requests {
			if best[i] == failed {
				continue
			}
			start := time.Now()
			switch err := readAll(ctx, db, req); {
			case err == nil:
				best[i] = min(best[i], time.Since(start))
			case i > 0:
				best[i] = failed
			}
		}
		if time.Since(began) > trialTotal {
			break
		}
	}
	fastest := slices.Index(best, slices.Min(best))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trying, c.tried, c.used = false, time.Now(), nil
	if fastest > 0 {
		c.used = &c.forms()[fastest-1]
	}
}

// readAll runs a statement and reads its rows.
func readAll(ctx context.Context, db Querier, req engine.Request) error {
	rows, err := db.Query(ctx, req)
	if err != nil {
		return err
	}
	defer rows.Close()
	for _, err := range rows.Chunks() {
		if err != nil {
			return err
		}
	}
	return nil
}

// Trials owns the goroutines that compare the statements of tools (see [ToolOptions]). The zero
// value is ready to use.
type Trials struct {
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

func (t *Trials) start(trial func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.running.Go(trial)
	}
}

// Close lets no further trial start and waits for those that run, each for a few times
// [trialTime] at most.
func (t *Trials) Close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.running.Wait()
}

// formRequest is base with the statement of a cached form.
func formRequest(base engine.Request, f functions.CachedForm, rows [][]any) engine.Request {
	base.SQL, base.Params, base.Input = f.SQL, engine.Params{}, &engine.Input{Rows: rows, Alone: f.Alone}
	return base
}

// failedOnData reports whether a statement failed on a value. DuckDB may evaluate other rows
// than in the statement with parameters, which then decides.
func failedOnData(err error) bool { return err != nil && engine.AsError(err).Code == errcode.Execution }

// cachedForms returns the statements of one call that read the arguments from an
// [engine.Input]. A function that depends on its caller has none, as the trial of a
// statement is not for a caller, and neither has one that reads sources outside the runtime.
func (c *callee) cachedForms(o ToolOptions) []functions.CachedForm {
	t := o.traits(c.f)
	if !c.inputs() || t.Caller || t.Protected || t.Live && !t.Written || !c.f.Deterministic() {
		return nil
	}
	columns := c.columns()
	return c.f.CachedForms("(SELECT "+c.casts(columns)+" FROM "+engine.InputFrom(c.inputColumns(columns), 1)+")", columns)
}

// joinStatements returns the statement of several calls that joins their arguments with the
// relation of a look-up.
func (c *callee) joinStatements() []functions.CachedForm {
	columns := c.columns()
	if _, _, _, keyed := c.f.Key(); keyed && c.inputs() {
		if sql, ok := c.f.OverEach(c.numbered(columns), columns, callNumber); ok {
			return []functions.CachedForm{{SQL: sql}}
		}
	}
	return nil
}

// noChoice is that of calls whose statement has no other form.
var noChoice = newFormChoice(nil, func() []functions.CachedForm { return nil })

// numbered is the table of the arguments of several calls and their numbers.
func (c *callee) numbered(columns []string) string {
	input := append(c.inputColumns(columns), engine.Column{Name: callNumber, Type: &engine.Type{ID: engine.BigInt}})
	return "(SELECT " + callNumber + ", " + c.casts(columns) + " FROM " + engine.InputFrom(input, maxKeys) + ")"
}

// inputs reports whether all arguments can be an [engine.Input], which a statement that runs
// isolated has not.
func (c *callee) inputs() bool {
	if c.unsafe {
		return false
	}
	for _, a := range c.args {
		if !engine.InputType(a.carrier) {
			return false
		}
	}
	return true
}

// callNumber is the column with the numbers of calls.
const callNumber = "__spiced_call"

// columns are the names of the arguments where they stand next to a body's relations, whose
// columns and aliases have other names.
func (c *callee) columns() []string {
	names := make([]string, len(c.args))
	for i := range names {
		names[i] = fmt.Sprintf("__spiced_arg%d", i)
	}
	return names
}

// inputColumns are the arguments as an [engine.Input].
func (c *callee) inputColumns(names []string) []engine.Column {
	columns := make([]engine.Column, len(names))
	for i, name := range names {
		columns[i] = engine.Column{Name: name, Type: c.args[i].carrier}
	}
	return columns
}

// casts are the arguments in their own types.
func (c *callee) casts(names []string) string {
	casts := make([]string, len(names))
	for i, name := range names {
		casts[i] = c.args[i].column(name) + " AS " + name
	}
	return strings.Join(casts, ", ")
}
