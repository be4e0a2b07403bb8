package sqlapi

import (
	"maps"
	"net/http"

	"github.com/spiced-sql/spiced/internal/kit/schema"
)

const (
	pathTools  = "/v1/tools"
	matchTool  = "/v1/tools/{name...}" // with server/tool
	matchAlias = "/v1/tool/{name...}"
)

var (
	nameParam  = param{"name", "path", "the tool; that of an MCP server is server__tool, or server/tool", text}
	modelParam = param{"embedding_model", "query", "the embedding model of tool_search; without it, the runtime's", text}
)

func listToolsRoute(h *toolsHandler) route {
	views := anyOf(listOf(ref("ToolSummary")), listOf(ref("Tool")), listOf(ref("ToolStats")))
	return route{
		method: "GET", path: pathTools, id: "list_tools", tag: "Tools", is: scoped,
		summary: "List the tools.",
		about: "Lists the tools that are available to the caller, sorted by name. Equal lists have equal bytes and an " +
			"equal ETag, except in the view stats. tool_search and tool_invoke are not listed.",
		params: []param{
			{
				"view", "query", "planner, the default: names and descriptions; full: the definitions; stats: the state of each",
				oneOf("planner", "full", "stats"),
			},
			{"format", "query", "json, which is the default; xml, for prompts: names, descriptions and parameters; csv, of " +
				"stats or else of planner", oneOf("json", "xml", "csv")},
			{"source", "query", "only tools from builtin, function, mcp or mcp:server", text},
			{"owner", "query", "only those of this owner", text},
			{"tag", "query", "only those with this tag", text},
			{"sandbox", "query", "only the functions in this sandbox", text},
		},
		answers: []answer{
			{http.StatusOK, "The tools.", []content{
				{
					"application/json", views,
					`[{"name":"haversine_km","description":"Haversine great-circle distance in kilometres."}]`,
				},
				{"application/xml", nil, ""},
				{"text/csv", nil, ""},
			}},
			{http.StatusNotModified, "The client has this list: see If-None-Match.", nil},
		},
		failures: failures{
			http.StatusBadRequest: "A parameter or a header is wrong.",
			http.StatusNotFound:   "This process does not serve tools, or there is no such sandbox.",
		},
		handle: h.scoped(h.list),
	}
}

func searchDefinitionsRoute(h *toolsHandler) route {
	return route{
		method: "GET", path: pathTools + "/search", id: "tool_search_definitions", tag: "Tools", is: scoped,
		summary: "Show the definitions that a model gets instead of all tools.",
		about: "Shows tool_search, tool_invoke and, if available, list_datasets, in this order, for models of " +
			"other systems, which call them at POST /v1/tools/{name}. The definition of a tool named search is in " +
			"GET /v1/tools?view=full.",
		params: []param{
			modelParam,
			{"format", "query", "json, which is the default, or openai: each as a function", oneOf("json", "openai")},
		},
		answers: []answer{
			{http.StatusOK, "The definitions.", asJSON(anyOf(listOf(ref("ToolDefinition")), listOf(ref("ToolFunction"))), "")},
			{http.StatusNotModified, "The client has these definitions: see If-None-Match.", nil},
		},
		failures: failures{
			http.StatusBadRequest: "No embedding model can be chosen, a tool has a reserved name, or a parameter is wrong.",
			http.StatusNotFound:   "This process does not serve tools.",
		},
		handle: h.scoped(h.definitions),
	}
}

func getToolRoute(h *toolsHandler) route {
	return route{
		method: "GET", path: pathTools + "/{name}", match: matchTool, id: "get_tool", tag: "Tools", is: scoped,
		summary: "Show a tool's definition.",
		params: []param{
			nameParam,
			{"explain", "query", "show instead whether the tool can be called and, if not, why", boolean},
		},
		answers: []answer{
			{http.StatusOK, "The definition, or the explanation.", asJSON(anyOf(ref("Tool"), ref("ToolStatus")), "")},
			{http.StatusNotModified, "The client has this definition: see If-None-Match.", nil},
		},
		failures: failures{
			http.StatusBadRequest: "A parameter or a header is wrong.",
			http.StatusForbidden:  "The tool is not available to the caller.",
			http.StatusNotFound:   "There is no such tool; the hint suggests the nearest name.",
		},
		handle: h.scoped(h.get),
	}
}

