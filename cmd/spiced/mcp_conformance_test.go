package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Why scenarios of the conformance suite do not apply.
const (
	noPrompts     = "spiced has no prompts"
	noAsking      = "spiced asks its clients nothing: it has neither sampling nor elicitation"
	noPictures    = "what a SQL function returns is a value: neither an image, nor audio, nor a resource"
	noToolLog     = "a SQL function writes no log"
	ownResources  = "the resources are datasets and functions, under URIs of spiced's own; TestMCPTypeScript reads them"
	ownSchemas    = "the schema of a function comes from its signature, which has no $defs"
	noOAuth       = "spiced does not log in by OAuth, which mostly takes a person: it sends the token of mcp_auth_token"
	refusesAsking = "spiced refuses elicitation: there is no one to ask"
)

// serverScenarios are all scenarios for servers: "" must pass, others do not
// apply for the reason.
var serverScenarios = map[string]string{
	"server-initialize":             "",
	"logging-set-level":             "",
	"ping":                          "",
	"completion-complete":           noPrompts,
	"tools-list":                    "",
	"tools-call-simple-text":        "",
	"tools-call-image":              noPictures,
	"tools-call-audio":              noPictures,
	"tools-call-embedded-resource":  noPictures,
	"tools-call-mixed-content":      noPictures,
	"tools-call-with-logging":       noToolLog,
	"tools-call-error":              "",
	"tools-call-with-progress":      "",
	"tools-call-sampling":           noAsking,
	"tools-call-elicitation":        noAsking,
	"json-schema-2020-12":           ownSchemas,
	"elicitation-sep1034-defaults":  noAsking,
	"server-sse-polling":            "",
	"server-sse-multiple-streams":   "",
	"elicitation-sep1330-enums":     noAsking,
	"resources-list":                "",
	"resources-read-text":           ownResources,
	"resources-read-binary":         ownResources,
	"resources-templates-read":      ownResources,
	"resources-subscribe":           ownResources,
	"resources-unsubscribe":         ownResources,
	"prompts-list":                  "", // an empty list
	"prompts-get-simple":            noPrompts,
	"prompts-get-with-args":         noPrompts,
	"prompts-get-embedded-resource": noPrompts,
	"prompts-get-with-image":        noPrompts,
	"dns-rebinding-protection":      "",
}

// clientScenarios are all scenarios for clients, as serverScenarios.
var clientScenarios = map[string]string{
	"initialize": "",
	"tools_call": "",
	"sse-retry":  "",

	"elicitation-sep1034-client-defaults":       refusesAsking,
	"auth/metadata-default":                     noOAuth,
	"auth/metadata-var1":                        noOAuth,
	"auth/metadata-var2":                        noOAuth,
	"auth/metadata-var3":                        noOAuth,
	"auth/basic-cimd":                           noOAuth,
	"auth/scope-from-www-authenticate":          noOAuth,
	"auth/scope-from-scopes-supported":          noOAuth,
	"auth/scope-omitted-when-undefined":         noOAuth,
	"auth/scope-step-up":                        noOAuth,
	"auth/scope-retry-limit":                    noOAuth,
	"auth/token-endpoint-auth-basic":            noOAuth,
	"auth/token-endpoint-auth-post":             noOAuth,
	"auth/token-endpoint-auth-none":             noOAuth,
	"auth/pre-registration":                     noOAuth,
	"auth/2025-03-26-oauth-metadata-backcompat": noOAuth,
	"auth/2025-03-26-oauth-endpoint-fallback":   noOAuth,
	"auth/resource-mismatch":                    noOAuth,
	"auth/offline-access-scope":                 noOAuth,
	"auth/offline-access-not-supported":         noOAuth,
	"auth/client-credentials-jwt":               noOAuth,
	"auth/client-credentials-basic":             noOAuth,
	"auth/cross-app-access-complete-flow":       noOAuth,
}

// finding is one finding of the conformance suite.
type finding struct{ ID, Status, Description, ErrorMessage string }

