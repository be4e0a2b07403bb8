package sqlapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/llm/nsql"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/internal/sql/activity"
	"github.com/spiced-sql/spiced/internal/test/wait"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// fakeChats answers as set up.
type fakeChats struct {
	models []models.Info
	chat   func(ctx context.Context, r *chat.Request, scope caller.Caller) (chatEvents, error)
	nsql   func(ctx context.Context, model string, q nsql.Request, scope caller.Caller) (nsql.Answer, error)
}

func (f *fakeChats) Models(caller.Caller) []models.Info { return f.models }

func (f *fakeChats) Agents(caller.Caller) []models.AgentInfo { return []models.AgentInfo{} }

func (f *fakeChats) Chat(ctx context.Context, r *chat.Request, scope caller.Caller) (chatEvents, error) {
	return f.chat(ctx, r, scope)
}

func (f *fakeChats) NSQL(ctx context.Context, model string, q nsql.Request, scope caller.Caller) (nsql.Answer, error) {
	return f.nsql(ctx, model, q, scope)
}

// The pieces of scripted answers.
func delta(d chat.Delta) toolloop.Event { return toolloop.Event{Delta: d} }

func says(text string) toolloop.Event {
	return delta(chat.Delta{Kind: chat.DeltaText, Text: text})
}

func ends(reason chat.Reason) []toolloop.Event {
	return []toolloop.Event{
		delta(chat.Delta{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 9, Output: 3, CacheRead: 4}}),
		delta(chat.Delta{Kind: chat.DeltaFinish, Reason: reason}),
	}
}

var (
	starts   = delta(chat.Delta{Kind: chat.DeltaStart})
	callStep = toolloop.Event{Tool: &registry.Event{
		Type: registry.EventToolCall, CallID: "c1", Tool: "haversine_km", Arguments: json.RawMessage(`{"lat1":52.5}`),
	}}
	resultStep = toolloop.Event{Tool: &registry.Event{
		Type: registry.EventToolResult, CallID: "c1", Tool: "haversine_km",
		Result: &tools.Result{OK: true, Result: json.RawMessage("871"), Metrics: tools.Metrics{LatencyMS: 1.5}},
	}}
	failedStep = toolloop.Event{Tool: &registry.Event{
		Type: registry.EventToolResult, CallID: "c2", Tool: "nope", Result: &tools.Result{Error: tools.NewError(errcode.ToolNotFound, "there is no tool", "")},
	}}
)

// answers is a whole answer of a text.
func answers(text string) []toolloop.Event {
	return append([]toolloop.Event{starts, says(text)}, ends(chat.ReasonStop)...)
}

// yields yields what is given, then err unless it is nil.
func yields(err error, events ...toolloop.Event) chatEvents {
	return func(yield func(toolloop.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(toolloop.Event{}, err)
		}
	}
}

// script makes every chat yield the same.
func script(err error, events ...toolloop.Event) *fakeChats {
	return &fakeChats{chat: func(context.Context, *chat.Request, caller.Caller) (chatEvents, error) {
		return yields(err, events...), nil
	}}
}

// echoes is chats with the last text of the request, calls of the client's
// tools, and questions with themselves. A model whose name is the code of an
// error fails with that.
func echoes() *fakeChats {
	fails := func(model string) error {
		e := &chat.Error{Code: errcode.Code(model), Message: "it failed"}
		if statusOf(e.Code) == http.StatusInternalServerError && e.Code != errcode.Internal {
			return nil
		}
		return e
	}
	return &fakeChats{
		models: twoModels(),
		chat: func(_ context.Context, r *chat.Request, _ caller.Caller) (chatEvents, error) {
			if err := fails(r.Model); err != nil {
				return nil, err
			}
			return yields(nil, echoed(r)...), nil
		},
		nsql: func(_ context.Context, model string, q nsql.Request, _ caller.Caller) (nsql.Answer, error) {
			return nsql.Answer{SQL: q.Query, Attempts: 1}, fails(model)
		},
	}
}

