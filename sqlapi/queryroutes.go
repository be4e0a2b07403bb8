package sqlapi

import "net/http"

const (
	pathQueries = "/v1/queries"
	pathResults = "/v1/results"
)

// queryRoutes are the routes of submitted queries and stored results.
func queryRoutes(h *queriesHandler) []route {
	id := param{"id", "path", "the query, from its submission", text}
	query := func(method, path, name, summary, about string, params []param, ok answer) route {
		rt := route{
			method: method, path: pathQueries + path, id: name, tag: "Queries", is: scoped, summary: summary,
			about: about, params: params, answers: []answer{ok},
		}
		rt.failures = failures{http.StatusBadRequest: "A header, a parameter or the body is wrong."}
		if len(params) > 0 && params[0].name == "id" {
			rt.failures[http.StatusNotFound] = "No query of yours has that id."
		}
		return rt
	}
	submit := query("POST", "", "submit_query", "Submit a statement to run in the background.",
		"The response does not wait for the statement; Location is the path of the query. The rows are stored for "+
			"runtime.results.ttl and can be read in chunks, as a whole "+
			"with GET /v1/results/{ref}, or in SQL with FROM ref('…'). Only its owner can see a query.", nil,
		answer{http.StatusAccepted, "The query was accepted.", asJSON(ref("Query"), "")})
	submit.failures = bodyFailures(submit.failures)
	submit.body, submit.handle = asJSON(ref("SQL"), `{"sql":"SELECT * FROM trips WHERE id > $1","parameters":[1000]}`),
		h.owned(h.submit)
	list := query("GET", "", "list_queries", "List your submitted queries.", "", []param{
		{"status", "query", "only those that are pending, running, succeeded, failed or cancelled", oneOf(stateChoices()...)},
		{"limit", "query", "how many", atLeast(1)},
	}, answer{http.StatusOK, "The queries, the newest first.", asJSON(ref("Queries"), "")})
	list.handle = h.owned(h.list)
	one := query("GET", "/{id}", "get_query", "Describe a submitted query and its result.",
		"The answer includes the first chunk of the rows, if there are any.",
		[]param{id}, answer{http.StatusOK, "The query.", asJSON(ref("Query"), "")})
	one.handle = h.owned(h.get)
	status := query("GET", "/{id}/status", "get_query_status", "Show the status of a submitted query.", "",
		[]param{id}, answer{http.StatusOK, "The query without its result.", asJSON(ref("Query"), "")})
	status.handle = h.owned(h.status)
	chunk := query("GET", "/{id}/results/chunks/{index}", "get_query_chunk",
		"Read a chunk of a submitted query's rows.", "",
		[]param{id, {"index", "path", "from 0", atLeast(0)}},
		answer{http.StatusOK, "The rows, each an object.", asJSON(ref("QueryChunk"), "")})
	chunk.handle = h.owned(h.getChunk)
	cancel := query("POST", "/{id}/cancel", "cancel_submitted_query", "Cancel a submitted query.",
		"A query that is over does not change.",
		[]param{id}, answer{http.StatusOK, "The query.", asJSON(ref("Query"), "")})
	cancel.handle, cancel.is = h.owned(h.cancel), cancel.is|free
	return append([]route{submit, list, one, status, chunk, cancel}, resultRoutes(h)...)
}

func resultRoutes(h *queriesHandler) []route {
	name := param{"ref", "path", "the reference, r_…", text}
	wrong := failures{http.StatusBadRequest: "A header is wrong."}
	gone := failures{
		http.StatusBadRequest: wrong[http.StatusBadRequest],
		http.StatusNotFound:   "No stored result of yours has that name.",
	}
	rows := sqlRoute(nil).answers[0]
	return []route{
		{
			method: "GET", path: pathResults, id: "list_results", tag: "Queries", is: scoped,
			summary:  "List your stored results.",
			about:    "Results of tools that exceed their budget, and results of submitted queries, are stored for a while.",
			answers:  []answer{{http.StatusOK, "The results, the oldest first.", asJSON(ref("KeptResults"), "")}},
			failures: wrong,
			handle:   h.owned(h.listResults),
		},
		{
			method: "GET", path: pathResults + "/{ref}", id: "get_result", tag: "Queries", is: scoped,
			summary:  "Read a stored result.",
			about:    "The Accept header chooses the form, as for /v1/sql.",
			params:   []param{name},
			answers:  []answer{{http.StatusOK, "The rows.", rows.body}},
			failures: gone,
			handle:   h.owned(h.result),
		},
		{
			method: "DELETE", path: pathResults + "/{ref}", id: "delete_result", tag: "Queries", is: scoped,
			summary:  "Delete a stored result.",
			params:   []param{name},
			answers:  []answer{{http.StatusNoContent, "Deleted.", nil}},
			failures: gone,
			handle:   h.owned(h.deleteResult),
		},
	}
}
