package registry

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spiced-sql/spiced/internal/access/approval"
	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/tools"
)

// EventType is the type of an [Event].
type EventType string

// The events of a call, and those of the agents that work for it.
const (
	EventToolCall   EventType = "tool_call"
	EventToolResult EventType = "tool_result"

	// EventApprovalRequired: the call, or one that it makes, waits for a person. Approval.
	EventApprovalRequired EventType = "approval_required"

	EventAgentStart      EventType = "agent_start"       // Text: the task
	EventAgentChunk      EventType = "agent_chunk"       // Text: a piece of its answer
	EventAgentToolCall   EventType = "agent_tool_call"   // Tool, Arguments
	EventAgentToolResult EventType = "agent_tool_result" // Tool, Result
	EventAgentEnd        EventType = "agent_end"         // Result: the answer
)

// Event is a step of a call, for observers.
type Event struct {
	Type      EventType       `json:"type"`
	CallID    string          `json:"call_id"` // of the call; in events of agents, of the call of the agent or by it
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Result    *tools.Result   `json:"result,omitempty"`

	Approval  *approval.Approval `json:"approval,omitempty"`
	MayDecide bool               `json:"may_decide,omitempty"` // the caller may decide about Approval itself

	*AgentStep
}

// AgentStep is what events of agents have besides.
type AgentStep struct {
	Agent        string `json:"agent"`
	Depth        int    `json:"depth"`          // 1: it works for the agent or the client that was asked
	ParentCallID string `json:"parent_call_id"` // of the call that the agent works for
	Text         string `json:"text,omitempty"`
}

// Observer is who observes a call.
type Observer struct {
	CallID string      // of the call
	emit   func(Event) // nil: no one
	asks   func(Event) // gets EventApprovalRequired; nil: no one
}

// Observed reports whether someone gets the events.
func (o Observer) Observed() bool { return o.emit != nil }

// Emit sends an event of the agents that work for the call. Several goroutines may.
func (o Observer) Emit(e Event) {
	if o.emit != nil {
		o.emit(e)
	}
}

// RecordEvent records a step of an agent that works for the caller of a scope. Pieces of
// answers are not recorded.
func (r *Registry) RecordEvent(e Event, scope tools.Scope) {
	if r.opts.Usage == nil || e.AgentStep == nil || e.Type == EventAgentChunk {
		return
	}
	u := usage.Event{
		Type: string(e.Type), Agent: e.Agent, Depth: e.Depth, CallID: e.CallID, ParentCallID: e.ParentCallID, Tool: e.Tool,
		Text:      e.Text,
		Arguments: string(e.Arguments), RequestID: scope.RequestID, SessionID: scope.SessionID,
		Holder: r.holder(scope.Caller),
	}
	if x := e.Result; x != nil {
		u.OK, u.Result, u.Latency = &x.OK, string(x.Result), time.Duration(x.Metrics.LatencyMS*float64(time.Millisecond))
		if x.Error != nil {
			u.Code, u.Error = string(x.Error.Code), x.Error.Message
		}
	}
	r.opts.Usage.Event(u)
}

type observerKey struct{}

// ObserverOf returns the observer of the call for which ctx is.
func ObserverOf(ctx context.Context) Observer {
	o, _ := ctx.Value(observerKey{}).(Observer)
	return o
}
