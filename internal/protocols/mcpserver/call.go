package mcpserver

import (
	"context"
	"crypto/rand"
	"strings"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/console"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/peers/peermeta"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// TraceKey is the _meta key of the client's trace id. It becomes the id of the
// call's record, in this runtime and in those that the tool calls. See
// [tools.Scope].
const TraceKey = peermeta.Trace

// call answers tools/call. A tool's failure is a result that the model can
// read; only an unknown name is a protocol error.
func (s *Server) call(ctx context.Context, sess *session, req *mcp.CallToolRequest) (mcp.Result, error) {
	p := req.Params
	if err := s.loaded(ctx); err != nil {
		return nil, err
	}
	if !s.sees(sess, p.Name) {
		return nil, invalid("there is no tool %q", truncate.Ellipsis(p.Name, maxShown))
	}
	scope := callScope(sess, req)
	notify, stop := s.progress(ctx, req, scope)
	steps := &recorder{began: time.Now()}
	observe, views := notify, showsViews(req.ClientCapabilities())
	if views {
		observe = func(e registry.Event) {
			steps.observe(e)
			if notify != nil {
				notify(e)
			}
		}
	}
	r, open := asker{s.opts.Registry, s.log}.asking(ctx, req, scope, func(ctx context.Context) tools.Result {
		return s.opts.Registry.Invoke(ctx, registry.Call{
			Name: p.Name, Arguments: p.Arguments, Scope: scope, Meta: s.mode(sess) == spicepod.MCPRegistry, Events: observe,
		})
	})
	stop()
	if open != nil {
		return open, nil
	}
	if r.Tool == nil { // the only failure without one
		return nil, invalid("%s", r.Error.Error())
	}
	s.logCall(ctx, req, r)
	if !r.OK {
		result := failure(r)
		if needs := r.Error.NeedsApproval; views && needs != nil && sess.base != "" {
			result.Meta[ConsoleKey] = sess.base + console.Prefix + "approvals/" + needs.ApprovalID
		}
		return steps.attach(result), nil
	}
	return steps.attach(success(r, s.current().show(r.Tool).form)), nil
}

// known reports whether a tool has that name that the caller may see.
func (s *Server) known(name string, scope tools.Scope) bool {
	return registry.Reserved(name) || s.opts.Registry.Current().View(scope).Get(name) != nil
}

func callScope(sess *session, req *mcp.CallToolRequest) tools.Scope {
	scope := sess.scope
	if info := req.ClientInfo(); scope.Agent == "" && info != nil {
		scope.Agent = word(info.Name)
	}
	meta := req.Params.Meta
	scope.RequestID, scope.Hops = traceOf(meta), peermeta.Number(meta[peermeta.Hops])
	scope.Trace = caller.Trace{FlowID: wordOf(meta, peermeta.Flow), StepID: wordOf(meta, peermeta.Step)}
	return scope
}

// traceOf is the client's trace id if it is valid, else a new one.
func traceOf(meta mcp.Meta) string {
	id, _ := meta[TraceKey].(string)
	fit := id != "" && len(id) <= maxWord && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' })
	if !fit {
		return rand.Text()
	}
	return id
}

// wordOf is a text of _meta, "" if it is unfit for logs and tables.
func wordOf(meta mcp.Meta, key string) string {
	text, _ := meta[key].(string)
	if caller.CheckWord(text) != nil {
		return ""
	}
	return text
}

// word sanitizes a client's name for logs and tables.
func word(name string) string {
	clean := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	return truncate.Bytes(clean, maxWord)
}
