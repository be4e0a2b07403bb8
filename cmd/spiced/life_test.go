package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// open sends a statement whose answer is read by the test.
func (p *program) open(ctx context.Context, statement string) *http.Response {
	p.t.Helper()
	r, err := http.NewRequestWithContext(ctx, "POST", p.url+"/v1/sql", strings.NewReader(statement))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/csv")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// A statement whose client reads slowly runs when SIGTERM comes: it is
// finished, new ones are refused, SIGHUP changes nothing, and the program ends
// well.
func TestTerminationDrains(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := startProcess(t, folder(t, "spicepod.yaml", podHead))
	const rows = 5_000_000
	resp := p.open(ctx, "SELECT range FROM range(5000000)")
	lines := bufio.NewScanner(resp.Body)
	lines.Scan()
	p.signal(syscall.SIGTERM)
	p.eventually("to be not ready", func() bool { return p.do("GET", "/v1/ready", "").status == 503 })
	r := p.do("POST", "/v1/sql", "SELECT 1")
	p.want(r, 503, "shutting down")
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	p.signal(syscall.SIGHUP)
	p.want(p.do("GET", "/v1/status", ""), 200, `"status":"ShuttingDown"`)
	n := 0
	for lines.Scan() {
		n++
	}
	if n != rows || lines.Err() != nil {
		t.Errorf("got %d rows, %v", n, lines.Err())
	}
	if status := p.wait(); status != 0 {
		t.Errorf("exit status %d:\n%s", status, p.log)
	}
}

// A client that never reads does not keep the program from ending.
func TestTerminationHasALimit(t *testing.T) {
	t.Parallel()
	pod := strings.Replace(podHead, "runtime: {", "runtime: { shutdown_timeout: 100ms,", 1)
	p := startProcess(t, folder(t, "spicepod.yaml", pod))
	p.open(context.Background(), "SELECT range FROM range(100000000)")
	p.signal(syscall.SIGTERM)
	if status := p.wait(); status != 0 || !strings.Contains(p.log.String(), "requests were cut off") {
		t.Errorf("exit status %d:\n%s", status, p.log)
	}
}

func TestHangupReloads(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", numbers, "k.csv", numbersCSV)
	p := startProcess(t, dir, "--watch=false")
	write(t, filepath.Join(dir, "spicepod.yaml"), strings.Replace(numbers, "x + 1", "x + 2", 1))
	p.signal(syscall.SIGHUP)
	p.eventually("to take the edit", func() bool { return p.sql("SELECT f(0) AS x") == `[{"x":2}]` })
	p.eventually("to log why", func() bool { return strings.Contains(p.log.String(), `"trigger":"signal"`) })
}

func TestLeavingCancels(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", podHead))
	ctx, leave := context.WithCancel(context.Background())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		r, _ := http.NewRequestWithContext(ctx, "POST", p.url+"/v1/sql", strings.NewReader("SELECT count(*) FROM range(1000000) a, range(1000000) b"))
		if resp, err := http.DefaultClient.Do(r); err == nil {
			resp.Body.Close()
		}
	}()
	p.eventually("to run the statement", func() bool { return p.metric("spiced_engine_statements_running") == "1" })
	leave()
	<-gone
	p.eventually("to end the statement", func() bool { return p.metric("spiced_engine_statements_running") == "0" })
	p.eventually("to count it", func() bool { return p.metric(`spiced_queries_total{outcome="cancelled"}`) == "1" })
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", podHead)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		name, http, metrics string
		status              int
		want                string
	}{
		{"in use", taken.Addr().String(), "", 1, "is in use: choose another address, or port 0 for any"},
		{"no port", "127.0.0.1", "", 2, `--http must be host:port, got "127.0.0.1"`},
		{"bad port", "127.0.0.1:99999", "", 1, "invalid port"},
		{"all interfaces", "0.0.0.0:0", "", 1, "add --allow-unauthenticated"},
		{"no host", ":0", "", 1, "add --allow-unauthenticated"},
		{"all of IPv6", "[::]:0", "", 1, "add --allow-unauthenticated"},
		{"metrics for all", "127.0.0.1:0", ":0", 1, "--metrics :0 can be reached from other machines"},
	} {
		status, out := spiced(t, "serve", dir, "--http", c.http, "--metrics", c.metrics)
		if status != c.status || !strings.Contains(out, c.want) {
			t.Errorf("%s: status %d, %s; want %d, %s", c.name, status, out, c.status, c.want)
		}
	}
	p := start(t, dir, "--http", "0.0.0.0:0", "--allow-unauthenticated")
	p.want(p.do("GET", "/health", ""), 200)
	p = start(t, dir, "--metrics", taken.Addr().String())
	p.want(p.do("GET", "/v1/status", ""), 200, `{"name":"metrics","endpoint":"N/A","status":"Error"`, "is in use: choose another address")
}

