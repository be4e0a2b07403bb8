package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spiced-sql/spiced/internal/access/approval"
	"github.com/spiced-sql/spiced/internal/access/availability"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/activity"
	"github.com/spiced-sql/spiced/tools"
)

// Approvals is how calls are approved in a generation.
type Approvals struct {
	Limits approval.Limits
	Wait   time.Duration // how long a call waits for the decision
}

// gated is a tool or function whose calls may require approval.
type gated struct {
	rule *availability.Rule
	tool *availability.Tool
}

// gates are the tools and functions of a catalog whose calls may require approval.
type gates struct {
	tools     map[*entry]*gated
	functions map[string]*gated // by folded name
}

func newGates(c *Catalog) gates {
	g := gates{map[*entry]*gated{}, map[string]*gated{}}
	for _, e := range c.entries {
		t := aboutTool(e.def)
		if rule := c.Availability.Policy.Approval(t); rule != nil {
			g.tools[e] = &gated{rule, t}
		}
	}
	for _, f := range c.Availability.Functions {
		if rule := c.Availability.Policy.Approval(f); rule != nil {
			g.functions[fold(f.Name)] = &gated{rule, f}
		}
	}
	return g
}

// requires reports whether a call of the caller requires approval. A failure of the
// expression is logged once.
func (c *Catalog) requires(g *gated, who caller.Caller) bool {
	required, err := g.rule.Requires(availability.ContextOf(who, c.visibility.Now()), g.tool)
	if err != nil && c.visibility.Log != nil {
		if _, logged := c.visibility.failed.LoadOrStore("approval\x00"+g.rule.Declared+"\x00"+g.rule.Text, true); !logged {
			c.visibility.Log.Warn("an expression of requires_approval fails, so that calls require approval", "of",
				g.rule.Declared, "tool", g.tool.Name, "error", err)
		}
	}
	return required
}

// GatesFunction reports whether statements of some callers may not call a declared function,
// because it requires approval.
func (c *Catalog) GatesFunction(name string) bool { return c.gates.functions[fold(name)] != nil }

// GatesFrom returns which declared functions require approval of the caller of a statement;
// nil: none.
func (c *Catalog) GatesFrom(ctx context.Context) func(function string) bool {
	if len(c.gates.functions) == 0 {
		return nil
	}
	who := statementScope(ctx).Caller
	return func(name string) bool {
		g := c.gates.functions[fold(name)]
		return g != nil && c.requires(g, who)
	}
}

// Approvals returns the approvals of calls.
func (r *Registry) Approvals() *approval.Store { return r.opts.Approvals }

// noKeys are the keys of a registry without them.
type noKeys struct{}

func (noKeys) Enabled() bool        { return false }
func (noKeys) Approver(string) bool { return false }

// Decide decides about the approval of a call. An error is an [*approval.Error], unless the
// decision could not be stored.
func (r *Registry) Decide(ctx context.Context, id string, d approval.Decision, who caller.Caller) error {
	_, err := r.opts.Approvals.Decide(ctx, r.opts.Keys(), id, d, who)
	return err
}

// DecidesOwn reports whether a caller may decide about its own calls.
func (r *Registry) DecidesOwn(who caller.Caller) bool {
	return approval.MayDecide(r.opts.Keys(), who, who.Principal) == nil
}

// Gates reports whether calls of some tools may require approval.
func (c *Catalog) Gates() bool { return len(c.gates.tools) > 0 }

type askingKey struct{}

// WithAsking returns a context for a caller that asks a person itself: calls that need
// approval, and calls that they make, do not wait for it.
func WithAsking(ctx context.Context) context.Context {
	return context.WithValue(ctx, askingKey{}, true)
}

type waitKey struct{}

// WithApprovalWait returns a context whose calls wait for approval at least as long, since
// somebody is there to decide.
func WithApprovalWait(ctx context.Context, wait time.Duration) context.Context {
	return context.WithValue(ctx, waitKey{}, wait)
}

// approve returns why the call may not run, or nil. If it needs an approval and has one, a
// must use it.
func (a *attempt) approve(ctx context.Context, in tools.Input) error {
	g := a.catalog.gates.tools[a.entry]
	if a.approval = ""; g == nil || a.used == a.entry.def.Checksum || !a.catalog.requires(g, a.call.Scope.Caller) {
		return nil
	}
	if a.call.Automatic {
		return tools.NewError(errcode.ApprovalRequired, a.entry.def.Name+
			" needs approval, which the runtime does not ask for", "")
	}
	if a.call.Scope.Caller.Protocol == caller.SQL { // its other calls may have run
		return tools.NewError(errcode.Refused,
			a.entry.def.Name+" requires approval, which a call in a statement cannot ask for",
			"call the tool itself, for example with POST /v1/tools/"+a.entry.def.Name+":invoke")
	}
	p, err := a.ask(ctx, in)
	if err != nil {
		return approvalError(err)
	}
	if p.Status == approval.Pending {
		if p, err = a.decided(ctx, p); err != nil {
			return err
		}
	}
	switch {
	case p.Status != approval.Approved:
		return refusal(p)
	case a.registry.Current() != a.catalog: // it may be another tool now
		return tools.ErrChanged
	}
	a.approval = p.ID
	return nil
}

// ask returns the approval of the call. A call that cannot run, because of its arguments, is
// not asked about.
func (a *attempt) ask(ctx context.Context, in tools.Input) (approval.Approval, error) {
	def := a.entry.def
	plan, err := a.planned(ctx, in)
	if err != nil {
		return approval.Approval{}, err
	}
	return a.registry.opts.Approvals.Ask(ctx, approval.Call{
		Tool: def.Name, Checksum: def.Checksum, Risk: def.Risk, Arguments: in.Raw, Caller: a.call.Scope.Caller,
		Plan: plan,
	}, a.catalog.Approvals.Limits)
}

