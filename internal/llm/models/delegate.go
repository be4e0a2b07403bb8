package models

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// The tools of agents that delegate.
const (
	toolDelegate         = "delegate"
	toolDelegateParallel = "delegate_parallel"
)

// maxTasks is how many tasks one delegate_parallel takes.
const maxTasks = 64

// Delegated is the result of a delegated task.
type Delegated struct {
	Agent   string           `json:"agent"`
	OK      bool             `json:"ok"`
	Result  json.RawMessage  `json:"result,omitempty"` // the agent's answer: a text or, with returns, an object
	Error   *DelegationError `json:"error,omitempty"`
	Metrics TaskMetrics      `json:"metrics"`
}

// DelegationError is why a task failed.
type DelegationError struct {
	Code    errcode.Code `json:"code"`
	Message string       `json:"message"`
}

// TaskMetrics is what a task took, with everything that it delegated.
type TaskMetrics struct {
	LatencyMS float64 `json:"latency_ms"`
	Rounds    int64   `json:"rounds"` // of the agent itself
	Calls     int64   `json:"calls"`
	Tokens    int64   `json:"tokens"`
}

// assignment is a task for an agent, as models write it.
type assignment struct {
	Agent   string          `json:"agent"`
	Task    string          `json:"task"`
	Context json.RawMessage `json:"context,omitempty"`
}

// delegationDefinitions are those of delegate and delegate_parallel, in this order, with an
// owner. agents are the ones to delegate to, by name, and who describes them; without agents,
// any name is one.
func delegationDefinitions(owner string, agents []string, who string) [2]tools.Definition {
	agent := map[string]any{"type": "string", "description": "The agent that gets the task."}
	if len(agents) > 0 {
		agent["enum"] = agents
	}
	one := map[string]any{
		"type": "object", "required": []string{"agent", "task"}, "additionalProperties": false,
		"properties": map[string]any{
			"agent": agent,
			"task": map[string]any{
				"type": "string", "minLength": 1,
				"description": "What it should do, with all that it needs to know: it does not see this conversation.",
			},
			"context": map[string]any{"type": "object", "description": "Further data for the task."},
		},
	}
	many := map[string]any{
		"type": "object", "required": []string{"tasks"}, "additionalProperties": false,
		"properties": map[string]any{"tasks": map[string]any{
			"type": "array", "minItems": 1, "maxItems": maxTasks,
			"items": one,
		}},
	}
	define := func(name, description string, parameters any) tools.Definition {
		schema, _ := tools.Encode(parameters) // of maps, lists and texts
		return tools.Definition{
			Name: name, Description: description + who, Parameters: schema, Source: tools.SourceBuiltin, Owner: owner,
			Declared:    registry.BuiltIn,
			Annotations: tools.Annotations{OpenWorld: true},
		}
	}
	return [2]tools.Definition{
		define(toolDelegate, "Give a task to another agent, and wait for its answer.", one),
		define(toolDelegateParallel,
			"Give tasks that do not need each other's answers to other agents, which work at the same time, and wait for all "+
				"answers: one result for each task, in the same order.", many),
	}
}

// delegationTools returns the tools by which an agent delegates to these others. It is an
// error if the descriptions of the others are too long for the one of a tool.
func delegationTools(owner string, agents []*Model) (list []*registry.OwnTool, err error) {
	var names []string
	var who strings.Builder
	who.WriteString(" The agents are:")
	byName := map[string]*Model{}
	for _, other := range agents {
		names = append(names, other.info.Name)
		byName[other.info.Name] = other
		fmt.Fprintf(&who, "\n- %s: %s", other.info.Name, strings.Join(strings.Fields(other.info.Description), " "))
		for line := range strings.Lines(other.agent.use) {
			who.WriteString("\n  " + strings.TrimSpace(line))
		}
	}
	defs := delegationDefinitions(owner, names, who.String())
	one := func(ctx context.Context, in tools.Input) (tools.Output, error) {
		var a assignment
		if err := json.Unmarshal(in.Raw, &a); err != nil {
			return tools.Output{}, err
		}
		return tools.JSON(delegateAll(ctx, byName, []assignment{a}, in.Scope)[0])
	}
	many := func(ctx context.Context, in tools.Input) (tools.Output, error) {
		var all struct{ Tasks []assignment }
		if err := json.Unmarshal(in.Raw, &all); err != nil {
			return tools.Output{}, err
		}
		return tools.JSON(map[string]any{"results": delegateAll(ctx, byName, all.Tasks, in.Scope)})
	}
	for i, call := range []func(context.Context, tools.Input) (tools.Output, error){one, many} {
		tool, err := tools.New(defs[i], call)
		if err != nil {
			return nil, err
		}
		list = append(list, registry.NewOwnTool(tool))
	}
	return list, nil
}

