package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// source is an HTTP server that answers when the test lets it.
type source struct {
	*httptest.Server
	requests atomic.Int32
	answer   chan int      // the status of the next answer
	left     chan struct{} // receives when a client has left
}

func newSource(t *testing.T) *source {
	t.Helper()
	s := &source{answer: make(chan int), left: make(chan struct{}, 1)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		select {
		case status := <-s.answer:
			w.WriteHeader(status)
			io.WriteString(w, "id,total\n1,10\n2,32\n") //nolint:errcheck // the test fails anyway
		case <-r.Context().Done():
			s.left <- struct{}{}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// pod is a Spicepod with the dataset orders of the source, what reads it, and what does
// not.
func (s *source) pod(factor string) string {
	return `version: v1
kind: Spicepod
name: slow
runtime: {functions: {enabled: true}}
datasets:
  - {name: orders, from: '` + s.URL + `/orders.csv', params: {max_retries: 0}, acceleration: {}}
views:
  - {name: big, sql: SELECT * FROM orders WHERE total > 20}
functions:
  - {name: times, from: sql, signature: {args: [{name: x, type: int64}], returns: int64}, body: x * ` + factor + `}
  - {name: revenue, from: sql, description: Sums all orders, signature: {args: [], returns: int64}, body: "(SELECT sum(total)::BIGINT FROM orders)"}
  - {name: twice_revenue, from: sql, signature: {args: [], returns: int64}, body: 2 * revenue()}
semantic_models: [{name: orders, dimensions: [{name: id}]}]
metrics:
  - {name: sales, semantic_model: orders, measure: sum(total), tests: [{value: 42}]}
  - {name: half_sales, expr: sales / 2}
`
}

// never fails if an answer says that something is not declared.
func (p *program) never(r reply) reply {
	p.t.Helper()
	if strings.Contains(r.body, "not declared") || strings.Contains(r.body, "there is no") {
		p.t.Errorf("an answer while the data is loaded: %s", r.body)
	}
	return r
}

func TestLoadingIsAState(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	dir := folder(t, "spicepod.yaml", s.pod("2"))
	began := time.Now()
	p := launched(t, dir, "--postgres", "127.0.0.1:0")
	p.eventually("to call what is ready", func() bool { return p.never(p.do("POST", "/v1/sql", "SELECT times(21) AS n")).status == 200 })
	t.Logf("served after %s", time.Since(began))

	for statement, want := range map[string]string{
		"SELECT * FROM orders":        `dataset \"orders\" is loading (`,
		"SELECT * FROM public.orders": `dataset \"orders\" is loading (`,
		"SELECT * FROM big":           `view \"big\" waits for dataset \"orders\", which is loading (`,
		"SELECT revenue()":            `function revenue waits for dataset \"orders\", which is loading (`,
		"FROM metric('sales')":        `metric \"sales\" waits: dataset \"orders\" is loading (`,
		"FROM metric('half_sales')":   `metric \"half_sales\" waits: dataset \"orders\" is loading (`,
		"SELECT twice_revenue()":      `function twice_revenue waits for dataset \"orders\", which is loading (`,
	} {
		r := p.never(p.do("POST", "/v1/sql", statement, "Accept", "application/json"))
		p.want(r, 503, want, `"code":"loading"`, `"loading":{"dataset":"orders"`)
		r = p.never(p.do("POST", "/v1/sql", statement))
		p.want(r, 503, "is loading (")
		if r.header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", statement)
		}
	}
	p.want(p.do("GET", "/v1/ready", ""), 503)
	p.want(p.do("GET", "/v1/tools", ""), 200, `"revenue"`, `"twice_revenue"`)
	p.want(p.do("POST", "/v1/tools/revenue:invoke", `{}`), 503, `"loading"`, `"retryable":true`)
	p.want(p.do("POST", "/v1/tools/sql:invoke", `{"args":{"query":"SELECT * FROM orders"}}`), 503, `"loading"`, `"retryable":true`)
	p.want(p.do("POST", "/v1/tools/query_metrics:invoke", `{"args":{"metrics":["half_sales"]}}`), 503, `"loading"`, `"retryable":true`)
	p.want(p.do("POST", "/v1/tools/tool_search:invoke", `{"args":{"query":"sum of all orders"}}`), 200, `"revenue"`)
	builtinToolsWhileLoading(p)
	p.want(p.do("GET", "/v1/datasets?status=true", ""), 200, `"status":"Initializing"`)
	p.want(p.do("GET", "/v1/functions", ""), 200, `"name":"revenue"`, `"status":"Initializing"`)
	p.want(p.do("GET", "/v1/status", ""), 200, `{"name":"dataset orders","endpoint":"N/A","status":"Initializing"}`)
	p.want(p.do("POST", "/v1/sql", "SELECT name, state FROM spiced.functions ORDER BY name"), 200, `{"name":"revenue","state":"loading"}`,
		`{"name":"times","state":"ready"}`)
	p.want(p.do("POST", "/v1/sql", "SELECT count(*) AS n FROM spiced.load_errors"), 200, `[{"n":0}]`)
	loadingOverPostgres(t, p)

	write(t, filepath.Join(dir, "spicepod.yaml"), s.pod("3"))
	p.eventually("to take an edit", func() bool {
		return strings.Contains(p.never(p.do("POST", "/v1/sql", "SELECT times(21) AS n")).body, "63")
	})
	p.never(p.do("POST", "/v1/sql", "SELECT revenue()"))
	if n := s.requests.Load(); n != 1 {
		t.Errorf("the source was asked %d times", n)
	}

	s.answer <- http.StatusOK
	p.eventually("to be ready", func() bool { return p.do("GET", "/v1/ready", "").status == 200 })
	p.want(p.never(p.do("POST", "/v1/sql", "SELECT twice_revenue() AS n, (SELECT count(*) FROM big) AS m, times(21) AS x")), 200, `{"n":84,"m":1,"x":63}`)
	p.want(p.do("POST", "/v1/tools/revenue:invoke", `{}`), 200, `42`)
	p.want(p.do("POST", "/v1/sql", "SELECT DISTINCT state FROM spiced.functions"), 200, `[{"state":"ready"}]`)
}

// builtinToolsWhileLoading: the tools that name datasets and functions say that they are
// loaded, or describe them.
func builtinToolsWhileLoading(p *program) {
	p.t.Helper()
	for call, want := range map[string]string{
		`table_schema {"tables": ["orders"]}`:                              `dataset \"orders\" is loading (`,
		`random_sample {"dataset": "big", "limit": 2}`:                     `view \"big\" waits for dataset \"orders\"`,
		`top_n_sample {"dataset": "orders", "order_by": "id", "limit": 2}`: `dataset \"orders\" is loading (`,
		`sample_distinct_columns {"dataset": "orders", "limit": 2}`:        `dataset \"orders\" is loading (`,
		`search {"text": "espresso"}`:                                      `view \"big\" waits for`,
	} {
		tool, args, _ := strings.Cut(call, " ")
		p.want(p.never(p.do("POST", "/v1/tools/"+tool+":invoke", `{"args":`+args+`}`)), 503, want, `"code":"loading"`, `"retryable":true`)
	}
	p.want(p.do("POST", "/v1/tools/describe_function:invoke", `{"args":{"name":"revenue"}}`), 200, `"tables":["orders"]`, `"used_by":["twice_revenue"]`)
	p.want(p.do("POST", "/v1/tools/get_readiness:invoke", `{}`), 200, `"dataset:orders":"Initializing"`, `"function:revenue":"Initializing"`,
		`"function:times":"Ready"`)
}

func loadingOverPostgres(t *testing.T, p *program) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.endpoint("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, statement := range []string{"SELECT * FROM orders", "SELECT revenue()"} {
		var e *pgconn.PgError
		if _, err := conn.Exec(t.Context(), statement); !errors.As(err, &e) || e.Code != "57P03" {
			t.Errorf("%s: %v", statement, err)
		}
	}
	var relations int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_class WHERE relname = 'orders'").Scan(&relations); err != nil || relations != 1 {
		t.Errorf("the catalog has %d tables orders: %v", relations, err)
	}
}

