package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/clients"
	"github.com/spiced-sql/spiced/internal/test/reserve"
)

// installedPython is the Python that has testdata/mcp/requirements.txt, which it
// installs once per version of both.
var installedPython = sync.OnceValues(func() (string, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return "", err
	}
	version, err := exec.Command(python, "--version").Output()
	if err != nil {
		return "", err
	}
	wanted, err := filepath.Abs("testdata/mcp/requirements.txt")
	if err != nil {
		return "", err
	}
	lock, err := os.ReadFile(wanted)
	if err != nil {
		return "", err
	}
	dir, err := installed("test-mcp-python", string(version)+string(lock), func(dir string) error {
		if err := runInstaller(dir, python, "-m", "venv", dir); err != nil {
			return err
		}
		return runInstaller(dir, filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", wanted)
	})
	return filepath.Join(dir, "bin", "python"), err
})

// mcpPython skips the test, loudly, where Python or pip is not there.
func mcpPython(t *testing.T) string {
	t.Helper()
	clients.Need(t, "MCP WITH PYTHON")
	python, err := installedPython()
	if err != nil {
		t.Skipf("NOT TESTED: MCP clients and servers for Python: install python3 and python3-venv, and let pip reach its registry: %v", err)
	}
	return python
}

// TestMCPPython uses our server through the official SDK for Python and through
// FastMCP.
func TestMCPPython(t *testing.T) {
	t.Parallel()
	python := mcpPython(t)
	for _, which := range []string{"mcp", "fastmcp"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			testMCPClient(t, "2026-07-28", func(t *testing.T, argument string) (string, int) {
				return runScript(t, python, "testdata/mcp/client.py", which, argument)
			})
		})
	}
}

// TestMCPPythonServers uses servers of both as a client, over stdio and HTTP.
func TestMCPPythonServers(t *testing.T) {
	t.Parallel()
	python := mcpPython(t)
	script, err := filepath.Abs("testdata/mcp/server.py")
	if err != nil {
		t.Fatal(err)
	}
	var servers []string
	entries := strings.Builder{}
	for _, which := range []string{"mcp", "fastmcp"} {
		address := reserve.Address(t)
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		runBackground(t, address, nil, python, script, which, port)
		servers = append(servers, which+"_http", which+"_stdio")
		entries.WriteString(httpServer(which+"_http", "http://"+address+"/mcp"))
		fmt.Fprintf(&entries, "  - { name: %s_stdio, from: %q, params: { mcp_args: %q } }\n", which, "mcp:"+python, script+" "+which)
	}
	for _, server := range servers {
		fmt.Fprintf(&entries, "  - { name: %s_add, from: 'tool:%s__add', as_sql: true, signature: { args: [{ name: a, type: int64 }, { name: b, type: int64 }], "+
			"returns: int64 } }\n", server, server)
	}
	p := start(t, folder(t, "spicepod.yaml", podHead+"tools:\n"+entries.String()))
	p.connected(servers...)
	for _, server := range servers {
		p.wantCall(server+"__add", `{"a": 2, "b": 3}`, "5")
		if got := p.call(server+"__add", `{"a": -1, "b": 3}`); got.OK || !strings.Contains(got.Error.Message, "add") {
			t.Errorf("%s: a tool that fails: %+v", server, got)
		}
		if got := p.sql("SELECT sum(" + server + "_add(i, 1)) AS s FROM range(5) r(i)"); got != `[{"s":15}]` {
			t.Errorf("%s in SQL: %s", server, got)
		}
		p.want(p.do("POST", "/v1/sql", "SELECT "+server+"_add(-1, 1)"), 400, "for (a := -1, b := 1)")
	}
}
