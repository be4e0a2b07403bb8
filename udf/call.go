package udf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
)

// scalarTool calls a scalar function.
type scalarTool struct {
	*callee
	one  string // the statement of one call
	many string // the statement of any number of calls
	// input says that many reads the arguments from a table; else each parameter is a list.
	input  bool
	choice *formChoice // of one call
	joined *formChoice // of several
	// queues has one queue for each nesting depth of statements; nil if each call has a
	// separate statement.
	queues []*queue
	// indexed says that the key of the function's look-up has an index, see hasIndex.
	indexed atomic.Bool
}

var _ tools.Planner = (*scalarTool)(nil)

func newScalarTool(c *callee, o ToolOptions) *scalarTool {
	t := &scalarTool{
		callee: c, choice: newFormChoice(o.Trials, func() []functions.CachedForm { return c.cachedForms(o) }),
		joined: newFormChoice(o.Trials, c.joinStatements),
	}
	t.one, t.many = t.statements()
	if shareable(c.f, o) {
		most := MaxBatch
		if _, _, _, ok := c.f.Key(); ok {
			most = maxKeys
		}
		for depth := range engine.MaxNesting + 1 {
			t.queues = append(t.queues, newQueue(depth, most, t.run))
		}
	}
	return t
}

// statements returns the statements of one and of many calls. That of many returns the
// number of the call before its value. The arguments are bound in a subselect: DuckDB plans
// a statement again at each execution if a parameter occurs twice, as in a body that uses an
// argument twice. It does so anyway if the body reads data: then the call takes the
// parameters themselves, see [engine.Function.Constant].
func (t *scalarTool) statements() (one, many string) {
	var named, constant, single, lists []string
	columns := t.columns()
	for i, column := range columns {
		a := &t.args[i]
		named = append(named, engine.Identifier(a.name)+" := "+column)
		constant = append(constant, engine.Identifier(a.name)+" := "+a.sql(i+1))
		single = append(single, a.sql(i+1)+" AS "+column)
		lists = append(lists, a.each(i+1)+" AS "+column)
	}
	call := engine.Identifier(t.f.Name) + "(" + strings.Join(named, ", ") + ")"
	switch one = "SELECT " + call + " AS result"; {
	case t.f.Engine.Constant != "":
		one = "SELECT " + engine.Identifier(t.f.Name) + "(" + strings.Join(constant, ", ") + ") AS result"
	case len(single) > 0:
		one += " FROM (SELECT " + strings.Join(single, ", ") + ")"
	}
	lists = append(lists, fmt.Sprintf("unnest(range($%d::BIGINT)) AS %s", len(lists)+1, callNumber))
	calls := "(SELECT " + strings.Join(lists, ", ") + ")"
	if _, _, _, ok := t.f.Key(); ok {
		if t.input = t.inputs(); t.input {
			calls = t.numbered(columns)
		}
		value, found := t.f.OverCalls(callsTable, columns, foundTable)
		return one, "WITH " + callsTable + " AS MATERIALIZED " + calls + ", " + foundTable + " AS MATERIALIZED (" + found +
			") SELECT " + callNumber + ", " + value + " AS result FROM " + callsTable
	}
	return one, "SELECT " + callNumber + ", " + call + " AS result FROM " + calls
}

// Tables of a statement that calls share.
const (
	callsTable = "__spiced_calls" // their arguments
	foundTable = "__spiced_found" // the rows with their keys
)

// Call evaluates the function once.
func (t *scalarTool) Call(ctx context.Context, in tools.Input) (tools.Output, error) {
	args, err := convertAll(t.args, in.Arguments)
	if err != nil {
		return tools.Output{}, err
	}
	ctx, cancel := within(ctx, in.Limits)
	defer cancel()
	who := caller.From(ctx)
	c := &call{
		args: args, bytes: len(in.Raw), timeout: in.Limits.Timeout,
		who: caller.Caller{Principal: who.Principal, Address: who.Address, Weight: who.Weight},
	}
	if depth := engine.Nesting(ctx); depth < len(t.queues) {
		err = t.queues[depth].do(ctx, c)
	} else {
		err = t.run(ctx, []*call{c})
	}
	if err == nil {
		err = c.err
	}
	if err != nil {
		return tools.Output{}, failure(ctx, err)
	}
	return tools.Output{Value: c.value, Version: c.version}, nil
}

// within returns ctx with the time limit of a call.
func within(ctx context.Context, l tools.Limits) (context.Context, context.CancelFunc) {
	if l.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, l.Timeout)
}

// Plan returns the statement of a call, with its arguments, and DuckDB's plan.
func (t *scalarTool) Plan(ctx context.Context, in tools.Input) (json.RawMessage, error) {
	call, err := t.callText(in.Arguments)
	if err != nil {
		return nil, err
	}
	return t.plan(ctx, "SELECT "+call+" AS result", t.choice, in)
}