func invokeToolRoute(h *toolsHandler) route {
	return route{
		method: "POST", path: pathTools + "/{name}" + verbInvoke, match: matchTool, verb: verbInvoke, id: "invoke_tool",
		tag: "Tools", is: scoped | bodyOptional,
		summary: "Call a tool.",
		about: "The answer is always a ToolResult. Once the call has reached the tool the status is 200, even if the tool " +
			"fails: see ok. An empty body means {}.\n\n" +
			"With Accept: text/event-stream the answer is a stream, whose last event, result, has the ToolResult. " +
			"With X-Spiced-Events: include, it also has the steps of agents that work for the call: agent_start, agent_chunk, " +
			"agent_tool_call, agent_tool_result and agent_end, those that events: in their declarations permits. A comment " +
			"follows 30 s of silence.\n\n" +
			"With Prefer: respond-async (RFC 7240), a call of a function with async: true is submitted as a statement, as " +
			"by POST /v1/queries: the answer is 202 with Preference-Applied: respond-async, and Location is the path " +
			"of the query. " +
			"Its result is a row with the column result or, of a table function, its rows. Calls that need " +
			"approval, dry runs, " +
			"streams and calls of other tools ignore the preference.",
		params: []param{nameParam, eventsParam, preferParam},
		body: asJSON(ref("Invocation"),
			`{"schema_version":"0.1.0","args":{"lat1":52.5,"lon1":13.4,"lat2":48.9,"lon2":2.4},"trace":{"flow_id":"f1","step_id":"s1"}}`),
		answers: []answer{
			{http.StatusOK, "The call ran.", append(asJSON(ref("ToolResult"),
				`{"schema_version":"0.1.0","ok":true,"result":870.8,"metrics":{"latency_ms":0.4},"trace":{"flow_id":"f1","step_id":"s1"}}`),
				content{mediaEvents, nil, "event: result\n" +
					`data: {"schema_version":"0.1.0","ok":true,"result":870.8,"metrics":{"latency_ms":0.4}}`})},
			{http.StatusAccepted, "The call runs as a job: see Location.", asJSON(ref("Query"), "")},
		},
		failed: ref("ToolResult"),
		failures: callFailures(failures{
			http.StatusBadRequest:      "The body is wrong, or the arguments do not fit the tool's parameters.",
			http.StatusNotFound:        "There is no such tool; did_you_mean suggests the nearest name.",
			http.StatusTooManyRequests: "Too many calls of the tool are running, or too many jobs run or wait; see Retry-After.",
		}),
		errorBody: resultError,
		handle:    h.scoped(h.invoke),
	}
}

// callFailures are those of calls, with more of a route's own.
func callFailures(own failures) failures {
	all := bodyFailures(failures{
		http.StatusForbidden: "A person has to approve the call, or has denied it; the tool is not available " +
			"to the caller; or the request comes from another site's page.",
		http.StatusRequestEntityTooLarge: "The arguments or the result are over a limit.",
		http.StatusTooManyRequests:       "Too many calls of the tool are running; see Retry-After.",
		http.StatusServiceUnavailable:    "The runtime is shutting down.",
		http.StatusGatewayTimeout:        "The tool exceeded its time limit.",
	})
	maps.Copy(all, own)
	return all
}

