package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/test/full"
	"github.com/spiced-sql/spiced/internal/test/wait"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// toolsPod is the Spicepod of testdata with 25 functions and an embedding
// model of one line.
func toolsPod(t *testing.T) files {
	t.Helper()
	f := files{}
	for _, name := range []string{"spicepod.yaml", "trips.csv"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "spicepods", "tools", name))
		if err != nil {
			t.Fatal(err)
		}
		f[name] = string(text)
	}
	return f
}

// call calls a tool and returns its result or error as text.
func (r *rig) call(name, args string) string {
	r.t.Helper()
	result := r.Tools().Invoke(context.Background(),
		registry.Call{Name: name, Arguments: json.RawMessage(args), Scope: tools.Scope{Caller: caller.Caller{Protocol: caller.HTTP}}})
	if !result.OK {
		return string(result.Error.Code) + " " + result.Error.Error()
	}
	return string(result.Result)
}

func (r *rig) wantCall(name, args, want string) {
	r.t.Helper()
	if got := r.call(name, args); !strings.HasPrefix(got, want) {
		r.t.Errorf("%s %s\ngot  %s\nwant %s", name, args, got, want)
	}
}

func TestFunctionsAndBuiltinToolsAreOneCatalog(t *testing.T) {
	r := start(t, toolsPod(t))
	if p := r.LastReport().Problems; len(p) > 0 {
		t.Fatal(p)
	}
	if n := r.Tools().Current().Len(); n != 24+12 {
		t.Errorf("%d tools", n)
	}
	r.wantCall("haversine_km", `{"lat1":37.7749,"lon1":-122.4194,"lat2":40.7128,"lon2":-74.0060}`, "4129.08")
	r.wantCall("vat", `{"gross":"119.00"}`, "19")
	r.wantCall("days_between", `{"first":"2026-01-01","last":"2026-12-31"}`, "364")
	r.wantCall("late_trips", `{"minutes":10}`, `{"ref":"r_`) // six rows, and its limit is three
	r.wantCall("sql", `{"query":"SELECT count(*) AS n FROM trips"}`, `[{"n":6}]`)
	r.wantCall("sql", `{"query":"SELECT nope FROM trips"}`, `not_found `)
	r.wantCall("search", `{"text":"flat tyre"}`, `{"results":[{"dataset":"spice.public.trips","score":1,"matches":{"note":["Rain and a flat tyre"]},"primary_key":{"id":3}`)
	r.wantCall("internal_hash", `{"x":1}`, `tool_not_found there is no tool "internal_hash"; it is declared, but not a tool: it has as_tool: false`)
	r.want("SELECT internal_hash(2)", "5308871522")
	r.wantCall("get_readiness", ``, `{`)

	r.want("SELECT tool_id FROM tool_search('distance between two airports', limit := 1)", "haversine_km")
	const explained = " FROM tool_search_explain('distance between two airports', limit := 2, min_score := 0.1)"
	r.want("SELECT DISTINCT rank, returned"+explained+" WHERE tool_id = 'haversine_km'", "1,true")
	r.want("SELECT count(*)"+explained+" WHERE cut = 'limit'  AND (returned OR rank < 3)", "0")
	r.want("SELECT count(*) > 3 FROM (SELECT score, sum(share) AS shares"+explained+" WHERE rank > 0 GROUP BY tool_id, score) "+
		"WHERE abs(shares - score) < 0.001", "true")
	r.want("SELECT count(*) FROM (SELECT score, sum(share) AS shares"+explained+" WHERE rank > 0 GROUP BY tool_id, score) "+
		"WHERE abs(shares - score) >= 0.001", "0")
	r.want("SELECT rank, score, channel"+explained+" WHERE cut = 'no_match' ORDER BY tool_id LIMIT 1", "NULL,NULL,NULL")
	r.want("SELECT cut, returned"+explained+" WHERE tool_id = 'internal_hash'", "as_tool,false")
	r.want("SELECT count(DISTINCT tool_id) FILTER (cut IS DISTINCT FROM 'as_tool')"+explained, "36")
	r.want("SELECT count(*) FROM tool_search_explain(NULL)", "0")
	r.refused("FROM tool_search_explain('x', limit := 0)", "tool_search_explain: limit is 0; it is at least 1")
	r.refused("FROM tool_search_explain('')", "tool_search_explain: ")
	r.want("SELECT tool_invoke('celsius_to_fahrenheit', {'celsius': c})->>'$' FROM (VALUES (0), (100)) t(c)", "32.0;212.0")
	r.refused("SELECT tool_invoke('tool_invoke', {'tool_id': 'dice'})", `tool_invoke: there is no tool "tool_invoke"; search for one with tool_search`)
	r.refused("SELECT tool_invoke('fuel_cost', {'km': 100, 'price': 'dear'})", `fuel_cost: "price"`)
	r.want("SELECT name, total_invocations, owner FROM spiced.tools WHERE total_invocations > 0 AND source = 'function' ORDER BY 2 DESC, 1 LIMIT 2",
		"celsius_to_fahrenheit,2,runtime;days_between,1,runtime")
	r.want("SELECT caller IS NULL, sum(calls), sum(errors) FROM spiced.tool_usage WHERE tool = 'sql' GROUP BY ALL", "true,2,1")
	r.want("SELECT tool, code FROM spiced.tool_calls WHERE NOT ok ORDER BY called_at LIMIT 1", "sql,not_found")
	r.want("SELECT verdict FROM spiced.dead_tools WHERE name = 'bmi'", "too_early")
	r.want("SELECT query, tools[1] FROM spiced.searches", "distance between two airports,haversine_km")
}

