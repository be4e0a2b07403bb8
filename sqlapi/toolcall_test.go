package sqlapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/test/wait"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

const berlinParis = `{"lat1":52.52,"lon1":13.405,"lat2":48.8566,"lon2":2.3522}`

// ofResult is a ToolResult without what differs from call to call.
func ofResult(f *fixture, r reply) map[string]any {
	f.t.Helper()
	var result map[string]any
	f.decode(r, &result)
	metrics, _ := result["metrics"].(map[string]any)
	if _, ok := metrics["latency_ms"].(float64); !ok {
		f.t.Errorf("no latency: %s", r.body)
	}
	delete(metrics, "latency_ms")
	return result
}

func TestInvoke(t *testing.T) {
	f := serveTools(t, nil)
	body := `{"schema_version":"0.1.0","args":` + berlinParis + `,"context":{"user_id":"u"},"trace":{"flow_id":"f1","step_id":"s1"}}`
	want := map[string]any{
		"schema_version": "0.1.0", "ok": true, "result": 877.0, "metrics": map[string]any{"cache": "miss"},
		"trace": map[string]any{"flow_id": "f1", "step_id": "s1"},
	}
	r := f.send("POST", "/v1/tools/haversine_km:invoke", body)
	if diff := cmp.Diff(want, ofResult(f, r)); diff != "" || r.status != 200 || r.header.Get("X-Spiced-Generation") != "7" {
		t.Errorf("%d %v: %s", r.status, r.header, diff)
	}
	want["metrics"] = map[string]any{"cache": "hit"}
	if diff := cmp.Diff(want, ofResult(f, f.send("POST", "/v1/tools/haversine_km:invoke", body))); diff != "" {
		t.Error(diff)
	}
	rows := map[string]any{
		"schema_version": "0.1.0", "ok": true, "result": []any{1.0, 2.0, 3.0}, "returned": 3.0, "truncated": true, "more": 7.0, "metrics": map[string]any{},
	}
	for _, empty := range []string{"", " \n", "{}", `{"args":null}`, `{"args":{},"context":null,"trace":null,"schema_version":null,"dry_run":null}`} {
		if diff := cmp.Diff(rows, ofResult(f, f.send("POST", "/v1/tools/three_rows:invoke", empty))); diff != "" {
			t.Errorf("%q: %s", empty, diff)
		}
	}
	for _, name := range []string{"srv__echo", "srv/echo", "srv%2Fecho"} {
		f.want(f.send("POST", "/v1/tools/"+name+":invoke", `{"args":{"n":12345678901234567890,"t":"<&>"}}`), 200, `"n":12345678901234567890,"t":"`)
	}
	f.want(f.send("POST", "/v1/tools/SRV__ECHO:invoke", `{}`), 404, `did you mean \"srv__echo\"?`) // servers tell names apart by case
	f.want(f.send("POST", "/v1/tools/haversine_km:invoke", `{"dry_run":true,"args":`+berlinParis+`}`),
		200, `"result":{"dry_run":true,"tool":"haversine_km","arguments":{`)
	f.want(f.send("POST", "/v1/tools/tool_search:invoke", `{"args":{"query":"distance"}}`), 200, `"result":{"query":"distance"`)
	f.want(f.send("POST", "/v1/tools/tool_invoke:invoke", `{"args":{"tool_id":"nope"}}`), 404, `"message":"nope: there is no tool \"nope\""`)
}

