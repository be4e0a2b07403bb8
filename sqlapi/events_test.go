package sqlapi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/access/approval"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/internal/kit/feed"
	"github.com/spiced-sql/spiced/internal/sql/activity"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// event is an event as a client gets it.
type event struct{ id, kind, data string }

// following is a stream that a test reads.
type following struct {
	t     testing.TB
	res   *http.Response
	lines *bufio.Reader
	stop  context.CancelFunc
}

// follow opens the stream of events, whose first event must be hello.
func (f *fixture) follow(query string, header ...string) (*following, event) {
	f.t.Helper()
	s := followAt(f.t, f.Client(), f.URL+PathEvents+query, header...)
	return s, s.want("hello")
}

func followAt(t testing.TB, client *http.Client, url string, header ...string) *following {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Limit)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	if got := res.Header.Get("Content-Type"); res.StatusCode != 200 || got != "text/event-stream" {
		t.Fatalf("%s: %d %s", url, res.StatusCode, got)
	}
	return &following{t, res, bufio.NewReader(res.Body), cancel}
}

// next returns the next event, or false at the end of the stream.
func (s *following) next() (e event, ok bool) {
	s.t.Helper()
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return e, false
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.kind = value
		case "data":
			e.data = value
		case "":
			if e.kind != "" {
				return e, true
			}
		}
	}
}

// want returns the next event, whose kind and parts are given.
func (s *following) want(kind string, parts ...string) event {
	s.t.Helper()
	e, ok := s.next()
	if !ok || e.kind != kind {
		s.t.Fatalf("got event %+v, %t; want %s", e, ok, kind)
	}
	for _, part := range parts {
		if !strings.Contains(e.data, part) {
			s.t.Fatalf("%s: got %s, want %s", kind, e.data, part)
		}
	}
	return e
}

// states is a runtime whose datasets and indexes a test changes.
type states struct {
	*fakeRuntime
	mu       sync.Mutex
	datasets []Dataset
	indexes  []SearchIndex
}

func (s *states) Datasets() []Dataset {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Dataset{}, s.datasets...)
}

func (s *states) Ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready
}

func (s *states) setReady(ready bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = ready
}

func (s *states) SearchIndexes() []SearchIndex {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]SearchIndex{}, s.indexes...)
}

func (s *states) set(datasets []Dataset, indexes []SearchIndex) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.datasets, s.indexes = datasets, indexes
}

// serveEvents is a server with a feed, which is closed when the test ends.
func serveEvents(t testing.TB, o feed.Options, change func(*Options)) (*fixture, *feed.Feed) {
	t.Helper()
	events := feed.New(o)
	f := serve(t, func(o *Options) {
		o.Events = events
		o.Tools, _ = fakeRegistryWith(t, usage.Options{Called: func(c usage.Call) {
			if events.Active() {
				events.Publish(c, 256)
			}
		}})
		if change != nil {
			change(o)
		}
	})
	t.Cleanup(events.Close) // before the server, which waits for its requests
	return f, events
}

func TestEventsBeginWithHello(t *testing.T) {
	f, events := serveEvents(t, feed.Options{}, nil)
	s, hello := f.follow("?kinds=call,dataset")
	if want := `{"generation":3,"ready":true,"version":"test","resumed":false,"kinds":["dataset","call"]}`; hello.data != want || hello.id == "" {
		t.Errorf("hello: %+v", hello)
	}
	if got := s.res.Header.Get("Cache-Control"); got != "no-cache" {
		t.Errorf("Cache-Control: %s", got)
	}
	events.Publish(Reloaded{Reload: Reload{Generation: 4}}, 1) // another kind
	f.want(f.send("POST", "/v1/tools/fails:invoke", ""), 200, `"ok":false`)
	s.want("call", `"tool":"fails"`, `"ok":false`, `"error":"division by zero"`, `"called_at":"20`)
	f.want(f.send("HEAD", PathEvents, ""), 200, "")
}

