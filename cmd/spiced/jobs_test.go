package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/query"
)

// respondAsync is the header of a call that may run as a job.
var respondAsync = []string{"Prefer", "respond-async"}

// job is a submitted query as clients see it.
type job struct {
	ID     string `json:"query_id"`
	Status string
	Error  struct {
		Code    string `json:"error_code"`
		Message string
	}
	Manifest struct{ Ref string }
	Result   struct {
		Rows json.RawMessage `json:"data_array"`
	}
}

// begins calls a tool as a job, and returns its path.
func (p *program) begins(tool, arguments string, header ...string) (path string) {
	p.t.Helper()
	r := p.do("POST", "/v1/tools/"+tool+":invoke", `{"args":`+arguments+`}`, append(header, respondAsync...)...)
	p.want(r, 202, `"query_id":"`, `"status":"`, `"sql_preview":"SELECT `)
	path = r.header.Get("Location")
	if !strings.HasPrefix(path, "/v1/queries/") || !strings.Contains(r.body, path[len("/v1/queries/"):]) || r.header.Get("Preference-Applied") != "respond-async" {
		p.t.Fatalf("headers %v of %s", r.header, r.body)
	}
	return path
}

// job returns a job as it stands.
func (p *program) job(path string, header ...string) (j job) {
	p.t.Helper()
	r := p.do("GET", path, "", header...)
	p.want(r, 200)
	if err := json.Unmarshal([]byte(r.body), &j); err != nil {
		p.t.Fatal(err)
	}
	return j
}

// ends waits until a job has come to its end.
func (p *program) ends(path string, header ...string) (j job) {
	p.t.Helper()
	p.eventually("to end "+path, func() bool {
		j = p.job(path, header...)
		return j.Status != "PENDING" && j.Status != "RUNNING"
	})
	return j
}

// wantJob checks that a call gives the same as a job as at once.
func (p *program) wantJob(tool, arguments, rows string) {
	p.t.Helper()
	var direct struct{ Result json.RawMessage }
	if err := json.Unmarshal([]byte(p.do("POST", "/v1/tools/"+tool+":invoke", `{"args":`+arguments+`}`).body), &direct); err != nil {
		p.t.Fatal(err)
	}
	j := p.ends(p.begins(tool, arguments))
	if got := string(j.Result.Rows); j.Status != "SUCCEEDED" || got != rows {
		p.t.Errorf("%s%s: %s %+v: got %s, want %s", tool, arguments, j.Status, j.Error, got, rows)
	}
	if got := string(direct.Result); got != rows && `[{"result":`+got+`}]` != rows {
		p.t.Errorf("%s%s gives %s, and %s as a job", tool, arguments, got, rows)
	}
}

// jobsPod has functions whose calls run as jobs.
const jobsPod = podHead + `functions:
  - { name: twice, from: sql, async: true, description: Doubles., signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: x * 2 }
  - { name: plain, from: sql, description: Not async., signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: x }
  - { name: fails, from: sql, async: true, description: Fails., signature: { args: [{ name: x, type: utf8 }], returns: int64 }, body: CAST(x AS BIGINT) }
  - name: shapes
    from: sql
    async: true
    description: Arguments of many types.
    signature:
      args: [{ name: d, type: date }, { name: l, type: list<int64> }, { name: s, type: "struct<a: int64, b: utf8>" }, { name: t, type: utf8 }, { name: n, type: float64, default: 1.5 }, { name: j, type: json, default: null }]
      returns: "struct<d: date, l: list<int64>, s: struct<a: int64, b: utf8>, t: utf8, n: float64, j: json>"
    body: "{'d': d, 'l': l, 's': s, 't': t, 'n': n, 'j': j}"
  - name: upto
    kind: table
    from: sql
    async: true
    as_tool: true
    limits: { max_rows: 5 }
    description: Numbers.
    signature: { args: [{ name: n, type: int64 }], returns: [{ name: i, type: int64 }, { name: t, type: utf8 }] }
    body: SELECT i, 'row ' || i AS t FROM range((SELECT n FROM args)) r(i)
  - { name: for_ada, from: sql, async: true, description: Of ada., available: ctx.user_id == 'ada', signature: { returns: int64 }, body: "1" }
  - { name: rarely, from: sql, async: true, description: Once., limits: { max_calls_per_session: 1 }, signature: { returns: int64 }, body: "1" }
`