// planTimeout limits a plan that is shown to approvers.
const planTimeout = 2 * time.Second

// planned is what the call would run; nil if that is not known. The error is about the
// arguments.
func (a *attempt) planned(ctx context.Context, in tools.Input) (json.RawMessage, error) {
	p, ok := a.entry.tool.(tools.Planner)
	if !ok {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	plan, err := p.Plan(a.within(ctx), in)
	switch e := (*tools.Error)(nil); {
	case errors.As(err, &e) && (e.Code == errcode.InvalidArguments || e.Code == errcode.Argument):
		return nil, e
	case err != nil:
		return nil, nil
	}
	return plan, nil
}

// decided reports a pending approval and waits for its decision, for as long as the Spicepod
// says.
func (a *attempt) decided(ctx context.Context, p approval.Approval) (approval.Approval, error) {
	if a.emit != nil && a.reported != p.ID {
		a.reported = p.ID
		a.emit(Event{
			Type: EventApprovalRequired, CallID: a.id, Tool: p.Tool, Arguments: p.Arguments, Approval: &p,
			MayDecide: a.registry.DecidesOwn(a.call.Scope.Caller),
		})
	}
	who, wait := a.call.Scope.Caller, a.patience(ctx)
	if wait <= 0 || ctx.Value(askingKey{}) != nil {
		return p, nil
	}
	waiting, entry := a.registry.opts.Activity.Begin(ctx, activity.Work{
		ID: a.id, Kind: activity.ToolCall, Owner: who.Owner(), Protocol: string(who.Protocol), Name: p.Tool,
	})
	defer entry.End()
	decided, err := a.registry.opts.Approvals.Await(waiting, p.ID, wait)
	switch {
	case err == nil:
		return decided, nil
	case waiting.Err() != nil:
		return p, a.ended(waiting, waiting, tools.Input{}, waiting.Err())
	}
	return p, approvalError(err)
}

// patience is how long the call may still wait.
func (a *attempt) patience(ctx context.Context) time.Duration {
	now := time.Now()
	if a.until.IsZero() {
		preferred, _ := ctx.Value(waitKey{}).(time.Duration)
		a.until = now.Add(max(preferred, a.catalog.Approvals.Wait))
	}
	return a.until.Sub(now)
}

// use uses the approval of the call, if it has one. What returns nil may run.
func (a *attempt) use(ctx context.Context, in tools.Input) error {
	if a.approval == "" {
		return nil
	}
	used, err := a.registry.opts.Approvals.Use(ctx, a.approval, a.call.Scope.Caller)
	if err != nil {
		return approvalError(err)
	}
	if used {
		a.used = a.entry.def.Checksum
		return nil
	}
	p, err := a.ask(ctx, in) // an equal call has used it
	if err != nil {
		return approvalError(err)
	}
	return refusal(p)
}

// refusal is the error of a call that is not approved.
func refusal(p approval.Approval) *tools.Error {
	if p.Status == approval.Denied {
		message := "the call was denied"
		if p.DecidedBy != "" {
			message += " by " + p.DecidedBy
		}
		if p.Note != "" {
			message += ": " + p.Note
		}
		return tools.NewError(errcode.ApprovalDenied, message, "do not repeat it with the same arguments")
	}
	if p.Status == approval.Expired {
		return tools.NewError(errcode.ApprovalRequired,
			fmt.Sprintf("the call did not run: approval %s expired before it was decided", p.ID),
			"call again to ask for another approval")
	}
	until := p.ExpiresAt.Truncate(time.Second).Format(time.RFC3339)
	e := tools.NewError(errcode.ApprovalRequired,
		fmt.Sprintf("the call did not run: a person has to approve it (%s) until %s", p.ID, until),
		"when it is approved, repeat the call with the same arguments")
	e.NeedsApproval = &tools.NeedsApproval{
		ApprovalID: p.ID, ExpiresAt: p.ExpiresAt,
		WouldRun: &tools.WouldRun{Tool: p.Tool, Arguments: p.Arguments, Plan: p.Plan},
	}
	return e
}

// approvalError is the error of a call whose approval could not be asked for or used.
func approvalError(err error) error {
	var e *approval.Error
	var own *tools.Error
	switch {
	case errors.As(err, &own):
		return own
	case !errors.As(err, &e):
		return &tools.Error{
			Code: errcode.Internal, Message: "the approval of the call cannot be stored",
			Hint: "the log has more", Cause: err,
		}
	case e.Large:
		return tools.NewError(errcode.Limit, e.Message, e.Hint)
	}
	return tools.NewError(errcode.Busy, e.Message, e.Hint)
}

func approvalRows(r reader) []row {
	var rows []row
	for _, a := range r.opts.Approvals.List(r.opts.Keys(), r.who) {
		rows = append(rows, row{
			"id": a.ID, "tool": a.Tool, "arguments": a.Arguments, "status": a.Status, "asked_by": textOrNull(a.AskedBy),
			"asked_at":   sqlTime(a.AskedAt),
			"expires_at": sqlTime(a.ExpiresAt), "risk": a.Risk, "checksum": a.Checksum, "user_id": textOrNull(a.UserID),
			"space_id": textOrNull(a.SpaceID),
			"agent":    textOrNull(a.Agent), "model": textOrNull(a.Model), "plan": jsonOrNull(a.Plan),
			"decided_by": textOrNull(a.DecidedBy),
			"decided_at": timeOrNull(a.DecidedAt), "used_at": timeOrNull(a.UsedAt), "note": textOrNull(a.Note),
		})
	}
	return rows
}

func timeOrNull(t *time.Time) any {
	if t == nil {
		return nil
	}
	return sqlTime(*t)
}
