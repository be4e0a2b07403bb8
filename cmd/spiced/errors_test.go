package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/internal/test/doctable"
	"github.com/spiced-sql/spiced/internal/test/gate"
)

// The Spicepod of most errors: it has small limits, and a dataset that does not load
// before the test lets it.
const errorsPod = `version: v1
kind: Spicepod
name: errors
runtime:
  functions: { enabled: true }
  query: { timeout: 1m, max_rows: 1000, workers: 1, max_queued_queries: 1 }
datasets:
  - { name: orders, from: "file:orders.csv" }
  - { name: waiting, from: "SOURCE/orders.csv", params: { max_retries: 0 }, acceleration: {} }
tools:
  - { name: peer, from: "mcp:PEER/mcp" }
functions:
  - name: double_it
    from: sql
    description: Doubles a number.
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    body: x * 2
  - name: pay
    from: sql
    description: Pays an amount.
    risk: write
    requires_approval: true
    signature: { args: [{ name: amount, type: int64 }], returns: int64 }
    body: amount
models:
  - { name: helper, from: "openai:gpt", params: { openai_api_key: THE_KEY, endpoint: "MODEL_URL/v1", max_retries: 0 } }
  - { name: hasty, from: "openai:gpt", params: { openai_api_key: THE_KEY, endpoint: "MODEL_URL/v1", timeout: 300ms, max_retries: 0 } }
  - { name: keyless, from: "openai:gpt", params: { openai_api_key: "${env:SPICED_TEST_NO_SUCH_KEY}", endpoint: "MODEL_URL/v1" } }
`

// errorWorld is where errors are provoked.
type errorWorld struct {
	*program
	dir    string
	text   string // of the Spicepod
	source *source
	model  *chattest.Server
	peer   *gate.Gate // before an MCP server
	keyed  *program   // where keys are declared, and statements may take a second
}

// provoked is an error, and what its remedy makes of the request.
type provoked struct {
	code            string
	provoke, remedy func(w *errorWorld) reply
}

// limitedKey may send a request in two seconds.
const limitedKey = "limited-0123456789abcdef"

func statement(sql string) func(*errorWorld) reply {
	return func(w *errorWorld) reply { return w.do("POST", "/v1/sql", sql, "Accept", "application/json") }
}

func request(method, path, body string, header ...string) func(*errorWorld) reply {
	return func(w *errorWorld) reply { return w.do(method, path, body, header...) }
}

func invocation(tool, body string) func(*errorWorld) reply {
	return request("POST", "/v1/tools/"+tool+":invoke", body)
}

// chatWith is a chat with a model whose provider answers so.
func chatWith(model string, answer chattest.Answer) func(*errorWorld) reply {
	return func(w *errorWorld) reply {
		w.model.Script(chattest.Always(answer))
		return w.do("POST", "/v1/chat/completions", `{"model": "`+model+`", "messages": [{"role": "user", "content": "Hello"}]}`)
	}
}

var hello = chattest.Say(chattest.Text("Hello."))

// provokedElsewhere are the codes that no request of this test provokes.
var provokedElsewhere = map[string]string{
	"internal":          "sqlapi: TestPanicsAreRecoveredAndCounted",
	"sandbox_not_built": "sqlapi: TestSandboxes, with packages that cannot be installed",
	"not_served":        "no program does: it serves every route; sqlapi: api_test.go",
	"request_timeout":   "sqlapi: TestBodiesThatDoNotArriveAreGivenUp, with a shorter limit",
}

