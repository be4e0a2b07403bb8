package nsql_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/nsql"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/golden"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

var question = nsql.Request{Query: "How many orders are there?"}

// TestMetricsInThePrompt: a model that writes SQL gets the metrics that its tables permit, and what
// it should do with them.
func TestMetricsInThePrompt(t *testing.T) {
	w := newWorld(t)
	w.env.Metrics = func(permits func(engine.Relation) bool, _ func(string) bool) (list []builtin.Metric) {
		for _, m := range []struct{ name, table string }{{"revenue", "orders"}, {"secrets", "secret"}} {
			if permits(engine.Relation{Schema: "public", Name: m.table}) {
				list = append(list, builtin.Metric{
					Name: m.name, Description: "What customers\npaid", Synonyms: []string{"sales", "turnover"}, Certified: m.name == "revenue",
					Dimensions: []builtin.MetricDimension{{Name: "region"}, {Name: "ordered_at", Grains: []string{"day", "month"}}},
				})
			}
		}
		return list
	}
	writer, model := w.writer(t, tools.Scope{}, "SELECT 1")
	for _, q := range []nsql.Request{question, {Query: "q", Datasets: []string{"orders"}}} {
		if _, err := writer.Write(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	golden.Equal(t, "testdata/prompt_metrics.txt", model.asked[0].Messages[0].Text())
	if text := model.asked[1].Messages[0].Text(); strings.Contains(text, "secrets") || !strings.Contains(text, "`revenue` (certified)") {
		t.Errorf("of one table, the prompt has %s", text)
	}
}

func TestPrompt(t *testing.T) {
	w := newWorld(t)
	writer, model := w.writer(t, tools.Scope{}, "SELECT 1")
	for range 3 {
		if _, err := writer.Write(t.Context(), question); err != nil {
			t.Fatal(err)
		}
	}
	golden.Equal(t, "testdata/prompt.txt", model.asked[0].Messages[0].Text())
	if model.asked[2].Messages[0].Text() != model.asked[0].Messages[0].Text() {
		t.Error("the same question has another prompt")
	}
	sampled := nsql.Request{Query: "q", SampleData: true, Datasets: []string{"hr.people", "spice.public.orders"}, PromptCacheKey: `k"1`}
	if _, err := writer.Write(t.Context(), sampled); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/samples.txt", model.asked[3].Messages[0].Text())
	if key := string(model.asked[3].Extra["prompt_cache_key"]); key != `"k\"1"` || model.asked[3].Form != chat.FormOpenAI {
		t.Errorf("key %s of %q", key, model.asked[3].Form)
	}
	if len(model.asked[0].Tools) != 0 || model.asked[0].Messages[1].Text() != question.Query {
		t.Errorf("asked %+v", model.asked[0])
	}
}

func TestFirstAnswer(t *testing.T) {
	w := newWorld(t)
	for answer, want := range map[string]string{
		"SELECT count(*) FROM orders":                                                "SELECT count(*) FROM orders",
		"```sql\nSELECT count(*)\nFROM spice.public.orders;\n```":                    "SELECT count(*)\nFROM spice.public.orders",
		"Here:\n```\nSELECT 1\n```\nNo, better:\n```SQL\nSELECT 2\n```\nThat is it.": "SELECT 2",
		"```sql\nSELECT 1": "SELECT 1",
		"The answer is\n\nSELECT twice(21); and no more\n\nIt counts the rows of it.":       "SELECT twice(21)",
		"From the orders:\nWITH o AS (\n\nSELECT 1)\n\nFROM o\n\nThis is the one, I think.": "WITH o AS (\n\nSELECT 1)\n\nFROM o",
		"<think>SELECT 1?</think>FROM orders SELECT id":                                     "FROM orders SELECT id",
		"-- all\nSELECT 'a;b' FROM hr.people ;;":                                            "-- all\nSELECT 'a;b' FROM hr.people",
		"```json\n{}\n```\n```sql\n(SELECT 1) UNION (SELECT 2)\n```":                        "(SELECT 1) UNION (SELECT 2)",
		"DESCRIBE orders": "DESCRIBE orders",
	} {
		writer, model := w.writer(t, tools.Scope{}, answer)
		got, err := writer.Write(t.Context(), question)
		if err != nil || got.SQL != want || got.Attempts != 1 || len(model.asked) != 1 {
			t.Errorf("%q: got %q after %d attempts, %v", answer, got.SQL, got.Attempts, err)
			continue
		}
		rows, err := w.DB.Query(t.Context(), engine.Request{SQL: got.SQL, Allow: got.Allow})
		if err != nil {
			t.Errorf("%q does not run: %v", got.SQL, err)
			continue
		}
		rows.Close()
	}
}

// TestTheModelsStatementsAreIsolated: DuckDB computes constants where it binds a statement.
func TestTheModelsStatementsAreIsolated(t *testing.T) {
	w := newWorld(t)
	writer, _ := w.writer(t, tools.Scope{}, "SELECT id FROM orders")
	asked := 0
	isolated := func(r engine.Request) {
		if asked++; !r.Isolate {
			t.Errorf("%q is not isolated", r.SQL)
		}
	}
	check, run := writer.Check, writer.Run
	writer.Check = func(ctx context.Context, r engine.Request) error {
		isolated(r)
		return check(ctx, r)
	}
	writer.Run = func(ctx context.Context, r engine.Request) (*engine.Rows, error) {
		isolated(r)
		return run(ctx, r)
	}
	if _, err := writer.Write(t.Context(), question); err != nil || asked != 2 {
		t.Errorf("%d requests, %v", asked, err)
	}
}

func TestRepair(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		answers []string
		report  []string // what the model reads about the last error
	}{
		"an unknown column":         {[]string{"SELECT id,\n  nam FROM orders", "SELECT id FROM orders"}, []string{"nam", "(line 2, column 3)"}},
		"an unknown table":          {[]string{"SELECT * FROM ordrs", "SELECT * FROM orders"}, []string{`"ordrs"`, `did you mean "orders"?`, "(line 1, column 15)"}},
		"a syntax error":            {[]string{"```sql\nSELECT FROM WHERE\n```", "SELECT 1"}, []string{"syntax error", "line 1, column"}},
		"fails on the data":         {[]string{"SELECT customer::INT FROM orders", "SELECT 1"}, []string{"customer 0"}},
		"DDL":                       {[]string{"DROP TABLE orders", "SELECT 1"}, []string{"DROP statements are refused"}},
		"a file":                    {[]string{"SELECT * FROM read_csv('/etc/passwd')", "SELECT 1"}, []string{"read_csv"}},
		"a path":                    {[]string{"SELECT * FROM '/etc/passwd'", "SELECT 1"}, []string{"/etc/passwd"}},
		"two statements":            {[]string{"SELECT 1; SELECT 2", "SELECT 1"}, []string{"one SELECT at a time"}},
		"EXPLAIN":                   {[]string{"EXPLAIN SELECT 1", "SELECT 1"}, []string{"EXPLAIN"}},
		"ANALYZE":                   {[]string{"ANALYZE SELECT 1", "SELECT 1"}, []string{"syntax error"}},
		"a parameter":               {[]string{"SELECT $1", "SELECT 1"}, []string{"parameter"}},
		"prose":                     {[]string{"I cannot know that.", "SELECT 1"}, []string{"Answer with SQL only"}},
		"nothing":                   {[]string{" ", "SELECT 1"}, []string{"the answer is empty"}},
		"broken, with a whole part": {[]string{"SELECT count(*\nFROM orders", "SELECT 1"}, []string{"syntax error", "line 2"}},
		"in parentheses":            {[]string{"(SELECT 1)\nUNION (SELECT nam FROM orders)", "SELECT 1"}, []string{"nam", "(line 2, column 15)"}},
		"several, then good":        {[]string{"SELECT a", "SELECT b", "SELECT c", "SELECT id FROM orders"}, []string{`"c"`}},
	} {
		t.Run(name, func(t *testing.T) {
			w.ran = nil
			writer, model := w.writer(t, tools.Scope{}, c.answers...)
			got, err := writer.Write(t.Context(), question)
			last := len(c.answers) - 1
			if err != nil || got.SQL != c.answers[last] || got.Attempts != last+1 {
				t.Fatalf("got %q after %d attempts, %v", got.SQL, got.Attempts, err)
			}
			if got.Usage.Input != int64(10*(last+1)) {
				t.Errorf("usage %+v", got.Usage)
			}
			messages := model.asked[last].Messages
			for _, part := range c.report {
				if text := messages[len(messages)-1].Text(); !strings.Contains(text, part) {
					t.Errorf("the model reads %q, without %q", text, part)
				}
			}
			if diff := cmp.Diff(model.asked[0].Messages, messages[:2]); diff != "" {
				t.Errorf("what came before has changed: %s", diff)
			}
			if code := w.code(t, c.answers[0]); (code == errcode.Refused || code == errcode.Parse) && w.wasRun(c.answers[0]) {
				t.Errorf("%q was run", c.answers[0])
			}
		})
	}
}

// code returns the engine's error code for a statement.
func (w *world) code(t *testing.T, sql string) errcode.Code {
	t.Helper()
	rows, err := w.DB.Query(t.Context(), engine.Request{SQL: sql})
	if err != nil {
		return engine.AsError(err).Code
	}
	rows.Close()
	return ""
}

func TestOnlyTheDatasetsOfTheQuestion(t *testing.T) {
	w := newWorld(t)
	const secret = "SELECT word FROM secret"
	for name, c := range map[string]struct {
		scope    tools.Scope
		datasets []string
	}{
		"by the question": {tools.Scope{}, []string{"ORDERS"}},
		"by the model":    {tools.Scope{Datasets: []string{"ord*"}}, nil},
		"by both":         {tools.Scope{Datasets: []string{"ord*", "hr.*"}}, []string{"orders"}},
	} {
		t.Run(name, func(t *testing.T) {
			w.ran = nil
			writer, model := w.writer(t, c.scope, secret, "SHOW TABLES", "SELECT * FROM spiced.functions", "SELECT twice(2) FROM orders")
			got, err := writer.Write(t.Context(), nsql.Request{Query: "q", Datasets: c.datasets})
			if err != nil || got.Attempts != 4 {
				t.Fatalf("got %+v, %v", got, err)
			}
			if w.wasRun(secret) {
				t.Error("it was run")
			}
			if strings.Contains(model.asked[0].Messages[0].Text(), "secret") {
				t.Error("the prompt tells of the other dataset")
			}
			if got.Allow == nil || got.Allow(engine.Relation{Schema: "public", Name: "secret"}) || !got.Allow(engine.Relation{Schema: "public", Name: "orders"}) {
				t.Error("the answer allows something else")
			}
		})
	}
}

func TestRequestsThatAreWrong(t *testing.T) {
	w := newWorld(t)
	for want, c := range map[string]struct {
		request nsql.Request
		scope   tools.Scope
	}{
		"the question is empty":                            {nsql.Request{Query: " \n"}, tools.Scope{}},
		"the question has 65537 bytes":                     {nsql.Request{Query: strings.Repeat("x", nsql.MaxQuery+1)}, tools.Scope{}},
		"datasets is empty":                                {nsql.Request{Query: "q", Datasets: []string{}}, tools.Scope{}},
		`no dataset "ordrs"; did you mean "orders"?`:       {nsql.Request{Query: "q", Datasets: []string{"hr.people", "ordrs"}}, tools.Scope{}},
		`no dataset "hr.peple"; did you mean "hr.people"?`: {nsql.Request{Query: "q", Datasets: []string{"hr.peple"}}, tools.Scope{}},
		`no dataset "secret"; GET /v1/datasets lists them`: {nsql.Request{Query: "q", Datasets: []string{"secret"}}, tools.Scope{Datasets: []string{"orders"}}},
		`no dataset "hr.orders"; GET /v1/datasets lists`:   {nsql.Request{Query: "q", Datasets: []string{"hr.orders"}}, tools.Scope{Datasets: []string{"secret"}}},
		`no dataset "my tabl"; did you mean "my table"?`:   {nsql.Request{Query: "q", Datasets: []string{"my tabl"}}, tools.Scope{}},
	} {
		writer, model := w.writer(t, c.scope, "SELECT 1")
		_, err := writer.Write(t.Context(), c.request)
		var wrong *chat.Error
		if !errors.As(err, &wrong) || wrong.Code != errcode.InvalidRequest || wrong.Param == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %s", err, want)
		}
		if len(model.asked) > 0 {
			t.Errorf("%s: the model was asked", want)
		}
	}
}

