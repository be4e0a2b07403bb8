package sqlapi

func anObject(about string) schema { return typed("object", about) }

// texts is a list of texts.
func texts(about string) schema {
	s := listOf(text(""))
	if about != "" {
		s["description"] = about
	}
	return s
}

// nullable allows null besides the type of s.
func nullable(s schema) schema {
	s["type"] = []any{s["type"], "null"}
	return s
}

func dateTime(about string) schema {
	s := text(about)
	s["format"] = "date-time"
	return s
}

// open lets an object have other keys, too.
func open(s schema) schema {
	s["additionalProperties"] = true
	return s
}

var toolSchemas = map[string]schema{
	"ToolSummary": object(must("name", text("")), must("description", text(""))),
	"Tool": object(
		must("name", text("Letters, digits, _ and -, at most 64. A tool of an MCP server is server__tool.")),
		must("description", text("")),
		must("version", text("Of the tool.")),
		must("parameters", anObject("JSON Schema of the arguments, canonical.")),
		may("returns", anObject("JSON Schema of the result, canonical.")),
		may("tags", texts("")),
		must("source", text("builtin, function, or mcp: and the server's name.")),
		must("owner", text("The agent that owns the tool, or runtime.")),
		must("schema_version", text("Of this shape.")),
		must("uid", text("A UUID of version 5 of the name.")),
		must("checksum", text("Changes with the definition and the implementation.")),
		must("annotations", ref("ToolAnnotations")),
		may("cacheable", boolean("Equal arguments give equal results as long as the checksum stays.")),
		may("limits", ref("ToolLimits")),
	),
	"ToolAnnotations": object(
		must("read_only", boolean("")), must("idempotent", boolean("")), must("destructive", boolean("")),
		must("open_world", boolean("It reaches beyond the runtime.")),
	),
	"ToolLimits": object(
		may("timeout", text("A duration such as 30s.")), may("max_rows", integer("")),
		may("max_bytes", integer("Of the result as JSON.")), may("concurrency", integer("Calls of the tool at once.")),
	),
	"ToolStats": object(
		must("name", text("")), must("description", text("")), must("parameter_count", integer("")),
		must("total_invocations", integer("")), must("errors", integer("")), must("last_called_at", nullable(dateTime(""))),
		must("searches", integer("That returned it.")), must("owner", text("")), must("source", text("")),
	),
	"ToolStatus": object(
		must("name", text("")),
		must("callable", boolean("")),
		may("hidden_by", text("The first stage that the tool did not pass.")),
		may("reason", text("Why it did not pass.")),
		may("declared", text("file:line, or built in.")),
		may("warning", text("")),
		must("stages", listOf(ref("ToolStage"))),
		must("calls", integer("")), must("errors", integer("")),
		must("searches", integer("That returned it.")),
		must("generation", integer("")),
	),
	"ToolStage":      object(must("stage", text("A step on the way from a declaration to a call.")), must("passed", boolean("")), may("reason", text(""))),
	"ToolDefinition": object(must("name", text("")), must("description", text("")), must("parameters", anObject("JSON Schema of the arguments."))),
	"ToolFunction":   object(must("type", oneOf("function")), must("function", ref("ToolDefinition"))),
	"Invocation": object(
		may("schema_version", text("Of this shape: 0.1.0. Another major number is refused.")),
		may("args", anObject("The arguments; {} if left out.")),
		may("context", ref("Context")),
		may("trace", ref("Trace")),
		may("dry_run", boolean("Check everything and report what would be done, without doing it.")),
	),
	"Context": open(object(
		may("user_id", text("")), may("space_id", text("")), may("request_id", text("")), may("session_id", text("")),
		may("agent", text("")), may("model", text("Other keys are for others and left alone.")),
	)),
	"Trace": object(may("flow_id", text("")), may("step_id", text(""))),
	"ToolResult": object(
		must("schema_version", text("")),
		must("ok", boolean("")),
		may("result", anything("What the tool gave, of a call that is ok.")),
		may("error", ref("ToolError")),
		may("returned", integer("How many rows there are, of a result of rows.")),
		may("truncated", boolean("Whether there are more rows than are allowed, of a result of rows.")),
		may("more", integer("How many more, where that is known.")),
		may("notices", texts("What was repaired, or left out.")),
		must("metrics", ref("ToolMetrics")),
		may("trace", ref("Trace")),
	),
	"ToolError": object(
		must("code", text("See the table of codes.")),
		must("message", text("What is wrong.")),
		must("retryable", boolean("The same call may succeed later.")),
		may("hint", text("What would be right.")),
		may("faults", listOf(ref("Fault"))),
		may("did_you_mean", texts("Names that exist, nearest first.")),
		may("example", anything("The least arguments that are valid.")),
	),
	"Fault": object(
		must("path", text("JSON Pointer into the arguments or the result; empty for all of it.")),
		must("keyword", text("Of JSON Schema.")), must("message", text("")),
	),
	"ToolMetrics": object(must("latency_ms", number("")), may("cache", oneOf("hit", "miss"))),
	"ToolSearch": object(
		must("query", text("What the tool should do; * lists all by name.")),
		may("keywords", texts("Phrases to favour.")),
		may("limit", integer("5 if left out, at most 20.")),
		may("min_score", number("From 0 to 1.")),
		may("embedding_model", text("A name of the embeddings section.")),
		may("context", ref("Context")),
		may("explain", boolean("Add weights and shares. A search that is explained is not recorded.")),
		may("tool", text("With explain: the tool whose place, or absence, is explained.")),
	),
	"ToolsFound": object(
		must("query", text("")), must("keywords", texts("")),
		must("search_mode", oneOf("hybrid_rrf", "lexical_rrf")),
		must("tools", listOf(ref("FoundTool"))),
		may("total", integer("Of a listing: how many tools there are.")),
		may("no_good_match", boolean("What was found is probably not what was sought.")),
		may("fallback", boolean("min_score would have left nothing.")),
		may("notices", texts("")),
		may("confidence", number("With explain.")),
		may("why", ref("ToolWhy")),
	),
	"ToolWhy": object(
		must("tool", text("")),
		must("rank", integer("Among all that matched, from 1; 0: no channel ranks the tool.")),
		must("score", number("")),
		may("cut", text("What keeps the tool from the answer: refused, no_match, min_score or limit.")),
		must("channels", nullable(listOf(ref("ToolChannel")))),
	),
	"ToolChannel": object(
		must("source", text("")), must("rank", integer("From 1; 0: it does not match.")), must("score", number("")),
		must("counts", boolean("The rank is within the depth that counts.")), must("weight", number("")), must("share", number("")),
	),
	"FoundTool": object(
		must("tool_id", text("")), must("description", text("")), must("parameters", anObject("")),
		must("score", number("From 0 to 1, the best is 1.")),
		must("matched_terms", texts("")), must("match_sources", listOf(ref("MatchSource"))),
	),
	"MatchSource": object(
		must("source", text("The channel: full_text, keyword, schema or vector.")), must("rank", integer("")),
		must("score", number("In the channel's own measure.")),
		may("weight", number("With explain.")), may("share", number("With explain: of the tool's score.")),
	),
}

var embeddingSchemas = map[string]schema{
	"EmbeddingRequest": object(
		must("input", schema{"anyOf": []any{text(""), texts("")}, "description": "A text, or a list of texts."}),
		must("model", text("A name of the embeddings section.")),
		may("encoding_format", oneOf("float", "base64")),
		may("dimensions", integer("Must be those that the model gives.")),
		may("user", text("")),
	),
	"EmbeddingResponse": object(
		must("object", oneOf("list")), must("data", listOf(ref("Embedding"))), must("model", text("")), must("usage", ref("EmbeddingUsage")),
	),
	"Embedding": object(
		must("object", oneOf("embedding")), must("index", integer("")),
		must("embedding", schema{"anyOf": []any{listOf(number("")), text("")}, "description": "Numbers, or their base64."}),
	),
	"EmbeddingUsage": object(must("prompt_tokens", integer("")), must("total_tokens", integer(""))),
	"OpenAIError":    object(must("error", ref("OpenAIErrorBody"))),
	"OpenAIErrorBody": object(
		must("message", text("")), must("type", oneOf("invalid_request_error", "rate_limit_error", "server_error")),
		must("param", nullable(text("The field of the request that is wrong."))), must("code", nullable(text(""))),
	),
}
