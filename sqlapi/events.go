package sqlapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spiced-sql/spiced/internal/access/approval"
	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/feed"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/activity"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
)

// PathEvents is where the stream of events is.
const PathEvents = "/v1/events"

// headerLastEvent is the id of the last event that a client has seen.
const headerLastEvent = "Last-Event-Id"

// The kinds of events. Those of the stream itself, hello and reset, cannot be left out.
const (
	kindGeneration = "generation"
	kindStatus     = "status"
	kindDataset    = "dataset"
	kindIndex      = "index"
	kindApproval   = "approval"
	kindWork       = "work"
	kindCall       = "call"
	kindAgent      = "agent"
)

var eventKinds = []string{
	kindGeneration, kindStatus, kindDataset, kindIndex, kindApproval, kindWork, kindCall, kindAgent,
}

// eventBatch is how many events are taken at once.
const eventBatch = 128

// helloEvent is the first event of a stream.
type helloEvent struct {
	Generation uint64   `json:"generation" doc:"The generation that is served; 0 before the first."`
	Ready      bool     `json:"ready"`
	Version    string   `json:"version,omitempty" doc:"Of spiced."`
	Resumed    bool     `json:"resumed" doc:"The stream goes on after Last-Event-ID, and nothing is missing."`
	Kinds      []string `json:"kinds" doc:"The kinds of events that follow."`
}

// resetEvent says that events are missing.
type resetEvent struct {
	Reason string `json:"reason" enum:"unknown_id,overflow"`
}

// statusEvent is the state of the runtime.
type statusEvent struct {
	Ready      bool        `json:"ready"`
	Components []Component `json:"components"`
}

// workEvent is work that has begun or ended.
type workEvent struct {
	activeQuery
	Ended bool `json:"ended"`
}

// eventsHandler streams what happens to each caller as the lists of the API show it to them: the
// feed has values, and [viewer] decides for each stream what of a value its caller sees.
type eventsHandler struct {
	feed      *feed.Feed // nil: it is not served
	inventory Inventory
	tools     *registry.Registry // nil: none
	guard     *Guard
	version   string
	keepAlive time.Duration
	slots     streamSlots
}

func newEventsHandler(o *Options) *eventsHandler {
	h := &eventsHandler{
		feed: o.Events, inventory: o.Runtime.Inventory, tools: o.Tools, guard: &o.Guard, version: o.Version,
		keepAlive: o.KeepAlive, slots: streamSlots{most: o.MaxStreams, by: map[string]int{}},
	}
	if h.feed != nil {
		h.feed.Sample(h.sample)
	}
	return h
}

// streamSlots bounds the streams that are open at once.
type streamSlots struct {
	most int
	mu   sync.Mutex
	all  int
	by   map[string]int // those of a caller
}

// take takes a slot, until release is called.
func (s *streamSlots) take(share string) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.by[share] >= maxStreamsPerCaller:
		return nil, newError(errcode.RateLimited, "close one of them", "%d streams of events are open; the limit is %d",
			s.by[share], maxStreamsPerCaller)
	case s.all >= s.most:
		return nil, newError(errcode.RateLimited, "try again later", "too many streams of events are open: %d", s.all)
	}
	s.all++
	s.by[share]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.by[share]--; s.by[share] == 0 {
			delete(s.by, share)
		}
	}, nil
}

// serve streams events until the client leaves, its key is removed, or the runtime ends.
//
// The order of the first steps is what makes the lists and the stream fit together: the
// subscription begins before hello is sent, so that a client which reads the lists after hello
// misses nothing that happens after a list was made.
func (h *eventsHandler) serve(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	kinds, err := wantedKinds(r.URL.Query()["kinds"])
	if err != nil {
		return err
	}
	if h.feed == nil {
		return newError(codeNotServed, "", "events are not streamed here")
	}
	release, err := h.slots.take(who.Share())
	if err != nil {
		return err
	}
	defer release()
	token := r.Header.Get(headerLastEvent)
	sub, resumed := h.feed.Subscribe(token)
	if sub == nil {
		return newError(errcode.ShuttingDown, "", "the runtime is shutting down")
	}
	defer sub.Close()
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream")
		return nil
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // that of a body, which there is not
	ctx, gone := context.WithCancelCause(r.Context())
	defer gone(nil)
	// The comments carry the position, without an event: a client that sees little of what happens could
	// not resume otherwise.
	var at atomic.Uint64
	at.Store(sub.At())
	out := newSSEWith(w, h.keepAlive, gone, func() string {
		return strings.TrimSuffix(keepAlive, "\n") + "id: " + h.feed.Token(at.Load()) + "\n\n"
	})
	defer out.stop()
	v := &viewer{eventsHandler: h, w: w, r: r, who: who, kinds: kinds}
	hello := helloEvent{
		Generation: h.inventory.Generation(), Ready: h.inventory.Ready(), Version: h.version, Resumed: resumed, Kinds: kinds,
	}
	first := eventText(h.feed.Token(sub.At()), "hello", hello)
	if token != "" && !resumed {
		first = append(first, eventText(h.feed.Token(sub.At()), "reset", resetEvent{"unknown_id"})...)
	}
	if out.send(sends(w, first)) != nil {
		return nil
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.feed.Closed():
			return nil
		case <-sub.Ready():
		}
		events, lost := sub.Take(eventBatch)
		text, known := v.render(events)
		if lost {
			text = eventText(h.feed.Token(sub.At()), "reset", resetEvent{"overflow"})
		}
		if !known || len(text) > 0 && out.send(sends(w, text)) != nil {
			return nil
		}
		at.Store(sub.At())
	}
}

