package builtin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/tools"
)

func TestSQL(t *testing.T) {
	w := newWorld(t)
	w.expect("sql", `{"query": "SELECT id, customer, \"order day\" FROM orders WHERE id < 2 ORDER BY id"}`,
		`[{"id":0,"customer":"customer 0","order day":"2026-01-01"},{"id":1,"customer":"customer 1","order day":"2026-01-02"}]`)
	w.expect("sql", `{"query": "SELECT * FROM empty"}`, `[]`)
	w.expect("sql", `{"query": "SELECT NULL AS x, 12345678901234567890123::HUGEINT AS y"}`, `[{"x":null,"y":12345678901234567890123}]`)
	w.expect("sql", `{"query": "SELECT twice(21) AS x"}`, `[{"x":42.0}]`)
	w.expect("sql", `{"query": "SELECT e'a\\nb' AS x UNION ALL SELECT 'c'"}`, `[{"x":"a\nb"},{"x":"c"}]`)
}

func TestSQLSaysWhatIsWrong(t *testing.T) {
	w := newWorld(t)
	w.refuses("sql", `{"query": "SELECT\n * FRM orders"}`, errcode.Parse, "line 2")
	w.refuses("sql", `{"query": "SELECT * FROM ordrs"}`, errcode.NotFound, `did you mean "orders"?`)
	w.refuses("sql", `{"query": "SELECT amout FROM orders"}`, errcode.NotFound, "amount")
	w.refuses("sql", `{"query": "SELECT twice(1, 2)"}`, errcode.Argument, "expected at most 1 argument")
	w.refuses("sql", `{"query": ""}`, errcode.Parse, "empty")
	w.refuses("sql", `{"query": "SELECT 'a\u0000b'"}`, errcode.Parse, "NUL")
	w.refuses("sql", `{"query": "DROP TABLE orders"}`, errcode.Refused, "DROP")
	w.refuses("sql", `{"query": "INSERT INTO orders VALUES (1)"}`, errcode.Refused, "INSERT")
	w.refuses("sql", `{"query": "SELECT 1; SELECT 2"}`, errcode.Parse, "one SELECT at a time")
	w.refuses("sql", `{"query": "SELECT 1; DELETE FROM orders"}`, errcode.Parse, "SELECT")
	w.refuses("sql", `{"query": "SELECT * FROM read_csv('/etc/passwd')"}`, errcode.Refused, "read_csv")
	w.refuses("sql", `{"query": "SELECT CAST('x' AS INT)"}`, errcode.Execution, "x")
	w.expect("sql", "{\"query\": \"```sql\\nSELECT 1 AS x\\n```\"}", `[{"x":1}]`)
	if e := w.refuses("sql", `{"query": "SELECT ?"}`, errcode.Argument, ""); e.Retryable {
		t.Error("a wrong statement is said to succeed later")
	}
}

