package mcpserver_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/memory"
	"github.com/spiced-sql/spiced/internal/protocols/mcpserver"
	"github.com/spiced-sql/spiced/registry"
)

func TestProtocolErrors(t *testing.T) {
	f := start(t, mcpserver.Options{}, greet(t))
	for _, c := range []struct {
		name, method, body string
		header             map[string]string
		status             int
		want               string
	}{
		{"no JSON", "POST", "{", nil, 400, "malformed"},
		{"empty", "POST", "", nil, 400, "non-empty"},
		{"unknown method", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/eat"}`, nil, 400, "tools/eat"},
		{"a number for params", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":7}`, nil, 200, "-32602"},
		{"no name", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, nil, 200, "-32602"},
		{"a number for a name", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`, nil, 200, "-32602"},
		{"a call without an id", "POST", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"greet"}}`, nil, 400, "missing id"},
		{"an object for an id", "POST", `{"jsonrpc":"2.0","id":{},"method":"tools/list"}`, nil, 400, "id must be a string or a number, got an object"},
		{"another method's case", "POST", `{"jsonrpc":"2.0","id":1,"Method":"tools/list"}`, nil, 202, ""},
		{"batch", "POST", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, nil, 400, "batching"},
		{
			"batch of old", "POST", `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/list"}]`,
			map[string]string{"Mcp-Protocol-Version": "2025-03-26"},
			200, "result",
		},
		{"a long id", "POST", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 5000) + `","method":"tools/list"}`, nil, 200, "greet"},
		{"unknown session", "POST", ping, map[string]string{"Mcp-Session-Id": "made-up"}, 404, "session"},
		{"unknown revision", "POST", ping, map[string]string{"Mcp-Protocol-Version": "2020-01-01"}, 400, "supported versions"},
		{"sessionless revision", "POST", ping, map[string]string{"Mcp-Protocol-Version": "2026-07-28"}, 400, "-32602"},
		{"text", "POST", ping, map[string]string{"Content-Type": "text/plain"}, 415, "application/json"},
		{"does not accept", "POST", ping, map[string]string{"Accept": "text/html"}, 400, "Accept"},
		{"PUT", "PUT", ping, nil, 405, ""},
		{"too large for us", "POST", `{"x":"` + strings.Repeat(" ", 32<<20) + `"}`, nil, 413, "33554432"},
		{
			"too large for the SDK", "POST", `{"x":"` + strings.Repeat(" ", 32<<20) + `"}`,
			map[string]string{"Content-Type": "application/json; charset=utf-8"},
			413,
			"33554432",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			session := f.shake(t, "")
			request := session.request(t.Context(), c.method, c.body)
			for name, value := range c.header {
				request.Header.Set(name, value)
			}
			response, body := session.do(request)
			if response.StatusCode != c.status || !strings.Contains(body, c.want) {
				t.Errorf("%s %s; want %d with %q", response.Status, body, c.status, c.want)
			}
		})
	}
}

func FuzzPost(f *testing.F) {
	for _, seed := range conversation {
		f.Add(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, seed.method, seed.params), "2025-11-25")
	}
	f.Add(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}]`, "2025-03-26")
	f.Add(`{"jsonrpc":"2.0","id":1.5,"method":"tools/list","params":{"_meta":{"progressToken":[]}}}`, "")
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","_meta":{"progressToken":1.5}}}`, "")
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"spiced://datasets/%"}}`, "")
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/resource"},"argument":{"name":"name"}}}`, "")
	f.Add(`{"jsonrpc":"2.0","id":1,"result":{}}`, "")
	f.Add(handshake, "")
	r := registry.New(registry.Options{})
	publish(f, r, greet(f), point(f))
	s := mcpserver.New(mcpserver.Options{Registry: r, Resources: library{}})
	f.Cleanup(s.Close)
	f.Fuzz(func(t *testing.T, body, revision string) {
		id := recorded(s, "", handshake).Header().Get("Mcp-Session-Id")
		request := httptest.NewRequest(http.MethodPost, "http://localhost/v1/mcp", strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		request.Header.Set("Mcp-Session-Id", id)
		request.Header.Set("Mcp-Protocol-Version", revision)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, request)
		if w.Code >= 500 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if w := recorded(s, id, ping); w.Code != http.StatusOK {
			t.Errorf("the session is broken: %d %s", w.Code, w.Body)
		}
	})
}

// short is a body for which there is no memory.
type short struct{}

func (short) Read([]byte) (int, error) { return 0, memory.ErrShort }

// TestMessagesWithoutMemory are refused with the status that asks to try again, in a session, at
// its begin and alone.
func TestMessagesWithoutMemory(t *testing.T) {
	f := start(t, mcpserver.Options{}, greet(t))
	for name, header := range map[string]map[string]string{
		"in a session": {"Mcp-Session-Id": f.shake(t, "").id},
		"at its begin": {},
		"alone":        {"Mcp-Protocol-Version": "2026-07-28"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/mcp", short{})
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for key, value := range header {
			r.Header.Set(key, value)
		}
		w := httptest.NewRecorder()
		f.server.ServeHTTP(w, r)
		if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), memory.ErrShort.Error()) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}
