package repl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// chatServer is a fake of the routes that a chat uses. It answers the n-th
// message with answers[n].
type chatServer struct {
	*httptest.Server
	models  string
	answers []string // bodies of server-sent events

	mu     sync.Mutex
	bodies []string
	header http.Header

	decisions []string
}

const twoModels = `{"object":"list","data":[
	{"id":"m","object":"model","owned_by":"openai:x","tools":{"mode":"registry","reason":"25 tools, more than 20","count":25,"advertised":["list_datasets","tool_invoke","tool_search"]}},
	{"id":"broken","object":"model","owned_by":"openai:y","status":"Error","error":"no embedding model","tools":{"mode":"none"}}]}`

func newChatServer(t *testing.T, answers ...string) *chatServer {
	t.Helper()
	s := &chatServer{models: twoModels, answers: answers}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, s.models)
	})
	mux.HandleFunc("POST /v1/tools:search", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"tools":[{"tool_id":"haversine_km","description":"Distance.","score":1}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	mux.HandleFunc("POST /v1/approvals/{id}", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.decisions = append(s.decisions, r.PathValue("id")+" "+strings.TrimSpace(string(body)))
		w.Header().Set("Content-Type", "application/json")
		if r.PathValue("id") == "apr_late" {
			w.WriteHeader(http.StatusConflict)
			io.WriteString(w, `{"message":"the approval is expired","code":"approval_decided"}`)
			return
		}
		io.WriteString(w, `{"status":"as decided"}`)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *chatServer) complete(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	n := len(s.bodies)
	s.bodies, s.header = append(s.bodies, string(body)), r.Header.Clone()
	s.mu.Unlock()
	if n >= len(s.answers) || !strings.HasPrefix(s.answers[n], "data:") {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(w, `{"error":{"message":"too many","type":"rate_limit_error","code":"rate_limited"}}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, s.answers[n])
}

// chunks is a stream of texts, with events written as {…}.
func chunks(reason string, pieces ...string) string {
	var b strings.Builder
	for _, p := range pieces {
		content, _ := json.Marshal(p)
		delta, event := fmt.Sprintf(`{"content":%s}`, content), ""
		if strings.HasPrefix(p, "{") {
			delta, event = "{}", `,"spiced_event":`+p
		}
		fmt.Fprintf(&b, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":null}]%s}\n\n",
			delta, event)
	}
	fmt.Fprintf(&b, "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", reason)
	return b.String()
}

func converse(s *chatServer, model, script string) (out, notes string, err error) {
	var outBuf, errBuf bytes.Buffer
	err = Chat(context.Background(), ChatOptions{
		Options: Options{URL: s.URL, Client: s.Client(), In: strings.NewReader(script), Out: &outBuf, Err: &errBuf, Header: http.Header{"X-Api-Key": {"k"}}},
		Model:   model, System: "be brief",
	})
	return outBuf.String(), errBuf.String(), err
}

func TestChatStreamsAndShowsCalls(t *testing.T) {
	s := newChatServer(t,
		chunks("stop", "Let me see.", `{"type":"tool_call","tool":"haversine_km","arguments":{"lat1":1}}`,
			`{"type":"tool_result","tool":"haversine_km","ok":true,"latency_ms":12.34}`, "\n\n42", " km"),
		chunks("length", `{"type":"tool_result","tool":"f","ok":false,"latency_ms":1,"error":{"message":"no\u001b[2J"}}`, "half"))
	out, notes, err := converse(s, "m", "how far?\n\nand now?\n/quit\nnever said\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := "Let me see.\n\n\n42 km\nhalf\n"; out != want {
		t.Errorf("out %q, want %q", out, want)
	}
	want := "→ haversine_km {\"lat1\":1}\n← haversine_km 12.3 ms\n← f 1.0 ms: no [2J\n(cut off: the answer has as many tokens as it may have)\n"
	if notes != want {
		t.Errorf("notes %q, want %q", notes, want)
	}
	if s.header.Get("X-Spiced-Events") != "include" || s.header.Get("X-Api-Key") != "k" || len(s.bodies) != 2 {
		t.Errorf("header %v, %d requests", s.header, len(s.bodies))
	}
	var second struct {
		Messages []struct{ Role, Content string } `json:"messages"`
	}
	if err := json.Unmarshal([]byte(s.bodies[1]), &second); err != nil {
		t.Fatal(err)
	}
	said := []struct{ Role, Content string }{
		{"system", "be brief"}, {"user", "how far?"}, {"assistant", "Let me see.\n\n42 km"}, {"user", "and now?"},
	}
	if diff := cmp.Diff(said, second.Messages); diff != "" {
		t.Error(diff)
	}
}

func TestChatForgetsWhatGotNoAnswer(t *testing.T) {
	s := newChatServer(t, "busy")
	_, _, err := converse(s, "m", "hello\n")
	var failed *ServerError
	if !errors.As(err, &failed) || failed.Status != 429 || failed.Message != "too many" || failed.Code != "rate_limited" {
		t.Errorf("error %v", err)
	}
}

func TestChatCommands(t *testing.T) {
	s := newChatServer(t)
	_, _, err := converse(s, "", "")
	if err == nil || err.Error() != "there are several models, choose one: m, broken" {
		t.Errorf("error %v", err)
	}
	out, notes, err := converse(s, "m", "/tools\n/tools far\n/model\n/model m\n/clear\n/help\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"registry: 25 tools, more than 20\n  list_datasets\n  tool_invoke\n  tool_search\n25 tools can be found with tool_search: try /tools QUERY\n",
		"1.00  haversine_km  Distance.\n", "* m", "openai:x", "error: no embedding model", "/quit",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if notes != "the model is m\nthe conversation is forgotten\n" {
		t.Errorf("notes %q", notes)
	}
}

func TestChatRefuses(t *testing.T) {
	s := newChatServer(t)
	for _, c := range []struct{ model, script, want string }{
		{"brokn", "", `there is no model "brokn": did you mean "broken"?`},
		{"nothing", "", `there is no model "nothing": there are m, broken`},
		{"broken", "", `the model "broken" was not loaded: no embedding model`},
		{"m", "/modle x\n", `unknown command /modle (did you mean "/model"?)`},
		{"m", "/model broken\n", `the model "broken" was not loaded`},
	} {
		if _, _, err := converse(s, c.model, c.script); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: error %v, want %q", c.model, c.script, err, c.want)
		}
	}
	s.models = `{"data":[]}`
	if _, _, err := converse(s, "", ""); err == nil || err.Error() != "the Spicepod declares no models" {
		t.Errorf("error %v", err)
	}
}

func TestChatAtATerminal(t *testing.T) {
	s := newChatServer(t, chunks("stop", "hi"), "busy")
	var out, notes bytes.Buffer
	c, err := newChat(t.Context(), ChatOptions{Options: Options{URL: s.URL, Client: s.Client(), Out: &out, Err: &notes}, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	terminal := &typed{lines: []string{"^C", "hello", "", "again", "/quit", "never"}}
	if err := c.interact(t.Context(), terminal); err != nil {
		t.Fatal(err)
	}
	if out.String() != "hi\n" || !strings.Contains(notes.String(), "error: too many [rate_limited]\n") {
		t.Errorf("out %q, notes %q", out.String(), notes.String())
	}
	if diff := cmp.Diff([]string{"hello", "again", "/quit"}, terminal.remembered); diff != "" {
		t.Error(diff)
	}
	for _, word := range []string{"exit", "Quit", `\q`} {
		terminal := &typed{lines: []string{word, "never"}}
		if err := c.interact(t.Context(), terminal); err != nil || len(terminal.remembered) != 1 {
			t.Errorf("%s: %v, lines %q", word, err, terminal.remembered)
		}
	}
	if _, got, _ := c.complete("/to", 3); len(got) != 1 || got[0] != "/tools" {
		t.Errorf("completions %q", got)
	}
}

// The person at the terminal decides about calls, where no keys are needed.
func TestChatAsksForApproval(t *testing.T) {
	event := func(id string, may bool) string {
		return fmt.Sprintf(`{"type":"approval_required","tool":"refund","arguments":{"order":7},"approval_id":%q,"may_decide":%t}`, id, may)
	}
	asked := event("apr_1", true)
	s := newChatServer(t, chunks("stop", asked, "a"), chunks("stop", asked, "b"), chunks("stop", asked, "c"), chunks("stop", event("apr_late", true), "d"),
		chunks("stop", event("apr_2", false), "e"))
	var out, notes bytes.Buffer
	c, err := newChat(t.Context(), ChatOptions{Options: Options{URL: s.URL, Client: s.Client(), Out: &out, Err: &notes}, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	terminal := &typed{lines: []string{"one", "y", "two", "", "three", "^C", "four", "yes", "five"}}
	if err := c.interact(t.Context(), terminal); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`apr_1 {"decision":"approve"}`, `apr_1 {"decision":"deny"}`, `apr_1 {"decision":"deny"}`, `apr_late {"decision":"approve"}`},
		s.decisions); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{
		"? refund {\"order\":7} needs approval: apr_1\n  as decided", "the decision was not taken: the approval is expired",
		"needs approval: apr_2",
	} {
		if !strings.Contains(notes.String(), want) {
			t.Errorf("the notes lack %q:\n%s", want, notes.String())
		}
	}
	if out.String() != "a\nb\nc\nd\ne\n" {
		t.Errorf("out %q", out.String())
	}
}

func TestAsk(t *testing.T) {
	s := newChatServer(t, chunks("stop", "a\tb\x1b[31m"))
	var out bytes.Buffer
	err := Ask(t.Context(), ChatOptions{Options: Options{URL: s.URL, Client: s.Client(), Out: &out}, Model: "m"}, "q")
	if err != nil || out.String() != "a\tb [31m\n" {
		t.Errorf("%v, %q", err, out.String())
	}
}

// TestChatShowsAgents shows the steps of agents with their names, and not the pieces of
// their answers.
func TestChatShowsAgents(t *testing.T) {
	s := newChatServer(t, chunks("stop",
		`{"type":"agent_start","agent":"hawken","depth":1,"text":"Who is\nMara?"}`,
		`{"type":"agent_chunk","agent":"hawken","depth":1,"text":"Let me see"}`,
		`{"type":"agent_tool_call","agent":"lagan","depth":2,"tool":"f","arguments":{"a":1}}`,
		`{"type":"agent_tool_result","agent":"lagan","depth":2,"tool":"f","ok":false,"latency_ms":1,"error":{"message":"no"}}`,
		`{"type":"agent_end","agent":"hawken","depth":1,"ok":true,"latency_ms":2}`,
		`{"type":"agent_end","agent":"x\u001b","depth":99,"ok":false,"latency_ms":2,"error":{"message":"late"}}`, "42"))
	out, notes, err := converse(s, "m", "who?\n")
	if err != nil {
		t.Fatal(err)
	}
	want := "  hawken begins: Who is Mara?\n    lagan → f {\"a\":1}\n    lagan ← f 1.0 ms: no\n  hawken ends after 2.0 ms\n" +
		strings.Repeat(" ", 16) + "x  ends after 2.0 ms: late\n"
	if out != "42\n" || notes != want {
		t.Errorf("out %q, notes:\n%s\nwant\n%s", out, notes, want)
	}
}
