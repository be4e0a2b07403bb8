package usage_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/internal/kit/scratch"
)

// open opens a recorder and closes it at the end of the test.
func open(t *testing.T, o usage.Options) *usage.Recorder {
	t.Helper()
	if o.Log == nil {
		o.Log = quiet
	}
	r, err := usage.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeIt(t, r) })
	return r
}

func closeIt(t *testing.T, r *usage.Recorder) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// all is everything that a recorder reports.
type all struct {
	Since    time.Time
	Calls    []usage.Call
	Searches []usage.Search
	Usage    []usage.Usage
	Hits     []usage.Hits
	Window   map[string]*usage.Totals
	Models   []usage.ModelUsage
}

func everything(r *usage.Recorder) all {
	return all{r.Since(), r.Calls(), r.Searches(), r.Usage(), r.Hits(), r.Window(time.Time{}), r.Models()}
}

// sum checks that totals and daily counts agree, and returns the calls.
func sum(t *testing.T, r *usage.Recorder) int64 {
	t.Helper()
	byTool := map[string]*usage.Counts{}
	var calls int64
	for _, u := range r.Usage() {
		if byTool[u.Tool] == nil {
			byTool[u.Tool] = &usage.Counts{}
		}
		byTool[u.Tool].Merge(&u.Counts)
		calls += u.Calls
	}
	for tool, counts := range byTool {
		totals := r.Totals(tool)
		if diff := cmp.Diff(totals.Counts, *counts); diff != "" {
			t.Errorf("totals of %s differ from its days (-totals +days):\n%s", tool, diff)
		}
	}
	return calls
}

// clock is a time that a test changes.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func TestCountsAreExactFromManyGoroutines(t *testing.T) {
	const goroutines, each = 16, 2000
	dir := t.TempDir()
	o := usage.Options{Dir: dir, FlushEvery: time.Millisecond, Log: quiet}
	r := open(t, o)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				r.Call(usage.Call{
					Tool: fmt.Sprint("tool", i%7), Owner: "o", Caller: fmt.Sprint("caller", g%3), OK: i%2 == 0, Code: "timeout",
					Cached: i%4 == 0, Foreign: g == 0, Rows: 2, Bytes: 3, Latency: time.Duration(1+i%5) * time.Millisecond,
				})
				if i%100 == 0 {
					r.Search(usage.Search{Tools: []string{"tool1", "tool2"}, NoGoodMatch: i%200 == 0})
				}
				if i%500 == 0 {
					r.Usage()
					r.Calls()
					r.Totals("tool1")
				}
			}
		})
	}
	wg.Wait()
	check := func(r *usage.Recorder) {
		t.Helper()
		var got usage.Counts
		for _, u := range r.Usage() {
			got.Merge(&u.Counts)
		}
		want := usage.Counts{
			Calls: goroutines * each, TimedOut: goroutines * each / 2, Cached: goroutines * each / 4, Foreign: each,
			Rows: 2 * goroutines * each, Bytes: 3 * goroutines * each, Time: goroutines * each * 3 * time.Millisecond,
			Shortest: time.Millisecond, Longest: 5 * time.Millisecond,
			FirstAt: got.FirstAt, LastAt: got.LastAt, Latencies: got.Latencies,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if n := sum(t, r); n != goroutines*each {
			t.Errorf("%d calls", n)
		}
		found := r.Totals("tool2").Found
		if want := (usage.Found{Returned: goroutines * each / 100}); found != want {
			t.Errorf("searches found tool2 %+v, want %+v", found, want)
		}
		if n := len(r.Calls()); n != 10_000 {
			t.Errorf("%d calls are retained", n)
		}
	}
	check(r)
	closeIt(t, r)
	check(open(t, o))
}

func TestRestartPreservesEverything(t *testing.T) {
	c := newClock()
	o := usage.Options{Dir: filepath.Join(t.TempDir(), "made", "new"), Now: c.now, Retention: 24 * time.Hour}
	r := open(t, o)
	fill(r, c)
	want := everything(r)
	if len(want.Calls) == 0 || len(want.Searches) == 0 || len(want.Hits) == 0 || len(want.Models) != 4 {
		t.Fatal("nothing was recorded")
	}
	for range 3 { // each restart reads what the previous one wrote
		closeIt(t, r)
		c.advance(time.Second)
		r = open(t, o)
		if diff := cmp.Diff(want, everything(r)); diff != "" {
			t.Fatalf("(-before +after):\n%s", diff)
		}
	}
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", e.Name(), info.Mode(), err)
		}
	}
	if len(entries) != 3 {
		t.Errorf("files %v", entries)
	}
}

