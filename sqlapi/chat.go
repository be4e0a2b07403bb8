package sqlapi

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/http"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
)

// chat answers a chat, as a stream or whole.
func (a *API) chat(d *door, w http.ResponseWriter, r *http.Request) error {
	if a.opts.Chats == nil {
		return newError(codeNotServed, "", "chats are not served here")
	}
	a.nameGeneration(w)
	who, err := callerOf(w, r, caller.Chat)
	if err != nil {
		return err
	}
	body, err := a.readBody(w, r, chat.MaxRequestBytes)
	if err != nil {
		return err
	}
	t, err := d.parse(a, r, body, who)
	if err != nil {
		return err
	}
	who.Model, t.events = t.request.Model, includesEvents(r)
	note(w, slog.String("model", truncate.Ellipsis(t.request.Model, maxShown)), slog.Bool("stream", t.request.Stream))
	ctx, entry, end, err := a.begin(r.Context(), who)
	if err != nil {
		return err
	}
	defer end()
	events, err := a.opts.Chats.Chat(ctx, t.request, who)
	switch {
	case err != nil:
	case t.request.Stream:
		s := &chatStream{sse: newSSE(w, a.opts.KeepAlive, entry.Cancel), turn: t}
		defer s.stop()
		err = a.stream(ctx, s, events)
	default:
		err = writeChat(ctx, w, t, events)
	}
	return blame(ctx, err)
}

// nameGeneration names the generation that a chat begins with.
func (a *API) nameGeneration(w http.ResponseWriter) {
	if a.opts.Tools != nil {
		setGeneration(w, a.opts.Tools.Current().Generation)
	}
}

// chatEvents is what a chat yields.
type chatEvents = iter.Seq2[toolloop.Event, error]

// chatStream sends an answer as it comes.
type chatStream struct {
	*sse
	turn    *turn
	encoder chat.Encoder
	answer  chat.Collector // of a turn that is kept
}

// stream sends an answer as it comes. Until something was sent, an error has a
// status; later it is an event.
func (a *API) stream(ctx context.Context, s *chatStream, events chatEvents) error {
	s.encoder = s.turn.encoder(s)
	for e, err := range events {
		if err != nil {
			return a.failStream(ctx, s, blame(ctx, err))
		}
		if err := s.write(e); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return a.failStream(ctx, s, blame(ctx, err))
	}
	return s.last(s.encoder.Close)
}

// write sends an event. What the client has not asked for is left out.
func (s *chatStream) write(e toolloop.Event) error {
	if e.Tool == nil {
		s.collect(e.Delta)
		return s.send(func() error { return s.encoder.Write(e.Delta) })
	}
	if !s.turn.events {
		return nil
	}
	data, err := encodeCallEvent(e.Tool)
	if err != nil {
		return err
	}
	return s.send(func() error { return s.encoder.Event(string(e.Tool.Type), data) })
}

// collect keeps the answer of a turn that is kept. It is there when the client
// hears of the end, and can be continued at once.
func (s *chatStream) collect(d chat.Delta) {
	if s.turn.keep == nil {
		return
	}
	s.answer.Add(d)
	if d.Kind == chat.DeltaFinish {
		s.turn.keep(s.answer.Response())
	}
}

// failStream tells the client of an error within the stream, if there is a
// stream already and somebody who reads it.
func (a *API) failStream(ctx context.Context, s *chatStream, err error) error {
	left := ctx.Err() != nil && !errors.Is(err, errStopped)
	if begun := s.stop(); !begun || left {
		return err
	}
	failed := chat.AsError(err)
	if x, ok := s.w.(*exchange); ok {
		x.code = string(failed.Code)
	}
	noteCause(s.w, failed)
	if failed.Code == chat.CodeInternal {
		a.logInternal(ctx, s.w.Header().Get(headerRequestID), cmp.Or(failed.Cause, err))
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
		case e.Tool == nil:
			answer.Add(e.Delta)
		case t.events:
			calls.add(e.Tool)
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