func TestGivingUp(t *testing.T) {
	w := newWorld(t)
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf("SELECT c%d FROM orders", i))
	}
	for name, c := range map[string]struct {
		answers  []string
		limit    int
		attempts int
		repeated bool
	}{
		"the default limit": {many, 0, nsql.DefaultAttempts, false},
		"the greatest one":  {many, 1000, nsql.MaxAttempts, false},
		"one attempt":       {many, 1, 1, false},
		"the same twice":    {[]string{"SELECT a", "SELECT b", "```sql\nSELECT b;\n```", "SELECT 1"}, 0, 3, true},
		"nothing twice":     {[]string{"", ""}, 0, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			writer, _ := w.writer(t, tools.Scope{}, c.answers...)
			writer.Attempts = c.limit
			got, err := writer.Write(t.Context(), question)
			var failed *nsql.Error
			if !errors.As(err, &failed) || failed.Attempts != c.attempts || failed.Repeated != c.repeated {
				t.Fatalf("got %v", err)
			}
			var cause *engine.Error
			if !errors.As(err, &cause) || !strings.Contains(err.Error(), cause.Message) {
				t.Errorf("cause %v of %v", cause, err)
			}
			if failed.SQL != got.SQL || got.Attempts != c.attempts || got.Usage.Output != int64(c.attempts) {
				t.Errorf("got %+v and %+v", got, failed)
			}
		})
	}
}