// fill records calls and searches of every kind, on two days.
func fill(r *usage.Recorder, c *clock) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		tools := []string{fmt.Sprint("tool", i%3), "größe\u2028", "x"}
		r.Search(usage.Search{ID: fmt.Sprint("s", i), Query: "how far?", Mode: "hybrid_rrf", Surface: "http", Caller: "agent", Tools: tools, NoGoodMatch: i%5 == 0})
		r.Call(usage.Call{
			ID: fmt.Sprint("c", i), Tool: fmt.Sprint("tool", i%4), Owner: "o", Caller: "agent", Surface: "sql", Source: "function",
			OK: i%3 == 0, Code: []string{"timeout", "refused", "boom", "not_found", "cancelled"}[i%5], Latency: time.Duration(rnd.Int64N(int64(time.Minute))),
			Rows: 1, Bytes: 2, Truncated: true, Cached: i%2 == 0, Foreign: true, RequestID: "r", SessionID: "", UserID: "u", FlowID: "f", StepID: "p",
			Generation: 7, Error: "line\nbreak",
		})
		r.Chat(usage.Chat{
			Model: fmt.Sprint("m", i%2), OK: i%3 == 0, Cancelled: i%3 == 1, Rounds: 2, ToolCalls: i,
			Tokens:     usage.Tokens{Input: 100, Output: 10, CacheRead: 80, CacheWrite: 5, Reasoning: 3},
			FirstToken: time.Duration(i) * time.Millisecond, Latency: time.Second,
		})
		c.advance(20 * time.Minute)
	}
}

func TestNoFolderKeepsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := usage.Open(usage.Options{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		r.Call(usage.Call{Tool: "a", OK: true})
		time.Sleep(time.Second) // some ticks of the bubble's clock
		if n := r.Totals("a").Calls; n != 1 {
			t.Errorf("%d calls", n)
		}
		closeIt(t, r)
		closeIt(t, r)
		r.Call(usage.Call{Tool: "a"})
		if n := r.Totals("a").Calls; n != 2 {
			t.Errorf("%d calls after Close", n)
		}
	})
}

func TestFlushedWithoutClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, copied := t.TempDir(), t.TempDir()
		r, err := usage.Open(usage.Options{Dir: dir, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		r.Call(usage.Call{Tool: "a", OK: true})
		time.Sleep(time.Second)
		copyFolder(t, dir, copied)
		closeIt(t, r)
		r, err = usage.Open(usage.Options{Dir: copied, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		if n := sum(t, r); n != 1 {
			t.Errorf("%d calls after a second, want 1", n)
		}
		closeIt(t, r)
	})
}

// copyFolder copies what a crash would leave: the journal before the snapshot that may
// replace it.
func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	for _, name := range []string{"usage.journal", "usage.snapshot"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestCopiesOfARunningFolderLoad(t *testing.T) {
	dir := t.TempDir()
	r := open(t, usage.Options{Dir: dir, FlushEvery: time.Millisecond, Retention: 20 * time.Millisecond})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					r.Call(usage.Call{Tool: fmt.Sprint("tool", i%5), Caller: fmt.Sprint(g), OK: true})
				}
			}
		})
	}
	last := int64(0)
	for copies := 0; copies < 20 || last == 0; copies++ {
		copied := t.TempDir()
		copyFolder(t, dir, copied)
		var warned bytes.Buffer
		other := open(t, usage.Options{Dir: copied, Log: slog.New(slog.NewTextHandler(&warned, &slog.HandlerOptions{Level: slog.LevelWarn}))})
		n := sum(t, other)
		if n < last {
			t.Errorf("%d calls after %d", n, last)
		}
		if warned.Len() > 0 {
			t.Error(warned.String())
		}
		last = n
		closeIt(t, other)
	}
	close(stop)
	wg.Wait()
	if n := sum(t, r); last == 0 || last > n {
		t.Errorf("a copy has %d of %d calls", last, n)
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	r := open(t, usage.Options{Dir: dir})
	_, err := usage.Open(usage.Options{Dir: dir, Log: quiet})
	if !errors.Is(err, scratch.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Fatalf("error %v", err)
	}
	closeIt(t, r)
	open(t, usage.Options{Dir: dir})
}

