package functions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// TestResult is the result of one test of a declaration.
type TestResult struct {
	Function string
	Name     string // as declared, or "test 1"
	Position spicepod.Position
	Passed   bool
	Skipped  bool   // it was not run
	Message  string // why it failed or was not run
	Duration time.Duration
}

// TestOptions selects the tests that [RunTests] runs. The zero value selects all.
type TestOptions struct {
	// Prev is the running generation: what did not change since is not tested again,
	// and its published functions are used.
	Prev *Set
	// Only limits the run to some functions.
	Only func(*Function) bool
	// Again selects unchanged functions to create and test again, because datasets or
	// views that they read have changed.
	Again func(*Function) bool
	// Relations maps datasets that are not published yet to their names on the stage.
	Relations map[engine.Relation]string
	// Timeout is how long one test may run; 0 is [TestTimeout].
	Timeout time.Duration
	// Severity is that of the problem of a failed test. That of a function that could not be
	// created is an error.
	Severity spicepod.Severity
}

// RunTests runs the tests of the set's functions on a stage: temporary forms of what
// changed are created and called there. It returns a result for each test, in the order
// of the set, and a problem for each test that failed and for each function that could
// not be created. It changes nothing that is published.
func RunTests(ctx context.Context, stage *engine.Stage, pod *spicepod.Pod, set *Set,
	o TestOptions,
) ([]TestResult, spicepod.Problems) {
	r := &testRun{
		stage: stage, pod: pod, failed: map[string]string{}, waits: map[string]string{},
		timeout: cmp.Or(o.Timeout, TestTimeout), severity: o.Severity,
	}
	if o.Again == nil {
		o.Again = func(*Function) bool { return false }
	}
	var tested []*Function
	for _, f := range set.All() {
		if len(f.Declared.Tests) > 0 && (o.Again(f) || !testedBefore(f, o.Prev.Get(f.Name))) && (o.Only == nil || o.Only(f)) {
			tested = append(tested, f)
		}
	}
	staged := needed(set, tested, o)
	r.target = Staged(staged, o.Relations)
	for _, f := range staged {
		r.create(ctx, f)
	}
	for _, f := range tested {
		first := len(r.results)
		var passed []columnCase
		for i := range f.Declared.Tests {
			if c := r.test(ctx, f, i); c != nil {
				passed = append(passed, *c)
			}
		}
		r.testColumns(ctx, f, passed, r.results[first:])
	}
	return r.results, r.problems
}

func testedBefore(f, old *Function) bool {
	return old != nil && (old == f || old.Checksum == f.Checksum &&
		reflect.DeepEqual(old.Declared.Tests, f.Declared.Tests))
}

// needed are the functions that must be created on the stage to call the tested ones:
// these and their callees, unless published unchanged.
func needed(set *Set, tested []*Function, o TestOptions) []*Function {
	need := map[string]bool{}
	var add func(f *Function)
	add = func(f *Function) {
		if need[fold(f.Name)] {
			return
		}
		need[fold(f.Name)] = true
		for name := range f.uses {
			if g := set.Get(name); g != nil {
				add(g)
			}
		}
	}
	for _, f := range tested {
		add(f)
	}
	var list []*Function
	for _, f := range set.All() {
		if old := o.Prev.Get(f.Name); need[fold(f.Name)] && (old == nil || old.Checksum != f.Checksum || o.Again(f)) {
			list = append(list, f)
		}
	}
	return list
}

// testRun is one run of [RunTests].
type testRun struct {
	stage    *engine.Stage
	pod      *spicepod.Pod
	target   Target
	timeout  time.Duration
	severity spicepod.Severity
	failed   map[string]string // why functions could not be created, by folded name
	waits    map[string]string // which function those that have no fault call, by folded name
	results  []TestResult
	problems spicepod.Problems
}

// hasFault says that the fault is in the function itself, not in what it calls.
const hasFault = "the function has a fault"

func (r *testRun) create(ctx context.Context, f *Function) {
	for name := range f.uses {
		if r.failed[name] != "" {
			r.failed[fold(f.Name)], r.waits[fold(f.Name)] = fmt.Sprintf("it calls function %q, which has a fault", name), name
			return
		}
	}
	var p *spicepod.Problem
	if err := r.limited(ctx, func() error { p = f.Create(r.stage, r.pod, r.target); return nil }); err != nil && p == nil {
		q := f.bodyProblem(r.pod, err)
		p = &q
	}
	if p != nil {
		r.failed[fold(f.Name)] = hasFault
		r.problems = append(r.problems, *p)
	}
}

// limited runs f on the stage, within the time limit of a test.
func (r *testRun) limited(ctx context.Context, f func() error) error {
	within, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	err := r.stage.Run(within, f)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("took longer than %s", r.timeout)
	}
	return err
}

