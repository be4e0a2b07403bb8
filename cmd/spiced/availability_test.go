package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// availablePod has a function, a table function and a tool that all but ann must not learn
// of, each with a word of its own, and what may use them.
const availablePod = `version: v1
kind: Spicepod
name: pod
runtime:
  functions: { enabled: true }
  tools:
    settings: { audience: ann }
  auth:
    api-key:
      enabled: true
      principals:
        - { name: ann, key: ann-key-0123456789-0123456789-012345, space_id: vault }
        - { name: bob, key: bob-key-0123456789-0123456789-012345 }
        - { name: web, key: web-key-0123456789-0123456789-012345, on_behalf_of: true }
embeddings:
  - { name: hash, from: "builtin:hash" }
toolsets:
  - { name: vaults, description: Of a vault., tools: [open_vaultage], available: ctx.space_id == 'vault' }
tools:
  - { from: "builtin:sql", name: quixotic_sql, description: A quixotic tool., available: ctx.principal == ctx.settings.audience }
functions:
  - { name: refundify, from: sql, description: Refund a payment zanily., available: ctx.principal == 'ann', body: x + 1, signature: { args: [{ name: x, type: int64 }], returns: int64 } }
  - { name: rowsify, kind: table, from: sql, description: Rows of zany payments., available: ctx.principal == 'ann', body: SELECT 41 + range AS a FROM range(2), signature: { returns: [{ name: a, type: int64 }] } }
  - { name: open_vaultage, from: sql, description: Open a zany vault., body: x * 2, signature: { args: [{ name: x, type: int64 }], returns: int64 } }
  - { name: public_fee, from: sql, description: The fee of a payment., body: x * 10, signature: { args: [{ name: x, type: int64 }], returns: int64 } }
views:
  - { name: shown, sql: "SELECT refundify(1) AS a, (SELECT max(a) FROM rowsify()) AS b" }
`

// secrets are the words of what only ann may see.
var secrets = []string{"refundify", "rowsify", "vaultage", "quixotic", "zan"}

func keyOf(name string) []string {
	return []string{"X-API-Key", name + "-key-0123456789-0123456789-012345"}
}

// latency is what differs in equal answers.
var latency = regexp.MustCompile(`"latency_ms":[0-9.e-]+`)

func startAvailable(t *testing.T) *program {
	t.Helper()
	return start(t, folder(t, "spicepod.yaml", availablePod), sqlProtocols()...)
}

// unseen checks that a text has none of the secrets, but those that the request itself had.
func unseen(t *testing.T, what, request, text string) {
	t.Helper()
	for _, word := range secrets {
		if strings.Contains(strings.ToLower(text), word) && !strings.Contains(strings.ToLower(request), word) {
			t.Errorf("%s tells of %q:\n%s", what, word, text)
		}
	}
}

// What is hidden from bob is in no cached result of ann's.
func TestHiddenFunctionsAreInNoCachedResult(t *testing.T) {
	t.Parallel()
	const caching = "  caching: { sql_results: { enabled: true, item_ttl: 10m } }\n"
	p := start(t, folder(t, "spicepod.yaml", strings.Replace(availablePod, "runtime:\n", "runtime:\n"+caching, 1)), sqlProtocols()...)
	for _, sql := range []string{"SELECT proname FROM pgcatalog.pg_proc WHERE proname LIKE '%ify'", "SELECT name FROM spiced.functions WHERE name LIKE '%ify'"} {
		if r := p.do("POST", "/v1/sql", sql, keyOf("ann")...); !strings.Contains(r.body, "refundify") {
			t.Fatalf("ann, %s: %s", sql, r.body)
		}
		r := p.do("POST", "/v1/sql", sql, keyOf("bob")...)
		unseen(t, sql, sql, r.body)
		if got := r.header.Get("Results-Cache-Status"); got != "BYPASS" {
			t.Errorf("%s: %s", sql, got)
		}
	}
}