// conformance runs the suite and returns what it found, by scenario.
func (p peers) conformance(t *testing.T, mode string, args ...string) (found map[string][]finding, status int) {
	t.Helper()
	dir := t.TempDir()
	out, status := p.run(t, p.entry("conformance/dist/index.js"), append([]string{mode, "--output-dir", dir}, args...)...)
	results, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if more, _ := filepath.Glob(filepath.Join(dir, "*", "*", "checks.json")); err == nil {
		results = append(results, more...)
	}
	if len(results) == 0 {
		t.Fatalf("the suite has no result: %v\n%s", err, out)
	}
	found = map[string][]finding{}
	for _, path := range results {
		var checks []finding
		if err := json.Unmarshal([]byte(read(t, path)), &checks); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		name, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		found[timestamp.ReplaceAllString(filepath.ToSlash(name), "")] = checks
	}
	return found, status
}

// failures are the checks that failed.
func failures(checks []finding) []finding {
	return slices.DeleteFunc(slices.Clone(checks), func(c finding) bool { return c.Status != "FAILURE" })
}

// wantScenarios checks that the suite has the scenarios that a table has.
func (p peers) wantScenarios(t *testing.T, kind string, table map[string]string) {
	t.Helper()
	out, _ := p.run(t, p.entry("conformance/dist/index.js"), "list", kind)
	var known []string
	for line := range strings.Lines(out) {
		if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			name, _, _ := strings.Cut(item, " ")
			known = append(known, name)
		}
	}
	slices.Sort(known)
	if ours := slices.Sorted(maps.Keys(table)); !slices.Equal(known, ours) {
		t.Errorf("the suite has the scenarios %q, the table %q", known, ours)
	}
}

// TestMCPConformanceServer runs the official suite against our server.
func TestMCPConformanceServer(t *testing.T) {
	t.Parallel()
	npm := mcpPeers(t)
	npm.wantScenarios(t, "--server", serverScenarios)
	p := start(t, folder(t, "spicepod.yaml", read(t, "testdata/mcp/conformance.yaml"), "towns.csv", read(t, "testdata/mcp/towns.csv")))
	found, _ := npm.conformance(t, "server", "--suite", "all", "--url", p.mcpURL())
	for _, scenario := range slices.Sorted(maps.Keys(serverScenarios)) {
		t.Run(scenario, func(t *testing.T) {
			checks, ran := found["server-"+scenario]
			failed, reason := failures(checks), serverScenarios[scenario]
			switch {
			case !ran:
				t.Error("it was not run")
			case reason == "" && len(failed) > 0:
				t.Errorf("%+v", failed)
			case reason != "" && len(failed) == 0:
				t.Errorf("it passes, although %s: strike it off the table", reason)
			case reason != "":
				t.Skip("it does not apply: " + reason)
			}
		})
	}
}

// TestMCPConformanceClient runs the official suite against our client: a
// runtime in a separate process for each scenario.
func TestMCPConformanceClient(t *testing.T) {
	t.Parallel()
	npm := mcpPeers(t)
	npm.wantScenarios(t, "--client", clientScenarios)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := fmt.Sprintf("%s -test.run=^%s$", self, t.Name()+"Process")
	for _, scenario := range slices.Sorted(maps.Keys(clientScenarios)) {
		t.Run(scenario, func(t *testing.T) {
			if reason := clientScenarios[scenario]; reason != "" {
				t.Skip("it does not apply: " + reason)
			}
			found, status := npm.conformance(t, "client", "--command", command, "--scenario", scenario)
			if failed := failures(found[scenario]); status != 0 || len(failed) > 0 {
				t.Errorf("status %d: %+v", status, failed)
			}
		})
	}
}

// scenarioCalls are what a client has to call in the scenarios with tools.
var scenarioCalls = map[string]struct{ tool, arguments, want string }{
	"tools_call": {"add_numbers", `{"a": 5, "b": 3}`, "The sum of 5 and 3 is 8"},
	"sse-retry":  {"test_reconnection", `{}`, "Reconnection test completed successfully"},
}

// TestMCPConformanceClientProcess is the client that the conformance suite
// starts, with the server's address as the last argument.
func TestMCPConformanceClientProcess(t *testing.T) {
	scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	if scenario == "" {
		t.Skip("TestMCPConformanceClient has the conformance suite run it")
	}
	p := start(t, folder(t, "spicepod.yaml", podHead+"tools:\n"+httpServer("suite", flag.Arg(0))))
	p.eventually("to connect to the suite", func() bool { return p.component("suite").Status == "Ready" }) // it may have no tool
	if c, ok := scenarioCalls[scenario]; ok {
		p.eventually("to serve the tool", func() bool { return slices.Contains(p.toolNames(""), "suite__"+c.tool) })
		p.wantCall("suite__"+c.tool, c.arguments, c.want)
	}
}
