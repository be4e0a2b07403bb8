package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for anything.
const patience = 40 * time.Second

// program is a running `spiced serve`.
type program struct {
	t      *testing.T
	url    string // of the HTTP API
	log    *logged
	stop   func() // asks it to end
	status chan int
	cmd    *exec.Cmd // nil in this process
	temp   string    // folder for the temporary files of cmd; "": the machine's
}

// logged collects what a program writes.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// events returns the last 100 lines of what was written, but for those of requests that read,
// by which tests wait.
func (l *logged) events() string {
	var events []string
	for line := range strings.Lines(l.String()) {
		if !strings.Contains(line, `"method":"GET"`) || !strings.Contains(line, `"status":200`) {
			events = append(events, line)
		}
	}
	return strings.Join(events[max(0, len(events)-100):], "")
}

// start serves a folder from this process, on free ports, until the test ends.
func start(t *testing.T, dir string, args ...string) *program {
	t.Helper()
	p := launched(t, dir, args...)
	p.await()
	return p
}

// launched is start that waits only until the program listens.
func launched(t *testing.T, dir string, args ...string) *program {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &program{t: t, log: &logged{}, stop: cancel, status: make(chan int, 1)}
	go func() {
		p.status <- run(ctx, serveArgs(dir, args), streams{strings.NewReader(""), io.Discard, p.log})
	}()
	t.Cleanup(p.end)
	p.listens()
	return p
}

// startProcess is start in a separate process, which takes signals.
func startProcess(t *testing.T, dir string, args ...string) *program {
	t.Helper()
	p := &program{t: t, log: &logged{}, status: make(chan int, 1)}
	p.launch(dir, args...)
	p.await()
	return p
}

// startInTemp is startProcess with a folder of its own for temporary files.
func startInTemp(t *testing.T, dir string, args ...string) *program {
	t.Helper()
	p := &program{t: t, log: &logged{}, status: make(chan int, 1), temp: t.TempDir()}
	p.launch(dir, args...)
	p.await()
	return p
}

// wantNothingLeft ends a program that has temporary folders, and checks that it removes them.
func (p *program) wantNothingLeft(folders string) {
	p.t.Helper()
	if has, err := filepath.Glob(filepath.Join(p.temp, folders)); err != nil || len(has) == 0 {
		p.t.Errorf("there is no %s: %v", folders, err)
	}
	p.end()
	if left, _ := filepath.Glob(filepath.Join(p.temp, "*")); len(left) > 0 {
		p.t.Errorf("left over: %q", left)
	}
}

// launch starts the process, and does not wait until it serves.
func (p *program) launch(dir string, args ...string) {
	t := p.t
	t.Helper()
	p.cmd = exec.Command("spiced", serveArgs(dir, args)...)
	p.cmd.Stderr = p.log
	if p.temp != "" {
		p.cmd.Env = append(os.Environ(), "TMPDIR="+p.temp)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.stop = func() { p.signal(os.Interrupt) }
	go func() {
		p.cmd.Wait() //nolint:errcheck // its status says it
		p.status <- p.cmd.ProcessState.ExitCode()
	}()
	t.Cleanup(p.end)
}

func serveArgs(dir string, args []string) []string {
	return append([]string{"serve", dir, "--http", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--log-level", "debug"}, args...)
}

func (p *program) signal(s os.Signal) {
	p.cmd.Process.Signal(s) //nolint:errcheck // it may have ended
}

// listens waits until the program listens.
func (p *program) listens() {
	p.t.Helper()
	p.eventually("to listen", func() bool { p.url = p.endpoint("http"); return p.url != "" })
}

// await waits until the program serves.
func (p *program) await() {
	p.t.Helper()
	p.listens()
	p.eventually("to be ready", func() bool { return p.do("GET", "/v1/ready", "").status == 200 })
}

// end stops the program, if it still runs.
func (p *program) end() {
	p.stop()
	if status := p.wait(); status != 0 && !p.t.Failed() {
		p.t.Errorf("exit status %d:\n%s", status, p.log.events())
	}
}

// wait returns the exit status.
func (p *program) wait() int {
	p.t.Helper()
	select {
	case status := <-p.status:
		p.status <- status
		return status
	case <-time.After(patience):
		if p.cmd != nil {
			p.cmd.Process.Kill() //nolint:errcheck // the test fails anyway
		}
		p.t.Errorf("it did not end:\n%s", p.log.events())
		return -1
	}
}

// endpoint returns the address of an endpoint, from the log.
func (p *program) endpoint(name string) string {
	for line := range strings.Lines(p.log.String()) {
		var entry struct{ Msg, Endpoint, URL string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "listening" && entry.Endpoint == name {
			return entry.URL
		}
	}
	return ""
}

// eventually waits until f holds.
func (p *program) eventually(what string, f func() bool) {
	p.t.Helper()
	late := time.After(patience)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for !f() {
		select {
		case <-late:
			p.t.Fatalf("waited %s for it %s:\n%s", patience, what, p.log.events())
		case status := <-p.status:
			p.status <- status
			p.t.Fatalf("it ended with status %d, waiting for it %s:\n%s", status, what, p.log.events())
		case <-again.C:
		}
	}
}

// reply is an answer over HTTP.
type reply struct {
	status int
	header http.Header
	body   string
}

// do sends a request; header has names and values in turn.
func (p *program) do(method, path, body string, header ...string) reply {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return reply{body: err.Error()}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Errorf("%s %s: %v", method, path, err)
	}
	return reply{resp.StatusCode, resp.Header, string(text)}
}

// want checks a reply: the status, and parts of the body.
func (p *program) want(r reply, status int, parts ...string) {
	p.t.Helper()
	if r.status != status {
		p.t.Errorf("status %d, want %d: %s", r.status, status, r.body)
	}
	for _, part := range parts {
		if !strings.Contains(r.body, part) {
			p.t.Errorf("got %s\nwant %s", r.body, part)
		}
	}
}

// sql runs a statement and returns the JSON.
func (p *program) sql(statement string) string {
	p.t.Helper()
	return p.do("POST", "/v1/sql", statement).body
}

// wantNotLogged checks that the log has none of the texts.
func (p *program) wantNotLogged(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if strings.Contains(p.log.String(), text) {
			p.t.Errorf("the log has %s: %s", text, p.log)
		}
	}
}

// metric is the value of a metric.
func (p *program) metric(name string) string {
	p.t.Helper()
	other := *p
	other.url = p.endpoint("metrics")
	for line := range strings.Lines(other.do("GET", "/metrics", "").body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// folder writes files, by name and text in turn, into a new folder.
func folder(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for pair := range slices.Chunk(files, 2) {
		write(t, filepath.Join(dir, pair[0]), pair[1])
	}
	return dir
}

// dotenv is the text of a file .env, by name and value in turn. Unlike the environment,
// it does not keep tests from running in parallel.
func dotenv(namesAndValues ...string) string {
	var b strings.Builder
	for pair := range slices.Chunk(namesAndValues, 2) {
		fmt.Fprintf(&b, "%s=%q\n", pair[0], pair[1])
	}
	return b.String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// spiced runs a command line in this process and returns its status and what
// it wrote.
func spiced(t *testing.T, args ...string) (status int, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var both logged
	status = run(ctx, args, streams{strings.NewReader(""), &both, &both})
	return status, both.String()
}
