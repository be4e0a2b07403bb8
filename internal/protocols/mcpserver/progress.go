package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// EventKey is the _meta key of a progress notification with a step of an agent that works
// for the call: an object with the fields of the events over HTTP.
const EventKey = "spiced/event"

// Limits of notifications.
const (
	maxSteps    = 256     // steps that wait for a slow client; then pieces of answers are left out
	maxStepPart = 4 << 10 // bytes of a text, arguments or a result
)

// progress sends progress notifications to a client that requested them, until stop: one at
// the start, the seconds elapsed, and the steps of agents that work for the call, which
// observe takes.
func (s *Server) progress(ctx context.Context, req *mcp.CallToolRequest,
	scope tools.Scope,
) (observe func(registry.Event), stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil || !s.known(req.Params.Name, scope) { // an error needs no progress
		return nil, func() {}
	}
	n := &notifier{
		session: req.Session, token: token, name: truncate.Ellipsis(req.Params.Name, maxShown),
		last: -1, steps: make(chan registry.Event, maxSteps), done: make(chan struct{}),
	}
	n.notify(ctx, 0, n.name+" begins", nil)
	var running sync.WaitGroup
	running.Go(func() { n.run(ctx) })
	return func(e registry.Event) { n.observe(ctx, e) }, func() {
		close(n.done)
		running.Wait()
	}
}

// notifier sends the notifications of one call.
type notifier struct {
	session *mcp.ServerSession
	token   any
	name    string
	last    int // thousandths of seconds: each notification has more than the one before
	steps   chan registry.Event
	done    chan struct{} // closed when the call has ended, and with it all steps
}

// observe takes an event of the call. Several goroutines may call it.
func (n *notifier) observe(ctx context.Context, e registry.Event) {
	if e.AgentStep == nil {
		return
	}
	if e.Type == registry.EventAgentChunk {
		select {
		case n.steps <- e:
		default:
		}
		return
	}
	select {
	case n.steps <- e:
	case <-ctx.Done():
	}
}

func (n *notifier) run(ctx context.Context) {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for seconds := 1; ; {
		select {
		case <-n.done:
			n.rest(ctx)
			return
		case <-ctx.Done():
			return
		case e := <-n.steps:
			n.step(ctx, e)
		case <-tick.C:
			n.notify(ctx, 1000*seconds, fmt.Sprintf("%s has run for %d s", n.name, seconds), nil)
			seconds++
		}
	}
}

// rest sends the steps that wait at the end of the call.
func (n *notifier) rest(ctx context.Context) {
	for {
		select {
		case e := <-n.steps:
			n.step(ctx, e)
		default:
			return
		}
	}
}

func (n *notifier) step(ctx context.Context, e registry.Event) {
	n.notify(ctx, n.last, said(e), mcp.Meta{EventKey: stepOf(e)})
}

// notify sends a notification after so many thousandths of seconds, or the next one: the
// protocol requires that the progress grows.
func (n *notifier) notify(ctx context.Context, thousandths int, message string, meta mcp.Meta) {
	n.last = max(thousandths, n.last+1)
	// It is no fault if the client has disconnected.
	_ = n.session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		Meta: meta, ProgressToken: n.token,
		Progress: float64(n.last) / 1000, Message: message,
	})
}

// said is a step as a line for people.
func said(e registry.Event) string {
	text := ""
	switch e.Type {
	case registry.EventAgentStart:
		text = "begins: " + e.Text
	case registry.EventAgentChunk:
		text = "says: " + e.Text
	case registry.EventAgentToolCall:
		text = "calls " + e.Tool
	case registry.EventAgentToolResult:
		text = e.Tool + " " + outcome(e.Result)
	default:
		text = "has ended: " + outcome(e.Result)
	}
	return truncate.Ellipsis(e.Agent+" "+strings.Join(strings.Fields(text), " "), maxShown)
}

func outcome(r *tools.Result) string {
	switch {
	case r == nil:
		return ""
	case r.Error != nil:
		return "failed: " + r.Error.Message
	}
	return "succeeded"
}

// stepOf is a step as an object.
func stepOf(e registry.Event) map[string]any {
	step := map[string]any{
		"type": e.Type, "agent": e.Agent, "depth": e.Depth, "call_id": e.CallID,
		"parent_call_id": e.ParentCallID,
	}
	if e.Tool != "" {
		step["tool"] = truncate.Ellipsis(e.Tool, maxShown)
	}
	if e.Text != "" {
		step["text"] = truncate.Bytes(e.Text, maxStepPart)
	}
	if len(e.Arguments) > 0 {
		step["arguments"] = boundedValue(e.Arguments)
	}
	if r := e.Result; r != nil {
		step["ok"], step["latency_ms"] = r.OK, r.Metrics.LatencyMS
		if len(r.Result) > 0 {
			step["result"] = boundedValue(r.Result)
		}
		if r.Error != nil {
			step["error"] = map[string]any{"code": r.Error.Code, "message": truncate.Bytes(r.Error.Message, maxStepPart)}
		}
	}
	return step
}

// boundedValue is a value, or the beginning of its text if it is long or no JSON.
func boundedValue(value json.RawMessage) any {
	if len(value) <= maxStepPart && json.Valid(value) {
		return value
	}
	return truncate.Bytes(string(value), maxStepPart)
}
