package sqlapi

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// fakeSearch is a [RowSearch]: package rowsearch has that of the runtime.
func fakeSearch(_ context.Context, a builtin.SearchArgs, _ caller.Caller) (builtin.RowAnswer, error) {
	switch a.Text {
	case "building":
		return builtin.RowAnswer{}, tools.NewError(errcode.Loading, "the search index of table docs is being built", "try again")
	case "nothing":
		return builtin.RowAnswer{Mode: builtin.SearchKeyword, Notes: []string{"a note"}}, nil
	}
	return builtin.RowAnswer{Mode: builtin.SearchHybrid, Rows: []builtin.FoundRow{{
		Relation: engine.Relation{Schema: "public", Name: "docs"}, Score: .5, Key: json.RawMessage(`{"id":1}`), Column: "body",
		Text: "a <b>", Sources: []search.Source{{Source: "vector", Rank: 2, Score: .25}},
	}}}, nil
}

func TestRowSearch(t *testing.T) {
	var asked []builtin.SearchArgs
	var by caller.Caller
	f := serveTools(t, func(o *Options) {
		o.Search = func(ctx context.Context, a builtin.SearchArgs, who caller.Caller) (builtin.RowAnswer, error) {
			asked, by = append(asked, a), who
			return fakeSearch(ctx, a, who)
		}
	})
	const path = "/v1/search"
	f.want(f.send("POST", path, `{"text":"goods"}`, "X-Spiced-Space", "hr"), 200,
		`{"results":[{"dataset":"spice.public.docs","score":0.5,"matches":{"body":["a <b>"]},"primary_key":{"id":1}}],"mode":"hybrid","duration_ms":`)
	if by.SpaceID != "hr" {
		t.Errorf("asked by %+v", by)
	}
	f.want(f.send("POST", path, `{"text":"goods","explain":true,"datasets":["docs"],"limit":3,"where":"a = 1","mode":"vector",`+
		`"additional_columns":["b"],"keywords":["k"],"feeds":["f"]}`), 200, `"sources":[{"source":"vector","rank":2,"score":0.25}]`)
	f.want(f.send("POST", path, `{"text":"nothing"}`), 200, `{"results":[],"mode":"keyword","notes":["a note"],"duration_ms":`)
	want := []builtin.SearchArgs{{Text: "goods", Limit: 10}, {
		Text: "goods", Explain: true, Datasets: []string{"docs"}, Limit: 3, Where: "a = 1", Mode: builtin.SearchVector,
		Additional: []string{"b"}, Keywords: []string{"k"}, Feeds: []string{"f"},
	}, {Text: "nothing", Limit: 10}}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
	for body, c := range map[string]struct {
		status int
		want   string
	}{
		`{"text":" "}`:               {400, `there is no \"text\"`},
		`{"text":"x","datasets":[]}`: {400, `No data sources provided`},
		`{"text":"x","keywords":["a"` + strings.Repeat(`,"a"`, 64) + `]}`: {400, `there are 65 keywords; the limit is 64`},
		`{"text":"x","limit":0}`:       {400, `limit is 0; it must be from 1 to 1000`},
		`{"text":"x","limit":1001}`:    {400, `limit is 1001; it must be from 1 to 1000`},
		`{"text":"x","mode":"fuzzy"}`:  {400, `mode is \"fuzzy\"; it must be hybrid, vector or keyword`},
		`{"text":"x","dataset":["a"]}`: {400, `did you mean \"datasets\"?`},
		`{"text":"building"}`:          {503, `is being built`},
	} {
		f.want(f.send("POST", path, body), c.status, c.want)
	}
}
