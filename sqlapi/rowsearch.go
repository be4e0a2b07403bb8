package sqlapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/activity"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// RowSearch finds rows as a caller. Errors are [*tools.Error]s.
type RowSearch func(ctx context.Context, a builtin.SearchArgs, who caller.Caller) (builtin.RowAnswer, error)

// rowSearchHandler serves searches over rows.
type rowSearchHandler struct {
	search   RowSearch
	activity *activity.Table
	bodies   bodyReader
}

// rowSearchAnswer is the answer of /v1/search, for its schema.
type rowSearchAnswer struct {
	Results []rowSearchResult `json:"results" doc:"The rows, best first."`
	rowSearchEnd
}

// rowSearchEnd is what follows the rows.
type rowSearchEnd struct {
	Mode     builtin.SearchMode `json:"mode" enum:"hybrid,vector,keyword" doc:"How rows were found: keyword if no embedding model could be asked."`
	Notes    []string           `json:"notes,omitempty" doc:"What was not searched as asked."`
	Duration int64              `json:"duration_ms"`
}

// rowSearchResult is a row that was found.
type rowSearchResult struct {
	Dataset    string              `json:"dataset"`
	PrimaryKey *map[string]any     `json:"primary_key,omitempty" doc:"The columns that identify the row: row_id, or the primary key of the acceleration."`
	Score      float64             `json:"score" doc:"In a hybrid search, from 0 to 1; by meaning, the cosine; by words, that of BM25."`
	Matches    map[string][]string `json:"matches" doc:"The part of a column's text that the row was found by."`
	Data       *map[string]any     `json:"data,omitempty" doc:"The additional columns."`
	Sources    []rowSearchSource   `json:"sources,omitempty" doc:"With explain: how each channel ranks the row."`
}

type rowSearchSource struct {
	Source string  `json:"source" enum:"full_text,vector"`
	Rank   int     `json:"rank" doc:"From 1."`
	Score  float64 `json:"score" doc:"On the channel's own scale."`
}

func rowSearchRoute(h *rowSearchHandler) route {
	return route{
		method: "POST", path: "/v1/search", id: "search", tag: "SQL", is: scoped,
		summary: "Find rows by their texts.",
		about: "Searches the columns of datasets and views that have full_text_search or embeddings, by words, by meaning, " +
			"or by both, and only in the rows that the caller may see. A hit is a row, shown by the part of its text that " +
			"fits best. The same search is the tool search and, in SQL, vector_search, text_search and rrf.",
		body: asJSON(ref("RowSearch"), `{"text":"how do I return goods","datasets":["docs"],"limit":3,"where":"year > 2024",`+
			`"additional_columns":["title"]}`),
		answers: []answer{{http.StatusOK, "The rows.", asJSON(ref("RowSearchAnswer"),
			`{"results":[{"dataset":"spice.public.docs","primary_key":{"id":1},"score":0.98,"matches":{"body":`+
				`["You can send goods back within thirty days."]},"data":{"title":"Returning goods"}}],"mode":"hybrid",`+
				`"duration_ms":3}`)}},
		failures: bodyFailures(failures{
			http.StatusBadRequest:          "The body is wrong, there is no such table or column, or the condition fails.",
			http.StatusNotFound:            "This process does not serve searches.",
			http.StatusTooManyRequests:     "Too many statements wait already; see Retry-After.",
			statusClientLeft:               "Its owner has cancelled the search.",
			http.StatusServiceUnavailable:  "The index is being built, or the runtime is shutting down.",
			http.StatusGatewayTimeout:      "The search took too long.",
			http.StatusUnprocessableEntity: "The condition fails on the data.",
		}),
		handle: withCaller(caller.HTTP, h.run),
	}
}

// run answers a search.
func (h *rowSearchHandler) run(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	if h.search == nil {
		return newError(codeNotServed, "", "searches are not served here")
	}
	args, err := h.read(w, r)
	if err != nil {
		return err
	}
	ctx, entry := h.activity.Begin(r.Context(), activity.Work{
		ID: who.RequestID, Kind: activity.ToolCall, Owner: who.Owner(), Protocol: string(query.HTTP), Name: "search",
	})
	defer entry.End()
	began := time.Now()
	found, err := h.search(ctx, args, who)
	if err = blame(ctx, err); err != nil {
		var failed *tools.Error
		if errors.As(err, &failed) {
			return callError(failed)
		}
		return err
	}
	out := append([]byte(`{"results":[`), bytes.Join(rowLines(found.Rows, args.Explain), []byte{','})...)
	tail, err := json.Marshal(rowSearchEnd{found.Mode, found.Notes, time.Since(began).Milliseconds()})
	if err != nil {
		return err
	}
	out = append(append(out, "],"...), tail[1:]...)
	return writeBytes(w, mediaJSON, append(out, '\n'))
}

func rowLines(rows []builtin.FoundRow, explain bool) [][]byte {
	lines := make([][]byte, len(rows))
	for i, r := range rows {
		lines[i] = r.JSON(explain)
	}
	return lines
}

// read decodes and checks the body.
func (h *rowSearchHandler) read(w http.ResponseWriter, r *http.Request) (a builtin.SearchArgs, err error) {
	body, err := h.bodies.read(w, r, maxSmallBody)
	if err != nil {
		return a, err
	}
	a.Limit = 10
	if err := decodeObject(body, &a); err != nil {
		return a, err
	}
	switch {
	case strings.TrimSpace(a.Text) == "":
		return a, newError(errcode.InvalidRequest, `send {"text": "what to look for"}`, `there is no "text"`)
	case a.Datasets != nil && len(a.Datasets) == 0:
		return a, newError(errcode.InvalidRequest, "name tables, or leave datasets out to search all",
			"No data sources provided")
	case a.Limit < 1 || a.Limit > builtin.MaxHits:
		return a, newError(errcode.InvalidRequest, "", "limit is %d; it must be from 1 to %d", a.Limit, builtin.MaxHits)
	case len(a.Keywords) > maxKeywords:
		return a, newError(errcode.InvalidRequest, "", "there are %d keywords; the limit is %d", len(a.Keywords), maxKeywords)
	case !slices.Contains(searchModes, a.Mode):
		return a, newError(errcode.InvalidRequest, "", "mode is %q; it must be hybrid, vector or keyword",
			truncate.Ellipsis(string(a.Mode), maxShown))
	}
	return a, nil
}

const maxKeywords = 64 // no more words count

var searchModes = []builtin.SearchMode{"", builtin.SearchHybrid, builtin.SearchVector, builtin.SearchKeyword}
