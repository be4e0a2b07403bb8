package main

import (
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMCPResourcesHaveNoHiddenFunctions: as_tool: false hides a function from models, and
// so from MCP clients; a table function, which is a tool only with as_tool: true, is listed.
func TestMCPResourcesHaveNoHiddenFunctions(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", podHead+`functions:
  - { name: shown, from: sql, signature: { args: [], returns: int64 }, body: '1' }
  - { name: secret, from: sql, as_tool: false, signature: { args: [], returns: int64 }, body: '2' }
  - { name: rows, kind: table, from: sql, signature: { args: [], returns: [{ name: x, type: int64 }] }, body: 'SELECT 1 AS x' }
`))
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: p.mcpURL()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	var listed []string
	for r, err := range session.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, r.URI)
	}
	if want := []string{"spiced://functions/rows", "spiced://functions/shown"}; !slices.Equal(slices.Sorted(slices.Values(listed)), want) {
		t.Errorf("listed %q, want %q", listed, want)
	}
	if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "spiced://functions/shown"}); err != nil {
		t.Error(err)
	}
	if r, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "spiced://functions/secret"}); err == nil {
		t.Errorf("the hidden function is read: %v", r.Contents[0].Text)
	}
}
