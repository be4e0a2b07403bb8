package sqlapi

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/llm/nsql"
)

// writesSQL answers every question with a statement.
func writesSQL(sql string) *fakeChats {
	return &fakeChats{
		models: []models.Info{{Name: "helper", Status: models.StatusReady}, {Name: "broken", Status: models.StatusError}},
		nsql: func(context.Context, string, nsql.Request, caller.Caller) (nsql.Answer, error) {
			return nsql.Answer{SQL: sql, Attempts: 2}, nil
		},
	}
}

const question = `{"query":"what is the answer?"}`

func TestQuestionsAreAnswered(t *testing.T) {
	const sql = "SELECT 42 AS answer, 'a\"b' AS s"
	f := serveChats(t, writesSQL(sql), nil)
	for _, c := range []struct{ accept, media, body string }{
		{"", "application/json", `[{"answer":42,"s":"a\"b"}]`},
		{"*/*", "application/json", `[{"answer":42`},
		{"application/sql", "application/sql", sql},
		{"text/html, application/sql;q=0.5", "application/sql", sql},
		{"application/sql;q=0, text/csv", "text/csv; charset=utf-8; header=present", "answer,s\n42,"},
		{"text/plain", "text/plain; charset=utf-8", "answer"},
		{"application/json, application/sql", "application/json", `[{"answer":42`},
		{"application/jsonl", "application/x-ndjson", `{"answer":42`},
		{"application/vnd.spiceai.sql.v1+json", "application/vnd.spiceai.sql.v1+json", `{"schema":`},
		{"image/png", "application/json", `[{"answer":42`},
	} {
		r := f.send("POST", "/v1/nsql", question, "Accept", c.accept)
		f.want(r, 200, c.body)
		if got := r.header.Get("Content-Type"); got != c.media || r.header.Get("Vary") != "Accept" || r.header.Get(headerGeneration) == "" {
			t.Errorf("%s: got %s %v", c.accept, got, r.header)
		}
	}
	var result struct {
		SQL      string
		RowCount int `json:"row_count"`
		Schema   struct{ Fields []struct{ Name string } }
		Data     []map[string]any
	}
	f.decode(f.send("POST", "/v1/nsql", question, "Accept", mediaNSQL), &result)
	if result.SQL != sql || result.RowCount != 1 || len(result.Schema.Fields) != 2 || result.Data[0]["answer"] != 42.0 {
		t.Errorf("got %+v", result)
	}
	if log := f.log.String(); !strings.Contains(log, `"attempts":2`) || strings.Contains(log, "42 AS") {
		t.Error("the log has the attempts and no literal")
	}
}

func TestQuestionsAreRead(t *testing.T) {
	chats := writesSQL("SELECT 1")
	var got nsql.Request
	var model string
	var scope caller.Caller
	chats.nsql = func(_ context.Context, m string, q nsql.Request, s caller.Caller) (nsql.Answer, error) {
		got, model, scope = q, m, s
		return nsql.Answer{SQL: "SELECT 1", Attempts: 1}, nil
	}
	f := serveChats(t, chats, nil)
	f.want(f.send("POST", "/v1/nsql", `{"query":"q","stream":true,"sample_data_enabled":true,"datasets":["a","b"],"prompt_cache_key":"k"}`, headerUser,
		"ada"), 200, "")
	if diff := cmp.Diff(nsql.Request{Query: "q", SampleData: true, Datasets: []string{"a", "b"}, PromptCacheKey: "k"}, got); diff != "" || model != "helper" {
		t.Error(model, diff)
	}
	if scope.UserID != "ada" || scope.Model != "helper" || scope.Protocol != caller.Chat {
		t.Errorf("scope %+v", scope)
	}
	f.want(f.send("POST", "/v1/nsql", `{"query":"q","model":"other"}`), 200, "")
	if model != "other" || got.Datasets != nil {
		t.Errorf("got %+v", got)
	}
	for _, c := range []struct{ body, want string }{
		{`{}`, `there is no \"query\"`},
		{`{"query":" "}`, `there is no \"query\"`},
		{`{"query":"q","querry":1}`, `did you mean \"query\"?`},
		{`{"query":1}`, "not a string"},
		{`[]`, "not an object"},
	} {
		f.want(f.send("POST", "/v1/nsql", c.body), 400, c.want)
	}
	f.want(f.send("POST", "/v1/nsql", strings.Repeat(" ", maxSmallBody+1)), 413, "request_too_large")
	chats.models = append(chats.models, models.Info{Name: "second", Status: models.StatusReady})
	f.want(f.send("POST", "/v1/nsql", question), 400, "set model to one of helper, second")
	chats.models = nil
	f.want(f.send("POST", "/v1/nsql", question), 400, "no model is served")
	none := serve(t, nil)
	none.want(none.send("POST", "/v1/nsql", question), 404, "not_served")
}

func TestQuestionsThatFail(t *testing.T) {
	f := serveChats(t, writesSQL("SELECT nothing FROM nowhere"), nil)
	var e struct {
		Code, SQL string
		Line      int
	}
	r := f.send("POST", "/v1/nsql", question)
	f.decode(r, &e)
	if r.status != 400 || e.Code != "not_found" || e.SQL != "SELECT nothing FROM nowhere" {
		t.Errorf("got %d %+v", r.status, e)
	}
	f.want(f.send("POST", "/v1/nsql", question, "Accept", "application/sql"), 200, "SELECT nothing FROM nowhere")
	chats := writesSQL("")
	f = serveChats(t, chats, nil)
	for _, c := range chatFailures {
		chats.nsql = func(context.Context, string, nsql.Request, caller.Caller) (nsql.Answer, error) {
			return nsql.Answer{}, c.err
		}
		r := f.send("POST", "/v1/nsql", question)
		f.want(r, c.status, c.want)
		if got := r.header.Get("Retry-After") + "/" + r.header.Get("X-Should-Retry"); got != c.headers && c.status != 500 || strings.Contains(r.body, "secret") {
			t.Errorf("%v: %s %s", c.err, got, r.body)
		}
	}
}

func TestQuestionsAreCancelled(t *testing.T) {
	began := make(chan struct{})
	chats := writesSQL("")
	chats.nsql = func(ctx context.Context, _ string, _ nsql.Request, _ caller.Caller) (nsql.Answer, error) {
		close(began)
		<-ctx.Done()
		return nsql.Answer{}, &chat.Error{Code: errcode.Cancelled, Message: "the client left"}
	}
	f := serveChats(t, chats, nil)
	done := make(chan reply)
	go func() { done <- f.send("POST", "/v1/nsql", question, headerRequestID, "a") }()
	<-began
	f.want(f.send("POST", "/v1/requests/a:cancel", ""), 200, "true")
	f.want(<-done, 499, "was cancelled by")
}

func TestHeaded(t *testing.T) {
	for _, size := range []int{1, 2, 100} {
		var out strings.Builder
		h := &headed{Writer: &out, head: []byte(`{"sql":"x",`)}
		for piece := range slices.Chunk([]byte(`{"a":{}}`), size) {
			if n, err := h.Write(piece); n != len(piece) || err != nil {
				t.Fatalf("got %d, %v", n, err)
			}
		}
		if !json.Valid([]byte(out.String())) || out.String() != `{"sql":"x","a":{}}` {
			t.Errorf("got %s", out.String())
		}
	}
}
