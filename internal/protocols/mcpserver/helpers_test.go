package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/internal/protocols/mcpserver"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type call = func(context.Context, tools.Input) (tools.Output, error)

// tool makes a tool, or fails the test. Without a call it gives "done".
func tool(t testing.TB, def tools.Definition, f call) tools.Tool {
	t.Helper()
	if def.Source == "" {
		def.Source = tools.SourceFunction
	}
	if f == nil {
		f = func(context.Context, tools.Input) (tools.Output, error) { return tools.JSON("done") }
	}
	made, err := tools.New(def, f)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

const greetSchema = `{"type":"object","properties":{"name":{"type":"string","description":"Whom to greet"}},"required":["name"],"additionalProperties":false}`

// greet says hello.
func greet(t testing.TB) tools.Tool {
	return tool(t, tools.Definition{
		Name: "greet", Description: "Says hello to a person.", Owner: "hawken",
		Parameters: json.RawMessage(greetSchema), Returns: json.RawMessage(`{"type":"string"}`),
		Annotations: tools.Annotations{ReadOnly: true, Idempotent: true},
	}, func(_ context.Context, in tools.Input) (tools.Output, error) {
		return tools.JSON(fmt.Sprintf("hello %s", in.Arguments["name"]))
	})
}

// point gives an object.
func point(t testing.TB) tools.Tool {
	return tool(t, tools.Definition{
		Name: "point", Description: "Gives a point.", Source: tools.SourceBuiltin,
		Returns: json.RawMessage(`{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]}`),
	}, func(context.Context, tools.Input) (tools.Output, error) {
		return tools.Output{Value: json.RawMessage(`{"x":1.5}`), Rows: &tools.Rows{Returned: 1, Truncated: true}}, nil
	})
}

// many makes n tools with schemas.
func many(t testing.TB, n int) []tools.Tool {
	list := make([]tools.Tool, n)
	for i := range list {
		list[i] = tool(t, tools.Definition{
			Name: fmt.Sprintf("tool_%05d", i), Description: "Says hello to a person, as often as it is asked to.",
			Parameters: json.RawMessage(greetSchema), Returns: json.RawMessage(`{"type":"string"}`),
		}, nil)
	}
	return list
}

// publish makes list what r serves.
func publish(t testing.TB, r *registry.Registry, list ...tools.Tool) {
	t.Helper()
	generation := r.Current().Generation + 1
	catalog, err := registry.NewCatalog(r.Current(), registry.Contents{Generation: generation, Tools: list, Search: search.Default()})
	if err != nil {
		t.Fatal(err)
	}
	r.Publish(catalog)
}

// fixture is a server over a registry.
type fixture struct {
	registry *registry.Registry
	usage    *usage.Recorder
	server   *mcpserver.Server
	url      string
}

// start serves the tools over HTTP on 127.0.0.1.
func start(t testing.TB, o mcpserver.Options, list ...tools.Tool) *fixture {
	t.Helper()
	recorder, err := usage.Open(usage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { recorder.Close() })
	f := &fixture{registry: registry.New(registry.Options{Usage: recorder}), usage: recorder}
	publish(t, f.registry, list...)
	o.Registry, o.Version = f.registry, "1.2.3"
	f.server = mcpserver.New(o)
	listener := httptest.NewServer(f.server)
	t.Cleanup(listener.Close)
	t.Cleanup(f.server.Close)
	f.url = listener.URL + "/v1/mcp"
	return f
}

// connect makes a session of the SDK's client, in the newest revision, with that
// query in its URL.
func (f *fixture) connect(t testing.TB, query string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	return f.connectIn(t, "2026-07-28", query, o)
}

// connectIn is connect in a revision of the protocol.
func (f *fixture) connectIn(t testing.TB, revision, query string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	transport := &mcp.StreamableClientTransport{Endpoint: f.url + query, HTTPClient: httpClient(t), MaxRetries: -1}
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, o)
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	if got := session.InitializeResult().ProtocolVersion; got != revision {
		t.Fatalf("revision %s, want %s", got, revision)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func httpClient(t testing.TB) *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

const handshake = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// raw is a session without the SDK.
type raw struct {
	t      testing.TB
	client *http.Client
	url    string
	id     string
}

// shake makes a raw session.
func (f *fixture) shake(t testing.TB, query string) *raw {
	t.Helper()
	r := &raw{t: t, client: httpClient(t), url: f.url + query}
	response, body := r.post(handshake)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("initialize: %s: %s", response.Status, body)
	}
	r.id = response.Header.Get("Mcp-Session-Id")
	return r
}

// request makes a request of the session.
func (r *raw) request(ctx context.Context, method, body string) *http.Request {
	request, err := http.NewRequestWithContext(ctx, method, r.url, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if r.id != "" {
		request.Header.Set("Mcp-Session-Id", r.id)
		request.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	return request
}

// do sends a request and returns the data of the answer's one event, or its
// body.
func (r *raw) do(request *http.Request) (*http.Response, string) {
	r.t.Helper()
	response, err := r.client.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, data, ok := strings.Cut(string(body), "data: "); ok {
		return response, strings.TrimSpace(data)
	}
	return response, string(body)
}

func (r *raw) post(body string) (*http.Response, string) {
	r.t.Helper()
	return r.do(r.request(r.t.Context(), http.MethodPost, body))
}

// ask makes a request of that method and returns its whole answer.
func (r *raw) ask(method, params string) string {
	r.t.Helper()
	_, body := r.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, params))
	return body
}
