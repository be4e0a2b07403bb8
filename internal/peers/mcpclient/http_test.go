package mcpclient_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/peers/mcpclient"
	"github.com/spiced-sql/spiced/internal/test/wait"
	"github.com/spiced-sql/spiced/tools"
)

// site is a web server with a replaceable handler.
type site struct {
	*httptest.Server
	handler atomic.Pointer[http.Handler]
}

func newSite(t *testing.T, h http.Handler) *site {
	t.Helper()
	s := &site{}
	s.set(h)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*s.handler.Load()).ServeHTTP(w, r) }))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *site) set(h http.Handler) { s.handler.Store(&h) }

// entry is an entry for the site, with additional lines.
func (s *site) entry(more ...string) string {
	return "  - name: web\n    from: 'mcp:" + s.URL + "/mcp'\n" + strings.Join(indented(more), "")
}

func indented(lines []string) []string {
	for i := range lines {
		lines[i] = "    " + lines[i] + "\n"
	}
	return lines
}

// streamable serves a well-behaved server. Create it before the world that uses
// it, so that it is closed after the sessions that are still open.
func streamable(t *testing.T, o *mcp.StreamableHTTPOptions) http.Handler {
	return host(t, sdkServer(), o)
}

func host(t *testing.T, s *mcp.Server, o *mcp.StreamableHTTPOptions) http.Handler {
	t.Cleanup(func() {
		for session := range s.Sessions() {
			session.Close()
		}
	})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, o)
}

// newWeb is a world that closes its connections at the end.
func newWeb(t *testing.T, change ...func(*mcpclient.Options)) *world {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return newWorld(t, append(change, func(o *mcpclient.Options) { o.HTTP = &http.Client{Transport: transport} })...)
}

func TestWeb(t *testing.T) {
	for name, h := range map[string]http.Handler{
		"streamable":    streamable(t, nil),
		"JSON":          streamable(t, &mcp.StreamableHTTPOptions{JSONResponse: true}),
		"stateless":     streamable(t, &mcp.StreamableHTTPOptions{Stateless: true}),
		"HTTP+SSE":      mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return sdkServer() }, nil),
		"no GET answer": hangs(http.MethodGet, streamable(t, nil)),
	} {
		t.Run(name, func(t *testing.T) {
			var authorization, extra atomic.Value
			s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				authorization.Store(r.Header.Get("Authorization"))
				extra.Store(r.Header.Get("X-Extra"))
				h.ServeHTTP(w, r)
			}))
			w := newWeb(t)
			server := w.open(s.entry("params: {mcp_auth_token: top-secret, mcp_headers: 'X-Extra: a; X-Other: b'}"))
			got, err := call(t.Context(), tool(t, server, "web__echo"), `{"a":1}`)
			if err != nil || got != `{"a":1}` {
				t.Errorf("%s %v\n%s", got, err, w.log)
			}
			if authorization.Load() != "Bearer top-secret" || extra.Load() != "a" {
				t.Errorf("Authorization %q, X-Extra %q", authorization.Load(), extra.Load())
			}
			if st := w.Status()[0]; st.From != "mcp:"+s.URL+"/mcp" || st.State != mcpclient.Ready {
				t.Errorf("status %+v", st)
			}
		})
	}
}

// hangs never responds to one method.
func hangs(method string, h http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == method {
			io.Copy(io.Discard, r.Body) // otherwise the end of the connection is not seen
			<-r.Context().Done()
			return
		}
		h.ServeHTTP(w, r)
	}
}

func TestWebListChanged(t *testing.T) {
	s := newSite(t, streamable(t, nil))
	w := newWeb(t)
	server := w.open(s.entry())
	if _, err := call(t.Context(), tool(t, server, "web__grow"), `{}`); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the new tools are listed", func() bool {
		w.waitChanged()
		servers, _ := w.Prepare(t.Context(), w.pod(s.entry()))
		return len(servers[0].Tools()) == len(server.Tools())+3
	})
}

