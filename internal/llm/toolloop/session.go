package toolloop

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// session is one running chat. One goroutine, conduct, owns it; another reads the
// provider, and each running call has one. A slow client blocks only the reader: calls
// still start and end.
type session struct {
	loop   *Loop
	limits Limits
	log    *slog.Logger
	scope  tools.Scope
	asked  *chat.Request // the client's request
	offer  offer
	ids    map[string]bool
	images *album

	messages []chat.Message // for the next request
	known    int            // how many of them the client knows

	out     chan Event // to the client; closed last
	queue   []Event    // waits for room in out
	notes   chan note  // from the running calls
	over    chan struct{}
	workers sync.WaitGroup

	began   time.Time
	started bool // the client has received DeltaStart
	counted bool // the provider has reported usage
	report  Report
	err     error // read it once out is closed
}

// arrival is one item read from the provider.
type arrival struct {
	delta chat.Delta
	err   error
}

// note is what a running call reports: a step, or its result.
type note struct {
	step   *registry.Event
	call   *call
	result *chat.CallResult
}

func newSession(l *Loop, r *chat.Request, messages []chat.Message, o offer, scope tools.Scope) *session {
	s := &session{
		loop: l, limits: l.Limits.effective(), log: l.log(), scope: scope, asked: r, offer: o,
		ids: map[string]bool{}, images: newAlbum(l.Limits.effective(), messages), messages: slices.Clip(messages),
		known: len(messages),
		out:   make(chan Event, buffered), notes: make(chan note), over: make(chan struct{}), began: time.Now(),
	}
	for _, m := range messages {
		for _, c := range m.Calls() {
			s.ids[c.ID] = true
		}
	}
	return s
}

// conduct runs the chat to its end.
func (s *session) conduct(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer close(s.out)
	defer s.workers.Wait()
	defer close(s.over)
	defer cancel()
	defer s.recovered("the tool loop", func(err error) { s.err = err })
	if err := cmp.Or(s.rounds(ctx), s.drain(ctx)); err != nil {
		s.err = ended(ctx, err)
	}
}

// recovered turns a panic into an error that is safe to show to the client.
func (s *session) recovered(what string, fail func(error)) {
	if p := recover(); p != nil {
		s.log.Error(what+" panicked", "panic", p, "stack", string(debug.Stack()))
		fail(chat.AsError(fmt.Errorf("%s panicked: %v", what, p)))
	}
}

// rounds requests answers until the model calls no more tools. One that calls them where it
// may call none reads in the results that it must answer, once: a second such answer is an
// error, as the client would otherwise get an empty text for an answer.
func (s *session) rounds(ctx context.Context) error {
	warned := false
	for {
		s.report.Rounds++
		s.report.DefinitionTokens += int64(s.offer.tokens)
		a, err := s.ask(ctx)
		s.report.Usage = s.report.Usage.Plus(a.usage)
		spent := s.loop.spend(a.usage)
		if err != nil {
			return err
		}
		again, reason := a.verdict()
		if !again {
			s.finish(a, reason)
			return nil
		}
		if spent != nil {
			return spent
		}
		if a.defiant() {
			if warned {
				return s.endless()
			}
			warned = true
		}
		s.messages = append(s.messages, a.history()...)
		s.emit(Event{Delta: chat.Delta{Kind: chat.DeltaRound}})
	}
}

// endless returns the error of a model that calls tools where it may call none.
func (s *session) endless() error {
	if s.asked.Choice.Mode == chat.ChoiceNone {
		return &chat.Error{
			Code:    errcode.ProviderError,
			Message: `the model calls tools, though tool_choice "none" forbids it`,
		}
	}
	return &chat.Error{Code: errcode.Limit, Message: fmt.Sprintf(
		"the model still calls tools after %d answers with calls, its limit (tool_recursion_limit, limits.rounds of an "+
			"agent), instead of answering", s.limits.Rounds)}
}

// request returns the next request to the provider.
func (s *session) request(barred bool) *chat.Request {
	r := *s.asked
	r.Messages, r.Tools = slices.Clip(s.messages), s.offer.tools
	forced := r.Choice.Mode == chat.ChoiceRequired || r.Choice.Mode == chat.ChoiceTool
	switch {
	case barred:
		r.Choice = chat.Choice{Mode: chat.ChoiceNone}
	case forced && s.report.Rounds > 1:
		r.Choice = chat.Choice{Mode: chat.ChoiceAuto, Allowed: r.Choice.Allowed}
	}
	return &r
}

// newAnswer returns the state of the answer to the next request.
func (s *session) newAnswer() *answer {
	spent := s.report.Rounds > s.limits.Rounds
	if s.report.Rounds == s.limits.Rounds+1 {
		s.log.Warn("the limit of tool rounds is reached; requesting a last answer without tool calls",
			"model", s.scope.Model, "rounds", s.limits.Rounds, "request", s.scope.RequestID)
	}
	return &answer{
		limits: s.limits, traits: s.offer.traits, target: s.loop.Target, ids: s.ids,
		barred: spent || s.asked.Choice.Mode == chat.ChoiceNone,
	}
}

