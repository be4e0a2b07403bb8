package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/activity"
	"github.com/spiced-sql/spiced/tools"
)

// Call is a request to call a tool.
type Call struct {
	Name      string
	Arguments json.RawMessage // unparsed; empty means no arguments
	Scope     tools.Scope
	// DryRun checks everything and returns the plan without running the tool.
	DryRun bool
	// Events, if set, receives the start and the end of the call, in that
	// order.
	Events func(Event)

	// Automatic: no caller asked for it, and it does not count as usage.
	Automatic bool

	// Meta: tool_search and tool_invoke are the registry's own, also if tools have these
	// names.
	Meta bool

	// Own, if set, is the tool: one that only its caller has, and no catalog.
	Own *OwnTool

	inner  bool // called by tool_invoke: tools of the catalog only
	judged bool // the guard of statements has decided that the tool is available
}

// Invoke calls a tool. It returns every failure as a result: it never panics,
// and ends with ctx or at the tool's time limit.
func (r *Registry) Invoke(ctx context.Context, c Call) tools.Result {
	ctx = WithScope(ctx, c.Scope) // the statements of the tool run as its caller
	began := r.opts.Now()
	id := r.callID()
	observer := Observer{id, c.Events, c.Events}
	if c.Events == nil { // a call by another one, whose observer gets the approvals that it needs
		observer.asks = ObserverOf(ctx).asks
	}
	ctx = context.WithValue(ctx, observerKey{}, observer)
	if c.Events != nil {
		c.Events(Event{Type: EventToolCall, CallID: id, Tool: c.Name, Arguments: c.Arguments})
	}
	a := &attempt{registry: r, call: c, id: id, approving: approving{emit: observer.asks}}
	result := a.run(ctx)
	result.Metrics.LatencyMS = milliseconds(r.opts.Now().Sub(began))
	if c.Scope.Trace != (caller.Trace{}) {
		result.Trace = &c.Scope.Trace
	}
	if !a.isMeta() && !c.Automatic {
		r.record(c, id, began, &result, a)
	}
	if c.Events != nil {
		c.Events(Event{Type: EventToolResult, CallID: id, Tool: c.Name, Result: &result})
	}
	return result
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}

// maxChanges is how often a call is retried after the runtime changed.
const maxChanges = 5

// attempt is one call in progress.
type attempt struct {
	registry *Registry
	call     Call
	id       string // of the call
	catalog  *Catalog
	entry    *entry
	input    tools.Input // empty until checked
	notices  []string
	cache    string
	counted  bool // for the limit of its session

	unavailable string // the tool, if it is not available to the caller
	approving
}

// approving is the state of the approval of a call.
type approving struct {
	emit     func(Event) // nil: no one observes the call
	reported string      // the approval that was reported
	until    time.Time   // until when the call waits
	approval string      // the approval to use
	used     string      // the checksum of the tool for which one was used
}

func (a *attempt) isMeta() bool {
	return a.entry != nil && a.registry.meta[a.entry.def.Name] == a.entry
}

// run makes the call, and retries it if the tool is replaced before it begins.
func (a *attempt) run(ctx context.Context) tools.Result {
	for n := 0; ; n++ {
		a.catalog, a.input, a.notices, a.cache = a.registry.Current(), tools.Input{}, nil, ""
		out, err := a.try(ctx)
		if errors.Is(err, tools.ErrChanged) && ctx.Err() == nil &&
			(n == 0 || n < maxChanges && a.registry.Current() != a.catalog) {
			continue
		}
		return a.result(out, err)
	}
}

func (a *attempt) result(out tools.Output, err error) tools.Result {
	result := tools.Result{Notices: a.notices, Metrics: tools.Metrics{Cache: a.cache}}
	if a.entry != nil {
		result.Tool = a.entry.def
	}
	if err != nil {
		result.Error = tools.AsError(err)
		return result
	}
	result.OK, result.Result, result.Content, result.Rows, result.Metrics.Usage = true, out.Value, out.Content,
		out.Rows, out.Usage
	result.Notices = append(result.Notices, out.Notices...)
	return result
}