// OwnedTools are delegate and delegate_parallel as the catalog lists them, if agents of the
// Spicepod delegate. Each of these has its own, whose schema names its agents; the listed ones
// do not, since a caller may not see them all. One agent is the owner; several have none but
// the runtime.
func OwnedTools(pod *spicepod.Pod) []registry.Owned {
	var agents []string
	declared := ""
	for i, a := range pod.Agents {
		if len(a.Agents) == 0 {
			continue
		}
		if agents = append(agents, a.Name); declared == "" {
			at := pod.At(fmt.Sprintf("agents[%d].agents", i))
			declared = fmt.Sprintf("%s:%d", at.File, at.Line)
		}
	}
	if len(agents) == 0 {
		return nil
	}
	owner := tools.OwnerRuntime
	if len(agents) == 1 {
		owner = agents[0]
	}
	var list []registry.Owned
	for _, def := range delegationDefinitions(owner, nil, "") {
		def.Declared = declared
		list = append(list, registry.Owned{Definition: registry.Must(tools.New(def, nil)).Definition(), Agents: agents})
	}
	return list
}

// delegateAll runs tasks at once, as many as the limit of the delegating task permits. One
// that fails ends no other one.
func delegateAll(ctx context.Context, agents map[string]*Model, list []assignment, scope tools.Scope) []Delegated {
	from, observer := taskOf(ctx), registry.ObserverOf(ctx)
	results := make([]Delegated, len(list))
	var running sync.WaitGroup
	for i, a := range list {
		running.Go(func() {
			select {
			case from.slots <- struct{}{}:
				defer func() { <-from.slots }()
			case <-ctx.Done():
			}
			w := work{agent: agents[a.Agent], id: observer.CallID + "." + strconv.Itoa(i+1), observer: observer}
			results[i] = w.do(ctx, taskText(a.Task, a.Context), scope)
		})
	}
	running.Wait()
	return results
}

// work is a task of an agent that works for a call.
type work struct {
	agent    *Model
	id       string // of the call of the agent
	observer registry.Observer
	scope    tools.Scope // of who asked
	records  bool        // it records its events: no task that contains it does

	own []*registry.OwnTool // of the task; nil: those of the agent
}

// do runs the task and reports its steps to the observer of the call.
func (w work) do(ctx context.Context, text string, scope tools.Scope) Delegated {
	began := time.Now()
	within := taskOf(ctx)
	step := w.step(within)
	w.scope, w.records = scope, within == nil || !within.reported || !w.observer.Observed()
	w.emit(spicepod.EventsTools, registry.Event{Type: registry.EventAgentStart, CallID: w.id}, step, text)
	answer, t, err := w.chat(ctx, text, scope, step)
	d := Delegated{Agent: w.agent.info.Name, OK: err == nil, Result: answer, Metrics: t.metrics(time.Since(began))}
	if err != nil {
		e := chat.AsError(err)
		d.Result, d.Error = nil, &DelegationError{e.Code, e.Message}
	}
	w.emit(spicepod.EventsTools,
		registry.Event{Type: registry.EventAgentEnd, CallID: w.id, Result: d.asResult()}, step, "")
	return d
}

