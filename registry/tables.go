package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/internal/sql/value"
	"github.com/spiced-sql/spiced/tools"
)

// window is the period of hot_tools: a month.
const window = windowDays * 24 * time.Hour

// sqlTables are this package's tables in schema spiced.
var sqlTables = []sqlTable{
	{"tools", `name VARCHAR, description VARCHAR, parameter_count BIGINT, total_invocations BIGINT, errors BIGINT,
		last_called_at TIMESTAMP, searches BIGINT, owner VARCHAR, source VARCHAR, version VARCHAR, tags VARCHAR[],
		parameters JSON, returns JSON, uid VARCHAR, checksum VARCHAR, cacheable BOOLEAN, read_only BOOLEAN,
		declared VARCHAR, risk VARCHAR, when_to_use VARCHAR, not_for VARCHAR, examples JSON,
		document_tokens BIGINT, document_left_out VARCHAR[], definition_tokens BIGINT`, toolRows},
	{"tool_calls", `id VARCHAR, called_at TIMESTAMP, tool VARCHAR, owner VARCHAR, caller VARCHAR, surface VARCHAR,
		source VARCHAR, ok BOOLEAN, code VARCHAR, latency_ms DOUBLE, rows BIGINT, bytes BIGINT, truncated BOOLEAN,
		cached BOOLEAN, foreign_call BOOLEAN, request_id VARCHAR, session_id VARCHAR, user_id VARCHAR,
		flow_id VARCHAR, step_id VARCHAR, generation UBIGINT, error VARCHAR`, recorded(callRows)},
	{"tool_usage", `tool VARCHAR, owner VARCHAR, caller VARCHAR, day DATE, calls BIGINT, errors BIGINT, invalid BIGINT,
		refused BIGINT, timed_out BIGINT, cancelled BIGINT, failed BIGINT, cached BIGINT, truncated BIGINT,
		foreign_calls BIGINT, rows BIGINT, bytes BIGINT, total_ms DOUBLE, min_ms DOUBLE, max_ms DOUBLE,
		p50_ms DOUBLE, p95_ms DOUBLE, first_at TIMESTAMP, last_at TIMESTAMP`, recorded(usageRows)},
	{"model_usage", `model VARCHAR, day DATE, chats BIGINT, failed BIGINT, cancelled BIGINT, rounds BIGINT, tool_calls BIGINT,
		input_tokens BIGINT, output_tokens BIGINT, cache_read_tokens BIGINT, cache_write_tokens BIGINT,
		reasoning_tokens BIGINT, definition_tokens BIGINT, total_ms DOUBLE, first_token_p50_ms DOUBLE, first_token_p95_ms DOUBLE`, recorded(modelUsageRows)},
	{"searches", `id VARCHAR, searched_at TIMESTAMP, query VARCHAR, mode VARCHAR, surface VARCHAR, caller VARCHAR,
		session_id VARCHAR, tools VARCHAR[], no_good_match BOOLEAN, latency_ms DOUBLE`, recorded(searchRows)},
	{"learned_queries", `tool VARCHAR, query VARCHAR, calls BIGINT, last_called_at TIMESTAMP`, recorded(learnedRows)},
	{"tool_embeddings", `tool VARCHAR, model VARCHAR, dimensions BIGINT, vector FLOAT[], checksum VARCHAR,
		computed BOOLEAN`, embeddingRows},
	{"approvals", `id VARCHAR, tool VARCHAR, arguments JSON, status VARCHAR, asked_by VARCHAR, asked_at TIMESTAMP,
		expires_at TIMESTAMP, risk VARCHAR, checksum VARCHAR, user_id VARCHAR, space_id VARCHAR, agent VARCHAR,
		model VARCHAR, plan JSON, decided_by VARCHAR, decided_at TIMESTAMP, used_at TIMESTAMP, note VARCHAR`, approvalRows},
	{DeadTools, deadColumns, recorded(func(r reader) []row { return r.deadRows(judgement{}.withDefaults(r.opts.Usage)) })},
	{"hot_tools", `name VARCHAR, owner VARCHAR, source VARCHAR, calls BIGINT, calls_per_day DOUBLE, share DOUBLE,
		p50_ms DOUBLE, p95_ms DOUBLE, total_ms DOUBLE, errors BIGINT`, recorded(hotRows)},
	{"cross_agent_calls", `tool VARCHAR, owner VARCHAR, caller VARCHAR, calls BIGINT, errors BIGINT, first_at TIMESTAMP,
		last_at TIMESTAMP`, recorded(crossRows)},
	{"events", `occurred_at TIMESTAMP, type VARCHAR, agent VARCHAR, depth BIGINT, call_id VARCHAR, parent_call_id VARCHAR, tool VARCHAR,
		text VARCHAR, arguments VARCHAR, result VARCHAR, ok BOOLEAN, code VARCHAR, error VARCHAR, latency_ms DOUBLE,
		request_id VARCHAR, session_id VARCHAR`, recorded(eventRows)},
}