func TestOptions(t *testing.T) {
	for want, o := range map[string]usage.Options{
		"calls is -1: want 1 to 1000000":       {Calls: -1},
		"searches is 1000001: want 1":          {Searches: 1_000_001},
		"keys is -5":                           {Keys: -5},
		"days is 4000: want 1 to 3660":         {Days: 4000},
		"retention is -1s, flushing is every ": {Retention: -time.Second},
	} {
		if _, err := usage.Open(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestHostileTextDoesNoHarm(t *testing.T) {
	dir := t.TempDir()
	r := open(t, usage.Options{Dir: dir})
	huge := strings.Repeat("\x00\x1b[31m\u202e\xff\nä😀", 200_000)
	r.Call(usage.Call{
		ID: huge, Tool: huge, Owner: huge, Caller: huge, Surface: huge, Source: huge, Code: huge, RequestID: huge, SessionID: huge, UserID: huge,
		FlowID: huge, StepID: huge, Error: huge, Latency: -1, Rows: -1, Bytes: -1, At: time.Unix(1<<60, 0),
	})
	r.Search(usage.Search{
		ID: huge, Query: huge, Mode: huge, Surface: huge, Caller: huge, SessionID: huge, Tools: slices.Repeat([]string{huge}, 1000), Latency: -1,
		At: time.Unix(-1<<60, 0),
	})
	check := func(r *usage.Recorder) {
		t.Helper()
		c, s := r.Calls()[0], r.Searches()[0]
		for limit, texts := range map[int][]string{
			usage.MaxName: append(slices.Clone(s.Tools), c.Tool, c.Owner, c.Caller, c.Source, s.Caller, r.Usage()[0].Caller, r.Hits()[0].Tool),
			usage.MaxID:   {c.ID, c.RequestID, c.SessionID, c.UserID, c.FlowID, c.StepID, s.ID, s.SessionID},
			usage.MaxWord: {c.Surface, c.Code, s.Mode, s.Surface},
			usage.MaxText: {c.Error, s.Query},
		} {
			for _, text := range texts {
				unprintable := strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) })
				if len(text) > limit || len(text) < limit-8 || !utf8.ValidString(text) || unprintable || !strings.HasSuffix(text, "…") {
					t.Errorf("%d bytes of %d: %q", len(text), limit, text)
				}
			}
		}
		if c.Latency != 0 || c.Rows != 0 || c.Bytes != 0 || s.Latency != 0 || len(s.Tools) != usage.MaxSearchTools {
			t.Errorf("call %+v, %d tools", c, len(s.Tools))
		}
		if time.Since(c.At) > time.Hour || time.Since(s.At) > time.Hour {
			t.Errorf("times %s, %s", c.At, s.At)
		}
		if n := r.Totals(huge).Returned; n != 1 {
			t.Errorf("one search returned the tool %d times", n)
		}
	}
	check(r)
	closeIt(t, r)
	check(open(t, usage.Options{Dir: dir}))
}

func TestLongestRecordsAreReadAgain(t *testing.T) {
	o := usage.Options{Dir: t.TempDir()}
	r := open(t, o)
	tools := make([]string, usage.MaxSearchTools)
	for i := range tools {
		tools[i] = fmt.Sprintf("%s%02d", strings.Repeat("<", usage.MaxName-2), i) // six bytes each in JSON
	}
	for range 300 {
		r.Search(usage.Search{Tools: tools, Query: strings.Repeat("&", usage.MaxText)})
	}
	closeIt(t, r)
	r = open(t, o)
	closeIt(t, r) // from a snapshot now
	r = open(t, o)
	if n, m := len(r.Searches()), r.Totals(tools[63]).Returned; n != 300 || m != 300 {
		t.Errorf("%d searches, returned in %d", n, m)
	}
}

