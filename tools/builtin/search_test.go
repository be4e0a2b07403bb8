package builtin_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// TestSearch checks what the tool asks for, and how it shows what was found.
func TestSearch(t *testing.T) {
	w := newWorld(t)
	docs, notes := engine.Relation{Schema: "public", Name: "docs"}, engine.Relation{Schema: "public", Name: "notes"}
	w.found = builtin.RowAnswer{
		Rows: []builtin.FoundRow{{
			Relation: docs, Score: .5, Key: json.RawMessage(`{"id":1}`), Data: json.RawMessage(`{"year":2024}`), Column: "body",
			Text: `send "goods" back`, Sources: []search.Source{{Source: "full_text", Rank: 1, Score: 3, Weight: 1, Share: .1}},
		}, {Relation: notes, Score: .25, Column: "note", Text: "parcel"}},
		Notes: []string{"table notes: a note"},
	}
	for args, want := range map[string]builtin.RowQuery{
		`{"text": "x"}`: {
			Text: "x", Mode: builtin.SearchHybrid, Limit: 10, Tables: []builtin.RowTable{{Relation: docs}, {Relation: notes}},
		},
		`{"text": "x", "mode": "vector", "limit": 3, "keywords": ["a b"], "datasets": ["public.docs", "docs"], "where": " year > 1 ",
			"additional_columns": ["YEAR", "year"]}`: {
			Text: "x", Mode: builtin.SearchVector, Limit: 3, Keywords: []string{"a b"},
			Tables: []builtin.RowTable{{Relation: docs, Data: []string{"year"}, Where: "year > 1"}},
		},
		`{"text": "x", "feeds": ["blog", "o'r"], "where": "year = 1"}`: {
			Text: "x", Mode: builtin.SearchHybrid, Limit: 10,
			Tables: []builtin.RowTable{{Relation: docs, Where: "\"source\" IN ('blog', 'o''r') AND (\nyear = 1\n)"}},
		},
	} {
		w.searches = nil
		w.expect("search", args, `{"results":[{"dataset":"spice.public.docs","score":0.5,"matches":{"body":["send \"goods\" back"]},`+
			`"primary_key":{"id":1},"data":{"year":2024}},{"dataset":"spice.public.notes","score":0.25,"matches":{"note":["parcel"]}}],`+
			`"mode":"`+string(want.Mode)+`","notes":["table notes: a note"]}`)
		for i := range w.searches {
			for k := range w.searches[i].Tables {
				if len(w.searches[i].Tables[k].Data) == 0 {
					w.searches[i].Tables[k].Data = nil
				}
			}
			w.searches[i].Allow = nil
		}
		if diff := cmp.Diff([]builtin.RowQuery{want}, w.searches); diff != "" {
			t.Errorf("%s: %s", args, diff)
		}
	}
	w.found.Rows = w.found.Rows[:1]
	w.found.Notes = nil
	w.expect("search", `{"text": "x", "explain": true, "datasets": ["docs"]}`, `{"results":[{"dataset":"spice.public.docs","score":0.5,`+
		`"matches":{"body":["send \"goods\" back"]},"primary_key":{"id":1},"data":{"year":2024},`+
		`"sources":[{"source":"full_text","rank":1,"score":3}]}],"mode":"hybrid"}`)
}

func TestSearchSaysWhatCanBeSearched(t *testing.T) {
	w := newWorld(t)
	w.refuses("search", `{"text": "x", "datasets": ["orders"]}`, errcode.InvalidArguments, "these have one: docs, notes; or declare one")
	w.refuses("search", `{"text": "x", "datasets": ["dcos"]}`, errcode.InvalidArguments, "No table named dcos")
	w.refuses("search", `{"text": "x"}`, errcode.InvalidArguments, "full_text_search: {enabled: true}", "orders")
	w.refuses("search", `{"text": " "}`, errcode.InvalidArguments, "text is empty")
	w.refuses("search", `{"text": "x", "feeds": ["a"], "datasets": ["notes"]}`, errcode.InvalidArguments, "no column feed or source")
	e := w.refuses("search", `{"text": "x", "additional_columns": ["yeer"]}`, errcode.InvalidArguments, `no searched table has a column "yeer"`)
	if len(e.DidYouMean) != 1 || e.DidYouMean[0] != "year" {
		t.Errorf("suggests %q", e.DidYouMean)
	}
}
