package sqlapi

import (
	"net/http"
	"slices"
)

// routes is the one table of the API.
func routes() []route {
	return slices.Concat([]route{
		sqlRoute(), activeRoute(), cancelActiveRoute(), nsqlRoute(),
		completionsRoute(), messagesRoute(), responsesRoute(), modelsRoute(), modelRoute(), cancelRoute(),
		listToolsRoute(), searchDefinitionsRoute(), getToolRoute(), invokeToolRoute(), callToolRoute(), callToolAliasRoute(),
		searchToolsRoute(), searchToolsByQueryRoute(), embeddingsRoute(),
		functionsRoute(), datasetsRoute(), refreshRoute(), spicepodsRoute(),
		statusRoute(), readyRoute(), healthRoute(), reloadRoute(), openAPIRoute(),
	}, queryRoutes(), mcpRoutes())
}

func sqlRoute() route {
	const row = `[{"id":1,"name":"Alice","born":"1990-05-17"}]`
	return route{
		method: "POST", path: "/v1/sql", id: "sql", tag: "SQL",
		summary: "Run a statement.",
		about: "The body is the statement, as text, or with parameters as JSON. The Accept header chooses the form: the " +
			"first media type in it that is served wins, JSON when there is none. Rows are sent as they come; when a " +
			"statement fails on its way, the connection is broken off and the result never ends properly. Leaving ends " +
			"the statement. Errors are text, or JSON when Accept names a JSON type. The X-Spiced-Generation header of an " +
			"answer names the generation that it comes from.\n\n" +
			"Integers and decimals are JSON numbers with all their digits, beyond what a JavaScript number holds; NaN and " +
			"infinities are null; dates and times are ISO 8601; a BLOB is base64; NULL is an explicit null.",
		body: []content{
			{"text/plain", nil, "SELECT 40 + 2 AS answer"},
			{"application/json", ref("SQL"), `{"sql":"SELECT * FROM customers WHERE id = $1","parameters":[1]}`},
		},
		answers: []answer{
			{http.StatusOK, "The rows.", []content{
				{"application/json", listOf(ref("Row")), row},
				{"application/vnd.spiceai.sql.v1+json", ref("Result"), ""},
				{"application/x-ndjson", nil, `{"id":1,"name":"Alice"}`},
				{"text/csv", nil, "id,name\n1,Alice"},
				{"text/plain", nil, ""},
				{"application/vnd.apache.arrow.stream", nil, ""},
			}},
			either(http.StatusBadRequest, "The body or the statement is wrong, refused, or fails on the data."),
			either(http.StatusRequestTimeout, "The body took too long to arrive."),
			either(http.StatusRequestEntityTooLarge, "The body, the statement or the result is over a limit."),
			either(http.StatusUnsupportedMediaType, "The body is compressed."),
			either(http.StatusTooManyRequests, "Too many statements wait already; see Retry-After."),
			either(statusClientLeft, "Its owner has cancelled the statement."),
			either(http.StatusInternalServerError, "A fault of the runtime's own."),
			either(http.StatusServiceUnavailable, "The runtime is shutting down."),
			either(http.StatusGatewayTimeout, "The statement was over its time limit."),
		},
		plainErrors: true,
		scoped:      true,
		handle:      (*API).sql,
	}
}

func functionsRoute() route {
	return route{
		method: "GET", path: "/v1/functions", id: "list_functions", tag: "Functions",
		summary: "List the functions that are served.",
		about:   "In the order of their declarations. Functions that are disabled or have a fault are not in the list.",
		params: []param{
			{"as_tool", "query", "only functions that are offered to models, or only the others", boolean("")},
			formatParam,
		},
		answers: []answer{{http.StatusOK, "The functions.", asList(ref("Function"), "")}, failure(http.StatusBadRequest, "A parameter is wrong.")},
		handle:  (*API).functions,
	}
}

