// Package sse reads server-sent events (WHATWG HTML Living Standard, 9.2.6).
//
//	events := sse.NewReader(bufio.NewReader(res.Body), 1<<20)
//	for {
//		event, err := events.Next()
//		if err == io.EOF {
//			break
//		}
//		...
//	}
//
// Two differences from the standard suit the streams of model providers: an event at the end
// counts without the empty line after it, and a lone CR, which no provider sends, does not end a
// line.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ErrTooLong is returned for an event that exceeds the limit.
var ErrTooLong = errors.New("the event is too long")

// Event is an event with data.
type Event struct {
	Type string // its name, "" if it has none
	Data []byte // valid until the next event
}

// Reader reads the events of a stream. Comments and events without data are skipped.
type Reader struct {
	lines *bufio.Reader
	most  int    // bytes of one event's data
	long  []byte // a line longer than the buffer
	data  []byte
	typ   string // of the last event that had one, so that a name that repeats is not copied
	ended bool

	// Hold is called before the reader holds so many more bytes of one event; its error is that
	// of Next. Nil: it may hold as many as an event may have.
	Hold func(bytes int) error
	held int
}

// NewReader returns a reader of events with at most so many bytes of data each.
func NewReader(r *bufio.Reader, most int) *Reader { return &Reader{lines: r, most: most} }

// Next returns the next event. Its error is io.EOF at the end, [ErrTooLong], or that of the stream.
func (r *Reader) Next() (Event, error) {
	r.data = r.data[:0]
	typed, filled := false, false
	for !r.ended {
		line, err := r.line()
		if err != nil && err != io.EOF {
			return Event{}, err
		}
		r.ended = err == io.EOF
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0:
			if filled {
				return r.event(typed), nil
			}
			typed = false
		case string(name) == "event":
			typed = len(value) > 0
			if string(value) != r.typ {
				r.typ = string(value)
			}
		case string(name) == "data":
			if len(r.data)+len(value) >= r.most {
				return Event{}, ErrTooLong
			}
			if filled {
				r.data = append(r.data, '\n')
			}
			if err := r.hold(len(r.data) + len(value)); err != nil {
				return Event{}, err
			}
			r.data = append(r.data, value...)
			filled = true
		}
	}
	if filled {
		return r.event(typed), nil
	}
	return Event{}, io.EOF
}

func (r *Reader) event(typed bool) Event {
	if !typed {
		return Event{Data: r.data}
	}
	return Event{Type: r.typ, Data: r.data}
}

// line returns the next line without its terminator; with io.EOF it is the last one.
func (r *Reader) line() ([]byte, error) {
	line, err := r.lines.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		r.long = r.long[:0]
		for err == bufio.ErrBufferFull && len(r.long) <= r.most {
			if err := r.hold(len(r.long) + len(line)); err != nil {
				return nil, err
			}
			r.long = append(r.long, line...)
			line, err = r.lines.ReadSlice('\n')
		}
		r.long = append(r.long, line...)
		line = r.long
	}
	if err == bufio.ErrBufferFull || len(line) > r.most+len("data: \r\n") {
		return nil, ErrTooLong
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), err
}

// hold reports that an event has so many bytes.
func (r *Reader) hold(bytes int) error {
	if r.Hold == nil || bytes <= r.held {
		return nil
	}
	more := bytes - r.held
	r.held = bytes
	return r.Hold(more)
}