// ask sends the next request and returns its answer once it is settled: read to its
// end, with a result for every call.
func (s *session) ask(ctx context.Context) (*answer, error) {
	round, cancel := context.WithCancel(ctx)
	defer cancel()
	a := s.newAnswer()
	var failed error
	fail := func(err error) {
		if err != nil && a.ending == open {
			failed = err
			a.cut("the answer ended unexpectedly")
			cancel()
		}
	}
	stream, left := s.read(round, s.request(a.barred)), ctx.Done()
	for stream != nil || !a.settled() {
		for c := a.next(); c != nil; c = a.next() {
			s.start(round, c)
		}
		in, out, head := s.ports(stream)
		select {
		case got, ok := <-in:
			if !ok {
				stream, got.err = nil, errUnfinished
			}
			fail(s.arrived(a, got))
		case n := <-s.notes:
			s.noted(a, n)
		case out <- head:
			s.pop()
		case <-left:
			left = nil
			fail(ctx.Err())
			a.cut("the client closed the connection")
		}
	}
	return a, cmp.Or(ctx.Err(), failed)
}

// ports returns the channels to use now: the provider is not read while events wait for
// the client.
func (s *session) ports(stream <-chan arrival) (in <-chan arrival, out chan<- Event, head Event) {
	if len(s.queue) > 0 {
		return nil, s.out, s.queue[0]
	}
	return stream, nil, Event{}
}

// arrived handles what came from the provider.
func (s *session) arrived(a *answer, got arrival) error {
	if got.err != nil {
		return got.err
	}
	d := got.delta
	s.counted = s.counted || d.Kind == chat.DeltaUsage
	if d.Kind != chat.DeltaUsage && d.Kind != chat.DeltaFinish {
		s.report.note(d, s.began)
	}
	seen, show, err := a.take(d)
	if d.Kind == chat.DeltaStart {
		show, s.started = show && !s.started, true
	}
	if show {
		s.emit(Event{Delta: seen})
	}
	if d.Kind == chat.DeltaFinish {
		s.emit(Event{Response: &Response{Round: s.report.Rounds, Usage: a.usage}})
	}
	return err
}

// noted handles a note from a running call.
func (s *session) noted(a *answer, n note) {
	if n.step != nil {
		s.emit(Event{Tool: n.step})
		return
	}
	a.finished(n.call, n.result)
}

// maxQueued is how many events may wait for a slow client before the texts of agents are
// left out.
const maxQueued = 1024

// emit sends an event to the client, or queues it. Events of calls are bounded by the
// number of calls, deltas by [session.ports].
func (s *session) emit(e Event) {
	if len(s.queue) >= maxQueued && e.Tool != nil && e.Tool.Type == registry.EventAgentChunk {
		return
	}
	if len(s.queue) == 0 {
		select {
		case s.out <- e:
			return
		default:
		}
	}
	s.queue = append(s.queue, e)
}

func (s *session) pop() {
	s.queue[0] = Event{} // release a large result
	s.queue = s.queue[1:]
}

// drain sends the queued events.
func (s *session) drain(ctx context.Context) error {
	for len(s.queue) > 0 {
		select {
		case s.out <- s.queue[0]:
			s.pop()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// finish ends the chat successfully.
func (s *session) finish(a *answer, reason chat.Reason) {
	if reason == chat.ReasonCalls && a.shown > 0 {
		s.remember(a)
	}
	s.report.Reason = reason
	if s.counted {
		s.emit(Event{Delta: chat.Delta{Kind: chat.DeltaUsage, Usage: s.report.Usage}})
	}
	last := a.finish
	if last.Reason != reason {
		last = chat.Delta{Kind: chat.DeltaFinish, Reason: reason}
	}
	s.emit(Event{Delta: last})
}

// read starts the reader of an answer, which ends with the answer or with ctx.
func (s *session) read(ctx context.Context, r *chat.Request) <-chan arrival {
	arrivals := make(chan arrival, buffered)
	send := func(a arrival) bool {
		select {
		case arrivals <- a:
			return a.err == nil && a.delta.Kind != chat.DeltaFinish
		case <-ctx.Done():
			return false
		}
	}
	s.workers.Go(func() {
		defer close(arrivals)
		defer s.recovered("the provider", func(err error) { send(arrival{err: err}) })
		for d, err := range s.loop.Provider.Chat(ctx, r) {
			if !send(arrival{d, err}) {
				return
			}
		}
	})
	return arrivals
}

// remember stores what the client does not see of a turn that ends with calls of client
// tools.
func (s *session) remember(a *answer) {
	t := turn{
		after:  lastFingerprint(s.asked.Messages),
		before: slices.Clone(s.messages[s.known:]), answer: a.message(), results: a.results(),
	}
	if len(t.before) == 0 && len(t.results) == 0 {
		return
	}
	var ids []string
	for _, c := range a.calls {
		if c.client {
			if c.phase != done || c.long {
				return // the history would be incomplete
			}
			ids = append(ids, c.ID)
		}
	}
	s.loop.Memory.store(owner(s.scope), ids, t)
}