var everyError = []provoked{
	{"parse_error", statement("SELEC 1 AS x"), statement("SELECT 1 AS x")},
	{"not_found", statement("FROM ordres"), statement("FROM orders")},
	{"invalid_argument", statement("SELECT double_it(1, 2)"), statement("SELECT double_it(1)")},
	{"refused", func(w *errorWorld) reply {
		return w.keyed.do("POST", "/v1/sql", "INSERT INTO orders VALUES (2, 'two', NULL)", "X-API-Key", readerKey, "Accept", "application/json")
	}, func(w *errorWorld) reply {
		return w.keyed.do("POST", "/v1/sql", "INSERT INTO orders VALUES (2, 'two', NULL)", "X-API-Key", writerKey)
	}},
	{"execution_error", statement("SELECT CAST(note AS INTEGER) FROM orders"), statement("SELECT TRY_CAST(note AS INTEGER) FROM orders")},
	{"timeout", func(w *errorWorld) reply {
		return w.keyed.do("POST", "/v1/sql", endless, "X-API-Key", readerKey, "Accept", "application/json")
	}, func(w *errorWorld) reply {
		return w.keyed.do("POST", "/v1/sql", "SELECT 1", "X-API-Key", readerKey, "Accept", "application/json")
	}},
	{"limit_exceeded", statement("FROM range(2000)"), statement("FROM range(2000) LIMIT 1000")},
	{"cancelled", func(w *errorWorld) reply {
		return w.cancel(w.begin(endless))
	}, nil},
	{"too_many_requests", func(w *errorWorld) reply {
		before := w.active()                                                  // that of the provocation before may be there still
		runs, waits := w.begin(endless), w.begin(endless+" AND a.range <> 1") // equal statements would share a result
		w.eventually("to have a statement that runs and one that waits", func() bool {
			return len(slices.DeleteFunc(w.active(), func(id string) bool { return slices.Contains(before, id) })) == 2
		})
		r := w.do("POST", "/v1/sql", "SELECT 1 AS third", "Accept", "application/json")
		w.cancel(runs)
		w.cancel(waits)
		return r
	}, statement("SELECT 1 AS third")},
	{"loading", statement("SELECT count(*) FROM waiting"), func(w *errorWorld) reply {
		w.source.answer <- http.StatusOK
		w.eventually("to have loaded", func() bool { return w.do("GET", "/v1/ready", "").status == http.StatusOK })
		return w.do("POST", "/v1/sql", "SELECT count(*) FROM waiting")
	}},

	{"invalid_arguments", invocation("double_it", `{"args": {"x": "two"}}`), invocation("double_it", `{"args": {"x": 2}}`)},
	{
		"unsupported_schema_version", invocation("double_it", `{"schema_version": "7.0", "args": {"x": 2}}`),
		invocation("double_it", `{"schema_version": "0.1", "args": {"x": 2}}`),
	},
	{"tool_not_found", invocation("duble_it", `{"args": {"x": 2}}`), invocation("double_it", `{"args": {"x": 2}}`)},
	{"tool_unavailable", func(w *errorWorld) reply {
		w.peer.Close()
		return w.do("POST", "/v1/tools/peer__count", "{}")
	}, func(w *errorWorld) reply {
		w.peer.Reopen()
		var r reply
		w.eventually("to reach the server again", func() bool {
			r = w.do("POST", "/v1/tools/peer__count", "{}")
			return r.status == http.StatusOK
		})
		return r
	}},
	{"invalid_result", request("POST", "/v1/tools/peer__lie", "{}"), nil},

	{"approval_required", invocation("pay", `{"args": {"amount": 1}}`), func(w *errorWorld) reply {
		w.decide("approve", `{"args": {"amount": 1}}`)
		return w.do("POST", "/v1/tools/pay:invoke", `{"args": {"amount": 1}}`)
	}},
	{"approval_denied", func(w *errorWorld) reply {
		w.decide("deny", `{"args": {"amount": 2}}`)
		return w.do("POST", "/v1/tools/pay:invoke", `{"args": {"amount": 2}}`)
	}, nil},
	{"approval_decided", func(w *errorWorld) reply {
		id := w.decide("deny", `{"args": {"amount": 3}}`)
		return w.do("POST", "/v1/approvals/"+id, `{"decision": "approve"}`)
	}, nil},
	{"approval_not_found", request("GET", "/v1/approvals/nosuch", ""), request("GET", "/v1/approvals", "")},

	{"model_not_found", chatWith("helpr", hello), chatWith("helper", hello)},
	{"model_not_loaded", chatWith("keyless", hello), nil},
	{"rate_limited", func(w *errorWorld) reply {
		w.keyed.do("GET", "/v1/models", "", "X-API-Key", limitedKey)
		return w.keyed.do("GET", "/v1/models", "", "X-API-Key", limitedKey)
	}, func(w *errorWorld) reply {
		var r reply
		w.eventually("to admit the key again", func() bool {
			r = w.keyed.do("GET", "/v1/models", "", "X-API-Key", limitedKey)
			return r.status != http.StatusTooManyRequests
		})
		return r
	}},
	{"rate_limited", chatWith("helper", chattest.RateLimited(7*time.Second)), chatWith("helper", hello)},
	{"provider_error", chatWith("helper", chattest.ServerError()), chatWith("helper", hello)},
	{"provider_refused", chatWith("helper", chattest.Unauthorized()), chatWith("helper", hello)},
	{"provider_timeout", chatWith("hasty", chattest.Answer{Hang: true}), chatWith("helper", hello)},
	{"stream_broken", chatWith("helper", chattest.Answer{Cut: 20}), chatWith("helper", hello)},

	{"invalid_request", request("POST", "/v1/tools:search", `{"query": 7}`), request("POST", "/v1/tools:search", `{"query": "doubles"}`)},
	{"not_accelerated", request("POST", "/v1/datasets/orders/acceleration/refresh", ""), nil},
	{"unauthorized", func(w *errorWorld) reply {
		return w.keyed.do("POST", "/v1/sql", "SELECT 1", "Accept", "application/json")
	}, func(w *errorWorld) reply {
		return w.keyed.do("POST", "/v1/sql", "SELECT 1", "X-API-Key", readerKey, "Accept", "application/json")
	}},
	{"permission_denied", func(w *errorWorld) reply {
		return w.keyed.do("POST", "/v1/reload", "", "X-API-Key", readerKey, "Accept", "application/json")
	}, func(w *errorWorld) reply {
		return w.keyed.do("POST", "/v1/reload", "", "X-API-Key", writerKey)
	}},
	{"host_not_allowed", func(w *errorWorld) reply { return w.doFor("evil.example") }, func(w *errorWorld) reply { return w.doFor("localhost") }},
	{"origin_not_allowed", request("POST", "/v1/sql", "SELECT 1", "Origin", "https://evil.example", "Accept", "application/json"), statement("SELECT 1")},
	{"route_not_found", request("GET", "/v1/tool_list", ""), request("GET", "/v1/openapi.json", "")},
	{"dataset_not_found", request("POST", "/v1/datasets/ordres/acceleration/refresh", ""), nil},
	{"function_not_found", request("POST", "/v1/functions/duoble_it:test", ""), request("POST", "/v1/functions/double_it:test", "")},
	{"file_not_found", request("GET", "/v1/spicepods/files/spicepod.yml", ""), request("GET", "/v1/spicepods/files/spicepod.yaml", "")},
	{"sandbox_not_found", request("GET", "/v1/sandboxes/nosuch", ""), request("GET", "/v1/sandboxes/default", "")},
	{"query_not_found", request("GET", "/v1/queries/nosuch", ""), nil},
	{"request_not_found", request("POST", "/v1/requests/nosuch:cancel", ""), nil},
	{"result_not_found", request("GET", "/v1/results/nosuch", ""), nil},
	{"method_not_allowed", request("DELETE", "/v1/sql", ""), nil},
	{
		"request_too_large", request("POST", "/v1/tools:search", `{"query": "doubles"}`+strings.Repeat(" ", 1<<20)),
		request("POST", "/v1/tools:search", `{"query": "doubles"}`),
	},
	{
		"unsupported_media_type", request("POST", "/v1/tools:search", `{"query": "doubles"}`, "Content-Encoding", "gzip"),
		request("POST", "/v1/tools:search", `{"query": "doubles"}`),
	},
	{"reload_refused", func(w *errorWorld) reply {
		write(w.t, filepath.Join(w.dir, "spicepod.yaml"), "version: v1\nkind: Spicepod\nname: [\n")
		return w.do("POST", "/v1/reload", "")
	}, func(w *errorWorld) reply {
		write(w.t, filepath.Join(w.dir, "spicepod.yaml"), w.text)
		return w.do("POST", "/v1/reload", "")
	}},
	{"shutting_down", func(w *errorWorld) reply {
		endless := w.begin(endless)
		w.eventually("to have a statement", func() bool { return len(w.active()) == 1 })
		w.stop()
		w.eventually("to shut down", func() bool { return w.do("GET", "/v1/ready", "").status == http.StatusServiceUnavailable })
		r := w.do("POST", "/v1/sql", "SELECT 1", "Accept", "application/json")
		w.cancel(endless)
		return r
	}, nil},
}

