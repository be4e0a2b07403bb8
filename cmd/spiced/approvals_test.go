package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// approvalsPod has a function whose calls ann must approve, and ways around it.
const approvalsPod = `version: v1
kind: Spicepod
name: pod
runtime:
  functions: { enabled: true }
  auth:
    approvers: [ann, eva]
    api-key:
      enabled: true
      principals:
        - { name: ann, key: ann-key-0123456789-0123456789-012345 }
        - { name: eva, key: eva-key-0123456789-0123456789-012345 }
        - { name: bob, key: bob-key-0123456789-0123456789-012345 }
        - { name: web, key: web-key-0123456789-0123456789-012345, on_behalf_of: true }
functions:
  - { name: refund, from: sql, description: Pay back., risk: write, requires_approval: true, body: "'paid ' || amount || note", signature: { args: [{ name: amount, type: float64 }, { name: note, type: utf8, default: "" }], returns: utf8 } }
  - { name: pages, kind: table, from: sql, description: Pages., requires_approval: true, body: SELECT range AS a FROM range((SELECT n FROM args)), signature: { args: [{ name: n, type: int64 }], returns: [{ name: a, type: int64 }] } }
  - { name: guests, from: sql, description: For guests., requires_approval: "ctx.space_id.startsWith('g')", body: n, signature: { args: [{ name: n, type: int64 }], returns: int64 } }
  - { name: of_author, from: sql, description: Calls another one., body: refund(n), signature: { args: [{ name: n, type: float64 }], returns: utf8 } }
views:
  - { name: paid, sql: "SELECT refund(1.0) AS r, (SELECT max(a) FROM pages(2)) AS p" }
`

// approvalOf is an approval as clients see it.
type approvalOf struct {
	ID, Tool, Status, Note, Checksum string
	AskedBy                          string `json:"asked_by"`
	DecidedBy                        string `json:"decided_by"`
	Arguments                        json.RawMessage
}

// asked calls a tool by :invoke, and returns its result and the id of an approval that it needs.
func (p *program) asked(tool, arguments string, header ...string) (r reply, id string) {
	p.t.Helper()
	r = p.do("POST", "/v1/tools/"+tool+":invoke", `{"args":`+arguments+`}`, header...)
	var body struct {
		Error struct {
			ID string `json:"approval_id"`
		}
	}
	if err := json.Unmarshal([]byte(r.body), &body); err != nil {
		p.t.Fatalf("%v: %s", err, r.body)
	}
	return r, body.Error.ID
}

// needs calls a tool that needs approval.
func (p *program) needs(tool, arguments string, header ...string) (id string) {
	p.t.Helper()
	r, id := p.asked(tool, arguments, header...)
	p.want(r, 403, `"ok":false`, `"code":"approval_required"`, `"would_run":{"tool":`, `"expires_at":`)
	if id == "" {
		p.t.Fatalf("no id: %s", r.body)
	}
	return id
}

func (p *program) decide(id, decision string, header ...string) reply {
	p.t.Helper()
	return p.do("POST", "/v1/approvals/"+id, `{"decision":"`+decision+`"}`, header...)
}

func (p *program) approvals(header ...string) (list []approvalOf) {
	p.t.Helper()
	r := p.do("GET", "/v1/approvals", "", header...)
	if err := json.Unmarshal([]byte(r.body), &list); err != nil || r.status != 200 {
		p.t.Fatalf("%d %v: %s", r.status, err, r.body)
	}
	return list
}

