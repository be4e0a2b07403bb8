package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/protocols/mcpserver"
	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// benchMCPCall measures calls over streamable HTTP from 32 connections with one session
// each.
func benchMCPCall(ctx context.Context, e *env) ([]row, error) {
	s, err := e.serve(ctx, pod{name: "mcpcall", text: functions})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	p99 := 0.0
	var rates []float64
	for range loadRounds {
		l, err := apply(ctx, loadCallers, s.mcpCaller("/v1/mcp", "haversine_km", func(int) string { return haversineArguments() }))
		if err != nil {
			return nil, err
		}
		rates, p99 = append(rates, l.rate), max(p99, l.p99())
	}
	return []row{{
		"MCP: tools/call of haversine_km over streamable HTTP, 32 connections",
		fmt.Sprintf("%.0f/s, p99 %.1f ms", median(rates), p99), "≥ 6,000/s, ≤ 30 ms",
	}}, nil
}

// The requests that begin a session.
const (
	mcpInitialize  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	mcpInitialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// mcpCaller returns a function that opens a session of its own, which calls a tool.
func (s *server) mcpCaller(path, tool string, arguments func(i int) string) func(context.Context) (caller, error) {
	return func(ctx context.Context) (caller, error) {
		c, err := s.connect(ctx)
		if err != nil {
			return caller{}, err
		}
		header := jsonHeader + "Accept: application/json, text/event-stream\r\n"
		post := func(body, want string) error {
			head, answer, err := c.post(path, header, body)
			if id := head.Get("Mcp-Session-Id"); id != "" && err == nil && body == mcpInitialize {
				header += "Mcp-Session-Id: " + id + "\r\nMcp-Protocol-Version: 2025-11-25\r\n"
			}
			if err == nil && !bytes.Contains(answer, []byte(want)) {
				err = fmt.Errorf("%s answers %s", body, answer)
			}
			return err
		}
		if err = post(mcpInitialize, "serverInfo"); err == nil {
			err = post(mcpInitialized, "")
		}
		return caller{func(i int) error {
			return post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, i+1, tool, arguments(i)), `"content"`)
		}, func() { c.Close() }}, err
	}
}

// stdioVariable makes the program an MCP server with a tool, echo.
const stdioVariable = "SPICED_BENCH_MCP"

func serveEcho(ctx context.Context) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "echo", InputSchema: map[string]any{"type": "object"}},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
		})
	return s.Run(ctx, &mcp.StdioTransport{})
}

// benchMCPProxy compares calls of a stdio server through the registry with direct
// calls, alternately.
func benchMCPProxy(ctx context.Context, e *env) ([]row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := e.write(ctx, pod{name: "mcpproxy", text: "tools: [{name: bench, from: 'mcp:" + self + "', env: {" + stdioVariable + ": '1'}}]\n"})
	if err != nil {
		return nil, err
	}
	d, err := loaded(ctx, runtime.Options{Path: dir})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), stdioVariable+"=1")
	direct, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, err
	}
	defer direct.Close()
	const rounds = 2000
	n := 0
	arguments := func() json.RawMessage { n++; return fmt.Appendf(nil, `{"n":%d}`, n) }
	straight, through, _, err := alternate(rounds, func() (float64, error) {
		began := time.Now()
		_, err := direct.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: arguments()})
		return ms(time.Since(began)), err
	}, func() (float64, error) {
		began := time.Now()
		if result := d.Tools().Invoke(ctx, registry.Call{Name: "bench__echo", Arguments: arguments()}); !result.OK {
			return 0, result.Error
		}
		return ms(time.Since(began)), nil
	})
	return []row{{
		fmt.Sprintf("MCP: added to a call of a stdio server, p50 of %d (straight: %.2f ms)", rounds, straight),
		fmt.Sprintf("%.2f ms", through-straight), "≤ 1 ms",
	}}, err
}

const listedTools = 5000

// benchMCPList measures tools/list of 5,000 tools, page by page, with the SDK's client
// over HTTP.
func benchMCPList(ctx context.Context, _ *env) ([]row, error) {
	random := rand.New(rand.NewPCG(1, 2))
	var list []tools.Tool
	for i := range listedTools {
		list = append(list, madeUp(random, i))
	}
	catalog, err := registry.NewCatalog(nil, registry.Contents{Tools: list, Search: search.Default()})
	if err != nil {
		return nil, err
	}
	r := registry.New(registry.Options{})
	r.Publish(catalog)
	s := mcpserver.New(mcpserver.Options{Registry: r})
	defer s.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	web := &http.Server{Handler: s}
	go web.Serve(listener) //nolint:errcheck // ends with Close
	defer web.Close()
	url := "http://" + listener.Addr().String()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, nil)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	raw, pages, err := listPages(ctx, url)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	n := 0
	for _, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		n++
	}
	if n != listedTools {
		return nil, fmt.Errorf("%d tools are listed", n)
	}
	return []row{{
		fmt.Sprintf("MCP: tools/list with 5,000 tools, %d pages, to the last byte (decoded by the SDK's client: %.0f ms)", pages, ms(time.Since(began))),
		fmt.Sprintf("%.0f ms", raw), "≤ 50 ms, paged",
	}}, nil
}

// listPages reads all pages without decoding, several times, and returns the median
// time in milliseconds.
func listPages(ctx context.Context, url string) (took float64, pages int, err error) {
	post := func(session, body string) (http.Header, []byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			return nil, nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, nil, err
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		return res.Header, answer, err
	}
	head, _, err := post("", mcpInitialize)
	if err != nil {
		return 0, 0, err
	}
	session := head.Get("Mcp-Session-Id")
	if _, _, err := post(session, mcpInitialized); err != nil {
		return 0, 0, err
	}
	var times []float64
	for range 11 {
		began, cursor := time.Now(), ""
		for pages = 0; pages == 0 || cursor != ""; pages++ {
			_, answer, err := post(session, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"`+cursor+`"}}`)
			if err != nil {
				return 0, 0, err
			}
			if cursor, err = nextCursor(answer); err != nil {
				return 0, 0, err
			}
		}
		times = append(times, ms(time.Since(began)))
	}
	return median(times), pages, nil
}

// nextCursor finds the cursor without decoding the tools.
func nextCursor(answer []byte) (string, error) {
	if !bytes.Contains(answer, []byte(`"tools"`)) {
		return "", errors.New("no tools: " + string(answer[:min(len(answer), 200)]))
	}
	_, rest, found := bytes.Cut(answer, []byte(`"nextCursor":"`))
	if !found {
		return "", nil
	}
	cursor, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(cursor), nil
}
