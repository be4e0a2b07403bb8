package udf

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// Querier runs statements; an [engine.DB] is one.
type Querier interface {
	Query(ctx context.Context, req engine.Request) (*engine.Rows, error)
}

var _ Querier = (*engine.DB)(nil)

// Limits on the calls of function tools.
const (
	// MaxToolRows is how many rows a table function's tool returns when its
	// declaration says nothing.
	MaxToolRows = 1000
	// MaxToolBytes is how large such rows may become as JSON when neither the
	// declaration nor the call says anything.
	MaxToolBytes = 16 << 20
	// MaxBatch is how many calls share one statement.
	MaxBatch = 256
	// MaxBatchBytes is how large the arguments of these calls may be as JSON.
	// A larger call runs alone.
	MaxBatchBytes = 1 << 20
	// MaxWaiting is how many calls of one function wait for their turn.
	MaxWaiting = 4096
)

// ToolOptions configures [Tool].
type ToolOptions struct {
	Owner     string         // "": the runtime
	Functions *functions.Set // where what the function calls is found
	// Traits are those of what the function reads and calls; nil: it reads and
	// calls nothing that another statement or caller gets another value of.
	Traits func(*functions.Function) engine.Traits
	// Results keeps the results of table functions that are larger than a call
	// may return; nil: their rows are cut off.
	Results Results
}

func (o ToolOptions) traits(f *functions.Function) engine.Traits {
	if o.Traits == nil {
		return engine.Traits{}
	}
	return o.Traits(f)
}

// Tool makes the tool of a declared function. A call of a scalar function
// gives one JSON value, a call of a table function an array of objects, one a
// row. The error says why the function can be no tool.
//
// The values of a call, in both directions, are those of the schemas of
// [functions.Type.JSONSchema]. In a result, an integer beyond ±(2^53-1) and
// every decimal is text, so that readers that know only doubles lose no digit;
// binary is base64; dates and times are ISO 8601. An argument that is left out
// takes its default, or is NULL.
//
// The tool is a [tools.Planner].
func Tool(db Querier, f *functions.Function, o ToolOptions) (tools.Tool, error) {
	if n := obstacle(f); n != nil {
		return nil, fmt.Errorf("function %q is no tool: %s", f.Name, n.Reason)
	}
	c, err := newCallee(db, f, o)
	if err != nil {
		return nil, err
	}
	if f.IsTable() {
		return newTableTool(c, o.Results), nil
	}
	return newScalarTool(c, o), nil
}

// callee is what the tools of scalar and of table functions share.
type callee struct {
	db   Querier
	f    *functions.Function
	def  *tools.Definition
	args []argument
}

func newCallee(db Querier, f *functions.Function, o ToolOptions) (*callee, error) {
	parameters, err := parameterSchema(f)
	if err != nil {
		return nil, err
	}
	returns, err := returnSchema(f)
	if err != nil {
		return nil, err
	}
	if f.IsTable() && o.Results != nil {
		returns = keptSchema(returns, o.Results)
	}
	def, err := tools.Define(tools.Definition{
		Name: f.Name, Description: f.Declared.Description, Version: f.Declared.Version, Tags: f.Declared.Tags,
		Parameters: parameters, Returns: returns,
		Source: tools.SourceFunction, Owner: cmp.Or(f.Declared.Owner, o.Owner),
		Annotations: tools.Annotations{ReadOnly: true, Idempotent: f.Volatility != spicepod.Volatile},
		Cacheable:   cacheable(f, o),
		Limits:      limits(f),
		Dispatch:    tools.Dispatch(f.Declared.Dispatch), Parallel: f.Declared.Parallel,
		Implementation: f.Checksum, Declared: place(f.Position),
	})
	if err != nil {
		return nil, err
	}
	return &callee{db: db, f: f, def: def, args: newArguments(f)}, nil
}

// Definition describes the tool.
func (c *callee) Definition() *tools.Definition { return c.def }

func place(p spicepod.Position) string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// limits are those of the declaration; a table function has one on its rows.
func limits(f *functions.Function) *tools.Limits {
	l := tools.DeclaredLimits(f.Declared.Limits)
	if f.IsTable() && (l == nil || l.MaxRows == 0) {
		if l == nil {
			l = &tools.Limits{}
		}
		l.MaxRows = MaxToolRows
	}
	return l
}

// cacheable reports whether equal arguments always give equal results, to every
// caller: the author says so, and nothing that the function calls reads a
// dataset or gives another value each time. A result that may be kept is its
// caller's alone.
func cacheable(f *functions.Function, o ToolOptions) bool {
	return (o.Results == nil || !f.IsTable()) &&
		f.Volatility == spicepod.Immutable && f.Deterministic() && o.traits(f) == engine.Traits{} &&
		!anyCallee(f, o.Functions, func(g *functions.Function) bool { return len(g.Uses.Relations) > 0 })
}

// shareable reports whether calls of a scalar function may share a statement.
// One that depends on its caller, through ctx or a row filter, needs a
// statement in its caller's name. A subquery that does not depend on the
// arguments is computed once for a statement, so that random() in it would give
// all calls the same value.
func shareable(f *functions.Function, o ToolOptions) bool {
	return !o.traits(f).Caller && (f.Deterministic() || !anyCallee(f, o.Functions, mayQuery))
}

// anyCallee reports whether is holds for f or for a function that it calls,
// directly or not. Of a function that set does not have, it may.
func anyCallee(f *functions.Function, set *functions.Set, is func(*functions.Function) bool) bool {
	seen := map[*functions.Function]bool{}
	var visit func(g *functions.Function) bool
	visit = func(g *functions.Function) bool {
		switch {
		case g == nil:
			return true
		case seen[g]:
			return false
		}
		seen[g] = true
		return is(g) || slices.ContainsFunc(g.Uses.Functions, func(name string) bool { return visit(set.Get(name)) })
	}
	return visit(f)
}

// queryWords are the words without which there is no subquery.
var queryWords = []string{"select", "from", "values", "table", "with", "pivot", "unpivot", "describe", "show", "summarize"}

func mayQuery(f *functions.Function) bool {
	return slices.ContainsFunc(sqltree.Scan(f.Source), func(t sqltree.Token) bool {
		return t.Kind == sqltree.Ident && slices.Contains(queryWords, strings.ToLower(t.Text(f.Source)))
	})
}