// wantedKinds reads ?kinds=a,b; none are all.
func wantedKinds(values []string) ([]string, error) {
	list := strings.FieldsFunc(strings.Join(values, ","), func(r rune) bool { return r == ',' || r == ' ' })
	if len(values) == 0 {
		return eventKinds, nil
	}
	for _, kind := range list {
		if !slices.Contains(eventKinds, kind) {
			return nil, newError(errcode.InvalidRequest, nearest.Hint(kind, eventKinds, "use "+orList(eventKinds)),
				"there is no kind of event %q", truncate.Ellipsis(kind, maxShown))
		}
	}
	if len(list) == 0 {
		return nil, newError(errcode.InvalidRequest, "use "+orList(eventKinds), "the parameter kinds names no kind of event")
	}
	return slices.DeleteFunc(slices.Clone(eventKinds), func(k string) bool { return !slices.Contains(list, k) }), nil
}

// eventText is an event as it is sent. JSON has no line breaks.
func eventText(id, kind string, data any) []byte {
	text, err := json.Marshal(data)
	if err != nil {
		return nil // a number that JSON does not have, from a tool of others
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "id: %s\nevent: %s\ndata: %s\n\n", id, kind, text)
	return b.Bytes()
}

func sends(w io.Writer, text []byte) func() error {
	return func() error { _, err := w.Write(text); return err }
}

// viewer renders events for the caller of one stream.
type viewer struct {
	*eventsHandler
	w     http.ResponseWriter
	r     *http.Request
	who   caller.Caller
	keys  *auth.Keyring // those of the last check
	kinds []string
}

// render returns what the caller sees of events, as text. It reports false if the key of the
// stream is not known any more.
func (v *viewer) render(events []feed.Event) (text []byte, known bool) {
	if !v.renew() {
		return nil, false
	}
	var reader *registry.Reader // evaluates expressions, and holds for the catalog of this moment
	records := func() *registry.Reader {
		if reader == nil && v.tools != nil {
			made := v.tools.Reader(v.who)
			reader = &made
		}
		return reader
	}
	for _, e := range events {
		if kind, data := v.see(e.Value, records); data != nil && slices.Contains(v.kinds, kind) {
			text = append(text, eventText(v.feed.Token(e.ID), kind, data)...)
		}
	}
	return text, true
}

// renew gives the stream the present rights of its key.
func (v *viewer) renew() bool {
	if v.guard.Keys == nil {
		return true
	}
	keys := v.guard.Keys()
	if keys == v.keys {
		return true
	}
	v.keys = keys
	x, ok := v.w.(*responseWriter)
	if !ok {
		return false
	}
	if x.principal, ok = keys.Current(principalOf(v.w)); !ok {
		return false
	}
	who, err := callerOf(v.w, v.r, caller.HTTP)
	v.who = who
	return err == nil
}

// see returns the kind of a value, and what the caller sees of it: nil if nothing.
func (v *viewer) see(value any, records func() *registry.Reader) (kind string, data any) {
	switch x := value.(type) {
	case Reloaded:
		return kindGeneration, v.seeReload(x, records())
	case statusEvent:
		x.Components = slices.Clone(x.Components)
		for i, c := range x.Components {
			x.Components[i].Problems = shownProblems(c.Problems, v.who.Write)
		}
		return kindStatus, x
	case Dataset:
		return kindDataset, x
	case SearchIndex:
		return kindIndex, x
	case approval.Change:
		if a, ok := x.For(v.guard.approvers(), v.who); ok {
			return kindApproval, a
		}
	case activity.Change:
		if x.Owner == v.who.Owner() {
			return kindWork, workEvent{activeQueryOf(x.Work), x.Ended}
		}
	case usage.Call:
		if r := records(); r != nil {
			return kindCall, orNothing(r.Call(&x))
		}
	case usage.Event:
		if r := records(); r != nil {
			return kindAgent, orNothing(r.Step(&x))
		}
	}
	return "", nil
}

