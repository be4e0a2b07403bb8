package udf

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// lookup is the statement of calls that look rows up by a key, for which DuckDB keeps the
// plan: it reads the arguments from a table, see [engine.InputFrom]. It is used once DuckDB
// has used an index in it.
type lookup struct {
	sql string // "" if there is none

	mu      sync.Mutex
	indexed bool
	calls   int
}

// newLookups returns the statements of one call and of several.
func newLookups(t *scalarTool) (one, many *lookup) {
	one, many = &lookup{}, &lookup{}
	if t.inputs() {
		columns := t.columns()
		one.sql, _ = t.f.OverArgs("(SELECT "+t.casts(columns)+" FROM "+engine.InputFrom(t.inputColumns(columns), 1)+")", columns)
		many.sql, _ = t.f.OverEach(t.numbered(columns), columns, callNumber)
	}
	return one, many
}

// numbered is the table of the arguments of several calls and their numbers.
func (t *scalarTool) numbered(columns []string) string {
	input := append(t.inputColumns(columns), engine.Column{Name: callNumber, Type: &engine.Type{ID: engine.BigInt}})
	return "(SELECT " + callNumber + ", " + t.casts(columns) + " FROM " + engine.InputFrom(input, maxKeys) + ")"
}

// inputs reports whether all arguments can be an [engine.Input], which a statement that runs
// isolated has not.
func (t *scalarTool) inputs() bool {
	if t.unsafe {
		return false
	}
	for _, a := range t.args {
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
func (t *scalarTool) columns() []string {
	names := make([]string, len(t.args))
	for i := range names {
		names[i] = fmt.Sprintf("__spiced_arg%d", i)
	}
	return names
}

// inputColumns are the arguments as an [engine.Input].
func (t *scalarTool) inputColumns(names []string) []engine.Column {
	columns := make([]engine.Column, len(names))
	for i, name := range names {
		columns[i] = engine.Column{Name: name, Type: t.args[i].carrier}
	}
	return columns
}

// casts are the arguments in their own types.
func (t *scalarTool) casts(names []string) string {
	casts := make([]string, len(names))
	for i, name := range names {
		casts[i] = "CAST(" + name + " AS " + t.args[i].typ.SQL() + ") AS " + name
	}
	return strings.Join(casts, ", ")
}

// testEvery is the factor by which the calls of a function must grow until its statement is
// tested again: data may have come since.
const testEvery = 16

// use reports whether the statement is used for calls with these arguments.
func (l *lookup) use(ctx context.Context, db Querier, rows [][]any) bool {
	if l.sql == "" {
		return false
	}
	l.mu.Lock()
	l.calls++
	indexed, test := l.indexed, isPower(l.calls)
	l.mu.Unlock()
	if indexed || !test {
		return indexed
	}
	plan, err := explain(ctx, db, engine.Request{SQL: "EXPLAIN ANALYZE " + l.sql, Input: &engine.Input{Rows: rows}})
	indexed = err == nil && strings.Contains(plan, indexScan)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.indexed = l.indexed || indexed
	return l.indexed
}

// indexScan is DuckDB's name, in a plan, of a scan that uses an index.
const indexScan = "Index Scan"

// isPower reports whether n is a power of testEvery.
func isPower(n int) bool {
	for n%testEvery == 0 {
		n /= testEvery
	}
	return n == 1
}
