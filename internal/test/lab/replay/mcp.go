package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// keyed sends a key with each request.
type keyed string

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-API-Key", string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// mcpCalls are calls of tools: a name and arguments.
var mcpCalls = []string{
	`greeting {"name": "Ann"}`, `greeting {}`, `greeting {"name": 1}`, `greeting {"nam": "Ann"}`, `greetin {}`, `people_in {"place": "Oslo"}`,
	`sql {"query": "SELECT name FROM people ORDER BY id"}`, `sql {"query": "SELEC"}`, `sql {"query": "SELECT * FROM read_csv('/etc/passwd')"}`,
	`list_datasets {}`, `tool_search {"query": "greet someone"}`, `tool_describe {"names": ["greeting"]}`, `tool_invoke {"tool_id": "greeting", "arguments": {"name": "x"}}`,
	`table_schema {"tables": ["people"]}`, `top_n_sample {"dataset": "people", "order_by": "id", "limit": 2}`, `search {"text": "Alice"}`, `refund {"order_id": 7}`, `nested {"x": {"a": 1, "b": ["x", "y"]}}`,
	`fails {"x": 5}`, `luhn_python {"number": 4539578763621486}`, `luhn_wasm {"number": 4539578763621486}`, `luhn_http {"number": 2}`, `py_rows {"n": 3}`,
	`py_fails {"n": 3}`, `refused_http {"number": 2}`, `failing_http {"number": 2}`, `files__late_trips {"minutes": 1}`, `hq__miles_to_km {"miles": 2}`,
	`hawken {"task": "call people_in {\"place\": \"Oslo\"}"}`, `lagan {"task": "no title"}`, `late_trips {"minutes": 1}`, `haversine_km {"lat1": 1, "lon1": 2, "lat2": 3, "lon2": 4}`,
	`wrong_body {}`, `hidden_tool {}`, `job {"x": 4}`,
}

// mcpSessions opens sessions over streamable HTTP and over standard input and output.
func mcpSessions(ctx context.Context, s *side) (all []exchange, err error) {
	stdio := exec.CommandContext(ctx, s.binary, "mcp", s.words["OTHER_DIR"])
	url := s.server.URL("http") + "/v1/mcp"
	for _, t := range []struct {
		name      string
		transport mcp.Transport
	}{
		{"writer", &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: keyed(writerKey)}}},
		{"reader", &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: keyed(readerKey)}}},
		{"stdio", &mcp.CommandTransport{Command: stdio}},
	} {
		session, err := mcp.NewClient(&mcp.Implementation{Name: "replay", Version: "1"}, nil).Connect(ctx, t.transport, nil)
		if err != nil {
			return nil, err
		}
		add := func(request, answer string) {
			all = append(all, exchange{t.name + ": " + request, s.mask(answer + "\n" + s.outward())})
		}
		add("initialize", jsonText(session.InitializeResult(), nil))
		for tool, err := range session.Tools(ctx, nil) {
			add("a tool", jsonText(tool, err))
		}
		for resource, err := range session.Resources(ctx, nil) {
			add("a resource", jsonText(resource, err))
			if err == nil {
				text, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: resource.URI})
				add("read "+resource.URI, jsonText(text, err))
			}
		}
		for template, err := range session.ResourceTemplates(ctx, nil) {
			add("a template", jsonText(template, err))
		}
		for prompt, err := range session.Prompts(ctx, nil) {
			add("a prompt", jsonText(prompt, err))
		}
		for _, call := range mcpCalls {
			name, arguments, _ := strings.Cut(call, " ")
			result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
			add("call "+call, jsonText(result, err))
		}
		if err := session.Close(); err != nil {
			return nil, err
		}
	}
	return all, nil
}
