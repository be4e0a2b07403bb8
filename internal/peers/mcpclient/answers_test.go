package mcpclient_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/test/wait"
	"github.com/spiced-sql/spiced/tools"
)

// strict is a server without the SDK, whose tools answer as a test says. It knows its current
// session only.
type strict struct {
	tools    map[string]func(w http.ResponseWriter, id string) // by name
	sessions atomic.Int64                                      // how many began
	ran      sync.Map                                          // calls by arguments → *atomic.Int64
	unknown  func(w http.ResponseWriter, id string)            // the answer in a session that is over
	get      http.HandlerFunc                                  // nil: it has no stream
	lists    atomic.Int64                                      // how often its tools were listed
	held     chan struct{}                                     // the tool "held" answers when it is closed
	holding  chan struct{}                                     // receives when a call of it has begun
}

func newStrict(tools map[string]func(w http.ResponseWriter, id string)) *strict {
	s := &strict{tools: tools, held: make(chan struct{}), holding: make(chan struct{}, 100)}
	if s.tools == nil {
		s.tools = map[string]func(w http.ResponseWriter, id string){}
	}
	s.unknown = func(w http.ResponseWriter, _ string) { http.Error(w, "", http.StatusNotFound) }
	s.tools["good"] = func(w http.ResponseWriter, id string) { result(w, id, `{"content":[{"type":"text","text":"good"}]}`) }
	s.tools["held"] = func(w http.ResponseWriter, id string) {
		s.holding <- struct{}{}
		<-s.held
		s.tools["good"](w, id)
	}
	return s
}