// A call runs once for each approval, for the caller and the arguments that were approved.
func TestApprovals(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", approvalsPod))
	bob, ann := keyOf("bob"), keyOf("ann")
	id := p.needs("refund", `{"amount":7}`, bob...)
	if again := p.needs("refund", ` { "note": "" , "amount" : 7 }`, bob...); again != id {
		t.Errorf("the same call asks again: %s, %s", id, again)
	}
	p.want(p.do("GET", "/v1/approvals/"+id, "", ann...), 200, `"tool":"refund"`, `"arguments":{"amount":7,"note":""}`, `"status":"pending"`, `"asked_by":"bob"`,
		`"risk":"write"`)

	// Who may decide.
	p.want(p.decide(id, "approve", bob...), 403, "not that of an approver")
	p.want(p.decide(id, "approve", keyOf("web")...), 404, "there is no approval")
	p.want(p.do("GET", "/v1/approvals/"+id, "", keyOf("web")...), 404)
	p.want(p.do("POST", "/v1/approvals/"+id, `{"decision":"approve"}`), 401)
	p.want(p.do("POST", "/v1/approvals/"+id, `{"decision":"approve","note":"as agreed"}`, ann...), 200, `"status":"approved"`, `"decided_by":"ann"`,
		`"note":"as agreed"`)
	p.want(p.decide(id, "approve", keyOf("eva")...), 200, `"decided_by":"ann"`)

	// What it is not for.
	for _, arguments := range []string{
		`{"amount":7.0}`, `{"amount":70}`, `{"amount":7,"note":" "}`, `{"amount":"7.5"}`, `{"amount":7,"note":"\u200b"}`, `{"amount":7e0}`,
	} {
		if other := p.needs("refund", arguments, bob...); other == id {
			t.Errorf("%s is the call that was approved", arguments)
		}
	}
	p.want(p.do("POST", "/v1/tools/refund:invoke", `{"args":{"amount":7,"amount":8}}`, bob...), 400, `the name \"amount\" twice`)
	for _, who := range [][]string{keyOf("eva"), keyOf("web"), append(keyOf("web"), "X-Spiced-User", "bob")} {
		if other := p.needs("refund", `{"amount":7}`, who...); other == id {
			t.Errorf("the approval is for %s as well", who)
		}
	}

	// The name in another case is the same tool; the approval is used once.
	r, _ := p.asked("REFUND", `{"not\u0065":"","amount":7}`, bob...)
	p.want(r, 200, `"ok":true`, `"result":"paid 7.0"`)
	if other := p.needs("refund", `{"amount":7}`, bob...); other == id {
		t.Error("the approval was used twice")
	}
	p.want(p.do("GET", "/v1/approvals/"+id, "", ann...), 200, `"status":"used"`, `"used_at":"`)
	p.want(p.decide(id, "deny", ann...), 409, "the approval is used", `"code":"approval_decided"`)

	// Denied, also after it was approved.
	id = p.needs("refund", `{"amount":9}`, bob...)
	p.want(p.decide(id, "approve", ann...), 200)
	p.want(p.do("POST", "/v1/approvals/"+id, `{"decision":"deny","note":"too much"}`, ann...), 200, `"status":"denied"`)
	r, _ = p.asked("refund", `{"amount":9}`, bob...)
	p.want(r, 403, `"code":"approval_denied"`, "denied by ann: too much")
	p.want(p.decide(id, "approve", ann...), 409)

	// An approver's own calls are decided by another one.
	id = p.needs("refund", `{"amount":1}`, ann...)
	p.want(p.decide(id, "approve", ann...), 403, "calls of the same principal")
	p.want(p.decide(id, "approve", keyOf("eva")...), 200)
	r, _ = p.asked("refund", `{"amount":1}`, ann...)
	p.want(r, 200, `"result":"paid 1.0"`)

	// Lists: an approver's and a caller's own.
	for _, a := range p.approvals(bob...) {
		if a.AskedBy != "bob" {
			t.Errorf("bob sees %+v", a)
		}
	}
	if all, own := len(p.approvals(ann...)), len(p.approvals(bob...)); all <= own || own < 2 {
		t.Errorf("ann sees %d, bob %d", all, own)
	}
	const count = "SELECT count(*) AS n, count(DISTINCT asked_by) AS who FROM spiced.approvals"
	p.want(p.do("POST", "/v1/sql", count, bob...), 200, fmt.Sprintf(`[{"n":%d,"who":1}]`, len(p.approvals(bob...))))
	p.want(p.do("POST", "/v1/sql", count, ann...), 200, fmt.Sprintf(`[{"n":%d,"who":4}]`, len(p.approvals(ann...))))
	p.want(p.do("GET", "/v1/approvals?status=denied", "", ann...), 200, `"status":"denied"`)

	for _, line := range []string{
		`"outcome":"asked"`, `"outcome":"approved","principal":"ann"`, `"outcome":"denied","principal":"ann"`,
		`"outcome":"used","principal":"bob"`,
	} {
		if !strings.Contains(p.log.String(), line) {
			t.Errorf("the audit lacks %s", line)
		}
	}
	if strings.Contains(p.log.String(), "too much") || p.metric("spiced_approvals_total{event=\"denied\"}") != "1" {
		t.Error("the log has a note, or the metrics do not count")
	}
}

