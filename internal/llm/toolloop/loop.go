package toolloop

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// Invoker makes calls; [registry.Registry] implements it. It must return soon after its
// context has ended.
type Invoker interface {
	Invoke(ctx context.Context, c registry.Call) tools.Result
}

var _ Invoker = (*registry.Registry)(nil)

// Loop answers chats with one model. It is safe for concurrent use.
type Loop struct {
	Provider chat.Provider
	Invoker  Invoker
	Limits   Limits
	Memory   *Memory      // nil: turns with calls of client tools are not stored
	Log      *slog.Logger // nil: discarded
	// Target, if set, returns the tool that a complete call finally runs: for a tool
	// that calls another tool, and for a name that was not offered. False means the
	// offer decides.
	Target func(*chat.Call) (Tool, bool)
	// Render, if set, renders a result for the model, within [Limits.ResultBytes]. If
	// it returns nil, [Render] does.
	Render func(*chat.Call, tools.Result) *chat.CallResult
	// Spend, if set, is called after each answer with its usage. An error ends a chat that
	// would go on.
	Spend func(chat.Usage) error
	// Gone, if set, returns what became of a tool that the session was offered before, such
	// as "was removed", or "".
	Gone func(name string) string
	// Done, if set, is called once per chat, after everything that belongs to it has
	// ended. The error is the one that was yielded, or [errcode.Cancelled] if the
	// consumer left early.
	Done func(Report, error)
}

// Report sums up a chat.
type Report struct {
	Rounds int // answers requested
	Calls  int // of the runtime's tools
	Usage  chat.Usage
	// DefinitionTokens estimates what the definitions of tools cost in all rounds, those of
	// the client included: each request carries them again.
	DefinitionTokens int64
	FirstToken       time.Duration // until the first text, thinking, refusal or call; 0: there was none
	Reason           chat.Reason   // "" if the chat failed
}

// Run yields the model's answer, and the answers that follow once calls of runtime
// tools have their results, as one stream: one [chat.DeltaStart], a [chat.DeltaRound]
// before every further answer, the summed usage and one [chat.DeltaFinish], or a
// [*chat.Error]. Calls of runtime tools are events of their own, not deltas; calls of
// client tools are numbered from 0.
//
// Without runtime tools, and with tool choice none, the answer passes through
// unchanged. Leaving the range or ending ctx cancels the request and every call, and
// waits for them.
func (l *Loop) Run(ctx context.Context, r *chat.Request, runtime []Tool, scope tools.Scope) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		scope.Protocol = caller.Chat
		messages, restored := l.Memory.splice(owner(scope), r.Messages)
		if len(runtime) == 0 || r.Choice.Mode == chat.ChoiceNone && !restored {
			l.pass(ctx, l.plain(r, messages, restored), yield)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		s := newSession(l, r, messages, newOffer(r.Tools, runtime), scope)
		var left error = cancelled(context.Canceled) // until the chat has ended
		defer func() {
			cancel()
			for range s.out { // closed once everything has ended
			}
			if left != nil {
				s.report.Reason = ""
			}
			l.done(s.report, left)
		}()
		go s.conduct(ctx)
		for e := range s.out {
			finish := e.Kind == chat.DeltaFinish
			if finish {
				left = nil
			}
			if !yield(e, nil) || finish {
				return
			}
		}
		left = s.err
		yield(Event{}, left)
	}
}

// plain returns the request to send when no runtime tool is offered.
func (l *Loop) plain(r *chat.Request, messages []chat.Message, restored bool) *chat.Request {
	toolless := len(r.Tools) == 0 && r.Choice.Mode == chat.ChoiceNone
	if !restored && !toolless {
		return r
	}
	r = r.Clone()
	r.Messages = messages
	if toolless { // providers reject a tool choice without tools
		r.Choice = chat.Choice{}
	}
	return r
}

// pass yields the provider's answer unchanged.
func (l *Loop) pass(ctx context.Context, r *chat.Request, yield func(Event, error) bool) {
	began := time.Now()
	report := Report{Rounds: 1, DefinitionTokens: int64(newOffer(r.Tools, nil).tokens)}
	var failed error = cancelled(context.Canceled)
	defer func() {
		_ = l.spend(report.Usage) // nothing follows
		l.done(report, failed)
	}()
	for d, err := range l.Provider.Chat(ctx, r) {
		if err != nil {
			failed = ended(ctx, err)
			yield(Event{}, failed)
			return
		}
		report.note(d, began)
		if d.Kind == chat.DeltaFinish {
			failed = nil
		}
		if !yield(Event{Delta: d}, nil) || d.Kind == chat.DeltaFinish {
			return
		}
	}
	failed = ended(ctx, errUnfinished)
	yield(Event{}, failed)
}

// note counts a delta.
func (r *Report) note(d chat.Delta, began time.Time) {
	switch d.Kind {
	case chat.DeltaText, chat.DeltaThinking, chat.DeltaRefusal, chat.DeltaCall:
		if r.FirstToken == 0 {
			r.FirstToken = time.Since(began)
		}
	case chat.DeltaUsage:
		r.Usage = d.Usage
	case chat.DeltaFinish:
		r.Reason = d.Reason
	}
}

func (l *Loop) done(r Report, err error) {
	if l.Done != nil {
		l.Done(r, err)
	}
}

func (l *Loop) spend(u chat.Usage) error {
	if l.Spend == nil {
		return nil
	}
	return l.Spend(u)
}

func (l *Loop) log() *slog.Logger {
	if l.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l.Log
}

var errUnfinished = &chat.Error{Code: errcode.StreamBroken, Message: "the model's answer ended unexpectedly"}

// ended returns the error of a failed chat as the client sees it: cancellation takes
// precedence over the errors that it caused.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return cancelled(ctx.Err())
	}
	return chat.AsError(err)
}

func cancelled(cause error) *chat.Error {
	if errors.Is(cause, context.DeadlineExceeded) {
		return &chat.Error{Code: errcode.ProviderTimeout, Message: "the chat exceeded its time limit", Cause: cause}
	}
	return &chat.Error{Code: errcode.Cancelled, Message: "the client closed the connection", Cause: cause}
}

// Event is a piece of what a [Loop] yields: a delta of the answer, for the
// client, a step of a call of one of the runtime's tools, or the end of a response.
type Event struct {
	chat.Delta                 // Kind is 0 with Tool and with Response
	Tool       *registry.Event // nil with a delta
	Response   *Response       // nil with a delta
}

// Response is one answer of the model that has been read to its end. A call that
// is reported after it was not dispatched early. An answer that is passed through unchanged has no Response.
type Response struct {
	Round int // from 1
	Usage chat.Usage
}