func TestServeRefuses(t *testing.T) {
	t.Parallel()
	broken := folder(t, "spicepod.yaml", numbers+"  - { name: g, from: sql, signature: { args: [], returns: int64 }, body: nosuch() }\n", "k.csv", numbersCSV)
	for name, c := range map[string]struct{ path, flag, want string }{
		"a fault, with --strict": {broken, "--strict", "spicepod.yaml:14:74: function g: there is no function"},
		"a missing folder":       {filepath.Join(broken, "nowhere"), "--watch", "nowhere: no such file"},
		"an empty folder":        {t.TempDir(), "--watch", "spicepod.yaml"},
		"broken YAML":            {folder(t, "spicepod.yaml", "version: [\n"), "--watch", "spicepod.yaml:"},
	} {
		status, out := spiced(t, "serve", c.path, c.flag, "--http", "127.0.0.1:0", "--metrics", "")
		if status != 1 || !strings.Contains(out, c.want) {
			t.Errorf("%s: status %d, %s; want %s", name, status, out, c.want)
		}
	}
}

// What was accelerated into a file is there after a restart, without its
// source.
func TestStateOutlivesARestart(t *testing.T) {
	t.Parallel()
	pod := strings.Replace(numbers, "acceleration: { enabled: true }", "acceleration: { mode: file }", 1)
	dir, state := folder(t, "spicepod.yaml", pod, "k.csv", numbersCSV), t.TempDir()
	for run := range 2 {
		if run == 1 {
			if err := os.Remove(filepath.Join(dir, "k.csv")); err != nil {
				t.Fatal(err)
			}
		}
		p := start(t, dir, "--state-dir", state)
		if got := p.sql("SELECT count(*) AS n FROM kept"); got != `[{"n":2}]` {
			t.Errorf("got %s", got)
		}
		p.end()
		if !strings.Contains(p.log.String(), "draining") {
			t.Errorf("it did not drain:\n%s", p.log)
		}
	}
}

// A result that breaks off is never taken for a whole one.
func TestFailureOnTheWay(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", podHead))
	resp := p.open(t.Context(), "SELECT CASE WHEN range < 4000000 THEN range ELSE error('late') END AS x FROM range(5000000)")
	if _, err := io.Copy(io.Discard, resp.Body); resp.StatusCode == 200 && err == nil {
		t.Error("a result that failed ended as if it were whole")
	}
}

// What a killed process leaves is removed at the next start; what one that
// lives has, stays.
func TestFoldersOfKilledProcessesAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	folders := func() []string {
		all, err := filepath.Glob(filepath.Join(os.TempDir(), "spiced-run-*"))
		if err != nil || len(all) == 0 {
			t.Fatal(all, err)
		}
		return all
	}
	dir := folder(t, "spicepod.yaml", podHead)
	living := startProcess(t, dir)
	ofLiving := folders()
	killed := startProcess(t, dir)
	killed.signal(os.Kill)
	killed.wait()
	<-killed.status
	killed.status <- 0 // it was asked for
	if len(folders()) <= len(ofLiving) {
		t.Fatal("the killed process left nothing")
	}
	status, out := spiced(t, "validate", dir)
	if got := folders(); status != 0 || !slices.Equal(got, ofLiving) {
		t.Errorf("left over: %q, want %q; status %d: %s", got, ofLiving, status, out)
	}
	living.want(living.do("GET", "/v1/ready", ""), 200)
}