func TestWebThatIsNotThere(t *testing.T) {
	var foreign atomic.Int64
	other := newSite(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { foreign.Add(1) }))
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"refuses the key": {func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "no top-secret", http.StatusUnauthorized)
		}, "the server refused the key (401 Unauthorized); check params.mcp_auth_token"},
		"not found": {http.NotFound, "there is no MCP server at that URL (404 Not Found)"},
		"fails": {func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "", http.StatusServiceUnavailable)
		}, "the server failed (503 Service Unavailable)"},
		"hangs":     {hangs(http.MethodPost, nil), "it did not answer within 2s"},
		"is a page": {func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<html>") }, "unsupported content type"},
		"redirects to others": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, "the server redirects to another host, "},
		"redirects to a page": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/login", http.StatusFound)
		}, "the server redirects as to a page"},
		"redirects in a ring": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/mcp", http.StatusPermanentRedirect)
		}, "the server redirects more than 3 times"},
		"names another host for messages": {func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				http.Error(w, "", http.StatusMethodNotAllowed)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: endpoint\ndata: %s/messages\n\n", other.URL)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "there is no MCP server at that URL (405 Method Not Allowed)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, c.handler)
			w := newWeb(t, impatient)
			servers, problems := w.Prepare(t.Context(), w.pod(s.entry("params: {mcp_auth_token: top-secret}")))
			if len(servers) != 1 || len(problems) != 1 || problems.HasErrors() || !strings.Contains(problems[0].Message, c.want) {
				t.Errorf("problems %v, want %q", problems, c.want)
			}
			if st := w.Status()[0]; st.State != mcpclient.Error || !strings.Contains(st.Error, c.want) {
				t.Errorf("status %+v", st)
			}
			if strings.Contains(w.log.String()+problems.Error(), "top-secret") {
				t.Error("a message holds the token")
			}
		})
	}
	if n := foreign.Load(); n > 0 {
		t.Errorf("another host got %d requests", n)
	}
}

func TestWebForgetsTheSession(t *testing.T) {
	s, next := newSite(t, streamable(t, nil)), streamable(t, nil)
	w := newWeb(t)
	server := w.open(s.entry())
	s.set(next) // as after a restart
	if got, err := call(t.Context(), tool(t, server, "web__word"), `{}`); err != nil || got != `"plain words"` {
		t.Errorf("%s %+v", got, err)
	}
}

func TestWebGoesAndComes(t *testing.T) {
	s, next := newSite(t, streamable(t, nil)), streamable(t, nil)
	w := newWeb(t)
	server := w.open(s.entry())
	s.set(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, _ := w.(http.Hijacker).Hijack()
		c.Close()
	}))
	if _, err := call(t.Context(), tool(t, server, "web__word"), `{}`); err == nil || err.Code != errcode.ToolUnavailable ||
		!strings.Contains(err.Message, "the server closed the connection without an answer") {
		t.Errorf("%+v", err)
	}
	wait.Until(t, "the server is in error", func() bool { return w.Status()[0].State == mcpclient.Error })
	s.set(next)
	wait.Until(t, "a call succeeds", func() bool { _, err := call(t.Context(), tool(t, server, "web__word"), `{}`); return err == nil })
}

func TestWebAnswersTooMuch(t *testing.T) {
	for _, json := range []bool{true, false} {
		t.Run(fmt.Sprint("JSON ", json), func(t *testing.T) {
			big := sdkServer()
			big.AddTool(&mcp.Tool{Name: "big", InputSchema: anyObject}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("m", 20<<20)}}}, nil
			})
			s := newSite(t, host(t, big, &mcp.StreamableHTTPOptions{JSONResponse: json}))
			w := newWeb(t)
			server := w.open(s.entry())
			if _, err := call(t.Context(), tool(t, server, "web__big"), `{}`); err == nil || err.Code != errcode.Limit {
				t.Errorf("%+v", err)
			}
			wait.Until(t, "a call succeeds", func() bool { _, err := call(t.Context(), tool(t, server, "web__word"), `{}`); return err == nil })
		})
	}
}

func TestWebTimeout(t *testing.T) {
	s := newSite(t, streamable(t, nil))
	w := newWeb(t)
	server := w.open(s.entry())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := tool(t, server, "web__hang").Call(ctx, tools.Input{}); err != context.DeadlineExceeded {
		t.Error(err)
	}
	if _, err := call(t.Context(), tool(t, server, "web__word"), `{}`); err != nil {
		t.Error(err)
	}
}