// echoed says the last text and calls each of the client's tools.
func echoed(r *chat.Request) []toolloop.Event {
	events := []toolloop.Event{starts, callStep, resultStep}
	if n := len(r.Messages); n > 0 {
		events = append(events, says(r.Messages[n-1].Text()))
	}
	reason, index := chat.ReasonStop, 0
	for _, tool := range r.Tools {
		if tool.Hosted() {
			continue
		}
		events = append(events,
			delta(chat.Delta{Kind: chat.DeltaCall, Index: index, Call: &chat.Call{ID: fmt.Sprintf("call_%d", index), Name: tool.Name}}),
			delta(chat.Delta{Kind: chat.DeltaArguments, Index: index, Text: `{"x":`}),
			delta(chat.Delta{Kind: chat.DeltaArguments, Index: index, Text: `1}`}),
			delta(chat.Delta{Kind: chat.DeltaCallEnd, Index: index}))
		reason = chat.ReasonCalls
		index++
	}
	return append(events, ends(reason)...)
}

// form is a chat endpoint as clients see it.
type form struct {
	name, path, body string // of a stream when %v is true
	id               string // what an answer's id looks like
	text             string // what its text stands in, %s
	failure          string // what an error looks like
	ended            string // what stands at the end of a stream
}

var forms = []form{
	{
		"completions", "/v1/chat/completions", `{"model":"helper","stream":%v,"messages":[{"role":"user","content":"hi"}]}`,
		`"id":"chatcmpl-\w{24,}"`, `"content":"%s"`, `{"error":{"`, "[DONE]",
	},
	{
		"messages", "/v1/messages", `{"model":"helper","stream":%v,"max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`,
		`"id":"msg_\w{24,}"`, `"text":"%s"`, `"type":"error"`, "message_stop",
	},
	{
		"responses", "/v1/responses", `{"model":"helper","stream":%v,"input":"hi"}`,
		`"id":"resp_\w{24,}"`, `"text":"%s"`, `{"error":{"`, "response.completed",
	},
}

func (f form) stream() string { return fmt.Sprintf(f.body, true) }
func (f form) whole() string  { return fmt.Sprintf(f.body, false) }

// eachForm runs a test with every form.
func eachForm(t *testing.T, test func(*testing.T, form)) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) { test(t, f) })
	}
}

func serveChats(t testing.TB, c Chats, change func(*Options)) *fixture {
	t.Helper()
	return serveTools(t, func(o *Options) {
		o.Chats = c
		if change != nil {
			change(o)
		}
	})
}

// wantMatch wants a pattern in an answer.
func wantMatch(t *testing.T, r reply, pattern string) {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(r.body) {
		t.Errorf("%s is not in %s", pattern, r.body)
	}
}

func TestChatsAreAnsweredWhole(t *testing.T) {
	eachForm(t, func(t *testing.T, form form) {
		var got caller.Caller
		f := serveChats(t, &fakeChats{chat: func(_ context.Context, r *chat.Request, scope caller.Caller) (chatEvents, error) {
			got = scope
			if r.Model != "helper" || len(r.Messages) != 1 || r.Messages[0].Text() != "hi" {
				t.Errorf("got %+v", r)
			}
			return yields(nil, append([]toolloop.Event{callStep, resultStep}, answers("moin")...)...), nil
		}}, nil)
		r := f.send("POST", form.path, form.whole(), headerUser, "ada", headerSpace, "s", headerSession, "t", headerAgent, "a", headerRequestID, "q1")
		f.want(r, 200, "")
		wantMatch(t, r, form.id)
		wantMatch(t, r, fmt.Sprintf(form.text, "moin"))
		if want := (caller.Caller{
			UserID: "ada", SpaceID: "s", SessionID: "t", Agent: "a", RequestID: "q1", Model: "helper", Write: true, Delegate: true,
			Address: "127.0.0.1", Protocol: caller.Chat,
		}); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("scope %+v", got)
		}
		if r.header.Get(headerRequestID) != "q1" || r.header.Get(headerGeneration) != "7" || r.header.Get("Content-Type") != "application/json" {
			t.Errorf("headers %v", r.header)
		}
		if strings.Contains(r.body, "haversine") {
			t.Error("the calls were not asked for")
		}
	})
}

func TestChatsAreStreamed(t *testing.T) {
	eachForm(t, func(t *testing.T, form form) {
		f := serveChats(t, script(nil, append([]toolloop.Event{callStep, resultStep}, answers("moin")...)...), nil)
		r := f.send("POST", form.path, form.stream())
		f.want(r, 200, "moin")
		f.want(r, 200, form.ended)
		wantMatch(t, r, form.id)
		for header, want := range map[string]string{
			"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no", headerGeneration: "7",
		} {
			if got := r.header.Get(header); got != want {
				t.Errorf("%s: %q", header, got)
			}
		}
		if len(r.header.Get(headerRequestID)) == 0 || strings.Contains(r.body, "haversine") {
			t.Errorf("got %v %s", r.header, r.body)
		}
	})
}

