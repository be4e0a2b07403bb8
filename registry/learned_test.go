package registry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// who is a caller in a session of its own.
func who(principal, space string) tools.Scope {
	return tools.Scope{Caller: caller.Caller{Principal: principal, SpaceID: space, SessionID: "of " + principal + space}}
}

// use searches and calls a tool, as a model does in one session.
func use(t testing.TB, r *registry.Registry, scope tools.Scope, query, name string) {
	t.Helper()
	for _, c := range []registry.Call{
		{Name: registry.ToolSearch, Arguments: object(t, map[string]any{"query": query, "limit": 20}), Scope: scope, Meta: true},
		{Name: registry.ToolInvoke, Arguments: object(t, map[string]any{"tool_id": name, "arguments": map[string]any{}}), Scope: scope, Meta: true},
	} {
		if result := r.Invoke(t.Context(), c); !result.OK {
			t.Fatalf("%s: %v", c.Name, result.Error)
		}
	}
}

func object(t testing.TB, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// twins are two tools: a search for a report finds the first, and users want the second.
func twins(t testing.TB) []tools.Tool {
	return []tools.Tool{
		tool(t, tools.Definition{Name: "daily_report", Description: "The report of sales of a day."}, nil),
		tool(t, tools.Definition{Name: "weekly_numbers", Description: "Numbers of sales of a week."}, nil),
		tool(t, tools.Definition{Name: "broken_report", Description: "The numbers of a broken report of sales."}, broken),
	}
}

func broken(context.Context, tools.Input) (tools.Output, error) {
	return tools.Output{}, tools.NewError(errcode.Execution, "it is broken", "")
}

const wanted, wantedToo = "the report of the sales numbers", "the report of our sales numbers please"

func first(t testing.TB, r *registry.Registry, scope tools.Scope, query string) string {
	t.Helper()
	return ids(find(t, r, registry.SearchRequest{Query: query, Scope: scope, Explain: true}))[0]
}

// learningFrom starts a registry that learns.
func learningFrom(t testing.TB, list ...tools.Tool) (*registry.Registry, *usage.Recorder) {
	t.Helper()
	r, recorder := start(t, list...)
	recorder.Learn(true)
	return r, recorder
}

func TestLearning(t *testing.T) {
	r, recorder := learningFrom(t, twins(t)...)
	ann := who("ann", "")
	before := first(t, r, ann, wantedToo)
	if before == "weekly_numbers" {
		t.Fatal("the tool is first anyway")
	}
	use(t, r, ann, wanted, "weekly_numbers")
	found := find(t, r, registry.SearchRequest{Query: wantedToo, Scope: ann, Explain: true})
	if got := ids(found)[0]; got != "weekly_numbers" {
		t.Errorf("after a call: %q", ids(found))
	}
	at := slices.IndexFunc(found.Tools[0].MatchSources, func(s registry.MatchSource) bool { return s.Source == "learned" })
	if at < 0 || found.Tools[0].MatchSources[at].Share <= 0 {
		t.Errorf("sources: %+v", found.Tools[0].MatchSources)
	}
	why, err := r.Why(t.Context(), registry.SearchRequest{Query: wantedToo, Scope: ann}, "weekly_numbers")
	if err != nil || !slices.ContainsFunc(why.Channels, func(c search.WhyChannel) bool { return c.Source == "learned" && c.Counts }) {
		t.Errorf("why: %+v, %v", why, err)
	}
	if got := ids(find(t, r, registry.SearchRequest{Query: wantedToo, Scope: ann, Explain: true, Unlearned: true})); got[0] != before {
		t.Errorf("without what was learned: %q", got)
	}
	if result := r.RunSearchTests(t.Context(), r.Current(), []spicepod.SearchTest{{Query: wantedToo, Expect: before, Top: 1}}); !result[0].Passed {
		t.Errorf("search tests use what was learned: %+v", result[0])
	}
	for _, other := range []tools.Scope{who("bob", ""), who("ann", "x"), who("", "")} {
		if got := first(t, r, other, wantedToo); got != before {
			t.Errorf("%+v gets %q", other.Caller, got)
		}
	}
	recorder.Learn(false)
	if got := first(t, r, ann, wantedToo); got != before {
		t.Errorf("when it is off: %q", got)
	}
}

func TestLearningNeedsSuccess(t *testing.T) {
	r, recorder := learningFrom(t, twins(t)...)
	ann := who("ann", "")
	find(t, r, registry.SearchRequest{Query: wanted, Scope: ann})
	if result := r.Invoke(t.Context(), registry.Call{Name: "broken_report", Scope: ann}); result.OK {
		t.Fatal("it works")
	}
	if pairs, _ := recorder.Pairs(); len(pairs) != 0 {
		t.Errorf("got %+v", pairs)
	}
	selects := who("ann", "")
	selects.Protocol = caller.Preselect
	find(t, r, registry.SearchRequest{Query: "my password is x: the report", Scope: selects})
	r.Invoke(t.Context(), registry.Call{Name: "daily_report", Scope: ann})
	if pairs, _ := recorder.Pairs(); len(pairs) != 0 {
		t.Errorf("a user's message is kept: %+v", pairs)
	}
}

// TestThreeAgree shares within a space what three principals learned.
func TestThreeAgree(t *testing.T) {
	r, _ := learningFrom(t, twins(t)...)
	newcomer := who("new", "x")
	for i, principal := range []string{"ann", "bob", "cid"} {
		if got := first(t, r, newcomer, wantedToo); got == "weekly_numbers" {
			t.Fatalf("after %d principals: %q", i, got)
		}
		use(t, r, who(principal, "x"), wanted, "weekly_numbers")
	}
	if got := first(t, r, newcomer, wantedToo); got != "weekly_numbers" {
		t.Errorf("after three: %q", got)
	}
	for _, other := range []tools.Scope{who("new", "y"), who("new", ""), who("ann", "y")} {
		if got := first(t, r, other, wantedToo); got == "weekly_numbers" {
			t.Errorf("%+v learns from another space", other.Caller)
		}
	}
}

// TestPoisoning has one principal of a hundred invent 10,000 pairs: the rankings of all others
// are the same before and after, and theirs of their own searches, too.
func TestPoisoning(t *testing.T) {
	r, recorder := learningFrom(t, append(twins(t), catalogue(t)...)...)
	queries := []string{wanted, "numbers of rain", "sales of a table", "a week of the runtime", "rows of numbers", "things of a week"}
	for i := range 99 {
		use(t, r, who(fmt.Sprint("p", i), "x"), queries[i%len(queries)], "weekly_numbers")
	}
	rankings := func() []string {
		var all []string
		for i := range 99 {
			for _, query := range append(queries, wantedToo) {
				all = append(all, strings.Join(ids(find(t, r, registry.SearchRequest{Query: query, Scope: who(fmt.Sprint("p", i), "x"), Explain: true})), " "))
			}
		}
		return all
	}
	before := rankings()
	honest, _ := recorder.Pairs()
	mallory, pushed := who("mallory", "x"), []string{"broken_report", "daily_report", "sql"}
	for i := range 10_000 {
		query := queries[i%len(queries)]
		recorder.Search(usage.Search{
			Query: fmt.Sprint(query, " ", i), Principal: "mallory", Space: "x", SessionID: mallory.SessionID, Tools: pushed,
		})
		recorder.Call(usage.Call{Tool: pushed[i%3], OK: true, Principal: "mallory", Space: "x", SessionID: mallory.SessionID})
	}
	after := rankings()
	for i := range before {
		if before[i] != after[i] {
			t.Fatalf("principal %d was given %q, and now %q", i/(len(queries)+1), before[i], after[i])
		}
	}
	pairs, _ := recorder.Pairs()
	invented := len(pairs) - len(honest)
	if most := 3 * usage.MaxPairsOfTool; invented == 0 || invented > most || len(honest) < 30 {
		t.Errorf("%d pairs of others, %d invented", len(honest), invented)
	}
	for _, p := range honest {
		if !slices.Contains(pairs, p) {
			t.Errorf("%+v is gone", p)
		}
	}
}

// TestLearnedIsForgottenWithTheTool publishes catalogs with and without a tool.
func TestLearnedIsForgottenWithTheTool(t *testing.T) {
	r, recorder := learningFrom(t, twins(t)...)
	use(t, r, who("ann", ""), wanted, "weekly_numbers")
	left := func() int {
		pairs, _ := recorder.Pairs()
		return len(pairs)
	}
	without := twins(t)[:1]
	loading := func(string) *tools.Error { return tools.NewError(errcode.Loading, "wait", "") }
	publish(t, r, registry.Contents{Generation: 2, Tools: without, Pending: loading})
	publish(t, r, registry.Contents{Generation: 3, Tools: without, Finding: func() bool { return true }})
	publish(t, r, registry.Contents{Generation: 4, Tools: without, Hidden: []registry.Hidden{{Name: "weekly_numbers", Stage: registry.StageLoaded}}})
	if left() != 1 {
		t.Error("it is forgotten while it may come back")
	}
	publish(t, r, registry.Contents{Generation: 5, Tools: without})
	if left() != 0 {
		t.Error("it is remembered")
	}
}

func TestLearnedStays(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "usage")
	run := func(f func(*registry.Registry)) {
		recorder, err := usage.Open(usage.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		recorder.Learn(true)
		r := registry.New(registry.Options{Usage: recorder})
		publish(t, r, registry.Contents{Generation: 1, Tools: twins(t)})
		f(r)
		r.Close()
		if err := recorder.Close(); err != nil {
			t.Fatal(err)
		}
	}
	run(func(r *registry.Registry) { use(t, r, who("ann", ""), wanted, "weekly_numbers") })
	run(func(r *registry.Registry) {
		if got := first(t, r, who("ann", ""), wantedToo); got != "weekly_numbers" {
			t.Errorf("after a restart: %q", got)
		}
	})
}

// TestLearnedQueries shows callers what was learned of their own searches.
func TestLearnedQueries(t *testing.T) {
	r, _ := learningFrom(t, twins(t)...)
	use(t, r, who("ann", "x"), wanted, "weekly_numbers")
	use(t, r, who("ann", "x"), wanted, "weekly_numbers")
	use(t, r, who("bob", "x"), "secrets of bob in a report", "daily_report")
	for _, c := range []struct {
		who  tools.Scope
		want string
	}{
		{who("ann", "x"), `"calls":2`},
		{who("bob", "x"), `"calls":1`},
		{who("ann", "y"), "[]"},
		{who("cid", "x"), "[]"},
	} {
		got := registry.LearnedQueries(r, c.who)
		if !strings.Contains(got, c.want) || strings.Contains(got, "bob") != (c.who.Principal == "bob") {
			t.Errorf("%+v reads %s", c.who.Caller, got)
		}
	}
}

// TestLearnedByAModel has an embedding model that knows what words do not: past queries are
// compared by it, in the background; while it fails, by their words.
func TestLearnedByAModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder, err := usage.Open(usage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer recorder.Close()
		recorder.Learn(true)
		r := registry.New(registry.Options{Usage: recorder})
		defer r.Close()
		model := &fakeModel{name: "m", words: []string{"turnover", "sales"}}
		publish(t, r, registry.Contents{Tools: twins(t), Embeddings: models{model}})
		ann := who("ann", "")
		use(t, r, ann, "turnover, sales", "weekly_numbers")
		learned := func() float64 {
			for _, f := range find(t, r, registry.SearchRequest{Query: "is turnover up or down?", Scope: ann, Explain: true}).Tools {
				for _, s := range f.MatchSources {
					if s.Source == "learned" {
						return s.Score
					}
				}
			}
			return 0
		}
		learned()
		synctest.Wait()                    // for the vector of the past query
		if got := learned(); got != .354 { // half of the cosine, for a single pair
			t.Errorf("the support by the model is %v", got)
		}
		model.fail.Store(true)
		found := find(t, r, registry.SearchRequest{Query: "the turnover of the numbers", Scope: ann, Explain: true})
		if found.SearchMode != registry.ModeLexical || found.Tools[0].ToolID != "weekly_numbers" {
			t.Errorf("while the model fails: %s, %q", found.SearchMode, ids(found))
		}
	})
}