func result(w http.ResponseWriter, id, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"result":%s,"jsonrpc":"2.0","id":%s}`, result, id)
}

func (s *strict) session() string { return fmt.Sprint("session-", s.sessions.Load()) }

// restart makes the server forget its session.
func (s *strict) restart() { s.sessions.Add(1) }

func (s *strict) calls(arguments string) int64 {
	count, _ := s.ran.LoadOrStore(arguments, &atomic.Int64{})
	return count.(*atomic.Int64).Load()
}

func (s *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &m)
	switch {
	case r.Method == http.MethodGet && s.get != nil:
		s.get(w, r)
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case m.Method == "initialize":
		s.sessions.Add(1)
		w.Header().Set("Mcp-Session-Id", s.session())
		result(w, string(m.ID), `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"strict","version":"1"}}`)
	case r.Header.Get("Mcp-Session-Id") != s.session():
		s.unknown(w, string(m.ID))
	case m.Method == "tools/list":
		s.lists.Add(1)
		var list []string
		for name := range s.tools {
			list = append(list, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
		}
		result(w, string(m.ID), `{"tools":[`+strings.Join(list, ",")+`]}`)
	case m.Method == "tools/call":
		count, _ := s.ran.LoadOrStore(string(m.Params.Arguments), &atomic.Int64{})
		count.(*atomic.Int64).Add(1)
		s.tools[m.Params.Name](w, string(m.ID))
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// sends is an answer of that type.
func sends(status int, mediaType, form string) func(w http.ResponseWriter, id string) {
	return func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Type", mediaType)
		w.WriteHeader(status)
		io.WriteString(w, strings.ReplaceAll(form, "ID", id))
	}
}

// TestBadAnswersFailOneCall has another call in progress, and one after it, in the same session.
func TestBadAnswersFailOneCall(t *testing.T) {
	const asJSON, asEvents, goodResult = "application/json", "text/event-stream", `{"content":[{"type":"text","text":"x"}]}`
	long := strings.Repeat("m", 18<<20)
	bad := map[string]struct {
		answer func(w http.ResponseWriter, id string)
		code   errcode.Code // "": it is good
		text   string
	}{
		"long JSON": {sends(200, asJSON, `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"`+long+`"}]}}`), errcode.Limit, "16 MiB"},
		"long event": {
			sends(200, asEvents, `data: {"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"`+long+`"}]}}`+"\n\n"),
			errcode.Limit, "16 MiB",
		},
		"junk":       {sends(200, asJSON, `Internal error`), errcode.Execution, "not a JSON-RPC"},
		"nothing":    {sends(200, asJSON, ``), errcode.Execution, "not a JSON-RPC"},
		"a list":     {sends(200, asJSON, `[]`), errcode.Execution, "not a JSON-RPC"},
		"an object":  {sends(200, asJSON, `{"detail":"x"}`), errcode.Execution, "not a JSON-RPC"},
		"no result":  {sends(200, asJSON, `{"jsonrpc":"2.0","id":ID}`), errcode.Execution, "not a JSON-RPC"},
		"another id": {sends(200, asJSON, `{"jsonrpc":"2.0","id":99999,"result":`+goodResult+`}`), errcode.Execution, "not a JSON-RPC"},
		"error without id": {
			sends(200, asJSON, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no, no"}}`), errcode.Execution,
			"the server answers: no, no",
		},
		"error as text": {sends(200, asJSON, `{"jsonrpc":"2.0","id":ID,"error":"no, no"}`), errcode.Execution, "no, no"},
		"code as text": {
			sends(200, asJSON, `{"jsonrpc":"2.0","id":ID,"error":{"code":"E1","message":"no, no"}}`), errcode.Execution,
			"the server answers: no, no",
		},
		"result as text":  {sends(200, asJSON, `{"jsonrpc":"2.0","id":ID,"result":"x"}`), errcode.Execution, "not an object"},
		"isError as text": {sends(200, asJSON, `{"jsonrpc":"2.0","id":ID,"result":{"isError":"yes"}}`), errcode.Execution, "cannot be read"},
		"a page":          {sends(200, "text/html", `<html>`), errcode.ToolUnavailable, `unsupported content type "text/html"`},
		"no content":      {sends(204, "", ``), errcode.ToolUnavailable, `unsupported content type ""`},
		"too large":       {sends(413, "text/html", `<html>`), errcode.ToolUnavailable, "(413 Request Entity Too Large)"},
		"bad request":     {sends(400, "text/plain", `no`), errcode.ToolUnavailable, "(400 Bad Request)"},
		"forbidden":       {sends(403, "text/plain", `no`), errcode.ToolUnavailable, "(403 Forbidden)"},
		"teapot":          {sends(418, asJSON, `{"error":"x"}`), errcode.Execution, "x"},
		"refused with message": {
			sends(422, asJSON, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"a is missing"}}`), errcode.InvalidArguments,
			"a is missing",
		},
		"fails":      {sends(500, "text/plain", `no`), errcode.ToolUnavailable, "(500 Internal Server Error)"},
		"junk event": {sends(200, asEvents, "data: {\"a\":\n\n"), errcode.Execution, "not a JSON-RPC"},
		"event without id": {
			sends(200, asEvents, "data: {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"no, no\"}}\n\n"),
			errcode.Execution, "the server answers: no, no",
		},
		"stream without": {sends(200, asEvents, ": hello\n\n"), errcode.ToolUnavailable, ""},
		"cut": {func(w http.ResponseWriter, _ string) {
			w.Header().Set("Content-Length", "1000")
			sends(200, asJSON, `{"jsonrpc":`)(w, "")
		}, errcode.ToolUnavailable, "in the middle of"},
		"hangs up":                        {func(http.ResponseWriter, string) { panic(http.ErrAbortHandler) }, errcode.ToolUnavailable, "closed the connection"},
		"a stream that cannot be resumed": {sends(200, asEvents, "id: 1\nretry: 1\ndata:\n\n"), errcode.ToolUnavailable, "not resume it"},

		"id as text":      {sends(200, asJSON, `{"jsonrpc":"2.0","id":"ID","result":`+goodResult+`}`), "", ""},
		"id as float":     {sends(200, asJSON, `{"jsonrpc":"2.0","id":ID.0,"result":`+goodResult+`}`), "", ""},
		"error is null":   {sends(200, asJSON, `{"jsonrpc":"2.0","id":ID,"result":`+goodResult+`,"error":null}`), "", ""},
		"without version": {sends(200, asJSON+"; charset=utf-8", `{"id":ID,"result":`+goodResult+`}`), "", ""},
		"in a batch": {sends(200, asJSON,
			`[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}},{"jsonrpc":"2.0","id":ID,"result":`+goodResult+`}]`), "", ""},
		"other events": {sends(200, asEvents,
			"event: ping\ndata: 1\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":7}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\ndata: \"result\":"+goodResult+"}\n\n"), "", ""},
		"events with CRLF": {sends(200, asEvents, "event: message\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":"+goodResult+"}\r\n\r\n"), "", ""},
	}
	answers := map[string]func(http.ResponseWriter, string){}
	for name, b := range bad {
		answers[strings.ReplaceAll(name, " ", "_")] = b.answer
	}
	fake := newStrict(answers)
	site := newSite(t, fake)
	w := newWeb(t)
	server := w.open(site.entry())
	held := make(chan string, 1)
	go func() {
		got, err := call(t.Context(), tool(t, server, "web__held"), `{}`)
		held <- fmt.Sprint(got, err)
	}()
	<-fake.holding
	for name, b := range bad {
		got, err := call(t.Context(), tool(t, server, "web__"+strings.ReplaceAll(name, " ", "_")), `{"of":"`+name+`"}`)
		switch {
		case b.code == "" && (err != nil || got != `"x"`):
			t.Errorf("%s: %s %+v", name, got, err)
		case b.code != "" && (err == nil || err.Code != b.code || !strings.Contains(err.Message, b.text)):
			t.Errorf("%s: %s %+v", name, got, err)
		}
		if n := fake.calls(`{"of":"` + name + `"}`); n != 1 {
			t.Errorf("%s ran %d times", name, n)
		}
		if got, err := call(t.Context(), tool(t, server, "web__good"), `{}`); err != nil {
			t.Errorf("after %s: %s %v", name, got, err)
		}
	}
	close(fake.held)
	if got := <-held; got != `"good"<nil>` {
		t.Errorf("the call in progress: %s", got)
	}
	if n := fake.sessions.Load(); n != 2 { // the first call that hung up began another
		t.Errorf("%d sessions", n)
	}
}

// TestLostSessions has calls in progress and parallel ones when the server forgets the session.
func TestLostSessions(t *testing.T) {
	for name, unknown := range map[string]func(http.ResponseWriter, string){
		"404":               sends(404, "text/plain", ""),
		"404 with an error": sends(404, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`),
		"404 with an id":    sends(404, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32001,"message":"Session not found"}}`),
		"400 of TypeScript": sends(400, "application/json",
			`{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`),
		"400 of Python": sends(400, "application/json",
			`{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: No valid session ID provided"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			fake := newStrict(nil)
			fake.unknown = unknown
			site := newSite(t, fake)
			w := newWeb(t)
			server := w.open(site.entry())
			held := make(chan string, 1)
			go func() {
				got, err := call(t.Context(), tool(t, server, "web__held"), `{"of":"held"}`)
				held <- fmt.Sprint(got, err)
			}()
			<-fake.holding
			for round := range 3 {
				fake.restart()
				var parallel sync.WaitGroup
				for i := range 20 {
					parallel.Go(func() {
						arguments := fmt.Sprintf(`{"of":%d}`, round*100+i)
						if got, err := call(t.Context(), tool(t, server, "web__good"), arguments); err != nil || got != `"good"` || fake.calls(arguments) != 1 {
							t.Errorf("%s %+v, ran %d times", got, err, fake.calls(arguments))
						}
					})
				}
				parallel.Wait()
			}
			close(fake.held)
			if got := <-held; got != `"good"<nil>` || fake.calls(`{"of":"held"}`) != 1 {
				t.Errorf("the call in progress: %s, ran %d times", got, fake.calls(`{"of":"held"}`))
			}
		})
	}
}