// What is hidden from bob does not show in any list, search, suggestion, table or error.
func TestHiddenToolsShowNowhere(t *testing.T) {
	t.Parallel()
	p := startAvailable(t)
	for _, path := range []string{
		"/v1/tools", "/v1/tools?view=full", "/v1/tools?view=stats", "/v1/tools?format=xml", "/v1/tools?format=csv", "/v1/functions", "/v1/functions?format=csv",
		"/v1/tools:search?q=zany&limit=20", "/v1/tools:search?q=*&limit=20", "/v1/tools:search?q=refundify&explain=true", "/v1/tools:search?q=quixotic&limit=20",
		"/v1/tools/refundifx", "/v1/tools/rowsifx", "/v1/tools/open_vaultagf", "/v1/tools/quixotic_sqm", "/v1/models", "/v1/datasets",
	} {
		r := p.do("GET", path, "", keyOf("bob")...)
		unseen(t, path, path, r.body)
	}
	for _, sql := range []string{
		"FROM list_udfs()", "FROM spiced.tools", "FROM spiced.functions", "FROM spiced.function_args", "FROM spiced.lineage",
		"FROM (SELECT changed FROM spiced.generations)", "FROM spiced.dead_tools", "FROM spiced.hot_tools",
		"FROM spiced.tool_calls", "FROM spiced.tool_usage", "SELECT tools FROM spiced.searches", "FROM spiced.cross_agent_calls", "FROM spiced.models",
		"FROM tool_search('zany payments', limit := 20)", "FROM tool_search('*', limit := 20)", "SELECT tool_invoke('list_udfs')",
		"SELECT * EXCLUDE (matched_terms) FROM tool_search_explain('zany payments')", "FROM spiced.tool_embeddings",
		"SELECT tool_invoke('get_readiness')",
		"SELECT tool_invoke('describe_function', {name: 'refundifx'})", "SELECT tool_invoke('refundifx')", "SELECT refundifx(1)", "FROM rowsifx()",
		"SELECT tool_invoke('sql', {query: 'SELECT refundifx(1)'})", "SELECT * FROM pg_catalog.pg_proc", "SELECT * FROM information_schema.routines",
	} {
		p.do("POST", "/v1/sql", "SELECT refundify(1), open_vaultage(1)", keyOf("ann")...) // so that there are calls
		p.do("POST", "/v1/tools/quixotic_sql", `{"query":"SELECT 1"}`, keyOf("ann")...)
		p.do("GET", "/v1/tools:search?q=refundify", "", keyOf("ann")...)
		r := p.do("POST", "/v1/sql", sql, keyOf("bob")...)
		unseen(t, sql, sql, r.body)
		if ann := p.do("POST", "/v1/sql", "SELECT count(*) AS n FROM spiced.functions", keyOf("ann")...); !strings.Contains(ann.body, "4") {
			t.Fatalf("ann sees %s", ann.body)
		}
	}
}