// row is a row of a table, by column.
type row map[string]any

// recorded returns the function for rows of recorded calls and searches: without a
// recorder there are none.
func recorded(rows func(reader) []row) func(reader) []row {
	return func(r reader) []row {
		if r.opts.Usage == nil {
			return nil
		}
		return rows(r)
	}
}

// reader is the caller that reads a table.
type reader struct {
	*Registry
	who    caller.Caller
	holder string
	view   *View
}

func (r *Registry) reader(ctx context.Context) reader {
	scope := statementScope(ctx)
	return reader{r, scope.Caller, r.holder(scope.Caller), r.Current().View(scope)}
}

// sees reports whether the caller may learn of the tool or function.
func (r reader) sees(name string) bool {
	return (r.view.Get(name) != nil || r.view.catalog.get(name) == nil) && !r.view.HidesFunction(name)
}

// seesAgent reports whether the caller may see a name; only names of agents are hidden.
func (r reader) seesAgent(name string) bool {
	def := r.view.catalog.Get(name)
	return def == nil || def.Source != tools.SourceAgent || r.sees(name)
}

// agent is the name of an agent that called, if the caller may learn of it.
func (r reader) agent(name string) any {
	if !r.seesAgent(name) {
		return nil
	}
	return textOrNull(name)
}

// seen returns the names that the caller may see.
func (r reader) seen(names []string) []string {
	return append([]string{}, slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !r.sees(name) })...)
}

// own is a text that only its holder may read: an error may contain values that
// a row filter hides from others.
func (r reader) own(holder, text string) any {
	if holder != r.holder {
		return nil
	}
	return textOrNull(text)
}