func TestInvokeFails(t *testing.T) {
	f := serveTools(t, nil)
	for _, c := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"haversine_km", `{"args":{"lat1":"far"}}`, 400, `"code":"invalid_arguments"`},
		{"haversine_km", `{"args":{"lat1":"far"}}`, 400, `"example":{`},
		{"haversine_km", `{"args":[1]}`, 400, `"code":"invalid_arguments"`},
		{
			"haversine_km", `{"arg":{}}`, 400,
			`{"code":"invalid_request","message":"Invalid JSON: unknown key \"arg\"","retryable":false,"hint":"did you mean \"args\"?"}`,
		},
		{
			"haversine_km", `{"schema_version":"1.0.0"}`, 400,
			`{"code":"unsupported_schema_version","message":"the schema_version \"1.0.0\" is not supported","retryable":false,"hint":"use \"0.1.0\""}`,
		},
		{"three_rows", `{"schema_version":"0.9.9"}`, 200, `"ok":true`},
		{"haversine_km", `{"schema_version":1}`, 400, "schema_version is a JSON number, not a string"},
		{"haversine_km", `{"dry_run":"yes"}`, 400, "dry_run is a JSON string, not a boolean"},
		{"haversine_km", `{"context":[]}`, 400, "context is a JSON array, not an object"},
		{"haversine_km", `{"context":{"agent":1}}`, 400, "context.agent is a JSON number, not a string"},
		{"haversine_km", `{"trace":{"flowid":"x"}}`, 400, `did you mean \"flow_id\"?`},
		{"haversine_km", `{"trace":"x"}`, 400, "not an object"},
		{"haversine_km", `{"dry_run":"yes"}`, 400, "not a bool"},
		{"haversine_km", `{"args":{}} {}`, 400, "something after the object"},
		{"haversine_km", `{"args":{},"args":{}}`, 400, `\"args\" is there twice`},
		{"haversine_km", `{"args":`, 400, "ends too early"},
		{"haversine_km", `null`, 400, "not an object"},
		{"haversine_km", "{\"args\":\"\xff\"}", 400, "not UTF-8"},
		{"haversin_km", ``, 404, `"did_you_mean":["haversine_km"]`},
		{"internal_hash", ``, 404, "as_tool is false"},
		{"jump", ``, 403, `"code":"tool_unavailable"`},
		{"fails", ``, 200, `"ok":false,"error":{"code":"execution_error","message":"division by zero","retryable":false}`},
		{"refuses", ``, 200, `"error":{"code":"refused","message":"not allowed","retryable":false,"hint":"ask the owner"}`},
		{"lies", ``, 200, `"code":"invalid_result"`},
		{"huge", ``, 413, `"code":"limit_exceeded"`},
		{"srv__echo", `{"args":{"x":"` + strings.Repeat("x", tools.MaxArguments) + `"}}`, 413, `"code":"limit_exceeded"`},
		{"srv__echo", strings.Repeat(" ", maxEnvelope+1), 413, `"ok":false,"error":{"code":"request_too_large"`},
		{"slow", ``, 504, `"code":"timeout"`},
		{"stops", ``, 503, `"code":"shutting_down","message":"the runtime is shutting down","retryable":true`},
		{"broken", ``, 500, `"error":{"code":"internal","message":"` + internalErrorMessage},
		{"panics", ``, 500, `"error":{"code":"internal","message":"` + internalErrorMessage},
	} {
		r := f.send("POST", "/v1/tools/"+c.name+":invoke", c.body)
		f.want(r, c.status, c.want)
		if strings.Contains(r.body, "/etc") {
			t.Errorf("%s tells what belongs into the log: %s", c.name, r.body)
		}
		if result := ofResult(f, r); result["schema_version"] != "0.1.0" || r.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: got %s", c.name, r.body)
		}
		if wait := r.header.Get("Retry-After"); (wait != "") != (c.status == 503) {
			t.Errorf("%s: Retry-After is %q", c.name, wait)
		}
	}
	if log := f.log.String(); !strings.Contains(log, "cause /etc") || !strings.Contains(log, `"code":"tool_not_found"`) ||
		!strings.Contains(log, `"tool":"fails"`) {
		t.Error("the log lacks an internal error's cause, a code or a name")
	}
	f.want(f.send("POST", "/v1/tools/fails:invoke", "", "Host", "evil.example"), 403, `"ok":false,"error":{"code":"host_not_allowed"`)
}

func TestTooManyCalls(t *testing.T) {
	entered := make(chan struct{})
	alone := registry.Must(tools.New(tools.Definition{
		Name: "alone", Description: "One at once.", Source: tools.SourceBuiltin, Limits: &tools.Limits{Concurrency: 1},
	}, func(ctx context.Context, in tools.Input) (tools.Output, error) {
		close(entered)
		return waits(ctx, in)
	}))
	f := serveTools(t, func(o *Options) { publish(t, o.Tools, o.Embeddings(), alone) })
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", f.URL+"/v1/tools/alone:invoke", nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		res, err := f.Client().Do(req)
		if err == nil {
			res.Body.Close()
		}
		done <- err
	}()
	<-entered
	for _, c := range [][2]string{
		{"/v1/tools/alone", `{"message":"Error calling tool alone: alone is at its limit of 1 call at once`},
		{"/v1/tools/alone:invoke", `"ok":false,"error":{"code":"too_many_requests"`},
	} {
		r := f.send("POST", c[0], "")
		f.want(r, 429, c[1])
		if r.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("the call that was left ended well")
	}
	wait.Until(t, "leaving is logged", func() bool { return strings.Contains(f.log.String(), `"status":499`) })
}

