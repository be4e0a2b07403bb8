package builtin_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// hit is a row of a search's result.
type hit struct {
	Dataset  string         `json:"dataset"`
	Score    float64        `json:"score"`
	Matches  map[string]any `json:"matches"`
	Key      map[string]any `json:"primary_key"`
	Data     map[string]any `json:"data"`
	Searched int            `json:"searched_rows"`
}

func (w *world) search(args string, datasets ...string) []hit {
	w.t.Helper()
	var hits []hit
	if got := w.get("search", args, datasets...); json.Unmarshal([]byte(got), &hits) != nil {
		w.t.Errorf("search(%s): %s", args, got)
	}
	return hits
}

func TestSearch(t *testing.T) {
	w := newWorld(t)
	hits := w.search(`{"text": "how do I get a refund for goods I send back"}`)
	if len(hits) == 0 || hits[0].Dataset != "spice.public.docs" || hits[0].Matches["title"] != "Returning goods" || hits[0].Score != 1 {
		t.Fatalf("got %+v", hits)
	}
	if hits[0].Key["id"] != 1.0 || hits[0].Data != nil || hits[0].Searched != 0 {
		t.Errorf("got %+v", hits[0])
	}
	for i := 1; i < len(hits); i++ {
		if hits[i].Score > hits[i-1].Score {
			t.Errorf("the rows are not in the order of their scores: %+v", hits)
		}
	}
	hits = w.search(`{"text": "parcel", "limit": 1, "additional_columns": ["YEAR", "year"], "datasets": ["public.docs", "docs"]}`)
	if len(hits) != 1 || hits[0].Matches["title"] != "Delivery times" || hits[0].Data["year"] != 2025.0 || len(hits[0].Data) != 1 {
		t.Errorf("got %+v", hits)
	}
	hits = w.search(`{"text": "parcel"}`) // in both tables
	found := map[string]bool{}
	for _, hit := range hits {
		found[hit.Dataset] = true
	}
	if len(hits) != 6 || len(found) != 2 {
		t.Errorf("got %+v", hits)
	}
	hits = w.search(`{"text": "goods", "keywords": ["shipping"], "datasets": ["docs"]}`)
	if len(hits) < 2 {
		t.Errorf("got %+v", hits)
	}
	w.expect("search", `{"text": "xylophone quux", "datasets": ["notes"], "where": "key = 'n9'"}`, `[]`)
}

func TestSearchWhere(t *testing.T) {
	w := newWorld(t)
	for where, want := range map[string]string{
		"year > 2024":                           "Delivery times",
		"year > 2024 -- or not":                 "Delivery times",
		"year > (SELECT min(year) FROM docs)":   "Delivery times",
		"title IN ('Delivery times', ')', 'x')": "Delivery times",
		"twice(year) = 4050":                    "Delivery times",
		"":                                      "Returning goods",
		" /* all */ true ":                      "Returning goods",
	} {
		args, _ := json.Marshal(map[string]any{"text": "goods get sent within days", "datasets": []string{"docs"}, "where": where, "limit": 1})
		if hits := w.search(string(args)); len(hits) != 1 || hits[0].Matches["title"] != want {
			t.Errorf("where %s: got %+v, want %s", where, hits, want)
		}
	}
	for where, part := range map[string]string{
		"1=1) UNION SELECT {'title': word} FROM secret WHERE (1=1": "more than one condition",
		"1=1) OR (1=1":                     "more than one condition",
		"true) LIMIT 1 --":                 "more than one condition",
		"true; DROP TABLE docs":            "more than one condition",
		"true, false":                      "more than one condition",
		"(true":                            "more than one condition",
		"(true]":                           "more than one condition",
		"true /*":                          "where: ",
		"'":                                "where: ",
		`"`:                                "where: ",
		"$$":                               "where: ",
		"year = ?":                         "not a condition",
		"year = $1":                        "not a condition",
		"year >":                           "where: ",
		"yeer > 1":                         `where, over docs: `,
		"true ORDER BY year":               "where: ",
		"true AS x":                        "where: ",
		"*":                                "not a condition",
		"(SELECT true FROM nothing)":       "not declared",
		"read_text('/etc/passwd') = 'x'":   "where, over docs: ",
		"count(*) > 1":                     "where, over docs: ",
		strings.Repeat("(", 5000):          "more than one condition",
		strings.Repeat("1+", 40_000) + "1": "limit",
		"\x00":                             "where: ",
	} {
		args, _ := json.Marshal(map[string]any{"text": "goods", "datasets": []string{"docs"}, "where": where})
		out, err := w.call(w.tool("search"), string(args), tools.Input{})
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("where %.60s: got %s, %v; want %q", where, out.Value, err, part)
		}
	}
	e := w.refuses("search", `{"text": "goods", "where": "year > 2000\nAND titel = 'x'", "datasets": ["docs"]}`, errcode.InvalidArguments, "line 2, column 5")
	if !strings.Contains(e.Error(), "title") {
		t.Errorf("%v does not name the column that is meant", e)
	}
	w.refuses("search", `{"text": "goods", "where": "year > 2000"}`, errcode.InvalidArguments, "name the tables that it fits in datasets")
}