// Statements of a caller cannot call what requires approval, over any protocol and in any form.
func TestApprovalsInStatements(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", approvalsPod), sqlProtocols()...)
	bob := keyOf("bob")
	const refused = "requires approval, which a statement cannot ask for"
	for _, sql := range []string{
		"SELECT refund(1.0)", "SELECT REFUND(1.0)", `SELECT "refund"(1.0)`, "SELECT public.refund(1.0)", "SELECT spice.public.refund(1.0)",
		"SELECT main.refund(1.0) FROM (SELECT 1 AS main)",
		"SELECT a.refund() FROM (SELECT 1.0 AS a)", "FROM pages(1)", "SELECT * FROM paid, pages(1)", "SELECT list_transform([1.0], lambda x: refund(x))",
		"WITH c AS (SELECT refund(1.0)) FROM c",
		"EXPLAIN ANALYZE SELECT refund(1.0)", "EXPLAIN SELECT refund(1.0)", "DESCRIBE SELECT refund(1.0)", "VALUES (refund(1.0))", "SELECT 1 ORDER BY refund(1.0)",
		"SELECT of_author(1.0), refund(2.0)",
		"SELECT guests(1)", "SELECT count(*) FILTER (refund(1.0) = '') FROM paid", "SELECT (SELECT refund(1.0))", "SELECT 1 WHERE false AND refund(1.0) = ''",
		"SELECT * FROM (PIVOT (SELECT refund(1.0) AS a, 1 AS b) ON a USING sum(b))", "SELECT tool_invoke('sql', {query: 'SELECT refund(1.0)'})",
	} {
		r := p.do("POST", "/v1/sql", sql, append(bob, "Accept", "application/json")...)
		if r.status != 400 || !strings.Contains(r.body, refused) && !strings.Contains(r.body, "refused") {
			t.Errorf("%s: %d %s", sql, r.status, r.body)
		}
	}
	r, _ := p.asked("sql", `{"query":"SELECT refund(1.0)"}`, bob...)
	p.want(r, 200, `"ok":false`, refused)

	// What the author of the Spicepod calls, and what the expression lets through.
	p.want(p.do("POST", "/v1/sql", "SELECT of_author(2.0) AS a, r, p FROM paid", bob...), 200, `[{"a":"paid 2.0","r":"paid 1.0","p":1}]`)
	p.want(p.do("POST", "/v1/sql", "SELECT guests(1) AS n", append(keyOf("web"), "X-Spiced-Space", "ann")...), 200, `[{"n":1}]`)
	p.want(p.do("POST", "/v1/sql", "SELECT guests(1) AS n", append(keyOf("web"), "X-Spiced-Space", "guests")...), 400, refused)

	// A statement may make several calls, and some would have run: tool_invoke is refused.
	p.want(p.do("POST", "/v1/sql", "SELECT tool_invoke('refund', {amount: i}) AS r FROM range(2) t(i)", bob...), 400,
		"refund requires approval, which a call in a statement cannot ask for")
	// A call that its arguments do not permit is not asked about.
	p.want(p.do("POST", "/v1/tools/guests:invoke", `{"args": {"n": 99999999999999999999}}`, bob...), 400, "out of the range of int64")
	if n := len(p.approvals(bob...)); n != 0 {
		t.Errorf("%d approvals were asked for", n)
	}

	// PostgreSQL: simple, prepared.
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, fmt.Sprintf("postgres://bob:%s@%s/spice", bob[1], p.address("postgres")))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec} {
		if _, err := conn.Exec(ctx, "SELECT refund($1::float8)", mode, 1.0); err == nil || !strings.Contains(err.Error(), refused) ||
			!strings.Contains(err.Error(), "42501") {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
}

// A statement that was prepared before its function required approval ends with that.
func TestApprovalsOfPreparedStatements(t *testing.T) {
	t.Parallel()
	free := strings.Replace(approvalsPod, "risk: write, requires_approval: true", "risk: write, requires_approval: false", 1)
	dir := folder(t, "spicepod.yaml", free)
	p := start(t, dir, sqlProtocols()...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	conn := pgxConnect(t, p, keyOf("bob")[1], "sslmode=disable&user=bob")
	if _, err := conn.Prepare(ctx, "kept", "SELECT refund($1::float8)"); err != nil {
		t.Fatal(err)
	}
	var text string
	if err := conn.QueryRow(ctx, "kept", 1.0).Scan(&text); err != nil || text != "paid 1.0" {
		t.Fatal(text, err)
	}
	write(t, filepath.Join(dir, "spicepod.yaml"), approvalsPod)
	var err error
	p.eventually("to require approval", func() bool {
		err = conn.QueryRow(ctx, "kept", 1.0).Scan(&text)
		return err != nil
	})
	if !strings.Contains(err.Error(), "requires approval") {
		t.Error(err)
	}
}

// Of many equal calls at once, one uses the approval.
func TestApprovalsAreUsedOnce(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", approvalsPod))
	for round := range 5 {
		arguments := fmt.Sprintf(`{"amount":%d}`, round)
		p.want(p.decide(p.needs("refund", arguments, keyOf("bob")...), "approve", keyOf("ann")...), 200)
		var mu sync.Mutex
		var calls sync.WaitGroup
		count := map[int]int{}
		for range 50 {
			calls.Go(func() {
				r := p.do("POST", "/v1/tools/refund:invoke", `{"args":`+arguments+`}`, keyOf("bob")...)
				mu.Lock()
				defer mu.Unlock()
				count[r.status]++
			})
		}
		calls.Wait()
		if count[200] != 1 || count[403] != 49 {
			t.Fatalf("round %d: %v", round, count)
		}
	}
	if n := len(p.approvals(keyOf("bob")...)); n != 10 {
		t.Errorf("%d approvals, want one that was used and one that is pending for each round", n)
	}
}

// Approvals outlive a restart, and end with the function that they are for.
func TestApprovalsOverARestart(t *testing.T) {
	t.Parallel()
	dir, state := folder(t, "spicepod.yaml", approvalsPod), t.TempDir()
	bob, ann := keyOf("bob"), keyOf("ann")
	p := start(t, dir, "--state-dir", state)
	approved, pending, used := p.needs("refund", `{"amount":1}`, bob...), p.needs("refund", `{"amount":2}`, bob...), p.needs("refund", `{"amount":3}`, bob...)
	changed := p.needs("refund", `{"amount":4}`, bob...)
	for _, id := range []string{approved, used, changed} {
		p.want(p.decide(id, "approve", ann...), 200)
	}
	r, _ := p.asked("refund", `{"amount":3}`, bob...)
	p.want(r, 200)
	p.end()

	p = start(t, dir, "--state-dir", state)
	r, _ = p.asked("refund", `{"amount":1}`, bob...)
	p.want(r, 200, `"result":"paid 1.0"`)
	if id := p.needs("refund", `{"amount":2}`, bob...); id != pending {
		t.Errorf("the pending approval %s became %s", pending, id)
	}
	if id := p.needs("refund", `{"amount":3}`, bob...); id == used {
		t.Error("an approval was used again after the restart")
	}
	p.end()

	// Another body is another function.
	write(t, filepath.Join(dir, "spicepod.yaml"), strings.Replace(approvalsPod, "'paid '", "'stolen '", 1))
	p = start(t, dir, "--state-dir", state)
	if id := p.needs("refund", `{"amount":4}`, bob...); id == changed {
		t.Error("the approval is for a changed function")
	}
	p.end()

	// A damaged file: nothing of it counts, with a warning.
	journal := filepath.Join(state, "approvals", "approvals.journal")
	text, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	write(t, journal, strings.Replace(string(text), `"amount":2`, `"amount":5`, 1))
	p = start(t, dir, "--state-dir", state)
	if list := p.approvals(ann...); len(list) != 0 || !strings.Contains(p.log.String(), "the file of approvals is damaged; no approval of earlier runs counts") {
		t.Errorf("%v\n%s", list, p.log)
	}
	if info, err := os.Stat(journal + ".damaged"); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v %v", info, err)
	}
	p.needs("refund", `{"amount":2}`, bob...)
}

// Settings: expiry, limits; and without keys everyone decides, but no page of another site.
func TestApprovalsWithoutKeys(t *testing.T) {
	t.Parallel()
	pod := strings.Replace(approvalsPod, "  auth:\n", "  tools: { approval_expiry: 300ms, max_approvals: 3, max_approvals_per_caller: 2 }\n  auth:\n", 1)
	pod = strings.Replace(pod, "    api-key:\n      enabled: true", "    api-key:\n      enabled: false", 1)
	p := start(t, folder(t, "spicepod.yaml", pod))
	id := p.needs("refund", `{"amount":1}`)
	p.want(p.do("POST", "/v1/approvals/"+id, `{"decision":"approve"}`, "Origin", "https://evil.example"), 403, "pages of other sites")
	p.want(p.do("POST", "/v1/approvals/"+id, `{"decision":"approve"}`, "Sec-Fetch-Site", "cross-site"), 403)
	p.eventually("to expire the approval", func() bool {
		return strings.Contains(p.do("GET", "/v1/approvals/"+id, "").body, `"status":"expired"`)
	})
	p.want(p.decide(id, "approve"), 409, "the approval is expired")
	p.eventually("to let an approved one expire", func() bool {
		next := p.needs("refund", `{"amount":2}`)
		if p.decide(next, "approve").status != 200 {
			return false
		}
		return strings.Contains(p.do("GET", "/v1/approvals/"+next, "").body, `"status":"approved"`)
	})
	p.eventually("to ask again", func() bool {
		r, id := p.asked("refund", `{"amount":2}`)
		return r.status == 403 && id != "" || r.status == 200
	})
	p.eventually("to reach the limit", func() bool {
		for i := range 3 {
			if r, _ := p.asked("refund", fmt.Sprintf(`{"amount":%d}`, 10+i)); r.status == 429 {
				p.want(r, 429, "too_many_requests", "the limit is 2", "max_approvals_per_caller")
				return true
			}
		}
		return false
	})
	r, _ := p.asked("refund", `{"amount":1,"note":"`+strings.Repeat("x", 70_000)+`"}`)
	p.want(r, 413, "a call that needs approval may have 65536")
	for body, want := range map[string]string{
		`{"decision":"yes"}`: `the decision is \"yes\"`, `{}`: "the decision is", `{"decision":"approve","decision":"deny"}`: "twice",
		`{"decision":"approve","by":"ann"}`: "by", `[]`: "object", `{"decision":"approve","note":"` + strings.Repeat("x", 5000) + `"}`: "the limit is 4096",
	} {
		p.want(p.do("POST", "/v1/approvals/"+id, body), 400, want)
	}
}

// A call waits for its approval until that expires, and not until approval_wait ends.
func TestApprovalExpiresWhileACallWaits(t *testing.T) {
	t.Parallel()
	pod := strings.Replace(approvalsPod, "  auth:\n", "  tools: { approval_expiry: 300ms, approval_wait: 10m }\n  auth:\n", 1)
	p := start(t, folder(t, "spicepod.yaml", pod))
	p.want(p.do("POST", "/v1/tools/refund", `{"amount":3}`, keyOf("bob")...), 403, "expired before it was decided", "call again")
}

// MCP clients get the refusal as a result that a model can read; the risk is in the annotations.
func TestApprovalsOverMCP(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", approvalsPod))
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	header := keyOf("bob")
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
	s, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: p.mcpURL(), HTTPClient: &http.Client{Transport: withHeader{header[0], header[1]}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	call := func() string {
		result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "refund", Arguments: map[string]any{"amount": 5}})
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(result)
		return string(text)
	}
	if got := call(); !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "a person has to approve it (apr_") ||
		!strings.Contains(got, `"spiced/approval":{"approval_id":"apr_`) {
		t.Error(got)
	}
	p.want(p.decide(p.approvals(header...)[0].ID, "approve", keyOf("ann")...), 200)
	if got := call(); !strings.Contains(got, "paid 5.0") {
		t.Error(got)
	}
	list, err := s.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if tool.Annotations.ReadOnlyHint == (tool.Name == "refund") {
			t.Errorf("%s: %+v", tool.Name, tool.Annotations)
		}
	}
}

