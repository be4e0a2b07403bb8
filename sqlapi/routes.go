package sqlapi

import (
	"net/http"
	"slices"

	"github.com/spiced-sql/spiced/internal/access/caller"
)

// handlers are what the routes call.
type handlers struct {
	sql        *sqlHandler
	activity   *activityHandler
	nsql       *nsqlHandler
	rowSearch  *rowSearchHandler
	queries    *queriesHandler
	chats      *chatHandler
	tools      *toolsHandler
	sandboxes  *sandboxesHandler
	approvals  *approvalsHandler
	embeddings *embeddingsHandler
	runtime    *runtimeHandler
	mcp        *mcpHandler
	openAPI    handler
	metrics    handler
	whoami     *whoamiHandler
	events     *eventsHandler
}

// routes is the table of the API. OpenAPI and docs/http.md are made of it with
// no handlers.
func routes(h handlers) []route {
	return slices.Concat(
		[]route{sqlRoute(withCaller(caller.SQL, h.sql.run))}, activityRoutes(h.activity),
		[]route{
			rowSearchRoute(h.rowSearch), nsqlRoute(h.nsql.run),
			completionsRoute(h.chats), messagesRoute(h.chats), responsesRoute(h.chats),
			modelsRoute(withCaller(caller.HTTP, h.chats.listModels)), modelRoute(withCaller(caller.HTTP, h.chats.getModel)),
			agentsRoute(withCaller(caller.HTTP, h.chats.listAgents)),
			cancelRoute(withCaller(caller.HTTP, h.activity.cancelRequest)),
			listToolsRoute(h.tools), searchDefinitionsRoute(h.tools), getToolRoute(h.tools),
			invokeToolRoute(h.tools), callToolRoute(h.tools), callToolAliasRoute(h.tools),
			searchToolsRoute(h.tools), searchToolsByQueryRoute(h.tools), embeddingsRoute(h.embeddings.embed),
		},
		approvalRoutes(h.approvals), componentRoutes(h.runtime), sandboxRoutes(h.sandboxes),
		runtimeRoutes(h.runtime, h.openAPI, h.metrics), queryRoutes(h.queries), mcpRoutes(h.mcp.serve),
		[]route{whoamiRoute(h.whoami), eventsRoute(h.events)}, pageRoutes())
}

func sqlRoute(h handler) route {
	const row = `[{"id":1,"name":"Alice","born":"1990-05-17"}]`
	return route{
		method: "POST", path: "/v1/sql", id: "sql", tag: "SQL",
		summary: "Run a statement.",
		about: "The body is the statement, as text, or with parameters as JSON. The Accept header chooses the form: the " +
			"first media type in it that is served wins, JSON when there is none. Rows are sent as they come; when a " +
			"statement fails while rows are sent, the connection is closed and the result never ends properly. Disconnecting " +
			"cancels the statement. Errors are text, or JSON when Accept names a JSON type. The X-Spiced-Generation " +
			"header of an " +
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
		},
		failures: bodyFailures(failures{
			http.StatusBadRequest:            "The body or the statement is wrong, refused, or fails on the data.",
			http.StatusRequestEntityTooLarge: "The body, the statement or the result is over a limit.",
			http.StatusTooManyRequests:       "Too many statements wait already; see Retry-After.",
			statusClientLeft:                 "Its owner has cancelled the statement.",
			http.StatusBadGateway:            "A tool or a model that a function calls has failed.",
			http.StatusServiceUnavailable:    "The runtime is shutting down.",
			http.StatusGatewayTimeout:        "The statement was over its time limit.",
		}),
		is:     plainErrors | scoped,
		handle: h,
	}
}

