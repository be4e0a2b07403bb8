package sqlapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/activity"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

const (
	verbInvoke = ":invoke"
	// headerTruncated is on a raw result that lacks rows, which its body cannot show.
	headerTruncated = "X-Spiced-Truncated"
)

// scoped is a handler that needs the registry and the caller's scope.
func (t *toolsHandler) scoped(h callerHandler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if t.registry == nil {
			return newError(codeNotServed, "", "tools are not served here")
		}
		who, err := callerOf(w, r, caller.HTTP)
		if err != nil {
			return err
		}
		nameGeneration(w, t.registry)
		return h(w, r, who)
	}
}

// invoke calls a tool with arguments in an envelope and answers with its
// Result.
func (t *toolsHandler) invoke(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	body, err := t.bodies.read(w, r, maxEnvelope)
	if err != nil {
		return err
	}
	c := registry.Call{Name: strings.TrimSuffix(r.PathValue("name"), verbInvoke), Scope: tools.Scope{Caller: who}}
	if err := decodeEnvelope(body, &c); err != nil {
		return err
	}
	if c.Scope.Caller, err = permitted(w, c.Scope.Caller); err != nil {
		return err
	}
	if acceptsEvents(r) {
		return t.stream(w, r, c)
	}
	if prefersAsync(r) && t.jobs != nil {
		if d, ok := t.registry.Defer(c); ok {
			return t.submit(w, r, c.Scope.Caller, d)
		}
	}
	result := t.call(w, r, c)
	if result.OK || ran(result.Error.Code) {
		body, err := result.MarshalJSON()
		if err != nil {
			return err
		}
		return writeBytes(w, "application/json", append(body, '\n'))
	}
	return uncalled(&result)
}

// submit answers a call with the job that it becomes.
func (t *toolsHandler) submit(w http.ResponseWriter, r *http.Request, who caller.Caller, d registry.Deferred) error {
	who.Protocol = caller.SQL
	job, err := t.jobs.Submit(query.Request{
		Request: d.Request, Caller: who, Protocol: query.Queries, Remote: r.RemoteAddr,
		Call: d.Function,
	})
	if err != nil {
		d.Refused()
		return err
	}
	w.Header().Set(headerPreferenceApplied, preferAsync)
	return accepted(w, job)
}

// uncalled is the error of a call that did not get to the tool. It makes the result one that
// may be sent.
func uncalled(result *tools.Result) error {
	e := callError(result.Error)
	shown := *result.Error
	shown.Code, shown.Message, shown.Hint = e.Code, e.Message, e.Hint
	shown.Retryable = shown.Retryable || e.retryable()
	result.Error = &shown
	e.body = *result
	return e
}

// mediaEvents is the media type of server-sent events.
const mediaEvents = "text/event-stream"

// acceptsEvents reports whether a client asks for a stream: it accepts one, and does not
// name JSON.
func acceptsEvents(r *http.Request) bool {
	events := false
	for part := range strings.SplitSeq(accept(r), ",") {
		media, params, err := mime.ParseMediaType(part)
		if q, failed := strconv.ParseFloat(params["q"], 64); err != nil || failed == nil && q == 0 {
			continue
		}
		if media == mediaJSON {
			return false
		}
		events = events || media == mediaEvents
	}
	return events
}

// stream calls a tool and answers with a stream: the events of agents that work for the
// call, if the client asks for them, and at last the result. Until something was sent, an
// error has a status.
func (t *toolsHandler) stream(w http.ResponseWriter, r *http.Request, c registry.Call) error {
	ctx, gone := context.WithCancelCause(r.Context())
	defer gone(nil)
	s := newSSE(w, t.keepAlive, gone)
	defer s.stop()
	if includesEvents(r) {
		c.Events = func(e registry.Event) {
			if e.AgentStep == nil {
				return // of this call
			}
			if data, err := json.Marshal(newCallEvent(&e)); err == nil {
				if err := s.event(string(e.Type), data); err != nil {
					gone(err)
				}
			}
		}
	}
	result := t.call(w, r.WithContext(ctx), c)
	if !result.OK && !ran(result.Error.Code) {
		if err := uncalled(&result); !s.stop() {
			return err
		}
	}
	body, err := result.MarshalJSON()
	if err != nil {
		return err
	}
	return s.last(func() error { return writeEvent(s, "result", body) })
}

// event sends an event.
func (s *sse) event(name string, data []byte) error {
	return s.send(func() error { return writeEvent(s, name, data) })
}

func writeEvent(w io.Writer, name string, data []byte) error {
	_, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, data)
	return err
}

// ran reports whether a failed call got to the tool, so that the failure is
// the tool's answer.
func ran(c errcode.Code) bool {
	switch c {
	case errcode.Parse, errcode.NotFound, errcode.Argument, errcode.Execution, errcode.Refused, errcode.InvalidResult:
		return true
	}
	return false
}

// resultError is an error of :invoke's own in the form of a Result.
func resultError(_ *http.Request, e *requestError) any {
	return tools.Result{Error: &tools.Error{Code: e.Code, Message: e.Message, Hint: e.Hint, Retryable: e.retryable()}}
}

// callBare calls a tool with the body as its arguments and answers with what
// it gave, as Spice does.
func (t *toolsHandler) callBare(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	scope := tools.Scope{Caller: who}
	var err error
	if scope.EmbeddingModel, err = t.embeddingModel(r.URL.Query().Get("embedding_model")); err != nil {
		return err
	}
	body, err := t.bodies.read(w, r, tools.MaxArguments)
	if err != nil {
		return err
	}
	name := r.PathValue("name")
	result := t.call(w, r, registry.Call{Name: name, Arguments: body, Scope: scope, DryRun: flag(r, "dry_run")})
	if !result.OK {
		return rawError(name, result)
	}
	if result.Rows != nil && result.Rows.Truncated {
		w.Header().Set(headerTruncated, "true")
	}
	return writeBytes(w, "application/json", result.Result)
}

// rawError has Spice's messages.
func rawError(name string, result tools.Result) error {
	e := callError(result.Error)
	switch {
	case e.Code == errcode.Internal:
	case result.Tool == nil:
		e.Message = "Tool '" + truncate.Ellipsis(name, maxShown) + "' not found"
	default:
		e.Message = "Error calling tool " + result.Tool.Name + ": " + e.Message
	}
	return e
}

func (t *toolsHandler) call(w http.ResponseWriter, r *http.Request, c registry.Call) tools.Result {
	result := t.registry.Invoke(r.Context(), c)
	if result.Tool != nil && t.log.Enabled(r.Context(), slog.LevelDebug) {
		note(w, slog.String("tool", result.Tool.Name))
	}
	return result
}

// callError is what is sent of a call or a search that failed.
func callError(failed *tools.Error) *requestError {
	e := &requestError{Code: failed.Code, Message: failed.Message, Hint: failed.Hint}
	if failed.NeedsApproval != nil {
		e.Approval = failed.ApprovalID
	}
	switch failed.Code {
	case errcode.Cancelled:
		if !errors.Is(failed, activity.ErrCancelled) {
			e.Code = errcode.ShuttingDown // a client that left gets no answer
		}
	case errcode.Internal:
		e.Message, e.Hint, e.cause = internalErrorMessage, "", failed
		if failed.Cause != nil {
			e.cause = failed.Cause
		}
	}
	return e
}