func TestFailedLoadIsAnError(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	p := launched(t, folder(t, "spicepod.yaml", s.pod("2")))
	p.eventually("to call what is ready", func() bool { return p.do("POST", "/v1/sql", "SELECT times(21) AS n").status == 200 })
	p.want(p.do("GET", "/v1/ready", ""), 503)
	s.answer <- http.StatusNotFound
	p.eventually("to be ready", func() bool { return p.do("GET", "/v1/ready", "").status == 200 })
	p.want(p.do("GET", "/v1/datasets?status=true", ""), 200, `"status":"Error"`, "404 Not Found")
	p.want(p.do("POST", "/v1/sql", "SELECT component FROM spiced.load_errors ORDER BY 1"), 200, `"dataset orders"`, `"function revenue"`,
		`"function twice_revenue"`, `"view big"`)
	p.want(p.do("POST", "/v1/tools/table_schema:invoke", `{"args":{"tables":["orders"]}}`), 200, `"code":"not_found"`, `dataset \"orders\" is not served: `,
		"404 Not Found", "spicepod.yaml:6")
	p.want(p.do("POST", "/v1/tools/describe_function:invoke", `{"args":{"name":"revenue"}}`), 200, `function revenue is not served: it waits for dataset orders: `,
		"404 Not Found")
	p.want(p.do("POST", "/v1/tools/revenue:invoke", `{}`), 404, `it is declared, but not a tool: waits for dataset orders, which it reads`, "(spicepod.yaml:")
	p.want(p.do("POST", "/v1/tools/get_readiness:invoke", `{}`), 200, `"dataset:orders":"Error"`, `"function:revenue":"Error"`)
	if r := p.do("GET", "/v1/tools", ""); strings.Contains(r.body, `revenue","description`) {
		t.Errorf("tools with an error are listed: %s", r.body)
	}
}