func TestToolsOfOthersAreCounted(t *testing.T) {
	r := start(t, toolsPod(t))
	for _, agent := range []string{"navigator", "cook", "cook"} {
		r.Tools().Invoke(t.Context(), registry.Call{
			Name: "haversine_km", Arguments: json.RawMessage(`{"lat1":0,"lon1":0,"lat2":0,"lon2":1}`), Scope: tools.Scope{Caller: caller.Caller{Agent: agent}},
		})
	}
	r.want("SELECT tool, owner, caller, calls FROM spiced.cross_agent_calls", "haversine_km,navigator,cook,2")
	r.want("SELECT name, calls FROM spiced.hot_tools", "haversine_km,3")

	// The functions of a model's statement count, too.
	r.Tools().Invoke(t.Context(), registry.Call{
		Name: "sql", Arguments: json.RawMessage(`{"query":"SELECT haversine_km(0, 0, 0, 1)"}`), Scope: tools.Scope{Caller: caller.Caller{Agent: "cook"}},
	})
	r.want("SELECT tool, owner, caller, calls FROM spiced.cross_agent_calls", "haversine_km,navigator,cook,3")
	r.want("SELECT tool, surface, \"rows\" FROM spiced.tool_calls WHERE surface = 'sql'", "haversine_km,sql,1")
}

func TestUsageOutlivesARun(t *testing.T) {
	state := t.TempDir()
	for n := range 3 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r := start(t, toolsPod(t), func(o *Options) { o.StateDir = state })
			r.wantCall("bmi", `{"kg":80,"metres":2}`, "20")
			r.want("SELECT total_invocations FROM spiced.tools WHERE name = 'bmi'", fmt.Sprint(n+1))
		})
	}
}

// keyed is a Spicepod with keys.
const keyed = `version: v1
kind: Spicepod
name: test
runtime: {functions: {enabled: true}, auth: {api-key: {enabled: true, principals: [{name: ann, key: 0123456789abcdef-ann}, {name: bob, key: 0123456789abcdef-bob}]}}}
`