// A call of what is hidden is answered as one of what is not there, by every protocol.
func TestHiddenToolsAreUnknownEverywhere(t *testing.T) {
	t.Parallel()
	p := startAvailable(t)
	ask := func(name, key string) (answers []string) {
		same := func(r reply) string {
			return fmt.Sprint(r.status, " ", strings.ReplaceAll(latency.ReplaceAllString(r.body, ""), name, "NAME"))
		}
		for _, sql := range []string{
			"SELECT %s(1)", "SELECT %s()", "SELECT %s(1, 2, 3)", "SELECT %s(a := 1)", "FROM %s()", "SELECT nosuch, %s(1)", "SELECT %s(nosuch)",
			"SELECT public_fee(%s(1))",
			"SELECT list_transform([1], lambda x: %s(x))", "SELECT (1).%s()", "SELECT a.%s() FROM shown a", "SELECT * FROM shown WHERE %s(a) > 0",
			"EXPLAIN SELECT %s(1)",
			"DESCRIBE SELECT %s(1)", "WITH c AS (SELECT %s(1)) FROM c", "SELECT %s(1) OVER ()", "SELECT public.%s(1)", "SELECT spice.public.%s(1)", "SELECT main.%s(1)",
			"SELECT \"%s\"(1)",
			"SELECT %s(1) FROM nosuch", "SELECT 'x", "SELECT tool_invoke('%s')", "SELECT tool_invoke('%s', {x: 1})",
			"SELECT tool_invoke('describe_function', {name: '%s'})",
			"SELECT tool_invoke('sql', {query: 'SELECT %s(1)'})", "SELECT * FROM %s", "VALUES (%s(1))", "SELECT 1 ORDER BY %s(1)",
			"SELECT count(*) FILTER (%s(1)) FROM shown",
		} {
			r := p.do("POST", "/v1/sql", strings.ReplaceAll(sql, "%s", name), append(keyOf(key), "Accept", "application/json")...)
			answers = append(answers, sql+": "+same(r))
		}
		for _, path := range []string{"/v1/tools/%s", "/v1/tools/%s?explain=true", "/v1/tools:search?q=payment&explain=%s"} {
			answers = append(answers, path+": "+same(p.do("GET", strings.ReplaceAll(path, "%s", name), "", keyOf(key)...)))
		}
		for _, path := range []string{"/v1/tools/%s", "/v1/tools/%s:invoke", "/v1/tools/%s?dry_run=true"} {
			answers = append(answers, path+": "+same(p.do("POST", strings.ReplaceAll(path, "%s", name), `{}`, keyOf(key)...)))
		}
		return answers
	}
	// Names that are as far from every other name as the hidden ones.
	for hidden, unknown := range map[string]string{
		"refundify": "qefunqify", "rowsify": "qowsiqy", "open_vaultage": "opqn_vauqtage",
		"quixotic_sql": "quixqtic_sqq",
	} {
		want := ask(unknown, "bob")
		for i, got := range ask(hidden, "bob") {
			if got != want[i] {
				t.Errorf("hidden  %s\nunknown %s", got, want[i])
			}
		}
	}
	p.want(p.do("POST", "/v1/sql", "SELECT refundify(1) + open_vaultage(2) AS n", keyOf("ann")...), 200, `[{"n":6}]`)
	p.want(p.do("POST", "/v1/sql", "FROM shown", keyOf("bob")...), 200, `[{"a":2,"b":42}]`) // a view shows what its author decides
	p.want(p.do("POST", "/v1/tools/refundify", `{"x":1}`, keyOf("ann")...), 200, "2")
}

// Headers are claims: they count where a principal may make them.
func TestClaims(t *testing.T) {
	t.Parallel()
	p := startAvailable(t)
	vault := []string{"X-Spiced-Space", "vault"}
	p.want(p.do("POST", "/v1/sql", "SELECT open_vaultage(1) AS n", append(keyOf("bob"), vault...)...), 403)
	p.want(p.do("POST", "/v1/sql", "SELECT open_vaultage(1) AS n", append(keyOf("web"), vault...)...), 200, `[{"n":2}]`)
	p.want(p.do("POST", "/v1/sql", "SELECT open_vaultage(1) AS n", keyOf("web")...), 400, "there is no function")
	explained := p.do("GET", "/v1/tools/open_vaultage?explain=true", "", keyOf("web")...)
	p.want(explained, 200, "available of toolset vaults is false: ctx.space_id == 'vault'")
	p.want(p.do("GET", "/v1/tools/open_vaultage", "", keyOf("web")...), 404)
}

// A result that ann's statement left in the cache is not bob's.
func TestCachedResultsStayHidden(t *testing.T) {
	t.Parallel()
	p := startAvailable(t)
	const sql = "SELECT refundify(7) AS n"
	for range 3 {
		p.want(p.do("POST", "/v1/sql", sql, keyOf("ann")...), 200, `[{"n":8}]`)
		p.want(p.do("POST", "/v1/sql", sql, keyOf("bob")...), 400, "there is no function")
	}
}

