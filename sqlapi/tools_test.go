package sqlapi

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/wait"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// fakeTool is a tool of a few words.
type fakeTool struct {
	def  tools.Definition
	call func(context.Context, tools.Input) (tools.Output, error)
}

const numbers4 = `{"type":"object","properties":{"lat1":{"type":"number"},"lon1":{"type":"number"},"lat2":{"type":"number"},"lon2":{"type":"number"}},
	"required":["lat1","lon1","lat2","lon2"],"additionalProperties":false}`

func fakeTools() []fakeTool {
	def := func(name, description, source string) tools.Definition {
		return tools.Definition{Name: name, Description: description, Source: source}
	}
	with := func(d tools.Definition, change func(*tools.Definition)) tools.Definition { change(&d); return d }
	fails := func(err error) func(context.Context, tools.Input) (tools.Output, error) {
		return func(context.Context, tools.Input) (tools.Output, error) { return tools.Output{}, err }
	}
	gives := func(value string) func(context.Context, tools.Input) (tools.Output, error) {
		return func(context.Context, tools.Input) (tools.Output, error) {
			return tools.Output{Value: json.RawMessage(value)}, nil
		}
	}
	open := json.RawMessage(`{"type":"object"}`)
	return []fakeTool{
		{with(def("haversine_km", "Haversine great-circle distance in kilometres.", tools.SourceFunction), func(d *tools.Definition) {
			d.Parameters, d.Returns, d.Tags, d.Owner = json.RawMessage(numbers4), json.RawMessage(`{"type":"number"}`), []string{"geo"}, "navigator"
			d.Cacheable = true
		}), haversine},
		{with(def("sql", "Execute SQL queries on the runtime. Count rows, distinct values in a column.", tools.SourceBuiltin), func(d *tools.Definition) {
			d.Parameters = json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`)
		}), rowsOf(`[{"count":1247}]`, false)},
		{def("list_datasets", "List the datasets.", tools.SourceBuiltin), gives(`[]`)},
		{def("search", "Search documents.", tools.SourceBuiltin), gives(`"a tool with the name search"`)},
		{with(def("srv__echo", "Echo <words> & \"more\".", "mcp:srv"), func(d *tools.Definition) { d.Parameters = open }), echo},
		{def("three_rows", "Some rows of many.", tools.SourceBuiltin), rowsOf(`[1,2,3]`, true)},
		{def("fails", "Fail.", tools.SourceBuiltin), fails(errors.New("division by zero"))},
		{def("refuses", "Refuse.", tools.SourceBuiltin), fails(tools.NewError(errcode.Refused, "not allowed", "ask the owner"))},
		{
			def("broken", "Have a fault.", tools.SourceBuiltin),
			fails(&tools.Error{Code: errcode.Internal, Message: "secret path /etc", Cause: errors.New("cause /etc")}),
		},
		{def("panics", "Panic.", tools.SourceBuiltin), func(context.Context, tools.Input) (tools.Output, error) { panic("secret /etc") }},
		{def("stops", "Be shut down.", tools.SourceBuiltin), fails(tools.NewError(errcode.Cancelled, "the runtime is shutting down", ""))},
		{
			with(def("lies", "Give the wrong type.", tools.SourceBuiltin), func(d *tools.Definition) { d.Returns = json.RawMessage(`{"type":"number"}`) }),
			gives(`"text"`),
		},
		{
			with(def("huge", "Give too much.", tools.SourceBuiltin), func(d *tools.Definition) { d.Limits = &tools.Limits{MaxBytes: 10} }),
			gives(`"more than ten bytes"`),
		},
		{with(def("slow", "Take too long.", tools.SourceBuiltin), func(d *tools.Definition) { d.Limits = &tools.Limits{Timeout: time.Millisecond} }), waits},
		{with(def("who", "Tell on whose behalf it is called.", tools.SourceBuiltin), func(d *tools.Definition) { d.Owner = "navigator" }), who},
	}
}

func haversine(_ context.Context, in tools.Input) (tools.Output, error) {
	at := func(name string) float64 {
		f, _ := in.Arguments[name].(json.Number).Float64()
		return f * math.Pi / 180
	}
	cosine := math.Cos(at("lat1"))*math.Cos(at("lat2"))*math.Cos(at("lon2")-at("lon1")) + math.Sin(at("lat1"))*math.Sin(at("lat2"))
	return tools.JSON(math.Round(6371 * math.Acos(min(cosine, 1))))
}

func rowsOf(value string, truncated bool) func(context.Context, tools.Input) (tools.Output, error) {
	return func(context.Context, tools.Input) (tools.Output, error) {
		rows := &tools.Rows{Returned: strings.Count(value, ",") + 1, Truncated: truncated}
		if more := int64(7); truncated {
			rows.More = &more
		}
		return tools.Output{Value: json.RawMessage(value), Rows: rows}, nil
	}
}

func echo(_ context.Context, in tools.Input) (tools.Output, error) {
	return tools.Output{Value: in.Raw}, nil
}

func waits(ctx context.Context, _ tools.Input) (tools.Output, error) {
	<-ctx.Done()
	return tools.Output{}, ctx.Err()
}

func who(_ context.Context, in tools.Input) (tools.Output, error) {
	s := in.Scope
	return tools.JSON([]string{s.UserID, s.SpaceID, s.SessionID, s.Agent, s.RequestID, s.Model, string(s.Protocol)})
}

// spaceTool is there in one space alone.
type spaceTool struct{ tools.Tool }

func (spaceTool) Unavailable(s tools.Scope) string {
	if s.SpaceID != "hawken" {
		return "only in the space hawken"
	}
	return ""
}

// fakeRegistry has the fake tools and the embedding models named.
func fakeRegistry(t testing.TB, models ...string) (*registry.Registry, *embeddings.Set) {
	t.Helper()
	return fakeRegistryWith(t, usage.Options{}, models...)
}

func fakeRegistryWith(t testing.TB, o usage.Options, models ...string) (*registry.Registry, *embeddings.Set) {
	t.Helper()
	recorder, err := usage.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { recorder.Close() })
	pod := &spicepod.Pod{}
	for _, name := range models {
		from := "builtin:hash"
		if name == "absent" {
			from = "file:absent.gguf"
		}
		pod.Embeddings = append(pod.Embeddings, spicepod.Embedding{Name: name, From: from})
	}
	set, _ := embeddings.NewSet(pod, embeddings.Options{})
	t.Cleanup(func() { set.Close() })
	r := registry.New(registry.Options{Usage: recorder})
	r.CacheLimit(1 << 20)
	var list []tools.Tool
	for _, f := range fakeTools() {
		list = append(list, registry.Must(tools.New(f.def, f.call)))
	}
	list = append(list, spaceTool{registry.Must(tools.New(tools.Definition{Name: "jump", Description: "Jump.", Source: tools.SourceBuiltin}, echo))})
	publish(t, r, set, list...)
	return r, set
}

func publish(t testing.TB, r *registry.Registry, set *embeddings.Set, list ...tools.Tool) {
	t.Helper()
	catalog, err := registry.NewCatalog(r.Current(), registry.Contents{
		Generation: 7, Tools: list, Search: search.Default(), Embeddings: set, Functions: map[string]string{"twice": "runtime"},
		Hidden: []registry.Hidden{{Name: "internal_hash", Stage: registry.StageAsTool, Reason: "as_tool is false"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Publish(catalog)
}

// serveTools is a server of the fake tools and one embedding model.
func serveTools(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	return serve(t, func(o *Options) {
		r, set := fakeRegistry(t, "local")
		o.Tools, o.Embeddings = r, func() *embeddings.Set { return set }
		if change != nil {
			change(o)
		}
	})
}

func (f *fixture) decode(r reply, into any) {
	f.t.Helper()
	if err := json.Unmarshal([]byte(r.body), into); err != nil {
		f.t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
}

func TestToolsAreListed(t *testing.T) {
	f := serveTools(t, nil)
	r := f.send("GET", "/v1/tools", "")
	var list []map[string]any
	f.decode(r, &list)
	want := "broken fails haversine_km huge lies list_datasets panics refuses search slow sql srv__echo stops three_rows who"
	var names []string
	for _, line := range list {
		names = append(names, line["name"].(string))
		if len(line) != 2 || line["description"] == "" {
			t.Errorf("the planner's view has %v", line)
		}
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if again := f.send("GET", "/v1/tools?view=planner", ""); again.body != r.body || again.header.Get("ETag") != r.header.Get("ETag") {
		t.Error("two requests differ")
	}
	if got := r.header.Get("X-Spiced-Generation"); got != "7" {
		t.Errorf("generation %q", got)
	}
	f.want(r, 200, `{"name":"srv__echo","description":"Echo <words> & \"more\"."}`)
	f.want(f.send("GET", "/v1/tools", "", "X-Spiced-Space", "hawken"), 200, `"jump"`)
	f.want(f.send("GET", "/v1/tools", "", "If-None-Match", `W/"x", `+r.header.Get("ETag")), 304, "")
	f.want(f.send("GET", "/v1/tools", "", "If-None-Match", `"x"`), 200, "haversine_km")
}

func TestToolsAreFiltered(t *testing.T) {
	f := serveTools(t, nil)
	for query, want := range map[string]string{
		"?source=function":                `[{"name":"haversine_km","description":"Haversine great-circle distance in kilometres."}]`,
		"?source=mcp":                     `[{"name":"srv__echo",`,
		"?source=mcp:srv":                 `[{"name":"srv__echo",`,
		"?tag=geo":                        `[{"name":"haversine_km",`,
		"?owner=navigator&source=builtin": `[{"name":"who",`,
		"?owner=stranger":                 `[]`,
		"?view=stats&tag=geo&format=csv": "name,description,parameter_count,total_invocations,errors,last_called_at,searches,owner,source\n" +
			"haversine_km,Haversine great-circle distance in kilometres.,4,0,0,,0,navigator,function\n",
		"?view=full&tag=geo&owner=navigator":   `"parameters":{"additionalProperties":false,`,
		"?view=stats&source=mcp&owner=runtime": `"last_called_at":null`,
	} {
		f.want(f.send("GET", "/v1/tools"+query, ""), 200, want)
	}
	f.want(f.send("GET", "/v1/tools?view=fulll", ""), 400, `"hint":"use planner, full or stats"`)
	f.want(f.send("GET", "/v1/tools?format=yaml", ""), 400, `"hint":"use json, xml or csv"`)
	f.want(f.send("GET", "/v1/tools?format=", ""), 400, `the parameter format is \"\"`)
	f.want(f.send("GET", "/v1/tools?format=csv&tag=geo", ""), 200, "name,description\nhaversine_km,Haversine")
	f.want(f.send("GET", "/v1/tools?view=stats&format=xml&tag=geo", ""), 200, "<tools>\n  <tool>\n    <name>haversine_km</name>")
}

func TestToolsAsXML(t *testing.T) {
	f := serveTools(t, nil)
	for _, view := range []string{"", "&view=full"} {
		r := f.send("GET", "/v1/tools?format=xml"+view, "")
		f.want(r, 200, "<description>Echo &lt;words&gt; &amp; &#34;more&#34;.</description>")
		var parsed struct {
			Tool []struct {
				Name string `xml:"name"`
			} `xml:"tool"`
		}
		if err := xml.Unmarshal([]byte(r.body), &parsed); err != nil || len(parsed.Tool) != 15 || r.header.Get("Content-Type") != "application/xml" {
			t.Errorf("%d tools, %v, %v", len(parsed.Tool), err, r.header)
		}
	}
}

func TestStatsCountCalls(t *testing.T) {
	f := serveTools(t, nil)
	f.send("POST", "/v1/tools/fails:invoke", "")
	f.send("POST", "/v1/tools/fails", "")
	f.send("POST", "/v1/tools/fails?dry_run=true", "")
	f.send("POST", "/v1/tools:search", `{"query":"fail"}`)
	var stats []registry.Stat
	f.decode(f.send("GET", "/v1/tools?view=stats", ""), &stats)
	for _, s := range stats {
		if s.Name == "fails" && (s.TotalInvocations != 2 || s.Errors != 2 || s.LastCalledAt == nil || s.Searches != 1) {
			t.Errorf("got %+v", s)
		}
	}
	f.want(f.send("GET", "/v1/tools/fails?explain", ""), 200, `"calls":2,"errors":2,"searches":1,"generation":7`)
}

func TestDefinitions(t *testing.T) {
	f := serveTools(t, nil)
	r := f.send("GET", "/v1/tools/haversine_km", "")
	f.want(r, 200, `"schema_version":"0.1.0"`)
	f.want(f.send("GET", "/v1/tools/haversine_km", "", "If-None-Match", r.header.Get("ETag")), 304, "")
	for path, want := range map[string]string{
		"HAVERSINE_KM": `{"name":"haversine_km"`,
		"srv/echo":     `{"name":"srv__echo"`,
		"srv%2Fecho":   `{"name":"srv__echo"`,
		"tool_search":  `{"name":"tool_search"`,
		"tool_invoke":  `{"name":"tool_invoke"`,
	} {
		f.want(f.send("GET", "/v1/tools/"+path, ""), 200, want)
	}
	f.want(f.send("GET", "/v1/tools/haversin_km", ""), 404, `"code":"tool_not_found","hint":"did you mean \"haversine_km\"?"`)
	f.want(f.send("GET", "/v1/tools/internal_hash", ""), 404, `"hint":"it is declared, but not a tool: as_tool is false"`)
	f.want(f.send("GET", "/v1/tools/", ""), 404, "tool_not_found")
	f.want(f.send("GET", "/v1/tools/jump", ""), 403, "jump is not available here: only in the space hawken")
	f.want(f.send("GET", "/v1/tools/jump", "", "X-Spiced-Space", "hawken"), 200, `{"name":"jump"`)
}

func TestExplain(t *testing.T) {
	f := serveTools(t, nil)
	f.want(f.send("GET", "/v1/tools/haversine_km?explain=true", ""), 200, `{"name":"haversine_km","callable":true`)
	f.want(f.send("GET", "/v1/tools/haversine_km?explain=1", ""), 200, `{"name":"haversine_km","callable":true`)
	f.want(f.send("GET", "/v1/tools/haversine_km?explain=0", ""), 200, `{"name":"haversine_km","description"`)
	f.want(f.send("GET", "/v1/tools/jump?explain", ""), 200, `"callable":false,"hidden_by":"available","reason":"only in the space hawken"`)
	f.want(f.send("GET", "/v1/tools/internal_hash?explain", ""), 200, `"hidden_by":"as_tool","reason":"as_tool is false"`)
	f.want(f.send("GET", "/v1/tools/haversine_km?explain=perhaps", ""), 400, "use true or false")
	f.want(f.send("GET", "/v1/tools/nosuchthing?explain", ""), 404, "tool_not_found")
}

func TestSearchDefinitions(t *testing.T) {
	f := serveTools(t, nil)
	var list []map[string]any
	r := f.send("GET", "/v1/tools/search", "")
	f.decode(r, &list)
	if len(list) != 3 || list[0]["name"] != "tool_search" || list[1]["name"] != "tool_invoke" || list[2]["name"] != "list_datasets" {
		t.Errorf("got %s", r.body)
	}
	for _, d := range list {
		if len(d) != 3 || d["description"] == "" || d["parameters"].(map[string]any)["type"] != "object" {
			t.Errorf("got %v", d)
		}
	}
	f.want(f.send("GET", "/v1/tools/search?format=openai", ""), 200, `[{"type":"function","function":{"name":"tool_search",`)
	f.want(f.send("GET", "/v1/tools/search?format=x", ""), 400, "use json or openai")
	f.want(f.send("GET", "/v1/tools/search?embedding_model=local", ""), 200, "tool_invoke")
	f.want(f.send("GET", "/v1/tools/search?embedding_model=nope", ""), 400,
		"Embedding model 'nope' specified by `tool_embedding_model` was not found in the `embeddings` section")
}

func TestSearchDefinitionsNeedARegistry(t *testing.T) {
	with := func(change func(*registry.Registry), models ...string) reply {
		f := serve(t, func(o *Options) {
			o.Tools, _ = fakeRegistry(t, models...)
			if change != nil {
				change(o.Tools)
			}
		})
		return f.send("GET", "/v1/tools/search", "")
	}
	same := func(*registry.Registry) {}
	f := &fixture{t: t}
	f.want(with(same), 400, "No embedding model configured for searchable tool discovery. Add one model")
	f.want(with(same, "b", "a"), 400, "Multiple embedding models are configured for searchable tool discovery: a, b. Set `tool_embedding_model` to one of them")
	f.want(with(same, "absent"), 400, "Embedding model 'absent' configured for searchable tool discovery was not loaded.")
	reserved := registry.Must(tools.New(tools.Definition{Name: "tool_search", Description: "A real one.", Source: tools.SourceBuiltin}, echo))
	set := func(names ...string) *embeddings.Set { _, s := fakeRegistry(t, names...); return s }
	f.want(with(func(r *registry.Registry) { publish(t, r, set("a"), reserved) }), 400,
		"Tool name 'tool_search' is reserved for the searchable tool registry. Rename the configured tool or disable searchable registry tools.")
	f.want(with(func(r *registry.Registry) { publish(t, r, set("a")) }), 200, "[]\n")
	none := func(r *registry.Registry) {
		c, err := registry.NewCatalog(nil, registry.Contents{})
		if err != nil {
			t.Fatal(err)
		}
		r.Publish(c)
	}
	f.want(with(none), 400, "No embedding model configured")
}

func TestWithoutToolsAndEmbeddings(t *testing.T) {
	f := serve(t, nil)
	f.want(f.send("GET", "/v1/tools", ""), 404, `"code":"not_served"`)
	f.want(f.send("GET", "/v1/tools/search", ""), 404, `"code":"not_served"`)
	f.want(f.send("POST", "/v1/tools/x", ""), 404, `{"message":"tools are not served here","code":"not_served"}`)
	f.want(f.send("POST", "/v1/tools/x:invoke", ""), 404, `"ok":false,"error":{"code":"not_served"`)
	f.want(f.send("POST", "/v1/embeddings", `{}`), 404, `{"error":{"message":"embeddings are not served here","type":"invalid_request_error"`)
	f.want(f.send("POST", "/v1/sql", "SELECT 1"), 200, "1")
	f = serve(t, func(o *Options) { o.Embeddings = func() *embeddings.Set { return nil } })
	f.want(f.send("POST", "/v1/embeddings", `{}`), 404, "not_served")
}

func TestToolMethods(t *testing.T) {
	f := serveTools(t, nil)
	for path, allow := range map[string]string{
		"/v1/tools":          "GET, HEAD",
		"/v1/tools/x:invoke": "POST",
		"/v1/tools/search":   "GET, HEAD, POST",
		"/v1/tools:search":   "GET, HEAD, POST",
		"/v1/tool/x":         "POST",
		"/v1/embeddings":     "POST",
		"/v1/tools/x/y":      "GET, HEAD, POST",
	} {
		r := f.send("DELETE", path, "")
		f.want(r, 405, "method_not_allowed")
		if got := r.header.Get("Allow"); got != allow {
			t.Errorf("%s: Allow is %q, want %q", path, got, allow)
		}
	}
	for _, method := range []string{"GET", "HEAD"} {
		if r := f.send(method, "/v1/tools/x:invoke", ""); r.status != 405 || r.header.Get("Allow") != "POST" {
			t.Errorf("%s: %d, Allow is %q", method, r.status, r.header.Get("Allow"))
		}
	}
	f.want(f.send("POST", "/v1/tools/search", ""), 200, "a tool with the name search")
}

func TestScopeHeaders(t *testing.T) {
	f := serveTools(t, nil)
	headers := []string{"X-Spiced-User", "u", "X-Spiced-Space", "s", "X-Spiced-Session", "ü 1", "X-Spiced-Agent", "a", "X-Request-Id", "r"}
	f.want(f.send("POST", "/v1/tools/who", "", headers...), 200, `["u","s","ü 1","a","r","","http"]`)
	f.want(f.send("POST", "/v1/tools/who:invoke", `{"context":{"userId":"v","spaceId":"s","requestId":"q"}}`), 200, `"result":["v","s","","","q","","http"]`)
	for key, want := range map[string]string{
		`"spaceid":"a","space_id":"b"`: "context has space_id twice, with different values",
		`"space-id":"a"`:               `context has no key \"space-id\"; did you mean \"space_id\"?`,
		`"spaec_id":"a"`:               `did you mean \"space_id\"?`,
	} {
		f.want(f.send("POST", "/v1/tools/who:invoke", `{"context":{`+key+`}}`), 400, want)
	}
	f.want(f.send("POST", "/v1/tools/who:invoke", `{"context":{"user_id":"v","model":"m","space_id":null,"request_id":"q","plan":{"a":1}}}`, headers...), 200,
		`"result":["v","s","ü 1","a","q","m","http"]`)
	for _, bad := range []string{strings.Repeat("x", 129), "a\tb", "\xff", "a\u0085b", "a\u202eb"} {
		for _, at := range []string{"GET /v1/tools", "POST /v1/sql", "POST /v1/tools/who", "POST /v1/tools/who:invoke", "GET /v1/tools:search?q=x"} {
			method, path, _ := strings.Cut(at, " ")
			f.want(f.send(method, path, "SELECT 1", "X-Spiced-Agent", bad), 400, "X-Spiced-Agent")
		}
		text, err := json.Marshal(bad)
		if err != nil {
			t.Fatal(err)
		}
		if bad != "\xff" {
			f.want(f.send("POST", "/v1/tools/who:invoke", `{"context":{"agent":`+string(text)+`}}`), 400, "context.agent")
			f.want(f.send("POST", "/v1/tools/who:invoke", `{"trace":{"flow_id":`+string(text)+`}}`), 400, "trace.flow_id")
		}
	}
}

// TestTheSeedsExamples has the requests and answers of the Tool Registry's page.
func TestTheSeedsExamples(t *testing.T) {
	f := serveTools(t, nil)
	r := f.send("POST", "/v1/tools/tool_search", `{"query":"count distinct values in a column","keywords":["distinct","count"],"limit":3}`)
	var found struct {
		Query      string           `json:"query"`
		Keywords   []string         `json:"keywords"`
		SearchMode string           `json:"search_mode"`
		Tools      []map[string]any `json:"tools"`
	}
	f.decode(r, &found)
	if found.Query != "count distinct values in a column" || !cmp.Equal(found.Keywords, []string{"distinct", "count"}) || found.SearchMode != "hybrid_rrf" {
		t.Errorf("got %s", r.body)
	}
	if len(found.Tools) == 0 || len(found.Tools) > 3 || found.Tools[0]["tool_id"] != "sql" || found.Tools[0]["score"] != 1.0 || len(found.Tools[0]) != 6 {
		t.Errorf("got %s", r.body)
	}
	f.want(r, 200, `"match_sources":[{"source":"full_text","rank":1,"score":`)
	r = f.send("POST", "/v1/tools/tool_invoke", `{"tool_id":"sql","arguments":{"query":"SELECT COUNT(DISTINCT customer_id) FROM orders"}}`)
	var invoked map[string]any
	f.decode(r, &invoked)
	want := map[string]any{"tool_id": "sql", "result": []any{map[string]any{"count": 1247.0}}}
	if diff := cmp.Diff(want, invoked); diff != "" {
		t.Error(diff)
	}
}

// TestTheSeedsTableOfParameters holds tool_search against the page itself,
// which is next to the repository, no part of it.
func TestTheSeedsTableOfParameters(t *testing.T) {
	page, err := os.ReadFile("../../shared/seeds/000_14dac1f0a4e0a30c.txt")
	if err != nil {
		t.Skip("the page is not next to the repository:", err)
	}
	f := serveTools(t, nil)
	for _, name := range []string{"tool_search", "tool_invoke"} {
		var def struct {
			Parameters struct{ Properties map[string]any }
		}
		f.decode(f.send("GET", "/v1/tools/"+name, ""), &def)
		if len(def.Parameters.Properties) == 0 {
			t.Errorf("%s has no parameters", name)
		}
		for parameter := range def.Parameters.Properties {
			// The page has no way to list more tools than one answer shows.
			if !strings.Contains(string(page), parameter) && parameter != "offset" {
				t.Errorf("%s has a parameter %q that the page does not know", name, parameter)
			}
		}
	}
}

// TestStatementsCallToolsAndAreCounted runs statements over a database with the
// registry in it.
func TestStatementsCallToolsAndAreCounted(t *testing.T) {
	var r *registry.Registry
	f := serveTools(t, func(o *Options) { r = o.Tools })
	twice := &engine.Function{Name: "twice", Signature: "twice(x int64) → int64", Args: []engine.FunctionArg{{Name: "x", Type: "BIGINT", Numeric: true}}}
	err := f.db.Publish(t.Context(),
		engine.NewCatalog(engine.Contents{Generation: 1, Relations: registry.Relations(), Functions: append(registry.Functions(), twice)}),
		func(tx *engine.Tx) error {
			return errors.Join(registry.Setup(tx), tx.Exec("CREATE MACRO spice.public.twice(x) AS 2 * x"))
		})
	if err != nil {
		t.Fatal(err)
	}
	r.Serve(f.db)
	f.want(f.send("POST", "/v1/sql", "SELECT tool_invoke('who') AS who", "X-Spiced-Agent", "hawken", "X-Request-Id", "r"), 200,
		`"who":["","","","hawken","r","","sql"]`)
	f.want(f.send("POST", "/v1/sql", "SELECT 1 AS x"), 200, "1")
	if n := r.Usage().Totals("twice").Calls; n != 0 {
		t.Errorf("%d calls without the function", n)
	}
	f.want(f.send("POST", "/v1/sql", "SELECT twice(range) + twice(1) AS x FROM range(3)", "X-Spiced-Agent", "hawken"), 200, `[{"x":2},{"x":4},{"x":6}]`)
	f.want(f.send("POST", "/v1/sql", "SELECT twice(9223372036854775807) AS x"), 400, "")
	wait.Until(t, "the statements are counted", func() bool { return r.Usage().Totals("twice").Calls >= 1 })
	c := r.Usage().Calls()
	last := c[len(c)-1]
	for _, call := range c {
		if call.Tool == "twice" && call.OK {
			last = call
		}
	}
	if last.Tool != "twice" || last.Caller != "hawken" || last.Surface != "sql" || last.Rows != 3 || last.Code != "" {
		t.Errorf("got %+v", last)
	}
}
