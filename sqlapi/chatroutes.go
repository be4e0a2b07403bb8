package sqlapi

import (
	"net/http"
)

const (
	pathModels   = "/v1/models"
	pathRequests = "/v1/requests"
	verbCancel   = ":cancel"
)

// aboutChats describes every chat protocol.
const aboutChats = "Before it answers, the model may call those tools of the runtime that the Spicepod gives it; " +
	"the client calls its own tools itself. Disconnecting cancels the chat and everything that runs for it; so does " +
	"POST /v1/requests/{id}:cancel. " +
	"A stream has a comment after every 30 s of silence. An error before the first event has a status of its own; a " +
	"later one is an event of the stream. X-Should-Retry: false is on errors that come again. X-Spiced-Ignored names " +
	"the fields of the request that have no effect at the model's provider.\n\n" +
	"With X-Spiced-Events: include, the answer also reports each call of the runtime's tools: tool_call with " +
	"its arguments, " +
	"tool_result with ok, result or error, and latency_ms; at most 4 KiB of each; and the end of each response of " +
	"the model that may call them, response_end, with its number and tokens. A call reported before it was dispatched " +
	"early. Agents that work for the answer report " +
	"agent_start, agent_chunk, agent_tool_call, agent_tool_result and agent_end, those that events: in their " +
	"declarations " +
	"permits. Clients that do not know these events ignore them; an answer that is not a stream has them under " +
	"spiced_events."

// chatRoute is what the chat protocols have in common: an answer, whole or as
// events, and errors. answer and failed are their schemas.
func chatRoute(h *chatHandler, p *protocol, id, path, whole, failed, example, events string) route {
	return route{
		method: "POST", path: path, id: id, tag: "Chat", is: scoped,
		params: []param{eventsParam, waitParam},
		answers: []answer{{
			http.StatusOK, "The answer, whole or as a stream.",
			append(asJSON(ref(whole), example), content{"text/event-stream", nil, events}),
		}},
		failed: ref(failed),
		failures: bodyFailures(failures{
			http.StatusBadRequest: "The body is wrong, or the provider refuses the request.",
			http.StatusNotFound: "There is no such model (the message suggests the nearest name), or this process " +
				"does not serve chats.",
			http.StatusTooManyRequests:    "The provider has too many requests, or too many chats are running; see Retry-After.",
			statusClientLeft:              "Another request cancelled this one.",
			http.StatusBadGateway:         "The provider failed, refused the key, or its answer broke off.",
			http.StatusServiceUnavailable: "The model was not loaded, or the runtime is shutting down.",
			http.StatusGatewayTimeout:     "The provider took too long.",
		}),
		errorBody: p.errorBody,
		handle:    h.serve(p),
	}
}

func completionsRoute(h *chatHandler) route {
	rt := chatRoute(h, completionsProtocol, "create_chat_completion", "/v1/chat/completions", "ChatCompletion",
		"OpenAIError",
		`{"id":"chatcmpl-A","object":"chat.completion","created":1754000000,"model":"helper","choices":[{"index":0,"message":{"role":"assistant","content":"871 km"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}`,
		`data: {"id":"chatcmpl-A","object":"chat.completion.chunk","created":1754000000,"model":"helper","choices":[{"index":0,"delta":{"content":"871 km"},"finish_reason":null}]}`)
	rt.summary = "Chat, in the form of OpenAI's Chat Completions."
	rt.about = aboutChats
	rt.body = asJSON(ref("ChatRequest"),
		`{"model":"helper","stream":true,"messages":[{"role":"user","content":"How far is Berlin from Paris?"}]}`)
	return rt
}

func messagesRoute(h *chatHandler) route {
	rt := chatRoute(h, messagesProtocol, "create_message", "/v1/messages", "MessagesResponse", "AnthropicError",
		`{"id":"msg_A","type":"message","role":"assistant","model":"helper","content":[{"type":"text","text":"871 km"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":3}}`,
		"event: content_block_delta\n"+
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"871 km"}}`)
	rt.summary = "Chat, in the form of Anthropic's Messages."
	rt.about = "Works like POST /v1/chat/completions; errors have Anthropic's form too."
	rt.body = asJSON(ref("MessagesRequest"),
		`{"model":"helper","max_tokens":1000,"messages":[{"role":"user","content":"How far is Berlin from Paris?"}]}`)
	return rt
}

func responsesRoute(h *chatHandler) route {
	rt := chatRoute(h, responsesProtocol, "create_response", "/v1/responses", "ResponsesResponse", "OpenAIError",
		"",
		"event: response.output_text.delta\n"+
			`data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_A","output_index":0,"content_index":0,"delta":"871 km"}`)
	rt.summary = "Chat, in the form of OpenAI's Responses."
	rt.about = "Works like POST /v1/chat/completions. Unless store is false, answers are stored in memory for a while " +
		"so that previous_response_id can refer to them; only requests of the same X-Spiced-User can do so."
	rt.body = asJSON(ref("ResponsesRequest"), `{"model":"helper","input":"How far is Berlin from Paris?"}`)
	return rt
}

// modelsFailed is an error of a route of models: see [modelsError].
var modelsFailed = anyOf(ref("OpenAIError"), ref("AnthropicError"), ref("Error"))

