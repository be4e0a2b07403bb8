package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/clients"
)

// peers are third-party MCP programs from npm, and the Node.js that runs
// them.
type peers struct{ dir, node string }

// leastNode is the major version of Node.js that the peers need.
const leastNode = 22

// installedPeers installs testdata/mcp/package-lock.json once per version of
// it, for all tests.
var installedPeers = sync.OnceValues(installPeers)

// mcpPeers skips the test, loudly, where npm or Node.js is not there.
func mcpPeers(t *testing.T) peers {
	t.Helper()
	clients.Need(t, "MCP WITH OTHERS' PROGRAMS")
	p, err := installedPeers()
	if err != nil {
		t.Skipf("MCP IS NOT TESTED AGAINST OTHERS' PROGRAMS: install nodejs and npm, and let npm reach its registry: %v", err)
	}
	return p
}

func installPeers() (peers, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return peers{}, err
	}
	lock, err := os.ReadFile("testdata/mcp/package-lock.json")
	if err != nil {
		return peers{}, err
	}
	dir, err := installed("test-mcp-peers", string(lock), func(dir string) error { return installNPM(npm, dir) })
	if err != nil {
		return peers{}, err
	}
	node, err := findNode(dir)
	return peers{dir, node}, err
}

// installNPM installs testdata/mcp/package-lock.json in a folder.
func installNPM(npm, dir string) error {
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		text, err := os.ReadFile(filepath.Join("testdata", "mcp", name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return runInstaller(dir, npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts")
}

// installed is a folder of the cache, whose name has the checksum of what says
// what is in it. Where it is not there yet, fill fills a new one, which then
// becomes it: another process may do the same.
func installed(name, lock string, fill func(dir string) error) (dir string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	sum := sha256.Sum256([]byte(lock))
	dir = filepath.Join(cache, "spiced", name, fmt.Sprintf("%x", sum[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	if err := fill(fresh); err != nil {
		return "", err
	}
	if err := os.Rename(fresh, dir); err != nil {
		if _, there := os.Stat(dir); there != nil {
			return "", err
		}
	}
	return dir, nil
}

// runInstaller runs a program that installs something, in a folder.
func runInstaller(dir, program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	late := time.AfterFunc(installing, func() { cmd.Process.Kill() }) //nolint:errcheck // it may have ended
	defer late.Stop()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, out)
	}
	return nil
}

// findNode prefers the Node.js that was installed with the peers to the
// machine's.
func findNode(dir string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "node_modules", "node-linux-*", "bin", "node"))
	if err != nil {
		return "", err
	}
	if machines, err := exec.LookPath("node"); err == nil {
		found = append(found, machines)
	}
	for _, node := range found {
		version, err := exec.Command(node, "--version").Output()
		if err != nil {
			continue
		}
		major, _, _ := strings.Cut(strings.TrimPrefix(string(version), "v"), ".")
		if n, err := strconv.Atoi(major); err == nil && n >= leastNode {
			return node, nil
		}
	}
	return "", fmt.Errorf("there is no Node.js of version %d or later", leastNode)
}

// entry is the script of an official package.
func (p peers) entry(pkg string) string {
	return filepath.Join(p.dir, "node_modules", "@modelcontextprotocol", filepath.FromSlash(pkg))
}

// beside writes a script of testdata/mcp where its imports are found, under
// the name of the text: tests may run in parallel.
func (p peers) beside(t *testing.T, name string) string {
	t.Helper()
	text := read(t, "testdata/mcp/"+name)
	script := filepath.Join(p.dir, fmt.Sprintf("%x-%s", sha256.Sum256([]byte(text)), name))
	write(t, script, text)
	return script
}

// run runs a script to its end and returns what it printed.
func (p peers) run(t *testing.T, script string, args ...string) (out string, status int) {
	t.Helper()
	return runScript(t, p.node, append([]string{script}, args...)...)
}

// runScript runs a program to its end and returns what it printed.
func runScript(t *testing.T, program string, args ...string) (out string, status int) {
	t.Helper()
	cmd := exec.Command(program, args...)
	var complaints logged
	cmd.Stderr, cmd.WaitDelay = &complaints, time.Second
	late := time.AfterFunc(2*patience, func() { cmd.Process.Kill() }) //nolint:errcheck // it may have ended
	defer late.Stop()
	text, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if complaint := complaints.String(); complaint != "" {
		t.Logf("%s: %s", filepath.Base(args[0]), complaint)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// background runs a script until the test ends, once it takes connections at
// the address.
func (p peers) background(t *testing.T, address string, env []string, script string, args ...string) {
	t.Helper()
	runBackground(t, address, env, p.node, append([]string{script}, args...)...)
}

// runBackground runs a program until the test ends, once it takes connections
// at the address.
func runBackground(t *testing.T, address string, env []string, program string, args ...string) {
	t.Helper()
	said := &logged{}
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = append(os.Environ(), env...), said, said, time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended
		cmd.Wait()         //nolint:errcheck // it was killed
	})
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for late := time.After(patience); ; {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return
		}
		select {
		case <-late:
			t.Fatalf("%s does not listen at %s:\n%s", filepath.Base(args[0]), address, said)
		case <-again.C:
		}
	}
}

// mcpURL is where a program serves MCP.
func (p *program) mcpURL() string { return p.url + "/v1/mcp" }

// httpServer is the entry of a server over HTTP under `tools:`.
func httpServer(name, url string) string {
	return fmt.Sprintf("  - { name: %s, from: %q }\n", name, "mcp:"+url)
}

// component is a line of /v1/status.
type component struct {
	Name, Endpoint, Status string
	Problems               []struct{ Severity, Message string }
}

// component is the line of /v1/status that an entry of `tools:` has, if it has
// one.
func (p *program) component(tool string) component {
	p.t.Helper()
	var all []component
	r := p.do("GET", "/v1/status", "")
	if err := json.Unmarshal([]byte(r.body), &all); err != nil {
		p.t.Fatalf("%v: %s", err, r.body)
	}
	for _, c := range all {
		if strings.TrimPrefix(c.Name, "tool ") == tool {
			return c
		}
	}
	return component{}
}

// connected waits until all servers of the names are, and their tools can be called.
func (p *program) connected(servers ...string) {
	p.t.Helper()
	for _, s := range servers {
		p.eventually("to connect to "+s, func() bool { return p.component(s).Status == "Ready" })
		p.eventually("to have the tools of "+s, func() bool { return strings.Contains(p.do("GET", "/v1/tools", "").body, `"`+s+"__") })
	}
}

// toolNames are the names of the tools that a query lists, sorted.
func (p *program) toolNames(query string) []string {
	p.t.Helper()
	var list []struct{ Name string }
	r := p.do("GET", "/v1/tools"+query, "")
	if err := json.Unmarshal([]byte(r.body), &list); err != nil {
		p.t.Fatalf("%v: %s", err, r.body)
	}
	names := make([]string, len(list))
	for i, tool := range list {
		names[i] = tool.Name
	}
	return names
}

// toolResult is what POST /v1/tools/{name}:invoke answers.
type toolResult struct {
	OK     bool
	Result json.RawMessage
	Error  struct {
		Code, Message string
		Retryable     bool
	}
}

// call calls a tool with arguments as JSON.
func (p *program) call(tool, arguments string, header ...string) toolResult {
	p.t.Helper()
	r := p.do("POST", "/v1/tools/"+tool+":invoke", `{"args":`+arguments+`}`, header...)
	var result toolResult
	if err := json.Unmarshal([]byte(r.body), &result); err != nil {
		p.t.Fatalf("%s: %v: %s", tool, err, r.body)
	}
	return result
}

// wantCall calls a tool and checks that its result has the parts.
func (p *program) wantCall(tool, arguments string, parts ...string) {
	p.t.Helper()
	result := p.call(tool, arguments)
	if !result.OK {
		p.t.Errorf("%s: %+v", tool, result.Error)
	}
	for _, part := range parts {
		if !strings.Contains(string(result.Result), part) {
			p.t.Errorf("%s: got %s, want %s", tool, result.Result, part)
		}
	}
}

// haversine is a Spicepod of one function.
func haversine(t *testing.T) string {
	first, _, _ := strings.Cut(read(t, "testdata/chat/functions.yaml"), "\n  - name: celsius")
	return podHead + first + "\n"
}

// timestamp ends the name of a folder that the conformance suite writes.
var timestamp = regexp.MustCompile(`-\d{4}-\d{2}-\d{2}T[\d-]+Z$`)
