package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/protocols/mcpserver"
	"github.com/spiced-sql/spiced/internal/test/golden"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// indent makes JSON readable.
func indent(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(text), "", "  "); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	b.WriteByte('\n')
	return b.Bytes()
}

func TestListGolden(t *testing.T) {
	free := tool(t, tools.Definition{
		Name: "free", Description: "Takes anything.", Source: "mcp:other", Parameters: json.RawMessage(`{"properties":{}}`),
		Returns: json.RawMessage(`{"$ref":"#/$defs/a","$defs":{"a":{}}}`),
	}, nil)
	f := start(t, mcpserver.Options{}, point(t), greet(t), free)
	golden.Equal(t, "testdata/list.json", indent(t, f.shake(t, "").ask("tools/list", "{}")))
}

// conditional is a tool that is there for one user only.
type conditional struct{ tools.Tool }

func (conditional) Unavailable(s tools.Scope) string {
	if s.UserID != "ada" {
		return "it is ada's"
	}
	return ""
}

func names(t *testing.T, session *mcp.ClientSession) []string {
	t.Helper()
	list := []string{}
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, tool.Name)
	}
	return list
}

func TestWhatIsListed(t *testing.T) {
	registryMode := func() mcpserver.Settings {
		return mcpserver.Settings{Mode: spicepod.MCPRegistry, Pinned: []string{"point", "GREET", "gone"}}
	}
	as := func(s tools.Scope) func(*http.Request) tools.Scope {
		return func(*http.Request) tools.Scope { return s }
	}
	onlyPoint := func(name string) bool { return name == "point" }
	for _, c := range []struct {
		name, query string
		options     mcpserver.Options
		want        string
	}{
		{"direct", "", mcpserver.Options{}, "greet list_datasets point"},
		{"ada sees hers", "", mcpserver.Options{Scope: as(tools.Scope{Caller: caller.Caller{UserID: "ada"}})}, "greet hers list_datasets point"},
		{"the scope hides", "", mcpserver.Options{Scope: as(tools.Scope{Visible: onlyPoint})}, "point"},
		{"registry by settings", "", mcpserver.Options{Settings: registryMode}, "greet list_datasets point tool_invoke tool_search"},
		{"registry by URL", "?mode=registry", mcpserver.Options{}, "list_datasets tool_invoke tool_search"},
		{"direct by URL", "?mode=direct", mcpserver.Options{Settings: registryMode}, "greet list_datasets point"},
		{"the scope hides pinned ones", "", mcpserver.Options{Settings: registryMode, Scope: as(tools.Scope{Visible: onlyPoint})}, "point tool_invoke tool_search"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, c.options, point(t), greet(t),
				conditional{tool(t, tools.Definition{Name: "hers"}, nil)}, tool(t, tools.Definition{Name: "list_datasets"}, nil))
			session := f.connect(t, c.query, nil)
			if diff := cmp.Diff(strings.Fields(c.want), names(t, session)); diff != "" {
				t.Error(diff)
			}
			told := session.InitializeResult().Instructions != ""
			if wants := strings.Contains(c.want, "tool_search"); told != wants {
				t.Errorf("instructions: %v, want %v", told, wants)
			}
		})
	}
}

// TestToolsWithReservedNames: in mode registry, tool_search and tool_invoke are the
// registry's own. A tool with such a name is called through tool_invoke.
func TestToolsWithReservedNames(t *testing.T) {
	theirs := tool(t, tools.Definition{Name: "tool_search"}, func(context.Context, tools.Input) (tools.Output, error) { return tools.JSON("theirs") })
	f := start(t, mcpserver.Options{Settings: func() mcpserver.Settings {
		return mcpserver.Settings{Mode: spicepod.MCPDirect, Pinned: []string{"tool_search"}}
	}}, theirs)
	for _, c := range []struct{ mode, tool, arguments, want string }{
		{"direct", "tool_search", `{}`, "theirs"},
		{"registry", "tool_search", `{"query":"x"}`, `"search_mode"`},
		{"registry", "tool_invoke", `{"tool_id":"tool_search"}`, "theirs"},
	} {
		session := f.connect(t, "?mode="+c.mode, nil)
		if got := names(t, session); len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("%s lists %s", c.mode, got)
		}
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: json.RawMessage(c.arguments)})
		if err != nil {
			t.Fatal(err)
		}
		if text := result.Content[0].(*mcp.TextContent).Text; result.IsError || !strings.Contains(text, c.want) {
			t.Errorf("%s, %s: %s", c.mode, c.tool, text)
		}
	}
}

func TestUnknownModeIsRefused(t *testing.T) {
	f := start(t, mcpserver.Options{})
	r := &raw{t: t, client: httpClient(t), url: f.url + "?mode=fast"}
	response, body := r.post(handshake)
	if response.StatusCode != http.StatusBadRequest || !strings.Contains(body, `mode is \"fast\"`) {
		t.Errorf("%s %s", response.Status, body)
	}
}

func TestListPages(t *testing.T) {
	f := start(t, mcpserver.Options{}, many(t, 5000)...)
	session := f.connect(t, "", nil)
	var sizes []int
	var all []string
	for cursor := ""; ; {
		page, err := session.ListTools(t.Context(), &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(page.Tools))
		for _, tool := range page.Tools {
			all = append(all, tool.Name)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if diff := cmp.Diff([]int{1000, 1000, 1000, 1000, 1000}, sizes); diff != "" {
		t.Error(diff)
	}
	if !slices.IsSorted(all) || len(slices.Compact(all)) != 5000 {
		t.Errorf("%d names, sorted: %v", len(all), slices.IsSorted(all))
	}
}

func TestListThatChangesBetweenPages(t *testing.T) {
	list := many(t, 2500)
	f := start(t, mcpserver.Options{}, list...)
	session := f.connect(t, "", nil)
	first, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, f.registry, list[500:]...)
	second, err := session.ListTools(t.Context(), &mcp.ListToolsParams{Cursor: first.NextCursor})
	if err != nil {
		t.Fatal(err)
	}
	if got := second.Tools[0].Name; got != "tool_01000" {
		t.Errorf("the second page begins with %s", got)
	}
}

func TestBadCursors(t *testing.T) {
	session := start(t, mcpserver.Options{Resources: library{}}, greet(t)).shake(t, "")
	for _, c := range []struct{ method, cursor string }{
		{"tools/list", "%%%"},
		{"tools/list", "cmVzb3VyY2VzOmE"}, // resources:a
		{"resources/list", "dG9vbHM6YQ"},  // tools:a
		{"resources/templates/list", "dG9vbHM6YQ"},
	} {
		got := session.ask(c.method, fmt.Sprintf(`{"cursor":%q}`, c.cursor))
		if !strings.Contains(got, `"code":-32602`) || !strings.Contains(got, "not in this list") {
			t.Errorf("%s %s: %s", c.method, c.cursor, got)
		}
	}
}