func TestLoadOfRemovedDatasetIsCancelled(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	dir := folder(t, "spicepod.yaml", s.pod("2"))
	p := launched(t, dir)
	p.eventually("to ask the source", func() bool { return s.requests.Load() == 1 })
	pod := s.pod("2")
	head, rest, _ := strings.Cut(pod, "datasets:")
	_, functions, _ := strings.Cut(rest, "functions:")
	functions, _, _ = strings.Cut(functions, "  - {name: revenue")
	write(t, filepath.Join(dir, "spicepod.yaml"), head+"functions:"+functions)
	select {
	case <-s.left:
	case <-time.After(patience):
		t.Fatal("the load goes on")
	}
	p.eventually("to be ready", func() bool { return p.do("GET", "/v1/ready", "").status == 200 })
}

func TestReadyOnRegistration(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	pod := strings.Replace(s.pod("2"), "acceleration: {}", "acceleration: {}, ready_state: on_registration", 1)
	p := start(t, folder(t, "spicepod.yaml", pod)) // it is ready
	p.want(p.do("POST", "/v1/sql", "SELECT * FROM orders"), 503, "is loading")
}

// An MCP client of standard input and output gets its answers while data is loaded.
func TestMCPWhileLoading(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	dir := folder(t, "spicepod.yaml", s.pod("2"))
	in, toServer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromServer, out := io.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ended := make(chan int, 1)
	log := &logged{}
	go func() { ended <- run(ctx, []string{"mcp", dir}, streams{in, out, log}) }()
	changed := make(chan struct{}, 8)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if text := strings.Join(names, " "); !strings.Contains(text, "revenue") || !strings.Contains(text, "times") {
		t.Errorf("tools are %s", text)
	}
	r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "revenue", Arguments: map[string]any{}})
	if err != nil || !r.IsError || !strings.Contains(r.Content[0].(*mcp.TextContent).Text, "is loading") {
		t.Errorf("%+v, %v", r, err)
	}
	s.answer <- http.StatusNotFound // the tools that need it go
	select {
	case <-changed:
	case <-ctx.Done():
		t.Errorf("no list_changed:\n%s", log)
	}
	session.Close() //nolint:errcheck // the server ends
	<-ended
}

