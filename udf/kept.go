package udf

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// choice chooses the statement that calls run: the one with parameters, or one that reads
// the arguments from a table, for which DuckDB keeps the plan (see [engine.InputFrom]). All
// return the same result. After the first call, and then at most once in triedEvery, all of
// them run in the background, and calls use the fastest.
type choice struct {
	kept func() []functions.Kept

	mu     sync.Mutex
	used   *functions.Kept // nil: parameters
	tried  time.Time
	trying bool // or there is nothing to try
}

const (
	triedEvery = time.Minute // data and indexes may have changed
	trials     = 20          // executions of a statement at most, of which the fastest counts
	trialTime  = 100 * time.Millisecond
	// allTrials is the time after which the statements run no more. Where one execution
	// takes as long, planning is short compared to it, and one is enough.
	allTrials = 20 * time.Millisecond
)

// newChoice returns the choice between the statement with parameters and those of list.
func newChoice(list func() []functions.Kept) *choice { return &choice{kept: sync.OnceValue(list)} }

// statement returns the statement in use, or nil for that with parameters.
func (c *choice) statement() *functions.Kept {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

// called starts a trial with the arguments of calls that have run, if one is due. base is
// the statement with parameters.
func (c *choice) called(ctx context.Context, db Querier, base engine.Request, rows [][]any) {
	c.mu.Lock()
	due := !c.trying && (c.tried.IsZero() || time.Since(c.tried) > triedEvery)
	c.trying = c.trying || due
	c.mu.Unlock()
	if due && len(c.kept()) > 0 {
		go c.try(engine.WithNesting(caller.With(context.Background(), caller.From(ctx)), engine.Nesting(ctx)), db, base, rows)
	}
}

// try runs the statements and chooses one.
func (c *choice) try(ctx context.Context, db Querier, base engine.Request, rows [][]any) {
	requests := []engine.Request{base}
	for _, k := range c.kept() {
		requests = append(requests, keptRequest(base, k, rows))
	}
	best := make([]time.Duration, len(requests))
	for i := range best {
		best[i] = trialTime
	}
	began := time.Now()
	for range trials {
		for i := range requests {
			if best[i] == never {
				continue
			}
			took, err := timeOf(ctx, db, requests[i])
			if best[i] = min(best[i], took); err != nil && i > 0 {
				best[i] = never
			}
		}
		if time.Since(began) > allTrials {
			break
		}
	}
	fastest := 0
	for i := range best {
		if best[i] < best[fastest] {
			fastest = i
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trying, c.tried, c.used = false, time.Now(), nil
	if fastest > 0 {
		c.used = &c.kept()[fastest-1]
	}
}

// never is the time of a statement that fails.
const never = time.Duration(math.MaxInt64)

// timeOf runs a statement and returns how long it took.
func timeOf(ctx context.Context, db Querier, req engine.Request) (time.Duration, error) {
	req.Limits.Timeout = trialTime
	began := time.Now()
	rows, err := db.Query(ctx, req)
	if err != nil {
		return trialTime, err
	}
	defer rows.Close()
	for _, err := range rows.Chunks() {
		if err != nil {
			return trialTime, err
		}
	}
	return time.Since(began), nil
}

// keptRequest is base with the statement k.
func keptRequest(base engine.Request, k functions.Kept, rows [][]any) engine.Request {
	base.SQL, base.Params, base.Input = k.SQL, engine.Params{}, &engine.Input{Rows: rows, Alone: k.Alone}
	return base
}

// failedOnData reports whether a statement failed on a value. DuckDB may evaluate other rows
// than in the statement with parameters, which then decides.
func failedOnData(err error) bool { return err != nil && engine.AsError(err).Code == errcode.Execution }

// keptStatements returns the statements of one call that read the arguments from an
// [engine.Input]. A function that depends on its caller has none, as the trial of a
// statement is not for a caller, and neither has one that reads sources outside the runtime.
func (c *callee) keptStatements(o ToolOptions) []functions.Kept {
	t := o.traits(c.f)
	if !c.inputs() || t.Caller || t.Protected || t.Live && !t.Written || !c.f.Deterministic() {
		return nil
	}
	columns := c.columns()
	return c.f.Kept("(SELECT "+c.casts(columns)+" FROM "+engine.InputFrom(c.inputColumns(columns), 1)+")", columns)
}

// joinStatements returns the statement of several calls that joins their arguments with the
// relation of a look-up.
func (c *callee) joinStatements() []functions.Kept {
	columns := c.columns()
	if _, _, _, keyed := c.f.Key(); keyed && c.inputs() {
		if sql, ok := c.f.OverEach(c.numbered(columns), columns, callNumber); ok {
			return []functions.Kept{{SQL: sql}}
		}
	}
	return nil
}

// noChoice is that of calls whose statement has no other form.
var noChoice = newChoice(func() []functions.Kept { return nil })

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

// columns are the names of the arguments where they stand beside a body's relations, whose
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
