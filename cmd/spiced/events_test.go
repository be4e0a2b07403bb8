package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/sse"
)

// followed is the stream of events of a program.
type followed struct {
	t      *testing.T
	events *sse.Reader
}

// happened is an event of it.
type happened struct {
	kind, data string
	row        map[string]any // the data
}

// follow opens the stream, from whose beginning nothing is missing.
func (p *program) follow(query string, header ...string) *followed {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	p.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", p.url+"/v1/events"+query, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { resp.Body.Close() })
	f := &followed{p.t, sse.NewReader(bufio.NewReader(resp.Body), 1<<20)}
	if first, ok := f.next(); !ok || first.kind != "hello" {
		p.t.Fatalf("status %d, %+v", resp.StatusCode, first)
	}
	return f
}

func (f *followed) next() (h happened, ok bool) {
	f.t.Helper()
	e, err := f.events.Next()
	if err != nil {
		return h, false
	}
	h = happened{kind: e.Type, data: string(e.Data)}
	if err := json.Unmarshal(e.Data, &h.row); err != nil {
		f.t.Errorf("%s: %v", h.data, err)
	}
	return h, true
}

// until reads up to the first event of a kind with the parts, and returns it and those before.
func (f *followed) until(kind string, parts ...string) (h happened, before []happened) {
	f.t.Helper()
	for {
		h, ok := f.next()
		if !ok {
			f.t.Fatalf("the stream ended before an event %s with %q, after %+v", kind, parts, before)
		}
		if h.kind == kind && !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(h.data, part) }) {
			return h, before
		}
		before = append(before, h)
	}
}

// row returns the only row of a statement.
func (p *program) row(statement string, header ...string) map[string]any {
	p.t.Helper()
	r := p.do("POST", "/v1/sql", statement, header...)
	var rows []map[string]any
	if err := json.Unmarshal([]byte(r.body), &rows); err != nil || len(rows) != 1 {
		p.t.Fatalf("%s: %d %s", statement, r.status, r.body)
	}
	return rows[0]
}

// TestEventsAreWhatTheListsShow: calls, steps, work, datasets and loads.
func TestEventsAreWhatTheListsShow(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", numbers, "k.csv", numbersCSV)
	p := start(t, dir)
	f := p.follow("")

	p.want(p.do("POST", "/v1/tools/f:invoke", `{"args":{"x":"one"},"context":{"session_id":"s1"}}`), 400, "invalid_arguments")
	call, _ := f.until("call", `"tool":"f"`, `"ok":false`, `"session_id":"s1"`)
	if row := p.row("SELECT * FROM spiced.tool_calls WHERE id = '" + call.row["id"].(string) + "'"); !reflect.DeepEqual(row, call.row) {
		t.Errorf("the event and the row of the table differ:\n%s\n%v", call.data, row)
	}
	p.want(p.do("POST", "/v1/sql", "SELECT f(1), 'a literal'"), 200, "2")
	begun, _ := f.until("work", `"sql_preview":"select f`)
	ended, _ := f.until("work", `"ended":true`, begun.row["query_id"].(string))
	begun.row["ended"] = true
	if !reflect.DeepEqual(begun.row, ended.row) || strings.Contains(begun.data, "literal") {
		t.Errorf("work: %s, then %s", begun.data, ended.data)
	}
	f.until("call", `"tool":"f"`, `"ok":true`, `"surface":"sql"`)

	write(t, filepath.Join(dir, "k.csv"), numbersCSV+"3,c\n")
	p.want(p.do("POST", "/v1/datasets/kept/acceleration/refresh", ""), 201)
	done, _ := f.until("dataset", `"name":"kept"`, `"status":"Ready"`, `"rows":3`)
	if list := p.do("GET", "/v1/datasets?status=true", ""); !strings.Contains(list.body, done.data) {
		t.Errorf("the event is %s, the list %s", done.data, list.body)
	}

	write(t, filepath.Join(dir, "spicepod.yaml"), strings.Replace(numbers, "x + 1", "x + 2", 1))
	f.until("generation", `"accepted":true`, `"changed":["function f"]`, `"problems":[]`, `"trigger":"file"`, `"ready":true`)
	write(t, filepath.Join(dir, "spicepod.yaml"), "version: v1\nkind: [")
	f.until("generation", `"accepted":false`, `"changed":[]`, `"severity":"error"`)
}