func modelsRoute(h handler) route {
	return route{
		method: "GET", path: pathModels, id: "list_models", tag: "Chat", is: scoped,
		summary: "List the models.",
		about: "Lists the models, and the agents that are available to the caller, in the order of their declarations, " +
			"including those that could not be loaded, with the tools of the runtime that each gets and the reason. If the " +
			"request has an Anthropic-Version header, the list has Anthropic's form.",
		params: []param{
			{"status", "query", "true adds each model's status", boolean},
			{"metadata_fields", "query", supportsResponses + " adds it under metadata", oneOf(supportsResponses)},
			formatParam,
		},
		answers: []answer{
			{http.StatusOK, "The models.", append(asJSON(anyOf(ref("ModelList"), ref("AnthropicModelList")),
				`{"object":"list","data":[{"id":"helper","created":0,"owned_by":"openai:gpt-5","datasets":null,"tools":{"declared":"auto","mode":"direct","reason":"8 tools, not more than 20","count":8,"advertised":["sql"],"definition_tokens":96,"direct_tokens":96},"object":"model","status":null}]}`),
				content{"text/csv", nil, ""})},
		},
		failures: failures{
			http.StatusBadRequest: "A parameter is wrong.",
			http.StatusNotFound:   "This process does not serve models.",
		},
		failed:    modelsFailed,
		errorBody: modelsError,
		handle:    h,
	}
}

func agentsRoute(h handler) route {
	return route{
		method: "GET", path: "/v1/agents", id: "list_agents", tag: "Chat", is: scoped,
		summary: "List the agents.",
		about: "Lists the agents that are available to the caller, in the order of their declarations, including those " +
			"that could not be loaded, with their tools, limits, and the agents to which they may delegate. Each is a model " +
			"of chats, and a tool.",
		answers: []answer{{
			http.StatusOK, "The agents.",
			asJSON(ref("AgentList"),
				`{"agents":[{"name":"ishvana","model":"assistant","description":"Plans, and delegates to the specialists.","status":"Ready","agents":["hawken"],"tools":{"declared":"list_datasets","mode":"direct","reason":"1 tool, no more than 20","count":3,"advertised":["delegate","delegate_parallel","list_datasets"],"definition_tokens":305,"direct_tokens":305},"limits":{"timeout":"1m0s","rounds":8,"concurrency":4,"depth":2},"events":"tools"}]}`),
		}},
		failures: failures{
			http.StatusBadRequest: "A header is wrong.",
			http.StatusNotFound:   "This process does not serve models.",
		},
		handle: h,
	}
}

func modelRoute(h handler) route {
	return route{
		method: "GET", path: pathModels + "/{name}", match: pathModels + "/{name...}", id: "get_model", tag: "Chat",
		is:      scoped,
		summary: "Show a model.",
		params: []param{
			{"name", "path", "the model; it may have slashes", text},
			{"status", "query", "true adds its status", boolean},
			{"metadata_fields", "query", supportsResponses + " adds it under metadata", oneOf(supportsResponses)},
		},
		answers: []answer{
			{http.StatusOK, "The model.", asJSON(anyOf(ref("Model"), ref("AnthropicModel")), "")},
			{http.StatusNotFound, "There is no such model (the message suggests the nearest name), or this process does not " +
				"serve models.", asJSON(modelsFailed, "")},
		},
		failures:  failures{http.StatusBadRequest: "A parameter is wrong."},
		failed:    modelsFailed,
		errorBody: modelsError,
		handle:    h,
	}
}

func cancelRoute(h handler) route {
	return route{
		method: "POST", path: pathRequests + "/{id}" + verbCancel, match: pathRequests + "/{name...}", verb: verbCancel,
		id: "cancel_request", tag: "Chat", is: scoped | free,
		summary: "Cancel a running chat.",
		about:   "Also cancels the tools and statements that run for it. Only the X-Spiced-User of the chat can cancel it.",
		params:  []param{{"id", "path", "the chat's X-Request-Id", text}},
		answers: []answer{{http.StatusOK, "It was cancelled.", asJSON(ref("Cancelled"), `{"cancelled":true}`)}},
		failures: failures{
			http.StatusBadRequest: "A header is wrong.",
			http.StatusNotFound:   "The user has no running chat with that id.",
		},
		handle: h,
	}
}

func nsqlRoute(h handler) route {
	return route{
		method: "POST", path: "/v1/nsql", id: "nsql", tag: "SQL", is: scoped,
		summary: "Answer a question with a statement that a model writes.",
		about: "The Accept header chooses the form, as for /v1/sql; application/sql returns the statement without running " +
			"it. The statement is checked like any other. If it fails on the data, the error has it as sql.",
		body: asJSON(ref("Question"), `{"query":"How many trips were longer than 10 km?","model":"helper"}`),
		answers: []answer{
			{http.StatusOK, "The rows, or the statement.", []content{
				{"application/json", listOf(ref("Row")), `[{"trips":1247}]`},
				{mediaNSQL, ref("QuestionResult"), ""},
				{mediaSQL, nil, "SELECT count(*) AS trips FROM trips WHERE km > 10"},
				{"application/vnd.spiceai.sql.v1+json", ref("Result"), ""},
				{"application/x-ndjson", nil, ""},
				{"text/csv", nil, ""},
				{"text/plain", nil, ""},
				{"application/vnd.apache.arrow.stream", nil, ""},
			}},
		},
		failures: bodyFailures(failures{
			http.StatusBadRequest: "The body is wrong, the model wrote no usable statement, or the statement " +
				"fails on the data.",
			http.StatusNotFound:              "There is no such model, or this process does not serve models.",
			http.StatusRequestEntityTooLarge: "The body or the result is over a limit.",
			http.StatusTooManyRequests: "Too many statements are waiting, or the provider has too many requests; " +
				"see Retry-After.",
			statusClientLeft:              "Another request cancelled this one.",
			http.StatusBadGateway:         "The provider failed.",
			http.StatusServiceUnavailable: "The model was not loaded, or the runtime is shutting down.",
			http.StatusGatewayTimeout:     "The statement or the provider took too long.",
		}),
		handle: h,
	}
}
