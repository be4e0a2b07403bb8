package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/protocols/mcpserver"
	"github.com/spiced-sql/spiced/internal/test/golden"
	"github.com/spiced-sql/spiced/tools"
)

// conversation are the calls of the golden file; the SDK's answers have to be
// the same as ours.
var conversation = []struct{ method, params string }{
	{"tools/call", `{"name":"greet","arguments":{"name":"Ada"}}`},
	{"tools/call", `{"name":"greet","arguments":{"Name":"Ada"}}`},
	{"tools/call", `{"name":"greet"}`},
	{"tools/call", `{"name":"greet","arguments":[1]}`},
	{"tools/call", `{"name":"point","arguments":{},"_meta":{}}`},
	{"tools/call", `{"name":"rows"}`},
	{"tools/call", `{"name":"broken"}`},
	{"tools/call", `{"name":"gret"}`},
	{"tools/call", `{"name":"tool_invoke","arguments":{"tool_id":"greet","arguments":{"name":"Ada"}}}`},
	{"tools/call", `{"name":"tool_invoke","arguments":{"tool_id":"gret"}}`},
	{"tools/list", `{"cursor":"dG9vbHM6cG9pbnQ"}`},
	{"tools/list", `{"cursor":"nonsense"}`},
}

func talk(t *testing.T) *fixture {
	rows := tool(t, tools.Definition{Name: "rows", Returns: json.RawMessage(`{"type":"array"}`)}, func(context.Context, tools.Input) (tools.Output, error) {
		more := int64(7)
		return tools.Output{Value: json.RawMessage(`[{"a":"<1>"}]`), Rows: &tools.Rows{Returned: 1, Truncated: true, More: &more}}, nil
	})
	broken := tool(t, tools.Definition{Name: "broken"}, func(context.Context, tools.Input) (tools.Output, error) {
		return tools.Output{}, errors.New("the disk is full")
	})
	return start(t, mcpserver.Options{}, greet(t), point(t), rows, broken)
}

func TestCallGolden(t *testing.T) {
	session := talk(t).shake(t, "")
	var b strings.Builder
	for _, c := range conversation {
		fmt.Fprintf(&b, "> %s %s\n%s\n", c.method, c.params, indent(t, session.ask(c.method, c.params)))
	}
	golden.Equal(t, "testdata/call.txt", []byte(b.String()))
}