func TestErrorsThatNoOtherStatementWouldMend(t *testing.T) {
	down := &chat.Error{Code: errcode.ProviderError, Message: "down"}
	busy := &engine.Error{Code: errcode.Busy, Message: "busy", Offset: -1}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	say := func(context.Context, *chat.Request) (*chat.Response, error) {
		calls++
		return &chat.Response{Parts: chat.Text(chat.RoleAssistant, "SELECT 1").Parts}, nil
	}
	for name, c := range map[string]struct {
		writer nsql.Writer
		want   error
	}{
		"the model is down": {nsql.Writer{Chat: func(context.Context, *chat.Request) (*chat.Response, error) { calls++; return nil, down }}, down},
		"too much to do":    {nsql.Writer{Chat: say, Check: func(context.Context, engine.Request) error { return busy }}, busy},
		"the caller left": {nsql.Writer{Chat: say, Check: func(ctx context.Context, _ engine.Request) error {
			cancel()
			return context.Cause(ctx)
		}}, context.Canceled},
	} {
		calls = 0
		c.writer.Schema = func(context.Context, []string, bool) (nsql.Schema, error) { return nsql.Schema{}, nil }
		if _, err := c.writer.Write(ctx, question); !errors.Is(err, c.want) || calls != 1 {
			t.Errorf("%s: got %v after %d calls", name, err, calls)
		}
	}
}

