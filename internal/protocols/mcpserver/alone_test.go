package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/protocols/mcpserver"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// envelope is the least _meta of revision 2026-07-28.
const envelope = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"alone","version":"1"}`

// enveloped adds the envelope to the params of a request.
func enveloped(params string) string {
	if before, after, ok := strings.Cut(params, `"_meta":{`); ok {
		return before + `"_meta":{` + strings.TrimSuffix(envelope+","+after, ",") // after begins with }
	}
	return strings.Replace(params, "{", `{"_meta":{`+envelope+`},`, 1)
}

// message is a request of revision 2026-07-28.
func message(method, params string) string {
	params = strings.NewReplacer(",}", "}").Replace(enveloped(params))
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, params)
}

// alone makes a request of revision 2026-07-28, with its header.
func (f *fixture) alone(ctx context.Context, t testing.TB, method, name, body string) *http.Request {
	t.Helper()
	r := &raw{t: t, url: f.url}
	request := r.request(ctx, http.MethodPost, body)
	request.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	request.Header.Set("Mcp-Method", method)
	if name != "" {
		request.Header.Set("Mcp-Name", name)
	}
	return request
}

// TestTheSDKAnswersTheSameAlone compares the two ways as
// TestTheSDKAnswersTheSame does.
func TestTheSDKAnswersTheSameAlone(t *testing.T) {
	f := talk(t)
	client := &raw{t: t, client: httpClient(t), url: f.url}
	for _, c := range conversation {
		var named struct{ Name string }
		if err := json.Unmarshal([]byte(c.params), &named); err != nil {
			t.Fatal(err)
		}
		body := message(c.method, c.params)
		response, ours := client.do(f.alone(t.Context(), t, c.method, named.Name, body))
		special := f.alone(t.Context(), t, c.method, named.Name, body)
		special.Header.Set("Content-Type", "application/json; charset=utf-8")
		other, theirs := client.do(special)
		if response.StatusCode != other.StatusCode {
			t.Errorf("%s %s: %s, by the SDK %s", c.method, c.params, response.Status, other.Status)
		}
		if got := other.Header.Get("Content-Type"); other.StatusCode == http.StatusOK && got != "text/event-stream" {
			t.Errorf("%s: the SDK was not asked: %s", c.params, got)
		}
		if got := response.Header.Get("Content-Type"); got != "application/json" {
			t.Errorf("%s: the SDK was asked: %s", c.params, got)
		}
		if response.StatusCode == http.StatusOK && !strings.Contains(ours, `"resultType":"complete"`) {
			t.Errorf("%s: no type: %s", c.params, ours)
		}
		var a, b any
		if json.Unmarshal([]byte(ours), &a) != nil || json.Unmarshal([]byte(theirs), &b) != nil {
			t.Fatalf("no JSON: %s, %s", ours, theirs)
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("%s %s: -ours +SDK\n%s", c.method, c.params, diff)
		}
	}
}

func TestRequestsThatStandAlone(t *testing.T) {
	f := start(t, mcpserver.Options{Resources: library{}, Settings: func() mcpserver.Settings { return mcpserver.Settings{Mode: spicepod.MCPRegistry} }}, greet(t))
	client := &raw{t: t, client: httpClient(t), url: f.url}
	greetAda := message("tools/call", `{"name":"greet","arguments":{"name":"Ada"}}`)
	for _, c := range []struct {
		name, method, about, body string
		header                    map[string]string
		status                    int
		want                      string
	}{
		{"discover", "server/discover", "", message("server/discover", `{}`), nil, 200, `"supportedVersions":["2026-07-28","2025-11-25"`},
		{"instructions", "server/discover", "", message("server/discover", `{}`), nil, 200, "tool_search"},
		{"call", "tools/call", "greet", greetAda, nil, 200, "hello Ada"},
		{"a session's id is ignored", "tools/call", "greet", greetAda, map[string]string{"Mcp-Session-Id": "made-up"}, 200, "hello Ada"},
		{"an encoded name", "tools/call", "=?base64?Z3JlZXQ=?=", greetAda, nil, 200, "hello Ada"},
		{"list", "tools/list", "", message("tools/list", `{}`), nil, 200, `"cacheScope":"private"`},
		{"resources", "resources/list", "", message("resources/list", `{}`), nil, 200, `"resultType":"complete"`},
		{
			"resource", "resources/read", "spiced://datasets/sales", message("resources/read", `{"uri":"spiced://datasets/sales"}`), nil, 200,
			`"resultType":"complete"`,
		},
		{"templates", "resources/templates/list", "", message("resources/templates/list", `{}`), nil, 200, `"resultType":"complete"`},
		{"no such resource", "resources/read", "spiced://datasets/sale", message("resources/read", `{"uri":"spiced://datasets/sale"}`), nil, 400, `-32602`},
		{"no such tool", "tools/call", "gret", message("tools/call", `{"name":"gret"}`), nil, 400, `-32602`},
		{"no such tool, with progress", "tools/call", "gret", message("tools/call", `{"name":"gret","_meta":{"progressToken":1}}`), nil, 400, `-32602`},
		{"no such method", "tools/eat", "", message("tools/eat", `{}`), nil, 404, `-32601`},
		{
			"initialize", "initialize", "", message("initialize", `{"protocolVersion":"2026-07-28","capabilities":{},"clientInfo":{"name":"a","version":"1"}}`), nil,
			404, `-32601`,
		},
		{"ping", "ping", "", message("ping", `{}`), nil, 404, `-32601`},
		{"another method in the header", "tools/list", "", greetAda, nil, 400, `-32020`},
		{"no method in the header", "", "greet", greetAda, nil, 400, `-32020`},
		{"another name in the header", "tools/call", "point", greetAda, nil, 400, `-32020`},
		{"no name in the header", "tools/call", "", greetAda, nil, 400, `-32020`},
		{"no revision in the header", "tools/call", "greet", greetAda, map[string]string{"Mcp-Protocol-Version": ""}, 400, `-32020`},
		{"another revision in the header", "tools/call", "greet", greetAda, map[string]string{"Mcp-Protocol-Version": "2027-01-01"}, 400, `-32020`},
		{
			"a revision to come", "tools/call", "greet", strings.Replace(greetAda, "2026-07-28", "2027-01-01", 1),
			map[string]string{"Mcp-Protocol-Version": "2027-01-01"},
			400, `-32022`,
		},
		{"no capabilities", "tools/call", "greet", strings.Replace(greetAda, "clientCapabilities", "clientWishes", 1), nil, 400, `-32602`},
		{"no envelope", "tools/list", "", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, nil, 400, `-32602`},
		{"an unknown mode", "tools/list?mode=all", "", message("tools/list", `{}`), nil, 400, `mode is \"all\"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			method, query, _ := strings.Cut(c.method, "?")
			request := f.alone(t.Context(), t, method, c.about, c.body)
			request.URL.RawQuery = query
			for name, value := range c.header {
				request.Header.Set(name, value)
				if value == "" {
					request.Header.Del(name)
				}
			}
			response, body := client.do(request)
			if response.StatusCode != c.status || !strings.Contains(body, c.want) || response.Header.Get("Mcp-Session-Id") != "" {
				t.Errorf("%s %s; want %d with %q", response.Status, body, c.status, c.want)
			}
			if n := mcpserver.Sessions(f.server); n != 0 {
				t.Errorf("%d sessions are left", n)
			}
		})
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		request := f.alone(t.Context(), t, "", "", "")
		request.Method = method
		if response, _ := client.do(request); response.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %s", method, response.Status)
		}
	}
}