// sqlTime formats a time for from_json as a TIMESTAMP; nil if it is zero.
func sqlTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02 15:04:05.999999")
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// jsonOrNull is JSON, or nil if it is missing.
func jsonOrNull(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	return raw
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Stat is a tool with its usage, a row of the table of all tools.
type Stat struct {
	Name             string     `json:"name"`
	Description      string     `json:"description"`
	ParameterCount   int        `json:"parameter_count"`
	TotalInvocations int64      `json:"total_invocations"`
	Errors           int64      `json:"errors"`
	LastCalledAt     *time.Time `json:"last_called_at" required:"true" nullable:"true"`
	Searches         int64      `json:"searches" doc:"Searches that returned the tool."`
	Owner            string     `json:"owner"`
	Source           string     `json:"source"`
}

// Stats lists the tools of c that keep wants, with their usage, sorted by name.
func (r *Registry) Stats(c *Catalog, scope tools.Scope, keep func(*tools.Definition) bool) []Stat {
	list := []Stat{}
	for _, def := range c.withOwned(c.Visible(scope), c.View(scope)) {
		if keep(def) {
			list = append(list, stat(r.opts.Usage, def))
		}
	}
	return list
}

func stat(u *usage.Recorder, def *tools.Definition) Stat {
	s := Stat{
		Name: def.Name, Description: def.Description, ParameterCount: ParameterCount(def), Owner: def.Owner,
		Source: def.Source,
	}
	if u == nil {
		return s
	}
	t := u.Totals(def.Name)
	s.TotalInvocations, s.Errors, s.Searches = t.Calls, t.Errors(), t.Returned
	if !t.LastAt.IsZero() {
		s.LastCalledAt = &t.LastAt
	}
	return s
}

// ParameterCount is the number of parameters in a tool's schema.
func ParameterCount(def *tools.Definition) int {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(def.Parameters, &schema) // an invalid schema has no parameters
	return len(schema.Properties)
}

func toolRows(r reader) []row {
	var rows []row
	for _, def := range r.view.Listed() {
		s := stat(r.opts.Usage, def)
		last, shown := any(nil), def.Shown()
		examples, _ := tools.Encode(append([]tools.Example{}, def.Examples...)) // of JSON
		if s.LastCalledAt != nil {
			last = sqlTime(*s.LastCalledAt)
		}
		rows = append(rows, row{
			"name": s.Name, "description": s.Description, "parameter_count": s.ParameterCount,
			"total_invocations": s.TotalInvocations,
			"errors":            s.Errors, "last_called_at": last, "searches": s.Searches, "owner": s.Owner, "source": s.Source,
			"version": def.Version,
			"tags":    append([]string{}, def.Tags...), "parameters": def.Parameters, "returns": jsonOrNull(def.Returns),
			"uid":      def.UID,
			"checksum": def.Checksum, "cacheable": def.Cacheable, "read_only": def.Annotations.ReadOnly,
			"declared": def.Declared, "risk": def.Risk,
			"when_to_use": textOrNull(def.WhenToUse), "not_for": textOrNull(def.NotFor), "examples": examples,
			"document_tokens": shown.Tokens, "document_left_out": append([]string{}, shown.Left...),
			"definition_tokens": r.definitionTokens(def),
		})
	}
	return rows
}

// definitionTokens is what the definition of a tool costs; that of a caller's own tools is not kept.
func (r reader) definitionTokens(def *tools.Definition) int {
	if e := r.view.catalog.byName[def.Name]; e != nil && e.def == def {
		return e.tokens()
	}
	return definitionTokens(def)
}

func callRows(r reader) []row {
	var rows []row
	for _, c := range r.opts.Usage.Calls() {
		if x := r.callRow(&c); x != nil {
			rows = append(rows, x)
		}
	}
	return rows
}

// callRow is the row of a call, or nil if the caller does not see the tool.
func (r reader) callRow(c *usage.Call) row {
	if !r.sees(c.Tool) {
		return nil
	}
	return row{
		"id": c.ID, "called_at": sqlTime(c.At), "tool": c.Tool, "owner": textOrNull(c.Owner), "caller": r.agent(c.Caller),
		"surface": textOrNull(c.Surface),
		"source":  textOrNull(c.Source), "ok": c.OK, "code": textOrNull(c.Code), "latency_ms": ms(c.Latency), "rows": c.Rows,
		"bytes":     c.Bytes,
		"truncated": c.Truncated, "cached": c.Cached, "foreign_call": c.Foreign, "request_id": r.own(c.Holder, c.RequestID),
		"session_id": r.own(c.Holder, c.SessionID),
		"user_id":    textOrNull(c.UserID), "flow_id": r.own(c.Holder, c.FlowID), "step_id": r.own(c.Holder, c.StepID),
		"generation": c.Generation, "error": r.own(c.Holder, c.Error),
	}
}

func usageRows(r reader) []row {
	var rows []row
	for _, u := range r.opts.Usage.Usage() {
		if !r.sees(u.Tool) {
			continue
		}
		rows = append(rows, row{
			"tool": u.Tool, "owner": textOrNull(u.Owner), "caller": r.agent(u.Caller), "day": u.Day.Format(time.DateOnly),
			"calls": u.Calls, "errors": u.Errors(),
			"invalid": u.Invalid, "refused": u.Refused, "timed_out": u.TimedOut, "cancelled": u.Cancelled, "failed": u.Failed,
			"cached": u.Cached, "truncated": u.Truncated, "foreign_calls": u.Foreign, "rows": u.Rows, "bytes": u.Bytes,
			"total_ms": ms(u.Time), "min_ms": ms(u.Shortest), "max_ms": ms(u.Longest), "p50_ms": ms(u.Quantile(0.5)),
			"p95_ms":   ms(u.Quantile(0.95)),
			"first_at": sqlTime(u.FirstAt), "last_at": sqlTime(u.LastAt),
		})
	}
	return rows
}

// modelUsageRows are the chats per model and day.
func modelUsageRows(r reader) []row {
	var rows []row
	for _, u := range r.opts.Usage.Models() {
		if !r.seesAgent(u.Model) {
			continue
		}
		rows = append(rows, row{
			"model": u.Model, "day": u.Day.Format(time.DateOnly), "chats": u.Chats.Chats, "failed": u.Failed,
			"cancelled": u.Cancelled,
			"rounds":    u.Rounds, "tool_calls": u.ToolCalls, "input_tokens": u.Input, "output_tokens": u.Output,
			"cache_read_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite, "reasoning_tokens": u.Reasoning,
			"definition_tokens": u.DefinitionTokens,
			"total_ms":          ms(u.Time), "first_token_p50_ms": ms(u.FirstTokenQuantile(.5)),
			"first_token_p95_ms": ms(u.FirstTokenQuantile(.95)),
		})
	}
	return rows
}

func searchRows(r reader) []row {
	var rows []row
	for _, s := range r.opts.Usage.Searches() {
		rows = append(rows, row{
			"id": s.ID, "searched_at": sqlTime(s.At), "query": r.own(s.Holder, s.Query), "mode": s.Mode,
			"surface": textOrNull(s.Surface), "caller": r.agent(s.Caller),
			"session_id": r.own(s.Holder, s.SessionID), "tools": r.seen(s.Tools), "no_good_match": s.NoGoodMatch,
			"latency_ms": ms(s.Latency),
		})
	}
	return rows
}

// hotRows are the tools called in the last month, most calls first.
func hotRows(r reader) []row {
	var rows []row
	now := r.opts.Now()
	days := max(min(now.Sub(r.opts.Usage.Since()), window).Hours()/24, 1)
	month := r.opts.Usage.Window(now.Add(-window))
	var names []string
	var all int64
	for name, t := range month {
		if t.Calls > 0 && name != unknownTool && r.sees(name) {
			names, all = append(names, name), all+t.Calls
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(month[b].Calls, month[a].Calls), strings.Compare(a, b))
	})
	for _, name := range names {
		t := month[name]
		owner, source := any(nil), any(nil)
		if def := r.view.listed(name); def != nil {
			owner, source = def.Owner, def.Source
		}
		rows = append(rows, row{
			"name": name, "owner": owner, "source": source, "calls": t.Calls, "calls_per_day": float64(t.Calls) / days,
			"share": float64(t.Calls) / float64(all), "p50_ms": ms(t.Quantile(0.5)), "p95_ms": ms(t.Quantile(0.95)),
			"total_ms": ms(t.Time), "errors": t.Errors(),
		})
	}
	return rows
}

