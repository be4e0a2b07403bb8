package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// manyTools are more than a page of a list has.
const manyTools = 1100

// mcpPod has haversine_km, a tool that fails, one that takes very long, a
// dataset, and small functions f0, f1, ….
func mcpPod(t *testing.T, small int) string {
	var b strings.Builder
	b.WriteString(haversine(t) + `  - name: fails
    from: sql
    description: Always fails.
    signature: { args: [], returns: utf8 }
    body: "error('the ferry is late')"
  - name: slow
    from: sql
    description: Takes very long.
    signature: { args: [], returns: int64 }
    body: (SELECT count(*) FROM range(100000000000) AS t(i) WHERE i % 7 = 3)
`)
	for i := range small {
		fmt.Fprintf(&b, "  - { name: f%d, from: sql, description: Returns %d., signature: { args: [], returns: int64 }, body: %q }\n", i, i, fmt.Sprint(i))
	}
	b.WriteString("datasets:\n  - { name: towns, from: \"file:towns.csv\", description: Towns and how many people live there. }\n")
	return b.String()
}

// content is a part of a result, or a resource's text.
type content struct{ Type, Text, URI, MIMEType string }

// callResult is the result of a call, or the error that a client made of it.
type callResult struct {
	Content           []content
	StructuredContent map[string]any
	IsError           bool

	Kind, Message string
	Code          int
}

func (r callResult) text() string {
	var b strings.Builder
	for _, c := range r.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

// scriptSaw is what a script of testdata/mcp writes that uses our server.
type scriptSaw struct {
	Revision     string // the newest, or "" for one with sessions
	Server       struct{ Name, Version string }
	Capabilities struct{ Tools, Resources struct{ ListChanged bool } }
	Pages        [][]string
	Tool         struct {
		Description               string
		InputSchema, OutputSchema map[string]any
		Annotations               struct{ ReadOnlyHint bool }
	}
	Distance, Fails, Invalid, Unknown, Missing, Cancelled callResult

	Resources []struct{ Name, URI, Description string }
	Texts     []content
	Progress  int
	After     []string
}

// script runs a script with an argument.
type script func(t *testing.T, argument string) (out string, status int)

// use runs the script of a client; server says where ours is.
func use(t *testing.T, client script, dir string, server map[string]any) scriptSaw {
	t.Helper()
	server["coordinates"], server["read"] = json.RawMessage(coordinates), []string{"haversine_km", "spice.public.towns"}
	server["file"], server["text"] = filepath.Join(dir, "spicepod.yaml"), mcpPod(t, 3)
	argument, err := json.Marshal(server)
	if err != nil {
		t.Fatal(err)
	}
	out, status := client(t, string(argument))
	var saw scriptSaw
	if err := json.Unmarshal([]byte(out), &saw); err != nil || status != 0 {
		t.Fatalf("status %d, %v: %s", status, err, out)
	}
	return saw
}

// TestMCPTypeScript uses our server through both versions of the official
// client for TypeScript.
func TestMCPTypeScript(t *testing.T) {
	t.Parallel()
	npm := mcpPeers(t)
	for name, revision := range map[string]string{"client.mjs": "", "client2.mjs": "2026-07-28"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testMCPClient(t, revision, func(t *testing.T, argument string) (string, int) {
				return npm.run(t, npm.beside(t, name), argument)
			})
		})
	}
}

// testMCPClient uses our server through a client, over HTTP and over stdio.
func testMCPClient(t *testing.T, revision string, client script) {
	newPod := func(t *testing.T) string {
		return folder(t, "spicepod.yaml", mcpPod(t, manyTools), "towns.csv", read(t, "testdata/mcp/towns.csv"))
	}
	t.Run("HTTP", func(t *testing.T) {
		t.Parallel()
		dir := newPod(t)
		p := start(t, dir)
		wantSaw(t, revision, use(t, client, dir, map[string]any{"url": p.mcpURL()}))
		p.eventually("to count the cancelled call", func() bool {
			return p.sql("SELECT code, surface FROM spiced.tool_calls WHERE tool = 'slow'") == `[{"code":"cancelled","surface":"mcp"}]`
		})
	})
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		self, err := exec.LookPath("spiced")
		if err != nil {
			t.Fatal(err)
		}
		dir := newPod(t)
		wantSaw(t, revision, use(t, client, dir, map[string]any{"command": self, "args": []string{"mcp", dir}}))
	})
}