// TestTextsOfACallAreItsCallersAlone reads what others called and sought.
func TestTextsOfACallAreItsCallersAlone(t *testing.T) {
	const readers = `views:
- {name: sought, sql: "SELECT query, query AS id FROM spiced.searches", columns: [{name: query, full_text_search: {enabled: true}}]}
- {name: copied, sql: FROM spiced.tool_calls, acceleration: {}}
functions:
- {name: last_error, from: sql, volatility: volatile, signature: {returns: utf8}, body: (SELECT max(error) FROM spiced.tool_calls)}
`
	ann := tools.Scope{Caller: caller.Caller{
		Principal: "ann", UserID: "ann", SpaceID: "hr", RequestID: "MARK1", SessionID: "MARK2",
		Trace: caller.Trace{FlowID: "MARK3", StepID: "MARK4"},
	}}
	elsewhere := ann
	elsewhere.SpaceID = ""
	bob := tools.Scope{Caller: caller.Caller{Principal: "bob", UserID: "bob"}}
	state := t.TempDir()
	with := func(o *Options) { o.StateDir = state }
	const calls = "SELECT tool, ok, user_id, error, request_id, session_id, flow_id, step_id FROM spiced.tool_calls WHERE tool = 'sql'"
	const searches = "SELECT query, session_id, tools FROM spiced.searches"
	sees := func(t *testing.T, r *rig, scope tools.Scope, marks int, statements ...string) {
		t.Helper()
		for _, sql := range statements {
			if got := answer(t.Context(), r.Runtime, scope, sql); !strings.HasPrefix(got, "1:") || strings.Count(got, "MARK") != marks {
				t.Errorf("%s of %q sees %s for %s", scope.UserID, scope.SpaceID, got, sql)
			}
		}
	}
	found := func(r *rig, scope tools.Scope) string {
		return string(r.Tools().Invoke(t.Context(), registry.Call{Name: "search", Arguments: json.RawMessage(`{"text":"MARK5"}`), Scope: scope}).Result)
	}
	t.Run("with keys", func(t *testing.T) {
		r := start(t, files{"spicepod.yaml": keyed + readers}, with)
		r.problems(r.LastReport(), "or reads spiced.tool_calls or spiced.searches, and its copy would show every caller the same rows")
		call := func(name, args string) {
			r.Tools().Invoke(t.Context(), registry.Call{Name: name, Arguments: json.RawMessage(args), Scope: ann})
		}
		call("sql", `{"query":"SELECT 'MARK0'::INT"}`)
		call("tool_search", `{"query":"MARK5"}`)
		sees(t, r, ann, 5, calls)
		sees(t, r, ann, 2, searches)
		sees(t, r, ann, 1, "SELECT last_error()", "SELECT query FROM sought")
		if got := found(r, ann); !strings.Contains(got, "MARK5") {
			t.Errorf("ann finds %s", got)
		}
		for _, other := range []tools.Scope{bob, elsewhere, {}} {
			sees(t, r, other, 0, calls, searches, "SELECT last_error()", "SELECT query FROM sought")
			if got := found(r, other); strings.Contains(got, "MARK5") {
				t.Errorf("%s finds %s", other.UserID, got)
			}
		}
		for _, f := range r.Current().Tools.All() {
			if f.Name == "last_error" && f.Cacheable {
				t.Error("it is remembered")
			}
		}
	})
	t.Run("of an earlier run", func(t *testing.T) {
		r := start(t, files{"spicepod.yaml": keyed}, with)
		sees(t, r, ann, 0, calls, searches)
		sees(t, r, tools.Scope{}, 0, calls, searches)
	})
	t.Run("without keys", func(t *testing.T) {
		r := start(t, files{"spicepod.yaml": readers})
		r.problems(r.LastReport())
		for user, scope := range map[string]tools.Scope{
			"ann": {Caller: caller.Caller{UserID: "ann", SessionID: "MARK2"}},
			"bob": {Caller: caller.Caller{UserID: "bob"}},
		} {
			r.Tools().Invoke(t.Context(), registry.Call{Name: "sql", Arguments: json.RawMessage(`{"query":"SELECT 'MARK0'::INT"}`), Scope: scope})
			r.wantAs("bob", "SELECT error FROM spiced.tool_calls WHERE user_id = '"+user+"'", "MARK0")
		}
		r.wantAs("bob", "SELECT session_id FROM spiced.tool_calls WHERE user_id = 'ann'", "MARK2")
	})
}