// crossRows are the calls of agents to tools with another owner.
func crossRows(r reader) []row {
	var rows []row
	type pair struct{ tool, owner, caller string }
	sums := map[pair]*usage.Counts{}
	var order []pair
	for _, u := range r.opts.Usage.Usage() {
		if u.Foreign == 0 || !r.sees(u.Tool) {
			continue
		}
		p := pair{u.Tool, u.Owner, u.Caller}
		if sums[p] == nil {
			sums[p] = &usage.Counts{}
			order = append(order, p)
		}
		sums[p].Merge(&u.Counts)
	}
	for _, p := range order {
		c := sums[p]
		rows = append(rows, row{
			"tool": p.tool, "owner": p.owner, "caller": r.agent(p.caller), "calls": c.Foreign, "errors": c.Errors(),
			"first_at": sqlTime(c.FirstAt), "last_at": sqlTime(c.LastAt),
		})
	}
	return rows
}

// eventRows are the steps of agents that work for the caller.
func eventRows(r reader) []row {
	var rows []row
	for _, e := range r.opts.Usage.Events() {
		if x := r.eventRow(&e); x != nil {
			rows = append(rows, x)
		}
	}
	return rows
}

// eventRow is the row of a step, or nil if the caller does not see it.
func (r reader) eventRow(e *usage.Event) row {
	if e.Holder != r.holder || !r.seesAgent(e.Agent) || e.Tool != "" && !r.sees(e.Tool) {
		return nil
	}
	x := row{
		"occurred_at": sqlTime(e.At), "type": e.Type, "agent": e.Agent, "depth": e.Depth, "call_id": e.CallID,
		"parent_call_id": textOrNull(e.ParentCallID),
		"tool":           textOrNull(e.Tool), "text": textOrNull(e.Text), "arguments": textOrNull(e.Arguments),
		"result": textOrNull(e.Result),
		"code":   textOrNull(e.Code), "error": textOrNull(e.Error), "request_id": textOrNull(e.RequestID),
		"session_id": textOrNull(e.SessionID),
	}
	if e.OK != nil {
		x["ok"], x["latency_ms"] = *e.OK, ms(e.Latency)
	}
	return x
}

// Reader shows records to one caller as the tables of this package show them: the same rows, in which
// the same values are NULL.
type Reader struct{ reader reader }

// Reader returns the reader of a caller in the current catalog.
func (r *Registry) Reader(who caller.Caller) Reader {
	return Reader{r.reader(caller.With(context.Background(), who))}
}

// Call returns the row of spiced.tool_calls of a call; nil if the caller does not see it.
func (r Reader) Call(c *usage.Call) map[string]any {
	x := r.reader.callRow(c)
	if x != nil {
		x["called_at"] = jsonTime(c.At)
	}
	return x
}

// Step returns the row of spiced.events of a step of an agent; nil if the caller does not see it.
func (r Reader) Step(e *usage.Event) map[string]any {
	x := r.reader.eventRow(e)
	if x != nil {
		x["occurred_at"] = jsonTime(e.At)
	}
	if x != nil && e.OK == nil {
		x["ok"], x["latency_ms"] = nil, nil
	}
	return x
}

// HidesFunction reports whether the caller may not learn of a declared function.
func (r Reader) HidesFunction(name string) bool { return r.reader.view.HidesFunction(name) }

// jsonTime is a time as a TIMESTAMP is in the results of statements as JSON.
func jsonTime(t time.Time) string { return string(value.AppendTimestamp(nil, t.UnixMicro(), 1e6)) }
