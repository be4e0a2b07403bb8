package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// catalogue is a small one of tools that differ.
func catalogue(t testing.TB) []tools.Tool {
	list := []tools.Tool{}
	for name, about := range map[string]string{
		"sql":            `Execute SQL queries on the runtime. Count, aggregate and filter rows, for example distinct values of a column.|{"type":"object","properties":{"query":{"type":"string"}}}`,
		"get_readiness":  `State of each component of the runtime.|{"type":"object","properties":{}}`,
		"haversine_km":   `Great-circle distance in kilometres between two points.|{"type":"object","properties":{"lat1":{"type":"number"},"lon1":{"type":"number"}}}`,
		"weather":        `Forecast of rain and temperature.|{"type":"object","properties":{"city":{"type":"string"}}}`,
		"list_datasets":  `Lists the tables that can be queried.|{"type":"object","properties":{}}`,
		"tool_with_data": `Does things to a thing.|{"type":"object","properties":{"dataset":{"type":"string"}}}`,
	} {
		description, schema, _ := strings.Cut(about, "|")
		list = append(list, tool(t, tools.Definition{Name: name, Description: description, Parameters: json.RawMessage(schema)}, nil))
	}
	return list
}

func find(t testing.TB, r *registry.Registry, q registry.SearchRequest) *registry.Found {
	t.Helper()
	found, err := r.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func ids(f *registry.Found) []string {
	names := make([]string, len(f.Tools))
	for i, t := range f.Tools {
		names[i] = t.ToolID
	}
	return names
}

// The example call and the form of the response are those of Spice's
// documentation of the tool registry.
func TestToolSearchContract(t *testing.T) {
	r, _ := start(t)
	model := &fakeModel{name: "m", words: []string{"distinct", "column", "rain"}}
	publish(t, r, registry.Contents{Tools: catalogue(t), Embeddings: models{model}})
	result := r.Invoke(t.Context(), registry.Call{
		Name: "tool_search", Arguments: json.RawMessage(`{"query":"count distinct values in a column","keywords":["distinct","count"],"limit":3}`),
	})
	if !result.OK {
		t.Fatal(result.Error)
	}
	var got struct {
		Query      string
		Keywords   []string
		SearchMode string `json:"search_mode"`
		Tools      []struct {
			ToolID       string `json:"tool_id"`
			Description  string
			Parameters   map[string]any
			Score        float64
			MatchedTerms []string `json:"matched_terms"`
			MatchSources []struct {
				Source string
				Rank   int
				Score  float64
			} `json:"match_sources"`
		}
	}
	if err := json.Unmarshal(result.Result, &got); err != nil {
		t.Fatal(err)
	}
	if got.Query != "count distinct values in a column" || !slices.Equal(got.Keywords, []string{"distinct", "count"}) || got.SearchMode != "hybrid_rrf" {
		t.Errorf("%s", result.Result)
	}
	if len(got.Tools) == 0 || got.Tools[0].ToolID != "sql" || got.Tools[0].Score != 1 || got.Tools[0].Parameters["type"] != "object" {
		t.Fatalf("%s", result.Result)
	}
	var sources []string
	for _, s := range got.Tools[0].MatchSources {
		sources = append(sources, s.Source)
		if s.Rank < 1 || s.Score <= 0 {
			t.Errorf("source %+v", s)
		}
	}
	if slices.Sort(sources); !slices.Contains(sources, "full_text") || !slices.Contains(sources, "keyword") || !slices.Contains(sources, "vector") {
		t.Errorf("sources %v", sources)
	}
	if !slices.Contains(got.Tools[0].MatchedTerms, "distinct") {
		t.Errorf("terms %v", got.Tools[0].MatchedTerms)
	}
	keys := topKeys(t, result.Result)
	if want := []string{"query", "keywords", "search_mode", "tools"}; !slices.Equal(keys[:4], want) {
		t.Errorf("keys %v", keys)
	}
}

// topKeys are the keys of an object in their order.
func topKeys(t testing.TB, raw json.RawMessage) []string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(raw)))
	var keys []string
	depth := 0
	for {
		token, err := d.Token()
		if err != nil {
			return keys
		}
		switch v := token.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				depth++
			} else {
				depth--
			}
		case string:
			if depth == 1 {
				keys = append(keys, v)
				var skip json.RawMessage
				if err := d.Decode(&skip); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestToolInvokeContract(t *testing.T) {
	rows := tool(t, tools.Definition{Name: "sql", Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`)},
		func(_ context.Context, in tools.Input) (tools.Output, error) {
			if in.Arguments["query"] == "FROM nothing" {
				return tools.Output{}, tools.NewError(errcode.Execution, `table "nothing" is not declared`, "")
			}
			return tools.Output{Value: json.RawMessage(`[{"count":1247}]`), Rows: &tools.Rows{Returned: 1}}, nil
		})
	r, recorder := start(t, rows)
	const example = `{"tool_id":"sql","arguments":{"query":"SELECT COUNT(DISTINCT customer_id) FROM orders"}}`
	result := invoke(t, r, "tool_invoke", example)
	if want := `{"tool_id":"sql","result":[{"count":1247}]}`; string(result.Result) != want {
		t.Errorf("got %s %v", result.Result, result.Error)
	}
	for args, want := range map[string]string{
		`{"tool_id":"sql","arguments":"{\"query\":\"FROM nothing\"}"}`: `execution_error sql: table "nothing" is not declared`,
		`{"tool_id":"sql"}`:                             `invalid_arguments sql: `,
		`{"tool_id":"sqll","arguments":{}}`:             `tool_not_found sqll: there is no tool "sqll"; did you mean "sql"?`,
		`{"tool_id":"tool_search","arguments":{}}`:      `tool_not_found tool_search: there is no tool "tool_search"`,
		`{"tool_id":"tool_invoke","arguments":{}}`:      `tool_not_found tool_invoke: there is no tool "tool_invoke"`,
		`{"arguments":{}}`:                              `invalid_arguments `,
		`{"tool_id":"sql","arguments":{},"extra":true}`: `invalid_arguments `,
	} {
		e := invoke(t, r, "tool_invoke", args).Error
		if e == nil || !strings.HasPrefix(string(e.Code)+" "+e.Error(), want) {
			t.Errorf("%s: %v, want %s", args, e, want)
		}
	}
	if n := recorder.Totals("sql").Calls; n != 3 {
		t.Errorf("%d calls of sql are counted", n)
	}
	if n := recorder.Totals("tool_invoke").Calls; n != 0 {
		t.Errorf("%d calls of tool_invoke are counted: each is the call of a tool", n)
	}
}

func TestARealToolOfAReservedNameWins(t *testing.T) {
	r, _ := start(t, tool(t, tools.Definition{Name: "tool_search"}, nil))
	if got := r.Current().ReservedName(); got != "tool_search" {
		t.Errorf("reserved: %q", got)
	}
	if result := invoke(t, r, "tool_search", "{}"); string(result.Result) != `"done"` {
		t.Errorf("%s %v", result.Result, result.Error)
	}
}

func TestSearchRequests(t *testing.T) {
	r, _ := start(t, catalogue(t)...)
	for _, q := range []registry.SearchRequest{
		{Query: ""},
		{Query: " \t"},
		{Query: strings.Repeat("x", registry.MaxQuery+1)},
		{Query: "x", Limit: -1},
		{Query: "x", MinScore: 1.1},
		{Query: "x", MinScore: -0.1},
		{Query: "x", Keywords: make([]string, registry.MaxKeywords+1)},
	} {
		_, err := r.Search(t.Context(), q)
		if tools.AsError(err).Code != errcode.InvalidArguments {
			t.Errorf("%.40v: %v", q, err)
		}
	}
	if f := find(t, r, registry.SearchRequest{Query: "*", Limit: 3}); f.Total != 6 ||
		!slices.Equal(ids(f), []string{"get_readiness", "haversine_km", "list_datasets"}) {
		t.Errorf("a listing: %d, %v", f.Total, ids(f))
	}
	if f := find(t, r, registry.SearchRequest{Query: "*", Limit: 3, Offset: 2}); f.Total != 6 || len(f.Tools) != 3 || ids(f)[0] != "list_datasets" {
		t.Errorf("the rest of a listing: %d, %v", f.Total, ids(f))
	}
	all := ids(find(t, r, registry.SearchRequest{Query: "runtime", Limit: 20}))
	if rest := ids(find(t, r, registry.SearchRequest{Query: "runtime", Limit: 20, Offset: 1})); len(all) < 2 || !slices.Equal(rest, all[1:]) {
		t.Errorf("found %v, and without the first %v", all, rest)
	}
	if f := find(t, r, registry.SearchRequest{Query: "runtime", Limit: 50}); len(f.Notices) == 0 || !strings.Contains(f.Notices[0], "limit 50 was lowered to 20") {
		t.Errorf("%v", f.Notices)
	}
	if f := find(t, r, registry.SearchRequest{Query: "qqqq zzzz"}); len(f.Tools) != 0 || !f.NoGoodMatch {
		t.Errorf("%v %v", ids(f), f.NoGoodMatch)
	}
	if f := find(t, r, registry.SearchRequest{Query: "component state", Keywords: []string{"get readiness"}}); ids(f)[0] != "get_readiness" {
		t.Errorf("%v", ids(f))
	}
	if f := find(t, r, registry.SearchRequest{Query: "tool with city argument"}); !slices.Contains(ids(f), "weather") {
		t.Errorf("%v", ids(f))
	}
	for _, name := range []string{"haversine_km", "Haversine KM", "list-datasets", "get_readiness"} {
		if f := find(t, r, registry.SearchRequest{Query: name}); strings.ToLower(strings.NewReplacer("-", "_", " ", "_").Replace(name)) != ids(f)[0] {
			t.Errorf("%s finds %v", name, ids(f))
		}
	}
	if f := find(t, r, registry.SearchRequest{Query: "rain in the runtime", MinScore: 1}); len(f.Tools) == 0 {
		t.Error("min_score leaves nothing")
	}
}

// Vectors are made at the first search, kept for all that follow, and of a
// changed tool alone.
func TestEmbeddingsAreLazyAndShared(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vectors")
	model := &fakeModel{name: "m", words: []string{"distance", "rain", "tables"}}
	r := registry.New(registry.Options{VectorDir: dir})
	list := catalogue(t)
	n := len(list)
	contents := registry.Contents{Tools: list, Embeddings: models{model}}
	publish(t, r, contents)
	if got := model.asked(); got != 0 {
		t.Errorf("%d texts were embedded before the first search", got)
	}
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() { find(t, r, registry.SearchRequest{Query: "distance"}) })
	}
	callers.Wait()
	if got := model.asked(); got != n+8 {
		t.Errorf("eight searches at once embedded %d texts, want %d", got, n+8)
	}
	find(t, r, registry.SearchRequest{Query: "distance"})
	if got := model.asked(); got != 1 {
		t.Errorf("the next search embedded %d texts", got)
	}
	contents.Tools = append(slices.Clone(list), tool(t, tools.Definition{Name: "new", Description: "About tables."}, nil))
	publish(t, r, contents)
	find(t, r, registry.SearchRequest{Query: "tables"})
	if got := model.asked(); got != 2 {
		t.Errorf("after one tool came, %d texts were embedded, want 2", got)
	}
	publish(t, r, registry.Contents{Tools: list, Embeddings: models{model}})
	find(t, r, registry.SearchRequest{Query: "tables"})
	if got := model.asked(); got != 1 {
		t.Errorf("after the edit was taken back, %d texts were embedded", got)
	}

	next := registry.New(registry.Options{VectorDir: dir})
	publish(t, next, registry.Contents{Tools: list, Embeddings: models{model}})
	if f := find(t, next, registry.SearchRequest{Query: "rain"}); f.SearchMode != registry.ModeHybrid || ids(f)[0] != "weather" {
		t.Errorf("%s %v", f.SearchMode, ids(f))
	}
	if got := model.asked(); got != 1 {
		t.Errorf("the next run embedded %d texts, want the query", got)
	}
}

func TestDamagedVectorsAreMadeAnew(t *testing.T) {
	model := &fakeModel{name: "m", words: []string{"distance", "rain"}}
	whole := t.TempDir()
	publishAndFind := func(dir string) []string {
		r := registry.New(registry.Options{VectorDir: dir})
		publish(t, r, registry.Contents{Tools: catalogue(t), Embeddings: models{model}})
		f := find(t, r, registry.SearchRequest{Query: "rain"})
		if f.SearchMode != registry.ModeHybrid {
			t.Errorf("%v", f.Notices)
		}
		return ids(f)
	}
	want := publishAndFind(whole)
	files, err := filepath.Glob(filepath.Join(whole, "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for cut := 0; cut < len(text); cut += 5 {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(files[0])), text[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 { // what the first adds to the torn file, the second reads
			if got := publishAndFind(dir); !slices.Equal(got, want) {
				t.Fatalf("cut at %d: %v, want %v", cut, got, want)
			}
		}
	}
}

func TestExplainAddsUp(t *testing.T) {
	r := registry.New(registry.Options{})
	publish(t, r, registry.Contents{Tools: catalogue(t), Embeddings: models{&fakeModel{name: "m", words: []string{"distance", "rain", "tables"}}}})
	f := find(t, r, registry.SearchRequest{Query: "distance between points", Explain: true})
	for _, found := range f.Tools {
		sum := 0.0
		for _, s := range found.MatchSources {
			sum += s.Share
		}
		if diff := sum - found.Score; diff > 0.005 || diff < -0.005 {
			t.Errorf("%s: the shares are %v and the score %v", found.ToolID, sum, found.Score)
		}
	}
	why, err := r.Why(t.Context(), registry.SearchRequest{Query: "distance between points"}, "weather")
	if err != nil || why.Tool != "weather" {
		t.Errorf("%+v %v", why, err)
	}
	if _, err := r.Why(t.Context(), registry.SearchRequest{Query: "x"}, "wether"); err == nil || !strings.Contains(err.Error(), `"weather"`) {
		t.Error(err)
	}
}

func TestEqualCatalogsAnswerWithEqualBytes(t *testing.T) {
	var first string
	for n := range 20 {
		list := catalogue(t)
		if n%2 == 1 {
			slices.Reverse(list)
		}
		r := registry.New(registry.Options{})
		publish(t, r, registry.Contents{Tools: list})
		text, err := json.Marshal([]any{r.Current().All(), find(t, r, registry.SearchRequest{Query: "tables and rain"})})
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			first = string(text)
		}
		if string(text) != first {
			t.Fatal(cmp.Diff(first, string(text)))
		}
	}
}

func TestSearchTests(t *testing.T) {
	r, _ := start(t, catalogue(t)...)
	results := r.RunSearchTests(t.Context(), r.Current(), []spicepod.SearchTest{
		{Query: "distance between points", Expect: "haversine_km", Top: 1},
		{Query: "distance between points", Expect: "weather", Top: 3},
		{Query: "distance", Expect: "haversine", Top: 3},
		{Query: "haversine_km weather", Expect: "weather", Top: 1},
	})
	if !results[0].Passed || results[0].Rank != 1 {
		t.Errorf("%+v", results[0])
	}
	if results[1].Passed || !strings.Contains(results[1].Message, "must find weather among the first 3; it is not found; the search finds haversine_km") {
		t.Errorf("%+v", results[1])
	}
	if results[2].Passed || !strings.Contains(results[2].Message, `it expects "haversine", which is not a tool; did you mean "haversine_km"?`) {
		t.Errorf("%+v", results[2])
	}
	if results[3].Passed || !strings.Contains(results[3].Message, "must find weather among the first 1; it has rank 2, after haversine_km") {
		t.Errorf("%+v", results[3])
	}
}

func FuzzSearch(f *testing.F) {
	r, _ := start(f, catalogue(f)...)
	f.Add("count distinct values", "distinct", 3, 0.5)
	f.Add("*", "", 0, 0.0)
	f.Add("\x00\xff 漢字 'quoted' -- ", "\xff", 99, -1.0)
	f.Fuzz(func(t *testing.T, query, keyword string, limit int, score float64) {
		found, err := r.Search(context.Background(), registry.SearchRequest{Query: query, Keywords: []string{keyword}, Limit: limit, MinScore: score, Explain: true})
		if err != nil {
			return
		}
		if len(found.Tools) > registry.MaxLimit {
			t.Errorf("%d tools", len(found.Tools))
		}
		if _, err := json.Marshal(found); err != nil {
			t.Error(err)
		}
	})
}

func FuzzInvoke(f *testing.F) {
	r, _ := start(f, greet(f))
	f.Add("greet", `{"name":"Ada"}`)
	f.Add("tool_invoke", `{"tool_id":"greet","arguments":"{\"name\":1}"}`)
	f.Add("tool_search", `{"query":"*","limit":"3"}`)
	f.Fuzz(func(t *testing.T, name, args string) {
		result := r.Invoke(context.Background(), registry.Call{Name: name, Arguments: json.RawMessage(args)})
		if result.OK == (result.Error != nil) {
			t.Errorf("%+v", result)
		}
		if !result.OK && result.Error.Code == errcode.Internal {
			t.Errorf("%v", result.Error)
		}
		if _, err := json.Marshal(result); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkInvoke(b *testing.B) {
	r, _ := start(b, greet(b))
	args := json.RawMessage(`{"name":"Ada","times":3}`)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if result := r.Invoke(context.Background(), registry.Call{Name: "greet", Arguments: args}); !result.OK {
				b.Fatal(result.Error)
			}
		}
	})
}

func BenchmarkCatalog(b *testing.B) {
	var list []tools.Tool
	for i := range 10_000 {
		list = append(list, tool(b, tools.Definition{Name: fmt.Sprintf("tool_%d", i), Description: "A tool.", Parameters: json.RawMessage(greetSchema)}, nil))
	}
	last, err := registry.NewCatalog(nil, registry.Contents{Tools: list, Search: search.Default()})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := registry.NewCatalog(last, registry.Contents{Tools: list, Search: search.Default()}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestInvokedContent is that of the tool, with the notices of its call.
func TestInvokedContent(t *testing.T) {
	content := []tools.Content{{Text: "a"}, {MediaType: "image/png", Data: []byte{1}}}
	shoot := registry.Must(tools.New(tools.Definition{
		Name: "shoot", Description: "Shoots.", Source: tools.SourceFunction,
		Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}}}`),
	}, func(context.Context, tools.Input) (tools.Output, error) {
		return tools.Output{Value: json.RawMessage("[]"), Content: content}, nil
	}))
	r := registry.New(registry.Options{})
	catalog, err := registry.NewCatalog(r.Current(), registry.Contents{Tools: []tools.Tool{shoot}})
	if err != nil {
		t.Fatal(err)
	}
	r.Publish(catalog)
	for args, want := range map[string]int{`{"tool_id":"shoot"}`: 2, `{"tool_id":"shoot","arguments":{"x":"1"}}`: 3} {
		got := invoke(t, r, "tool_invoke", args)
		if !got.OK || len(got.Content) != want {
			t.Errorf("%s: %+v %s", args, got, got.Result)
		}
	}
}