func TestUnknownKindsAreRefusedByName(t *testing.T) {
	f, _ := serveEvents(t, feed.Options{}, nil)
	for query, want := range map[string]string{
		"?kinds=call,datasets": `there is no kind of event \"datasets\"","code":"invalid_request","hint":"did you mean \"dataset\"?`,
		"?kinds=zzzzzz":        `use generation, status, dataset, index, approval, work, call or agent`,
		"?kinds=":              "names no kind of event",
		"?kinds=hello":         "there is no kind of event",
		"?kind=call":           `did you mean \"kinds\"?`,
	} {
		f.want(f.send("GET", PathEvents+query, ""), 400, want)
	}
}

// TestStatesArePublished: a state at once, progress four times a second.
func TestStatesArePublished(t *testing.T) {
	at := &states{}
	f, events := serveEvents(t, feed.Options{}, func(o *Options) {
		at.fakeRuntime = o.Runtime.Inventory.(*fakeRuntime)
		o.Runtime.Inventory = at
	})
	number := func(n int64) *int64 { return &n }
	trips := Dataset{Name: "trips", Status: StatusReady, Rows: number(1)}
	at.set([]Dataset{trips}, nil)
	s, _ := f.follow("")
	trips.Status = StatusRefreshing
	at.set([]Dataset{trips}, nil)
	events.Poke()
	s.want("dataset", `"name":"trips"`, `"status":"Refreshing"`)
	begun := time.Now()
	const steps = 4
	for i := range steps {
		loaded := trips
		loaded.Loaded, loaded.Size = number(int64(i)), number(100)
		at.set([]Dataset{loaded}, nil)
		events.Poke()
		s.want("dataset", fmt.Sprintf(`"loaded_bytes":%d,`, i))
	}
	if took := time.Since(begun); took < (steps-1)*sampleBusy {
		t.Errorf("%d events of progress came in %s", steps, took)
	}
	trips.Status, trips.Rows = StatusReady, number(2)
	index := SearchIndex{Table: "trips", State: "building", Columns: []string{"note"}, Models: []string{}}
	at.set([]Dataset{trips}, []SearchIndex{index})
	events.Poke()
	s.want("dataset", `"status":"Ready"`, `"rows":2`)
	s.want("index", `{"table":"trips","columns":["note"],"state":"building","rows":null,`)
	at.setReady(false)
	events.Poke()
	s.want("status", `{"ready":false,"components":[{"name":"http","endpoint":"127.0.0.1:8090","status":"Ready"},{"name":"function f",`)
	at.set(nil, nil) // a reload removed them
	events.Poke()
	trips.Error = "no such file"
	at.set([]Dataset{trips}, nil)
	events.Poke()
	s.want("dataset", `"error":"no such file"`)
}

// TestWhoSeesWhatOfTheEvents: what the lists show, and no more.
func TestWhoSeesWhatOfTheEvents(t *testing.T) {
	f, events := serveEvents(t, feed.Options{}, func(o *Options) { o.Keys = keyring(t, someKeys) })
	const kinds = "?kinds=work,call,agent,approval"
	own, _ := f.follow(kinds, "X-API-Key", writeKey)
	other, _ := f.follow(kinds, "X-API-Key", readKey)
	ann, _ := f.follow(kinds, "X-API-Key", appKey, headerUser, "ann")
	owner := caller.Caller{Principal: "key-2", UserID: "key-2"}.Owner()
	events.Publish(activity.Change{Work: activity.Work{ID: "q1", Kind: activity.Statement, Owner: owner, SQL: "select ?"}}, 1)
	events.Publish(activity.Change{Work: activity.Work{ID: "q1", Kind: activity.Statement, Owner: owner}, Ended: true}, 1)
	f.want(f.send("POST", "/v1/tools/fails:invoke", "", "X-API-Key", writeKey, headerSession, "s1"), 200, `"ok":false`)
	events.Publish(usage.Event{Type: "agent_start", Agent: "helper", Holder: "another", Text: "a secret task"}, 1)
	own.want("work", `"query_id":"q1"`, `"sql_preview":"select ?"`, `"ended":false`)
	own.want("work", `"query_id":"q1"`, `"ended":true`)
	own.want("call", `"error":"division by zero"`, `"session_id":"s1"`)
	for _, s := range []*following{other, ann} {
		s.want("call", `"tool":"fails"`, `"ok":false`, `"error":null`, `"session_id":null`, `"request_id":null`)
	}
	events.Publish(activity.Change{Work: activity.Work{
		ID: "q2", Kind: activity.Chat,
		Owner: caller.Caller{Principal: "app", UserID: "ann"}.Owner(),
	}}, 1)
	ann.want("work", `"query_id":"q2"`, `"kind":"chat"`)
	events.Close()
	for _, s := range []*following{own, other, ann} {
		if e, ok := s.next(); ok {
			t.Errorf("more: %+v", e)
		}
	}
}