// A statement that was prepared while its function was visible ends with that.
func TestPreparedStatementsEnd(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", availablePod)
	p := start(t, dir, sqlProtocols()...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	conn := pgxConnect(t, p, keyOf("ann")[1], "sslmode=disable")
	if _, err := conn.Prepare(ctx, "kept", "SELECT refundify($1)"); err != nil {
		t.Fatal(err)
	}
	var n int64
	if err := conn.QueryRow(ctx, "kept", int64(1)).Scan(&n); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	changed := strings.ReplaceAll(availablePod, "ctx.principal == 'ann', body: x + 1", "ctx.principal == 'eve', body: x + 1")
	if err := os.WriteFile(filepath.Join(dir, "spicepod.yaml"), []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	p.eventually("to hide the function", func() bool {
		err = conn.QueryRow(ctx, "kept", int64(1)).Scan(&n)
		return err != nil
	})
	if !strings.Contains(err.Error(), `there is no function "refundify"`) {
		t.Error(err)
	}
	var names []string
	rows, err := conn.Query(ctx, "SELECT proname FROM pg_catalog.pg_proc WHERE proname LIKE '%ify'")
	if err == nil {
		names, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err != nil || strings.Join(names, " ") != "rowsify" {
		t.Errorf("pg_proc: %v %v", names, err)
	}
}

// An MCP client lists, reads and calls what its key may see.
func TestHiddenToolsOverMCP(t *testing.T) {
	t.Parallel()
	p := startAvailable(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	connect := func(name string) *mcp.ClientSession {
		header := keyOf(name)
		client := mcp.NewClient(&mcp.Implementation{Name: "lagan", Version: "1"}, nil)
		s, err := client.Connect(ctx,
			&mcp.StreamableClientTransport{Endpoint: p.url + "/v1/mcp", HTTPClient: &http.Client{Transport: withHeader{header[0], header[1]}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	bob, ann := connect("bob"), connect("ann")
	list, err := bob.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	resources, err := bob.ListResources(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal([]any{list, resources})
	unseen(t, "MCP", "", string(text))
	call := func(s *mcp.ClientSession, name string) string {
		_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: map[string]any{"x": 1}})
		return strings.ReplaceAll(fmt.Sprint(err), name, "NAME")
	}
	readResource := func(s *mcp.ClientSession, name string) string {
		_, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "spiced://functions/" + name})
		return strings.ReplaceAll(fmt.Sprint(err), name, "NAME")
	}
	if got, want := call(bob, "refundify"), call(bob, "qefunqify"); got != want {
		t.Errorf("call of a hidden tool: %s\nunknown: %s", got, want)
	}
	if got, want := readResource(bob, "refundify"), readResource(bob, "qefunqify"); got != want {
		t.Errorf("hidden resource: %s\nunknown: %s", got, want)
	}
	if got := call(ann, "refundify") + readResource(ann, "refundify"); got != "<nil><nil>" {
		t.Error(got)
	}
}

// withHeader adds a header to requests.
type withHeader struct{ name, value string }

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(h.name, h.value)
	return http.DefaultTransport.RoundTrip(r)
}

// A model gets the tools that its caller may see, the same bytes for equal sets, and its
// statements reach no others.
func TestHiddenToolsInChats(t *testing.T) {
	t.Parallel()
	model := startModel(t)
	pod := availablePod + fmt.Sprintf(`
models:
  - { name: helper, from: "openai:m", params: { endpoint: %q, tools: "vaults, public_fee, refundify, sql", openai_api_key: k } }
`, model.URL)
	c := &chatting{start(t, folder(t, "spicepod.yaml", pod)), model}
	ask := func(key string) string {
		c.model.Script(chattest.Always(chattest.Say(chattest.Text("ok"))))
		c.want(c.do("POST", "/v1/chat/completions", `{"model":"helper","messages":[{"role":"user","content":"hi"}]}`,
			append(keyOf(key), "Content-Type", "application/json")...), 200)
		var body struct{ Tools json.RawMessage }
		if err := json.Unmarshal(c.last().Body, &body); err != nil {
			t.Fatal(err)
		}
		return string(body.Tools)
	}
	ann, bob, web := ask("ann"), ask("bob"), ask("web")
	unseen(t, "the request of bob's chat", "", bob)
	if bob != web || !strings.Contains(ann, "open_vaultage") || !strings.Contains(ann, "refundify") || !strings.Contains(bob, "public_fee") {
		t.Errorf("ann's tools: %s\nbob's: %s\nweb's: %s", ann, bob, web)
	}
	unseen(t, "/v1/models", "", c.do("GET", "/v1/models", "", keyOf("bob")...).body)
}