// try makes the call once: name, availability, arguments, approval, the limit of the session,
// the cache, the limits of the tool, the tool. The order matters to who calls: nothing is asked of
// a user or counted for a call that cannot run, a cached result costs no slot, and a call that
// gets no slot is not counted. Errors of the steps before the tool leave it untouched, so that run
// may try again.
func (a *attempt) try(ctx context.Context) (tools.Output, error) {
	if err := a.resolve(); err != nil {
		return tools.Output{}, err
	}
	if reason := a.entry.unavailable(a.call.Scope); reason != "" {
		a.unavailable = a.entry.def.Name
		return tools.Output{}, tools.NewError(errcode.ToolUnavailable,
			fmt.Sprintf("%s is not available here: %s", a.entry.def.Name, reason), "")
	}
	in, err := a.arguments()
	if err != nil {
		return tools.Output{}, err
	}
	a.input = in
	if a.call.DryRun {
		return a.plan(ctx, in)
	}
	if err := a.approve(ctx, in); err != nil {
		return tools.Output{}, err
	}
	if !a.counted {
		if err := a.registry.calls.count(a.entry, a.call.Scope); err != nil {
			return tools.Output{}, err
		}
		a.counted = true
	}
	key := a.cacheKey(in, a.dataVersion())
	if out, ok := a.registry.cache.get(key); ok {
		a.cache = "hit"
		return out, nil
	}
	if err := a.entry.gate.enter(a.entry.def.Name); err != nil {
		a.registry.calls.uncount(a.entry, a.call.Scope)
		a.counted = false
		return tools.Output{}, err
	}
	defer a.entry.gate.leave()
	if err := a.use(ctx, in); err != nil {
		return tools.Output{}, err
	}
	out, err := a.execute(ctx, in)
	if err != nil {
		return out, err
	}
	if key != "" {
		a.cache = "miss"
		a.registry.cache.put(a.cacheKey(in, out.Version), out)
	}
	return out, nil
}

// resolve finds the tool of the name.
func (a *attempt) resolve() error {
	if a.call.Own != nil {
		a.entry = a.call.Own.entry
		return nil
	}
	meta := a.registry.meta[a.call.Name]
	if a.entry = a.catalog.get(a.call.Name); a.call.Meta && meta != nil {
		a.entry = nil
	}
	if a.entry == nil && !a.call.inner {
		a.entry = meta
	}
	if a.entry == nil || !a.isMeta() && !a.mayCall() {
		if a.entry != nil {
			a.unavailable = a.entry.def.Name
		}
		a.entry = nil // also of a tool that the caller may not know of
		return a.catalog.notFound(a.call.Name, a.call.Scope)
	}
	return nil
}

// mayCall reports whether the caller sees the tool and its key may call it.
func (a *attempt) mayCall() bool {
	seen := a.call.judged || a.catalog.sees(a.entry, a.call.Scope)
	return seen && a.call.Scope.MayCall(a.entry.def.Name)
}

// shownName limits the length of an unknown name in an error.
const shownName = 100

// notFound is the error of a name that no tool has, or that of a tool which the caller does
// not see: both are the same.
func (c *Catalog) notFound(name string, scope tools.Scope) *tools.Error {
	if c.Pending != nil && c.get(name) == nil && c.seesServer(name, scope) {
		if err := c.Pending(name); err != nil {
			return err
		}
	}
	if o := c.ownedBy(name, c.View(scope)); o != nil && scope.MayCall(o.Name) {
		return o.refused(c.View(scope))
	}
	err := tools.NewError(errcode.ToolNotFound, fmt.Sprintf("there is no tool %q", truncate.Ellipsis(name, shownName)),
		SearchHint)
	if h := c.hidden(name); h != nil && c.seesFunction(name, scope) {
		err.Hint = "it is declared, but not a tool: " + h.Reason
		return err
	}
	visible := c.View(scope).definitions
	names := make([]string, 0, len(visible))
	for _, def := range visible {
		if scope.MayCall(def.Name) {
			names = append(names, def.Name)
		}
	}
	if near := meant(fold(name), names); near != "" {
		err.Hint, err.DidYouMean = fmt.Sprintf("did you mean %q?", near), []string{near}
	}
	return err
}

