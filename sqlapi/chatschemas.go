package sqlapi

// messages is a list of objects that a protocol does not describe further.
func messages() schema { return listOf(schema{"type": "object"}) }

// chatSchemas have what every client sends and gets; the rest of the forms is
// OpenAI's and Anthropic's to describe.
var chatSchemas = map[string]schema{
	"ChatRequest": open(object(
		must("model", text("A name of the models section.")), must("messages", messages()),
		may("stream", nullable(boolean(""))), may("tools", messages()),
	)),
	"ChatCompletion": open(object(
		must("id", text("")), must("object", oneOf("chat.completion")), must("created", integer("")), must("model", text("")),
		must("choices", messages()), may("usage", anObject("")), may("spiced_events", listOf(ref("ToolEvent"))),
	)),
	"MessagesRequest": open(object(
		must("model", text("A name of the models section.")), must("max_tokens", integer("")), must("messages", messages()),
		may("stream", nullable(boolean(""))), may("tools", messages()),
	)),
	"MessagesResponse": open(object(
		must("id", text("")), must("type", oneOf("message")), must("role", oneOf("assistant")), must("model", text("")),
		must("content", messages()), must("stop_reason", nullable(text(""))), must("usage", anObject("")),
		may("spiced_events", listOf(ref("ToolEvent"))),
	)),
	"ResponsesRequest": open(object(
		must("model", text("A name of the models section.")),
		must("input", schema{"anyOf": []any{text(""), messages()}, "description": "A text, or a list of items."}),
		may("stream", nullable(boolean(""))), may("tools", messages()),
		may("previous_response_id", nullable(text("An answer that this request continues."))),
		may("store", nullable(boolean("Whether the answer can be continued; true if left out."))),
	)),
	"ResponsesResponse": open(object(
		must("id", text("")), must("object", oneOf("response")), must("created_at", number("")), must("model", text("")),
		must("status", text("")), must("output", messages()), may("spiced_events", listOf(ref("ToolEvent"))),
	)),
	"ToolEvent": object(
		must("type", oneOf("tool_call", "tool_result")), must("call_id", text("")), must("tool", text("")),
		may("arguments", anything("Of a tool_call.")),
		may("ok", boolean("Of a tool_result.")), may("result", anything("Of one that is ok.")),
		may("error", object(must("code", text("")), must("message", text("")))),
		may("latency_ms", number("Of a tool_result.")),
		may("truncated", boolean("Arguments or result are the beginning of theirs, as text.")),
	),
	"AnthropicError": open(object(must("type", oneOf("error")), must("error", open(object(must("type", text("")), must("message", text(""))))))),
	"ModelList":      object(must("object", oneOf("list")), must("data", listOf(ref("Model")))),
	"Model": object(
		must("id", text("")), must("object", oneOf("model")), must("created", integer("0 when unknown.")),
		must("owned_by", text("Its from: provider:model.")),
		must("datasets", nullable(texts("That its built-in tools may read; null is all."))),
		must("status", nullable(text("With ?status=true."))),
		may("description", text("")), may("tools", ref("ModelTools")), may("error", text("Why it was not loaded.")),
		may("metadata", anObject("With ?metadata_fields.")),
	),
	"ModelTools": object(
		must("declared", text("As the Spicepod has it.")),
		must("mode", text("none, direct: each tool is sent; registry: tool_search and tool_invoke in their place; native: the provider searches.")),
		must("reason", text("For the mode.")),
		must("count", integer("Of the tools in its set.")), must("advertised", nullable(texts("The tools that every request carries."))),
		may("pinned", texts("")), may("embedding_model", text("That tool_search compares by.")),
	),
	"AnthropicModelList": object(
		must("data", listOf(ref("AnthropicModel"))), must("has_more", boolean("")),
		must("first_id", nullable(text(""))), must("last_id", nullable(text(""))),
	),
	"AnthropicModel": object(must("type", oneOf("model")), must("id", text("")), must("display_name", text("")), must("created_at", dateTime(""))),
	"Cancelled":      object(must("cancelled", boolean(""))),
	"Question": object(
		must("query", text("")),
		may("model", text("May be left out when one model is served.")),
		may("stream", boolean("Without effect: rows are always sent as they come.")),
		may("sample_data_enabled", boolean("Show the model some values of the tables.")),
		may("datasets", nullable(texts("That the statement may name; none: all."))),
		may("prompt_cache_key", text("Passed on to the provider.")),
	),
	"QuestionResult": object(
		must("sql", text("The statement.")), must("row_count", integer("")),
		must("schema", object(must("fields", listOf(ref("ResultField"))))), must("data", listOf(ref("Row"))),
	),
}