// The person at an MCP client that shows forms decides, if no keys are needed.
func TestApprovalsByElicitation(t *testing.T) {
	t.Parallel()
	open := strings.Replace(approvalsPod, "    api-key:\n      enabled: true", "    api-key:\n      enabled: false", 1)
	open = strings.Replace(open, "runtime:\n", "runtime:\n  tools: { approval_wait: 5m }\n", 1) // a client that asks does not wait
	p, keys := start(t, folder(t, "spicepod.yaml", open)), start(t, folder(t, "spicepod.yaml", approvalsPod))
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	for _, revision := range []string{"", "2025-11-25"} {
		var asked []string
		answer := &mcp.ElicitResult{}
		connect := func(p *program) *mcp.ClientSession {
			client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked = append(asked, r.Params.Message)
					return answer, nil
				},
			})
			s, err := client.Connect(ctx,
				&mcp.StreamableClientTransport{Endpoint: p.mcpURL(), HTTPClient: &http.Client{Transport: withHeader{"X-Api-Key", keyOf("ann")[1]}}},
				&mcp.ClientSessionOptions{ProtocolVersion: revision})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		}
		call := func(s *mcp.ClientSession, name string, arguments map[string]any) string {
			result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
			if err != nil {
				t.Fatal(err)
			}
			text, _ := json.Marshal(result)
			return string(text)
		}
		s := connect(p)
		for i, c := range []struct {
			answer mcp.ElicitResult
			want   string
		}{
			{mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, "paid"},
			{mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": false}}, "the call was denied"},
			{mcp.ElicitResult{Action: "decline"}, "the call was denied"},
			{mcp.ElicitResult{Action: "cancel"}, "has to approve"},
		} {
			*answer = c.answer
			asked = nil
			amount := 100*len(revision) + i
			if got := call(s, "refund", map[string]any{"amount": amount}); !strings.Contains(got, c.want) || len(asked) != 1 ||
				!strings.Contains(asked[0], fmt.Sprintf(`"amount":%d`, amount)) {
				t.Errorf("%q %d: asked %q, got %s", revision, i, asked, got)
			}
		}
		*answer = mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}
		asked = nil
		if got := call(s, "tool_invoke", map[string]any{"tool_id": "refund", "arguments": map[string]any{"amount": 100*len(revision) + 9}}); !strings.Contains(got,
			"paid") || len(asked) != 1 {
			t.Errorf("tool_invoke: asked %q, got %s", asked, got)
		}
		asked = nil
		if got := call(s, "refund", map[string]any{"amount": 5, "note": strings.Repeat("n", 3000)}); !strings.Contains(got, "has to approve") || len(asked) != 0 {
			t.Errorf("arguments that no form shows: asked %q, got %s", asked, got)
		}
		if call(s, "refund", map[string]any{"amount": 100*len(revision) + 10, "note": "\u202e"}); len(asked) != 1 || !strings.Contains(asked[0], `"\u202e"`) {
			t.Errorf("hidden characters: asked %q", asked)
		}
		asked = nil
		if got := call(connect(keys), "refund", map[string]any{"amount": 1}); !strings.Contains(got, "has to approve") || len(asked) != 0 {
			t.Errorf("with keys: asked %q, got %s", asked, got)
		}
	}
}

