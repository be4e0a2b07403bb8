package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/tools"
)

// TraceKey is the key under which a call carries the id of the request that it
// belongs to, in _meta: it stays the same from one runtime to the next.
const TraceKey = "spiced/trace"

// tool is a server's tool.
type tool struct {
	def  *tools.Definition
	name string // at the server
	link *link
}

var _ tools.Conditional = (*tool)(nil)

func (t *tool) Definition() *tools.Definition { return t.def }

// Available returns "", or why the server is not there.
func (t *tool) Available(tools.Scope) string { return t.link.unavailable() }

// Call runs the tool at its server.
func (t *tool) Call(ctx context.Context, in tools.Input) (tools.Output, error) {
	s, err := t.link.enter()
	if err != nil {
		return tools.Output{}, err
	}
	defer s.calls.Done()
	return s.call(ctx, t.name, in)
}

// call is one tools/call. When ctx ends, the server is told by
// notifications/cancelled.
func (s *session) call(outer context.Context, name string, in tools.Input) (tools.Output, error) {
	over := &atomic.Bool{}
	ctx, cancel := context.WithCancelCause(context.WithValue(outer, overKey{}, over))
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { cancel(context.Cause(s.life)) })()
	r, err := s.cs.CallTool(ctx, s.params(outer, name, in))
	switch {
	case over.Load():
		return tools.Output{}, tooLong()
	case err != nil:
		return tools.Output{}, s.failed(outer, err)
	case r.NeedsInput():
		return tools.Output{}, tools.NewError(tools.CodeExecution, "the server asks for more input, which this client does not give", "")
	case r.IsError:
		text := truncate.Ellipsis(s.target.redact(complaint(r)), maxErrorText)
		return tools.Output{}, tools.NewError(tools.CodeExecution, text, "")
	}
	return output(r)
}

func (s *session) params(ctx context.Context, name string, in tools.Input) *mcp.CallToolParams {
	p := &mcp.CallToolParams{Name: name, Arguments: json.RawMessage("{}")}
	switch {
	case len(in.Raw) > 0:
		p.Arguments = in.Raw
	case len(in.Arguments) > 0:
		p.Arguments = in.Arguments
	}
	if id := in.Scope.RequestID; id != "" {
		p.Meta = mcp.Meta{TraceKey: id}
	}
	if s.log.Enabled(ctx, slog.LevelDebug) { // progress is for the log alone
		p.SetProgressToken(s.tokens.Add(1))
	}
	return p
}

// failed makes an error of a call that brought no result.
func (s *session) failed(outer context.Context, err error) error {
	var answer *jsonrpc.Error
	var unreachable *webError
	switch {
	case outer.Err() != nil:
		return outer.Err()
	case errors.As(err, &unreachable):
		s.report(err)
		return s.unavailable(unreachable)
	case errors.As(err, &answer) && answer.Code != codeRejected:
		code := tools.CodeExecution
		if answer.Code == jsonrpc.CodeInvalidParams {
			code = tools.CodeInvalidArguments
		}
		return tools.NewError(code, "the server answers: "+s.show(answer.Message, maxErrorText), "")
	case errors.Is(err, errTooLong) || s.process != nil && s.process.overlong.Load():
		s.report(err)
		return tooLong()
	case s.web != nil && s.web.failed.Load() != nil:
		return s.unavailable(s.web.failed.Load())
	}
	return s.unavailable(err)
}

// codeRejected is the SDK's own code of a request that did not reach the
// server, or that a gateway before it refused.
const codeRejected = -32005

// unavailable is the error of a call whose server went away.
func (s *session) unavailable(err error) error {
	text := "the connection ended in the middle of the call"
	if !gone(err) && s.life.Err() == nil {
		text = s.show(err.Error(), maxReason)
	}
	e := tools.NewError(tools.CodeUnavailable, fmt.Sprintf("MCP server %q: %s", s.target.name, text), "it may have run all the same; it is connected anew")
	e.Cause = err
	return e
}

// report tells the session's owner that a new one is needed.
func (s *session) report(err error) {
	select {
	case s.broken <- err:
	default:
	}
}