func wantSaw(t *testing.T, revision string, saw scriptSaw) {
	t.Helper()
	if saw.Revision != revision {
		t.Errorf("it speaks revision %q, want %q", saw.Revision, revision)
	}
	if saw.Server.Name != "spiced" || saw.Server.Version == "" || !saw.Capabilities.Tools.ListChanged || !saw.Capabilities.Resources.ListChanged {
		t.Errorf("it is %+v, with %+v", saw.Server, saw.Capabilities)
	}
	wantPages(t, saw.Pages)
	wantDistance(t, saw)
	wantErrors(t, saw)
	wantResources(t, saw)
	if c := saw.Cancelled; c.Kind == "" || saw.Progress < 2 {
		t.Errorf("after %d reports of progress, the call ended as %+v", saw.Progress, c)
	}
	if slices.Contains(saw.After, "f3") || !slices.Contains(saw.After, "f2") {
		t.Errorf("after the edit there are %q", saw.After)
	}
}

func wantPages(t *testing.T, pages [][]string) {
	t.Helper()
	all := slices.Concat(pages...)
	if len(pages) < 2 || len(all) < manyTools || !slices.IsSorted(all) || !slices.Contains(all, "f0") || !slices.Contains(all, "slow") {
		t.Errorf("%d pages have %d tools, sorted: %t", len(pages), len(all), slices.IsSorted(all))
	}
	if len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Error("a tool is listed twice")
	}
}

// wantDistance checks the tool of haversine_km and its call. The client has
// checked the structured content against the tool's outputSchema.
func wantDistance(t *testing.T, saw scriptSaw) {
	t.Helper()
	tool := saw.Tool
	if tool.Description == "" || tool.InputSchema["type"] != "object" || tool.OutputSchema["type"] != "object" || !tool.Annotations.ReadOnlyHint {
		t.Errorf("listed as %+v", tool)
	}
	near := func(km float64) bool { return km > 4128.09 && km < 4130.09 }
	structured := false
	for _, v := range saw.Distance.StructuredContent {
		km, ok := v.(float64)
		structured = structured || ok && near(km)
	}
	var km float64
	if err := json.Unmarshal([]byte(saw.Distance.text()), &km); err != nil || !near(km) || !structured || saw.Distance.IsError {
		t.Errorf("the distance is %+v", saw.Distance)
	}
}

func wantErrors(t *testing.T, saw scriptSaw) {
	t.Helper()
	if !saw.Fails.IsError || !strings.Contains(saw.Fails.text(), "the ferry is late") {
		t.Errorf("a tool that fails: %+v", saw.Fails)
	}
	if !saw.Invalid.IsError || !strings.Contains(saw.Invalid.text(), "lat1") {
		t.Errorf("invalid arguments: %+v", saw.Invalid)
	}
	const invalidParams = -32602
	if u := saw.Unknown; u.Code != invalidParams || !strings.Contains(u.Message, "haversine_km") {
		t.Errorf("an unknown tool: %+v", u)
	}
	if m := saw.Missing; saw.Revision != "" && (m.Code != invalidParams || !strings.Contains(m.Message, "spiced://functions/nothing")) {
		t.Errorf("an unknown resource: %+v", m)
	}
}

func wantResources(t *testing.T, saw scriptSaw) {
	t.Helper()
	towns := slices.ContainsFunc(saw.Texts, func(c content) bool { return strings.Contains(c.Text, "people") && c.MIMEType != "" })
	function := slices.ContainsFunc(saw.Texts, func(c content) bool { return strings.Contains(c.Text, "Great-circle distance") })
	if !towns || !function {
		t.Errorf("the resources are %+v", saw.Resources)
	}
}