// extent is the rows that a call with limits returns.
func extent(t *testing.T, w *world, tool, args string, limits tools.Limits) tools.Rows {
	t.Helper()
	out, err := w.call(w.tool(tool), args, tools.Input{Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(out.Value, &list); err != nil || out.Rows == nil || len(list) != out.Rows.Returned {
		t.Fatalf("%s(%s): %d rows, extent %v, %v", tool, args, len(list), out.Rows, err)
	}
	if limits.MaxBytes > 0 && int64(len(out.Value)) > limits.MaxBytes {
		t.Errorf("%s(%s): %d bytes; the limit is %d", tool, args, len(out.Value), limits.MaxBytes)
	}
	return *out.Rows
}

// TestSQLPlans: a dry run gives the verdict of the guard and the plan, and runs nothing.
func TestSQLPlans(t *testing.T) {
	w := newWorld(t)
	plan := func(query string, datasets ...string) (string, error) {
		args, _ := json.Marshal(map[string]string{"query": query})
		out, err := w.tool("sql").(tools.Planner).Plan(t.Context(), tools.Input{
			Arguments: map[string]any{"query": query}, Raw: args, Scope: tools.Scope{Datasets: datasets},
		})
		return string(out), err
	}
	got, err := plan("```sql\nSELECT id, count(*) AS n FROM orders GROUP BY id\n```")
	for _, want := range []string{`"sql":"SELECT id, count(*) AS n FROM orders GROUP BY id"`, `{"name":"n","type":"BIGINT"}`, "HASH_GROUP_BY"} {
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
	if got, err := plan("DESCRIBE orders"); err != nil || !strings.Contains(got, `"column_name"`) {
		t.Errorf("got %s, %v", got, err)
	}
	for query, code := range map[string]errcode.Code{
		"DROP TABLE orders":             errcode.Refused,
		"INSERT INTO orders VALUES (1)": errcode.Refused,
		"SELECT * FROM ordrs":           errcode.NotFound,
		"SELECT nosuch FROM orders":     errcode.NotFound,
		"SELCT 1":                       errcode.Parse,
		"SELECT 1; SELECT 2":            errcode.Parse,
		"":                              errcode.Parse,
	} {
		if got, err := plan(query); err == nil || tools.AsError(err).Code != code {
			t.Errorf("%s: got %s, %v; want %s", query, got, err, code)
		}
	}
	if got, err := plan("SELECT * FROM orders", "docs"); err == nil {
		t.Errorf("a dataset that the caller may not read is planned: %s", got)
	}
}

func TestSQLCutsLargeResults(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		query  string
		limits tools.Limits
		want   tools.Rows
	}{
		{"SELECT * FROM range(1000)", tools.Limits{}, tools.Rows{Returned: 1000}},
		{"SELECT * FROM range(1001)", tools.Limits{}, tools.Rows{Returned: 1000, Truncated: true}},
		{"SELECT * FROM range(10000000)", tools.Limits{}, tools.Rows{Returned: 1000, Truncated: true}},
		{"SELECT * FROM range(3)", tools.Limits{MaxRows: 3}, tools.Rows{Returned: 3}},
		{"SELECT * FROM range(3)", tools.Limits{MaxRows: 2}, tools.Rows{Returned: 2, Truncated: true}},
		{"SELECT * FROM range(2048)", tools.Limits{MaxRows: 2048}, tools.Rows{Returned: 2048}},
		{"SELECT * FROM range(2049)", tools.Limits{MaxRows: 2048}, tools.Rows{Returned: 2048, Truncated: true}},
		{"SELECT * FROM range(5000)", tools.Limits{MaxRows: 5000}, tools.Rows{Returned: 5000}},
		{"SELECT 1 AS a FROM range(2)", tools.Limits{MaxBytes: 17}, tools.Rows{Returned: 2}},
		{"SELECT 1 AS a FROM range(2)", tools.Limits{MaxBytes: 16}, tools.Rows{Returned: 1, Truncated: true}},
		{"SELECT repeat('x', 1000000) AS a FROM range(10)", tools.Limits{}, tools.Rows{Returned: 4, Truncated: true}},
		{"SELECT repeat('x', 100000) AS a FROM range(3000)", tools.Limits{MaxRows: 3000}, tools.Rows{Returned: 41, Truncated: true}},
	} {
		args, _ := json.Marshal(map[string]string{"query": c.query})
		if got := extent(t, w, "sql", string(args), c.limits); got != c.want {
			t.Errorf("%s with %+v: got %+v, want %+v", c.query, c.limits, got, c.want)
		}
	}
	_, err := w.call(w.tool("sql"), `{"query": "SELECT repeat('x', 100)"}`, tools.Input{Limits: tools.Limits{MaxBytes: 50}})
	if e := tools.AsError(err); e.Code != errcode.Limit {
		t.Errorf("a row over the limit of bytes: %v", err)
	}
}

func TestListDatasets(t *testing.T) {
	w := newWorld(t)
	w.expect("list_datasets", `{}`,
		`[{"table":"spice.public.orders","can_search_documents":false,"description":"Orders of \"all\" | times","metadata":{"owner":"sales","weight":"+Inf"}},`+
			`{"table":"spice.public.\"my table\"","can_search_documents":false,"description":null,"metadata":{}},`+
			`{"table":"spice.public.docs","can_search_documents":true,"description":null,"metadata":{}},`+
			`{"table":"spice.public.big_orders","can_search_documents":false,"description":"Large ones","metadata":{}}]`,
		"*orders", "docs", `"my table"`)
	w.expect("list_datasets", `{}`, `[]`, "nothing")
	if got := extent(t, w, "list_datasets", `{}`, tools.Limits{}); got.Returned != len(tables) {
		t.Errorf("%d datasets, want %d", got.Returned, len(tables))
	}
}

func TestTableSchema(t *testing.T) {
	w := newWorld(t)
	want := "## spice.public.orders\n\nOrders of \"all\" \\| times\n\n" +
		"| column | type | nullable | description |\n| --- | --- | --- | --- |\n" +
		"| id | BIGINT | no |  |\n| customer | VARCHAR | yes |  |\n| amount | BIGINT | yes | In cents \\| gross |\n| order day | DATE | yes |  |\n"
	for _, name := range []string{"orders", "ORDERS", "public.orders", "spice.public.orders", `spice."public"."orders"`} {
		args, _ := json.Marshal(map[string]any{"tables": []string{name}})
		var got string
		_ = json.Unmarshal([]byte(w.get("table_schema", string(args))), &got)
		if got != want {
			t.Errorf("table_schema(%s): %s", name, got)
		}
	}
	var got string
	_ = json.Unmarshal([]byte(w.get("table_schema", `{"tables": ["my table", "hr.people"], "output": "minimal"}`)), &got)
	if !strings.Contains(got, "| a\"b | INTEGER |\n| select | VARCHAR |\n\n## spice.hr.people\n\n| column | type |\n") {
		t.Error(got)
	}
	w.refuses("table_schema", `{"tables": []}`, errcode.InvalidArguments, "1 to 100")
	e := w.refuses("table_schema", `{"tables": ["orders", "ordrs"]}`, errcode.InvalidArguments, "No table named ordrs")
	if len(e.DidYouMean) != 1 || e.DidYouMean[0] != "orders" {
		t.Errorf("suggests %q", e.DidYouMean)
	}
	for _, name := range []string{"", ".", `"`, "a.b.c.d", "orders; DROP TABLE orders", "spiced.functions", "\x00"} {
		args, _ := json.Marshal(map[string]any{"tables": []string{name}})
		w.refuses("table_schema", string(args), errcode.InvalidArguments, "No table named")
	}
}

func TestRandomSample(t *testing.T) {
	w := newWorld(t)
	for limit, want := range map[string]int{"1": 1, "9": 9, "1000": 9} {
		if got := extent(t, w, "random_sample", `{"dataset": "orders", "limit": `+limit+`}`, tools.Limits{}); got.Returned != want || got.Truncated {
			t.Errorf("limit %s: %+v", limit, got)
		}
	}
	w.expect("random_sample", `{"dataset": "empty", "limit": 5}`, `[]`)
	w.expect("random_sample", `{"dataset": "my table", "limit": 5}`, `[{"a\"b":1,"select":"x"}]`)
	w.refuses("random_sample", `{"dataset": "orders\" ; --", "limit": 5}`, errcode.InvalidArguments, "No table named")
	for _, args := range []string{
		`{"dataset": "orders"}`, `{"dataset": "orders", "limit": 0}`, `{"dataset": "orders", "limit": 1001}`,
		`{"dataset": "orders", "limit": 1e30}`, `{"limit": 1}`,
	} {
		if got := w.get("random_sample", args); !strings.HasPrefix(got, "error: faults") {
			t.Errorf("%s: %s", args, got)
		}
	}
}

func TestSamplesCutLongStrings(t *testing.T) {
	w := newWorld(t)
	want := `[{"id":1,"txt":"` + strings.Repeat(`é\"`, 256) + `…","list":["` + strings.Repeat("x", 512) + `…"],"fits":"` + strings.Repeat("y", 512) + `"}]`
	w.expect("random_sample", `{"dataset": "long", "limit": 1}`, want)
	w.expect("top_n_sample", `{"dataset": "long", "limit": 1, "order_by": "id"}`, want)
	w.expect("sample_distinct_columns", `{"dataset": "long", "limit": 1, "cols": ["list"]}`,
		`[{"column":"list","values":[["`+strings.Repeat("x", 512)+`…"]],"more":false}]`)
}

func TestTopNSample(t *testing.T) {
	w := newWorld(t)
	want := `[{"id":8,"amount":80},{"id":7,"amount":70}]`
	for _, order := range []string{"amount DESC", "AMOUNT desc", `\"amount\" DESC`, `\"amount\"DESC`, ` amount\n\tDESC `} {
		w.expect("top_n_sample", `{"dataset": "big_orders", "limit": 2, "order_by": "`+order+`"}`, want)
	}
	w.expect("top_n_sample", `{"dataset": "big_orders", "limit": 1, "order_by": "amount"}`, `[{"id":5,"amount":50}]`)
	w.expect("top_n_sample", `{"dataset": "my table", "limit": 1, "order_by": "\"a\"\"b\" ASC"}`, `[{"a\"b":1,"select":"x"}]`)
	w.expect("top_n_sample", `{"dataset": "my table", "limit": 1, "order_by": "select"}`, `[{"a\"b":1,"select":"x"}]`)
	w.expect("top_n_sample", `{"dataset": "orders", "limit": 1, "order_by": "order day DESC"}`,
		`[{"id":8,"customer":"customer 2","amount":80,"order day":"2026-01-09"}]`)
	w.expect("top_n_sample", `{"dataset": "empty", "limit": 1, "order_by": "id"}`, `[]`)
	for _, order := range []string{
		"", "amount, id", "amount DESC, id", "1", "amount DESC NULLS LAST", "amount; DROP TABLE orders", "random()", "desc", "amount--", "(SELECT word FROM secret)",
		`amount" DESC`, `"amount`,
	} {
		args, _ := json.Marshal(map[string]any{"dataset": "orders", "limit": 2, "order_by": order})
		e := w.refuses("top_n_sample", string(args), errcode.InvalidArguments, "the columns are id, customer, amount, order day")
		want := "Invalid order_by '" + order + "' for top_n_sample. Provide a single column reference optionally followed by ASC or DESC."
		if e.Message != want {
			t.Errorf("%s: %s", order, e.Message)
		}
	}
	e := w.refuses("top_n_sample", `{"dataset": "orders", "limit": 2, "order_by": "amout DESC"}`, errcode.InvalidArguments, "")
	if len(e.DidYouMean) != 1 || e.DidYouMean[0] != "amount" {
		t.Errorf("suggests %q", e.DidYouMean)
	}
}

func TestSampleDistinctColumns(t *testing.T) {
	w := newWorld(t)
	w.expect("sample_distinct_columns", `{"dataset": "orders", "limit": 2, "cols": ["customer", "ID"]}`,
		`[{"column":"customer","values":["customer 0","customer 1"],"more":true},{"column":"id","values":[0,1],"more":true}]`)
	w.expect("sample_distinct_columns", `{"dataset": "my table", "limit": 1000}`,
		`[{"column":"a\"b","values":[1],"more":false},{"column":"select","values":["x"],"more":false}]`)
	w.expect("sample_distinct_columns", `{"dataset": "docs", "limit": 9, "cols": ["tags"]}`,
		`[{"column":"tags","values":[["refund"],["shipping"],null],"more":false}]`)
	w.refuses("sample_distinct_columns", `{"dataset": "orders", "limit": 2, "cols": ["custmer"]}`, errcode.InvalidArguments, `no column "custmer"`)
	w.expect("sample_distinct_columns", `{"dataset": "empty", "limit": 9}`,
		`[{"column":"id","values":[],"more":false},{"column":"name","values":[],"more":false}]`)
}

func TestReadinessAndTime(t *testing.T) {
	w := newWorld(t)
	w.expect("get_readiness", `{}`, `{"dataset:docs":"Error","dataset:orders":"Ready"}`)
	w.expect("get_current_datetime", `{}`, `"2026-05-06T13:45:00.000Z"`)
	w.expect("time_now", `{}`, `{"utc":"2026-05-06T13:45:00.000Z","local":"2026-05-06T13:45:00.000Z","timezone":"UTC","unix":1778075100}`)
	w.expect("time_now", `{"timezone": "europe/BERLIN"}`,
		`{"utc":"2026-05-06T13:45:00.000Z","local":"2026-05-06T15:45:00.000+02:00","timezone":"Europe/Berlin","unix":1778075100}`)
	for name, near := range map[string]string{
		"Europe/Berln": "Europe/Berlin", "Berlin": "Europe/Berlin", "new york": "America/New_York", "Local": "", "../etc/passwd": "", "/etc/localtime": "",
	} {
		args, _ := json.Marshal(map[string]string{"timezone": name})
		e := w.refuses("time_now", string(args), errcode.InvalidArguments, "there is no time zone")
		if got := strings.Join(e.DidYouMean, " "); near != "" && got != near {
			t.Errorf("%s: suggests %q, want %q", name, got, near)
		}
	}
}

func TestListUDFs(t *testing.T) {
	w := newWorld(t)
	w.expect("list_udfs", `{}`, `[{"name":"lines","source":"user","kind":"table","volatility":"volatile","from":"sql","description":null},`+
		`{"name":"total","source":"user","kind":"scalar","volatility":"stable","from":"sql","description":"Sum of all amounts."},`+
		`{"name":"twice","source":"user","kind":"scalar","volatility":"volatile","from":"sql","description":null}]`)
	if got := extent(t, w, "list_udfs", `{"source": "builtin"}`, tools.Limits{}); got.Returned < 500 || got.Truncated {
		t.Errorf("built-in functions: %+v", got)
	}
	if got := w.get("list_udfs", `{"source": "' OR true --"}`); !strings.HasPrefix(got, "error: faults") {
		t.Error(got)
	}
}

func TestDescribeFunction(t *testing.T) {
	w := newWorld(t)
	var got map[string]any
	if err := json.Unmarshal([]byte(w.get("describe_function", `{"name": "TOTAL"}`)), &got); err != nil {
		t.Fatal(err)
	}
	if got["line"] == nil || got["checksum"] == nil || !strings.HasSuffix(got["file"].(string), "spicepod.yaml") {
		t.Errorf("place: %v:%v %v", got["file"], got["line"], got["checksum"])
	}
	for _, key := range []string{"file", "line", "checksum"} {
		delete(got, key)
	}
	rest, _ := json.Marshal(got)
	want := `{"arguments":[{"default":5,"description":"Least amount","name":"over","required":false,"sql_type":"BIGINT","type":"int64"}],` +
		`"body":"(SELECT sum(amount) FROM orders WHERE amount \u003e over)","description":"Sum of all amounts.",` +
		`"examples":[{"args":{"over":1000},"name":"none","returns":null}],"kind":"scalar",` +
		`"lineage":{"columns":["orders.amount"],"tables":["orders"],"used_by":["twice"]},"name":"total",` +
		`"returns":{"sql_type":"BIGINT","type":"int64"},"signature":"total(over int64 := 5) → int64","volatility":"stable"}`
	if string(rest) != want {
		t.Errorf("got  %s\nwant %s", rest, want)
	}
	if text := w.get("describe_function", `{"name": "lines"}`); !strings.Contains(text,
		`"tables":[{"name":"t","columns":[{"name":"v","type":"utf8","sql_type":"VARCHAR","description":"A line"}]}]`) {
		t.Error(text)
	}
	if text := w.get("describe_function", `{"name": "lines"}`); !strings.Contains(text,
		`"examples":[{"args":{},"rows":[{"v":"a"}],"tables":{"t":[{"v":"a"}]}},{"args":{},"error":"execution_error","tables":{"t":[]}}]`) {
		t.Error(text)
	}
	if text := w.get("describe_function", `{"name": "twice"}`); !strings.Contains(text, `"required":false,"default":null}`) {
		t.Error(text)
	}
	e := w.refuses("describe_function", `{"name": "totl"}`, errcode.InvalidArguments, "the functions are total, twice, lines")
	if len(e.DidYouMean) != 1 || e.DidYouMean[0] != "total" {
		t.Errorf("suggests %q", e.DidYouMean)
	}
	w.set = nil
	w.refuses("describe_function", `{"name": "total"}`, errcode.InvalidArguments, "none is declared")
}
