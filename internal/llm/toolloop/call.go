package toolloop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/dialect"
)

// start runs a call in a separate goroutine.
func (s *session) start(ctx context.Context, c *call) {
	s.report.Calls++
	made, arguments := c.Call, dialect.Restore(c.names, json.RawMessage(c.arguments.String()))
	s.workers.Go(func() {
		result := s.invoke(ctx, made.Name, arguments)
		s.send(note{call: c, result: s.render(&made, result)})
	})
}

// send hands a note to conduct, or drops it when conduct has failed.
func (s *session) send(n note) {
	select {
	case s.notes <- n:
	case <-s.over:
	}
}

// invoke makes a call. The registry recovers panics of tools. A panic of the registry
// itself fails only this call, and the end of the call is still sent.
func (s *session) invoke(ctx context.Context, name string, arguments json.RawMessage) (result tools.Result) {
	var begun *registry.Event        // its end has not been sent
	step := func(e registry.Event) { // those of agents come from other goroutines
		switch e.Type {
		case registry.EventToolCall:
			begun = &e
		case registry.EventToolResult:
			begun = nil
		}
		e.Result = s.bounded(e.Result)
		s.send(note{step: &e})
	}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		s.log.Error("a call panicked", "tool", truncate.Fit(name, maxName), "panic", p, "stack", string(debug.Stack()))
		result = tools.Result{Error: &tools.Error{
			Code: errcode.Internal, Message: "internal error in the call",
			Hint: "see the log",
		}}
		if begun != nil {
			step(registry.Event{Type: registry.EventToolResult, CallID: begun.CallID, Tool: begun.Tool, Result: &result})
		}
	}()
	result = s.loop.Invoker.Invoke(ctx, registry.Call{Name: name, Arguments: arguments, Scope: s.scope, Events: step})
	if _, searches := s.offer.byName[registry.ToolSearch]; !searches {
		result.Error = unsearched(result.Error)
	}
	if registry.Reserved(name) { // those report the tool that they call
		return result
	}
	if t, offered := s.offer.byName[name]; offered && !t.client {
		result.Error = t.changed(vanished(name, "is no longer available", result.Error), result.Tool)
	} else if s.loop.Gone != nil && !offered {
		if what := s.loop.Gone(name); what != "" {
			result.Error = vanished(name, what, result.Error)
		}
	}
	return result
}

// unsearched replaces the hint to search for a tool, for a model that has no search.
func unsearched(e *tools.Error) *tools.Error {
	if e == nil || e.Hint != registry.SearchHint {
		return e
	}
	shown := *e
	shown.Hint = "call one of the tools that you were given"
	return &shown
}

// maxSchema limits the schema in an error, in bytes.
const maxSchema = 16 << 10

// changed adds to an error of arguments the parameters of the tool, if they are not those
// that the model was sent.
func (t traits) changed(e *tools.Error, def *tools.Definition) *tools.Error {
	if e == nil || e.Code != errcode.InvalidArguments || def == nil || bytes.Equal(t.parameters, def.Parameters) {
		return e
	}
	shown := *e
	shown.Hint = "the parameters of the tool have changed"
	if len(def.Parameters) <= maxSchema {
		shown.Hint += "; they are now " + string(def.Parameters)
	}
	return &shown
}

// vanished says what became of a tool which the model was offered and which is not there
// any more: the model knows of it.
func vanished(name, what string, e *tools.Error) *tools.Error {
	if e == nil || e.Code != errcode.ToolNotFound {
		return e
	}
	return tools.NewError(errcode.ToolUnavailable, fmt.Sprintf("the tool %q %s", truncate.Fit(name, maxName), what),
		"continue without it")
}

// bounded returns a result as events carry it. A result too large for the model would
// block a slow client too, so events carry its overview.
func (s *session) bounded(r *tools.Result) *tools.Result {
	if r == nil || len(r.Result) <= s.limits.ResultBytes {
		return r
	}
	small := *r
	small.Result = overview(r.Result, s.limits.ResultBytes)
	return &small
}

// render returns the result as the model sees it.
func (s *session) render(c *chat.Call, r tools.Result) *chat.CallResult {
	result := s.rendered(c, r)
	if result == nil {
		result = render(c, r, s.limits.ResultBytes, s.images)
	}
	result.ID, result.Name = c.ID, c.Name
	return result
}

// rendered calls [Loop.Render], if set; nil means the default.
func (s *session) rendered(c *chat.Call, r tools.Result) (result *chat.CallResult) {
	if s.loop.Render == nil {
		return nil
	}
	defer s.recovered(fmt.Sprintf("the renderer of %s", truncate.Fit(c.Name, maxName)), func(error) { result = nil })
	return s.loop.Render(c, r)
}