// run gives every call its value or its own error. An error that concerns all of them is
// returned, and no call has a result then.
func (t *scalarTool) run(ctx context.Context, calls []*call) error {
	if len(calls) > 1 && !t.mayShare(ctx, calls[0]) {
		return errAlone
	}
	base, c, rows := t.request(calls)
	req := base
	if k := c.form(); k != nil {
		req = formRequest(base, *k, rows)
	}
	err := t.execute(ctx, req, calls)
	if len(calls) == 1 && req.SQL != base.SQL && failedOnData(err) {
		err = t.execute(ctx, base, calls)
	}
	if err == nil {
		c.called(ctx, t.db, base, rows)
	}
	return err
}

// execute runs a statement of the calls.
func (t *scalarTool) execute(ctx context.Context, req engine.Request, calls []*call) error {
	rows, err := t.db.Query(ctx, req)
	if err != nil {
		return err
	}
	defer rows.Close()
	value := len(rows.Columns()) - 1 // after the number of the call, if any
	if rows.Columns()[value].Type.String() != t.f.Returns.SQL() {
		return fmt.Errorf("%w: it returned %s", tools.ErrChanged, t.f.Returns)
	}
	for _, c := range calls {
		c.value, c.err = nil, nil // of an earlier statement
	}
	read := 0
	for chunk, err := range rows.Chunks() {
		if err != nil {
			return err
		}
		for i := range chunk.Len() {
			c := calls[0]
			if value > 0 {
				c = calls[engine.Value[int64](chunk.Column(0), i)]
			}
			if c.value != nil {
				return errSeveral
			}
			c.value, c.err = appendValue(nil, chunk.Column(value), i)
		}
		read += chunk.Len()
	}
	if value > 0 && req.SQL != t.many { // the join of several calls, which has no row for NULL
		for _, c := range calls {
			if c.value == nil && c.err == nil {
				c.value, read = json.RawMessage("null"), read+1
			}
		}
	}
	if read != len(calls) {
		return tools.NewError(errcode.Internal, fmt.Sprintf("%d calls returned %d values", len(calls), read),
			"please report it with the function")
	}
	version := t.readVersion(rows)
	for _, c := range calls {
		c.version = version
	}
	return nil
}

// errSeveral is an error of one of the calls, which then has a statement for itself.
var errSeveral = engine.NewError(errcode.Execution, "", "more than one row")

// errAlone says that calls are faster with a statement for each.
var errAlone = errors.New("the calls share no statement")

// mayShare reports whether calls that look up rows may share a statement: DuckDB must find
// the rows by an index. Without one, it would collect all rows with the keys of all calls,
// which may be most of the table.
func (t *scalarTool) mayShare(ctx context.Context, c *call) bool {
	relation, key, arg, ok := t.f.Key()
	if !ok || t.indexed.Load() {
		return true
	}
	sql := fmt.Sprintf("EXPLAIN ANALYZE SELECT %s FROM %s WHERE %s = %s", key,
		engine.Qualified(relation.Schema, relation.Name), key, t.args[arg].sql(1))
	plan, err := c.explain(ctx, t.db, sql, arg)
	t.indexed.Store(err == nil && strings.Contains(plan, indexScan))
	return t.indexed.Load()
}

// indexScan is DuckDB's name, in a plan, of a scan that uses an index.
const indexScan = "Index Scan"

// explain returns the plan of a statement with an argument of the call.
func (c *call) explain(ctx context.Context, db Querier, sql string, arg int) (string, error) {
	return Explain(ctx, db, engine.Request{
		SQL: sql, Params: engine.Params{Positional: c.args[arg : arg+1]},
		Internal: true,
	})
}

// request is the statement of the calls with parameters, the choice of another one, and the
// rows of its input. The statement has the longest time limit of the calls; each call also
// ends at its own.
func (t *scalarTool) request(calls []*call) (engine.Request, *formChoice, [][]any) {
	req := engine.Request{
		SQL: t.one, Limits: engine.Limits{MaxRows: int64(len(calls))}, Whole: true, Isolate: t.unsafe,
		Internal: true,
	}
	for _, c := range calls {
		if c.timeout == 0 {
			req.Limits.Timeout = 0
			break
		}
		req.Limits.Timeout = max(req.Limits.Timeout, c.timeout)
	}
	// a bare NULL has no type: DuckDB would plan again
	if len(calls) == 1 && (t.f.Engine.Constant != "" || !slices.Contains(calls[0].args, nil)) {
		req.Params.Positional = calls[0].args
		return req, t.choice, [][]any{calls[0].args}
	}
	req.SQL = t.many
	if t.input {
		req.Input = &engine.Input{Rows: make([][]any, len(calls))}
		for n, c := range calls {
			req.Input.Rows[n] = append(slices.Clip(c.args), int64(n))
		}
		return req, t.joined, req.Input.Rows
	}
	lists := make([]any, len(t.args), len(t.args)+1)
	for i := range lists {
		list := make([]any, len(calls))
		for n, c := range calls {
			list[n] = c.args[i]
		}
		lists[i] = list
	}
	req.Params.Positional = append(lists, int64(len(calls)))
	return req, noChoice, nil
}