func TestSearchSaysWhatCanBeSearched(t *testing.T) {
	w := newWorld(t)
	w.refuses("search", `{"text": "x", "datasets": ["orders"]}`, errcode.InvalidArguments, "these have one: docs, notes; or declare one")
	w.refuses("search", `{"text": "x", "datasets": ["dcos"]}`, errcode.InvalidArguments, "No table named dcos")
	w.refuses("search", `{"text": "x"}`, errcode.InvalidArguments, "full_text_search: {enabled: true}", "orders")
	w.refuses("search", `{"text": " "}`, errcode.InvalidArguments, "text is empty")
	e := w.refuses("search", `{"text": "x", "additional_columns": ["yeer"]}`, errcode.InvalidArguments, `no searched table has a column "yeer"`)
	if len(e.DidYouMean) != 1 || e.DidYouMean[0] != "year" {
		t.Errorf("suggests %q", e.DidYouMean)
	}
	for _, text := range []string{"!!!", "'; DROP TABLE docs --", "\u0000\u001b[2J", strings.Repeat("word ", 20_000), "*"} {
		args, _ := json.Marshal(map[string]string{"text": text})
		w.search(string(args))
	}
}

func TestSearchReadsRowsOnce(t *testing.T) {
	w := newWorld(t)
	reads := func(args string, datasets ...string) int {
		before := len(w.queries)
		w.search(args, datasets...)
		return len(w.queries) - before
	}
	same := `{"text": "parcel", "datasets": ["notes"]}`
	for _, step := range []struct {
		args   string
		scope  []string
		change func()
		want   int
	}{
		{args: same, want: 1},
		{args: same, want: 0},
		{args: `{"text": "other", "datasets": ["notes"], "limit": 3}`, want: 0},
		{args: `{"text": "parcel", "datasets": ["notes"], "additional_columns": ["key"]}`, want: 1},
		{args: `{"text": "parcel", "datasets": ["notes"], "where": "key <> 'n1'"}`, want: 1},
		{args: `{"text": "parcel", "datasets": ["notes"], "where": "key <> 'n1'"}`, want: 0},
		{args: same, scope: []string{"notes"}, want: 1},
		{args: `{"text": "parcel"}`, want: 2},
		{args: same, change: func() { w.now = w.now.Add(time.Hour) }, want: 0},
		{args: `{"text": "parcel", "datasets": ["notes"], "where": "key <> 'n1'"}`, want: 1},
		{args: same, change: func() { w.env.Generation = func() uint64 { return 2 } }, want: 1},
		{args: same, change: func() {
			for i := range w.datasets {
				w.datasets[i].Version = "2"
			}
		}, want: 1},
		{args: same, change: func() {
			for i := range w.datasets {
				w.datasets[i].Version = ""
			}
		}, want: 1},
		{args: same, want: 0},
		{args: same, change: func() { w.now = w.now.Add(2 * builtin.IndexLife) }, want: 1},
	} {
		if step.change != nil {
			step.change()
		}
		if got := reads(step.args, step.scope...); got != step.want {
			t.Errorf("%s: %d statements, want %d", step.args, got, step.want)
		}
	}
}

func TestSearchBuildsOneIndexForAllWhoWait(t *testing.T) {
	w := newWorld(t)
	tool := w.tool("search")
	in := tools.Input{Raw: json.RawMessage(`{"text":"parcel","datasets":["notes"]}`)}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if _, err := tool.Call(t.Context(), in); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(w.queries); n != 1 {
		t.Errorf("%d statements", n)
	}
}

func TestSearchWhoseCallerLeft(t *testing.T) {
	w := newWorld(t)
	tool := w.tool("search")
	in := tools.Input{Raw: json.RawMessage(`{"text":"parcel"}`)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tool.Call(ctx, in); tools.AsError(err).Code != errcode.Cancelled {
		t.Errorf("got %v", err)
	}
	ctx, cancel = context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	if _, err := tool.Call(ctx, in); tools.AsError(err).Code != errcode.Timeout {
		t.Errorf("got %v", err)
	}
	if _, err := tool.Call(t.Context(), in); err != nil {
		t.Errorf("the next caller: %v", err)
	}
}

func TestSearchOfALargeTable(t *testing.T) {
	w := newWorld(t)
	for i := range w.datasets { // a table function's worth of rows behind the name of a view
		if d := &w.datasets[i]; d.Relation.Name == "notes" {
			d.Columns = []builtin.Column{{Name: "note", Type: "VARCHAR", Searchable: true}}
		}
	}
	w.many = builtin.MaxSearchRows + 1
	hits := w.search(`{"text": "parcel", "datasets": ["notes"], "limit": 1}`)
	if len(hits) != 1 || hits[0].Searched != builtin.MaxSearchRows {
		t.Errorf("got %+v", hits)
	}
	if got := extent(t, w, "search", `{"text": "parcel", "datasets": ["notes"], "limit": 1}`, tools.Limits{}); !got.Truncated {
		t.Errorf("got %+v", got)
	}
}
