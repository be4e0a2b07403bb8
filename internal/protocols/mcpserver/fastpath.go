package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/kit/memory"
	"github.com/spiced-sql/spiced/internal/kit/rpcid"
)

// The SDK passes a message through five goroutines and decodes it as often,
// which takes longer than most tools. Nearly all messages are plain calls and
// lists of an established session, or of a client without one: these are
// answered here, in the goroutine of the HTTP request, by the same handlers.
// Anything else goes to the SDK.

// message is a JSON-RPC request that is answered without the SDK.
type message struct {
	id       jsonrpc.ID // protected: see package rpcid
	method   string
	params   params
	revision string // from the header, or ""
}

// alone reports whether the request uses a revision without sessions.
func (m *message) alone() bool { return m.revision >= sessionless }

// params are the parameters of a request. Unlike a struct's fields, the keys of
// a map are matched case-sensitively.
type params map[string]json.RawMessage

// fastPath answers a POST to a session; false: the SDK must answer it. The
// request's body can then be read again.
func (s *Server) fastPath(w http.ResponseWriter, r *http.Request, sess *session) (answered bool) {
	if !plainHeader(r) {
		return false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuseBody(w, err)
		return true
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	m := plain(body, r.Header)
	if m == nil || m.method == "tools/call" && (asker{s.opts.Registry, s.log}).mayAsk(sess, m) {
		return false
	}
	ctx, cancel := s.bound(sess.in(r.Context()), sess, nil)
	defer cancel()
	if !sess.begin(m.id, cancel) {
		m.reply(w, nil, &jsonrpc.Error{
			Code:    jsonrpc.CodeInvalidRequest,
			Message: fmt.Sprintf("a request of id %v runs already", m.id.Raw()),
		})
		return true
	}
	defer sess.done(m.id)
	result, err := s.guard(m.method, func() (mcp.Result, error) { return s.dispatch(ctx, sess, m) })
	m.reply(w, result, err)
	return true
}

// plainHeader reports whether the header has nothing special.
func plainHeader(r *http.Request) bool {
	accept, revision := r.Header.Get("Accept"), r.Header.Get(headerRevision)
	if r.Method != http.MethodPost || r.Header.Get("Last-Event-Id") != "" {
		return false
	}
	acceptsBoth := strings.Contains(accept, "application/json") && strings.Contains(accept, "text/event-stream")
	return acceptsBoth && r.Header.Get("Content-Type") == "application/json" &&
		(revision == "" || slices.Contains(revisions, revision))
}

// revisions are the supported protocol revisions.
var revisions = mcp.SupportedProtocolVersions()

func refuseBody(w http.ResponseWriter, err error) {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Errorf("the message has more than %d bytes", tooLarge.Limit))
		return
	}
	if errors.Is(err, memory.ErrShort) {
		refuse(w, http.StatusTooManyRequests, err)
		return
	}
	refuse(w, http.StatusBadRequest, errors.New("the message did not arrive whole"))
}

// plain parses a tools/call or tools/list request without progress; nil:
// another request.
func plain(body []byte, header http.Header) *message {
	var fields params
	if json.Unmarshal(body, &fields) != nil || fields.text("jsonrpc") != "2.0" {
		return nil
	}
	m := &message{method: fields.text("method"), revision: header.Get(headerRevision)}
	protected, err := rpcid.ID(fields["id"])
	if err != nil {
		return nil
	}
	var id any
	_ = json.Unmarshal(protected, &id) // a string or a number
	m.id, _ = jsonrpc.MakeID(id)
	if json.Unmarshal(fields["params"], &m.params) != nil && fields["params"] != nil {
		return nil
	}
	if m.alone() && !m.announced(header) {
		return nil
	}
	if !m.dispatched(len(fields)) {
		return nil
	}
	return m
}

// fastParams are the parameters that dispatch reads, by method.
var fastParams = map[string][]string{
	"tools/call": {"name", "arguments", "_meta"},
	"tools/list": {"cursor", "_meta"},
}

