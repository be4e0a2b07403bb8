package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/spiced-sql/spiced/internal/kit/rpcid"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// lines is the input of a client over stdio as the SDK reads it, which ends the session at the
// first line that is no message. So such lines do not reach it: they are answered here with the
// errors of JSON-RPC 2.0 (5.1), and the session goes on.
type lines struct {
	in      io.ReadCloser
	from    *bufio.Reader
	out     *lineWriter
	most    int         // bytes of a line
	batches func() bool // whether the client's revision has batches
	pending []byte      // checked, for the SDK
}

func newLines(in io.ReadCloser, out *lineWriter, batches func() bool) *lines {
	return &lines{in: in, from: bufio.NewReaderSize(in, 64<<10), out: out, most: maxBody, batches: batches}
}

// Close closes the input.
func (l *lines) Close() error { return l.in.Close() }

// Read reads the next messages.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.pending) == 0 {
		line, long, err := l.line()
		switch {
		case long:
			l.refuse(jsonrpc.CodeInvalidRequest, nil, fmt.Sprintf("the message has more than %d bytes", l.most))
		case len(line) > 0:
			l.take(line)
		}
		if err != nil && len(l.pending) == 0 {
			return 0, err
		}
	}
	n := copy(p, l.pending)
	l.pending = l.pending[n:]
	return n, nil
}

// line returns the next line without white space around it; long: it has too many bytes, and is
// skipped.
func (l *lines) line() (line []byte, long bool, err error) {
	for {
		part, err := l.from.ReadSlice('\n')
		if long = long || len(line)+len(part) > l.most; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), long, err
		}
	}
}

// take passes a line on if it is a message or a batch of them, or answers it.
func (l *lines) take(line []byte) {
	if !json.Valid(line) {
		l.refuse(jsonrpc.CodeParseError, nil, "the line is not JSON; a message is one line")
		return
	}
	message, err := rpcid.Protect(line)
	if err == nil && message[0] == '[' {
		l.batch(message)
		return
	}
	var decoded jsonrpc.Message
	if err == nil {
		decoded, err = jsonrpc.DecodeMessage(message)
	}
	if err != nil {
		l.refuse(jsonrpc.CodeInvalidRequest, line, "the line is not a JSON-RPC 2.0 message: "+
			truncate.Line(err.Error(), maxShown))
		return
	}
	if request, ok := decoded.(*jsonrpc.Request); ok {
		l.out.note(request)
	}
	l.pass(message)
}

// batch passes a batch on. The SDK takes two notifications of a batch for requests of one id, so
// each is passed on its own.
func (l *lines) batch(line []byte) {
	var all, rest []json.RawMessage
	_ = json.Unmarshal(line, &all) // it is a valid array
	if !l.batches() || len(all) == 0 {
		l.refuse(jsonrpc.CodeInvalidRequest, nil,
			"the line is an empty batch, or the revision of the protocol has no batches: send one message a line")
		return
	}
	seen := map[jsonrpc.ID]bool{}
	var notifications []json.RawMessage
	for _, raw := range all {
		message, err := jsonrpc.DecodeMessage(raw)
		request, ok := message.(*jsonrpc.Request)
		switch {
		case err != nil:
			l.refuse(jsonrpc.CodeInvalidRequest, nil, "the batch has an item that is not a JSON-RPC 2.0 message: "+
				truncate.Line(err.Error(), maxShown))
			return
		case ok && !request.IsCall():
			l.out.note(request)
			notifications = append(notifications, raw)
			continue
		case ok && seen[request.ID]:
			l.refuse(jsonrpc.CodeInvalidRequest, nil, "the batch has two requests of one id")
			return
		case ok:
			seen[request.ID] = true
		}
		rest = append(rest, raw)
	}
	for _, raw := range notifications {
		l.pass(raw)
	}
	if len(rest) > 0 {
		text, _ := json.Marshal(rest) // it was decoded from JSON
		l.pass(text)
	}
}

func (l *lines) pass(message []byte) {
	l.pending = append(append(l.pending, message...), '\n')
}

// refuse answers a line with an error, and with its id if it is an object that has one.
func (l *lines) refuse(code int, line []byte, message string) {
	id := json.RawMessage("null")
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) == nil && len(fields["id"]) > 0 &&
		bytes.IndexByte([]byte(`"-0123456789`), fields["id"][0]) >= 0 {
		id = fields["id"]
	}
	_, _ = l.out.Write(append(errorLine(code, id, message), '\n'))
}

// errorLine is a response with an error, for an id as JSON.
func errorLine(code int, id []byte, message string) []byte {
	text, _ := json.Marshal(message) // a string
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, text)
}

// lineWriter is an output to which each write is one line. It puts the client's ids back, and
// leaves out answers to requests that the client has cancelled (MCP 2025-11-25, basic,
// "Cancellation"), which the SDK writes. Answers to a batch are one line, and stay.
type lineWriter struct {
	io.WriteCloser
	mu        sync.Mutex
	cancelled map[jsonrpc.ID]bool // true: no answer; false: the id of a subscription, whose end is its answer
}

// maxCancelled is how many ids a lineWriter knows. Cancelled requests of more are answered.
const maxCancelled = 1000

// note notes a request, or that one is cancelled. It must run before the SDK gets the message.
func (w *lineWriter) note(r *jsonrpc.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id, known := r.ID, false
	switch {
	case r.IsCall():
		delete(w.cancelled, id)
		known = r.Method == methodListen
	case r.Method == "notifications/cancelled":
		var of struct {
			RequestID any `json:"requestId"`
		}
		_ = json.Unmarshal(r.Params, &of) // the SDK reports what is no cancellation
		id, _ = jsonrpc.MakeID(of.RequestID)
		_, subscription := w.cancelled[id]
		known = id.IsValid() && !subscription
	}
	if !known || len(w.cancelled) >= maxCancelled {
		return
	}
	if w.cancelled == nil {
		w.cancelled = map[jsonrpc.ID]bool{}
	}
	w.cancelled[id] = !r.IsCall()
}

// Write writes a line.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.cancelled) > 0 {
		message, _ := jsonrpc.DecodeMessage(bytes.TrimSpace(p)) // nil: a batch
		if response, ok := message.(*jsonrpc.Response); ok && w.cancelled[response.ID] {
			delete(w.cancelled, response.ID)
			return len(p), nil
		}
	}
	_, err := w.WriteCloser.Write(rpcid.Restore(p))
	return len(p), err
}
