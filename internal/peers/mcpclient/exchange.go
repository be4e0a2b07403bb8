package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/spiced-sql/spiced/internal/kit/rpcid"
)

// exchange is between the SDK and a server: every message passes it in both directions, whatever
// the transport. The SDK ends the session of all callers at the first message that it cannot
// decode, decodes numbers as float64, and loses a whole result for one content of an unknown type.
// So what a server answers to a request of this package does not reach the SDK: the exchange keeps
// it and gives the SDK an empty result, or an error if there is no result. What one answer lacks
// fails one request.
type exchange struct {
	mu      sync.Mutex
	waiting map[string]*pending // requests without an answer, by id as JSON
}

// pending is a request whose answer has not arrived, or has and was not taken.
type pending struct {
	empty  string // the result for the SDK; "": the one that arrives
	id     string
	result json.RawMessage
	err    error  // why there is no result
	remark string // what the server wrote meanwhile that answers nothing
	resume resumption
}

// Empty results, by method.
const (
	emptyCall = `{"content":[]}`
	emptyList = `{"tools":[]}`
)

// Errors of one request.
var (
	errTooLong = fmt.Errorf("a message has more than %d MiB", maxMessage>>20)
	errJunk    = errors.New("the server's answer is not a JSON-RPC 2.0 message")
	errCut     = errors.New("the connection ended in the middle of the answer")
)

type pendingKey struct{}

// begin returns the context of a request of the SDK whose result the exchange keeps. The caller
// must call end.
func (x *exchange) begin(ctx context.Context, empty string) (context.Context, *pending) {
	p := &pending{empty: empty}
	return context.WithValue(ctx, pendingKey{}, p), p
}

// end returns what arrived for a request: its result, or the reason why there is none, if the
// exchange knows one. Later answers are dropped.
func (x *exchange) end(p *pending) (json.RawMessage, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.waiting[p.id] == p {
		delete(x.waiting, p.id)
	}
	return p.result, p.err
}

// fields are the members of a message or a result; unlike those of a struct, their keys are
// matched case-sensitively.
type fields map[string]json.RawMessage

func (f fields) has(key string) bool { return len(f[key]) > 0 && string(f[key]) != "null" }

func (f fields) text(key string) string {
	var text string
	_ = json.Unmarshal(f[key], &text) // "" if it is another type
	return text
}

// send takes a message of the SDK and returns what the server gets; id is that of a request, ""
// for other messages.
func (x *exchange) send(ctx context.Context, message []byte) (sent []byte, id string) {
	var m fields
	if json.Unmarshal(message, &m) == nil && m.has("method") && m.has("id") {
		id = string(m["id"])
		p, _ := ctx.Value(pendingKey{}).(*pending)
		if p == nil {
			p = &pending{}
		}
		x.mu.Lock()
		if x.waiting == nil {
			x.waiting = map[string]*pending{}
		}
		p.id, x.waiting[id] = id, p
		x.mu.Unlock()
	}
	return rpcid.Restore(message), id
}

// receive takes a message of the server and returns what the SDK gets; nil: it is no message, or
// answers nothing. An error without an id belongs to the given request; if that is "", to the only
// one that waits.
func (x *exchange) receive(message []byte, request string) []byte {
	var m fields
	if json.Unmarshal(message, &m) != nil || m == nil {
		return nil
	}
	if m.has("method") { // a request or notification of the server
		protected, err := rpcid.Protect(message)
		if err == nil {
			_, err = jsonrpc.DecodeMessage(protected)
		}
		if err != nil {
			return nil
		}
		return protected
	}
	if m.has("id") || !m.has("error") {
		return x.answer(m, numberOf(m["id"]))
	}
	if request == "" {
		request = x.onlyWaiting()
	}
	if request == "" {
		x.note("an error that does not say which request failed: " + string(m["error"]))
	}
	return x.answer(m, request)
}

// note keeps what the server wrote, for the requests that wait: if one of them gets no answer, its
// error shows the last.
func (x *exchange) note(remark string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range x.waiting {
		p.remark = remark
	}
}

// onlyWaiting is the id of the request that waits, "" if there is none, or several.
func (x *exchange) onlyWaiting() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id := range x.waiting {
		if len(x.waiting) == 1 {
			return id
		}
	}
	return ""
}

// answer takes a response to the request of an id, and returns what the SDK gets.
func (x *exchange) answer(m fields, id string) []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.waiting[id]
	switch {
	case p == nil:
		return nil
	case m.has("error"):
		delete(x.waiting, id)
		return response(id, "error", errorOf(m["error"]))
	case len(m["result"]) == 0:
		return x.failed(id, errJunk)
	}
	delete(x.waiting, id)
	if p.empty == "" {
		return response(id, "result", m["result"])
	}
	p.result = m["result"]
	return response(id, "result", []byte(p.empty))
}

// fail ends the request of an id without a result, and returns what the SDK gets; nil: there is
// no such request.
func (x *exchange) fail(id string, err error) []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.failed(id, err)
}

func (x *exchange) failed(id string, err error) []byte {
	p := x.waiting[id]
	if p == nil {
		return nil
	}
	delete(x.waiting, id)
	p.err = err
	text, _ := json.Marshal(&jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()})
	return response(id, "error", text)
}

func response(id, kind string, value []byte) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"%s":%s}`, id, kind, value)
}

// numberOf is the id of a request of the SDK, which numbers them. Some servers repeat it as a
// text, or as a float.
func numberOf(id json.RawMessage) string {
	return strings.TrimSuffix(strings.Trim(string(id), `"`), ".0")
}

// errorOf is an error that the SDK can decode: of others, the text.
func errorOf(raw json.RawMessage) []byte {
	var e jsonrpc.Error
	var m fields
	if json.Unmarshal(raw, &m) == nil && json.Unmarshal(raw, &e) == nil && e.Message != "" {
		return raw
	}
	e = jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: string(raw)}
	if text := m.text("message"); text != "" {
		e.Message = text
	}
	text, _ := json.Marshal(&e) // it holds a number and a text
	return text
}

// whole takes the body of an answer to a request, which must answer it: a message, or a batch
// that has one (2025-03-26). Its error may lack the id.
func (x *exchange) whole(id string, body []byte) []byte {
	body = bytes.TrimSpace(body)
	batch := []json.RawMessage{body}
	if len(body) > 0 && body[0] == '[' {
		_ = json.Unmarshal(body, &batch) // it is junk, then
	}
	for _, one := range batch {
		var m fields
		if json.Unmarshal(one, &m) != nil || m.has("method") {
			continue
		}
		if m.has("error") && !m.has("id") || numberOf(m["id"]) == id {
			return x.answer(m, id)
		}
	}
	return x.fail(id, errJunk)
}