// TestLearnedQueriesOfUsers checks that the users for whom one key acts do not read each other's queries.
func TestLearnedQueriesOfUsers(t *testing.T) {
	r, _ := learningFrom(t, twins(t)...)
	as := func(principal, user string) tools.Scope {
		s := who(principal, "x")
		s.UserID = user
		return s
	}
	use(t, r, as("backend", "ann"), wanted, "weekly_numbers")
	for _, c := range []struct {
		scope tools.Scope
		sees  bool
	}{{as("backend", "ann"), true}, {as("backend", "bob"), false}, {as("backend", ""), false}, {as("bob", "ann"), false}} {
		if got := registry.LearnedQueries(r, c.scope); strings.Contains(got, wanted) != c.sees {
			t.Errorf("%s for %q reads %s", c.scope.Principal, c.scope.UserID, got)
		}
	}
	if got := first(t, r, as("backend", "bob"), wantedToo); got != "weekly_numbers" {
		t.Errorf("bob finds %s first: what a key learned counts for all its users", got)
	}
}

// failsOn is a model that cannot embed one text.
type failsOn struct {
	*fakeModel
	text string
}

func (m failsOn) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if slices.Contains(texts, m.text) {
		return nil, errors.New("the text is refused")
	}
	return m.fakeModel.Embed(ctx, texts)
}