var chatFailures = []struct {
	err     error
	status  int
	want    string // in the body
	headers string // Retry-After and X-Should-Retry
}{
	{chat.Invalid("model", "m is wrong"), 400, "m is wrong", "/false"},
	{&chat.Error{Code: errcode.ModelNotFound, Message: "there is no model"}, 404, "there is no model", "/false"},
	{&chat.Error{Code: errcode.RequestTooLarge, Message: "too large"}, 413, "too large", "/false"},
	{&chat.Error{Code: errcode.RateLimited, Message: "slow down", RetryAfter: 1500 * time.Millisecond}, 429, "slow down", "2/"},
	{&chat.Error{Code: errcode.RateLimited, Message: "slow down", RetryAfter: time.Second, Retried: true}, 429, "slow down", "1/false"},
	{&chat.Error{Code: errcode.RateLimited, Message: "slow down"}, 429, "slow down", "/"},
	{&chat.Error{Code: errcode.ProviderError, Message: "down", Cause: errors.New("why")}, 502, "down", "/"},
	{&chat.Error{Code: errcode.ProviderRefused, Message: "bad key"}, 502, "bad key", "/false"},
	{&chat.Error{Code: errcode.ProviderTimeout, Message: "too slow"}, 504, "too slow", "/"},
	{&chat.Error{Code: errcode.StreamBroken, Message: "broke off"}, 502, "broke off", "/"},
	{&chat.Error{Code: errcode.ModelNotLoaded, Message: "not loaded"}, 503, "not loaded", "/false"},
	{&chat.Error{Code: errcode.Cancelled, Message: "stopped"}, 499, "stopped", "/false"},
	{errors.New("secret /etc"), 500, "internal", "/false"},
}

// TestChatErrorsHaveAStatus covers errors of the request, and those that come
// first in a stream.
func TestChatErrorsHaveAStatus(t *testing.T) {
	eachForm(t, func(t *testing.T, form form) {
		chats := &fakeChats{}
		f := serveChats(t, chats, nil)
		for _, c := range chatFailures {
			for _, body := range []string{form.whole(), form.stream()} {
				for _, late := range []bool{false, true} {
					chats.chat = func(context.Context, *chat.Request, caller.Caller) (chatEvents, error) {
						if late {
							return yields(c.err), nil
						}
						return nil, c.err
					}
					r := f.send("POST", form.path, body)
					f.want(r, c.status, c.want)
					f.want(r, c.status, form.failure)
					if got := r.header.Get("Retry-After") + "/" + r.header.Get("X-Should-Retry"); got != c.headers || strings.Contains(r.body, "secret") {
						t.Errorf("%v: %s %s", c.err, got, r.body)
					}
				}
			}
		}
		if !strings.Contains(f.log.String(), "secret /etc") || !strings.Contains(f.log.String(), `"cause":"why"`) {
			t.Error("the causes are not in the log")
		}
	})
}

func TestErrorsAroundChatsHaveTheDoorsForm(t *testing.T) {
	eachForm(t, func(t *testing.T, form form) {
		chats := &fakeChats{chat: func(context.Context, *chat.Request, caller.Caller) (chatEvents, error) { panic("secret /etc") }}
		f := serveChats(t, chats, func(o *Options) { o.BodyTimeout = time.Minute })
		for _, c := range []struct {
			body   string
			header []string
			status int
		}{
			{"{", nil, 400},
			{"\xff", nil, 400},
			{`{"stream":true}`, nil, 400},
			{form.whole(), []string{headerUser, strings.Repeat("x", 200)}, 400},
			{form.whole(), []string{"Origin", "http://evil.example"}, 403},
			{form.whole(), []string{"Content-Encoding", "br"}, 415},
			{form.whole(), nil, 500},
			{form.stream(), nil, 500},
		} {
			r := f.send("POST", form.path, c.body, c.header...)
			f.want(r, c.status, form.failure)
			if strings.Contains(r.body, "secret") {
				t.Error(r.body)
			}
		}
		none := serve(t, nil)
		none.want(none.send("POST", form.path, form.whole()), 404, form.failure)
	})
}

