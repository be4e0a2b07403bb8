package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/reserve"
)

// startChain serves a Spicepod to a runtime that serves what it has to the
// first one.
func startChain(t *testing.T, pod string) (first, middle, last *program) {
	t.Helper()
	last = start(t, folder(t, "spicepod.yaml", pod))
	middle = start(t, folder(t, "spicepod.yaml", podHead+"tools:\n"+httpServer("last", last.mcpURL())))
	middle.connected("last")
	first = start(t, folder(t, "spicepod.yaml", podHead+"tools:\n"+httpServer("middle", middle.mcpURL())))
	first.connected("middle")
	return first, middle, last
}

// TestMCPChain calls a function through three runtimes, which all record the call
// under the caller's identifier.
func TestMCPChain(t *testing.T) {
	t.Parallel()
	first, middle, last := startChain(t, haversine(t))

	const id = "chain-1"
	if got := first.call("middle__last__haversine_km", coordinates, "X-Request-Id", id); !got.OK || !kilometres.Match(got.Result) {
		t.Fatalf("%+v, with the tools %q", got, first.toolNames(""))
	}
	for name, hop := range map[string]struct {
		*program
		surface string
	}{"first": {first, "http"}, "middle": {middle, "mcp"}, "last": {last, "mcp"}} {
		got := hop.sql("SELECT request_id, surface, ok FROM spiced.tool_calls WHERE tool LIKE '%haversine_km'")
		if want := fmt.Sprintf(`[{"request_id":%q,"surface":%q,"ok":true}]`, id, hop.surface); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// TestMCPChainFails has the error of the last runtime in the first.
func TestMCPChainFails(t *testing.T) {
	t.Parallel()
	first, _, _ := startChain(t, podHead+`functions:
  - name: fail
    from: sql
    signature: { args: [{ name: why, type: utf8 }], returns: utf8 }
    body: error(why)
`)
	got := first.call("middle__last__fail", `{"why": "the ferry is late"}`)
	if got.OK || got.Error.Code != "execution_error" || !strings.Contains(got.Error.Message, "the ferry is late") {
		t.Errorf("%+v", got)
	}
}

// TestMCPServerComesBack starts without its server, reports that, and has its tools
// as soon as the server is there; again after the server was away.
func TestMCPServerComesBack(t *testing.T) {
	t.Parallel()
	address := reserve.Address(t)
	p := start(t, folder(t, "spicepod.yaml", haversine(t)+"tools:\n"+httpServer("late", "http://"+address+"/v1/mcp")))
	p.eventually("to say that the server is away", func() bool {
		c := p.component("late")
		return c.Status != "" && c.Status != "Ready" && len(c.Problems) > 0
	})
	if r := p.do("GET", "/v1/ready", ""); r.status != http.StatusOK {
		t.Errorf("a server that is away makes it not ready: %+v", r)
	}
	p.wantCall("haversine_km", coordinates, "4129.")
	if got := p.call("late__haversine_km", coordinates); got.OK {
		t.Errorf("a tool of a server that is away answers %s", got.Result)
	}

	pod := folder(t, "spicepod.yaml", haversine(t))
	late := start(t, pod, "--http", address)
	p.eventually("to have the tool", func() bool { return p.call("late__haversine_km", coordinates).OK })
	p.connected("late")

	late.end()
	p.eventually("to notice that the server is away", func() bool { return !p.call("late__haversine_km", coordinates).OK })
	start(t, pod, "--http", address)
	p.eventually("to have the tool again", func() bool { return p.call("late__haversine_km", coordinates).OK })
}

// TestMCPStopsWithoutErrors ends spiced mcp during its load and after it, by its client and by a
// signal: the status is 0, and there is no line in the log.
func TestMCPStopsWithoutErrors(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", numbers, "k.csv", numbersCSV)
	for name, served := range map[string]bool{"during the load": false, "after it": true} {
		for _, signal := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", by a signal: ", signal), func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				in, to := io.Pipe()
				from, out := io.Pipe()
				defer out.Close()
				errs := &logged{}
				ended := make(chan int, 1)
				go func() { ended <- run(ctx, []string{"mcp", dir}, streams{in, out, errs}) }()
				answers := bufio.NewScanner(from)
				answers.Buffer(nil, 1<<20)
				requests := []string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`}
				if served {
					requests = append(requests, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
				}
				for _, request := range requests {
					fmt.Fprintln(to, request)
					answers.Scan()
				}
				if signal { // the client does not read on
					cancel()
				} else {
					go func() { _, _ = io.Copy(io.Discard, from) }()
				}
				to.Close()
				if status := <-ended; status != exitGood || errs.String() != "" {
					t.Errorf("status %d: %s", status, errs)
				}
			})
		}
	}
}
