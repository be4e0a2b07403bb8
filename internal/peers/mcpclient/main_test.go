package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/peers/mcpclient"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(fakeVariable); name != "" {
		os.Exit(fake(name))
	}
	goleak.VerifyTestMain(m)
}

// world is a manager with its input and its reports.
type world struct {
	*mcpclient.Manager
	t       testing.TB
	dir     string
	log     *buffer
	changed chan struct{}
}

func newWorld(t testing.TB, change ...func(*mcpclient.Options)) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), log: &buffer{}, changed: make(chan struct{}, 100)}
	o := mcpclient.Options{
		Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Version: "test",
		Changed: func() { w.changed <- struct{}{} },
	}
	o = mcpclient.Hurried(o)
	for _, c := range change {
		c(&o)
	}
	w.Manager = mcpclient.New(o)
	t.Cleanup(w.Close)
	return w
}

func impatient(o *mcpclient.Options) { *o = mcpclient.Impatient(*o) }

func deadline(d time.Duration) func(*mcpclient.Options) {
	return func(o *mcpclient.Options) { o.Deadline = d }
}

// pod loads entries of `tools:`, each with two spaces before it.
func (w *world) pod(entries ...string) *spicepod.Pod {
	w.t.Helper()
	return podtest.LoadIn(w.t, w.dir, "tools:\n"+strings.Join(entries, ""))
}

// command is an entry for a fake, with additional lines.
func command(name, kind string, more ...string) string {
	self, _ := os.Executable()
	entry := fmt.Sprintf("  - name: %s\n    from: 'mcp:%s'\n    env:\n      %s: %s\n      GORACE: atexit_sleep_ms=0\n", name, self, fakeVariable, kind)
	for _, line := range more {
		entry += "    " + line + "\n"
	}
	return entry
}

// variable is one more line of env.
func variable(name, value string) string { return fmt.Sprintf("  %s: '%s'", name, value) }

// open prepares and publishes one server.
func (w *world) open(entry string) *mcpclient.Server {
	w.t.Helper()
	servers, problems := w.Prepare(w.t.Context(), w.pod(entry))
	if len(problems) > 0 || len(servers) != 1 {
		w.t.Fatalf("%d servers, problems: %v\n%s", len(servers), problems, w.log)
	}
	w.Publish(servers)
	return servers[0]
}

// tool is the server's tool of a name.
func tool(t testing.TB, s *mcpclient.Server, name string) tools.Tool {
	t.Helper()
	for _, tool := range s.Tools() {
		if tool.Definition().Name == name {
			return tool
		}
	}
	t.Fatalf("there is no tool %q", name)
	return nil
}

func call(ctx context.Context, tool tools.Tool, args string) (string, *tools.Error) {
	out, err := tool.Call(ctx, tools.Input{Raw: json.RawMessage(args), Scope: tools.Scope{Caller: caller.Caller{RequestID: "trace-1"}}})
	if err != nil {
		return "", tools.AsError(err)
	}
	return string(out.Value), nil
}

// waitChanged waits for Changed.
func (w *world) waitChanged() {
	w.t.Helper()
	select {
	case <-w.changed:
	case <-time.After(10 * time.Second):
		w.t.Fatalf("Changed is not called\n%s", w.log)
	}
}

// gate is a listener that processes connect to, to show that they live or to
// wait.
type gate struct {
	listener net.Listener
	t        *testing.T
}

func newGate(t *testing.T) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &gate{l, t}
}

func (g *gate) address() string { return g.listener.Addr().String() }

// accept waits for a connection.
func (g *gate) accept() net.Conn {
	g.t.Helper()
	c, err := g.listener.Accept()
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { c.Close() })
	return c
}

// gone waits for the process at the other end to end.
func (g *gate) gone(c net.Conn) {
	g.t.Helper()
	c.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		g.t.Errorf("the process lives on: %v", err)
	}
}

// buffer is a log that can be read while it is written.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