// TestErrorsAndRemedies provokes the errors of docs/errors.md over HTTP. It checks the status
// and the message of each, and that the remedy in the table works.
func TestErrorsAndRemedies(t *testing.T) {
	t.Parallel()
	w := newErrorWorld(t)
	rows := doctable.Read(t, "../../docs/errors.md", "Code")
	seen := map[string]bool{}
	for _, c := range everyError {
		seen[c.code] = true
		row := rows[c.code]
		if row == nil {
			t.Errorf("%s is not in docs/errors.md", c.code)
			continue
		}
		r := c.provoke(w)
		code, message := errorOf(t, r)
		if code != c.code || message == "" {
			t.Errorf("%s: got %q: %s", c.code, code, r.body)
		}
		if strconv.Itoa(r.status) != row["HTTP"] {
			t.Errorf("%s: status %d, want %s: %s", c.code, r.status, row["HTTP"], r.body)
		}
		for _, secret := range []string{readerKey, writerKey, limitedKey, modelKey, w.dir} {
			if strings.Contains(r.body, secret) {
				t.Errorf("%s: it shows %s: %s", c.code, secret, r.body)
			}
		}
		if c.remedy == nil {
			continue
		}
		if r := c.remedy(w); r.status != http.StatusOK {
			t.Errorf("%s: with its remedy: status %d: %s", c.code, r.status, r.body)
		}
	}
	for code := range rows {
		if !seen[code] && provokedElsewhere[code] == "" {
			t.Errorf("no request provokes %s", code)
		}
	}
}

