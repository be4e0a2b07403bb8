package mcpclient

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/memory"
)

// body is a response body of bounded size, whose end ends the request.
type body struct {
	io.ReadCloser
	release func()
}

// Close ends the request.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.release()
	return err
}

// answer is the body of an answer that is one message, as the SDK gets it.
type answer struct {
	io.ReadCloser
	exchange *exchange
	id       string
	text     io.Reader // nil before the first read
}

func (a *answer) Read(p []byte) (int, error) {
	if a.text == nil {
		a.text = bytes.NewReader(a.message())
	}
	return a.text.Read(p)
}

func (a *answer) message() []byte {
	text, err := io.ReadAll(io.LimitReader(a.ReadCloser, maxMessage+1))
	switch {
	case len(text) > maxMessage:
		return a.exchange.fail(a.id, errTooLong)
	case errors.Is(err, memory.ErrShort):
		return a.exchange.fail(a.id, memory.ErrShort)
	case err != nil:
		return a.exchange.fail(a.id, errCut)
	}
	return a.exchange.whole(a.id, text)
}

// events is a body of server-sent events, as the SDK gets them
// (https://html.spec.whatwg.org/multipage/server-sent-events.html): those that it cannot read are
// left out or, in an answer to a request, fail the request.
type events struct {
	io.ReadCloser
	lines    *bufio.Reader
	exchange *exchange
	id       string // of the request; "" for the stream of a session
	old      bool   // HTTP+SSE, where each event but the first is a message
	out      bytes.Buffer
	end      error
}

func newEvents(exchange *exchange, id string, old bool, from io.ReadCloser) *events {
	return &events{ReadCloser: from, lines: bufio.NewReaderSize(from, 16<<10), exchange: exchange, id: id, old: old}
}

func (s *events) Read(p []byte) (int, error) {
	for s.out.Len() == 0 {
		if s.end != nil {
			return 0, s.end
		}
		s.end = s.event()
	}
	return s.out.Read(p)
}

// event reads an event. Its error is that of the stream.
func (s *events) event() error {
	var e struct {
		name string
		rest bytes.Buffer // the lines that are no data
		data bytes.Buffer
	}
	var long *skim
	for skipped := 0; ; {
		line, err := s.line(maxMessage - e.data.Len() - e.rest.Len())
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch {
		case errors.Is(err, errTooLong) && s.id != "":
			s.write(s.exchange.fail(s.id, errTooLong))
			return io.EOF
		case errors.Is(err, memory.ErrShort): // only of a request: see receive
			s.write(s.exchange.fail(s.id, memory.ErrShort))
			return io.EOF
		case errors.Is(err, errTooLong):
			if long == nil {
				long = &skim{}
				_, _ = long.Write(e.data.Bytes()) // never fails
				e.data.Reset()
			}
			if err = s.skip(long, line, &skipped); err != nil {
				return err
			}
		case err != nil:
			return err
		case len(line) == 0:
			if long != nil {
				s.write(s.exchange.fail(long.answers(), errTooLong))
				return nil
			}
			if e.data.Len() > 0 || e.rest.Len() > 0 {
				s.emit(e.name, e.rest.Bytes(), e.data.Bytes())
			}
			return nil
		case string(field) == "data" && long != nil:
			_, _ = long.Write(value) // never fails
		case string(field) == "data":
			if e.data.Len() > 0 {
				e.data.WriteByte('\n')
			}
			e.data.Write(value)
		case len(field) > 0:
			if string(field) == "event" {
				e.name = string(value)
			}
			e.rest.Write(append(line, '\n'))
		}
	}
}

// line reads a line of at most so many bytes, without its end. With errTooLong it returns the
// beginning of the line.
func (s *events) line(most int) ([]byte, error) {
	var line []byte
	for {
		part, err := s.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil && len(line) <= max(most, len("\r\n")):
			return bytes.TrimRight(line, "\r\n"), nil
		case len(line) > most:
			return line, errTooLong
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// skip reads the rest of a line of data that is too long.
func (s *events) skip(to *skim, line []byte, skipped *int) error {
	_, _ = to.Write(bytes.TrimPrefix(line, []byte("data:"))) // never fails
	for !bytes.HasSuffix(line, []byte{'\n'}) {
		var err error
		line, err = s.lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		_, _ = to.Write(line) // never fails
		if *skipped += len(line); *skipped > maxSkipped {
			return errTooLong
		}
	}
	return nil
}

// emit writes an event for the SDK. Events of other names are no messages, but for the first one
// of HTTP+SSE.
func (s *events) emit(name string, rest, data []byte) {
	var message []byte
	switch {
	case name == "endpoint" && s.old:
		message = data
	case len(data) > 0 && (name == "" || name == "message"):
		message = s.exchange.receive(data, s.id)
		if message == nil && s.id != "" && !json.Valid(data) {
			message = s.exchange.fail(s.id, errJunk)
		}
	}
	if message != nil || !s.old {
		s.out.Write(rest)
		s.write(message)
	}
}

// write ends an event with a message; nil: without one.
func (s *events) write(message []byte) {
	if message != nil {
		// JSON has line breaks as white space only
		fmt.Fprintf(&s.out, "data: %s\n", bytes.ReplaceAll(message, []byte{'\n'}, []byte{' '}))
	}
	s.out.WriteByte('\n')
}

// eventStream reports whether a media type is that of server-sent events.
func eventStream(mediaType string) bool { return isType(mediaType, "text/event-stream") }

func isType(mediaType, want string) bool {
	name, _, _ := strings.Cut(mediaType, ";")
	return strings.EqualFold(strings.TrimSpace(name), want)
}