// A chat reports that a call needs approval, and goes on with the call if that is given in
// time; the events of agents that show none tell of it as well.
func TestApprovalsInChats(t *testing.T) {
	for name, c := range map[string]struct {
		wait, agent, decision, want string
		script                      map[string]func(chattest.Request) chattest.Answer
	}{
		"not waiting": {"0s", "hawken", "", "has to approve it", map[string]func(chattest.Request) chattest.Answer{
			"Hawken": once(chattest.Call("h1", "lore_search", `{"query":"Mara"}`)),
		}},
		"approved": {"40s", "hawken", "approve", "lore of Mara", map[string]func(chattest.Request) chattest.Answer{
			"Hawken": once(chattest.Call("h1", "lore_search", `{"query":"Mara"}`)),
		}},
		"approved, of a client that waits": {"0s", "hawken", "approve", "lore of Mara", map[string]func(chattest.Request) chattest.Answer{
			"Hawken": once(chattest.Call("h1", "lore_search", `{"query":"Mara"}`)),
		}},
		"denied, by tool_invoke": {"40s", "hawken", "deny", "the call was denied", map[string]func(chattest.Request) chattest.Answer{
			"Hawken": once(chattest.Call("h1", "tool_invoke", `{"tool_id":"lore_search","arguments":{"query":"Mara"}}`)),
		}},
		"delegated": {"40s", "ishvana", "approve", "lore of Mara", map[string]func(chattest.Request) chattest.Answer{
			"Ishvana": once(chattest.Call("c1", "delegate", `{"agent":"hawken","task":"Who is Mara?"}`)),
			"Hawken":  once(chattest.Call("h1", "lore_search", `{"query":"Mara"}`)),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chats := startAgents(t, "name: lore_search, from: sql,", "name: lore_search, from: sql, requires_approval: ctx.agent == 'hawken',", "events: all",
				"events: none", "functions: { enabled: true } }", "functions: { enabled: true }, tools: { approval_wait: "+c.wait+" } }")
			chats.model.Script(plays(c.script))
			var decided sync.WaitGroup
			if c.decision != "" {
				decided.Go(func() {
					chats.eventually("to ask", func() bool {
						for _, a := range chats.approvals() {
							return chats.decide(a.ID, c.decision).status == 200
						}
						return false
					})
				})
			}
			var headers []string
			if name == "approved, of a client that waits" {
				headers = []string{"Prefer", "wait=40"}
			}
			answer, events := chats.asks(c.agent, "Tell me of Mara.", headers...)
			decided.Wait()
			if !strings.Contains(answer, c.want) {
				t.Errorf("answer: %s", answer)
			}
			n := 0
			for _, e := range events {
				if e.Type == "approval_required" {
					n++
					if e.Tool != "lore_search" || (e.Agent == "hawken") != (c.agent == "ishvana") || !strings.Contains(fmt.Sprint(e.Arguments), "Mara") {
						t.Errorf("%+v", e)
					}
				}
			}
			if n != 1 {
				t.Errorf("%d events: %+v", n, events)
			}
			if a := chats.approvals()[0]; a.Tool != "lore_search" || a.Status == "approved" {
				t.Errorf("%+v", a)
			}
		})
	}
}

