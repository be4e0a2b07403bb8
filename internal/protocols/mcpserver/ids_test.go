package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/protocols/mcpserver"
	"github.com/spiced-sql/spiced/internal/test/wait"
	"github.com/spiced-sql/spiced/tools"
)

// ids are ids that JSON-RPC allows and that a decoder to float64 or UTF-8 changes.
var ids = []string{`7`, `-3`, `1764208000000000001`, `-9007199254740993`, `1.0`, `1e3`, `0.5`, `1e400`, `"a"`, `"\u0041"`, `"\ud800"`, `"<b>"`, `"7"`}

// idOf is the id of an answer, as it was sent.
func idOf(t *testing.T, answer string) string {
	t.Helper()
	var m struct{ ID, Result json.RawMessage }
	if err := json.Unmarshal([]byte(answer), &m); err != nil || m.Result == nil {
		t.Fatalf("%s %v", answer, err)
	}
	return string(m.ID)
}

// requests are answered without the SDK, by it, and with progress.
var idRequests = []string{
	`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ida"}}}`,
	`{"jsonrpc":"2.0","id":%s,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":%s,"method":"tools/list","params":{}}`,
}

func TestIDsOverHTTP(t *testing.T) {
	session := start(t, mcpserver.Options{}, greet(t)).shake(t, "")
	for _, id := range ids {
		for _, form := range idRequests {
			request := fmt.Sprintf(form, id)
			if _, answer := session.post(request); idOf(t, answer) != id {
				t.Errorf("%s is answered by %.200s", request, answer)
			}
		}
	}
	for id, want := range map[string]string{"null": "null", "true": "true", `{"a":1}`: "an object", "[1]": "an array"} {
		for _, form := range idRequests {
			response, answer := session.post(fmt.Sprintf(form, id))
			if response.StatusCode != http.StatusBadRequest ||
				answer != `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"id must be a string or a number, got `+want+`"}}` {
				t.Errorf("id %s: %s %s", id, response.Status, answer)
			}
		}
	}
}

func TestIDsOverStdio(t *testing.T) {
	client := newLineClient(t, strings.ReplaceAll(handshake, "2025-11-25", "2025-03-26"))
	for _, id := range ids {
		for _, form := range idRequests {
			client.write(fmt.Sprintf(form, id))
			if answer := client.read(); idOf(t, answer) != id {
				t.Errorf("id %s is answered by %.200s", id, answer)
			}
			client.write("[" + fmt.Sprintf(form, id) + "]")
			if answer := client.read(); idOf(t, strings.Trim(answer, "[]")) != id {
				t.Errorf("id %s of a batch is answered by %.200s", id, answer)
			}
		}
	}
	client.write(fmt.Sprintf(idRequests[0], "{}"))
	if answer := client.read(); answer !=
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the line is not a JSON-RPC 2.0 message: id must be a string or a number, got an object"}}` {
		t.Error(answer)
	}
	client.leave()
}

// waits is a tool that runs until it is cancelled.
func waits(t testing.TB, begun, ended chan<- struct{}) tools.Tool {
	return tool(t, tools.Definition{Name: "waits", Description: "Waits."}, func(ctx context.Context, _ tools.Input) (tools.Output, error) {
		begun <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return tools.Output{}, ctx.Err()
	})
}

// TestCancelByLargeID cancels one of two calls whose ids are equal as float64.
func TestCancelByLargeID(t *testing.T) {
	begun, ended := make(chan struct{}, 2), make(chan struct{}, 2)
	session := start(t, mcpserver.Options{}, waits(t, begun, ended)).shake(t, "")
	const form = `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"waits","arguments":{}%s}}`
	for _, more := range []string{"", `,"_meta":{"progressToken":9007199254740993}`} { // without the SDK, and by it
		for _, id := range []string{"9007199254740992", "9007199254740993"} {
			answered := make(chan string, 1)
			go func() {
				_, answer := session.post(fmt.Sprintf(form, id, more))
				answered <- answer
			}()
			<-begun
			session.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
			<-ended
			wait.Until(t, "the call is answered", func() bool { return len(answered) == 1 })
		}
	}
}

// TestLargeProgressToken has progress with the token of the request.
func TestLargeProgressToken(t *testing.T) {
	session := start(t, mcpserver.Options{}, greet(t)).shake(t, "")
	for _, token := range ids {
		request := session.request(t.Context(), http.MethodPost,
			`{"jsonrpc":"2.0","id":1764208000000000001,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ida"},"_meta":{"progressToken":`+token+`}}}`)
		response, err := session.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if !strings.Contains(string(body), `"progressToken":`+token+`,`) && !strings.Contains(string(body), `"progressToken":`+token+`}`) ||
			!strings.Contains(string(body), `"id":1764208000000000001`) {
			t.Errorf("token %s: %s", token, body)
		}
	}
}

// TestSubscriptionOfLargeID has notifications with the id of the request that subscribed.
func TestSubscriptionOfLargeID(t *testing.T) {
	f := start(t, mcpserver.Options{}, greet(t))
	const body = `{"jsonrpc":"2.0","id":1764208000000000001,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"}}}}`
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url, strings.NewReader(body))
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen",
	} {
		request.Header.Set(name, value)
	}
	response, err := httpClient(t).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	next := func() string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		t.Fatal("the stream ended")
		return ""
	}
	const want = `"io.modelcontextprotocol/subscriptionId":1764208000000000001`
	if first := next(); !strings.Contains(first, want) {
		t.Error(first)
	}
	publish(t, f.registry, greet(t), point(t))
	f.server.Published()
	if changed := next(); !strings.Contains(changed, want) || !strings.Contains(changed, "list_changed") {
		t.Error(changed)
	}
}