func TestCallersShareARowWhenThereAreTooMany(t *testing.T) {
	c := newClock()
	o := usage.Options{Dir: t.TempDir(), Keys: 20, Now: c.now, FlushEvery: time.Hour}
	r := open(t, o)
	flood := func() {
		for i := range 500 {
			r.Call(usage.Call{Tool: fmt.Sprint("tool", i%5), Owner: "o", Caller: fmt.Sprint("caller", i), OK: true})
		}
	}
	restart := func() {
		t.Helper()
		closeIt(t, r)
		r = open(t, o)
	}
	flood()
	if rows := r.Usage(); len(rows) > 25 || !slices.ContainsFunc(rows, func(u usage.Usage) bool { return u.Caller == usage.Other && u.Calls > 1 }) {
		t.Errorf("%d rows", len(rows))
	}
	if n := sum(t, r); n != 500 {
		t.Errorf("%d calls", n)
	}
	restart()
	c.advance(24 * time.Hour)
	restart() // the callers of the first day are merged
	if n := len(r.Usage()); n > 15 {
		t.Errorf("%d rows of the first day leave no quarter of the room", n)
	}
	r.Call(usage.Call{Tool: "tool1", Owner: "o", Caller: "new", OK: true})
	if !slices.ContainsFunc(r.Usage(), func(u usage.Usage) bool { return u.Caller == "new" && u.Calls == 1 }) {
		t.Error("a new day has no room for a caller")
	}
	restart()
	if n := sum(t, r); n != 501 {
		t.Errorf("%d calls", n)
	}
	for i := range 50 { // the number of tools is not bounded either
		r.Call(usage.Call{Tool: fmt.Sprint("made-up", i), Caller: "x"})
		r.Search(usage.Search{Tools: []string{fmt.Sprint("made-up", i)}})
	}
	if n, m := len(r.Usage()), len(r.Hits()); n > 26 || m > 21 {
		t.Errorf("%d rows, %d hits", n, m)
	}
	if n := r.Totals("made-up49").Calls; n != 1 {
		t.Errorf("%d calls in the totals", n)
	}
	o.Keys = 10 // a smaller limit at the next start
	c.advance(24 * time.Hour)
	restart()
	if n, m := len(r.Usage()), len(r.Hits()); n > 10 || m > 10 {
		t.Errorf("%d rows, %d hits", n, m)
	}
}

func TestOldRecordsGo(t *testing.T) {
	c := newClock()
	o := usage.Options{Dir: t.TempDir(), Retention: time.Hour, Days: 3, Calls: 5, Searches: 5, Now: c.now}
	r := open(t, o)
	for i := range 8 {
		r.Call(usage.Call{ID: fmt.Sprint(i), Tool: "a", OK: true})
		r.Search(usage.Search{ID: fmt.Sprint(i), Tools: []string{"a"}})
	}
	var ids string
	for i, call := range r.Calls() {
		ids += call.ID + r.Searches()[i].ID + " "
	}
	if ids != "77 66 55 44 33 " {
		t.Errorf("calls and searches %s", ids)
	}
	c.advance(time.Hour + 1)
	if got := everything(r); len(got.Calls)+len(got.Searches) != 0 || len(got.Usage) != 1 {
		t.Errorf("%+v", got)
	}
	for days, want := range []int{1, 1, 1, 0} {
		closeIt(t, r)
		r = open(t, o)
		if got := everything(r); len(got.Usage) != want || len(got.Hits) != want {
			t.Errorf("after %d days: %+v", days, got)
		}
		c.advance(24 * time.Hour)
	}
	if n := r.Totals("a"); n.Calls != 8 || n.Returned != 8 {
		t.Errorf("totals %+v", n)
	}
}

