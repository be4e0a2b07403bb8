package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/memory"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/peers/peermeta"
	"github.com/spiced-sql/spiced/tools"
)

// TraceKey is the _meta key under which a call carries its request id. It is
// the same in every version of the runtime.
const TraceKey = peermeta.Trace

// tool is a server's tool.
type tool struct {
	def  *tools.Definition
	name string // the name at the server
	link *link

	wrapped bool // see [WrappedResult]
}

var _ tools.Conditional = (*tool)(nil)

func (t *tool) Definition() *tools.Definition { return t.def }

// Available returns "", or the reason why the server is unavailable.
func (t *tool) Unavailable(tools.Scope) string { return t.link.unavailable() }

// Call calls the tool at its server.
func (t *tool) Call(ctx context.Context, in tools.Input) (tools.Output, error) {
	if in.Scope.Hops >= peermeta.MaxHops {
		return tools.Output{}, tools.NewError(errcode.Limit,
			fmt.Sprintf("the call has passed %d runtimes, which is the limit", peermeta.MaxHops),
			"they call each other in a cycle: change what their tools and agents call")
	}
	var lost *session
	for {
		s, err := t.link.enter(ctx, lost)
		if err != nil {
			return tools.Output{}, err
		}
		out, err := s.call(ctx, t, in)
		s.calls.Done()
		if !errors.Is(err, errLost) {
			return out, err
		}
		if lost != nil {
			return tools.Output{}, s.unavailable(err.Error(), "the call did not run; the client reconnects", err)
		}
		lost = s // nothing ran there: once more, in another session
	}
}

// call sends one tools/call. When ctx ends, it notifies the server with
// notifications/cancelled.
func (s *session) call(outer context.Context, t *tool, in tools.Input) (tools.Output, error) {
	ctx, cancel := context.WithCancelCause(outer)
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { cancel(context.Cause(s.life)) })()
	ctx, request := s.exchange.begin(ctx, emptyCall)
	_, err := s.cs.CallTool(ctx, s.params(outer, t.name, in))
	raw, cause := s.exchange.end(request)
	if err = cmp.Or(cause, err); err != nil {
		if request.remark != "" && errors.Is(outer.Err(), context.DeadlineExceeded) {
			return tools.Output{}, tools.NewError(errcode.Timeout, "the server did not answer in time",
				"meanwhile it wrote "+s.show(request.remark, maxReason))
		}
		return tools.Output{}, s.failed(outer, err)
	}
	if s.process != nil { // over HTTP, the body has taken it
		if err := memory.Take(ctx, int64(len(raw))); err != nil {
			return tools.Output{}, s.failed(outer, err)
		}
	}
	r, err := decodeResult(raw)
	switch {
	case err != nil:
		return tools.Output{}, tools.NewError(errcode.Execution, s.show(err.Error(), maxReason), "")
	case r.NeedsInput():
		return tools.Output{}, tools.NewError(errcode.Execution,
			"the server asks for more input, which this client does not give", "")
	case r.IsError && s.target.peer && s.peerError(r) != nil:
		return tools.Output{}, s.peerError(r)
	case r.IsError:
		text := truncate.Ellipsis(s.target.redact(complaint(r)), maxErrorText)
		return tools.Output{}, tools.NewError(errcode.Execution, text, "")
	}
	out, err := s.output(r, t.wrapped)
	if lost := tools.Losses(raw); lost != "" && err == nil {
		out.Notices = append(out.Notices,
			fmt.Sprintf("the JSON of the server's result %s; the last of such values was taken, and U+FFFD for such text", lost))
	}
	return out, err
}

func (s *session) output(r *mcp.CallToolResult, wrapped bool) (tools.Output, error) {
	if s.target.peer {
		return peerOutput(r, wrapped)
	}
	return output(r, wrapped)
}

func (s *session) params(ctx context.Context, name string, in tools.Input) *mcp.CallToolParams {
	p := &mcp.CallToolParams{Name: name, Arguments: json.RawMessage("{}")}
	switch {
	case len(in.Raw) > 0:
		p.Arguments = in.Raw
	case len(in.Arguments) > 0:
		p.Arguments = in.Arguments
	}
	p.Meta = mcp.Meta{peermeta.Hops: in.Scope.Hops + 1}
	for key, word := range map[string]string{
		TraceKey: in.Scope.RequestID, peermeta.Flow: in.Scope.Trace.FlowID,
		peermeta.Step: in.Scope.Trace.StepID,
	} {
		if word != "" {
			p.Meta[key] = word
		}
	}
	if s.log.Enabled(ctx, slog.LevelDebug) { // progress is only logged
		p.SetProgressToken(s.tokens.Add(1))
	}
	return p
}

// failed converts the error of a call that returned no result. It is [errLost] if the call can be
// repeated in another session.
func (s *session) failed(outer context.Context, err error) error {
	var answer *jsonrpc.Error
	var web *webError
	switch {
	case outer.Err() != nil:
		return outer.Err()
	case errors.Is(err, errLost):
		return err
	case errors.Is(err, errTooLong):
		return tooLong()
	case errors.Is(err, memory.ErrShort):
		return tools.NewError(errcode.Busy, "the result is large, and was given up: "+err.Error(),
			"the call may have run; make fewer such calls at once")
	case errors.Is(err, errJunk):
		return tools.NewError(errcode.Execution, err.Error(), "the call may have run")
	case errors.As(err, &web):
		if web.ends() {
			s.report(err)
		} else if web.status != http.StatusTooManyRequests {
			s.probe()
		}
		return s.interrupted(web)
	case errors.As(err, &answer) && answer.Code != codeRejected:
		code := errcode.Execution
		switch {
		case answer.Code == jsonrpc.CodeInvalidParams && s.target.peer: // it checks arguments later
			code = errcode.ToolUnavailable
		case answer.Code == jsonrpc.CodeInvalidParams:
			code = errcode.InvalidArguments
		}
		return tools.NewError(code, "the server answers: "+s.show(answer.Message, maxErrorText), "")
	}
	return s.interrupted(err)
}

// probe checks in the background whether the server refuses everything in the session, as some do
// that have forgotten it.
func (s *session) probe() {
	if !s.probing.CompareAndSwap(false, true) {
		return
	}
	s.calls.Go(func() {
		defer s.probing.Store(false)
		ctx, cancel := context.WithTimeout(s.life, probeTime)
		defer cancel()
		ctx, request := s.exchange.begin(ctx, "")
		err := s.cs.Ping(ctx, nil)
		_, cause := s.exchange.end(request)
		var web *webError
		if err = cmp.Or(cause, err); errors.As(err, &web) && web.status >= 400 {
			s.report(err)
		}
	})
}

// codeRejected is the SDK's code for a request that did not reach the server,
// or that a gateway refused.
const codeRejected = -32005

// interrupted is the error of a call that may have run at a server that disconnected.
func (s *session) interrupted(err error) error {
	text := "the connection ended in the middle of the call"
	var cause *webError // the reason, even when the session has ended meanwhile
	if errors.As(err, &cause) || !gone(err) && s.life.Err() == nil {
		text = err.Error()
	}
	return s.unavailable(text, "the call may have run; the client reconnects", err)
}

func (s *session) unavailable(text, hint string, cause error) error {
	e := tools.NewError(errcode.ToolUnavailable,
		fmt.Sprintf("%s %q: %s", s.target.kind(), s.target.name, s.show(text, maxReason)), hint)
	e.Cause = cause
	return e
}

// report notifies the session's owner that it must reconnect.
func (s *session) report(err error) {
	select {
	case s.broken <- err:
	default:
	}
}
