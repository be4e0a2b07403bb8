package toolloop

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// Door is where calls are made; [registry.Registry] is one. It returns soon
// after its context has ended.
type Door interface {
	Invoke(ctx context.Context, c registry.Call) tools.Result
}

var _ Door = (*registry.Registry)(nil)

// Loop answers chats with one model. It is safe for concurrent use.
type Loop struct {
	Provider chat.Provider
	Door     Door
	Limits   Limits
	Memory   *Memory      // nil: turns with calls of the client's tools are not remembered
	Log      *slog.Logger // nil: discarded
	// Target, if set, is the tool that a complete call is of in the end: of one
	// that leads to another tool, or that names a tool which was not offered.
	// False leaves what the offer says.
	Target func(*chat.Call) (Tool, bool)
	// Render makes what the model sees of a result, within
	// [Limits.ResultBytes]. Nil, and one that returns nil, is [Render].
	Render func(*chat.Call, tools.Result) *chat.CallResult
	// Done, if set, is told once how each chat went, after everything that
	// belongs to it has ended. The error is the one that was yielded, or
	// [chat.CodeCancelled] when the consumer left before the end.
	Done func(Report, error)
}

// Report is what a chat did.
type Report struct {
	Rounds     int // answers that were asked for
	Calls      int // of the runtime's tools that were made
	Usage      chat.Usage
	FirstToken time.Duration // until the first text, thinking, refusal or call; 0: none came
	Reason     chat.Reason   // "" when the chat did not end well
}

// Run chats: the answer of the model, and of those that follow it once the
// calls of runtime tools have their results, as one stream. It has one
// [chat.DeltaStart], then a [chat.DeltaRound] before every further answer, the
// sum of the usage and one [chat.DeltaFinish]; or it ends with a
// [*chat.Error]. Calls of runtime tools are events of their own and no deltas;
// those of the client's tools are numbered from 0.
//
// Without runtime tools, and with a choice of none, the answer passes as it
// is. Leaving the range or ending ctx ends the request and every call, and is
// waited for.
func (l *Loop) Run(ctx context.Context, r *chat.Request, runtime []Tool, scope tools.Scope) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		scope.Protocol = caller.Chat
		messages, recalled := l.Memory.splice(owner(scope), r.Messages)
		if len(runtime) == 0 || r.Choice.Mode == chat.ChoiceNone && !recalled {
			l.pass(ctx, l.plain(r, messages, recalled), yield)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		s := newSession(l, r, messages, newOffer(r.Tools, runtime), scope)
		var left error = cancelled(context.Canceled) // until the end has come
		defer func() {
			cancel()
			for range s.out { // it is closed once everything has ended
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

// plain is the request as it passes without runtime tools.
func (l *Loop) plain(r *chat.Request, messages []chat.Message, recalled bool) *chat.Request {
	toolless := len(r.Tools) == 0 && r.Choice.Mode == chat.ChoiceNone
	if !recalled && !toolless {
		return r
	}
	r = r.Clone()
	r.Messages = messages
	if toolless { // providers refuse a choice without tools
		r.Choice = chat.Choice{}
	}
	return r
}

// pass yields the provider's answer as it is.
func (l *Loop) pass(ctx context.Context, r *chat.Request, yield func(Event, error) bool) {
	began := time.Now()
	report := Report{Rounds: 1}
	var failed error = cancelled(context.Canceled)
	defer func() { l.done(report, failed) }()
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

// note counts a delta that passes.
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

func (l *Loop) log() *slog.Logger {
	if l.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l.Log
}

var errUnfinished = &chat.Error{Code: chat.CodeBroken, Message: "the model's answer broke off before its end"}

// ended is why a chat failed, as the client is told: its own leaving comes
// before what followed from it.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return cancelled(ctx.Err())
	}
	return chat.AsError(err)
}

func cancelled(cause error) *chat.Error {
	if errors.Is(cause, context.DeadlineExceeded) {
		return &chat.Error{Code: chat.CodeTimeout, Message: "the chat took longer than it may", Cause: cause}
	}
	return &chat.Error{Code: chat.CodeCancelled, Message: "the client left", Cause: cause}
}