func TestErrorsWithinAStreamAreEvents(t *testing.T) {
	eachForm(t, func(t *testing.T, form form) {
		chats := &fakeChats{}
		f := serveChats(t, chats, nil)
		for _, c := range chatFailures {
			chats.chat = script(c.err, starts, says("moin")).chat
			r := f.send("POST", form.path, form.stream())
			f.want(r, 200, "moin")
			f.want(r, 200, c.want)
			if strings.Contains(r.body, form.ended) || strings.Contains(r.body, "secret") {
				t.Errorf("%v: %s", c.err, r.body)
			}
		}
	})
}

func TestWholeAnswersThatFailAreErrors(t *testing.T) {
	eachForm(t, func(t *testing.T, form form) {
		f := serveChats(t, script(&chat.Error{Code: errcode.StreamBroken, Message: "broke off"}, starts, says("moin")), nil)
		r := f.send("POST", form.path, form.whole())
		f.want(r, 502, "broke off")
		if strings.Contains(r.body, "moin") {
			t.Error("a part of an answer was sent as a whole")
		}
	})
}

// open sends a request and returns its answer while it is being sent.
func (f *fixture) open(ctx context.Context, path, body string, header ...string) *http.Response {
	f.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := f.Client().Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { res.Body.Close() })
	return res
}

// readUntil reads lines up to one that has the text.
func readUntil(t *testing.T, lines *bufio.Reader, text string) {
	t.Helper()
	for {
		line, err := lines.ReadString('\n')
		if strings.Contains(line, text) {
			return
		}
		if err != nil {
			t.Fatalf("%q did not come: %v", text, err)
		}
	}
}

// TestDeltasLeaveAtOnce: the next delta is made after the client has seen the
// one before.
func TestDeltasLeaveAtOnce(t *testing.T) {
	eachForm(t, func(t *testing.T, form form) {
		seen := make(chan struct{})
		f := serveChats(t, &fakeChats{chat: func(ctx context.Context, _ *chat.Request, _ caller.Caller) (chatEvents, error) {
			return func(yield func(toolloop.Event, error) bool) {
				yield(starts, nil)
				for i := range 5 {
					yield(says(fmt.Sprintf("piece%d", i)), nil)
					select {
					case <-seen:
					case <-ctx.Done():
					}
				}
				for _, e := range ends(chat.ReasonStop) {
					yield(e, nil)
				}
			}, nil
		}}, nil)
		lines := bufio.NewReader(f.open(t.Context(), form.path, form.stream()).Body)
		for i := range 5 {
			readUntil(t, lines, fmt.Sprintf("piece%d", i))
			seen <- struct{}{}
		}
		readUntil(t, lines, form.ended)
	})
}

// waits yields what is given and waits for the end of ctx, which it reports.
func waitsAfter(ended chan<- error, events ...toolloop.Event) *fakeChats {
	return &fakeChats{chat: func(ctx context.Context, _ *chat.Request, _ caller.Caller) (chatEvents, error) {
		return func(yield func(toolloop.Event, error) bool) {
			for _, e := range events {
				if !yield(e, nil) {
					break
				}
			}
			<-ctx.Done()
			ended <- context.Cause(ctx)
			yield(toolloop.Event{}, &chat.Error{Code: errcode.Cancelled, Message: "the client left"})
		}, nil
	}}
}

func TestLeavingEndsTheChat(t *testing.T) {
	eachForm(t, func(t *testing.T, form form) {
		ended := make(chan error, 1)
		f := serveChats(t, waitsAfter(ended, starts, says("moin")), nil)
		ctx, leave := context.WithCancel(t.Context())
		readUntil(t, bufio.NewReader(f.open(ctx, form.path, form.stream()).Body), "moin")
		leave()
		<-ended
		wait.Until(t, "the log", func() bool { return strings.Contains(f.log.String(), `"code":"cancelled"`) })
	})
}

func TestLeavingEndsAWholeAnswer(t *testing.T) {
	ended, began := make(chan error, 1), make(chan struct{})
	chats := waitsAfter(ended)
	inner := chats.chat
	chats.chat = func(ctx context.Context, r *chat.Request, s caller.Caller) (chatEvents, error) {
		close(began)
		return inner(ctx, r, s)
	}
	f := serveChats(t, chats, nil)
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-began
		leave()
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL+forms[0].path, strings.NewReader(forms[0].whole()))
	if err != nil {
		t.Fatal(err)
	}
	if res, err := f.Client().Do(req); err == nil {
		res.Body.Close()
		t.Error("an answer came")
	}
	<-ended
}