// chat has the chat with the agent. It returns the answer, a text or an object, and the task
// unless it did not begin.
func (w work) chat(ctx context.Context, text string, scope tools.Scope,
	step registry.AgentStep,
) (json.RawMessage, *task, error) {
	ctx, end, err := w.agent.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	t, r := taskOf(ctx), w.agent.agent.returns
	t.reported, t.own = true, w.own
	request := &chat.Request{Model: w.agent.info.Name, Messages: []chat.Message{chat.Text(chat.RoleUser, r.asked(text))}}
	if r != nil {
		request.Settings.Format = r.format
	}
	answer, err := w.ask(ctx, request, scope, step)
	if err != nil {
		return nil, t, err
	}
	if r == nil {
		encoded, err := tools.Encode(answer)
		return encoded, t, err
	}
	object, faults := r.read(answer)
	if faults == "" {
		return object, t, nil
	}
	if err := t.left(); err != nil {
		return nil, t, err
	}
	request = request.Clone()
	request.Messages = append(request.Messages, chat.Text(chat.RoleAssistant, cmp.Or(answer, "{}")),
		chat.Text(chat.RoleUser, again(faults)))
	request.Choice = chat.Choice{Mode: chat.ChoiceNone}
	if answer, err = w.ask(ctx, request, scope, step); err != nil {
		return nil, t, err
	}
	if object, faults = r.read(answer); faults != "" {
		return nil, t, unanswered(w.agent.info.Name, faults)
	}
	return object, t, nil
}

// ask returns the text of the answer to a request.
func (w work) ask(ctx context.Context, request *chat.Request, scope tools.Scope,
	step registry.AgentStep,
) (string, error) {
	var answer chat.Collector
	for e, err := range w.agent.answer(ctx, request, scope) {
		if err != nil {
			return "", err
		}
		w.observe(e, step)
		if e.Kind == chat.DeltaRound {
			answer = chat.Collector{} // the answer is the text after the last calls
		}
		answer.Add(e.Delta)
	}
	message := answer.Response().Message()
	return message.Text(), nil
}

// step returns what all events of the work have; within is the delegating task, or nil.
func (w work) step(within *task) registry.AgentStep {
	s := registry.AgentStep{Agent: w.agent.info.Name, Depth: 1, ParentCallID: w.observer.CallID}
	if within != nil {
		s.Depth = within.depth + 1
	}
	return s
}

// observe reports a step of the agent's chat.
func (w work) observe(e toolloop.Event, step registry.AgentStep) {
	switch {
	case e.Tool == nil && e.Kind == chat.DeltaText:
		w.emit(spicepod.EventsAll, registry.Event{Type: registry.EventAgentChunk, CallID: w.id}, step, e.Text)
	case e.Tool == nil:
	case e.Tool.AgentStep != nil: // of an agent that works for this one
		if w.agent.agent.declared.Events != spicepod.EventsNone || e.Tool.Type == registry.EventApprovalRequired {
			w.send(*e.Tool)
		}
	case e.Tool.Type == registry.EventApprovalRequired: // a person has to know, whatever the agent shows
		own := *e.Tool
		step.ParentCallID = w.id
		own.AgentStep = &step
		w.send(own)
	default:
		own := *e.Tool
		own.Type = map[registry.EventType]registry.EventType{
			registry.EventToolCall: registry.EventAgentToolCall, registry.EventToolResult: registry.EventAgentToolResult,
		}[own.Type]
		step.ParentCallID = w.id
		w.emit(spicepod.EventsTools, own, step, "")
	}
}

// emit sends an event if the agent shows those of the kind.
func (w work) emit(kind spicepod.AgentEvents, e registry.Event, step registry.AgentStep, text string) {
	shown := w.agent.agent.declared.Events
	if shown == spicepod.EventsNone || kind == spicepod.EventsAll && shown != spicepod.EventsAll {
		return
	}
	step.Text = text
	e.AgentStep = &step
	w.send(e)
}

// send sends an event to who observes the call, and records it.
func (w work) send(e registry.Event) {
	if w.records {
		w.agent.opts.Registry.RecordEvent(e, w.scope)
	}
	w.observer.Emit(e)
}

// Work gives a task to an agent, for the call that ctx is for, whose observer gets its steps. The agent
// has the tools of own in place of its own ones, for this task. It returns the answer: a text or, of an
// agent with returns, an object. An error is a [*tools.Error].
func (s *Set) Work(ctx context.Context, agent, text string, own []tools.Tool, scope tools.Scope) (
	json.RawMessage, error,
) {
	m := s.get(agent)
	if m == nil || m.agent == nil {
		return nil, tools.NewError(errcode.ToolUnavailable, "the agent is not served", "")
	}
	observer := registry.ObserverOf(ctx)
	w := work{agent: m, id: observer.CallID + ".1", observer: observer, own: []*registry.OwnTool{}}
	for _, t := range own {
		w.own = append(w.own, registry.NewOwnTool(t))
	}
	d := w.do(ctx, text, scope)
	if d.Error != nil {
		return nil, tools.NewError(d.Error.Code, d.Error.Message, "")
	}
	return d.Result, nil
}

