package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/access/approval"
	"github.com/spiced-sql/spiced/internal/kit/visible"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// Without keys, the person at a client that can ask (elicitation) decides about calls that
// need approval. Clients of revision 2026-07-28 get the question as a result and repeat the
// call with the answer; others are asked while the call waits.

// questionID is the id of the question in a result.
const questionID = "approval"

// maxShownArguments is the most bytes of arguments in a question. No one is asked about longer
// ones: the approval has all of them.
const maxShownArguments = 2 << 10

// asker asks about calls of a registry.
type asker struct {
	registry *registry.Registry
	log      *slog.Logger
}

// elicits reports whether a client shows forms.
func elicits(c *mcp.ClientCapabilities) bool {
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// mayAsk reports whether the call of a message may have to ask the person at the client,
// which the SDK does.
func (a asker) mayAsk(sess *session, m *message) bool {
	if !a.registry.Current().Gates() {
		return false
	}
	if !m.alone() {
		p := sess.sdk.InitializeParams()
		return p != nil && elicits(p.Capabilities)
	}
	var meta params
	var capabilities *mcp.ClientCapabilities
	_ = json.Unmarshal(m.params["_meta"], &meta) // announced has decoded both
	_ = json.Unmarshal(meta[mcp.MetaKeyClientCapabilities], &capabilities)
	return elicits(capabilities)
}

// asking makes a call. If it needs approval and the person at the client may decide, it asks
// them; open is then a result that asks, for a client that repeats the call.
func (a asker) asking(ctx context.Context, req *mcp.CallToolRequest, scope tools.Scope,
	call func(context.Context) tools.Result,
) (r tools.Result, open *mcp.CallToolResult) {
	if !elicits(req.ClientCapabilities()) || !a.registry.DecidesOwn(scope.Caller) {
		return call(ctx), nil
	}
	ctx = registry.WithAsking(ctx)
	r = call(ctx)
	if r.Error == nil || r.Error.NeedsApproval == nil {
		return r, nil
	}
	ask := question(r.Error)
	if ask == nil {
		return r, nil
	}
	answer, answered := req.Params.InputResponses[questionID].(*mcp.ElicitResult)
	switch {
	case answered && req.Params.RequestState == r.Error.ApprovalID: // the question was about this call
	case req.ProtocolVersion() >= sessionless:
		return r, &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{questionID: ask}, RequestState: r.Error.ApprovalID}
	default:
		var err error
		if answer, err = req.Session.Elicit(ctx, ask); err != nil { // the client has left, or cannot ask after all
			return r, nil
		}
	}
	if !a.decide(ctx, r.Error.ApprovalID, answer, scope) {
		return r, nil
	}
	return call(ctx), nil
}

// decide takes an answer over, and reports whether it is one. If it cannot be taken, as when
// someone else has decided meanwhile, the call that follows says what counts.
func (a asker) decide(ctx context.Context, id string, answer *mcp.ElicitResult, scope tools.Scope) bool {
	var d approval.Decision
	switch approve, ok := answer.Content["approve"].(bool); {
	case answer.Action == "decline", answer.Action == "accept" && ok && !approve:
		d.Decision = approval.Deny
	case answer.Action == "accept" && ok:
		d.Decision = approval.Approve
	default:
		return false // closed, or filled in wrongly
	}
	if err := a.registry.Decide(ctx, id, d, scope.Caller); err != nil {
		a.log.Debug("a decision about a call was not taken", "approval", id, "error", err)
	}
	return true
}

// question asks about a call that needs approval; nil if its arguments are too long to be
// shown to their end.
func question(e *tools.Error) *mcp.ElicitParams {
	arguments := visible.Escape(string(e.WouldRun.Arguments))
	if len(arguments) > maxShownArguments {
		return nil
	}
	return &mcp.ElicitParams{
		Mode:            "form",
		Message:         fmt.Sprintf("Run %s with %s? (%s)", e.WouldRun.Tool, arguments, e.ApprovalID),
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"approve":{"type":"boolean","title":"Approve","description":"Whether the call may run, once."}},"required":["approve"]}`),
	}
}