func TestScopeOfACallAlone(t *testing.T) {
	f := start(t, mcpserver.Options{Scope: func(r *http.Request) tools.Scope {
		return tools.Scope{Caller: caller.Caller{UserID: r.Header.Get("X-User")}}
	}}, scopes(t))
	client := &raw{t: t, client: httpClient(t), url: f.url}
	for _, content := range []string{"application/json", "application/json; charset=utf-8"} {
		request := f.alone(t.Context(), t, "tools/call", "scope", message("tools/call", `{"name":"scope","_meta":{"spiced/trace":"t-1"}}`))
		request.Header.Set("Content-Type", content)
		request.Header.Set("X-User", "bob")
		_, body := client.do(request)
		for _, want := range []string{`\"user\":\"bob\"`, `\"agent\":\"alone\"`, `\"request\":\"t-1\"`, `\"surface\":\"mcp\"`} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: no %s in %s", content, want, body)
			}
		}
	}
}

func TestCallAloneEndsWith(t *testing.T) {
	for name, end := range map[string]func(*fixture, context.CancelFunc){
		"the connection": func(_ *fixture, leave context.CancelFunc) { leave() },
		"the server":     func(f *fixture, _ context.CancelFunc) { f.server.Close() },
	} {
		for how, params := range map[string]string{"plain": `{"name":"wait"}`, "watched": `{"name":"wait","_meta":{"progressToken":1}}`} {
			t.Run(name+", "+how, func(t *testing.T) {
				wait, begun, ended := waiter(t)
				f := start(t, mcpserver.Options{}, wait)
				client := httpClient(t)
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				answered := make(chan struct{})
				go func() {
					defer close(answered)
					if response, err := client.Do(f.alone(ctx, t, "tools/call", "wait", message("tools/call", params))); err == nil {
						_, _ = io.Copy(io.Discard, response.Body)
						response.Body.Close()
					}
				}()
				<-begun
				end(f, leave)
				<-ended
				<-answered
			})
		}
	}
}