func TestRawCalls(t *testing.T) {
	f := serveTools(t, nil)
	for _, path := range []string{"/v1/tools/", "/v1/tool/"} {
		r := f.send("POST", path+"haversine_km", berlinParis)
		if r.status != 200 || r.body != "877" || r.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: got %d %q", path, r.status, r.body)
		}
		f.want(f.send("POST", path+"srv/echo", `{"a":"<b>"}`), 200, `{"a":"<b>"}`)
	}
	if r := f.send("POST", "/v1/tools/three_rows", ""); r.body != "[1,2,3]" || r.header.Get("X-Spiced-Truncated") != "true" {
		t.Errorf("got %q %v", r.body, r.header)
	}
	if r := f.send("POST", "/v1/tools/sql", `{"query":"x"}`); r.header.Get("X-Spiced-Truncated") != "" {
		t.Error("a whole result is said to lack rows")
	}
	f.want(f.send("POST", "/v1/tools/haversine_km?dry_run=true", berlinParis), 200, `{"dry_run":true,"tool":"haversine_km"`)
	f.want(f.send("POST", "/v1/tools/tool_search?embedding_model=local", `{"query":"distance"}`), 200, `"search_mode":"hybrid_rrf"`)
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"haversin_km", "{}", 404, `{"message":"Tool 'haversin_km' not found","code":"tool_not_found","hint":"did you mean \"haversine_km\"?"}`},
		{strings.Repeat("é", 90), "{}", 404, `…' not found`},
		{"haversine_km", "{}", 400, `{"message":"Error calling tool haversine_km: `},
		{"haversine_km", "{", 400, `"code":"invalid_arguments"`},
		{"fails", "", 400, `{"message":"Error calling tool fails: division by zero","code":"execution_error"}`},
		{"refuses", "", 400, `"message":"Error calling tool refuses: not allowed","code":"refused","hint":"ask the owner"`},
		{"lies", "", 502, `"code":"invalid_result"`},
		{"jump", "", 403, `"code":"tool_unavailable"`},
		{"slow", "", 504, `"code":"timeout"`},
		{"stops", "", 503, `"code":"shutting_down"`},
		{"huge", "", 413, `"code":"limit_exceeded"`},
		{"panics", "", 500, `{"message":"` + internalErrorMessage + `","code":"internal"}`},
		{"srv__echo", strings.Repeat(" ", tools.MaxArguments+1), 413, `"code":"request_too_large"`},
		{"tool_invoke", `{"tool_id":"fails"}`, 400, "Error calling tool tool_invoke: fails: division by zero"},
		{"tool_invoke", `{"tool_id":"tool_invoke"}`, 404, `there is no tool \"tool_invoke\"`},
		{"tool_search?embedding_model=nope", `{"query":"x"}`, 400, "Embedding model 'nope' specified"},
		{"fails?dry_run=perhaps", "", 400, `the parameter dry_run is \"perhaps\"","code":"invalid_request","hint":"use true or false"`},
	} {
		f.want(f.send("POST", "/v1/tools/"+c.path, c.body), c.status, c.want)
	}
}