// asResult is the result as the result of a call.
func (d Delegated) asResult() *tools.Result {
	r := &tools.Result{OK: d.OK, Metrics: tools.Metrics{LatencyMS: d.Metrics.LatencyMS}}
	if d.Error != nil {
		r.Error = tools.NewError(d.Error.Code, d.Error.Message, "")
	} else {
		r.Result = d.Result
	}
	return r
}

// Agents are the agents as tools. They are made before the set of models, which they reach
// once it is.
type Agents struct{ set atomic.Pointer[Set] }

func (a *Agents) use(s *Set) {
	if a != nil {
		a.set.Store(s)
	}
}

// agentArguments are the arguments of an agent as a tool.
type agentArguments struct {
	Task    string         `json:"task" doc:"What the agent should do, with all that it needs to know."`
	Context map[string]any `json:"context,omitempty" doc:"Further data for the task."`
}

// AgentAnswer is the result of an agent as a tool, unless the agent has returns.
type AgentAnswer struct {
	Text  json.RawMessage `json:"text"`
	Usage TaskMetrics     `json:"usage"`
}

// Tools returns the agents of a Spicepod as tools.
func (a *Agents) Tools(pod *spicepod.Pod) ([]tools.Tool, error) {
	list := make([]tools.Tool, 0, len(pod.Agents))
	for i, declared := range pod.Agents {
		at := pod.At(fmt.Sprintf("agents[%d]", i))
		var schema json.RawMessage
		if r, err := returnsOf(declared); r != nil && err == nil { // an error is reported with the model
			schema = r.raw
		}
		tool, err := tools.Typed(tools.Definition{
			Name: declared.Name, Returns: schema, Description: declared.Description, Source: tools.SourceAgent,
			Document:       tools.DocumentOf(declared.Use(), pod.Runtime.Tools.Documents),
			Declared:       fmt.Sprintf("%s:%d", at.File, at.Line),
			Annotations:    tools.Annotations{OpenWorld: true},
			Limits:         &tools.Limits{Timeout: declared.Limits.Timeout + time.Second}, // the agent's own limit says more
			Implementation: spicepod.Fingerprint(declared),
		}, func(ctx context.Context, args agentArguments, in tools.Input) (agentOutput, error) {
			return a.answer(ctx, declared.Name, args, in.Scope)
		})
		if err != nil {
			return nil, err
		}
		list = append(list, tool)
	}
	return list, nil
}

// answer runs a task of an agent for a call of its tool.
func (a *Agents) answer(ctx context.Context, name string, args agentArguments, scope tools.Scope) (agentOutput, error) {
	m, err := a.set.Load().Model(name)
	var fault *chat.Error
	if errors.As(err, &fault) {
		return agentOutput{}, tools.NewError(fault.Code, fault.Message, "")
	}
	context, err := tools.Encode(args.Context)
	if err != nil {
		return agentOutput{}, err
	}
	observer := registry.ObserverOf(ctx)
	d := work{agent: m, id: observer.CallID + ".1", observer: observer}.do(ctx, taskText(args.Task, context), scope)
	switch {
	case d.Error != nil:
		return agentOutput{}, tools.NewError(d.Error.Code, d.Error.Message, "")
	case m.agent.returns != nil:
		used := d.Metrics
		return agentOutput{Value: d.Result, Usage: &tools.Usage{Rounds: used.Rounds, Calls: used.Calls, Tokens: used.Tokens}},
			nil
	}
	text, err := tools.Encode(AgentAnswer{d.Result, d.Metrics})
	return agentOutput{Value: text}, err
}

// agentOutput is the output of an agent as a tool.
type agentOutput tools.Output

// Output returns it.
func (o agentOutput) Output() (tools.Output, error) { return tools.Output(o), nil }
