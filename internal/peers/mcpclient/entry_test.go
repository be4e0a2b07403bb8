package mcpclient_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/peers/mcpclient"
	"github.com/spiced-sql/spiced/spicepod"
)

func TestEntriesThatCannotServe(t *testing.T) {
	for from, want := range map[string]string{
		"from: 'mcp:'":                                               "5:21: tool x: Invalid MCP directive 'from: mcp:' (write mcp:<command>",
		"from: 'mcp:ftp://host'":                                     "Invalid MCP directive 'from: mcp:ftp://host'",
		"from: 'mcp:npx -y pkg'":                                     `(write mcp:npx, and "-y pkg" in params.mcp_args)`,
		"from: 'mcp:http://user:pass@host/'":                         "(leave user and fragment out; the key goes to params.mcp_auth_token)",
		"from: 'mcp:https://'":                                       "Invalid MCP directive 'from: mcp:…'",
		"from: 'mcp:npx', params: {mcp_arg: a}":                      `unknown param "mcp_arg" of an MCP server from a command (did you mean "mcp_args"?`,
		"from: 'mcp:npx', params: {mcp_auth_token: a}":               "(known here: mcp_args)",
		"from: 'mcp:npx', params: {mcp_args: '\"a'}":                 "params.mcp_args: a quote, \", is not closed",
		"from: 'mcp:npx', params: {mcp_args: [a]}":                   "params.mcp_args takes text, not a list",
		"from: 'mcp:npx', as_sql: true, params: {x: 1}":              "a server is not a SQL function; write an entry for each of its tools",
		"from: 'mcp:npx', env: {'A=B': c}":                           `"A=B" is not a name for an environment variable`,
		"from: 'mcp:http://h/', params: {mcp_headers: nothing}":      "params.mcp_headers: the first header has no name and colon",
		"from: 'mcp:http://h/', params: {mcp_headers: 'host: x'}":    "params.mcp_headers: the protocol sets Host itself",
		"from: 'mcp:http://h/', params: {mcp_auth_token: \"a\\nb\"}": "params.mcp_auth_token holds a character that no header may hold",
	} {
		t.Run(from, func(t *testing.T) {
			w := newWorld(t)
			servers, problems := w.Prepare(t.Context(), w.pod("  - {name: x, "+from+"}\n"))
			if len(servers) != 0 || !problems.HasErrors() || !strings.Contains(problems[0].Error(), want) {
				t.Errorf("%d servers, %q, want %q", len(servers), problems[0].Error(), want)
			}
		})
	}
}

func TestTokenGoesBeforeHeaders(t *testing.T) {
	s := newSite(t, streamable(t, nil))
	w := newWeb(t)
	_, problems := w.Prepare(t.Context(), w.pod(s.entry("params: {mcp_auth_token: t, mcp_headers: 'Authorization: Basic x'}")))
	if len(problems) != 1 || problems[0].Severity != spicepod.Warning || !strings.Contains(problems[0].Message, "its Authorization is not sent") {
		t.Error(problems)
	}
}

func TestSplitArgs(t *testing.T) {
	for line, want := range map[string][]string{
		"":                    nil,
		" -y  a\tb\n":         {"-y", "a", "b"},
		`"a b" 'c "d"' e"f"g`: {"a b", `c "d"`, "efg"},
		`"" ''`:               {"", ""},
		`"a\"b\\c\n" C:\x`:    {`a"b\c\n`, `C:\x`},
	} {
		got, err := mcpclient.SplitArgs(line)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q %v, want %q", line, got, err, want)
		}
	}
}

func TestBackoff(t *testing.T) {
	var want []time.Duration
	for _, s := range []time.Duration{1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 60, 60} {
		want = append(want, s*time.Second)
	}
	if diff := cmp.Diff(want, mcpclient.Backoffs(len(want))); diff != "" {
		t.Error(diff)
	}
}

// approvals are checksums by tool.
type approvals map[string]string

func (a approvals) Check(_ string, sums map[string]string) (changed, unknown []string) {
	for name, sum := range sums {
		switch a[name] {
		case sum:
		case "":
			unknown = append(unknown, name)
		default:
			changed = append(changed, name)
		}
	}
	return changed, unknown
}

