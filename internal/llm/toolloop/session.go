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

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// session is one chat on its way. One goroutine, conduct, owns it; one reads
// the provider, and one makes each call that runs. It goes on when the client
// reads slowly: calls start and end, and only the provider is held up.
type session struct {
	loop   *Loop
	limits Limits
	log    *slog.Logger
	scope  tools.Scope
	asked  *chat.Request // by the client
	offer  offer
	ids    map[string]bool

	messages []chat.Message // of the next request
	known    int            // of them the client knows

	out     chan Event // to the client; closed at the very end
	queue   []Event    // waits for room in out
	notes   chan note  // from the calls that run
	over    chan struct{}
	workers sync.WaitGroup

	began   time.Time
	started bool // the client has its DeltaStart
	counted bool // the provider told of tokens
	report  Report
	err     error // to be read once out is closed
}

// arrival is what the reader got of the provider.
type arrival struct {
	delta chat.Delta
	err   error
}

// note is what a running call tells: a step, or its result.
type note struct {
	step   *registry.Event
	call   *call
	result *chat.CallResult
}

func newSession(l *Loop, r *chat.Request, messages []chat.Message, o offer, scope tools.Scope) *session {
	s := &session{
		loop: l, limits: l.Limits.effective(), log: l.log(), scope: scope, asked: r, offer: o,
		ids: map[string]bool{}, messages: slices.Clip(messages), known: len(messages),
		out: make(chan Event, buffered), notes: make(chan note), over: make(chan struct{}), began: time.Now(),
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

// recovered turns a panic into an error that the client may see.
func (s *session) recovered(what string, fail func(error)) {
	if p := recover(); p != nil {
		s.log.Error(what+" panicked", "panic", p, "stack", string(debug.Stack()))
		fail(chat.AsError(fmt.Errorf("%s panicked: %v", what, p)))
	}
}

// rounds asks until the model has said all it had to say.
func (s *session) rounds(ctx context.Context) error {
	for {
		s.report.Rounds++
		a, err := s.ask(ctx)
		s.report.Usage = s.report.Usage.Plus(a.usage)
		if err != nil {
			return err
		}
		again, reason := a.verdict()
		if !again {
			s.finish(a, reason)
			return nil
		}
		s.messages = append(s.messages, a.history()...)
		s.emit(Event{Delta: chat.Delta{Kind: chat.DeltaRound}})
	}
}

// request is the next one to the provider.
func (s *session) request(barred bool) *chat.Request {
	r := *s.asked
	r.Messages, r.Tools = slices.Clip(s.messages), s.offer.tools
	forced := r.Choice.Mode == chat.ChoiceRequired || r.Choice.Mode == chat.ChoiceTool
	switch {
	case barred:
		r.Choice = chat.Choice{Mode: chat.ChoiceNone}
	case forced && s.report.Rounds > 1:
		r.Choice = chat.Choice{Mode: chat.ChoiceAuto}
	}
	return &r
}

// newAnswer is the state of the answer to the next request.
func (s *session) newAnswer() *answer {
	spent := s.report.Rounds > s.limits.Rounds
	if spent {
		s.log.Warn("the limit of rounds of tool calls is reached; the model is asked once more and calls nothing",
			"model", s.scope.Model, "rounds", s.limits.Rounds, "request", s.scope.RequestID)
	}
	return &answer{
		limits: s.limits, traits: s.offer.traits, target: s.loop.Target, ids: s.ids,
		barred: spent || s.asked.Choice.Mode == chat.ChoiceNone,
	}
}

// ask sends the next request and returns its answer once it is settled: read
// to its end, every call with its result.
func (s *session) ask(ctx context.Context) (*answer, error) {
	round, cancel := context.WithCancel(ctx)
	defer cancel()
	a := s.newAnswer()
	var failed error
	fail := func(err error) {
		if err != nil && a.ending == open {
			failed = err
			a.cut("the answer broke off")
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
			a.cut("the client left")
		}
	}
	return a, cmp.Or(ctx.Err(), failed)
}

// ports are the channels that may be used now: nothing more is read while the
// client has not taken what waits for it.
func (s *session) ports(stream <-chan arrival) (in <-chan arrival, out chan<- Event, head Event) {
	if len(s.queue) > 0 {
		return nil, s.out, s.queue[0]
	}
	return stream, nil, Event{}
}

// arrived takes what came from the provider.
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
	return err
}

// noted takes what a running call told.
func (s *session) noted(a *answer, n note) {
	if n.step != nil {
		s.emit(Event{Tool: n.step})
		return
	}
	a.finished(n.call, n.result)
}

// emit sends an event to the client, or keeps it until there is room. Events
// of calls are bounded by their number, and deltas by [session.ports].
func (s *session) emit(e Event) {
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
	s.queue[0] = Event{} // it may hold a large result
	s.queue = s.queue[1:]
}

// drain sends what still waits.
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

// finish ends the chat well.
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

// read starts the reader of an answer. It ends with the answer or with ctx.
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

// remember keeps what the client does not see of a turn that ends with calls
// of its tools.
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
				return // the history would not be whole
			}
			ids = append(ids, c.ID)
		}
	}
	s.loop.Memory.keep(owner(s.scope), ids, t)
}
