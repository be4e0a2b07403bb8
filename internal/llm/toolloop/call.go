package toolloop

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// start makes a call beside everything else.
func (s *session) start(ctx context.Context, c *call) {
	s.report.Calls++
	made, arguments := c.Call, json.RawMessage(c.arguments.String())
	s.workers.Go(func() {
		result := s.invoke(ctx, made.Name, arguments)
		s.tell(note{call: c, result: s.render(&made, result)})
	})
}

// tell reaches conduct, unless that has failed.
func (s *session) tell(n note) {
	select {
	case s.notes <- n:
	case <-s.over:
	}
}

// invoke goes through the door. The door recovers what its tools do; its own
// panic fails the call alone, and the call's end is told all the same.
func (s *session) invoke(ctx context.Context, name string, arguments json.RawMessage) (result tools.Result) {
	var begun *registry.Event // without its end
	step := func(e registry.Event) {
		if begun = &e; e.Type == registry.EventToolResult {
			begun = nil
			e.Result = s.bounded(e.Result)
		}
		s.tell(note{step: &e})
	}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		s.log.Error("a call panicked", "tool", truncate.Fit(name, maxName), "panic", p, "stack", string(debug.Stack()))
		result = tools.Result{Error: &tools.Error{Code: tools.CodeInternal, Message: "the call failed inside", Hint: "the log has more"}}
		if begun != nil {
			step(registry.Event{Type: registry.EventToolResult, CallID: begun.CallID, Tool: begun.Tool, Result: &result})
		}
	}()
	return s.loop.Door.Invoke(ctx, registry.Call{Name: name, Arguments: arguments, Scope: s.scope, Events: step})
}

// bounded is a result as events show it: what is too large for the model is
// too large to wait for a slow client.
func (s *session) bounded(r *tools.Result) *tools.Result {
	if r == nil || len(r.Result) <= s.limits.ResultBytes {
		return r
	}
	small := *r
	small.Result = overview(r.Result, s.limits.ResultBytes)
	return &small
}

// render is the result as the model sees it.
func (s *session) render(c *chat.Call, r tools.Result) *chat.CallResult {
	result := s.rendered(c, r)
	if result == nil {
		result = Render(c, r, s.limits.ResultBytes)
	}
	result.ID, result.Name = c.ID, c.Name
	return result
}

// rendered asks the loop's own renderer, if it has one that works.
func (s *session) rendered(c *chat.Call, r tools.Result) (result *chat.CallResult) {
	if s.loop.Render == nil {
		return nil
	}
	defer s.recovered(fmt.Sprintf("the renderer of %s", truncate.Fit(c.Name, maxName)), func(error) { result = nil })
	return s.loop.Render(c, r)
}
