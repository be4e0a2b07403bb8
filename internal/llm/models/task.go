package models

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// task is one chat with an agent: that of a client, or one that another agent delegated. What
// it spends counts for the tasks that it is part of, too.
type task struct {
	of     *Model
	within *task         // nil: a client's, or that of a call by a model
	depth  int           // 0: not delegated
	slots  chan struct{} // one for each delegated task that runs

	reported bool // its events go to who observes the call that it works for

	// own are the tools of the task in place of those of the agent; nil: those of the agent.
	own []*registry.OwnTool

	tokens, calls, rounds atomic.Int64
}

type taskKey struct{}

// taskOf returns the task that ctx is for, or nil.
func taskOf(ctx context.Context) *task {
	t, _ := ctx.Value(taskKey{}).(*task)
	return t
}

// errAgentTimeout ends a task that takes longer than its limit.
var errAgentTimeout = errors.New("over the time limit of the agent")

// begin begins a chat. With an agent it is a task.
func (m *Model) begin(ctx context.Context) (_ context.Context, end func(), err error) {
	if err := m.unavailable(); err != nil || m.agent == nil {
		return ctx, func() {}, err
	}
	limits := m.agent.declared.Limits
	t := &task{of: m, within: taskOf(ctx), slots: make(chan struct{}, limits.Concurrency)}
	if t.within != nil {
		t.depth = t.within.depth + 1
	}
	for up := t.within; up != nil; up = up.within {
		if most := up.of.agent.declared.Limits.Depth; t.depth-up.depth > most {
			return nil, nil, &chat.Error{
				Code:    errcode.Limit,
				Message: fmt.Sprintf("agent %s delegates no deeper than %d (limits.depth)", up.of.info.Name, most),
			}
		}
	}
	if err := t.within.left(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeoutCause(context.WithValue(ctx, taskKey{}, t), limits.Timeout, errAgentTimeout)
	return ctx, cancel, nil
}

// late returns err, or that the agent took longer than its time limit, which caused it.
func (m *Model) late(ctx context.Context, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), errAgentTimeout) {
		return err
	}
	return &chat.Error{
		Code: errcode.Timeout, Cause: err,
		Message: fmt.Sprintf("agent %s took longer than %s, its time limit (limits.timeout)", m.info.Name,
			m.agent.declared.Limits.Timeout),
	}
}

// metrics is what the task took.
func (t *task) metrics(took time.Duration) TaskMetrics {
	x := TaskMetrics{LatencyMS: float64(took.Round(time.Microsecond)) / float64(time.Millisecond)}
	if t != nil {
		x.Rounds, x.Calls, x.Tokens = t.rounds.Load(), t.calls.Load(), t.tokens.Load()
	}
	return x
}

// spend counts the tokens of an answer. The error says that no further request may be sent.
func (t *task) spend(u chat.Usage) error {
	t.rounds.Add(1)
	for up := t; up != nil; up = up.within {
		up.tokens.Add(u.Input + u.Output)
	}
	return t.left()
}

// left returns an error if the tokens of the task, or of one that it is part of, are spent.
func (t *task) left() error {
	for up := t; up != nil; up = up.within {
		most := int64(up.of.agent.declared.Limits.Tokens)
		if spent := up.tokens.Load(); most > 0 && spent >= most {
			return &chat.Error{
				Code:    errcode.Limit,
				Message: fmt.Sprintf("agent %s has used %d tokens; its limit is %d (limits.tokens)", up.of.info.Name, spent, most),
			}
		}
	}
	return nil
}

// Invoke makes a call of the agent's model.
func (t *task) Invoke(ctx context.Context, c registry.Call) tools.Result {
	if t.own != nil {
		at := slices.IndexFunc(t.own, func(o *registry.OwnTool) bool { return o.Definition().Name == c.Name })
		if at < 0 {
			return tools.Result{Error: tools.NewError(errcode.ToolNotFound,
				fmt.Sprintf("there is no tool %q for this task", truncate.Runes(c.Name, maxShownName)), "")}
		}
		c.Own = t.own[at]
	} else {
		c.Own = t.of.own(c.Name, c.Scope)
	}
	if err := t.count(); err != nil {
		return tools.Result{Error: err}
	}
	return t.of.opts.Registry.Invoke(ctx, c)
}

var _ toolloop.Invoker = (*task)(nil)

// ownTools returns the tools of the task that ctx is for, as the model is sent them, and whether it has
// its own in place of those of the agent.
func (m *Model) ownTools(ctx context.Context) (list []toolloop.Tool, own bool) {
	t := taskOf(ctx)
	if t == nil || t.of != m || t.own == nil {
		return nil, false
	}
	return m.delegating(t.own), true
}

// count counts a call for the task and those that it is part of.
func (t *task) count() *tools.Error {
	for up := t; up != nil; up = up.within {
		most := int64(up.of.agent.declared.Limits.Calls)
		if n := up.calls.Add(1); most > 0 && n > most {
			return tools.NewError(errcode.Limit, fmt.Sprintf("agent %s has reached its limit of tool calls, %d (limits.calls)",
				up.of.info.Name, most), "answer with what is known")
		}
	}
	return nil
}