// TestJobs runs calls of SQL functions as jobs.
func TestJobs(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", jobsPod)
	p := start(t, dir)
	p.wantJob("twice", `{"x":21}`, `[{"result":42}]`)
	p.wantJob("twice", `{"x":null}`, `[{"result":null}]`)
	p.wantJob("twice", `{"x":"21"}`, `[{"result":42}]`) // repaired
	p.wantJob("upto", `{"n":2}`, `[{"i":0,"t":"row 0"},{"i":1,"t":"row 1"}]`)
	p.wantJob("shapes", `{"d":"2026-02-03","l":[1,null],"s":{"a":1,"b":"x'; DROP"},"t":"a\"b'c$1","j":{"k":[1]}}`,
		`[{"result":{"d":"2026-02-03","l":[1,null],"s":{"a":1,"b":"x'; DROP"},"t":"a\"b'c$1","n":1.5,"j":{"k":[1]}}}]`)

	if j := p.ends(p.begins("upto", `{"n":0}`)); j.Status != "SUCCEEDED" || j.Result.Rows != nil {
		t.Errorf("%+v", j)
	}

	// Its rows are a stored result, without the limit of rows of a call.
	j := p.ends(p.begins("upto", `{"n":7}`))
	p.want(p.do("POST", "/v1/sql", "SELECT count(*) AS n FROM ref('"+j.Manifest.Ref+"')"), 200, `[{"n":7}]`)
	p.want(p.do("GET", "/v1/results/"+j.Manifest.Ref, "", "Accept", "text/csv"), 200, "i,t\n0,row 0\n")
	p.want(p.do("GET", "/v1/queries?limit=1", ""), 200, `"sql_preview":"SELECT * FROM \"upto\"(CAST($1 AS BIGINT))"`)

	// An argument of almost the largest size.
	large := strings.Repeat("x", 1<<20-100)
	if j := p.ends(p.begins("fails", `{"x":"`+large+`"}`)); j.Status != "FAILED" || j.Error.Code != "execution_error" ||
		!strings.Contains(j.Error.Message, "Could not convert") {
		t.Errorf("%.300v", j)
	}

	// What is wrong with the call itself is said at once, and what needs no job has none.
	for _, c := range []struct {
		tool, body string
		header     []string
		status     int
		want       string
	}{
		{"twice", `{"args":{"x":"many"}}`, nil, 400, `"code":"invalid_arguments"`},
		{"twice", `{"args":{}}`, nil, 400, `"code":"invalid_arguments"`},
		{"twice", `{"args":{"x":1,"y":2}}`, nil, 400, `"code":"invalid_arguments"`},
		{"twice", `{"args":{"x":99999999999999999999}}`, nil, 400, `"code":"invalid_arguments"`},
		{"shapes", `{"args":{"d":"2026-02-30","l":[],"s":null,"t":""}}`, nil, 400, `"code":"invalid_arguments"`},
		{"twise", `{"args":{"x":1}}`, nil, 404, `"code":"tool_not_found"`},
		{"for_ada", `{}`, nil, 404, `"code":"tool_not_found"`},
		{"plain", `{"args":{"x":1}}`, nil, 200, `"result":1`},
		{"time_now", `{}`, nil, 200, `"ok":true`},
		{"tool_invoke", `{"args":{"tool_id":"twice","arguments":{"x":1}}}`, nil, 200, `"result":2`},
		{"twice", `{"args":{"x":1},"dry_run":true}`, nil, 200, `"dry_run":true`},
		{"twice", `{"args":{"x":1}}`, []string{"Accept", "text/event-stream"}, 200, "event: result"},
		{"twice", `{"args":{"x":1}}`, []string{"Prefer", "wait=5"}, 200, `"result":2`},
	} {
		header := append(append([]string{}, respondAsync...), c.header...)
		r := p.do("POST", "/v1/tools/"+c.tool+":invoke", c.body, header...)
		p.want(r, c.status, c.want)
		if r.header.Get("Preference-Applied") != "" || r.header.Get("Location") != "" {
			t.Errorf("%s %s: headers %v", c.tool, c.body, r.header)
		}
	}
	p.want(p.do("POST", "/v1/tools/twice", `{"x":1}`, respondAsync...), 200, "2")

	// Who may not see a job, or its function.
	ada := []string{"X-Spiced-User", "ada"}
	path := p.begins("for_ada", `{}`, ada...)
	p.want(p.do("GET", path, ""), 404, `"code":"query_not_found"`)
	p.want(p.do("POST", path+"/cancel", ""), 404, `"code":"query_not_found"`)
	if j := p.ends(path, ada...); j.Status != "SUCCEEDED" {
		t.Errorf("%+v", j)
	}

	// A job counts as a call of its session.
	session := []string{"X-Spiced-Session", "s1"}
	p.ends(p.begins("rarely", `{}`, session...))
	p.want(p.do("POST", "/v1/tools/rarely:invoke", "", append(session, respondAsync...)...), 413, `"code":"limit_exceeded"`)

	// An edit takes effect.
	write(t, filepath.Join(dir, "spicepod.yaml"), strings.Replace(jobsPod, "{ name: twice, from: sql, async: true", "{ name: twice, from: sql, async: false", 1))
	p.eventually("to reload", func() bool {
		return p.do("POST", "/v1/tools/twice:invoke", `{"args":{"x":1}}`, respondAsync...).status == 200
	})
}