// TestModelsWhileLoading: a model that calls a tool whose data is loaded learns that it
// may try again, and the chat goes on.
func TestModelsWhileLoading(t *testing.T) {
	t.Parallel()
	s, model := newSource(t), startModel(t)
	models := strings.NewReplacer("MODEL_URL", model.URL, "TOOLS", "auto", "PATIENCE", "20s").Replace(read(t, "testdata/chat/models.yaml"))
	p := launched(t, folder(t, "spicepod.yaml", s.pod("2")+models), "--flight", "127.0.0.1:0")
	p.eventually("to call what is ready", func() bool { return p.do("POST", "/v1/sql", "SELECT times(21) AS n").status == 200 })

	for tool, arguments := range map[string]string{"revenue": `{}`, "tool_invoke": `{"tool_id": "revenue", "arguments": {}}`} {
		model.Script(chattest.InTurn(chattest.Say(chattest.Call("call_1", tool, arguments)), chattest.Say(chattest.Text("Later."))))
		r := p.never(p.do("POST", "/v1/chat/completions", `{"model":"helper","messages":[{"role":"user","content":"How much?"}]}`))
		p.want(r, 200, "Later.")
		all := model.Requests()
		if got := all[len(all)-1].Results["call_1"]; !strings.Contains(got, "loading") || !strings.Contains(got, "orders") {
			t.Errorf("%s: the model got %q", tool, got)
		}
	}
	flight := flightConnect(t, p, "", insecure.NewCredentials())
	_, err := flight.query("SELECT * FROM orders")
	wantStatus(t, err, codes.Unavailable, `dataset "orders" is loading`)
	_, err = flight.Prepare(flight.ctx, "SELECT revenue()")
	wantStatus(t, err, codes.Unavailable, "is loading")
	if text, err := flight.query("SELECT times(2) AS n"); err != nil || text != "n int64 | 4\n" {
		t.Errorf("Flight SQL: got %q, %v", text, err)
	}
	s.answer <- http.StatusOK
	p.eventually("to be ready", func() bool { return p.do("GET", "/v1/ready", "").status == 200 })
	if text, err := flight.query("SELECT revenue() AS n"); err != nil || text != "n int64 | 42\n" {
		t.Errorf("Flight SQL: got %q, %v", text, err)
	}
}

// TestSlowMCPServer: a server that accepts connections and says nothing holds back
// neither the start nor other tools.
func TestSlowMCPServer(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	pod := `version: v1
kind: Spicepod
name: slow
runtime: {functions: {enabled: true}}
tools:
  - {name: far, from: 'mcp:http://` + silent.Addr().String() + `/mcp'}
functions:
  - {name: times, from: sql, description: Doubles, signature: {args: [{name: x, type: int64}], returns: int64}, body: x * 2}
`
	p := start(t, folder(t, "spicepod.yaml", pod))
	p.want(p.do("POST", "/v1/tools/times:invoke", `{"args":{"x":21}}`), 200, `"result":42`)
	p.want(p.do("GET", "/v1/status", ""), 200, `"name":"tool far"`)
	p.want(p.do("POST", "/v1/tools/far__echo:invoke", `{}`), 503, `"code":"loading"`, "being connected, and its tools are not known yet", `"retryable":true`)
}

// A fault is logged at the first load, not again at those that only have more data.
func TestFaultsAreLoggedOnce(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	p := launched(t, folder(t, "spicepod.yaml", podHead+"datasets:\n  - { name: bad, from: 'file:none.csv' }\n  - { name: late, from: '"+s.URL+
		"/orders.csv', acceleration: {} }\n"), "--watch=false")
	p.eventually("to load", func() bool { return s.requests.Load() > 0 })
	p.eventually("to serve what there is", func() bool { return strings.Contains(p.log.String(), `"loading":1`) })
	s.answer <- http.StatusOK
	p.eventually("to serve all", func() bool { return strings.Contains(p.log.String(), `"trigger":"loaded"`) })
	if n := strings.Count(p.log.String(), `none.csv\" does not exist`); n != 1 {
		t.Errorf("the fault was logged %d times:\n%s", n, p.log.events())
	}
}