// TestEventsOfWhatIsHidden: bob gets no event that names what only ann may see.
func TestEventsOfWhatIsHidden(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", availablePod)
	p := start(t, dir)
	ann, bob := p.follow("", keyOf("ann")...), p.follow("", keyOf("bob")...)
	for _, tool := range []string{"refundify", "open_vaultage"} {
		p.want(p.do("POST", "/v1/tools/"+tool+":invoke", `{"args":{"x":1}}`, keyOf("ann")...), 200, `"ok":true`)
		ann.until("call", `"tool":"`+tool+`"`)
	}
	p.want(p.do("POST", "/v1/sql", "SELECT refundify(1), max(a) FROM rowsify()", keyOf("ann")...), 200)
	ann.until("call", `"tool":"rowsify"`)
	changed := strings.NewReplacer("body: x + 1", "body: x + 2", "body: x * 2", "body: x * 3", "body: x * 10", "body: x * 11")
	write(t, filepath.Join(dir, "spicepod.yaml"), changed.Replace(availablePod))
	ann.until("generation", `"function refundify"`, `"function open_vaultage"`, `"function public_fee"`)
	p.want(p.do("POST", "/v1/tools/public_fee:invoke", `{"args":{"x":1}}`, keyOf("ann")...), 200, `"ok":true`)
	last, before := bob.until("call", `"tool":"public_fee"`)
	var text string
	kinds := map[string]int{}
	for _, h := range append(before, last) {
		text += h.data + "\n"
		kinds[h.kind]++
	}
	unseen(t, "the stream", "", text)
	if kinds["call"] != 1 || kinds["generation"] == 0 || kinds["work"] != 0 || !strings.Contains(text, "function public_fee") {
		t.Errorf("bob's events: %v\n%s", kinds, text)
	}
}

// TestARemovedKeyEndsItsStreams, and no other.
func TestARemovedKeyEndsItsStreams(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", approvalsPod)
	p := start(t, dir)
	ann, eva, bob := p.follow("", keyOf("ann")...), p.follow("", keyOf("eva")...), p.follow("?kinds=approval", keyOf("bob")...)
	_, id := p.asked("refund", `{"amount":1,"note":"a"}`, keyOf("bob")...)
	for _, f := range []*followed{ann, eva, bob} {
		f.until("approval", id, `"status":"pending"`, `"asked_by":"bob"`)
	}
	// Eva stays, but is no approver any more.
	write(t, filepath.Join(dir, "spicepod.yaml"), strings.NewReplacer("approvers: [ann, eva]", "approvers: [ann]",
		"        - { name: bob, key: bob-key-0123456789-0123456789-012345 }\n", "").Replace(approvalsPod))
	ann.until("generation", `"accepted":true`)
	if h, ok := bob.next(); ok {
		t.Errorf("bob's stream goes on: %+v", h)
	}
	p.want(p.do("GET", "/v1/events", "", keyOf("bob")...), 401, "not known")
	p.want(p.do("POST", "/v1/approvals/"+id, `{"decision":"approve"}`, keyOf("ann")...), 200, "approved")
	ann.until("approval", id, `"status":"approved"`, `"decided_by":"ann"`)
	p.want(p.do("POST", "/v1/reload", "", keyOf("ann")...), 403)
	_, own := p.asked("refund", `{"amount":2,"note":"b"}`, keyOf("eva")...)
	_, before := eva.until("approval", own)
	for _, h := range before {
		if strings.Contains(h.data, `"status":"approved"`) {
			t.Errorf("eva sees what approvers see: %s", h.data)
		}
	}
}

// TestShutdownEndsStreams: they have nothing to finish.
func TestShutdownEndsStreams(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", numbers, "k.csv", numbersCSV))
	f := p.follow("")
	p.stop()
	for {
		if _, ok := f.next(); !ok {
			break
		}
	}
	if status := p.wait(); status != 0 || strings.Contains(p.log.String(), "requests were cut off") {
		t.Errorf("exit status %d:\n%s", status, p.log)
	}
}