// TestWhoDoesNotReadEndsTheChat: the client does not read an endless stream.
func TestWhoDoesNotReadEndsTheChat(t *testing.T) {
	ended := make(chan bool, 1)
	f := serveChats(t, &fakeChats{chat: func(context.Context, *chat.Request, caller.Caller) (chatEvents, error) {
		return func(yield func(toolloop.Event, error) bool) {
			piece := says(strings.Repeat("x", 1<<20))
			for yield(piece, nil) {
			}
			ended <- true
		}, nil
	}}, func(o *Options) { o.WriteTimeout = 50 * time.Millisecond })
	f.open(t.Context(), forms[1].path, forms[1].stream())
	<-ended
	wait.Until(t, "the log", func() bool { return strings.Contains(f.log.String(), `"code":"not_sent"`) })
}

func TestSilenceHasComments(t *testing.T) {
	eachForm(t, func(t *testing.T, form form) {
		seen := make(chan struct{})
		f := serveChats(t, &fakeChats{chat: func(context.Context, *chat.Request, caller.Caller) (chatEvents, error) {
			return func(yield func(toolloop.Event, error) bool) {
				<-seen // before the first delta, the header is sent with a comment
				yield(starts, nil)
				yield(says("moin"), nil)
				<-seen
				yield(toolloop.Event{}, &chat.Error{Code: errcode.StreamBroken, Message: "broke off"})
			}, nil
		}}, func(o *Options) { o.KeepAlive = time.Millisecond })
		res := f.open(t.Context(), form.path, form.stream())
		lines := bufio.NewReader(res.Body)
		for range 3 {
			readUntil(t, lines, ": keep-alive")
		}
		seen <- struct{}{}
		readUntil(t, lines, "moin")
		readUntil(t, lines, ": keep-alive")
		seen <- struct{}{}
		readUntil(t, lines, "broke off")
		if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("got %d %v", res.StatusCode, res.Header)
		}
		if rest, err := io.ReadAll(lines); err != nil || strings.Contains(string(rest), "keep-alive") {
			t.Errorf("after the end: %q, %v", rest, err)
		}
	})
}

func TestAnErrorAfterACommentIsAnEvent(t *testing.T) {
	eachForm(t, func(t *testing.T, form form) {
		seen := make(chan struct{})
		f := serveChats(t, &fakeChats{chat: func(context.Context, *chat.Request, caller.Caller) (chatEvents, error) {
			return func(yield func(toolloop.Event, error) bool) {
				<-seen
				yield(toolloop.Event{}, &chat.Error{Code: errcode.ProviderError, Message: "down"})
			}, nil
		}}, func(o *Options) { o.KeepAlive = time.Millisecond })
		lines := bufio.NewReader(f.open(t.Context(), form.path, form.stream()).Body)
		readUntil(t, lines, ": keep-alive")
		seen <- struct{}{}
		readUntil(t, lines, "down")
	})
}

func TestTooManyChats(t *testing.T) {
	ended := make(chan error, 1)
	f := serveChats(t, waitsAfter(ended, starts, says("moin")), func(o *Options) { o.MaxChats = 1 })
	form := forms[0]
	ctx, leave := context.WithCancel(t.Context())
	readUntil(t, bufio.NewReader(f.open(ctx, form.path, form.stream()).Body), "moin")
	r := f.send("POST", form.path, form.whole())
	f.want(r, 429, "too many chats")
	if r.header.Get("Retry-After") != "1" {
		t.Errorf("got %v", r.header)
	}
	leave()
	<-ended
}

func TestCancel(t *testing.T) {
	eachForm(t, func(t *testing.T, form form) {
		ended := make(chan error, 1)
		f := serveChats(t, waitsAfter(ended, starts, says("moin")), nil)
		const id = "run/7:x"
		path := "/v1/requests/" + id + ":cancel"
		f.want(f.send("POST", path, ""), 404, `"code":"request_not_found"`)
		lines := bufio.NewReader(f.open(t.Context(), form.path, form.stream(), headerRequestID, id, headerUser, "ada").Body)
		readUntil(t, lines, "moin")
		f.want(f.send("POST", path, ""), 404, "no request runs")
		f.want(f.send("POST", path, "", headerUser, "bob"), 404, "no request runs")
		f.want(f.send("POST", path, "", headerUser, "ada"), 200, `{"cancelled":true}`)
		if err := <-ended; !errors.Is(err, activity.ErrCancelled) {
			t.Errorf("got %v", err)
		}
		readUntil(t, lines, errStopped.Message)
		if _, err := io.ReadAll(lines); err != nil {
			t.Error(err)
		}
		f.want(f.send("POST", path, "", headerUser, "ada"), 404, "no request runs")
		f.want(f.send("POST", "/v1/requests/x", ""), 404, "route_not_found")
		f.want(f.send("GET", "/v1/requests/x:cancel", ""), 405, "POST")
	})
}