// dispatched reports whether dispatch reads all of a message: a method that it has, no
// field next to jsonrpc, id, method and params, and no other param than those it reads.
func (m *message) dispatched(fields int) bool {
	read := fastParams[m.method]
	if read == nil || fields > 4 || m.method == "tools/call" && m.params.text("name") == "" {
		return false
	}
	for key, value := range m.params {
		switch {
		case !slices.Contains(read, key),
			key == "cursor" && m.params.text(key) == "",
			key == "_meta" && !m.alone() && special(value):
			return false
		}
	}
	return true
}

// special reports whether the protocol reads a request's _meta.
func special(meta json.RawMessage) bool {
	return bytes.Contains(meta, []byte("progressToken")) || bytes.Contains(meta, []byte("io.modelcontextprotocol/")) ||
		meta[0] != '{'
}

// text returns a string parameter, else "".
func (p params) text(key string) string {
	var text string
	if json.Unmarshal(p[key], &text) != nil {
		return ""
	}
	return text
}

func (s *Server) dispatch(ctx context.Context, sess *session, m *message) (mcp.Result, error) {
	if err := s.loaded(ctx); err != nil {
		return nil, err
	}
	if m.method == "tools/list" {
		return s.fastList(sess, m)
	}
	call := &mcp.CallToolParamsRaw{Name: m.params.text("name"), Arguments: m.params["arguments"]}
	_ = json.Unmarshal(m.params["_meta"], &call.Meta) // an object, or absent
	result, err := s.call(ctx, sess, &mcp.CallToolRequest{Session: sess.sdk, Params: call})
	if err == nil && m.alone() {
		meta := s.serverMeta()
		maps.Copy(meta, result.GetMeta())
		result.SetMeta(meta)
	}
	return finish(m.revision, result), err
}

// fastList answers tools/list.
func (s *Server) fastList(sess *session, m *message) (mcp.Result, error) {
	list := &mcp.ListToolsParams{Cursor: m.params.text("cursor")}
	_ = json.Unmarshal(m.params["_meta"], &list.Meta) // an object, or absent
	result, err := s.listTools(sess, &mcp.ListToolsRequest{Session: sess.sdk, Params: list})
	if page, ok := result.(*toolsPage); ok && m.alone() {
		page.ResultType = "complete"
		page.SetMeta(s.serverMeta())
	}
	return result, err
}

// serverMeta is the _meta of results for clients without a handshake.
func (s *Server) serverMeta() mcp.Meta { return mcp.Meta{mcp.MetaKeyServerInfo: s.info} }

// reply answers the request.
func (m *message) reply(w http.ResponseWriter, result mcp.Result, err error) {
	id := m.id
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	var value []byte
	if err == nil {
		value, err = encode(result)
	}
	if err != nil {
		var e *jsonrpc.Error
		if m.alone() && errors.As(err, &e) && e.Code == jsonrpc.CodeInvalidParams {
			w.WriteHeader(http.StatusBadRequest) // required by the revision
		}
		text, _ := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Error: err}) // an error always encodes
		_, _ = w.Write(rpcid.Restore(text))
		return
	}
	name, _ := json.Marshal(id.Raw()) // a string or a number
	_, _ = w.Write(slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), rpcid.Restore(name), []byte(`,"result":`), value,
		[]byte(`}`)))
}

// encode encodes a result as JSON. It concatenates the encoded tools of a page:
// validating them again takes longer than all the rest.
func encode(result mcp.Result) ([]byte, error) {
	if c, ok := result.(complete); ok {
		return c.MarshalJSON()
	}
	page, ok := result.(*toolsPage)
	if !ok {
		return json.Marshal(result)
	}
	frame := *page
	frame.Tools = []json.RawMessage{}
	text, err := json.Marshal(&frame)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimSuffix(text, []byte(`]}`)) // tools is the last field
	for i, tool := range page.Tools {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, tool...)
	}
	return append(text, `]}`...), nil
}