func TestSearchRoutes(t *testing.T) {
	f := serveTools(t, nil)
	posted := f.send("POST", "/v1/tools:search",
		`{"query":"distance in kilometres","keywords":["great-circle"],"limit":2,"min_score":0.1,"embedding_model":"local","context":{"agent":"a"}}`)
	f.want(posted, 200, `"tools":[{"tool_id":"haversine_km"`)
	got := f.send("GET", "/v1/tools:search?q=distance+in+kilometres&keyword=great-circle&limit=2&min_score=0.1&embedding_model=local", "")
	if got.body != posted.body {
		t.Errorf("GET gives %s, POST %s", got.body, posted.body)
	}
	f.want(f.send("GET", "/v1/tools:search?q=*&limit=1", ""), 200, `"total":15`)
	f.want(f.send("POST", "/v1/tools:search", `{"query":"*","limit":1.0,"offset":null}`), 200, `"total":15`)
	f.want(f.send("GET", "/v1/tools:search?q=*&limit=21", ""), 200, "was lowered to 20")
	f.want(f.send("GET", "/v1/tools:search?q=distance&explain&tool=haversine_km", ""), 200, `"why":{"tool":"haversine_km","rank":1`)
	f.want(f.send("POST", "/v1/tools:search", `{"query":"distance","explain":true,"tool":"jump"}`), 200, `"cut":"refused"`)
	if strings.Contains(f.send("GET", "/v1/tools:search?q=jump", "").body, `"tool_id":"jump"`) {
		t.Error("a tool of another space is found")
	}
	f.want(f.send("GET", "/v1/tools:search?q=jump", "", "X-Spiced-Space", "hawken"), 200, `"tool_id":"jump"`)
	f.want(f.send("POST", "/v1/tools:search", `{"query":"jump","context":{"space_id":"hawken"}}`), 200, `"tool_id":"jump"`)
	for body, want := range map[string]string{
		`{}`:                                         "query is empty",
		``:                                           "Invalid JSON",
		`{"query":"x","limit":0}`:                    "limit is 0; it is at least 1",
		`{"query":"x","limit":1.5}`:                  "Invalid JSON: limit is 1.5, not an integer",
		`{"query":"x","offset":1e99}`:                "offset is 1e99, not an integer",
		`{"query":"x","keywords":["a",null]}`:        "keywords.1 is a JSON null, not a string",
		`{"query":"x","limit":"2"}`:                  "limit is a JSON string, not an integer",
		`{"query":"x","min_score":2}`:                "min_score is 2",
		`{"query":"x","keyword":["a"]}`:              `did you mean \"keywords\"?`,
		`{"query":"x","embedding_model":"nope"}`:     "Embedding model 'nope'",
		`{"query":"x","context":{"agent":"\u0000"}}`: "context.agent",
	} {
		f.want(f.send("POST", "/v1/tools:search", body), 400, want)
	}
	for query, want := range map[string]string{
		"":                    "query is empty",
		"q=x&limit=0":         "use a whole number from 1",
		"q=x&limit=":          "use a whole number from 1",
		"q=x&limit=1&limit=2": "the parameter limit is there 2 times",
		"q=x&offset=-1":       "use a whole number from 0",
		"q=%zz":               "the query cannot be read",
		"q=x&limit=many":      "use a whole number from 1",
		"q=x&min_score=NaN":   "use a number from 0 to 1",
		"q=x&min_score=2":     "use a number from 0 to 1",
		"q=x&explain=maybe":   "use true or false",
	} {
		f.want(f.send("GET", "/v1/tools:search?"+query, ""), 400, want)
	}
	f.want(f.send("GET", "/v1/tools:search?q=x&explain&tool=nope", ""), 404, "tool_not_found")
	f.want(f.send("GET", "/v1/tools:search?q=x&lmit=3", ""), 400, `there is no parameter \"lmit\"`)
	f.want(f.send("GET", "/v1/tools:search?q=x&lmit=3", ""), 400, `did you mean \"limit\"?`)
	f.want(f.send("GET", "/v1/tools?owners=a", ""), 400, `there is no parameter \"owners\"`)
	f.want(f.send("POST", "/v1/tools/haversine_km?dryrun=true", "{}"), 400, `there is no parameter \"dryrun\"`)
}

func FuzzDecodeEnvelope(f *testing.F) {
	for _, s := range []string{
		`{"schema_version":"0.1.0","args":{"a":1},"context":{"user_id":"u","x":[]},"trace":{"flow_id":"f","step_id":"s"},"dry_run":true}`,
		``, ` `, `{}`, `[]`, `null`, `{"args":`, `{"args":{},"args":{}}`, `{"context":{"agent":1}}`, `{"trace":{"x":1}}`, `{"trace":null}`,
		`{"schema_version":"2"}`, `{"context":{"agent":"\u0000"}}`, `{"ARGS":1}`, `{"args":1e999999}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var c registry.Call
		err := decodeEnvelope(body, &c)
		if err != nil {
			if e := asRequestError(err); statusOf(e.Code) != http.StatusBadRequest {
				t.Fatalf("%q: %v is no fault of the client's", body, err)
			}
			return
		}
		if len(c.Arguments) > 0 && !json.Valid(c.Arguments) {
			t.Fatalf("%q: the arguments %q are not JSON", body, c.Arguments)
		}
		if err := checkCaller(&c.Scope.Caller); err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		var plain struct {
			Args json.RawMessage `json:"args"`
		}
		if len(strings.TrimSpace(string(body))) > 0 && json.Unmarshal(body, &plain) != nil {
			t.Fatalf("%q: encoding/json refuses what was taken", body)
		}
	})
}

func FuzzDecodeSearch(f *testing.F) {
	for _, s := range []string{
		`{"query":"x","keywords":["a"],"limit":3,"min_score":0.5,"embedding_model":"m","context":{},"explain":true,"tool":"t"}`,
		`{}`, `{"limit":null}`, `{"limit":-1}`, `{"limit":1e99}`, `{"keywords":[null]}`, `{"query":`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var s toolSearch
		err := decodeObject(body, &s)
		if e := asRequestError(err); err != nil && statusOf(e.Code) != http.StatusBadRequest {
			t.Fatalf("%q: %v is no fault of the client's", body, err)
		}
	})
}
