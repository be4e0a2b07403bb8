package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/console"
	"github.com/spiced-sql/spiced/internal/protocols/mcpserver"
)

// TestViews: a client that shows views learns of each tool which one shows its results, and can read
// it; other clients see no difference. The browser's half is tested in internal/console/e2e.
func TestViews(t *testing.T) {
	if !console.Included() {
		t.Skip("built without the console")
	}
	f := start(t, mcpserver.Options{}, greet(t))
	shows := &mcp.ClientCapabilities{}
	shows.AddExtension("io.modelcontextprotocol/ui", map[string]any{"mimeTypes": []string{"text/html;profile=mcp-app"}})
	others := &mcp.ClientCapabilities{}
	others.AddExtension("io.modelcontextprotocol/ui", map[string]any{"mimeTypes": []string{"text/x-other"}})
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			session := f.connectIn(t, revision, "?mode=registry", &mcp.ClientOptions{Capabilities: shows})
			list, err := session.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			uris := map[string]string{}
			for _, tool := range list.Tools {
				if ui, ok := tool.Meta["ui"].(map[string]any); ok {
					uris[tool.Name] = ui["resourceUri"].(string)
				}
			}
			if uris["tool_search"] != "ui://spiced/search" {
				t.Errorf("views: %v", uris)
			}
			for _, uri := range uris {
				read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
				if err != nil {
					t.Fatal(err)
				}
				c := read.Contents[0]
				if c.MIMEType != "text/html;profile=mcp-app" || !strings.Contains(c.Text, `<div id="app">`) ||
					strings.Contains(c.Text, "http-equiv") || strings.Contains(c.Text, `src="/`) {
					t.Errorf("%s is %s with %d bytes", uri, c.MIMEType, len(c.Text))
				}
			}
			_, err = session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "ui://spiced/serch"})
			if err == nil || !strings.Contains(err.Error(), `did you mean "ui://spiced/search"`) {
				t.Errorf("an unknown view: %v", err)
			}
			plain := f.connectIn(t, revision, "?mode=registry", &mcp.ClientOptions{Capabilities: others})
			same, err := plain.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if text, _ := json.Marshal(same.Tools); strings.Contains(string(text), "ui://") {
				t.Errorf("a client without views: %s", text)
			}
		})
	}
}