// TestJobsCountOnce: a call is a statement, or a call of a tool.
func TestJobsCountOnce(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", jobsPod))
	p.ends(p.begins("twice", `{"x":1}`, "X-Request-Id", "r-1"))
	p.want(p.do("POST", "/v1/sql", "SELECT tool, surface, ok, request_id FROM spiced.tool_calls"), 200,
		`[{"tool":"twice","surface":"sql","ok":true,"request_id":"r-1"}]`)
	p.ends(p.begins("fails", `{"x":"y"}`))
	p.want(p.do("POST", "/v1/sql", "SELECT ok, code, count(*) AS n FROM spiced.tool_calls WHERE tool = 'fails' GROUP BY ALL"),
		200, `[{"ok":false,"code":"execution_error","n":1}]`)
	p.want(p.do("GET", "/v1/tools?view=stats", ""), 200, `"name":"fails","description":"Fails.","parameter_count":1,"total_invocations":1,"errors":1`)
	p.want(p.do("POST", "/v1/tools/twice:invoke", `{"args":{"x":"many"}}`, respondAsync...), 400)
	p.want(p.do("POST", "/v1/sql", "SELECT count(*) AS n, count(*) FILTER (NOT ok) AS bad FROM spiced.tool_calls WHERE tool = 'twice'"), 200, `[{"n":2,"bad":1}]`)
}

// TestCancelledJob ends a Python function that would run for ten minutes.
func TestCancelledJob(t *testing.T) {
	t.Parallel()
	needsIsolation(t)
	p := start(t, folder(t, "spicepod.yaml", podHead+`functions:
  - name: waits
    from: exec
    async: true
    description: Waits.
    signature: { args: [{ name: s, type: float64 }], returns: float64 }
    body: |
      import asyncio, time
      async def waits(s):
          time.sleep(s)
          return s
`))
	p.wantJob("waits", `{"s":0.5}`, `[{"result":0.5}]`)
	path := p.begins("waits", `{"s":600}`)
	p.eventually("to run", func() bool { return p.job(path).Status == "RUNNING" })
	p.want(p.do("GET", "/v1/sql/active", ""), 200, `"query_id":"`+strings.TrimPrefix(path, "/v1/queries/")+`"`)
	p.want(p.do("POST", path+"/cancel", ""), 200, `"status":"CANCELLED"`)
	if j := p.ends(path); j.Status != "CANCELLED" || j.Error.Code != "cancelled" {
		t.Errorf("%+v", j)
	}
	p.eventually("to run nothing", func() bool { return strings.Contains(p.do("GET", "/v1/sql/active", "").body, `"total_count":0`) })
	p.eventually("to count it", func() bool {
		return p.sql("SELECT count(*) AS n FROM spiced.tool_calls WHERE tool = 'waits' AND code = 'cancelled'") == `[{"n":1}]`
	})
	p.wantJob("waits", `{"s":0.25}`, `[{"result":0.25}]`)

	// As many as a caller may have.
	var paths []string
	for range query.DefaultMaxPerOwner {
		paths = append(paths, p.begins("waits", `{"s":600}`))
	}
	r := p.do("POST", "/v1/tools/waits:invoke", `{"args":{"s":1}}`, respondAsync...)
	p.want(r, 429, `"ok":false`, `"code":"too_many_requests"`, "wait until one is over")
	if r.header.Get("Preference-Applied") != "" || r.header.Get("Retry-After") == "" {
		t.Errorf("headers %v", r.header)
	}
	for _, path := range paths {
		p.want(p.do("POST", path+"/cancel", ""), 200, `"status":"CANCELLED"`)
	}
}

