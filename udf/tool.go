package udf

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// Querier runs statements; [engine.DB] implements it.
type Querier interface {
	Query(ctx context.Context, req engine.Request) (*engine.Rows, error)
}

var _ Querier = (*engine.DB)(nil)

// Limits of the calls of function tools.
const (
	// MaxToolRows is the number of rows that a table function's tool returns by default.
	MaxToolRows = 1000
	// MaxToolBytes is the size of these rows as JSON by default.
	MaxToolBytes = 16 << 20
	// MaxBatch is the number of calls that may share one statement.
	MaxBatch = 256
	// maxKeys is MaxBatch if the calls look up rows by a key: DuckDB looks up no more in an
	// index (dynamic_or_filter_threshold).
	maxKeys = 50
	// MaxBatchBytes is the size of the arguments of these calls as JSON. A larger call runs
	// alone.
	MaxBatchBytes = 1 << 20
	// MaxWaiting is the number of calls of one function that may wait.
	MaxWaiting = 4096
)

// ToolOptions configures [Tool].
type ToolOptions struct {
	Owner     string // "": the runtime
	Documents spicepod.ToolDocuments
	Functions *functions.Set // has the functions that the function calls
	// Traits are those of what the function reads and calls; nil: its results depend only on
	// the arguments.
	Traits func(*functions.Function) engine.Traits
	// Reads returns the relations that the function reads, also through views and other
	// functions; nil: none.
	Reads func(*functions.Function) []engine.Relation
	// Version is [engine.DB.Version], or 0 for relations that may change without a
	// publication; nil: results over data are not cached.
	Version func(relations []engine.Relation) uint64
	// Results stores the results of table functions that are larger than a call may return;
	// nil: their rows are truncated.
	Results Results
	// Batch calls functions that are not SQL; nil: statements do.
	Batch engine.BatchHandler
	// Trials runs the statements that calls could run, to find the fastest; nil: calls run the
	// statement with parameters.
	Trials *Trials
}

func (o ToolOptions) traits(f *functions.Function) engine.Traits {
	if o.Traits == nil {
		return engine.Traits{}
	}
	return o.Traits(f)
}

func (o ToolOptions) reads(f *functions.Function) []engine.Relation {
	if o.Reads == nil {
		return nil
	}
	return o.Reads(f)
}

// Tool makes the tool of a declared function. A call of a scalar function returns one JSON
// value, a call of a table function an array of objects, one for each row. The error says
// why the function cannot be a tool.
//
// The arguments of a call follow [functions.Type.AcceptedSchema]; models and people are
// shown [functions.Type.JSONSchema]. The result follows [functions.Type.ResultSchema];
// binary is base64; dates and times are ISO 8601. An omitted argument takes its default, or
// is NULL.
//
// The tool is a [tools.Planner].
func Tool(db Querier, f *functions.Function, o ToolOptions) (tools.Tool, error) {
	if n := obstacle(f); n != nil {
		return nil, fmt.Errorf("function %q cannot be a tool: %s", f.Name, n.Reason)
	}
	c, err := newCallee(db, f, o)
	if err != nil {
		return nil, err
	}
	if f.IsTable() {
		return newTableTool(c, o), nil
	}
	scalar := newScalarTool(c, o)
	if code := newCodeTool(scalar, o); code != nil {
		return code, nil
	}
	return scalar, nil
}

// callee is the common part of the tools of scalar and of table functions.
type callee struct {
	db   Querier
	f    *functions.Function
	def  *tools.Definition
	args []argument
	// unsafe says that the body calls what can end the process, or hold it with some
	// arguments: calls run isolated.
	unsafe bool
	// version returns the version of the data that the function reads; nil if results
	// must not be cached until it changes.
	version func() uint64
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
		returns = StoredSchema(returns, o.Results)
	}
	def, err := tools.Define(tools.Definition{
		Name: f.Name, Description: f.Declared.Description, Version: f.Declared.Version, Tags: f.Declared.Tags,
		Document:   documentOf(f, o, parameters),
		Parameters: parameters, Returns: returns,
		Source: tools.SourceFunction, Owner: cmp.Or(f.Declared.Owner, o.Owner),
		Annotations: tools.Annotations{ReadOnly: true, Idempotent: f.Volatility != spicepod.Volatile}.Of(f.Declared.Risk),
		Cacheable:   cacheable(f, o),
		Limits:      limits(f),
		Dispatch:    tools.Dispatch(f.Declared.Dispatch), Parallel: f.Declared.Parallel,
		Implementation: f.Checksum, Declared: fmt.Sprintf("%s:%d", f.Position.File, f.Position.Line),
	})
	if err != nil {
		return nil, err
	}
	c := &callee{db: db, f: f, def: def, args: newArguments(f), unsafe: o.traits(f).Unsafe != "" || costly(f, o)}
	if !def.Cacheable && versioned(f, o) {
		reads := o.reads(f)
		c.version = func() uint64 { return o.Version(reads) }
	}
	return c, nil
}

