package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/protocols/mcpserver"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// waiter is a tool that runs until it is cancelled. It says when it has begun
// and when it has ended.
func waiter(t testing.TB) (tools.Tool, chan struct{}, chan struct{}) {
	begun, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	return tool(t, tools.Definition{Name: "wait"}, func(ctx context.Context, _ tools.Input) (tools.Output, error) {
		begun <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return tools.Output{}, ctx.Err()
	}), begun, ended
}

func TestCallEndsWith(t *testing.T) {
	const plain, watched = `{"name":"wait"}`, `{"name":"wait","_meta":{"progressToken":1}}`
	post := func(s *raw, body string) { s.post(body) }
	for _, c := range []struct {
		name string
		end  func(*fixture, *raw, context.CancelFunc)
	}{
		{"a cancelled notification", func(_ *fixture, s *raw, _ context.CancelFunc) {
			post(s, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c","reason":"enough"}}`)
		}},
		{"the connection", func(_ *fixture, _ *raw, leave context.CancelFunc) { leave() }},
		{"the session", func(_ *fixture, s *raw, _ context.CancelFunc) {
			s.do(s.request(t.Context(), http.MethodDelete, ""))
		}},
		{"the server", func(f *fixture, _ *raw, _ context.CancelFunc) { f.server.Close() }},
	} {
		for how, params := range map[string]string{"plain": plain, "watched": watched} {
			t.Run(c.name+", "+how, func(t *testing.T) {
				wait, begun, ended := waiter(t)
				f := start(t, mcpserver.Options{}, wait)
				session := f.shake(t, "")
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				answered := make(chan struct{})
				go func() {
					defer close(answered)
					request := session.request(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":`+params+`}`)
					if response, err := session.client.Do(request); err == nil {
						_, _ = io.Copy(io.Discard, response.Body)
						response.Body.Close()
					}
				}()
				<-begun
				c.end(f, session, leave)
				<-ended
				<-answered
			})
		}
	}
}

func TestNothingIsServedAfterClose(t *testing.T) {
	f := start(t, mcpserver.Options{}, greet(t))
	session := f.shake(t, "")
	f.server.Close()
	if response, _ := session.post(handshake); response.StatusCode != http.StatusNotFound {
		t.Errorf("a session of before: %s", response.Status)
	}
	session.id = ""
	if response, body := session.post(handshake); response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a new session: %s %s", response.Status, body)
	}
	f.server.Close()
	f.server.Published()
}

func TestTwoCallsOfOneID(t *testing.T) {
	wait, begun, _ := waiter(t)
	session := start(t, mcpserver.Options{}, wait).shake(t, "")
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if response, err := session.client.Do(session.request(ctx, http.MethodPost,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait"}}`)); err == nil {
			response.Body.Close()
		}
	}()
	<-begun
	if got := session.ask("tools/list", `{}`); !strings.Contains(got, `"code":-32600`) {
		t.Error(got)
	}
	leave()
	<-done
}

// pipes serves one client over pipes.
func pipes(t *testing.T, s *mcpserver.Server, o *mcp.ClientOptions) (*mcp.ClientSession, chan error) {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.Serve(t.Context(), in, out) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "piper", Version: "1"}, o)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return session, served
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry.New(registry.Options{})
		publish(t, r, tool(t, tools.Definition{Name: "slow"}, func(ctx context.Context, _ tools.Input) (tools.Output, error) {
			select {
			case <-time.After(3500 * time.Millisecond):
			case <-ctx.Done():
			}
			return tools.JSON("done")
		}))
		s := mcpserver.New(mcpserver.Options{Registry: r})
		var got []string
		session, served := pipes(t, s, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
			got = append(got, fmt.Sprintf("%v %v %s", n.Params.ProgressToken, n.Params.Progress, n.Params.Message))
		}})
		params := &mcp.CallToolParams{Name: "slow"}
		params.SetProgressToken("p")
		if _, err := session.CallTool(t.Context(), params); err != nil {
			t.Fatal(err)
		}
		session.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		s.Close()
		want := []string{"p 0 slow begins", "p 1 slow has run for 1 s", "p 2 slow has run for 2 s", "p 3 slow has run for 3 s"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestProgressOverHTTPComesWithTheAnswer(t *testing.T) {
	session := start(t, mcpserver.Options{}, greet(t)).shake(t, "")
	response, err := session.client.Do(session.request(t.Context(), http.MethodPost,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"},"_meta":{"progressToken":"p"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	progress, answer := strings.Index(string(body), "notifications/progress"), strings.Index(string(body), "hello Ada")
	if progress < 0 || answer < progress {
		t.Errorf("%s", body)
	}
}

func TestStdio(t *testing.T) {
	f := start(t, mcpserver.Options{Resources: library{}}, greet(t), scopes(t))
	session, served := pipes(t, f.server, nil)
	if diff := cmp.Diff([]string{"greet", "scope"}, names(t, session)); diff != "" {
		t.Error(diff)
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "scope"})
	if err != nil || !strings.Contains(result.Content[0].(*mcp.TextContent).Text, `"agent":"piper"`) {
		t.Errorf("%v %v", result, err)
	}
	if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "spiced://datasets/sales"}); err != nil {
		t.Error(err)
	}
	session.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestStdioEndsWithItsContextAndServer(t *testing.T) {
	for name, end := range map[string]func(*mcpserver.Server, context.CancelFunc){
		"context": func(_ *mcpserver.Server, cancel context.CancelFunc) { cancel() },
		"server":  func(s *mcpserver.Server, _ context.CancelFunc) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			wait, begun, ended := waiter(t)
			f := start(t, mcpserver.Options{}, wait)
			in, toServer := io.Pipe()
			fromServer, out := io.Pipe()
			go func() { _, _ = io.Copy(io.Discard, fromServer) }()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			served := make(chan error, 1)
			go func() { served <- f.server.Serve(ctx, in, out) }()
			fmt.Fprintln(toServer, handshake)
			fmt.Fprintln(toServer, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}`)
			<-begun
			end(f.server, cancel)
			<-ended
			if err := <-served; (err != nil) != (name == "context") {
				t.Error(err)
			}
		})
	}
}

func TestSessionsHearOfWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, more := registry.New(registry.Options{}), &atomic.Bool{}
		publish(t, r, greet(t))
		mode := spicepod.MCPDirect
		s := mcpserver.New(mcpserver.Options{Registry: r, Resources: library{more}, Settings: func() mcpserver.Settings { return mcpserver.Settings{Mode: mode} }})
		var heard []string
		session, served := pipes(t, s, &mcp.ClientOptions{
			ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { heard = append(heard, "tools") },
			ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { heard = append(heard, "resources") },
		})
		after := func(what, want string) {
			t.Helper()
			heard = nil
			s.Published()
			time.Sleep(time.Second) // of the bubble: the SDK gathers notifications
			synctest.Wait()
			if got := strings.Join(heard, " "); got != want {
				t.Errorf("after %s: heard %q, want %q", what, got, want)
			}
		}
		after("nothing", "")
		publish(t, r, greet(t))
		after("an equal catalog", "")
		publish(t, r, greet(t), point(t))
		after("another tool", "tools")
		after("nothing more", "")
		more.Store(true)
		after("another resource", "resources")
		mode = spicepod.MCPRegistry
		after("another mode", "tools")
		publish(t, r, greet(t))
		after("a tool that is not listed", "")
		session.Close()
		<-served
		s.Close()
	})
}

func TestListChangedOverHTTP(t *testing.T) {
	f := start(t, mcpserver.Options{}, greet(t))
	session := f.shake(t, "")
	response, err := session.client.Do(session.request(t.Context(), http.MethodGet, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	publish(t, f.registry, greet(t), point(t))
	f.server.Published()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), "notifications/tools/list_changed") {
			return
		}
	}
	t.Error("the stream ended without the notification")
}

func TestCallsAreLogged(t *testing.T) {
	session := talk(t).shake(t, "")
	stream, err := session.client.Do(session.request(t.Context(), http.MethodGet, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	session.ask("tools/call", `{"name":"broken"}`) // no log was requested yet
	session.ask("logging/setLevel", `{"level":"warning"}`)
	session.ask("tools/call", `{"name":"greet","arguments":{"name":"Ada"}}`)
	session.ask("tools/call", `{"name":"broken","_meta":{"spiced/trace":"second"}}`)
	session.ask("logging/setLevel", `{"level":"debug"}`)
	session.ask("tools/call", `{"name":"point"}`)
	var got []string
	for lines := bufio.NewScanner(stream.Body); len(got) < 2 && lines.Scan(); {
		var message struct {
			Params struct {
				Level string
				Data  struct{ Tool, Code string }
			}
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && json.Unmarshal([]byte(data), &message) == nil {
			got = append(got, message.Params.Level+" "+message.Params.Data.Tool+" "+message.Params.Data.Code)
		}
	}
	if diff := cmp.Diff([]string{"warning broken execution_error", "debug point "}, got); diff != "" {
		t.Error(diff)
	}
}

// recorded serves a request without a network.
func recorded(s *mcpserver.Server, session, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestIdleSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcpserver.New(mcpserver.Options{Registry: registry.New(registry.Options{})})
		id := recorded(s, "", handshake).Header().Get("Mcp-Session-Id")
		time.Sleep(29 * time.Minute)
		if w := recorded(s, id, ping); w.Code != http.StatusOK {
			t.Errorf("after 29 minutes: %d %s", w.Code, w.Body)
		}
		time.Sleep(29 * time.Minute)
		if w := recorded(s, id, ping); w.Code != http.StatusOK {
			t.Errorf("29 minutes after use: %d %s", w.Code, w.Body)
		}
		time.Sleep(31 * time.Minute)
		if w := recorded(s, id, ping); w.Code != http.StatusNotFound {
			t.Errorf("31 minutes after use: %d %s", w.Code, w.Body)
		}
		s.Close()
	})
}

func TestSessionWithAStreamIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcpserver.New(mcpserver.Options{Registry: registry.New(registry.Options{})})
		id := recorded(s, "", handshake).Header().Get("Mcp-Session-Id")
		ctx, leave := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/v1/mcp", nil)
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Mcp-Session-Id", id)
		w, done := httptest.NewRecorder(), make(chan struct{})
		go func() { defer close(done); s.ServeHTTP(w, r) }()
		time.Sleep(2*time.Hour + time.Second)
		if w := recorded(s, id, ping); w.Code != http.StatusOK {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		leave()
		<-done
		if n := strings.Count(w.Body.String(), ": alive"); n != 240 {
			t.Errorf("%d comments in two hours, want 240", n)
		}
		s.Close()
	})
}

func TestSessionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcpserver.New(mcpserver.Options{Registry: registry.New(registry.Options{})})
		mcpserver.LimitSessions(s, 100)
		mine := recorded(s, "", handshake).Header().Get("Mcp-Session-Id")
		for range 1000 {
			time.Sleep(time.Millisecond)
			if w := recorded(s, "", handshake); w.Code != http.StatusOK {
				t.Fatal(w.Code, w.Body)
			}
			if w := recorded(s, mine, ping); w.Code != http.StatusOK {
				t.Fatalf("a session in use was ended: %d %s", w.Code, w.Body)
			}
		}
		for range 100 {
			recorded(s, "", ping)
			recorded(s, "", "{}")
			recorded(s, "made-up", ping)
		}
		if n := mcpserver.Sessions(s); n != 100 {
			t.Errorf("%d sessions are kept, want 100", n)
		}
		s.Close()
		if n := mcpserver.Sessions(s); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	})
}

func TestSessionsInUseAreNotEnded(t *testing.T) {
	f := start(t, mcpserver.Options{}, greet(t))
	mcpserver.LimitSessions(f.server, 1)
	session := f.shake(t, "")
	stream, err := session.client.Do(session.request(t.Context(), http.MethodGet, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	other := &raw{t: t, client: httpClient(t), url: f.url}
	if response, body := other.post(handshake); !strings.Contains(body, "too many sessions") || mcpserver.Sessions(f.server) != 1 {
		t.Errorf("%s %s", response.Status, body)
	}
	if got := session.ask("tools/list", "{}"); !strings.Contains(got, "greet") {
		t.Error(got)
	}
}

// TestStdioNewestRevision: the SDK's client speaks the newest over stdio.
func TestStdioNewestRevision(t *testing.T) {
	f := start(t, mcpserver.Options{Resources: library{}}, greet(t))
	session, served := pipes(t, f.server, nil)
	var wrong *jsonrpc.Error
	if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "spiced://datasets/sale"}); !errors.As(err, &wrong) ||
		wrong.Code != jsonrpc.CodeInvalidParams {
		t.Errorf("revision %s: %v", session.InitializeResult().ProtocolVersion, err)
	}
	session.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	f.server.Close()
	in, toServer := io.Pipe()
	defer toServer.Close()
	if err := f.server.Serve(t.Context(), in, discard{}); err == nil {
		t.Error("served after Close")
	}
}

type discard struct{ io.Writer }

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

func TestRevisions(t *testing.T) {
	f := start(t, mcpserver.Options{}, greet(t))
	for revision, want := range map[string]string{
		"2025-11-25": "2025-11-25", "2025-06-18": "2025-06-18", "2025-03-26": "2025-03-26", "2024-11-05": "2024-11-05",
		"1999-01-01": "2025-11-25", "2026-07-28": "2025-11-25",
	} {
		session := &raw{t: t, client: httpClient(t), url: f.url}
		response, body := session.post(strings.Replace(handshake, "2025-11-25", revision, 1))
		var got struct {
			Result struct{ ProtocolVersion string }
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || got.Result.ProtocolVersion != want {
			t.Errorf("%s: %v %s", revision, err, body)
		}
		session.id = response.Header.Get("Mcp-Session-Id")
		for _, kind := range []string{"application/json", "application/json; charset=utf-8"} {
			request := session.request(t.Context(), http.MethodPost,
				`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}}`)
			request.Header.Set("Mcp-Protocol-Version", want)
			request.Header.Set("Content-Type", kind)
			if _, body := session.do(request); !strings.Contains(body, "hello Ada") || !strings.Contains(body, `"id":"x"`) {
				t.Errorf("%s %s: %s", revision, kind, body)
			}
		}
	}
}
