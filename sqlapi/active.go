package sqlapi

import (
	"net/http"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

type activeQuery struct {
	QueryID     string `json:"query_id"`
	Protocol    string `json:"protocol"`
	SQLPreview  string `json:"sql_preview"`
	StartedAtMS int64  `json:"started_at_ms"`
}

type activeQueries struct {
	Queries    []activeQuery `json:"queries"`
	TotalCount int           `json:"total_count"`
}

// active lists the caller's statements that run.
func (a *API) active(w http.ResponseWriter, r *http.Request) error {
	who, err := callerOf(w, r, caller.HTTP)
	if err != nil {
		return err
	}
	list := activeQueries{Queries: []activeQuery{}}
	for _, q := range a.opts.Queries.Active(who.Owner()) {
		list.Queries = append(list.Queries, activeQuery{q.ID, string(q.Door), q.SQL, q.Began.UnixMilli()})
	}
	list.TotalCount = len(list.Queries)
	return writeJSON(w, http.StatusOK, list)
}

type queryStatus struct {
	QueryID string `json:"query_id"`
	Status  string `json:"status"`
}

// cancelActive ends a statement of the caller's.
func (a *API) cancelActive(w http.ResponseWriter, r *http.Request) error {
	who, err := callerOf(w, r, caller.HTTP)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	if !a.opts.Queries.Cancel(who.Owner(), id) {
		return newError(codeNoQuery, "it may have ended, or be somebody else's", "no statement runs under the id %q", truncate.Ellipsis(id, maxShown))
	}
	return writeJSON(w, http.StatusOK, queryStatus{id, "cancelled"})
}

func activeRoute() route {
	return route{
		method: "GET", path: "/v1/sql/active", id: "active_queries", tag: "SQL", scoped: true, free: true,
		summary: "List your statements that run.",
		about:   "Those of the same key and user, whatever door they came in by; sql_preview has no literals.",
		answers: []answer{
			{http.StatusOK, "The statements, the oldest first.", asJSON(ref("ActiveQueries"), "")},
			failure(http.StatusBadRequest, "A header is wrong."),
		},
		handle: (*API).active,
	}
}

func cancelActiveRoute() route {
	return route{
		method: "POST", path: "/v1/sql/{id}/cancel", id: "cancel_query", tag: "SQL", scoped: true, free: true,
		summary: "End one of your statements.",
		params:  []param{{"id", "path", "from /v1/sql/active, or the X-Spiced-Query-Id of its answer", text("")}},
		answers: []answer{
			{http.StatusOK, "It was told to end.", asJSON(ref("QueryStatus"), `{"query_id":"8c6f…","status":"cancelled"}`)},
			failure(http.StatusBadRequest, "A header is wrong."),
			failure(http.StatusNotFound, "No statement of yours runs under that id."),
		},
		handle: (*API).cancelActive,
	}
}