func TestCancelBeforeTheFirstDelta(t *testing.T) {
	began, ended := make(chan struct{}), make(chan error, 1)
	chats := waitsAfter(ended)
	inner := chats.chat
	chats.chat = func(ctx context.Context, r *chat.Request, s caller.Caller) (chatEvents, error) {
		close(began)
		return inner(ctx, r, s)
	}
	f := serveChats(t, chats, nil)
	done := make(chan reply)
	go func() { done <- f.send("POST", forms[0].path, forms[0].stream(), headerRequestID, "a") }()
	<-began
	f.want(f.send("POST", "/v1/requests/a:cancel", ""), 200, "true")
	f.want(<-done, 499, "was cancelled by")
}

func TestEventsOfCalls(t *testing.T) {
	eachForm(t, func(t *testing.T, form form) {
		read := toolloop.Event{Response: &toolloop.Response{Round: 2, Usage: chat.Usage{Input: 20, Output: 5, CacheRead: 7}}}
		list := []toolloop.Event{starts, callStep, resultStep, failedStep, read, says("moin")}
		f := serveChats(t, script(nil, append(list, ends(chat.ReasonStop)...)...), nil)
		stream := f.send("POST", form.path, form.stream(), headerEvents, "include")
		for _, want := range []string{
			"tool_call", `"call_id":"c1"`, `"tool":"haversine_km"`, `"arguments":{"lat1":52.5}`, "tool_result", `"ok":true`, `"result":871`,
			`"latency_ms":1.5`, `"ok":false`, `"error":{"code":"tool_not_found","message":"there is no tool"}`, "moin", form.ended,
		} {
			f.want(stream, 200, want)
		}
		f.want(stream, 200, `"round":2`)
		f.want(stream, 200, `"usage":{"input_tokens":20,"output_tokens":5,"cache_read_tokens":7,"cache_write_tokens":0}`)
		if bare := f.send("POST", form.path, form.stream()); strings.Contains(bare.body, "response_end") {
			t.Errorf("not asked for: %s", bare.body)
		}
		whole := f.send("POST", form.path, form.whole(), headerEvents, "include")
		var body struct {
			Events []map[string]any `json:"spiced_events"`
		}
		f.decode(whole, &body)
		if len(body.Events) != 4 || body.Events[0]["type"] != "tool_call" || body.Events[1]["result"] != 871.0 || body.Events[2]["ok"] != false ||
			body.Events[3]["type"] != "response_end" {
			t.Errorf("got %s", whole.body)
		}
		f.want(whole, 200, "moin")
	})
}

func TestEventsAreBounded(t *testing.T) {
	long := json.RawMessage(`"` + strings.Repeat("é", maxEventPart) + `"`)
	many := make([]toolloop.Event, maxEvents+1)
	for i := range many {
		many[i] = callStep
	}
	many[0].Tool = &registry.Event{Type: registry.EventToolCall, CallID: "c0", Tool: "t", Arguments: long}
	many[1].Tool = &registry.Event{Type: registry.EventToolCall, CallID: "c1", Tool: "t", Arguments: json.RawMessage("{no JSON")}
	f := serveChats(t, script(nil, append(many, answers("moin")...)...), nil)
	r := f.send("POST", forms[0].path, forms[0].whole(), headerEvents, "include")
	var body struct {
		Events []struct {
			Arguments any
			Truncated bool
		} `json:"spiced_events"`
	}
	f.decode(r, &body)
	if len(body.Events) != maxEvents || r.header.Get(headerTruncated) != "true" {
		t.Fatalf("%d events, %v", len(body.Events), r.header)
	}
	if text, _ := body.Events[0].Arguments.(string); !body.Events[0].Truncated || len(text) > maxEventPart || len(text) < maxEventPart-2 {
		t.Errorf("got %d bytes", len(text))
	}
	if got := body.Events[1]; got.Arguments != "{no JSON" || got.Truncated {
		t.Errorf("got %+v", got)
	}
	none := serveChats(t, script(nil, answers("moin")...), nil)
	none.want(none.send("POST", forms[0].path, forms[0].whole(), headerEvents, "include"), 200, `"spiced_events":[]`)
}

