package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/internal/test/full"
	"github.com/spiced-sql/spiced/internal/test/pypitest"
)

// behaviorPython is the example of jazzmine's documentation.
const behaviorPython = `from jazzmine.core.tools import tool, ToolParameter, ToolResponse, registry, SandboxConfig

# 1. Define a sandbox environment
registry.register_sandbox(SandboxConfig(
    name="analytics",
    dependencies=["numpy"],
    secrets=["DB_URL"]
))

# 2. Define a complex tool
@tool(
    description="Analyze user behavior data.",
    parameters=[
        ToolParameter("user_id", "str", "Unique user identifier", required=True)
    ],
    dependencies=["pandas"],  # Tool-specific dep
    secrets=["ANALYTICS_TOKEN"],  # Tool-specific secret
    sandbox="analytics"
)
async def analyze_behavior(user_id: str) -> ToolResponse:
    import pandas as pd  # Imports must happen inside the function
    import os
    token = os.environ.get("ANALYTICS_TOKEN")
    # Logic goes here...
    return ToolResponse(success=True, data={"score": 0.85})

# 3. Use the registry to build a prompt
prompt = registry.build_tools_prompt("analytics")
`

const behaviorPod = podHead + `sandboxes:
  - { name: analytics, dependencies: [numpy], secrets: [DB_URL] }
functions:
  - name: analyze_behavior
    from: exec
    sandbox: analytics
    description: Analyze user behavior data.
    dependencies: [pandas]
    secrets: [ANALYTICS_TOKEN]
    signature:
      args: [{ name: user_id, type: utf8, description: Unique user identifier }]
      returns: "struct<score: float64>"
    body_ref: behavior.py
models:
  - name: helper
    from: openai:gpt-test
    params: { endpoint: "MODEL_URL/v1", openai_api_key: sk-live-0123456789, max_retries: 0, tools: auto }
`

// analyzing is a model that calls the tool and repeats its result.
func analyzing(r chattest.Request) chattest.Answer {
	if result, ok := r.Results["call_1"]; ok {
		return chattest.Say(chattest.Text(result))
	}
	return chattest.Say(chattest.Call("call_1", "analyze_behavior", `{"user_id": "u-1"}`))
}

// TestTheExampleOfJazzmine: its function, unchanged, has one result in SQL, chats, MCP and HTTP.
// The packages come from an index of this test; internal/bodies/environment installs the real ones.
func TestTheExampleOfJazzmine(t *testing.T) {
	full.Need(t, "pip takes seconds for each environment")
	needsIsolation(t)
	x := pypitest.New(t)
	x.Add("numpy", "2.0", map[string]string{"numpy.py": ""})
	x.Add("pandas", "2.3", map[string]string{"pandas.py": "import numpy\n"}, "numpy")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("DB_URL", "postgres://db")
	t.Setenv("ANALYTICS_TOKEN", "tok-0123456789")
	model := startModel(t)
	model.Script(analyzing)
	dir := folder(t, "spicepod.yaml", strings.Replace(behaviorPod, "MODEL_URL", model.URL, 1), "behavior.py", behaviorPython)
	if status, out := spiced(t, "sandbox", "build", "--dir", dir); status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	p := start(t, dir)
	const want = `{"score":0.85}`

	if got := p.sql("SELECT analyze_behavior('u-1') AS b"); got != `[{"b":`+want+`}]` {
		t.Errorf("SQL: %s", got)
	}
	if got := p.call("analyze_behavior", `{"user_id":"u-1"}`); !got.OK || string(got.Result) != want {
		t.Errorf("HTTP: %+v %s", got.Error, got.Result)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: p.mcpURL()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "analyze_behavior", Arguments: map[string]any{"user_id": "u-1"}})
	if err != nil || result.IsError || !strings.Contains(result.Content[0].(*mcp.TextContent).Text, want) {
		t.Errorf("MCP: %+v %v", result, err)
	}
	got, err := askOpenAI(p, question{model: "helper", text: "How does u-1 behave?"})
	if err != nil || !sameJSON(got.text, want) {
		t.Errorf("chat: %q %v", got.text, err)
	}
	if body := p.do("GET", "/v1/tools?format=xml&sandbox=analytics", "").body; !strings.Contains(body, "<name>analyze_behavior</name>") ||
		!strings.Contains(body, "Unique user identifier") {
		t.Errorf("the prompt: %s", body)
	}
}

// sameJSON reports whether two texts are the same JSON value.
func sameJSON(a, b string) bool {
	var one, two any
	if json.Unmarshal([]byte(a), &one) != nil || json.Unmarshal([]byte(b), &two) != nil {
		return false
	}
	first, _ := json.Marshal(one)
	second, _ := json.Marshal(two)
	return string(first) == string(second)
}