func callToolRoute(h *toolsHandler) route {
	return route{
		method: "POST", path: pathTools + "/{name}", match: matchTool, id: "call_tool", tag: "Tools",
		is:      scoped | bodyOptional,
		summary: "Call a tool with bare arguments.",
		about: "As in Spice, the body is the arguments and the answer is the tool's result; tool_search and tool_invoke " +
			"can be called here too. Without an envelope, a failure of the tool is an error of the table below, with status " +
			"400 where Spice has 500.",
		params: []param{
			nameParam, modelParam,
			{"dry_run", "query", "check everything and report what would be done, without doing it", boolean},
		},
		body: asJSON(schema.Schema{
			"type":        []string{"object", "null", "string"},
			"description": "The arguments, or their JSON as a text, as models write it.",
		},
			`{"lat1":52.5,"lon1":13.4,"lat2":48.9,"lon2":2.4}`),
		answers: []answer{{
			http.StatusOK, "What the tool gave. X-Spiced-Truncated: true says that rows are missing.",
			asJSON(schema.Schema{}, "870.8"),
		}},
		failures: callFailures(failures{
			http.StatusBadRequest: "The arguments or a parameter are wrong, or the tool failed.",
			http.StatusNotFound:   "There is no such tool; the hint suggests the nearest name.",
			http.StatusBadGateway: "The tool's result does not match its declaration.",
		}),
		handle: h.scoped(h.callBare),
	}
}

func callToolAliasRoute(h *toolsHandler) route {
	rt := callToolRoute(h)
	rt.path, rt.match, rt.id = "/v1/tool/{name}", matchAlias, "call_tool_deprecated"
	rt.summary, rt.about = "Call a tool; the old name of POST /v1/tools/{name}.", "Deprecated."
	return rt
}

var searchFailures = failures{
	http.StatusBadRequest:         "The body or a parameter is wrong.",
	http.StatusNotFound:           "There is no tool with the name in tool, or this process does not serve tools.",
	http.StatusServiceUnavailable: "The runtime is shutting down.",
}

func searchToolsRoute(h *toolsHandler) route {
	return route{
		method: "POST", path: pathTools + ":search", id: "search_tools", tag: "Tools", is: scoped,
		summary: "Find tools by what they do.",
		about:   "The answer is that of tool_search.",
		body: asJSON(ref("ToolSearch"),
			`{"query":"count distinct values in a column","keywords":["distinct","count"],"limit":3}`),
		answers:  []answer{{http.StatusOK, "The tools that were found, the best first.", asJSON(ref("ToolsFound"), "")}},
		failures: bodyFailures(searchFailures),
		handle:   h.scoped(h.searchBody),
	}
}

func searchToolsByQueryRoute(h *toolsHandler) route {
	rt := searchToolsRoute(h)
	rt.method, rt.id, rt.body, rt.failures, rt.handle = "GET", "search_tools_by_query", nil, searchFailures,
		h.scoped(h.searchQuery)
	rt.summary, rt.about = "Find tools by what they do, in a browser.", ""
	rt.params = []param{
		{"q", "query", "what the tool should do; * lists all by name", text},
		{"keyword", "query", "a phrase to favour; may be given several times", listOf(text)},
		{"limit", "query", "5 if left out, at most 20", atLeast(1)},
		{"offset", "query", "tools to skip, to see those that follow", atLeast(0)},
		{"min_score", "query", "from 0 to 1", schema.Schema{"type": "number", "minimum": 0, "maximum": 1}},
		modelParam,
		{"explain", "query", "add weights and shares", boolean},
		{"tool", "query", "the tool whose rank, or absence, is explained; implies explain", text},
	}
	return rt
}

func embeddingsRoute(h handler) route {
	return route{
		method: "POST", path: "/v1/embeddings", id: "create_embeddings", tag: "Embeddings",
		summary: "Turn texts into vectors.",
		about:   "Answers and errors have OpenAI's form.",
		body:    asJSON(ref("EmbeddingRequest"), `{"model":"local","input":["tide tables"]}`),
		answers: []answer{{http.StatusOK, "A vector for each text.", asJSON(ref("EmbeddingResponse"), "")}},
		failures: bodyFailures(failures{
			http.StatusBadRequest:         "The body is wrong, or the provider refuses the texts.",
			http.StatusNotFound:           "There is no such model, or this process does not serve embeddings.",
			http.StatusTooManyRequests:    "The provider has too many requests; see Retry-After.",
			http.StatusBadGateway:         "The provider failed.",
			http.StatusServiceUnavailable: "The model was not loaded, or the runtime is shutting down.",
			http.StatusGatewayTimeout:     "The provider took too long.",
		}),
		failed:    ref("OpenAIError"),
		errorBody: openAIError,
		handle:    h,
	}
}
