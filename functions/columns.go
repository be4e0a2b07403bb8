package functions

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// A test calls its function with constants, and DuckDB plans a call over the columns of a
// table otherwise: it computes a subquery for all rows at once, and has had faults with
// which a row got the values of others. So the cases that passed also run together: their
// arguments are the rows of one table, shuffled, each twice, with rows of NULL between
// them. A value that differs from the one for constants is a fault of the function.
//
//	SELECT i, f(a1, a2) FROM (VALUES (0, 1, 'x'), (-1, NULL, NULL), (1, 2, 'y'), …) AS v(i, a1, a2)
//
// A table function is called in LATERAL. What DuckDB refuses there is no fault: callers
// get that error, too. Code computes its values again, as [Recomputes] says.

// columnCase is a test that passed.
type columnCase struct {
	test int // its index
	call *testCall
	got  [][]cellText // for constants
}

// overColumns reports whether f may be called for columns of arguments to test it: it
// has arguments, two equal calls return the same, and a call changes nothing. Code that is
// volatile, the default, is not called again for its tests.
func (f *Function) overColumns() bool {
	return len(f.Args) > 0 && !f.facts.random && !f.facts.writes
}

// recomputing is the key of a context whose calls compute their values again.
type recomputing struct{}

// Recomputes reports whether calls of immutable code with ctx compute values that other
// statements have computed. Those of the tests with constants would hide how code computes
// several rows.
func Recomputes(ctx context.Context) bool { return ctx.Value(recomputing{}) != nil }

// testColumns calls f with the arguments of all cases as columns. results has the result
// of each test of f.
func (r *testRun) testColumns(ctx context.Context, f *Function, cases []columnCase, results []TestResult) {
	if !f.overColumns() {
		return
	}
	if cases = sameTables(f, cases); len(cases) == 0 {
		return
	}
	if most := f.Declared.Limits.MaxCalls; most > 0 && f.code != nil {
		cases = cases[:min(len(cases), most)]
	}
	rows, err := r.callColumns(ctx, f, cases, f.code == nil) // code may refuse NULL
	if err != nil && f.code == nil {
		rows, err = r.callColumns(ctx, f, cases, false)
	}
	if err != nil {
		if !f.IsTable() && ctx.Err() == nil {
			r.failColumn(f, results, cases[0].test, fmt.Errorf("with the arguments of all tests as columns of a table: %w", err))
		}
		return
	}
	for i, c := range cases {
		for _, got := range [][][]cellText{rows[i], rows[i+len(cases)]} {
			if err := c.call.compare(slices.Clone(c.got), got, f.Declared.Tests[c.test].Tolerance); err != nil {
				r.failColumn(f, results, c.test,
					fmt.Errorf("over columns it returns other values than for constants: %w; %s mix rows", err, f.mixer()))
				break
			}
		}
	}
}

// mixer is what of f may give a row the value of another.
func (f *Function) mixer() string {
	if f.code != nil {
		return "the body gets several rows in a call and may"
	}
	return "the subqueries of the body may"
}

// sameTables returns the cases that have the table inputs of the first.
func sameTables(f *Function, cases []columnCase) []columnCase {
	if len(f.Tables) == 0 || len(cases) == 0 {
		return cases
	}
	first := f.Declared.Tests[cases[0].test].Tables
	return slices.DeleteFunc(cases, func(c columnCase) bool {
		return !reflect.DeepEqual(f.Declared.Tests[c.test].Tables, first)
	})
}

// callColumns calls f for each case twice and returns the rows of each call: first those of
// the cases, then those of their repetitions.
func (r *testRun) callColumns(ctx context.Context, f *Function, cases []columnCase,
	nulls bool,
) (rows [][][]cellText, err error) {
	sql := r.columnsSQL(f, cases, nulls)
	width := cases[0].call.width + 1
	rows = make([][][]cellText, 2*len(cases))
	err = r.limited(context.WithValue(ctx, recomputing{}, true), func() error {
		if _, err := r.testTables(f, f.Declared.Tests[cases[0].test].Tables); err != nil {
			return err
		}
		return r.each(sql, width, func(row []cellText) error {
			i, err := strconv.Atoi(row[0].text)
			if err != nil || i >= len(rows) {
				return errors.New("a row has no number")
			}
			if i >= 0 {
				rows[i] = append(rows[i], row[1:])
			}
			return nil
		})
	})
	return rows, err
}

func (r *testRun) columnsSQL(f *Function, cases []columnCase, nulls bool) string {
	columns, none := make([]string, len(f.Args)), make([]string, len(f.Args))
	for i, a := range f.Args {
		columns[i], none[i] = fmt.Sprintf("a%d", i+1), "CAST(NULL AS "+a.Type.SQL()+")"
	}
	order := rand.New(rand.NewPCG(uint64(len(cases)), 1)).Perm(2 * len(cases))
	var values []string
	for n, i := range order {
		if nulls && n%2 == 1 {
			values = append(values, "(-1, "+strings.Join(none, ", ")+")")
		}
		values = append(values, fmt.Sprintf("(%d, %s)", i, strings.Join(cases[i%len(cases)].call.list, ", ")))
	}
	from := "(VALUES " + strings.Join(values, ", ") + ") AS v(i, " + strings.Join(columns, ", ") + ")"
	name := r.target.function(public, f.Name, fold(f.Name))
	if !f.IsTable() {
		return fmt.Sprintf("SELECT CAST(i AS VARCHAR), CAST(%s(%s) AS VARCHAR) FROM %s",
			name, strings.Join(columns, ", "), from)
	}
	outputs := make([]string, len(f.Columns))
	for i, o := range f.Columns {
		outputs[i] = "CAST(o." + engine.Identifier(o.Name) + " AS VARCHAR)"
	}
	var args []string
	for i := range f.Tables {
		args = append(args, testTable(i))
	}
	return fmt.Sprintf("SELECT CAST(i AS VARCHAR), %s FROM %s, LATERAL (SELECT * FROM %s(%s)) AS o",
		strings.Join(outputs, ", "), from, name, strings.Join(append(args, columns...), ", "))
}

// failColumn makes the result of a test a failure.
func (r *testRun) failColumn(f *Function, results []TestResult, test int, err error) {
	results[test].Passed, results[test].Message = false, err.Error()
	r.fail(f, test, results[test].Name, err)
}
