package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const execPod = podHead + `sandboxes:
  - { name: analytics, secrets: [SPICED_TEST_DB] }
functions:
  - name: score
    from: exec
    sandbox: analytics
    secrets: [SPICED_TEST_TOKEN]
    description: Analyze user behavior data.
    signature: { args: [{ name: user_id, type: utf8 }], returns: "struct<score: float64, token: int64>" }
    body_ref: score.py
  - name: twice
    from: exec
    description: Doubles a number.
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    body: |
      import os, time
      def twice(x: int) -> int:
          if x == 13:
              raise ValueError("bad luck " + str(x))
          if x == 99:
              time.sleep(600)
          return x * 2
  - name: pid
    from: exec
    description: A value that each worker has once.
    signature: { args: [{ name: x, type: int64 }], returns: utf8 }
    body: |
      import uuid
      one = str(uuid.uuid4())
      def pid(x): return one
`

// The example of jazzmine's documentation, with the secret used.
const scorePython = `from jazzmine.core.tools import tool, ToolParameter, ToolResponse, registry, SandboxConfig

registry.register_sandbox(SandboxConfig(name="analytics", dependencies=["numpy"], secrets=["SPICED_TEST_DB"]))

@tool(
    description="Analyze user behavior data.",
    parameters=[ToolParameter("user_id", "str", "Unique user identifier", required=True)],
    secrets=["SPICED_TEST_TOKEN"],
    sandbox="analytics",
)
async def score(user_id: str) -> ToolResponse:
    import os
    token = os.environ["SPICED_TEST_TOKEN"]
    if user_id == "leak":
        return ToolResponse(success=False, error="refused with " + token)
    return ToolResponse(success=True, data={"score": 0.85, "token": len(token)})

prompt = registry.build_tools_prompt("analytics")
`

var execVariables = dotenv("SPICED_TEST_DB", "db://test", "SPICED_TEST_TOKEN", "tok-0123456789")

func startExec(t *testing.T, pod string) (*program, string) {
	t.Helper()
	needsIsolation(t)
	dir := folder(t, "spicepod.yaml", pod, "score.py", scorePython, ".env", execVariables)
	return start(t, dir), dir
}

// A Python function is the same in SQL, over HTTP and in MCP.
func TestExec(t *testing.T) {
	t.Parallel()
	p, _ := startExec(t, execPod)
	p.want(p.do("POST", "/v1/sql", "SELECT sum(twice(i)) AS s FROM range(10000) r(i) WHERE i NOT IN (13, 99)"), 200, `[{"s":99989776}]`)
	p.want(p.do("POST", "/v1/sql", "SELECT score('u') AS s"), 200, `[{"s":{"score":0.85,"token":14}}]`)
	p.want(p.do("POST", "/v1/sql", "SELECT twice(i) FROM range(20) r(i)"), 400,
		"function 'twice' failed for (x := 13): ValueError: bad luck 13 (spicepod.yaml:23)")
	p.want(p.do("POST", "/v1/tools/twice:invoke", `{"args": {"x": 21}}`, "Content-Type", "application/json"), 200, `"ok":true,"result":42`)
	leak := p.do("POST", "/v1/tools/score:invoke", `{"args": {"user_id": "leak"}}`, "Content-Type", "application/json")
	p.want(leak, 200, `"ok":false`, "refused with ***")
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: p.url + "/v1/mcp"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "twice", Arguments: map[string]any{"x": 21}})
	if err != nil || result.IsError || !strings.Contains(fmt.Sprint(result.Content[0].(*mcp.TextContent).Text), "42") {
		t.Errorf("%+v %v", result, err)
	}
	if strings.Contains(p.log.String()+leak.body, "tok-0123") {
		t.Error("the log shows a secret")
	}
}

// workersOf are the processes that run the shim of Python, below this one.
func workersOf(t *testing.T) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		text, err := os.ReadFile(path)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		stat, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "stat"))
		if err == nil && strings.Contains(string(text), "The Python side of a worker") && strings.Contains(string(stat), fmt.Sprintf(" %d ", os.Getpid())) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// A worker that is killed in the middle of a statement gives one clear error, and the next
// statement works. It is not parallel: it kills all workers of this process.
func TestExecKilled(t *testing.T) {
	p, _ := startExec(t, execPod)
	done := make(chan reply)
	go func() { done <- p.do("POST", "/v1/sql", "SELECT twice(99)") }()
	p.eventually("to run the statement", func() bool { return strings.Contains(p.do("GET", "/v1/sql/active", "").body, "twice(") })
	var r reply
	p.eventually("to end the statement", func() bool {
		for _, pid := range workersOf(t) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		select {
		case r = <-done:
			return true
		default:
			return false
		}
	})
	p.want(r, 400, "a worker of sandbox default ended during a call (signal: killed)")
	p.eventually("to answer the next statement", func() bool { return p.sql("SELECT twice(21) AS t") == `[{"t":42}]` })
}