func TestHiddenToolsSayWhy(t *testing.T) {
	t.Setenv(builtin.DomainsVariable, "time, data")
	r := start(t, files{"spicepod.yaml": "functions:\n" + fn("good", "x", "x") + fn("broken", "x", "nope(x)") +
		"  - {name: off, from: sql, enabled: false, signature: {args: [], returns: int64}, body: '1'}\n" +
		"  - {name: rows, from: sql, kind: table, signature: {args: [], returns: [{name: a, type: int64}]}, body: SELECT 1 AS a}\n"})
	for name, want := range map[string]string{
		"good":          "true  ",
		"broken":        "false loaded nope",
		"off":           "false enabled it has enabled: false",
		"rows":          "false as_tool a table function is a tool only with as_tool: true",
		"sql":           "true  ",
		"time_now":      "true  ",
		"get_readiness": "false enabled it is in none of the enabled domains: time, data",
	} {
		s, err := r.Tools().Status(name, tools.Scope{}, false)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := fmt.Sprint(s.Callable, " ", s.HiddenBy, " ", s.Reason)
		if name == "broken" {
			got = strings.Replace(got, s.Reason, "nope", 1)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if _, err := r.Tools().Status("god", tools.Scope{}, false); err == nil || !strings.Contains(err.Error(), `did you mean "good"?`) {
		t.Error(err)
	}
}

// TestToolThatAnAgentWasNotGiven checks that the error gives no reason that is not true: the
// domain of the tool is enabled.
func TestToolThatAnAgentWasNotGiven(t *testing.T) {
	r := start(t, files{"spicepod.yaml": "functions:\n" + fn("good", "x", "x")})
	scope := tools.Scope{Callable: func(name string) bool { return name == "good" }}
	for _, name := range []string{"list_udfs", "sql", "nothing_like_it"} {
		got := r.Tools().Invoke(t.Context(), registry.Call{Name: name, Arguments: json.RawMessage("{}"), Scope: scope})
		if got.Error == nil || got.Error.Code != errcode.ToolNotFound || got.Error.Message != fmt.Sprintf("there is no tool %q", name) ||
			strings.Contains(got.Error.Hint, "declared") {
			t.Errorf("%s: %+v", name, got.Error)
		}
	}
}

func TestUnknownDomainEndsTheStart(t *testing.T) {
	t.Setenv(builtin.DomainsVariable, "tyme")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "spicepod.yaml"), []byte(head), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := New(t.Context(), Options{Path: dir})
	if err == nil {
		d.Close()
	}
	if err == nil || !strings.Contains(err.Error(), `TOOL_REGISTRY_DOMAINS: there is no domain of built-in tools "tyme"; did you mean "time"?`) {
		t.Error(err)
	}
}

func TestToolConflictsNameBothPlaces(t *testing.T) {
	r := start(t, files{"spicepod.yaml": "functions:\n" + fn("list_datasets", "x", "x") + fn("mine", "x", "x") +
		strings.Replace(fn("quiet", "x", "x"), "from: sql\n", "from: sql\n    as_tool: false\n", 1) +
		"tools:\n  - {name: mine, from: 'builtin:time_now'}\n  - {name: quiet, from: 'builtin:time_now'}\n  - {name: clock, from: 'builtin:tyme_now'}\n  - {name: " +
		"maps, from: 'mcp:maps'}\n"})
	r.problems(r.LastReport(),
		`a tool named "list_datasets" is there already, built in; the one at spicepod.yaml:6 is left out`,
		`a tool named "mine" is there already, declared at spicepod.yaml:20; the one at spicepod.yaml:10 is left out`,
		`there is no built-in tool "tyme_now"; did you mean "time_now"?`,
		`the server is not available: there is no command "maps" on the PATH`,
	)
	r.want("SELECT list_datasets(1), mine(2), quiet(3)", "1,2,3")
	r.wantCall("quiet", "", "{")
	r.wantCall("list_datasets", "", "[]")
}

func TestCustomisedBuiltinTool(t *testing.T) {
	r := start(t, files{
		"a.csv": "x\n1\n", "b.csv": "x\n2\n",
		"spicepod.yaml": "datasets:\n  - {name: a, from: 'file:a.csv'}\n  - {name: b, from: 'file:b.csv'}\n" +
			"tools:\n  - {name: sql, from: 'builtin:sql', description: Reads a., params: {table_allowlist: 'a'}}\n  - {name: sql_b, from: 'builtin:sql', params: " +
			"{table_allowlist: 'b'}, limits: {max_rows: 1}}\n",
	})
	r.wantCall("sql", `{"query":"FROM a"}`, `[{"x":1}]`)
	r.wantCall("sql", `{"query":"FROM b"}`, `not_found `)
	r.wantCall("sql_b", `{"query":"FROM b UNION ALL FROM b"}`, `{"ref":"r_`)
	if d := r.Tools().Current().Get("sql").Description; d != "Reads a." {
		t.Error(d)
	}
}

// TestAllowlistHoldsForTheCallsOfAStatement: what a statement calls reads no
// more than the tool that it was given to.
func TestAllowlistHoldsForTheCallsOfAStatement(t *testing.T) {
	r := start(t, files{"a.csv": "x\n1\n", "b.csv": "x\n2\n", "c.csv": "x\n3\n", "spicepod.yaml": "datasets:\n" +
		"  - {name: a, from: 'file:a.csv'}\n  - {name: b, from: 'file:b.csv'}\n  - {name: c, from: 'file:c.csv'}\n" +
		"functions:\n  - {name: all_b, from: sql, volatility: volatile, signature: {returns: utf8}, body: \"(SELECT string_agg(x::VARCHAR, ';') FROM b)\"}\n" +
		"  - {name: ask_b, from: sql, volatility: volatile, signature: {returns: utf8}, body: \"tool_invoke('sql', {query: 'FROM b'})::VARCHAR\"}\n" +
		"tools:\n  - {name: sql_ab, from: 'builtin:sql', params: {table_allowlist: 'a,b'}}\n" +
		"  - {name: sql_ac, from: 'builtin:sql', params: {table_allowlist: 'a,c'}, as_sql: true, signature: {args: [{name: query, type: utf8}], returns: json}}\n"})
	r.problems(r.LastReport())
	ask := func(tool, query, want string) {
		t.Helper()
		args, _ := json.Marshal(map[string]string{"query": query})
		if got := r.call(tool, string(args)); !strings.Contains(got, want) {
			t.Errorf("%s: %s\ngot  %s\nwant %s", tool, query, got, want)
		}
	}
	nested := func(tool, query string) string {
		return "SELECT tool_invoke('" + tool + "', {query: '" + strings.ReplaceAll(query, "'", "''") + "'}) AS r"
	}
	const refused = "is not declared"
	ask("sql_ab", "FROM b", `"x":2`)
	ask("sql_ab", "FROM c", refused)
	ask("sql_ab", nested("sql", "FROM b"), `"x":2`)
	ask("sql_ab", nested("sql", "FROM c"), refused)
	ask("sql_ab", nested("sql_ac", "FROM a"), `"x":1`)
	ask("sql_ab", nested("sql_ac", "FROM b"), refused)
	ask("sql_ab", nested("sql_ac", "FROM c"), refused)
	ask("sql_ab", nested("sql_ac", nested("sql", "FROM b")), refused)
	ask("sql_ab", nested("sql", "FROM spiced.tool_calls"), refused)
	ask("sql_ab", "SELECT tool_invoke('random_sample', {dataset: 'c', \"limit\": 1}) AS r", "No table named c")
	ask("sql_ab", "SELECT tool_invoke('random_sample', {dataset: 'a', \"limit\": 1}) AS r", `"x":1`)
	ask("sql_ab", "SELECT sql_ac('FROM b')", refused)
	ask("sql_ac", "SELECT ask_b()", refused)
	ask("sql_ac", "SELECT all_b() AS r", `"r":"2"`) // a body reads what its author wrote
	ask("sql", nested("sql", "FROM c"), `"x":3`)
	r.want("SELECT ask_b()", `[{"x":2}]`)
}

func TestToolsAsSQLFunctions(t *testing.T) {
	const entry = "  - {name: described, from: 'builtin:describe_function', as_sql: true, signature: {args: [{name: name, type: utf8}], returns: json}}\n"
	pod := "functions:\n" + fn("f", "x", "x") +
		"  - {name: local_hour, from: sql, signature: {args: [{name: z, type: utf8}], returns: utf8}, body: 'clock(z).local[12:13]'}\n" +
		"views:\n  - {name: names, sql: FROM udfs('user')}\n" +
		"tools:\n" +
		"  - {name: now_text, from: 'builtin:get_current_datetime', as_sql: true, signature: {args: [], returns: utf8}}\n" +
		"  - {name: clock, from: 'tool:time_now', as_sql: true, signature: {args: [{name: timezone, type: utf8}], returns: 'struct<unix: int64, local: utf8>'}}\n" +
		"  - {name: clock_json, from: 'tool:time_now', as_sql: true}\n" +
		"  - {name: udfs, from: 'tool:list_udfs', as_sql: true, signature: {returns: [{name: name, type: utf8}, {name: kind, type: utf8}]}}\n" +
		"  - {name: udf_list, from: 'tool:list_udfs', as_sql: true, signature: {returns: 'list<struct<name: utf8>>'}}\n" +
		"  - {name: sample, from: 'builtin:random_sample', as_sql: true, limits: {max_calls: 2}}\n" + entry
	r := start(t, files{"spicepod.yaml": pod})
	r.problems(r.LastReport())
	r.want("SELECT length(now_text()), now_text() LIKE '20%Z'", "24,true")
	r.want("SELECT count(now_text()) FROM range(40)", "40")
	r.want("SELECT local_hour('UTC') BETWEEN '00' AND '23', clock('Asia/Tokyo').local LIKE '%+09:00'", "true,true")
	r.want("SELECT clock_json() ->> 'timezone', clock_json('Europe/Berlin') ->> 'timezone'", "UTC,Europe/Berlin")
	r.want("SELECT name, kind FROM udfs('user') ORDER BY name", "f,scalar;local_hour,scalar")
	r.want("SELECT name FROM udf_list() ORDER BY name", "f;local_hour")
	r.want("SELECT name FROM names ORDER BY name", "f;local_hour")
	r.want("SELECT described('f') ->> 'name'", "f")
	r.refused("SELECT sample('names', i) FROM range(1, 9) t(i)", "the statement needs at least 8 calls of function 'sample'; its limit is 2")
	r.want("SELECT count(sample('names', 1 + i % 2)) FROM range(100) t(i)", "100")
	r.refused("SELECT described('g')", `function 'described' failed for (name := "g"): tool-backed function 'described' call failed: `)
	r.refused("SELECT clock('Mars')", `there is no time zone "Mars"`)
	r.want("SELECT name, kind FROM list_udfs() WHERE source = 'tool' ORDER BY name",
		"clock,scalar;clock_json,scalar;described,scalar;now_text,scalar;sample,scalar;udf_list,table;udfs,table")
	r.refused("SELECT now_text(1)", "now_text() → utf8: expected 0 arguments, got 1")
	r.write(files{"spicepod.yaml": strings.Replace(pod, entry, "", 1)})
	r.reload()
	r.refused("SELECT described('f')", `there is no function "described"`)
	r.want("SELECT count(*) FROM list_udfs() WHERE source = 'tool'", "6")
	r.want("SELECT count(*) FROM udfs('user')", "2")
}

// What a tool cannot give is refused at load.
func TestToolsThatCannotBeFunctions(t *testing.T) {
	entry := func(name, from, rest string) string {
		return fmt.Sprintf("  - {name: %s, from: '%s'%s}\n", name, from, rest)
	}
	const sql = ", as_sql: true"
	r := start(t, files{"spicepod.yaml": "functions:\n" + fn("f", "x", "x") + fn("own", "x", "x") + "tools:\n" +
		entry("a", "builtin:time_now", sql+", signature: {args: [{name: d, type: date}], returns: json}") +
		entry("b", "builtin:time_now", sql+", signature: {returns: int64}") +
		entry("c", "tool:time_nw", sql) +
		entry("d", "tool:own", sql) +
		entry("e", "tool:random_sample", sql+", signature: {args: [{name: dataset, type: utf8}]}") +
		entry("g", "tool:random_sample", sql+", signature: {args: [{name: dataset, type: int64}, {name: limit, type: int64}]}") +
		entry("abs", "tool:time_now", sql) +
		entry("f", "builtin:time_now", sql) +
		entry("h", "tool:time_now", "") +
		entry("i", "tool:time_now", sql+", params: {x: 1}") +
		entry("j", "builtin:list_udfs", sql+", signature: {returns: utf8}") +
		entry("k", "builtin:time_now", sql+", signature: {args: [{name: timezone, type: utf9}]}") +
		entry("l", "builtin:time_now", sql+", signature: {tables: [{name: t, columns: [{name: v, type: int64}]}]}") +
		entry("m", "tool:time_now", sql+", limits: {max_calls: 1, timeout: 5s}") +
		entry("n", "tool:time_now", sql+", limits: {max_rows: 5}") +
		entry("o", "tool:time_now", sql+", limits: {max_bytes: 1KiB}") +
		entry("p", "tool:time_now", sql+", limits: {concurrency: 1}") +
		entry("q", "tool:time_now", sql+", limits: {batch_rows: 1}") +
		entry("r", "tool:time_now", sql+", limits: {max_calls_per_session: 1}") +
		entry("s", "tool:time_now", sql+", limits: {max_calls: 1}")})
	r.problems(r.LastReport(),
		`a tool named "f" is there already`,
		`cannot expose tool 'a' as SQL: tool "a" has no argument 'd'`,
		`cannot expose tool 'b' as SQL: the tool returns object, and int64 is integer in JSON`,
		`there is no tool "time_nw"`,
		`"own" is a function of the Spicepod, which SQL can call`,
		`cannot expose tool 'e' as SQL: tool "random_sample" requires the argument 'limit'`,
		`cannot expose tool 'g' as SQL: arg 'dataset': type int64 is integer in JSON, and the tool takes string`,
		`cannot expose tool 'abs' as SQL: DuckDB has a function of that name`,
		`cannot expose tool 'f' as SQL: a function of that name is declared at spicepod.yaml:`,
		`tool "time_now" is there already; an entry from tool: makes a SQL function of it`,
		`an entry from tool: takes no params`,
		`cannot expose tool 'j' as SQL: the tool returns array, and utf8 is string in JSON`,
		`cannot expose tool 'k' as SQL: unsupported or invalid Arrow type 'utf9'`,
		`cannot expose tool 'l' as SQL: a tool takes no tables`,
		`cannot expose tool 'm' as SQL: limits.timeout has no effect on an entry from tool:`,
		`cannot expose tool 'n' as SQL: limits.max_rows has no effect`,
		`cannot expose tool 'o' as SQL: limits.max_bytes has no effect`,
		`cannot expose tool 'p' as SQL: limits.concurrency has no effect`,
		`cannot expose tool 'q' as SQL: limits.batch_rows has no effect`,
		`cannot expose tool 'r' as SQL: limits.max_calls_per_session has no effect`,
	)
	r.refused("SELECT b()", `function b is not served: cannot expose tool 'b' as SQL: the tool returns object`)
}

func TestSearchTestsGuardReloads(t *testing.T) {
	pod := func(description, more string) files {
		return files{"spicepod.yaml": "embeddings: [{name: local, from: 'builtin:hash'}]\nsearch_tests:\n  - {query: distance between points, expect: " +
			"haversine_km, top: 1}\n" + more +
			"functions:\n  - {name: haversine_km, from: sql, description: " + description +
			", signature: {args: [{name: x, type: float64}], returns: float64}, body: x}\n"}
	}
	r := start(t, pod("Distance between two points.", "  - {query: zzzqqq, expect: haversine_km}\n"))
	r.problems(r.LastReport(), `a search for "zzzqqq" must find haversine_km among the first 3; it is not found`)
	r.write(pod("Distance between points on the Earth.", "  - {query: zzzqqq, expect: haversine_km}\n"))
	if report := r.Load(t.Context(), "file"); !report.Accepted {
		t.Errorf("a test that failed before refuses the reload: %v", report.Problems)
	}
	r.write(pod("Nothing to see.", ""))
	report := r.Load(t.Context(), "file")
	if report.Accepted || !strings.Contains(fmt.Sprint(report.Problems), `search for "distance between points" must find haversine_km`) {
		t.Errorf("%+v", report)
	}
	r.want("SELECT description FROM spiced.tools WHERE name = 'haversine_km'", "Distance between points on the Earth.")
}

// Sixteen callers during 200 reloads, over every protocol, see no error, and the
// counters add up exactly.
func TestCallsDuringReloads(t *testing.T) {
	body := func(n int) files {
		return files{"spicepod.yaml": "embeddings: [{name: local, from: 'builtin:hash'}]\nfunctions:\n" +
			"  - {name: revision, from: sql, description: The version., volatility: immutable, signature: {args: [{name: x, type: int64}], returns: int64}, " +
			"body: 'x * 0 + " + fmt.Sprint(n) + "'}\n" +
			fn(fmt.Sprintf("other_%d", n%3), "x", "x")}
	}
	reloads := 200
	if !full.Test() {
		reloads = 40
	}
	r := start(t, body(1))
	stop := make(chan struct{})
	var calls, least atomic.Int64
	least.Store(1)
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				floor := least.Load()
				var got string
				switch (i + n) % 3 {
				case 0:
					got = r.call("revision", fmt.Sprintf(`{"x":%d}`, n))
				case 1:
					got = r.call("tool_invoke", fmt.Sprintf(`{"tool_id":"revision","arguments":{"x":%d}}`, n))
					got = strings.TrimSuffix(strings.TrimPrefix(got, `{"tool_id":"revision","result":`), "}")
				case 2:
					answer, err := r.ask(fmt.Sprintf("SELECT tool_invoke('revision', {'x': %d})", n))
					if got = answer; err != nil {
						got = err.Error()
					}
				}
				calls.Add(1)
				var version int64
				if _, err := fmt.Sscan(got, &version); err != nil || version < floor {
					t.Errorf("got %q, which is older than %d", got, floor)
					return
				}
				if n%20 == 0 {
					if _, err := r.Tools().Search(t.Context(), registry.SearchRequest{Query: "the version"}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for n := range reloads {
		r.write(body(n + 2))
		report, err := r.Reload(t.Context(), "request")
		if err != nil || !report.Accepted || len(report.Problems) > 0 {
			t.Fatalf("%+v %v", report, err)
		}
		least.Store(int64(n + 2))
	}
	close(stop)
	group.Wait()
	if got := r.Tools().Usage().Totals("revision").Calls; got != calls.Load() {
		t.Errorf("%d calls were made, %d are counted", calls.Load(), got)
	}
	if errors := r.Tools().Usage().Totals("revision").Counts; errors.Errors() != 0 {
		t.Errorf("%+v", errors)
	}
}

// TestToolsWithoutADescriptionAreLogged shows that they are logged when they change.
func TestToolsWithoutADescriptionAreLogged(t *testing.T) {
	var log safeBuffer
	r := start(t, files{"spicepod.yaml": "functions:\n" + fn("b", "x", "x") + fn("a", "x", "x")}, func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	logged := func(want int, last string) {
		t.Helper()
		const message = `msg="tools have no description, by which models choose them" `
		parts := strings.Split(log.String(), message)
		if len(parts)-1 != want || !strings.HasPrefix(parts[len(parts)-1], last) {
			t.Errorf("logged %d times, want %d with %q at last:\n%s", len(parts)-1, want, last, log.String())
		}
	}
	wait.Until(t, "the first load is logged", func() bool { return strings.Contains(log.String(), "no description") })
	logged(1, `count=2 tools="a, b"`)
	r.pod("functions:\n" + fn("b", "x", "x + 1") + fn("a", "x", "x"))
	logged(1, `count=2 tools="a, b"`)
	r.pod("functions:\n" + fn("a", "x", "x") + "    description: The number.\n" + fn("b", "x", "x"))
	logged(2, "count=1 tools=b")
}

// TestRequiredDescriptions: a tool without one is an error and is not offered; SQL has the function.
func TestRequiredDescriptions(t *testing.T) {
	s := startMCP(t)
	s.add("tide", "Finds the tide.")
	s.add("depth", " ")
	required := strings.Replace(head, "{functions:", "{tools: {descriptions: required}, functions:", 1)
	pod := s.pod("")["spicepod.yaml"]
	pod += "functions:\n" + fn("good", "x", "x") + "    description: Returns the number.\n" + fn("bare", "x", "x + 1") + fn("blank", "x", "x") +
		"    description: ' '\n" + fn("quiet", "x", "x") + "    as_tool: false\n"
	r := start(t, files{"spicepod.yaml": required + pod})
	r.problems(r.LastReport(),
		`tool maps__depth: not offered: it has no description`, `tool bare: not offered: it has no description`, `tool blank: not offered: it has no description`)
	for name, want := range map[string]string{"good": "3", "bare": "tool_not_found", "blank": "tool_not_found"} {
		r.wantCall(name, `{"x": 3}`, want)
	}
	r.wantCall("maps__tide", `{}`, `"tide{}"`)
	r.wantCall("maps__depth", `{}`, "tool_not_found")
	r.want("SELECT bare(2), quiet(1)", "3,1")
	if status, err := r.Tools().Status("bare", tools.Scope{}, false); err != nil || !strings.Contains(fmt.Sprint(status.Stages), "descriptions requires") {
		t.Errorf("%+v %v", status, err)
	}
	r.write(files{"spicepod.yaml": pod})
	if report := r.Load(t.Context(), "test"); !report.Accepted || len(report.Problems) > 0 {
		t.Fatal(report.Problems)
	}
	r.wantCall("bare", `{"x": 3}`, "4")
	r.wantCall("maps__depth", `{}`, `"depth{}"`)
}

// TestDeadToolsAfterAMonth simulates two months of use with a clock.
func TestDeadToolsAfterAMonth(t *testing.T) {
	var day atomic.Int64
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pod := "functions:\n"
	for _, name := range []string{"used", "unused", "unfit", "former", "found"} {
		pod += fn(name, "x", "x")
	}
	pod += fn("broken", "x", "CAST(chr(97) || x AS BIGINT)")
	r := start(t, files{"spicepod.yaml": pod}, func(o *Options) {
		o.Now = func() time.Time { return began.AddDate(0, 0, int(day.Load())) }
	})
	call := func(name, arguments string) {
		r.Tools().Invoke(t.Context(), registry.Call{Name: name, Arguments: json.RawMessage(arguments)})
	}
	const verdicts = "SELECT name, verdict FROM %s WHERE source = 'function' ORDER BY name"
	judged := func(from, want string) {
		t.Helper()
		r.want(fmt.Sprintf(verdicts, from), want)
	}
	call("former", `{"x": 1}`)
	judged("dead_tools(minimum := 0)", "broken,too_early;found,too_early;unfit,too_early;unused,too_early;used,too_early")
	for range 60 {
		day.Add(1)
		for range 3 {
			call("used", `{"x": 1}`)
		}
		call("unfit", `{"x": "much"}`)
		call("broken", `{"x": 1}`)
	}
	r.Tools().Usage().Search(usage.Search{At: began.AddDate(0, 0, 60), Query: "found", Tools: []string{"found"}})

	const month = "broken,broken;former,unneeded;found,badly_described;unfit,badly_described;unused,unneeded"
	judged("spiced.dead_tools", month)
	judged("dead_tools()", month)
	judged("dead_tools(30, 100)", month)
	judged("dead_tools(days := 90)", "broken,broken;found,badly_described;unfit,badly_described;unused,unneeded") // former was called then
	judged("dead_tools(minimum := 1000)", "broken,broken;former,too_early;found,too_early;unfit,badly_described;unused,too_early")
	r.want("SELECT DISTINCT observed_days, total_calls FROM dead_tools(days := 7)", "7.0,40")
	r.want("SELECT name FROM dead_tools(days := (SELECT 7)) WHERE name = 'used'", "")
	r.refused("FROM dead_tools(days := 0)", "dead_tools: days is 0; it is 1 to 400, the days that runtime.tools.history.usage_days keeps")
	r.refused("FROM dead_tools(days := 401)", "days is 401; it is 1 to 400")
	r.refused("FROM dead_tools(minimum := -1)", "minimum is -1; it is at least 0")
}