// A call that waits ends with its caller.
func TestApprovalsOfCallersThatLeave(t *testing.T) {
	t.Parallel()
	pod := strings.Replace(approvalsPod, "runtime:\n", "runtime:\n  tools: { approval_wait: 10m }\n", 1)
	p := start(t, folder(t, "spicepod.yaml", pod))
	ctx, leave := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, "POST", p.url+"/v1/tools/refund:invoke", strings.NewReader(`{"args":{"amount":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-API-Key", keyOf("bob")[1])
	left := make(chan error, 1)
	go func() {
		r, err := http.DefaultClient.Do(request)
		if err == nil {
			r.Body.Close()
		}
		left <- err
	}()
	running := func() string { return p.do("GET", "/v1/sql/active", "", keyOf("bob")...).body }
	p.eventually("to wait", func() bool {
		return strings.Contains(running(), `"name":"refund"`) && len(p.approvals(keyOf("bob")...)) == 1
	})
	leave()
	if err := <-left; err == nil {
		t.Error("it was answered")
	}
	p.eventually("to end the call", func() bool { return !strings.Contains(running(), "refund") })
	if a := p.approvals(keyOf("bob")...)[0]; a.Status != "pending" {
		t.Errorf("%+v", a)
	}
}

// TestHintsOfGatedStatements: a statement that may not call a function says which tool can.
func TestHintsOfGatedStatements(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", approvalsPod+`tools:
  - { name: clock, from: "tool:time_now", as_sql: true, requires_approval: true }
  - { name: time_zone, from: "builtin:time_now", as_sql: true, requires_approval: true }
`))
	key := []string{"X-API-Key", "bob-key-0123456789-0123456789-012345"}
	for statement, hint := range map[string]string{
		"SELECT refund(1.0)":  "POST /v1/tools/refund:invoke",
		"FROM pages(2)":       "as_tool: true makes a tool of the function",
		"SELECT clock()":      "POST /v1/tools/time_now:invoke",
		"SELECT time_zone()":  "POST /v1/tools/time_zone:invoke",
		"SELECT main.clock()": "POST /v1/tools/time_now:invoke",
	} {
		r := p.do("POST", "/v1/sql", statement, key...)
		p.want(r, 400, "requires approval, which a statement cannot ask for", hint)
	}
	p.want(p.do("GET", "/v1/tools/time_now", "", key...), 200)
	p.want(p.do("GET", "/v1/tools/time_zone", "", key...), 200)
}