// TestPastQueriesThatCannotBeEmbedded: searches go on without them, and the log has the cause.
func TestPastQueriesThatCannotBeEmbedded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder, err := usage.Open(usage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer recorder.Close()
		recorder.Learn(true)
		var log bytes.Buffer
		r := registry.New(registry.Options{Usage: recorder, Log: slog.New(slog.NewTextHandler(&log, nil))})
		defer r.Close()
		const past = "turnover, sales"
		model := failsOn{&fakeModel{name: "m", words: []string{"turnover", "sales"}}, past}
		publish(t, r, registry.Contents{Tools: twins(t), Embeddings: models{model}})
		ann := who("ann", "")
		recorder.Search(usage.Search{Query: past, Principal: "ann", SessionID: "s", Tools: []string{"weekly_numbers"}})
		recorder.Call(usage.Call{Tool: "weekly_numbers", OK: true, Principal: "ann", SessionID: "s"})
		search := func() *registry.Found {
			return find(t, r, registry.SearchRequest{Query: "sales of a week", Scope: ann, Explain: true})
		}
		search()
		synctest.Wait() // for the attempt in the background
		if found := search(); found.SearchMode != registry.ModeHybrid || len(found.Tools) == 0 {
			t.Errorf("got %s, %q", found.SearchMode, ids(found))
		}
		if n := strings.Count(log.String(), "cannot embed past queries"); n != 1 {
			t.Errorf("%d lines of the log have it:\n%s", n, log.String())
		}
	})
}
