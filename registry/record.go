package registry

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/internal/sql/fingerprint"
	"github.com/spiced-sql/spiced/tools"
)

// callID returns a number that is unique in this run.
func (r *Registry) callID() string { return "call_" + strconv.FormatUint(r.nextID.Add(1), 36) }

// holder identifies the caller of a call or a search in this run: the number of
// an unnamed key may belong to another key in the next run. "" means any
// caller: without keys there is only one.
func (r *Registry) holder(who caller.Caller) string {
	if who.Principal == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(r.run + who.Owner()))
	return hex.EncodeToString(sum[:16])
}

// unknownTool replaces unknown names in the record: callers can send any number
// of them.
const unknownTool = "(unknown)"

func (r *Registry) record(c Call, id string, began time.Time, result *tools.Result, a *attempt) {
	latency := r.opts.Now().Sub(began)
	tool, code := unknownTool, ""
	u := usage.Call{
		ID: id, At: began, Caller: c.Scope.Agent, Surface: string(c.Scope.Protocol), OK: result.OK, Latency: latency,
		Bytes: int64(len(result.Result)), Cached: a.cache == "hit",
		RequestID: c.Scope.RequestID, SessionID: c.Scope.SessionID, UserID: c.Scope.UserID,
		FlowID: c.Scope.Trace.FlowID, StepID: c.Scope.Trace.StepID, Generation: a.catalog.Generation,
		Holder: r.holder(c.Scope.Caller), Principal: c.Scope.Principal, User: c.Scope.UserID, Space: c.Scope.SpaceID,
	}
	if a.entry != nil {
		tool = a.entry.def.Name
		u.Owner, u.Source = a.entry.def.Owner, a.entry.def.Source
		u.Foreign = foreign(u.Owner, u.Caller)
	} else if o := a.catalog.ownedBy(c.Name, a.catalog.View(c.Scope)); o != nil {
		tool = o.Name
		u.Owner, u.Source = o.Owner, o.Source
		u.Foreign = foreign(u.Owner, u.Caller)
	}
	if result.Error != nil {
		code = string(result.Error.Code)
		u.Error = result.Error.Message
	}
	if result.Rows != nil {
		u.Rows, u.Truncated = int64(result.Rows.Returned), result.Rows.Truncated
	}
	u.Tool, u.Code = tool, code
	if c.DryRun {
		return
	}
	if r.opts.Usage != nil {
		r.opts.Usage.Call(u)
	}
	if r.opts.Audit.Enabled() {
		r.opts.Audit.Record(context.Background(), audit.Entry{
			Kind: audit.Tool, Protocol: string(c.Scope.Protocol), Principal: c.Scope.Principal, User: c.Scope.UserID,
			RequestID: c.Scope.RequestID,
			Tool:      tool, Fingerprint: a.fingerprint(), Rows: u.Rows, Bytes: u.Bytes, Took: latency,
			Outcome: cmp.Or(code, audit.OK),
		})
	}
	if r.opts.Metrics != nil {
		r.opts.Metrics.ToolCall(tool, string(c.Scope.Protocol), code, latency)
		if a.unavailable != "" {
			r.opts.Metrics.ToolUnavailable(a.unavailable)
		}
	}
}

// fingerprint is the fingerprint of the statement in the tool's arguments, if
// there is one.
func (a *attempt) fingerprint() fingerprint.Fingerprint {
	if a.entry == nil || a.input.Arguments == nil {
		return fingerprint.Fingerprint{}
	}
	t, ok := a.entry.tool.(tools.Stating)
	if !ok {
		return fingerprint.Fingerprint{}
	}
	return fingerprint.Of(t.Statement(a.input))
}

// foreign reports whether an agent called a tool of another owner. The tools of
// the runtime are shared.
func foreign(owner, caller string) bool {
	return caller != "" && owner != caller && owner != tools.OwnerRuntime
}

// Statement counts a SQL statement once for each declared function that it
// used. The code is that of the statement's error, or "".
func (r *Registry) Statement(functions []string, who caller.Caller, began time.Time, code string, rows int64) {
	if r.opts.Usage == nil {
		return
	}
	c := r.Current()
	for _, name := range functions {
		owner, declared := c.Functions[name]
		if !declared {
			continue
		}
		r.opts.Usage.Call(usage.Call{
			ID: r.callID(), At: began, Tool: name, Owner: owner, Caller: who.Agent, Surface: string(caller.SQL),
			Source: tools.SourceFunction, OK: code == "", Code: code, Latency: r.opts.Now().Sub(began), Rows: rows,
			Foreign: foreign(owner, who.Agent), RequestID: who.RequestID, Generation: c.Generation, Holder: r.holder(who),
		})
	}
}
