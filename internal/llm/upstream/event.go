package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
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
//
// The decoder of the OpenAI client drops the last event of a stream that ends without
// an empty line, and does not bound multi-line data. Lines end as in the WHATWG HTML
// standard, 9.2.6, except that a lone CR, which no provider sends, does not end a line.
type decoder struct {
	lines *bufio.Reader
	long  []byte // a line longer than the buffer
	data  []byte
	typ   string // of the last event that had one
	began bool
	ended bool
}

func newDecoder(r io.Reader) *decoder {
	return &decoder{lines: bufio.NewReaderSize(r, readBytes)}
}

// next returns the next event, io.EOF at the end.
func (d *decoder) next() (Event, error) {
	if !d.began {
		d.began = true
		first, err := d.first()
		switch {
		case err != nil:
			return Event{}, err
		case first == '{' || first == '[':
			return d.document()
		case first == '<':
			return Event{}, errPage
		}
	}
	return d.event()
}

// errPage is returned for an answer that is HTML.
var errPage = errors.New("an HTML page")

// first peeks at the first byte that is neither white space nor a byte order mark.
// Content types are not reliable.
func (d *decoder) first() (byte, error) {
	if mark, _ := d.lines.Peek(3); string(mark) == "\uFEFF" {
		_, _ = d.lines.Discard(len(mark))
	}
	for {
		b, err := d.lines.ReadByte()
		if err != nil {
			return 0, err
		}
		if b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			return b, d.lines.UnreadByte()
		}
	}
}

// document returns the whole answer as one event.
func (d *decoder) document() (Event, error) {
	d.ended = true
	data, err := io.ReadAll(io.LimitReader(d.lines, MaxEventBytes+1))
	if err == nil && len(data) > MaxEventBytes {
		err = errTooLong
	}
	return Event{Type: EventJSON, Data: data}, err
}

// event reads lines up to the empty line, or the end of the stream, that ends an event
// with data.
func (d *decoder) event() (Event, error) {
	d.data = d.data[:0]
	typed, filled := false, false
	for !d.ended {
		line, err := d.line()
		if err != nil && err != io.EOF {
			return Event{}, err
		}
		d.ended = err == io.EOF
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0:
			if filled {
				return d.filled(typed), nil
			}
			typed = false
		case string(name) == "event":
			typed = len(value) > 0
			if string(value) != d.typ {
				d.typ = string(value)
			}
		case string(name) == "data":
			if len(d.data)+len(value) >= MaxEventBytes {
				return Event{}, errTooLong
			}
			if filled {
				d.data = append(d.data, '\n')
			}
			d.data = append(d.data, value...)
			filled = true
		}
	}
	if filled {
		return d.filled(typed), nil
	}
	return Event{}, io.EOF
}

func (d *decoder) filled(typed bool) Event {
	if !typed {
		return Event{Data: d.data}
	}
	return Event{Type: d.typ, Data: d.data}
}

// line returns the next line without its terminator; with io.EOF it is the last one.
func (d *decoder) line() ([]byte, error) {
	line, err := d.lines.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		d.long = d.long[:0]
		for err == bufio.ErrBufferFull && len(d.long) <= MaxEventBytes {
			d.long = append(d.long, line...)
			line, err = d.lines.ReadSlice('\n')
		}
		d.long = append(d.long, line...)
		line = d.long
	}
	if err == bufio.ErrBufferFull || len(line) > MaxEventBytes+len("data: \r\n") {
		return nil, errTooLong
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), err
}
