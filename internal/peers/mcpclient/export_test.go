package mcpclient

import (
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/tools"
)

// Hurried shortens all waits.
func Hurried(o Options) Options {
	o.limits = limits{
		connect: 20 * time.Second, retry: 5 * time.Millisecond, maxRetry: 50 * time.Millisecond,
		debounce: 5 * time.Millisecond, grace: 500 * time.Millisecond, drain: 5 * time.Second,
		head: time.Second, write: time.Second,
	}
	return o
}

// Impatient shortens the timeout of an attempt.
func Impatient(o Options) Options {
	o = Hurried(o)
	o.limits.connect = 2 * time.Second
	o.limits.retry = time.Hour
	o.limits.maxRetry = time.Hour
	return o
}

var (
	SplitArgs    = splitArgs
	ToolName     = toolName
	TextChecksum = textChecksum
)

// Backoffs are the first default waits.
func Backoffs(n int) (waits []time.Duration) {
	for i := range n {
		waits = append(waits, defaultLimits().backoff(i+1))
	}
	return waits
}

// Patient restores the timeout of an attempt.
func Patient(o Options) Options {
	o.limits.connect = 20 * time.Second
	return o
}

// Offered are the tools that a server with this list offers, by name.
func Offered(t testing.TB, server string, list []*mcp.Tool) map[string]tools.Tool {
	pod := podtest.Load(t, fmt.Sprintf("tools:\n  - {name: %q, from: 'mcp:x'}\n", server))
	e := newEntry(pod, 0)
	target := e.target()
	if target == nil {
		t.Fatal(e.Problems)
	}
	s := newMaker(e, &link{target: target}, "").server(newListing(list, nil), nil)
	offered := map[string]tools.Tool{}
	for _, tool := range s.Tools() {
		offered[tool.Definition().Name] = tool
	}
	return offered
}

// NameAtServer is the server's name of a tool.
func NameAtServer(t tools.Tool) string { return t.(*tool).name }

// Messages parses a line of a server that answers no request.
func Messages(line []byte) []jsonrpc.Message {
	return messages(line, (&exchange{}).receive)
}
