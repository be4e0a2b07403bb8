package sqlapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/registry"
)

// headerEvents asks for the calls of the runtime's tools in addition to an answer.
const (
	headerEvents  = "X-Spiced-Events"
	eventsInclude = "include"
)

var eventsParam = param{
	headerEvents, "header", "include: the answer also reports calls of the runtime's tools",
	oneOf(eventsInclude),
}

func includesEvents(r *http.Request) bool {
	return strings.EqualFold(strings.TrimSpace(r.Header.Get(headerEvents)), eventsInclude)
}

// callEvent is a step of a tool's call, or of an agent that works for one, as clients see it.
type callEvent struct {
	CallID    string          `json:"call_id,omitempty" doc:"Of all but a response_end."`
	Tool      string          `json:"tool,omitempty" doc:"Of events of calls."`
	Arguments json.RawMessage `json:"arguments,omitempty" doc:"Of a tool_call, an agent_tool_call and an approval_required."`
	*callOutcome
	*agentStep
	*approvalStep
	*responseEnd
	Truncated bool `json:"truncated,omitempty" doc:"The arguments, the result or the text are truncated, as text."`
}

// agentStep is what events of agents that work for another one have besides.
type agentStep struct {
	Agent        string `json:"agent" doc:"Of events of agents: the one that works."`
	Depth        int    `json:"depth" doc:"How deep the task was delegated, from 1."`
	ParentCallID string `json:"parent_call_id" doc:"The call that the agent, or the call of it, belongs to."`
	Text         string `json:"text,omitempty" doc:"Of an agent_start, the task; of an agent_chunk, a piece of the answer."`
}

// approvalStep is what approval_required has besides.
type approvalStep struct {
	ApprovalID string    `json:"approval_id" doc:"Of an approval_required: see /v1/approvals/{id}."`
	ExpiresAt  time.Time `json:"expires_at"`
	MayDecide  bool      `json:"may_decide" doc:"Whether the client may decide itself: no keys are needed."`
}

// responseEnd is what response_end has.
type responseEnd struct {
	Round int            `json:"round" doc:"Of a response_end: which answer of the model it is, from 1."`
	Usage *responseUsage `json:"usage"`
}

// responseUsage is the tokens of one answer, which the usage of a chat sums up.
type responseUsage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_tokens" doc:"Of the input."`
	CacheWrite int64 `json:"cache_write_tokens" doc:"Of the input."`
}

// callOutcome is what tool_result has besides.
type callOutcome struct {
	OK        bool            `json:"ok" doc:"Of a tool_result, an agent_tool_result and an agent_end."`
	Result    json.RawMessage `json:"result,omitempty" doc:"Of one that is ok."`
	Error     *callFault      `json:"error,omitempty"`
	LatencyMS float64         `json:"latency_ms" doc:"As ok."`
}

type callFault struct {
	Code    errcode.Code `json:"code"`
	Message string       `json:"message"`
}

func newCallEvent(e *registry.Event) callEvent {
	c := callEvent{CallID: e.CallID, Tool: truncate.Ellipsis(e.Tool, maxShown)}
	c.Arguments = c.bounded(e.Arguments)
	if a := e.AgentStep; a != nil {
		c.agentStep = &agentStep{a.Agent, a.Depth, a.ParentCallID, truncate.Bytes(a.Text, maxEventPart)}
		c.Truncated = c.Truncated || len(a.Text) > maxEventPart
	}
	if p := e.Approval; p != nil {
		c.approvalStep = &approvalStep{p.ID, p.ExpiresAt, e.MayDecide}
	}
	if r := e.Result; r != nil {
		c.callOutcome = &callOutcome{OK: r.OK, Result: c.bounded(r.Result), LatencyMS: r.Metrics.LatencyMS}
		if r.Error != nil {
			c.Error = &callFault{r.Error.Code, truncate.Bytes(r.Error.Message, maxEventPart)}
		}
	}
	return c
}

// eventResponseEnd is the end of one answer of the model. A call that was reported before it began
// while the model still answered.
const eventResponseEnd registry.EventType = "response_end"

// eventOf returns the event of a chat that is no delta, with its type.
func eventOf(e toolloop.Event) typedCallEvent {
	if r := e.Response; r != nil {
		u := &responseUsage{r.Usage.Input, r.Usage.Output, r.Usage.CacheRead, r.Usage.CacheWrite}
		return typedCallEvent{eventResponseEnd, callEvent{responseEnd: &responseEnd{r.Round, u}}}
	}
	return typedCallEvent{e.Tool.Type, newCallEvent(e.Tool)}
}

// bounded is a value, or the beginning of its text when it is long. What a
// model wrote need not be JSON.
func (c *callEvent) bounded(value json.RawMessage) json.RawMessage {
	if len(value) <= maxEventPart && (len(value) == 0 || json.Valid(value)) {
		return value
	}
	c.Truncated = c.Truncated || len(value) > maxEventPart
	text, _ := json.Marshal(truncate.Bytes(string(value), maxEventPart)) // a string always can be
	return text
}

// callEvents are those of an answer that is no stream.
type callEvents struct {
	list    []typedCallEvent
	dropped bool // there were more than maxEvents
}

type typedCallEvent struct {
	Type registry.EventType `json:"type" enum:"tool_call,tool_result,response_end,approval_required,agent_start,agent_chunk,agent_tool_call,agent_tool_result,agent_end"`
	callEvent
}

func (c *callEvents) add(e toolloop.Event) {
	if len(c.list) == maxEvents {
		c.dropped = true
		return
	}
	c.list = append(c.list, eventOf(e))
}

// into adds the events to an answer, which is a JSON object that is not empty.
func (c *callEvents) into(body []byte) ([]byte, error) {
	if c.list == nil {
		c.list = []typedCallEvent{}
	}
	events, err := json.Marshal(c.list)
	if err != nil {
		return nil, fmt.Errorf("encode the events: %w", err)
	}
	body = bytes.TrimSuffix(bytes.TrimSpace(body), []byte{'}'})
	return fmt.Appendf(body, `,"spiced_events":%s}`, events), nil
}