func datasetsRoute() route {
	return route{
		method: "GET", path: "/v1/datasets", id: "get_datasets", tag: "Datasets",
		summary: "List the datasets.",
		params: []param{
			{"source", "query", "only those whose from, or its connector, is this", text("")},
			{"status", "query", "true adds each dataset's status", boolean("")},
			formatParam,
		},
		answers: []answer{{http.StatusOK, "The datasets.", asList(ref("Dataset"), "")}, failure(http.StatusBadRequest, "A parameter is wrong.")},
		handle:  (*API).datasets,
	}
}

func refreshRoute() route {
	return route{
		method: "POST", path: "/v1/datasets/{name}/acceleration/refresh", id: "refresh_dataset", tag: "Datasets", writes: true,
		summary: "Load an accelerated dataset anew.",
		about:   "Returns when the refresh has begun. The rows of before serve until the new ones are there.",
		params:  []param{{"name", "path", "the dataset", text("")}},
		body:    asJSON(ref("Refresh"), `{"refresh_mode":"full"}`), bodyOptional: true,
		answers: []answer{
			{http.StatusCreated, "The refresh has begun.", asJSON(ref("Message"), `{"message":"Dataset refresh triggered for trips."}`)},
			failure(http.StatusBadRequest, "The dataset is not accelerated, or the body is wrong."),
			failure(http.StatusNotFound, "There is no such dataset."),
			failure(http.StatusRequestEntityTooLarge, "The body is over its limit."),
		},
		handle: (*API).refresh,
	}
}

func spicepodsRoute() route {
	return route{
		method: "GET", path: "/v1/spicepods", id: "get_spicepods", tag: "Spicepods",
		summary: "List the loaded Spicepods.",
		params:  []param{formatParam},
		answers: []answer{{http.StatusOK, "The Spicepods.", asList(ref("Spicepod"), "")}, failure(http.StatusBadRequest, "A parameter is wrong.")},
		handle:  (*API).spicepods,
	}
}

func statusRoute() route {
	return route{
		method: "GET", path: "/v1/status", id: "get_status", tag: "General",
		summary: "Show the state of the runtime and the problems of the last load.",
		about: "A line for each door, and one for each component that has problems, with the status Error unless they are " +
			"only warnings. Faults of the file's structure belong to the component spicepod. In CSV, message has the " +
			"problems as text.",
		params: []param{formatParam},
		answers: []answer{
			{http.StatusOK, "The components.", asList(ref("Component"), `[{"name":"http","endpoint":"127.0.0.1:8090","status":"Ready"}]`)},
			failure(http.StatusBadRequest, "A parameter is wrong."),
		},
		handle: (*API).status,
	}
}

func readyRoute() route {
	return route{
		method: "GET", path: "/v1/ready", id: "ready", tag: "General", quiet: true, open: true,
		summary: "Tell whether the first generation serves.",
		answers: []answer{
			{http.StatusOK, "It does.", asText("ready")},
			{http.StatusServiceUnavailable, "Not yet.", asText("not ready")},
		},
		handle: (*API).ready,
	}
}

func healthRoute() route {
	return route{
		method: "GET", path: "/health", id: "health", tag: "General", quiet: true, open: true,
		summary: "Tell that the process answers.",
		answers: []answer{{http.StatusOK, "It does.", asText("ok")}},
		handle:  (*API).health,
	}
}

func reloadRoute() route {
	return route{
		method: "POST", path: "/v1/reload", id: "reload", tag: "Spicepods", writes: true,
		summary: "Read the Spicepod again and wait for the outcome.",
		about:   "Components with faults of their own are left out, or stay as they were, and are listed under problems.",
		answers: []answer{
			{http.StatusOK, "The Spicepod was taken over, with the problems it has.", asJSON(ref("Reload"), "")},
			failure(http.StatusUnprocessableEntity, "The Spicepod was refused; the generation before goes on serving."),
		},
		handle: (*API).reload,
	}
}

func openAPIRoute() route {
	return route{
		method: "GET", path: "/v1/openapi.json", id: "openapi", tag: "General",
		summary: "Describe this API.",
		answers: []answer{{http.StatusOK, "An OpenAPI 3.1 document.", asJSON(schema{"type": "object"}, "")}},
		handle:  (*API).openapi,
	}
}
