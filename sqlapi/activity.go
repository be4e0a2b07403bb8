package sqlapi

import (
	"net/http"
	"strings"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/activity"
)

type activeQuery struct {
	QueryID     string        `json:"query_id" doc:"A UUID, or the X-Request-Id of a chat."`
	Kind        activity.Kind `json:"kind" enum:"statement,tool_statement,tool_call,chat"`
	Protocol    string        `json:"protocol" doc:"http, postgres, flight, queries; of tool calls also chat, sql, mcp."`
	Name        string        `json:"name,omitempty" doc:"Of the tool or model."`
	SQLPreview  string        `json:"sql_preview" doc:"Without literals; empty for tool calls and chats."`
	StartedAtMS int64         `json:"started_at_ms" doc:"Milliseconds since 1970."`
}

func activeQueryOf(w activity.Work) activeQuery {
	return activeQuery{w.ID, w.Kind, w.Protocol, w.Name, w.SQL, w.Began.UnixMilli()}
}

type activeQueries struct {
	Queries    []activeQuery `json:"queries"`
	TotalCount int           `json:"total_count"`
}

// activityHandler lists and cancels what runs for the caller.
type activityHandler struct{ table *activity.Table }

// list lists the caller's work.
func (h *activityHandler) list(w http.ResponseWriter, _ *http.Request, who caller.Caller) error {
	list := activeQueries{Queries: []activeQuery{}}
	for _, q := range h.table.List(who.Owner()) {
		list.Queries = append(list.Queries, activeQueryOf(q))
	}
	list.TotalCount = len(list.Queries)
	return writeJSON(w, http.StatusOK, list)
}

type queryStatus struct {
	QueryID string `json:"query_id"`
	Status  string `json:"status"`
}

// cancel cancels work of the caller.
func (h *activityHandler) cancel(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	id := r.PathValue("id")
	if !h.table.Cancel(who.Owner(), id) {
		return newError(codeNoQuery, "it may have ended, or belong to another caller", "no statement runs under the id %q",
			truncate.Ellipsis(id, maxShown))
	}
	return writeJSON(w, http.StatusOK, queryStatus{id, "cancelled"})
}

// activityRoutes are the routes of running work.
func activityRoutes(h *activityHandler) []route {
	return []route{
		{
			method: "GET", path: "/v1/sql/active", id: "active_queries", tag: "SQL", is: scoped | free,
			summary: "List your running statements, tool calls and chats.",
			about: "Those of the same key and user, over every protocol. kind is statement, tool_statement (a statement that " +
				"a tool runs), " +
				"tool_call or chat; name is the tool or model; sql_preview is the statement without its literals. Any " +
				"of them can be " +
				"cancelled by its query_id.",
			answers:  []answer{{http.StatusOK, "The running work, oldest first.", asJSON(ref("ActiveQueries"), "")}},
			failures: failures{http.StatusBadRequest: "A header is wrong."},
			handle:   withCaller(caller.HTTP, h.list),
		},
		{
			method: "POST", path: "/v1/sql/{id}/cancel", id: "cancel_query", tag: "SQL", is: scoped | free,
			summary: "Cancel a running statement, tool call or chat of yours.",
			params:  []param{{"id", "path", "from /v1/sql/active, or the X-Spiced-Query-Id of its answer", text}},
			answers: []answer{{
				http.StatusOK, "Cancellation requested.",
				asJSON(ref("QueryStatus"), `{"query_id":"8c6f…","status":"cancelled"}`),
			}},
			failures: failures{
				http.StatusBadRequest: "A header is wrong.",
				http.StatusNotFound:   "You have no running work with that id.",
			},
			handle: withCaller(caller.HTTP, h.cancel),
		},
	}
}

type cancelled struct {
	Cancelled bool `json:"cancelled"`
}

// cancelRequest cancels a chat that runs.
func (h *activityHandler) cancelRequest(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	id := strings.TrimSuffix(r.PathValue("name"), verbCancel)
	if !h.table.Cancel(who.Owner(), id) {
		return newError(codeNoRequest, "it may have ended; the key and X-Spiced-User must be those of the request",
			"no request runs under the id %q", truncate.Ellipsis(id, maxShown))
	}
	return writeJSON(w, http.StatusOK, cancelled{true})
}