func newErrorWorld(t *testing.T) *errorWorld {
	t.Helper()
	w := &errorWorld{dir: t.TempDir(), source: newSource(t), model: startModel(t), peer: gate.Open(t, strings.TrimPrefix(startLiar(t), "http://"))}
	w.text = strings.NewReplacer("SOURCE", w.source.URL, "MODEL_URL", w.model.URL, "PEER", "http://"+w.peer.Address, "THE_KEY", modelKey).Replace(errorsPod)
	write(t, filepath.Join(w.dir, "orders.csv"), "id,note\n1,a note\n")
	write(t, filepath.Join(w.dir, "spicepod.yaml"), w.text)
	w.program = launched(t, w.dir, "--watch=false")
	w.eventually("to have the tools of the server", func() bool { return strings.Contains(w.do("GET", "/v1/tools", "").body, "peer__count") })
	w.eventually("to load", func() bool { return w.source.requests.Load() > 0 })
	keyed := shop(t)
	write(t, filepath.Join(keyed, "spicepod.yaml"), strings.Replace(shopPod, "  auth: { api-key: {",
		"  query: { timeout: 1s }\n  auth: { api-key: { principals: [{ name: limited, key: "+limitedKey+", limits: { requests_per_second: 0.5, burst: 1 } }],", 1))
	w.keyed = start(t, keyed, "--watch=false")
	return w
}