// listening opens the stream of changed lists.
func (f *fixture) listening(ctx context.Context, t *testing.T) (next func() string) {
	t.Helper()
	response, err := httpClient(t).Do(f.alone(ctx, t, "subscriptions/listen", "", message("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	lines := bufio.NewScanner(response.Body)
	return func() string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		return ""
	}
}

func TestListening(t *testing.T) {
	f := start(t, mcpserver.Options{}, greet(t))
	next := f.listening(t.Context(), t)
	if got := next(); !strings.Contains(got, "notifications/subscriptions/acknowledged") || !strings.Contains(got, `"toolsListChanged":true`) {
		t.Errorf("not acknowledged: %s", got)
	}
	f.server.Published() // of an equal catalog nothing is said
	publish(t, f.registry, greet(t), point(t))
	f.server.Published()
	if got := next(); !strings.Contains(got, "notifications/tools/list_changed") || !strings.Contains(got, `"io.modelcontextprotocol/subscriptionId":7`) {
		t.Errorf("no notification of the change: %s", got)
	}
	f.server.Close()
	if got := next(); !strings.Contains(got, `"resultType":"complete"`) && got != "" {
		t.Errorf("it ended with %s", got)
	}
	if n := mcpserver.Sessions(f.server); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

func TestListenersLeave(t *testing.T) {
	f := start(t, mcpserver.Options{}, greet(t))
	ctx, leave := context.WithCancel(t.Context())
	f.listening(ctx, t)()
	leave()
	f.server.Close() // waits for it
	if n := mcpserver.Sessions(f.server); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

func TestListenersAreKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{server: mcpserver.New(mcpserver.Options{Registry: registry.New(registry.Options{})}), url: "http://localhost/v1/mcp"}
		ctx, leave := context.WithCancel(t.Context())
		r := f.alone(ctx, t, "subscriptions/listen", "", message("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`))
		w, done := httptest.NewRecorder(), make(chan struct{})
		go func() { defer close(done); f.server.ServeHTTP(w, r) }()
		time.Sleep(2*time.Hour + time.Second)
		leave()
		<-done
		if n := strings.Count(w.Body.String(), ": alive"); n != 240 {
			t.Errorf("%d comments in two hours, want 240: %s", n, w.Body)
		}
		f.server.Close()
	})
}

// TestListenersTakeNoRoomOfCalls: they only wait.
func TestListenersTakeNoRoomOfCalls(t *testing.T) {
	f := start(t, mcpserver.Options{}, greet(t))
	f.listening(t.Context(), t)()
	mcpserver.Occupy(f.server, 4095)
	session := f.connect(t, "", nil)
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": "Ada"}}); err != nil {
		t.Error(err)
	}
	mcpserver.Occupy(f.server, -4095)
}

// TestListenersOverStdio has two at a time, and one ends.
func TestListenersOverStdio(t *testing.T) {
	f := start(t, mcpserver.Options{}, greet(t))
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- f.server.Serve(t.Context(), in, out) }()
	lines := bufio.NewScanner(fromServer)
	send := func(method, id, params string) {
		if id != "" {
			id = fmt.Sprintf(`"id":%q,`, id)
		}
		fmt.Fprintf(toServer, `{"jsonrpc":"2.0",%s"method":%q,"params":%s}`+"\n", id, method, params)
	}
	hears := func(parts ...string) {
		t.Helper()
		lines.Scan()
		for _, part := range parts {
			if !strings.Contains(lines.Text(), part) {
				t.Errorf("heard %s, want %s", lines.Text(), part)
			}
		}
	}
	for _, id := range []string{"first", "second"} {
		send("subscriptions/listen", id, enveloped(`{"notifications":{"toolsListChanged":true}}`))
		hears("acknowledged", id)
	}
	publish(t, f.registry, greet(t), point(t))
	f.server.Published()
	hears("tools/list_changed", "subscriptionId")
	hears("tools/list_changed", "subscriptionId")
	send("notifications/cancelled", "", `{"requestId":"second"}`)
	hears("second")
	publish(t, f.registry, greet(t))
	f.server.Published()
	hears("tools/list_changed", `"io.modelcontextprotocol/subscriptionId":"first"`)
	toServer.Close()
	go func() { _, _ = io.Copy(io.Discard, fromServer) }()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestHeaderAnnotationsAreNotShown(t *testing.T) {
	region := tool(t, tools.Definition{Name: "region", Source: "mcp:other", Parameters: json.RawMessage(
		`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"x-mcp-header":{"type":"integer","maximum":9007199254740993}}}`)}, nil)
	f := start(t, mcpserver.Options{}, region)
	_, got := (&raw{t: t, client: httpClient(t)}).do(f.alone(t.Context(), t, "tools/list", "", message("tools/list", `{}`)))
	if strings.Contains(got, `"Region"`) || !strings.Contains(got, `"x-mcp-header":{"maximum":9007199254740993,"type":"integer"}`) {
		t.Error(got)
	}
}