// SearchHint is the hint of an unknown name that is near no other.
const SearchHint = "search for one with " + ToolSearch

// meant returns the name that an unknown one most likely means, or "". Models put prefixes
// before names: functions.add, default_api.add, mcp__server__add.
func meant(name string, names []string) string {
	for rest := name; rest != ""; {
		if near := nearest.Name(rest, names); near != "" {
			return near
		}
		at := strings.IndexAny(rest, "._:")
		if at < 0 {
			return ""
		}
		rest = strings.TrimLeft(rest[at:], "._:")
	}
	return ""
}

// arguments parses, repairs and checks the arguments.
func (a *attempt) arguments() (tools.Input, error) {
	in := tools.Input{Scope: a.call.Scope, Limits: a.entry.gate.limits}
	args, notices, err := tools.Parse(a.call.Arguments)
	if err != nil {
		return in, err
	}
	schemas, _ := a.entry.schema() // on error, the schema accepts any object
	schema := schemas.parameters
	repaired, more := schema.Repair(args)
	a.notices = append(notices, more...)
	if faults := schema.Check(any(repaired)); len(faults) > 0 {
		shown := schemas.shown()
		faults = inTermsOf(shown, faults, repaired)
		bad := tools.NewError(errcode.InvalidArguments, tools.FaultsText(faults), "")
		bad.Faults, bad.Example = faults, shown.Example()
		return in, bad
	}
	in.Arguments = repaired
	in.Raw, _ = tools.Encode(repaired) // it was decoded from JSON
	return in, nil
}

// inTermsOf are the faults at the same places by the schema that callers are shown.
func inTermsOf(shown *tools.Schema, faults []tools.Fault, args map[string]any) []tools.Fault {
	same := slices.DeleteFunc(shown.Check(any(args)), func(f tools.Fault) bool {
		return !slices.ContainsFunc(faults, func(g tools.Fault) bool { return g.Path == f.Path })
	})
	if len(same) == 0 {
		return faults
	}
	return same
}

// plan is the result of a dry run.
func (a *attempt) plan(ctx context.Context, in tools.Input) (tools.Output, error) {
	l := in.Limits
	dry := struct {
		DryRun    bool            `json:"dry_run"`
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
		Limits    tools.Limits    `json:"limits"`
		Plan      json.RawMessage `json:"plan,omitempty"`
	}{true, a.entry.def.Name, in.Raw, l, nil}
	if p, ok := a.entry.tool.(tools.Planner); ok {
		ctx, cancel := context.WithTimeout(ctx, l.Timeout)
		defer cancel()
		var err error
		if dry.Plan, err = p.Plan(a.within(ctx), in); err != nil {
			return tools.Output{}, err
		}
	}
	return tools.JSON(dry)
}

// execute runs the tool within its limits and checks its result.
func (a *attempt) execute(ctx context.Context, in tools.Input) (tools.Output, error) {
	ctx, entry := a.registry.opts.Activity.Begin(ctx, activity.Work{
		ID: a.id, Kind: activity.ToolCall, Owner: in.Scope.Owner(), Protocol: string(in.Scope.Protocol),
		Name: a.entry.def.Name,
	})
	defer entry.End()
	limited, cancel := context.WithTimeoutCause(ctx, in.Limits.Timeout, errTimeout)
	defer cancel()
	out, err := a.guarded(limited, in)
	if err != nil {
		return out, a.ended(ctx, limited, in, err)
	}
	return out, a.checkResult(out, in)
}

var errTimeout = errors.New("over the tool's time limit")