// TestApprovalsAreFollowed by those who may see them.
func TestApprovalsAreFollowed(t *testing.T) {
	f, events := serveEvents(t, feed.Options{}, func(o *Options) { o.Keys = keyring(t, someKeys) })
	own, _ := f.follow("", "X-API-Key", appKey, headerUser, "ann")
	other, _ := f.follow("", "X-API-Key", appKey, headerUser, "bob")
	store, err := approval.Open(approval.Options{Changed: func(c approval.Change) { events.Publish(c, c.Size()) }})
	if err != nil {
		t.Fatal(err)
	}
	call := approval.Call{Tool: "refund", Arguments: json.RawMessage(`{"order":7}`), Caller: caller.Caller{Principal: "app", UserID: "ann"}}
	if _, err := store.Ask(t.Context(), call, approval.Limits{Expiry: time.Hour, Open: 9, PerPeer: 9}); err != nil {
		t.Fatal(err)
	}
	own.want("approval", `"tool":"refund"`, `"arguments":{"order":7}`, `"status":"pending"`)
	events.Publish(Reloaded{Reload: Reload{Generation: 9}}, 1)
	other.want("generation", `"generation":9`, `"changed":[]`, `"problems":[]`)
}

// TestExpiredApprovalsAreFollowed: they expire without a request that says it.
func TestExpiredApprovalsAreFollowed(t *testing.T) {
	var store *approval.Store
	f, _ := serveEvents(t, feed.Options{}, func(o *Options) { store = o.Tools.Approvals() })
	s, _ := f.follow("?kinds=approval")
	call := approval.Call{Tool: "refund", Arguments: json.RawMessage(`{}`)}
	a, err := store.Ask(t.Context(), call, approval.Limits{Expiry: time.Millisecond, Open: 9, PerPeer: 9})
	if err != nil {
		t.Fatal(err)
	}
	s.want("approval", `"id":"`+a.ID, `"status":"expired"`)
}

// TestResumedEvents: a client that comes back gets what it has missed, or learns that it cannot.
func TestResumedEvents(t *testing.T) {
	f, events := serveEvents(t, feed.Options{Events: 3}, nil)
	reload := func(n uint64) { events.Publish(Reloaded{Reload: Reload{Generation: n}}, 1) }
	s, hello := f.follow("")
	reload(1)
	first := s.want("generation", `"generation":1`)
	s.stop()
	reload(2)
	s, again := f.follow("", "Last-Event-ID", first.id)
	if !strings.Contains(again.data, `"resumed":true`) {
		t.Errorf("hello: %s", again.data)
	}
	if second := s.want("generation", `"generation":2`); second.id == first.id || again.id != first.id {
		t.Errorf("ids: %s %s %s", first.id, again.id, second.id)
	}
	for n := range uint64(4) {
		reload(3 + n)
	}
	for _, id := range []string{hello.id, "other-1", strings.Repeat("9", 1000), "ü"} {
		s, again = f.follow("", "Last-Event-ID", id)
		s.want("reset", `{"reason":"unknown_id"}`)
		reload(9)
		s.want("generation", `"generation":9`)
		s.stop()
	}
}