func TestResponsesAreContinued(t *testing.T) {
	for _, stream := range []bool{false, true} {
		var asked []chat.Message
		f := serveChats(t, &fakeChats{chat: func(_ context.Context, r *chat.Request, _ caller.Caller) (chatEvents, error) {
			asked = r.Messages
			return yields(nil, answers("moin")...), nil
		}}, nil)
		first := f.send("POST", "/v1/responses", fmt.Sprintf(`{"model":"helper","input":"one","stream":%v}`, stream), headerUser, "ada")
		id := regexp.MustCompile(`resp_\w{24,}`).FindString(first.body)
		next := fmt.Sprintf(`{"model":"helper","input":"two","previous_response_id":%q}`, id)
		f.want(f.send("POST", "/v1/responses", next, headerUser, "ada"), 200, "moin")
		if len(asked) != 3 || asked[0].Text() != "one" || asked[1].Text() != "moin" || asked[2].Text() != "two" {
			t.Errorf("stream %v: asked %+v", stream, asked)
		}
		f.want(f.send("POST", "/v1/responses", next, headerUser, "bob"), 400, "not found: it may")
		forgotten := f.send("POST", "/v1/responses", `{"model":"helper","input":"one","store":false}`)
		id = regexp.MustCompile(`resp_\w{24,}`).FindString(forgotten.body)
		f.want(f.send("POST", "/v1/responses", fmt.Sprintf(`{"model":"m","input":"x","previous_response_id":%q}`, id)), 400, "not found: it may")
	}
}

// Requests of a session, or that continue an answer, name the session whose tools they keep.
func TestSessionsOfChats(t *testing.T) {
	session := ""
	f := serveChats(t, &fakeChats{chat: func(_ context.Context, r *chat.Request, _ caller.Caller) (chatEvents, error) {
		session = r.Session
		return yields(nil, answers("moin")...), nil
	}}, nil)
	ask := func(path, body string, headers ...string) (answer, of string) {
		session = ""
		return f.send("POST", path, body, headers...).body, session
	}
	const message = `{"model":"helper","messages":[{"role":"user","content":"x"}]}`
	if _, of := ask("/v1/chat/completions", message); of != "" {
		t.Errorf("a request without a session has %q", of)
	}
	if _, of := ask("/v1/chat/completions", message, headerSession, "s1"); of != "session s1" {
		t.Errorf("one with a session has %q", of)
	}
	id := regexp.MustCompile(`resp_\w{24,}`)
	first, root := ask("/v1/responses", `{"model":"helper","input":"one"}`)
	last := first
	for range 3 {
		next, of := ask("/v1/responses", fmt.Sprintf(`{"model":"helper","input":"more","previous_response_id":%q}`, id.FindString(last)))
		if of != root || root == "" {
			t.Errorf("an answer that continues %q has %q", root, of)
		}
		last = next
	}
	if _, of := ask("/v1/responses", fmt.Sprintf(`{"model":"helper","input":"fork","previous_response_id":%q,"store":false}`, id.FindString(first))); of != root {
		t.Errorf("another one that continues %q has %q", root, of)
	}
	if _, of := ask("/v1/responses", `{"model":"helper","input":"one","store":false}`); of != "" {
		t.Errorf("one that cannot be continued has %q", of)
	}
	if _, of := ask("/v1/responses", `{"model":"helper","input":"one"}`); of == root {
		t.Error("another chat is of the same session")
	}
}

// TestChatsThatADecoderWouldChange are refused in each form: the provider would get another text.
func TestChatsThatADecoderWouldChange(t *testing.T) {
	eachForm(t, func(t *testing.T, form form) {
		f := serveChats(t, &fakeChats{}, nil)
		body := form.whole()
		f.want(f.send("POST", form.path, strings.Replace(body, `{"model":`, `{"model":"other","model":`, 1)), 400, `the name \"model\" twice`)
		f.want(f.send("POST", form.path, strings.Replace(body, `"hi"`, `"hi \ud83d"`, 1)), 400, `surrogate pair`)
	})
}