// TestSessionsThatAreAlwaysLost ends a call after its second session, and the server's answers
// are its error.
func TestSessionsThatAreAlwaysLost(t *testing.T) {
	fake := newStrict(nil)
	fake.tools["lost"] = func(w http.ResponseWriter, id string) { fake.unknown(w, id) }
	site := newSite(t, fake)
	w := newWeb(t)
	server := w.open(site.entry())
	_, err := call(t.Context(), tool(t, server, "web__lost"), `{"of":"lost"}`)
	if err == nil || err.Code != errcode.ToolUnavailable || !strings.Contains(err.Message, "no longer knows the session") ||
		!strings.Contains(err.Hint, "did not run") || fake.calls(`{"of":"lost"}`) != 2 {
		t.Errorf("%+v, %d calls", err, fake.calls(`{"of":"lost"}`))
	}
	wait.Until(t, "a call succeeds", func() bool { _, err := call(t.Context(), tool(t, server, "web__good"), `{}`); return err == nil })
}

// TestLostSessionOfAServerThatIsGone ends the calls that wait for the next session.
func TestLostSessionOfAServerThatIsGone(t *testing.T) {
	fake := newStrict(nil)
	site := newSite(t, fake)
	w := newWeb(t)
	server := w.open(site.entry())
	fake.restart()
	site.set(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Session-Id") == "" {
			http.Error(w, "", http.StatusServiceUnavailable)
			return
		}
		fake.ServeHTTP(w, r)
	}))
	_, err := call(t.Context(), tool(t, server, "web__good"), `{}`)
	if err == nil || err.Code != errcode.ToolUnavailable || !strings.Contains(err.Message, "(503 Service Unavailable)") {
		t.Errorf("%+v", err)
	}
}