func TestCheckPlacesErrors(t *testing.T) {
	w := newWorld(t)
	check := nsql.Check(w)
	for sql, want := range map[string][3]int{
		"SELECT nam FROM orders":       {7, 1, 8},
		"SELECT id,\nnam\nFROM orders": {11, 2, 1},
		"SELECT )":                     {7, 1, 8},
		"DROP TABLE orders":            {0, 1, 1},
	} {
		e := engine.AsError(check(t.Context(), engine.Request{SQL: sql}))
		if got := [3]int{e.Offset, e.Line, e.Column}; got != want {
			t.Errorf("%q: got %v, want %v: %v", sql, got, want, e)
		}
	}
}

// bounded returns a writer with a generated schema.
func bounded(schema nsql.Schema, rank func(context.Context, string) []string) (*nsql.Writer, *scripted) {
	model := &scripted{answers: []string{"SELECT 1"}}
	return &nsql.Writer{
		Chat: model.chat, Check: func(context.Context, engine.Request) error { return nil }, Rank: rank,
		Schema: func(context.Context, []string, bool) (nsql.Schema, error) { return schema, nil },
	}, model
}

func TestThePromptIsBounded(t *testing.T) {
	var s nsql.Schema
	for i := range 2000 {
		name := fmt.Sprintf("t%04d", i)
		s.Tables = append(s.Tables, nsql.Table{Name: name, Text: "## " + name + strings.Repeat(" column", 20) + "\n", Samples: "- x: 1\n"})
		name = fmt.Sprintf("f%04d", i)
		s.Functions = append(s.Functions, nsql.Function{Name: name, Signature: name + "() → int64", Volatility: "stable", Description: strings.Repeat("word ", 200)})
	}
	writer, model := bounded(s, func(_ context.Context, query string) []string {
		if query != question.Query {
			t.Errorf("ranked by %q", query)
		}
		return []string{"F1999", "gone", "f1998"}
	})
	if _, err := writer.Write(t.Context(), question); err != nil {
		t.Fatal(err)
	}
	prompt := model.asked[0].Messages[0].Text()
	if len(prompt) > nsql.MaxTables+nsql.MaxFunctions+8<<10 {
		t.Errorf("it has %d bytes", len(prompt))
	}
	for _, part := range []string{
		"## t0000 column", "more tables are not described here: t0", "`f1999()", "`f1998()", "`f0000()",
		"more functions are not described here: f00", " …\n",
	} {
		if !strings.Contains(prompt, part) {
			t.Errorf("it has no %q", part)
		}
	}
}

func TestWithoutTables(t *testing.T) {
	writer, model := bounded(nsql.Schema{}, nil)
	if _, err := writer.Write(t.Context(), question); err != nil {
		t.Fatal(err)
	}
	if prompt := model.asked[0].Messages[0].Text(); !strings.HasSuffix(prompt, "# Tables\n\nThere are no tables.\n") {
		t.Errorf("the prompt ends %q", prompt[len(prompt)-60:])
	}
}

func TestLongFaultsAreCut(t *testing.T) {
	writer, model := bounded(nsql.Schema{}, nil)
	long := strings.Repeat("é", nsql.MaxRepair)
	writer.Check = func(context.Context, engine.Request) error {
		if len(model.asked) == 1 {
			return &engine.Error{Code: errcode.Execution, Message: long, Offset: -1}
		}
		return nil
	}
	model.answers = []string{"SELECT '" + long + "'", "SELECT 1"}
	if _, err := writer.Write(t.Context(), question); err != nil {
		t.Fatal(err)
	}
	for _, m := range model.asked[1].Messages[2:] {
		if n := len(m.Text()); n > nsql.MaxRepair+200 {
			t.Errorf("%s: %d bytes", m.Role, n)
		}
	}
}