// costly reports whether a call of the function, or of one that it calls, may take time or memory
// that the sizes of its arguments do not bound: regexp_matches(text, pattern), list_transform.
// Bodies that read data are not costly for that: what they read is the Spicepod's.
func costly(f *functions.Function, o ToolOptions) bool {
	own := func(g *functions.Function) bool {
		return g.IsSQL() && slices.ContainsFunc(g.Parsed().Costly, func(c sqltree.Costly) bool {
			return c.What != "" && o.Functions.Get(c.What) == nil
		})
	}
	return o.Functions != nil && anyCallee(f, o.Functions, own)
}

// DataVersion returns the version of the data that a call reads, see [tools.Versioned].
func (c *callee) DataVersion() uint64 {
	if c.version == nil {
		return 0
	}
	return c.version()
}

// readVersion returns the version of the data that a statement has read to its end, or 0
// if the data has changed since it began.
func (c *callee) readVersion(rows *engine.Rows) uint64 {
	if v := c.DataVersion(); v <= rows.Serial() {
		return v
	}
	return 0
}

// Definition describes the tool.
func (c *callee) Definition() *tools.Definition { return c.def }

// Accepts is the JSON Schema of the arguments that calls take, see [tools.Accepting].
func (c *callee) Accepts() (json.RawMessage, error) { return acceptedSchema(c.f) }

// limits are those of the declaration; a table function has a limit of rows.
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

// cacheable reports whether equal arguments always give equal results, for every caller: the
// function is declared immutable and only reads, and nothing that it calls reads a dataset or is volatile.
func cacheable(f *functions.Function, o ToolOptions) bool {
	traits := o.traits(f)
	traits.Unsafe = ""
	return !f.Declared.Risk.Writes() && (o.Results == nil || !f.IsTable()) &&
		f.Volatility == spicepod.Immutable && f.Deterministic() && traits == engine.Traits{} &&
		!anyCallee(f, o.Functions, func(g *functions.Function) bool { return len(g.Uses.Relations) > 0 })
}

// versioned reports whether equal arguments give equal results, for every caller, until the
// next publication that changes what the function reads: nothing that it calls or reads is
// volatile, depends on the caller, or changes without a publication.
func versioned(f *functions.Function, o ToolOptions) bool {
	if o.Version == nil || f.Declared.Risk.Writes() {
		return false
	}
	t := o.traits(f)
	volatile := f.Volatility == spicepod.Volatile || !f.Deterministic() || t.Volatile
	changes := t.Written || t.Live
	return !volatile && !changes && !t.Caller && !t.Protected
}

// shareable reports whether calls of a scalar function may share a statement. A function
// that depends on its caller, through ctx or a row filter, needs a statement per caller. An
// uncorrelated subquery is computed once for a statement, so that random() in it would have
// the same value for all calls. Calls whose bodies each read data share a statement only if
// it reads no more than they do, see [functions.Function.Key].
func shareable(f *functions.Function, o ToolOptions) bool {
	if f.Code() != nil { // calls that succeeded would be made again after one that failed
		return false
	}
	if _, _, _, ok := f.Key(); f.PerCall() && !ok {
		return false
	}
	t := o.traits(f)
	return !t.Caller && !t.Fetches && (f.Deterministic() || !anyCallee(f, o.Functions, mayQuery))
}

// anyCallee reports whether is holds for f or a function that it calls, directly or not. It
// is assumed to hold for functions that are not in set.
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

// queryWords are words; every subquery has one of them.
var queryWords = []string{
	"select", "from", "values", "table", "with", "pivot", "unpivot", "describe", "show",
	"summarize",
}

func mayQuery(f *functions.Function) bool {
	text := f.SQL()
	return slices.ContainsFunc(sqltree.Scan(text), func(t sqltree.Token) bool {
		return t.Kind == sqltree.Ident && slices.Contains(queryWords, strings.ToLower(t.Text(text)))
	})
}