// callText is a call with its arguments as literals.
func (c *callee) callText(given map[string]any) (string, error) {
	literals := make([]string, len(c.args))
	for i, a := range c.args {
		value, err := a.value(given)
		if err == nil {
			literals[i], err = a.typ.Literal(value)
		}
		if err != nil {
			return "", wrongArgument(a.name, err)
		}
	}
	return engine.Identifier(c.f.Name) + "(" + strings.Join(literals, ", ") + ")", nil
}

// Deferred returns the statement of a call of a function with async, see [tools.Deferrable].
func (c *callee) Deferred(in tools.Input) (sql string, params []any, err error) {
	if !c.f.Declared.Async {
		return "", nil, nil
	}
	if params, err = convertAll(c.args, in.Arguments); err != nil {
		return "", nil, err
	}
	args := make([]string, len(c.args))
	for i := range c.args {
		args[i] = c.args[i].sql(i + 1)
	}
	call := engine.Identifier(c.f.Name) + "(" + strings.Join(args, ", ") + ")"
	if c.f.IsTable() {
		return "SELECT * FROM " + call, params, nil
	}
	return "SELECT " + call + " AS result", params, nil
}

// plan returns the statement of a call, and DuckDB's plan for what calls run now.
func (c *callee) plan(ctx context.Context, sql string, of *formChoice, in tools.Input) (json.RawMessage, error) {
	args, err := convertAll(c.args, in.Arguments)
	if err != nil {
		return nil, err
	}
	req, now := engine.Request{SQL: sql, Internal: true}, ""
	if k := of.form(); k != nil {
		req, now = formRequest(req, *k, [][]any{args}), "; its plan is cached now"
		req.Input.Alone = false
	}
	req.SQL = "EXPLAIN " + req.SQL
	plan, err := Explain(ctx, c.db, req)
	if err != nil {
		return nil, failure(ctx, err)
	}
	return tools.Encode(map[string]string{"sql": sql, "plan": plan, "execution": execution(c.f) + now})
}

// Explain runs a statement that is an EXPLAIN and returns the text of the plan.
func Explain(ctx context.Context, db Querier, req engine.Request) (string, error) {
	rows, err := db.Query(ctx, req)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var plan strings.Builder
	for chunk, err := range rows.Chunks() {
		if err != nil {
			return "", err
		}
		for i := range chunk.Len() {
			plan.Write(chunk.Column(len(rows.Columns()) - 1).Bytes(i))
		}
	}
	return plan.String(), nil
}

// call is one call of a scalar function.
type call struct {
	args    []any // for [engine.Params]
	bytes   int   // of the arguments as JSON
	timeout time.Duration
	who     caller.Caller // whose share of the slots it takes; a batch has one

	value   json.RawMessage
	version uint64 // see [callee.readVersion]
	err     error
	done    chan struct{} // closed when value or err is set; made by the queue

	batch *batch // the batch it runs in; guarded by the queue
	over  bool   // it has a result, or its caller has gone; guarded by the queue
}

// failure converts the error of a call to a [*tools.Error] for its caller.
func failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return gone(ctx)
	}
	var e *tools.Error
	if errors.As(err, &e) {
		own := *e // others of the batch may share it
		return &own
	}
	if errors.Is(err, tools.ErrChanged) {
		return changed(err)
	}
	cause := engine.AsError(err)
	code := cause.Code
	switch code {
	case errcode.NotFound, errcode.Argument:
		code = errcode.Execution
	case errcode.Parse, errcode.Refused: // the statement is the runtime's
		code = errcode.Internal
	}
	out := tools.NewError(code, cause.Message, cause.Hint)
	if out.Cause = err; code == errcode.Execution {
		out.Message = "query failed: " + cause.Message
	}
	if cause.Code == errcode.NotFound || cause.Code == errcode.Argument { // the statement was valid when the tool was made
		out.Hint, out.Cause = changedHint, fmt.Errorf("%w: %w", tools.ErrChanged, err)
	}
	return out
}

const changedHint = "the function, or what it reads, has changed; call it again"

func changed(err error) *tools.Error {
	e := tools.NewError(errcode.Execution, err.Error(), changedHint)
	e.Cause = err
	return e
}

// gone is the error of a call whose caller no longer waits.
func gone(ctx context.Context) *tools.Error {
	e := tools.NewError(errcode.Cancelled, "the caller left", "")
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e = tools.NewError(errcode.Timeout, "the call took longer than its caller waits", "")
	}
	e.Cause = context.Cause(ctx)
	return e
}
