package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// ToolSearchExplain is the table function that explains the ranks of a search.
const ToolSearchExplain = "tool_search_explain"

// explainColumns has a row for each tool and channel that ranks it, and one for each tool that
// none ranks. The shares of a tool sum up to its score.
const explainColumns = `rank BIGINT, tool_id VARCHAR, score DOUBLE, returned BOOLEAN, cut VARCHAR, channel VARCHAR,
	channel_rank BIGINT, channel_score DOUBLE, weight DOUBLE, share DOUBLE, matched_terms VARCHAR[], search_mode VARCHAR,
	confidence DOUBLE, no_good_match BOOLEAN`

var explainFunction = &engine.Function{
	Name: ToolSearchExplain, Table: true, Random: true,
	Signature: "tool_search_explain(query utf8, keywords list<utf8> := [], limit int64 := 5, min_score float64 := 0) → " +
		"table(rank, tool_id, score, returned, cut, channel, …)",
	Args: []engine.FunctionArg{
		{Name: "query", Type: "VARCHAR"},
		{Name: "keywords", Type: "VARCHAR[]", Optional: true},
		{Name: "limit", Type: "BIGINT", Numeric: true, Optional: true},
		{Name: "min_score", Type: "DOUBLE", Numeric: true, Optional: true},
	},
}

// explainMacro is tool_search_explain as a table function.
func explainMacro() string {
	input := `json_object('query', "query", 'keywords', "keywords", 'limit', "limit", 'min_score', "min_score")::VARCHAR`
	return "CREATE MACRO " + engine.Qualified(engine.Prelude, ToolSearchExplain) +
		`("query", "keywords" := [], "limit" := 5, "min_score" := 0.0) AS TABLE ` +
		rowsOf(native(ToolSearchExplain, input), explainColumns)
}

// explainSQL explains a search that is not made: it is not recorded.
func (r *Registry) explainSQL(ctx context.Context, input string) (string, error) {
	var args searchSQLArguments
	if err := json.Unmarshal([]byte(input), &args); err != nil {
		return "", fmt.Errorf("%s: the arguments are query text, keywords list of text, limit number, min_score number: %w",
			ToolSearchExplain, err)
	}
	if args.Query == nil {
		return "[]", nil
	}
	q, err := args.request(ctx, ToolSearchExplain)
	if err != nil {
		return "", err
	}
	rows, err := r.explainRows(ctx, q)
	if err != nil {
		return "", fmt.Errorf("%s: %w", ToolSearchExplain, err)
	}
	text, err := json.Marshal(append([]row{}, rows...))
	return string(text), err
}

// explainRows are the rows of all tools that the caller sees: first those that a channel
// ranks, best first, then the others by name, then declarations that are no tools, whose cut is
// the stage that they did not pass.
func (r *Registry) explainRows(ctx context.Context, q SearchRequest) ([]row, error) {
	c := r.Current()
	if _, err := q.check(); err != nil {
		return nil, err
	}
	query, ix, mode, _, err := r.prepare(ctx, c, q)
	if err != nil {
		return nil, err
	}
	limit := query.Limit
	query.Limit, query.MinScore, query.Explain = len(c.entries), 0, true
	answer := ix.words.Search(query)
	var rows []row
	add := func(tool, cut string, columns row) {
		x := row{
			"tool_id": tool, "returned": cut == "", "cut": textOrNull(cut), "search_mode": mode,
			"confidence": answer.Confidence, "no_good_match": answer.NoGoodMatch,
		}
		maps.Copy(x, columns)
		rows = append(rows, x)
	}
	ranked := map[int]bool{}
	for i, h := range answer.Hits {
		ranked[h.Doc] = true
		cut := ""
		switch {
		case i > 0 && h.Score < q.MinScore: // the best tool is returned whatever its score
			cut = string(search.CutMinScore)
		case i >= limit:
			cut = string(search.CutLimit)
		}
		if len(h.Sources) == 0 { // in a list of all tools
			add(c.entries[h.Doc].def.Name, cut, row{"rank": i + 1, "score": h.Score})
		}
		for _, s := range h.Sources {
			add(c.entries[h.Doc].def.Name, cut, row{
				"rank": i + 1, "score": h.Score, "channel": s.Source, "channel_rank": s.Rank, "channel_score": s.Score,
				"weight": s.Weight, "share": s.Share, "matched_terms": append([]string{}, h.MatchedTerms...),
			})
		}
	}
	view := c.View(q.Scope)
	for i, e := range c.entries {
		switch {
		case ranked[i] || view.Get(e.def.Name) == nil:
		case query.Only != nil && !query.Only(i):
			add(e.def.Name, string(search.CutRefused), nil)
		default:
			add(e.def.Name, string(search.CutNoMatch), nil)
		}
	}
	for _, h := range c.Hidden {
		if view.catalog.get(h.Name) == nil && !view.HidesFunction(h.Name) {
			add(h.Name, h.Stage, nil)
		}
	}
	return rows, nil
}

// searchSQLArguments are the arguments of a search in SQL.
type searchSQLArguments struct {
	Query    *string  `json:"query"`
	Keywords []string `json:"keywords"`
	Limit    *int     `json:"limit"`
	MinScore float64  `json:"min_score"`
	Offset   int      `json:"offset"`
}

// request is the search as the caller of the statement makes it; function is for errors.
func (a searchSQLArguments) request(ctx context.Context, function string) (SearchRequest, error) {
	q := SearchRequest{
		Query: *a.Query, Keywords: a.Keywords, MinScore: a.MinScore, Offset: a.Offset, Scope: statementScope(ctx),
	}
	if a.Limit != nil {
		if q.Limit = *a.Limit; q.Limit < 1 {
			return q, fmt.Errorf("%s: limit is %d; it is at least 1", function, q.Limit)
		}
	}
	return q, nil
}
