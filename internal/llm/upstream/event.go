package upstream

import (
	"bufio"
	"context"
	"errors"
	"io"

	"github.com/spiced-sql/spiced/internal/kit/memory"
	"github.com/spiced-sql/spiced/internal/kit/sse"
)

// Event is one server-sent event.
type Event struct {
	// Type is the event's name, "" if the provider sent none. EventJSON is an answer
	// that is not a stream.
	Type string
	// Data is valid until the next event.
	Data []byte

	progressed func() // the event had content of the answer; see [IdleFactor]
}

// EventJSON is the type of the only event of an answer that is one JSON document: some
// servers ignore the request to stream.
const EventJSON = "json"

// last reports whether the event ends the stream in any of the APIs: OpenAI's [DONE],
// Anthropic's message_stop, and the final events of a response.
func (e Event) last() bool {
	switch e.Type {
	case "message_stop", "response.completed", "response.incomplete", "response.failed":
		return true
	}
	return string(e.Data) == "[DONE]"
}

// decoder reads the events of an answer, which may be one JSON document.
type decoder struct {
	body   *bufio.Reader
	events *sse.Reader // nil before the first byte
	ended  bool        // after a document
	lines  bool        // each line is a document
}

func newDecoder(r io.Reader) *decoder {
	return &decoder{body: bufio.NewReaderSize(r, readBytes)}
}

// next returns the next event, io.EOF at the end. ctx is that of the request.
func (d *decoder) next(ctx context.Context) (Event, error) {
	if d.ended {
		return Event{}, io.EOF
	}
	if d.lines {
		return d.line(ctx)
	}
	if d.events == nil {
		first, err := d.first()
		switch {
		case err != nil:
			return Event{}, err
		case first == '{' || first == '[':
			return d.document(ctx)
		case first == '<':
			return Event{}, errPage
		}
		d.events = sse.NewReader(d.body, MaxEventBytes)
		d.events.Hold = func(bytes int) error { return memory.Take(ctx, int64(bytes)) }
	}
	event, err := d.events.Next()
	return Event{Type: event.Type, Data: event.Data}, err
}

// line returns the next line that is not empty as an event.
func (d *decoder) line(ctx context.Context) (Event, error) {
	first, err := d.first()
	switch {
	case err != nil:
		return Event{}, err
	case first == '<':
		return Event{}, errPage
	}
	var line []byte
	for {
		piece, err := d.body.ReadSlice('\n')
		if len(line)+len(piece) > MaxEventBytes {
			return Event{}, errTooLong
		}
		if len(line) > 0 || errors.Is(err, bufio.ErrBufferFull) { // longer than the buffer
			if err := memory.Take(ctx, int64(len(piece))); err != nil {
				return Event{}, err
			}
		}
		line = append(line, piece...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil, err == io.EOF:
			return Event{Data: line}, nil
		default:
			return Event{}, err
		}
	}
}

// errPage is returned for an answer that is HTML.
var errPage = errors.New("an HTML page")

// first peeks at the first byte that is neither white space nor a byte order mark.
// Content types are not reliable.
func (d *decoder) first() (byte, error) {
	if mark, _ := d.body.Peek(3); string(mark) == "\uFEFF" {
		_, _ = d.body.Discard(len(mark))
	}
	for {
		b, err := d.body.ReadByte()
		if err != nil {
			return 0, err
		}
		if b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			return b, d.body.UnreadByte()
		}
	}
}

// document returns the whole answer as one event.
func (d *decoder) document(ctx context.Context) (Event, error) {
	d.ended = true
	data, err := io.ReadAll(memory.Reader(ctx, io.NopCloser(io.LimitReader(d.body, MaxEventBytes+1))))
	if err == nil && len(data) > MaxEventBytes {
		err = errTooLong
	}
	return Event{Type: EventJSON, Data: data}, err
}