// componentRoutes are the routes of what the Spicepod declares.
func componentRoutes(h *runtimeHandler) []route {
	return []route{
		{
			method: "GET", path: "/v1/functions", id: "list_functions", tag: "Functions",
			summary: "List the functions that are served.",
			about: "Lists the functions in the order of their declarations, without those that are disabled or faulty, or " +
				"not available to the caller.",
			params: []param{
				{"as_tool", "query", "only functions that are offered to models, or only the others", boolean},
				formatParam,
			},
			answers:  []answer{{http.StatusOK, "The functions.", asList(ref("Function"), "")}},
			failures: failures{http.StatusBadRequest: "A parameter or a header is wrong."},
			is:       scoped,
			handle:   withCaller(caller.HTTP, h.functions),
		},
		testFunctionRoute(h),
		{
			method: "GET", path: "/v1/datasets", id: "get_datasets", tag: "Datasets",
			summary: "List the datasets.",
			params: []param{
				{"source", "query", "only those whose from, or its connector, is this", text},
				{"status", "query", "true adds each dataset's status", boolean},
				formatParam,
			},
			answers:  []answer{{http.StatusOK, "The datasets.", asList(ref("Dataset"), "")}},
			failures: failures{http.StatusBadRequest: "A parameter is wrong."},
			handle:   h.datasets,
		},
		{
			method: "POST", path: "/v1/datasets/{name}/acceleration/refresh", id: "refresh_dataset", tag: "Datasets",
			is:      writes | bodyOptional,
			summary: "Refresh an accelerated dataset.",
			about:   "Returns when the refresh has begun. The old rows are served until it completes.",
			params:  []param{{"name", "path", "the dataset", text}},
			body:    asJSON(ref("Refresh"), `{"refresh_mode":"full"}`),
			answers: []answer{{
				http.StatusCreated, "The refresh has begun.",
				asJSON(ref("Message"), `{"message":"Dataset refresh triggered for trips."}`),
			}},
			failures: bodyFailures(failures{
				http.StatusBadRequest: "The dataset is not accelerated, or the body is wrong.",
				http.StatusNotFound:   "There is no such dataset.",
			}),
			handle: h.refresh,
		},
		{
			method: "GET", path: "/v1/spicepods", id: "get_spicepods", tag: "Spicepods",
			summary:  "List the loaded Spicepods.",
			params:   []param{formatParam},
			answers:  []answer{{http.StatusOK, "The Spicepods.", asList(ref("Spicepod"), "")}},
			failures: failures{http.StatusBadRequest: "A parameter is wrong."},
			handle:   h.spicepods,
		},
		listFilesRoute(h), getFileRoute(h), schemaRoute(h),
	}
}

// runtimeRoutes are the routes of the state of the runtime.
func runtimeRoutes(h *runtimeHandler, openAPI, metrics handler) []route {
	return []route{
		{
			method: "GET", path: "/v1/status", id: "get_status", tag: "General",
			summary: "Show the state of the runtime and the problems of the last load.",
			about: "There is an entry for each protocol, and one for each component with problems, whose status is Error " +
				"unless they are only warnings. Faults in the structure of the file belong to the component spicepod. In CSV, " +
				"the column message has the problems as text.",
			params: []param{formatParam},
			answers: []answer{{
				http.StatusOK, "The components.",
				asList(ref("Component"), `[{"name":"http","endpoint":"127.0.0.1:8090","status":"Ready"}]`),
			}},
			failures: failures{http.StatusBadRequest: "A parameter is wrong."},
			handle:   h.status,
		},
		{
			method: "GET", path: "/v1/ready", id: "ready", tag: "General", is: quiet | public,
			summary: "Readiness probe.",
			answers: []answer{
				{http.StatusOK, "The first generation is served.", asText("ready")},
				{http.StatusServiceUnavailable, "Not yet.", asText("not ready")},
			},
			handle: h.ready,
		},
		{
			method: "GET", path: "/health", id: "health", tag: "General", is: quiet | public,
			summary: "Liveness probe.",
			answers: []answer{{http.StatusOK, "The process answers.", asText("ok")}},
			handle:  h.health,
		},
		{
			method: "GET", path: "/metrics", id: "metrics", tag: "General", is: quiet,
			summary: "Show the metrics, in the formats of Prometheus.",
			about:   "`spiced serve --metrics ADDRESS` serves them on a second address too, which needs no key on this machine.",
			answers: []answer{{http.StatusOK, "The metrics.", asText("spiced_generation 1\n")}},
			handle:  metrics,
		},
		{
			method: "POST", path: "/v1/reload", id: "reload", tag: "Spicepods", is: writes,
			summary: "Read the Spicepod again and wait for the outcome.",
			about:   "Components with faults of their own are left out, or stay as they were, and are listed under problems.",
			answers: []answer{{
				http.StatusOK, "The Spicepod was applied, with the problems it has.",
				asJSON(ref("Reload"), ""),
			}},
			failures: failures{http.StatusUnprocessableEntity: "The Spicepod was refused; the previous generation " +
				"is still served."},
			handle: h.reload,
		},
		{
			method: "GET", path: "/v1/openapi.json", id: "openapi", tag: "General",
			summary: "Describe this API.",
			answers: []answer{{http.StatusOK, "An OpenAPI 3.1 document.", asJSON(object, "")}},
			handle:  openAPI,
		},
	}
}