// orNothing is a row, or nil without a type.
func orNothing(row map[string]any) any {
	if row == nil {
		return nil
	}
	return row
}

// seeReload leaves out the changed functions that the caller does not see, as spiced.generations does.
func (v *viewer) seeReload(x Reloaded, records *registry.Reader) Reloaded {
	x.Changed = slices.DeleteFunc(append([]string{}, x.Changed...), func(component string) bool {
		function, ok := strings.CutPrefix(component, "function ")
		return ok && records != nil && records.HidesFunction(function)
	})
	x.Problems = append(spicepod.Problems{}, shownProblems(x.Problems, v.who.Write)...)
	return x
}

func eventsRoute(h *eventsHandler) route {
	return route{
		method: "GET", path: PathEvents, id: "events", tag: "General", is: scoped | free,
		summary: "Follow what happens, as a stream of server-sent events.",
		about: "The first event is `hello`. A client that reads the lists after it, and then applies the events, misses " +
			"nothing. The data of an event has the form of the list that it belongs to, and shows what the list shows to " +
			"the same caller:\n\n" +
			"| Event | When | Data |\n|---|---|---|\n" +
			"| `hello` | at the beginning | EventHello |\n" +
			"| `reset` | events are missing: the client reads the lists again. reason is `unknown_id` (the id of " +
			"Last-Event-ID is too old, or of another process) or `overflow` (the client was too slow) | `{\"reason\":…}` |\n" +
			"| `generation` | the Spicepod was loaded, or refused, with its problems | EventReload; changed as in " +
			"spiced.generations |\n" +
			"| `status` | the runtime is ready or not, or a component has another state or other problems | EventStatus, with " +
			"the components of GET /v1/status |\n" +
			"| `dataset` | a dataset or view has another state, error or version, at once; progress, at most four times a " +
			"second | Dataset, as GET /v1/datasets?status=true has it |\n" +
			"| `index` | a search index has another state, at once; progress, at most four times a second | SearchIndex, " +
			"a row of spiced.search_indexes |\n" +
			"| `approval` | a call asks for approval; it is approved, denied, used, or has expired | Approval |\n" +
			"| `work` | a statement, tool call or chat of yours begins, or ends | EventWork, as GET /v1/sql/active has it |\n" +
			"| `call` | a call of a tool, or of a function in a statement, has ended | a row of spiced.tool_calls |\n" +
			"| `agent` | a step of an agent that works for you | a row of spiced.events |\n\n" +
			"Changes of a dataset or index that follow each other within milliseconds can be one event: each has the whole " +
			"state. Ids rise, and are otherwise opaque. With Last-Event-ID the stream goes on after that event while the " +
			"later ones are retained: the last 4,096, at most 8 MiB, for a minute after the last stream has ended. A " +
			"comment is sent every 30 seconds of silence, with an id and no event. The stream ends when the runtime ends, or a reload removes its key.",
		params: []param{
			{"kinds", "query", "only these kinds, separated by commas: " + strings.Join(eventKinds, ", "), text},
			{"Last-Event-ID", "header", "the id of the last event that was seen", text},
		},
		answers: []answer{{
			http.StatusOK, "The events.",
			[]content{{
				"text/event-stream", anyOf(ref("EventHello"), ref("EventReload"), ref("EventStatus"), ref("Dataset"), ref("SearchIndex"),
					ref("Approval"), ref("EventWork"), object),
				"id: k3v9w2xa-1840\nevent: hello\ndata: {\"generation\":3,\"ready\":true,\"resumed\":false,\"kinds\":[\"dataset\"]}\n\n" +
					"id: k3v9w2xa-52731\nevent: dataset\ndata: {\"from\":\"file:trips.parquet\",\"name\":\"trips\"," +
					"\"replication_enabled\":false,\"acceleration_enabled\":true,\"status\":\"Refreshing\"}\n",
			}},
		}},
		failures: failures{
			http.StatusBadRequest:         "A parameter or a header is wrong.",
			http.StatusNotFound:           "This process does not stream events.",
			http.StatusTooManyRequests:    "Too many streams are open: 256 in all, 32 of one key or, without keys, one address.",
			http.StatusServiceUnavailable: "The runtime is shutting down.",
		},
		handle: withCaller(caller.HTTP, h.serve),
	}
}