func TestTheSDKAnswersTheSame(t *testing.T) {
	session := talk(t).shake(t, "")
	for _, c := range conversation {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, c.method, c.params)
		_, ours := session.post(body)
		special := session.request(t.Context(), http.MethodPost, body)
		special.Header.Set("Content-Type", "application/json; charset=utf-8")
		response, theirs := session.do(special)
		if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("%s: the SDK was not asked: %s", c.params, got)
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

// scopes is a tool that gives the scope that it is called in.
func scopes(t testing.TB) tools.Tool {
	return tool(t, tools.Definition{Name: "scope"}, func(_ context.Context, in tools.Input) (tools.Output, error) {
		return tools.JSON(map[string]string{
			"user": in.Scope.UserID, "agent": in.Scope.Agent, "request": in.Scope.RequestID,
			"session": in.Scope.SessionID, "surface": string(in.Scope.Protocol),
		})
	})
}

func TestScopeOfACall(t *testing.T) {
	f := start(t, mcpserver.Options{Scope: func(r *http.Request) tools.Scope {
		return tools.Scope{Caller: caller.Caller{UserID: r.Header.Get("X-User")}}
	}}, scopes(t))
	session := f.connectIn(t, "2025-11-25", "", nil)
	call := func(meta mcp.Meta) map[string]string {
		t.Helper()
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "scope", Meta: meta})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		if err := json.Unmarshal([]byte(result.Content[0].(*mcp.TextContent).Text), &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	first, second := call(mcp.Meta{"spiced/trace": "t-1"}), call(nil)
	if first["agent"] != "tester" || first["surface"] != "mcp" || first["request"] != "t-1" {
		t.Errorf("%v", first)
	}
	if first["session"] == "" || first["session"] != second["session"] || first["session"] == session.ID() {
		t.Errorf("sessions %v, %v; the protocol's is %s", first, second, session.ID())
	}
	for _, bad := range []any{"", "a b", "a\n", strings.Repeat("x", 200), 7} {
		if got := call(mcp.Meta{"spiced/trace": bad})["request"]; len(got) < 20 || got == bad {
			t.Errorf("trace %v became %q", bad, got)
		}
	}
	if call(nil)["request"] == second["request"] {
		t.Error("two calls without a trace have the same")
	}
}

// TestSessionIsItsOwnersAlone uses the session of bob in hr for others, with a
// key that may name anybody, and without keys.
func TestSessionIsItsOwnersAlone(t *testing.T) {
	names := func(user, space string) http.Header { return http.Header{"X-User": {user}, "X-Space": {space}} }
	const here, gone = http.StatusOK, http.StatusNotFound
	for _, c := range []struct {
		key         string
		user, space string
		want        int
	}{
		{"backend", "bob", "hr", here},
		{"backend", "bob", "sales", gone},
		{"backend", "bob", "", gone}, // in no space
		{"backend", "ann", "hr", gone},
		{"backend", "", "hr", gone}, // for itself
		{"backend", "", "", gone},
		{"another", "bob", "hr", gone},
		{"", "bob", "hr", here},
		{"", "bob", "sales", gone},
		{"", "bob", "", here},
		{"", "ann", "hr", gone},
		{"", "", "", here},
	} {
		principal := &auth.Principal{OnBehalfOf: true} // who sends a request
		if c.key != "" {
			principal.Name = "backend"
		}
		f := start(t, mcpserver.Options{Scope: func(r *http.Request) tools.Scope {
			who, err := principal.Caller(caller.Caller{UserID: r.Header.Get("X-User"), SpaceID: r.Header.Get("X-Space")})
			if err != nil {
				t.Error(err)
			}
			return tools.Scope{Caller: who}
		}}, scopes(t))
		session := &raw{t: t, client: httpClient(t), url: f.url}
		send := func(header http.Header, body string) *http.Response {
			request := session.request(t.Context(), http.MethodPost, body)
			for name, values := range header {
				request.Header[name] = values
			}
			response, _ := session.do(request)
			return response
		}
		session.id = send(names("bob", "hr"), handshake).Header.Get("Mcp-Session-Id")
		principal.Name = c.key
		if got := send(names(c.user, c.space), `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"scope"}}`).StatusCode; got != c.want {
			t.Errorf("key %q for %q in %q: %d, want %d", c.key, c.user, c.space, got, c.want)
		}
	}
}

func TestToolOutOfScopeIsUnknown(t *testing.T) {
	f := start(t, mcpserver.Options{Scope: func(*http.Request) tools.Scope {
		return tools.Scope{Visible: func(name string) bool { return name == "point" }}
	}}, greet(t), point(t), conditional{tool(t, tools.Definition{Name: "hers"}, nil)})
	session := f.shake(t, "")
	if got := session.ask("tools/call", `{"name":"greet","arguments":{"name":"Ada"}}`); !strings.Contains(got, `"code":-32602`) {
		t.Error(got)
	}
	for _, name := range []string{"point", "POINT"} {
		if got := session.ask("tools/call", fmt.Sprintf(`{"name":%q}`, name)); !strings.Contains(got, "1.5") {
			t.Error(got)
		}
	}
}

func TestStructuredContentFitsTheOutputSchema(t *testing.T) {
	gives := func(name, returns, value string) tools.Tool {
		return tool(t, tools.Definition{Name: name, Source: tools.SourceBuiltin, Returns: json.RawMessage(returns)},
			func(context.Context, tools.Input) (tools.Output, error) {
				return tools.Output{Value: json.RawMessage(value)}, nil
			})
	}
	f := start(t, mcpserver.Options{},
		gives("number", `{"type":"number","minimum":1}`, `1.5`),
		gives("nullable", `{"type":["object","null"],"required":["x"]}`, `null`),
		gives("object", `{"type":"object","required":["x"]}`, `{"x":1}`),
		gives("list", `{"type":"array","items":{"type":"string"}}`, `["a"]`),
		gives("either", `{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `"a"`),
		gives("anything", `true`, `[1]`),
		gives("referring", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`, `{}`),
	)
	session := f.connect(t, "", nil)
	for listed, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: listed.Name})
		if err != nil || result.IsError {
			t.Errorf("%s: %v %v", listed.Name, result, err)
			continue
		}
		if (listed.OutputSchema == nil) != (listed.Name == "referring") || (result.StructuredContent == nil) != (listed.OutputSchema == nil) {
			t.Errorf("%s: schema %v, content %v", listed.Name, listed.OutputSchema, result.StructuredContent)
			continue
		}
		if listed.OutputSchema == nil {
			continue
		}
		if kind := listed.OutputSchema.(map[string]any)["type"]; kind != "object" {
			t.Errorf("%s: the schema is of type %v", listed.Name, kind)
		}
		raw, _ := json.Marshal(listed.OutputSchema)
		schema, err := tools.Compile(raw)
		if err != nil {
			t.Fatal(err)
		}
		if faults := schema.Check(result.StructuredContent); len(faults) > 0 {
			t.Errorf("%s: %s", listed.Name, tools.FaultsText(faults))
		}
	}
}

func TestRequestsAtOnceAreBounded(t *testing.T) {
	f := start(t, mcpserver.Options{}, greet(t))
	session := f.shake(t, "")
	mcpserver.Occupy(f.server, 4096)
	for _, method := range []string{"tools/list", "resources/list"} {
		if got := session.ask(method, `{}`); !strings.Contains(got, "try again") {
			t.Errorf("%s: %s", method, got)
		}
	}
	mcpserver.Occupy(f.server, -4096)
	if got := session.ask("tools/list", `{}`); !strings.Contains(got, "greet") {
		t.Error(got)
	}
}

func TestClientsNameIsMadeFit(t *testing.T) {
	f := start(t, mcpserver.Options{}, scopes(t))
	for name, want := range map[string]string{
		"tidy":                    "tidy",
		"a\u0000b\u202ec\nd":      "abcd",
		strings.Repeat("ü", 100):  strings.Repeat("ü", 64),
		strings.Repeat("x", 9000): strings.Repeat("x", 128),
	} {
		session := &raw{t: t, client: httpClient(t), url: f.url}
		encoded, _ := json.Marshal(name)
		response, _ := session.post(strings.Replace(handshake, `"raw"`, string(encoded), 1))
		session.id = response.Header.Get("Mcp-Session-Id")
		if got := session.ask("tools/call", `{"name":"scope"}`); !strings.Contains(got, `\"agent\":\"`+want+`\"`) {
			t.Errorf("%q: %s", shown(name), got)
		}
	}
}

func shown(name string) string { return name[:min(len(name), 20)] }