// TestASlowReaderIsReset: it holds back no one, and learns that events are missing.
func TestASlowReaderIsReset(t *testing.T) {
	f, events := serveEvents(t, feed.Options{Events: 8}, nil)
	s, _ := f.follow("?kinds=generation")
	// More than the buffers of the connection hold, without reading.
	large := Reloaded{Reload: Reload{Changed: []string{strings.Repeat("x", 1<<20)}}}
	for range 64 {
		events.Publish(large, 1)
	}
	seen := map[string]int{}
	for seen["reset"] == 0 {
		e, ok := s.next()
		if !ok {
			t.Fatalf("the stream ended after %v", seen)
		}
		seen[e.kind]++
		if e.kind == "reset" && e.data != `{"reason":"overflow"}` {
			t.Errorf("reset: %s", e.data)
		}
	}
	last := Reloaded{Reload: Reload{Generation: 77}}
	events.Publish(last, 1)
	for {
		e, ok := s.next()
		switch {
		case !ok:
			t.Fatal("the stream ended")
		case strings.Contains(e.data, `"generation":77`):
			return
		case e.kind == "reset": // events that were published after the first one are missing, the last among them
			events.Publish(last, 1)
		}
	}
}

func TestStreamsAreBounded(t *testing.T) {
	f, _ := serveEvents(t, feed.Options{}, func(o *Options) {
		o.Keys = keyring(t, someKeys)
		o.MaxStreams = maxStreamsPerCaller + 1
	})
	var list []*following
	for range maxStreamsPerCaller {
		s, _ := f.follow("", "X-API-Key", readKey)
		list = append(list, s)
	}
	r := f.send("GET", PathEvents, "", "X-API-Key", readKey)
	f.want(r, 429, "the limit is 32")
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	f.follow("", "X-API-Key", writeKey)
	f.want(f.send("GET", PathEvents, "", "X-API-Key", appKey), 429, "too many streams of events are open")
	list[0].stop()
	wait.Until(t, "the slot is free", func() bool { return streams(f, readKey) })
}

// streams reports whether a stream can be opened.
func streams(f *fixture, key string) bool {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", f.URL+PathEvents, nil)
	req.Header.Set("X-API-Key", key)
	res, err := f.Client().Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == 200
}

// TestStreamsOutliveTheTimeOfABody, and comments show that they live.
func TestStreamsOutliveTheTimeOfABody(t *testing.T) {
	const timeout, every = 50 * time.Millisecond, 10 * time.Millisecond
	f, _ := serveEvents(t, feed.Options{}, func(o *Options) { o.KeepAlive = every })
	server := httptest.NewUnstartedServer(f.Config.Handler)
	server.Config.ReadTimeout = timeout
	server.Start()
	s := followAt(t, server.Client(), server.URL+PathEvents)
	t.Cleanup(func() { s.stop(); server.Close() })
	s.want("hello")
	for began := time.Now(); time.Since(began) < 4*timeout; {
		line, err := s.lines.ReadString('\n')
		if err != nil || line != ": keep-alive\n" && line != "\n" && !strings.HasPrefix(line, "id: ") {
			t.Fatalf("after %s: %q, %v", time.Since(began), line, err)
		}
	}
}

// TestCommentsCarryThePosition: a client to whom little of what happens is sent can resume, too.
func TestCommentsCarryThePosition(t *testing.T) {
	f, events := serveEvents(t, feed.Options{Events: 4}, func(o *Options) { o.KeepAlive = 5 * time.Millisecond })
	s, hello := f.follow("?kinds=call")
	for range 10 {
		events.Publish(Reloaded{}, 1)
	}
	id := hello.id
	for id == hello.id {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if value, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(value)
		}
	}
	for from, resumed := range map[string]bool{hello.id: false, id: true} {
		_, again := f.follow("?kinds=call", "Last-Event-ID", from)
		if got := strings.Contains(again.data, `"resumed":true`); got != resumed {
			t.Errorf("from %s: %s", from, again.data)
		}
	}
}

func TestStreamsEndWithTheFeed(t *testing.T) {
	f, events := serveEvents(t, feed.Options{}, nil)
	s, _ := f.follow("")
	events.Close()
	if e, ok := s.next(); ok {
		t.Errorf("got %+v", e)
	}
	f.want(f.send("GET", PathEvents, ""), 503, "shutting down")
}