// test runs one test. It returns the call and its rows if it passed with a value.
func (r *testRun) test(ctx context.Context, f *Function, i int) (passed *columnCase) {
	test := f.Declared.Tests[i]
	result := TestResult{Function: f.Name, Name: test.Name, Position: r.pod.At(testPath(f, i))}
	if result.Name == "" {
		result.Name = fmt.Sprintf("test %d", i+1)
	}
	start := time.Now()
	var err error
	reason := r.failed[fold(f.Name)]
	if reason != "" {
		err = errors.New(reason)
	} else {
		c := &columnCase{test: i}
		err = r.limited(ctx, func() (err error) { c.call, c.got, err = r.call(f, test); return err })
		if err == nil && test.Expects() != spicepod.ExpectError {
			passed = c
		}
	}
	result.Duration = time.Since(start)
	result.Passed = err == nil
	if err != nil {
		result.Message = err.Error()
	}
	if err != nil && reason != hasFault { // the fault is a problem already
		r.fail(f, i, result.Name, err)
	}
	r.results = append(r.results, result)
	return passed
}

// fail reports a problem of test i.
func (r *testRun) fail(f *Function, i int, name string, err error) {
	p := r.pod.Problem(testPath(f, i), "test "+quoteName(name)+" failed: "+err.Error(), "")
	p.Component, p.Severity = f.Component(), r.severity
	if callee := r.waits[fold(f.Name)]; callee != "" {
		p = p.Waits("function "+callee, "calls")
	}
	r.problems = append(r.problems, p)
}

func testPath(f *Function, i int) string { return fmt.Sprintf("%s.tests[%d]", f.Path, i) }

func quoteName(s string) string { return fmt.Sprintf("%q", s) }

// call runs one test; the error says why it failed.
func (r *testRun) call(f *Function, test spicepod.FunctionTest) (c *testCall, got [][]cellText, err error) {
	if c, err = r.prepare(f, test); err != nil {
		return nil, nil, err
	}
	got, err = r.rows(c.got, c.width)
	if test.Expects() == spicepod.ExpectError {
		return c, got, r.checkError(c, test.Error, got, err)
	}
	if err != nil {
		return c, nil, fmt.Errorf("want %s, got error %w", r.show(c), err)
	}
	want, err := r.rows(c.want, c.width)
	if err != nil {
		return c, nil, fmt.Errorf("the expected result: %w", err)
	}
	return c, got, c.compare(want, got, test.Tolerance)
}

// checkError compares the error of a call with the expected one: a code, such as
// execution_error, or a part of the text, ignoring case.
func (r *testRun) checkError(c *testCall, want string, got [][]cellText, err error) error {
	if err == nil {
		return fmt.Errorf("want error %q, got %s", want, showRows(got, c.table))
	}
	if _, argsErr := r.rows(c.args, 0); argsErr != nil {
		return fmt.Errorf("the arguments: %w", argsErr)
	}
	e := engine.AsError(err)
	if testCodes[errcode.Code(want)] {
		if e.Code != errcode.Code(want) {
			return fmt.Errorf("want an error with code %s, got %s: %s", want, e.Code, e.Message)
		}
		return nil
	}
	if !strings.Contains(strings.ToLower(e.Error()), strings.ToLower(want)) {
		return fmt.Errorf("want an error with %q, got %s: %s", want, e.Code, e.Message)
	}
	return nil
}

// testCodes are the codes that `error:` of a test may name: invalid_argument for
// arguments of a wrong type, execution_error for failures on the data (overflow,
// division, a cast), limit_exceeded, timeout.
var testCodes = map[errcode.Code]bool{
	errcode.Argument: true, errcode.Execution: true, errcode.Limit: true, errcode.Timeout: true,
	errcode.NotFound: true, errcode.Refused: true, errcode.Parse: true,
}

func (r *testRun) show(c *testCall) string {
	want, err := r.rows(c.want, c.width)
	if err != nil {
		return "another result"
	}
	return showRows(want, c.table)
}

// cellText is a value as DuckDB writes it; null distinguishes NULL from "NULL".
type cellText struct {
	text string
	null bool
}

// rows runs a SELECT of VARCHAR columns.
func (r *testRun) rows(sql string, width int) (all [][]cellText, err error) {
	err = r.each(sql, width, func(row []cellText) error { all = append(all, row); return nil })
	if err == nil && len(all) > MaxTestRows {
		return nil, fmt.Errorf("the result has more than %d rows", MaxTestRows)
	}
	return all, err
}

// each calls f with each row of a SELECT of VARCHAR columns.
func (r *testRun) each(sql string, width int, f func(row []cellText) error) error {
	return r.stage.Query(sql, func(chunk *engine.Chunk) error {
		for i := range chunk.Len() {
			row := make([]cellText, width)
			for j := range row {
				if v := chunk.Column(j); v.Valid(i) {
					row[j].text = string(v.Bytes(i))
				} else {
					row[j].null = true
				}
			}
			if err := f(row); err != nil {
				return err
			}
		}
		return nil
	})
}