// TestSessionsRefusedOtherwise has servers that refuse a session that they have forgotten with
// another status: the first call fails, since it may have run, and a new session follows.
func TestSessionsRefusedOtherwise(t *testing.T) {
	for _, status := range []int{400, 401, 403, 410, 500, 503} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			fake := newStrict(nil)
			fake.unknown = sends(status, "text/plain", "no session")
			site := newSite(t, fake)
			w := newWeb(t)
			server := w.open(site.entry())
			fake.restart()
			if _, err := call(t.Context(), tool(t, server, "web__good"), `{"of":1}`); err == nil || err.Code != errcode.ToolUnavailable {
				t.Errorf("%+v", err)
			}
			wait.Until(t, "a call succeeds", func() bool { _, err := call(t.Context(), tool(t, server, "web__good"), `{"of":2}`); return err == nil })
			if n := fake.calls(`{"of":1}`); n != 0 {
				t.Errorf("the first call ran %d times", n)
			}
		})
	}
}

// TestResumedAnswers resumes the stream of an answer that is cut off before an event.
func TestResumedAnswers(t *testing.T) {
	var resumed atomic.Int64
	fake := newStrict(map[string]func(w http.ResponseWriter, id string){
		"cut": sends(200, "text/event-stream", "id: ID-1\nretry: 1\ndata:\n\n"),
	})
	fake.get = func(w http.ResponseWriter, r *http.Request) {
		id, cut := strings.CutSuffix(r.Header.Get("Last-Event-Id"), "-1")
		switch {
		case !cut:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case resumed.Add(1) < 3:
			sends(200, "text/event-stream", "retry: 1\n\n")(w, id)
		default:
			sends(200, "text/event-stream", "id: ID-2\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[]}}\n\n")(w, id)
		}
	}
	site := newSite(t, fake)
	w := newWeb(t)
	if got, err := call(t.Context(), tool(t, w.open(site.entry()), "web__cut"), `{}`); err != nil || got != "null" || resumed.Load() != 3 {
		t.Errorf("%s %+v, resumed %d times", got, err, resumed.Load())
	}
}

// TestStormOfChanges has a server that reports changes of its list without end although it stays the same.
func TestStormOfChanges(t *testing.T) {
	fake := newStrict(nil)
	var sent atomic.Int64
	fake.get = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			sent.Add(1)
			_, err := io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
			if err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
		}
	}
	site := newSite(t, fake)
	w := newWeb(t)
	server := w.open(site.entry())
	wait.Until(t, "the list is read again", func() bool { return sent.Load() > 1000 && fake.lists.Load() > 3 })
	if lists, reports := fake.lists.Load(), sent.Load(); lists > reports/10 {
		t.Errorf("%d lists for %d reports", lists, reports)
	}
	if _, err := call(t.Context(), tool(t, server, "web__good"), `{}`); err != nil {
		t.Error(err)
	}
}

// TestResultsThatAreNotWhatTheServerSent have a notice: decoding JSON drops the first of two
// members with one name, and what is no text.
func TestResultsThatAreNotWhatTheServerSent(t *testing.T) {
	fake := newStrict(nil)
	for name, text := range map[string]string{
		"twice":     `{"structuredContent":{"a":1,"a":2},"content":[]}`,
		"surrogate": `{"content":[{"type":"text","text":"cut \ud83d"}]}`,
		"latin1":    "{\"content\":[{\"type\":\"text\",\"text\":\"caf\xe9\"}]}",
	} {
		fake.tools[name] = func(w http.ResponseWriter, id string) { result(w, id, text) }
	}
	server := newWeb(t).open(newSite(t, fake).entry())
	for name, want := range map[string]string{"twice": `the name "a" twice`, "surrogate": `surrogate pair, \ud83d`, "latin1": "is not UTF-8", "good": ""} {
		out, err := tool(t, server, "web__"+name).Call(t.Context(), tools.Input{})
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case want == "" && len(out.Notices) > 0, want != "" && (len(out.Notices) != 1 || !strings.Contains(out.Notices[0], want)):
			t.Errorf("%s: %s with notices %q, want %q", name, out.Value, out.Notices, want)
		}
	}
}