// The metrics count what the workers of each sandbox do.
func TestExecMetrics(t *testing.T) {
	p, dir := startExec(t, strings.Replace(execPod, "secrets: [SPICED_TEST_DB] }", "secrets: [SPICED_TEST_DB], limits: { memory: 64MiB } }", 1)+`  - name: fails
    from: exec
    sandbox: analytics
    description: Ends its worker in several ways.
    signature: { args: [{ name: how, type: utf8 }], returns: int64 }
    body: |
      import mmap, os
      def fails(how):
          if how == "exit":
              os._exit(3)
          m = mmap.mmap(-1, 256 << 20)
          for i in range(0, len(m), 4096):
              m[i] = 1
          while True: pass
`)
	p.sql("SELECT sum(twice(i)) AS s FROM range(100) r(i) WHERE i NOT IN (13, 99)")
	p.want(p.do("POST", "/v1/sql", "SELECT twice(13)"), 400, "bad luck")
	p.want(p.do("POST", "/v1/sql", "SELECT fails('exit')"), 400, "exit status 3")
	p.want(p.do("POST", "/v1/sql", "SELECT fails('memory')"), 400, "more than 64 MiB of memory")
	for metric, want := range map[string]string{
		`spiced_sandbox_calls_total{outcome="ok",sandbox="default"}`:              "1",
		`spiced_sandbox_calls_total{outcome="error",sandbox="default"}`:           "1",
		`spiced_sandbox_calls_total{outcome="failed",sandbox="analytics"}`:        "2",
		`spiced_sandbox_rows_total{sandbox="default"}`:                            "99",
		`spiced_sandbox_call_duration_seconds_count{sandbox="analytics"}`:         "2",
		`spiced_sandbox_worker_ends_total{reason="exit",sandbox="analytics"}`:     "1",
		`spiced_sandbox_worker_ends_total{reason="memory",sandbox="analytics"}`:   "1",
		`spiced_sandbox_worker_starts_total{outcome="ok",sandbox="analytics"}`:    "2",
		`spiced_sandbox_worker_start_duration_seconds_count{sandbox="analytics"}`: "2",
		`spiced_sandbox_workers{sandbox="default",state="idle"}`:                  "1",
		`spiced_sandbox_workers{sandbox="default",state="busy"}`:                  "0",
		`spiced_sandbox_calls_waiting{sandbox="default"}`:                         "0",
	} {
		p.eventually(metric+" to be "+want, func() bool { return p.metric(metric) == want })
	}
	// Sandboxes that are gone leave no series.
	write(t, filepath.Join(dir, "spicepod.yaml"), podHead)
	p.eventually("to drop the series", func() bool { return !strings.Contains(p.do("GET", "/metrics", "").body, `sandbox="analytics"`) })
}

// A statement that is cancelled ends its call.
func TestExecCancelled(t *testing.T) {
	t.Parallel()
	p, _ := startExec(t, strings.Replace(execPod, "runtime: {", "runtime: { query: { timeout: 1s }, ", 1))
	began := time.Now()
	r := p.do("POST", "/v1/sql", "SELECT twice(99)")
	if r.status == 200 || time.Since(began) > patience {
		t.Errorf("%d %s after %s", r.status, r.body, time.Since(began))
	}
	p.eventually("to answer the next statement", func() bool { return p.sql("SELECT twice(21) AS t") == `[{"t":42}]` })
}

// Changing a line restarts the workers of that sandbox only.
func TestExecReload(t *testing.T) {
	t.Parallel()
	pod := strings.Replace(execPod, "    from: exec\n    description: A value", "    from: exec\n    sandbox: other\n    description: A value", 1)
	pod = strings.Replace(pod, "functions:\n", "  - { name: other, limits: { workers: 1 } }\nfunctions:\n", 1)
	p, dir := startExec(t, pod)
	one := p.sql("SELECT pid(1) AS p")
	write(t, filepath.Join(dir, "spicepod.yaml"), strings.Replace(pod, "return x * 2", "return x * 3", 1))
	p.eventually("to serve the change", func() bool { return p.sql("SELECT twice(2) AS t") == `[{"t":6}]` })
	if two := p.sql("SELECT pid(1) AS p"); two != one {
		t.Errorf("the worker of another sandbox was replaced: %s %s", one, two)
	}
	write(t, filepath.Join(dir, "spicepod.yaml"), strings.Replace(pod, "limits: { workers: 1 }", "limits: { workers: 1, memory: 300MiB }", 1))
	p.eventually("to replace the worker", func() bool { return p.sql("SELECT pid(1) AS p") != one })
}

// A mistake is reported with its line, and the rest is served.
func TestExecProblems(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{
		"return x * 2|return x * 2)":                               "spicepod.yaml:26",
		"def twice(x: int)|def twice(y: int)":                      `twice has no parameter "x", which the signature declares`,
		"def twice(x: int)|def thrice(x: int)":                     `the code defines no function "twice"`,
		"import os, time|import os, time, nosuchmodule":            "add the package of nosuchmodule to dependencies",
		"secrets: [SPICED_TEST_TOKEN]|secrets: [SPICED_TEST_NONE]": "SPICED_TEST_NONE",
		"sandbox: analytics|sandbox: analytic":                     "analytic",
		"description: Doubles a number.|params: { a: b }":          `"a"`,
	} {
		t.Run(want, func(t *testing.T) {
			before, after, _ := strings.Cut(change, "|")
			t.Parallel()
			if _, err := exec.LookPath("python3"); err != nil {
				t.Skip(err)
			}
			dir := folder(t, "spicepod.yaml", strings.Replace(execPod, before, after, 1), "score.py", scorePython, ".env", execVariables)
			status, out := spiced(t, "validate", dir)
			if status != exitFaults || !strings.Contains(out, want) {
				t.Errorf("status %d, want %q in:\n%s", status, want, out)
			}
		})
	}
}