// startLiar starts an MCP server with a tool that counts, and one that does not give what it
// declares. It returns its URL.
func startLiar(t *testing.T) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "liar", Version: "1"}, nil)
	output := json.RawMessage(`{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}`)
	for name, result := range map[string]any{"count": map[string]any{"n": 3}, "lie": map[string]any{"n": "three"}} {
		tool := &mcp.Tool{Name: name, Description: "Counts.", InputSchema: json.RawMessage(`{"type": "object"}`), OutputSchema: output}
		server.AddTool(tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: result}, nil
		})
	}
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(s.Close)
	return s.URL
}

// errorOf reads the error of a response, of a tool result or of a chat.
func errorOf(t *testing.T, r reply) (code, message string) {
	t.Helper()
	type failure struct{ Code, Message string }
	var body struct {
		failure
		Error *failure
	}
	if err := json.Unmarshal([]byte(r.body), &body); err != nil {
		t.Errorf("status %d, no JSON: %s", r.status, r.body)
	}
	if body.Error != nil && body.Error.Code == "rate_limit_exceeded" { // as OpenAI's API has it
		return "rate_limited", body.Error.Message
	}
	if body.Error != nil {
		return body.Error.Code, body.Error.Message
	}
	return body.Code, body.Message
}

// decide makes a call that needs approval, decides about it, and returns the approval's id.
func (w *errorWorld) decide(decision, body string) string {
	w.t.Helper()
	var answer struct {
		Error struct {
			ApprovalID string `json:"approval_id"`
		}
	}
	r := w.do("POST", "/v1/tools/pay:invoke", body)
	if err := json.Unmarshal([]byte(r.body), &answer); err != nil {
		w.t.Fatalf("%v: %s", err, r.body)
	}
	w.want(w.do("POST", "/v1/approvals/"+answer.Error.ApprovalID, `{"decision": "`+decision+`"}`), http.StatusOK)
	return answer.Error.ApprovalID
}

// active are the ids of the statements that run or wait; none when the program has ended.
func (w *errorWorld) active() []string {
	w.t.Helper()
	var list struct {
		Queries []struct {
			ID string `json:"query_id"`
		}
	}
	r := w.do("GET", "/v1/sql/active", "")
	if r.status == 0 {
		return nil
	}
	if err := json.Unmarshal([]byte(r.body), &list); err != nil {
		w.t.Fatalf("%v: %s", err, r.body)
	}
	var ids []string
	for _, q := range list.Queries {
		ids = append(ids, q.ID)
	}
	return ids
}

// begin sends a statement, again while there is no place for it: the worker of the statement
// before may not be free yet.
func (w *errorWorld) begin(statement string) <-chan reply {
	ended := make(chan reply, 1)
	go func() {
		again := time.NewTicker(10 * time.Millisecond)
		defer again.Stop()
		for {
			if r := w.do("POST", "/v1/sql", statement, "Accept", "application/json"); r.status != http.StatusTooManyRequests {
				ended <- r
				return
			}
			<-again.C
		}
	}()
	return ended
}

// cancel cancels what is listed until a statement has ended, and returns its response.
func (w *errorWorld) cancel(statement <-chan reply) (r reply) {
	w.t.Helper()
	w.eventually("to cancel a statement", func() bool {
		select {
		case r = <-statement:
			return true
		default:
		}
		for _, id := range w.active() {
			w.do("POST", "/v1/sql/"+id+"/cancel", "")
		}
		return false
	})
	return r
}

// doFor sends a request for another host name to the program.
func (w *errorWorld) doFor(host string) reply {
	w.t.Helper()
	r, err := http.NewRequest("POST", w.url+"/v1/sql", strings.NewReader("SELECT 1"))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Host = host
	r.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	var b strings.Builder
	if err := resp.Write(&b); err != nil {
		w.t.Fatal(err)
	}
	_, body, _ := strings.Cut(b.String(), "\r\n\r\n")
	return reply{resp.StatusCode, resp.Header, body}
}