func TestPin(t *testing.T) {
	list := approvals{}
	w := newWorld(t, func(o *mcpclient.Options) {
		o.Approved = func(string) (mcpclient.Approvals, error) {
			if list == nil {
				return nil, errors.New("the list is broken")
			}
			return list, nil
		}
	})
	prepare := func() (*mcpclient.Server, spicepod.Problems) {
		servers, problems := w.Prepare(t.Context(), w.pod(command("s", "sdk", "pin: checksum")))
		w.Publish(servers)
		return servers[0], problems
	}
	s, problems := prepare()
	if len(s.Tools()) != 0 || len(problems) != 1 || !problems.HasErrors() || problems[0].Component != "tool s" ||
		!strings.Contains(problems[0].Error(), "they were never approved") || !strings.Contains(problems[0].Hint, "spiced mcp pin") {
		t.Error(problems)
	}
	for _, l := range s.Listed() {
		list[l.Name] = l.Checksum
	}
	list["word"] = "of another text"
	s, problems = prepare()
	if len(s.Tools()) != len(s.Listed())-1 || len(problems) != 1 || !strings.Contains(problems[0].Message, `they changed since they were approved: "word"`) {
		t.Errorf("%d tools, %v", len(s.Tools()), problems)
	}
	list = nil
	if s, problems = prepare(); len(s.Tools()) != 0 || !problems.HasErrors() || !strings.Contains(problems[0].Message, "the list is broken") {
		t.Error(problems)
	}
}

// TestPinCoversAnnotations is the input of the finding: a pinned server adds readOnlyHint, and
// its tool no longer needs the approval of tool.risk != 'read'.
func TestPinCoversAnnotations(t *testing.T) {
	list := approvals{}
	l := &lister{}
	l.list(plainTool("wipe", `,"title":"Wipe","description":"Wipes a disk."`))
	s := newSite(t, l)
	w := newWeb(t, func(o *mcpclient.Options) {
		o.Approved = func(string) (mcpclient.Approvals, error) { return list, nil }
	})
	servers, _ := w.Prepare(t.Context(), w.pod(s.entry()))
	list["wipe"] = servers[0].Listed()[0].Checksum
	for more, offered := range map[string]int{
		`,"title":"Wipe","description":"Wipes a disk."`:                                         1,
		`,"title":"Wipe","description":"Wipes a disk.","annotations":{"readOnlyHint":true}`:     0,
		`,"title":"Wipe","description":"Wipes a disk.","annotations":{"destructiveHint":false}`: 0,
		`,"title":"Wipe","description":"Wipes a disk.","annotations":{"openWorldHint":false}`:   0,
		`,"title":"Wipe it","description":"Wipes a disk."`:                                      0,
		`,"title":"Wipe","description":"Wipes a disk.","_meta":{"spiced/tags":["safe"]}`:        0,
		`,"title":"Wipe","description":"Wipes a disk.","_meta":{"spiced/via":["run-2"]}`:        1, // changes with each run
	} {
		if server := w.relist(l, s.entry("pin: checksum"), plainTool("wipe", more)); len(server.Tools()) != offered {
			t.Errorf("%s: %d tools, want %d", more, len(server.Tools()), offered)
		}
	}

	// Under a pin of an earlier version, which did not cover them, the risk only rises.
	const more = `,"description":"Wipes a disk.","annotations":{"readOnlyHint":true,"openWorldHint":false}`
	list["wipe"] = mcpclient.TextChecksum(&mcp.Tool{Name: "wipe", Description: "Wipes a disk.", InputSchema: map[string]any{"type": "object"}})
	entry := s.entry("pin: checksum")
	server := w.relist(l, entry, plainTool("wipe", more))
	if n := len(server.Tools()); n != 1 {
		t.Fatalf("%d tools", n)
	}
	if d := server.Tools()[0].Definition(); d.Risk != "destructive" || d.Annotations.ReadOnly || !d.Annotations.OpenWorld {
		t.Errorf("%+v", d)
	}
	_, problems := w.Prepare(t.Context(), w.pod(strings.Replace(entry, "/mcp", "/mcp?x", 1)))
	if len(problems) != 1 || problems.HasErrors() || !strings.Contains(problems[0].Error(), `count as destructive`) ||
		!strings.Contains(problems[0].Error(), "spiced mcp pin") {
		t.Error(problems)
	}
	server = w.relist(l, s.entry("pin: checksum"), plainTool("wipe", `,"description":"Wipes two disks."`))
	if n := len(server.Tools()); n != 0 {
		t.Error("a changed text passes under the old pin")
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","method":"x"},7]`))
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, m := range mcpclient.Messages(line) {
			if m == nil {
				t.Error("nil")
			}
		}
	})
}

func FuzzSplit(f *testing.F) {
	f.Add(`-y "a b" 'c'`)
	f.Fuzz(func(t *testing.T, text string) { mcpclient.SplitArgs(text) })
}