func TestChosen(t *testing.T) {
	const chosen, passedBy = 1, 0
	search := usage.Search{Caller: "hawken", Tools: []string{"b", "a"}}
	for _, c := range []struct {
		name   string
		search usage.Search
		wait   time.Duration
		call   usage.Call
		want   int64
	}{
		{"by the same caller", search, time.Minute, usage.Call{Tool: "a", Caller: "hawken"}, chosen},
		{"too late", search, usage.ChosenWithin + 1, usage.Call{Tool: "a", Caller: "hawken"}, passedBy},
		{"another caller", search, 0, usage.Call{Tool: "a", Caller: "lagan"}, passedBy},
		{"another tool", search, 0, usage.Call{Tool: "c", Caller: "hawken"}, passedBy},
		{"by the same session", usage.Search{SessionID: "1", Caller: "x", Tools: search.Tools}, 0, usage.Call{Tool: "a", Caller: "y", SessionID: "1"}, chosen},
		{"a caller named as a session", usage.Search{SessionID: "1", Tools: search.Tools}, 0, usage.Call{Tool: "a", Caller: "1"}, passedBy},
		{"no caller", usage.Search{Tools: search.Tools}, 0, usage.Call{Tool: "a"}, passedBy},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := newClock()
			r := open(t, usage.Options{Now: clock.now})
			r.Search(c.search)
			clock.advance(c.wait)
			r.Call(c.call)
			r.Call(c.call) // counts once for one search
			if got := r.Totals("a").Found; got != (usage.Found{Returned: 1, Chosen: c.want}) {
				t.Errorf("got %+v", got)
			}
			if got := r.Totals("b").Found; got != (usage.Found{Returned: 1}) {
				t.Errorf("the first hit: got %+v", got)
			}
		})
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		name     string
		calls    []string // codes; "" is OK
		returned bool
		want     usage.Verdict
	}{
		{"used", []string{"boom", ""}, false, usage.Alive},
		{"all fail", []string{"boom", "invalid_argument"}, true, usage.Broken},
		{"all time out", []string{"timeout"}, false, usage.Broken},
		{"arguments are always wrong", []string{"invalid_arguments", "refused"}, true, usage.BadlyDescribed},
		{"found and passed by", nil, true, usage.BadlyDescribed},
		{"never called or found", nil, false, usage.Unneeded},
		{"all refused", []string{"forbidden", "cancelled"}, true, usage.AlwaysRefused},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := open(t, usage.Options{})
			for _, code := range c.calls {
				r.Call(usage.Call{Tool: "a", OK: code == "", Code: code})
			}
			if c.returned {
				r.Search(usage.Search{Tools: []string{"a"}})
			}
			totals := r.Totals("a")
			if got := totals.Verdict(usage.Observed); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			early := c.want
			if len(c.calls) == 0 {
				early = usage.TooEarly
			}
			if got := totals.Verdict(usage.Observed - 1); got != early {
				t.Errorf("earlier: got %q, want %q", got, early)
			}
		})
	}
}

func TestWindow(t *testing.T) {
	c := newClock()
	r := open(t, usage.Options{Now: c.now})
	r.Call(usage.Call{Tool: "a", Caller: "x", OK: true})
	c.advance(24 * time.Hour)
	r.Call(usage.Call{Tool: "a", Caller: "y", OK: true})
	r.Call(usage.Call{Tool: "a", Caller: "z", Code: "boom"})
	r.Search(usage.Search{Tools: []string{"b"}})
	got := r.Window(c.now().Add(-time.Hour))
	if len(got) != 2 || got["a"].Calls != 2 || got["a"].Failed != 1 || got["b"].Returned != 1 {
		t.Errorf("got %+v", got)
	}
	if n := r.Window(c.now().AddDate(0, 0, -1))["a"].Calls; n != 3 {
		t.Errorf("%d calls in two days", n)
	}
}

func TestQuantiles(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	r := open(t, usage.Options{})
	var all []time.Duration
	for i := range 5000 {
		latency := time.Duration(float64(time.Millisecond) * (0.05 + rnd.ExpFloat64()*30))
		all = append(all, latency)
		r.Call(usage.Call{Tool: "a", Caller: fmt.Sprint(i % 3), OK: true, Latency: latency})
	}
	slices.Sort(all)
	var merged usage.Counts
	for _, u := range r.Usage() {
		merged.Merge(&u.Counts)
	}
	totals := r.Totals("a")
	for _, p := range []float64{0.05, 0.5, 0.95, 0.99} {
		want, got := all[int(p*5000)], totals.Quantile(p)
		if ratio := float64(got) / float64(want); ratio < 0.83 || ratio > 1.2 {
			t.Errorf("p%g is %s, want about %s", 100*p, got, want)
		}
		if other := merged.Quantile(p); other != got {
			t.Errorf("p%g is %s when callers are merged, %s else", 100*p, other, got)
		}
	}
	if totals.Quantile(0) < all[0] || totals.Quantile(1) != all[4999] {
		t.Errorf("from %s to %s, want %s to %s", totals.Quantile(0), totals.Quantile(1), all[0], all[4999])
	}
	if none := (&usage.Counts{}).Quantile(0.5); none != 0 {
		t.Errorf("no calls: %s", none)
	}
}
