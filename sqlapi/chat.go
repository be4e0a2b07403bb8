package sqlapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/responses"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/internal/sql/activity"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/registry"
)

// chatHandler serves chats and the list of models.
type chatHandler struct {
	chats     Chats
	tools     *registry.Registry
	activity  *activity.Table
	slots     chan struct{}    // one for each chat that runs
	answers   *responses.Store // for requests that continue them
	bodies    bodyReader
	keepAlive time.Duration
	log       *slog.Logger
}

// chat answers a chat, as a stream or whole.
func (c *chatHandler) chat(p *protocol, w http.ResponseWriter, r *http.Request) error {
	if c.chats == nil {
		return newError(codeNotServed, "", "chats are not served here")
	}
	nameGeneration(w, c.tools)
	who, err := callerOf(w, r, caller.Chat)
	if err != nil {
		return err
	}
	body, err := c.bodies.read(w, r, chat.MaxRequestBytes)
	if err != nil {
		return err
	}
	if err := checkLosses(body); err != nil {
		return err
	}
	t, err := p.parse(c, r, body, who)
	if err != nil {
		return err
	}
	if who.SessionID != "" {
		t.request.Session = "session " + who.SessionID
	}
	who.Model, t.events = t.request.Model, includesEvents(r)
	note(w, slog.String("model", truncate.Ellipsis(t.request.Model, maxShown)), slog.Bool("stream", t.request.Stream))
	ctx, entry, end, err := c.begin(withWait(w, r), who)
	if err != nil {
		return err
	}
	defer end()
	events, err := c.chats.Chat(ctx, t.request, who)
	reportIgnored(w, t.request.Ignored)
	switch {
	case err != nil:
	case t.request.Stream:
		s := &chatStream{sse: newSSE(w, c.keepAlive, entry.Cancel), turn: t}
		defer s.stop()
		err = c.stream(ctx, s, events)
	default:
		err = writeChat(ctx, w, t, events)
	}
	return blame(ctx, err)
}

// headerIgnored names the fields of a chat that have no effect at the model's provider.
const headerIgnored = "X-Spiced-Ignored"

// reportIgnored names them in the answer's header and in the request's line of the log.
func reportIgnored(w http.ResponseWriter, fields []string) {
	if len(fields) == 0 {
		return
	}
	list := strings.Join(fields, ", ")
	w.Header().Set(headerIgnored, list)
	note(w, slog.String("ignored", list))
}

// errStopped is the error of a chat that another request has cancelled.
var errStopped = &chat.Error{Code: errcode.Cancelled, Message: "the request was cancelled by its owner"}

// begin lists a chat as the caller's work, under the id of its request. Call
// end when it is over.
func (c *chatHandler) begin(ctx context.Context,
	who caller.Caller,
) (_ context.Context, entry *activity.Entry, end func(), err error) {
	select {
	case c.slots <- struct{}{}:
	default:
		return nil, nil, nil, &chat.Error{
			Code: errcode.RateLimited, RetryAfter: time.Second,
			Message: "too many chats run already; try again in a moment",
		}
	}
	ctx, entry = c.activity.Begin(ctx, activity.Work{
		ID: who.RequestID, Kind: activity.Chat, Owner: who.Owner(), Protocol: string(query.HTTP), Name: who.Model,
	})
	return ctx, entry, func() { entry.End(); <-c.slots }, nil
}

// blame is err, unless the chat was cancelled by another request.
func blame(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), activity.ErrCancelled) {
		return errStopped
	}
	return err
}

// nameGeneration names the generation that a chat begins with.
func nameGeneration(w http.ResponseWriter, r *registry.Registry) {
	if r != nil {
		setGeneration(w, r.Current().Generation)
	}
}

// chatEvents is what a chat yields.
type chatEvents = iter.Seq2[toolloop.Event, error]

// chatStream sends an answer as it comes.
type chatStream struct {
	*sse
	turn    *turn
	encoder chat.Encoder
	answer  chat.Collector // of a turn that is stored
}

// stream sends an answer as it comes. Until something was sent, an error has a
// status; later it is an event.
func (c *chatHandler) stream(ctx context.Context, s *chatStream, events chatEvents) error {
	s.encoder = s.turn.encoder(s)
	for e, err := range events {
		if err != nil {
			return c.failStream(ctx, s, blame(ctx, err))
		}
		if err := s.write(e); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return c.failStream(ctx, s, blame(ctx, err))
	}
	return s.last(s.encoder.Close)
}

// write sends an event. What the client has not asked for is left out.
func (s *chatStream) write(e toolloop.Event) error {
	if e.Tool == nil && e.Response == nil {
		s.collect(e.Delta)
		return s.send(func() error { return s.encoder.Write(e.Delta) })
	}
	if !s.turn.events {
		return nil
	}
	event := eventOf(e)
	data, err := json.Marshal(event.callEvent) // the event has its name next to it
	if err != nil {
		return err
	}
	return s.send(func() error { return s.encoder.Event(string(event.Type), data) })
}

// collect stores the answer of a turn before the client sees its end, so that
// it can be continued at once.
func (s *chatStream) collect(d chat.Delta) {
	if s.turn.keep == nil {
		return
	}
	s.answer.Add(d)
	if d.Kind == chat.DeltaFinish {
		s.turn.keep(s.answer.Response())
	}
}

// failStream sends an error within the stream, if the stream has begun and the
// client is still there.
func (c *chatHandler) failStream(ctx context.Context, s *chatStream, err error) error {
	left := ctx.Err() != nil && !errors.Is(err, errStopped)
	if begun := s.stop(); !begun || left {
		return err
	}
	failed := chat.AsError(err)
	if x, ok := s.w.(*responseWriter); ok {
		x.code = string(failed.Code)
	}
	noteCause(s.w, failed)
	if failed.Code == errcode.Internal {
		logInternal(ctx, c.log, s.w.Header().Get(headerRequestID), cmp.Or(failed.Cause, err))
	}
	return s.last(func() error { return s.encoder.Fail(failed) })
}

// writeChat sends an answer when it is whole.
func writeChat(ctx context.Context, w http.ResponseWriter, t *turn, events chatEvents) error {
	var answer chat.Collector
	var calls callEvents
	for e, err := range events {
		switch {
		case err != nil:
			return err
		case e.Tool == nil && e.Response == nil:
			answer.Add(e.Delta)
		case t.events:
			calls.add(e)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	body, err := t.encode(answer.Response())
	if err != nil {
		return err
	}
	if t.keep != nil {
		t.keep(answer.Response())
	}
	if t.events {
		if body, err = calls.into(body); err != nil {
			return err
		}
	}
	if calls.dropped {
		w.Header().Set(headerTruncated, "true")
	}
	return writeBytes(w, "application/json", append(body, '\n'))
}