// guarded calls the tool. A panic of the tool fails the call, not the process.
func (a *attempt) guarded(ctx context.Context, in tools.Input) (out tools.Output, err error) {
	defer func() {
		if p := recover(); p != nil {
			a.registry.log.Error("a tool panicked", "tool", a.entry.def.Name, "panic", p, "stack", string(debug.Stack()))
			err = tools.NewError(errcode.Internal, fmt.Sprintf("the tool %s failed inside", a.entry.def.Name),
				"the log has more")
		}
	}()
	return a.entry.tool.Call(a.within(ctx), in)
}

// within returns ctx for the tool's statements: tools that they call have at
// most the tool's access.
func (a *attempt) within(ctx context.Context) context.Context {
	if a.entry.def.Datasets == nil {
		return ctx
	}
	scope := a.call.Scope
	scope.Through = append(slices.Clip(scope.Through), a.entry.def.Datasets)
	return WithScope(ctx, scope)
}

// ended distinguishes a call that timed out or was cancelled from one that
// failed.
func (a *attempt) ended(ctx, limited context.Context, in tools.Input, err error) error {
	switch {
	case errors.Is(err, tools.ErrChanged):
		return err
	case ctx.Err() == nil && errors.Is(context.Cause(limited), errTimeout):
		return &tools.Error{
			Code: errcode.Timeout, Retryable: true, Cause: err, Hint: hintOf(err),
			Message: fmt.Sprintf("%s took longer than %s, its time limit", a.entry.def.Name, in.Limits.Timeout),
		}
	case errors.Is(context.Cause(ctx), activity.ErrCancelled):
		return &tools.Error{
			Code: errcode.Cancelled, Cause: activity.ErrCancelled,
			Message: "the call was cancelled by its owner",
		}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &tools.Error{
			Code: errcode.Timeout, Retryable: true, Cause: err, Hint: hintOf(err),
			Message: "the call took longer than its caller waits",
		}
	case ctx.Err() != nil:
		return &tools.Error{Code: errcode.Cancelled, Cause: err, Message: "the caller left"}
	}
	return err
}

// hintOf returns the hint of a tool's error, "" if it has none.
func hintOf(err error) string {
	var e *tools.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Hint
}

// checkResult checks the type and the size of a result. DuckDB guarantees the
// types of declared functions.
func (a *attempt) checkResult(out tools.Output, in tools.Input) error {
	if limit := in.Limits.MaxBytes; limit > 0 && int64(len(out.Value)) > limit {
		return tools.NewError(errcode.Limit, fmt.Sprintf("the result has %d bytes; the limit is %d", len(out.Value), limit),
			"ask for less")
	}
	schemas, _ := a.entry.schema()
	if schemas.returns == nil || a.entry.def.Source == tools.SourceFunction {
		return nil
	}
	value, err := tools.Decode(out.Value)
	if err != nil {
		return &tools.Error{Code: errcode.InvalidResult, Message: a.entry.def.Name + " did not give JSON", Cause: err}
	}
	if faults := schemas.returns.Check(value); len(faults) > 0 {
		return &tools.Error{
			Code: errcode.InvalidResult, Faults: faults,
			Message: fmt.Sprintf("%s gave what it does not declare: %s", a.entry.def.Name, tools.FaultsText(faults)),
		}
	}
	return nil
}

// dataVersion is the version of the data that a call reads, 0 if its result is not cached
// until that changes.
func (a *attempt) dataVersion() uint64 {
	if t, ok := a.entry.tool.(tools.Versioned); ok {
		return t.DataVersion()
	}
	return 0
}

// cacheKey is the cache key of a result over data of this version, "" if it is not cached.
func (a *attempt) cacheKey(in tools.Input, version uint64) string {
	switch {
	case a.catalog.gates.tools[a.entry] != nil:
		return "" // who may see a result must not depend on the approvals of others
	case a.entry.def.Cacheable:
		return a.entry.def.Checksum + string(in.Raw)
	case version != 0:
		return a.entry.def.Checksum + strconv.FormatUint(version, 36) + string(in.Raw)
	}
	return ""
}
