package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/access/approval"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// Without keys, the person at a client that can ask (elicitation) decides about calls that
// need approval. Clients of revision 2026-07-28 get the question as a result and repeat the
// call with the answer; others are asked while the call waits.

// questionID is the id of the question in a result.
const questionID = "approval"

// maxShownArguments is the size of arguments in a question; the approval has all of them.
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
func (a asker) asking(ctx context.Context, req *mcp.CallToolRequest, scope tools.Scope, call func(context.Context) tools.Result) (r tools.Result, open *mcp.CallToolResult) {
	if !elicits(req.ClientCapabilities()) || !a.registry.DecidesOwn(scope.Caller) {
		return call(ctx), nil
	}
	ctx = registry.WithAsking(ctx)
	if answer, ok := req.Params.InputResponses[questionID].(*mcp.ElicitResult); ok {
		a.decide(ctx, req.Params.RequestState, answer, scope)
		return call(ctx), nil
	}
	r = call(ctx)
	if r.Error == nil || r.Error.NeedsApproval == nil {
		return r, nil
	}
	if req.ProtocolVersion() >= sessionless {
		return r, &mcp.CallToolResult{
			InputRequests: mcp.InputRequestMap{questionID: question(r.Error)}, RequestState: r.Error.ApprovalID,
		}
	}
	answer, err := req.Session.Elicit(ctx, question(r.Error))
	if err != nil { // the client has left, or cannot ask after all
		return r, nil
	}
	a.decide(ctx, r.Error.ApprovalID, answer, scope)
	return call(ctx), nil
}

// decide takes an answer over. If that fails, as when someone else has decided meanwhile, the
// call that follows says what counts.
func (a asker) decide(ctx context.Context, id string, answer *mcp.ElicitResult, scope tools.Scope) {
	d := approval.Decision{Decision: approval.Deny}
	switch {
	case answer.Action == "accept" && answer.Content["approve"] == true:
		d.Decision = approval.Approve
	case answer.Action != "accept" && answer.Action != "decline":
		return // closed without a decision
	}
	if err := a.registry.Decide(ctx, id, d, scope.Caller); err != nil {
		a.log.Debug("a decision about a call was not taken", "approval", id, "error", err)
	}
}

// question asks about a call that needs approval.
func question(e *tools.Error) *mcp.ElicitParams {
	return &mcp.ElicitParams{
		Mode:            "form",
		Message:         fmt.Sprintf("Run %s with %s?", e.WouldRun.Tool, truncate.Ellipsis(string(e.WouldRun.Arguments), maxShownArguments)),
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"approve":{"type":"boolean","title":"Approve","description":"Whether the call may run, once."}},"required":["approve"]}`),
	}
}