// TestJobsWithKeys: a job is its key's, and a call that needs approval is no job.
func TestJobsWithKeys(t *testing.T) {
	t.Parallel()
	pod := strings.NewReplacer("description: Pay back.", "description: Pay back., async: true", "description: For guests.",
		"description: For guests., async: true",
		"functions:\n", `functions:
  - { name: free, from: sql, async: true, description: Of anyone., signature: { returns: utf8 }, body: "'yes'" }
`).Replace(approvalsPod)
	p := start(t, folder(t, "spicepod.yaml", pod))
	key := func(name string, more ...string) []string {
		return append([]string{"X-API-Key", name + "-key-0123456789-0123456789-012345"}, more...)
	}
	p.want(p.do("POST", "/v1/tools/free:invoke", "", respondAsync...), 401)
	path := p.begins("free", `{}`, key("bob")...)
	for _, other := range [][]string{key("ann"), key("eva")} {
		p.want(p.do("GET", path, "", other...), 404, `"code":"query_not_found"`)
		p.want(p.do("POST", path+"/cancel", "", other...), 404, `"code":"query_not_found"`)
	}
	p.want(p.do("GET", path, ""), 401)
	j := p.ends(path, key("bob")...)
	if string(j.Result.Rows) != `[{"result":"yes"}]` {
		t.Errorf("%+v", j)
	}
	p.want(p.do("GET", "/v1/results/"+j.Manifest.Ref, "", key("ann")...), 404)

	// A user for whom the key may act, in the context of the body.
	const zoe = `{"context":{"user_id":"zoe"}}`
	r := p.do("POST", "/v1/tools/free:invoke", zoe, key("web", respondAsync...)...)
	p.want(r, 202)
	p.want(p.do("GET", r.header.Get("Location"), "", key("web")...), 404)
	p.ends(r.header.Get("Location"), key("web", "X-Spiced-User", "zoe")...)
	p.want(p.do("POST", "/v1/tools/free:invoke", zoe, key("bob", respondAsync...)...), 403, `"code":"permission_denied"`)

	// A call that needs approval waits for a person, as without the preference.
	id := p.needs("refund", `{"amount":5}`, key("bob", respondAsync...)...)
	p.want(p.do("GET", "/v1/queries", "", key("bob")...), 200, `"total_count":1`)
	p.want(p.decide(id, "approve", key("ann")...), 200)
	p.want(p.do("POST", "/v1/queries", `{"sql":"SELECT refund(5.0, '')"}`, key("bob")...), 202) // the approval is not for a statement
	r, _ = p.asked("refund", `{"amount":5}`, key("bob", respondAsync...)...)
	p.want(r, 200, `"result":"paid 5.0"`)
	p.needs("refund", `{"amount":5}`, key("bob", respondAsync...)...) // it was used
	guest := key("web", "X-Spiced-Space", "g1")
	p.needs("guests", `{"n":1}`, append(guest, respondAsync...)...)
	other := key("web", "X-Spiced-Space", "h1")
	p.ends(p.begins("guests", `{"n":1}`, other...), other...)
}
