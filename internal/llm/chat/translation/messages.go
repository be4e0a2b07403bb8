package translation

import (
	"slices"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// messages are the fields of Anthropic's Messages.
func messages() []Row {
	return slices.Concat(blocks("messages[].content"), blocks("messages[].content[tool_result].content"), turns(),
		messageControls(), messageTools())
}

// message returns a row of Messages with its verdicts for providers of the Chat
// Completions and the Responses form. One verdict is for both.
func message(field string, to ...Verdict) Row {
	return Row{Field: field, To: map[chat.Form]Verdict{chat.FormOpenAI: to[0], chat.FormResponses: to[len(to)-1]}}
}

// Verdicts on several fields of Messages.
var (
	citations  = noEffect("citations of earlier answers are not translated")
	hostedTool = refused("tools of Anthropic are not translated")
	theirFiles = refused("it cannot read files of Anthropic; send the data")
)

// blocks are the blocks of content that users and tools write.
func blocks(content string) []Row {
	text, image, document := content+"[text]", content+"[image]", content+"[document]"
	return []Row{
		message(content, carried),
		message(text+".text", carried),
		message(text+".citations", citations),
		message(text+".cache_control", cache),
		message(image+".source[base64]", translated("`image_url`"), translated("`input_image`")),
		message(image+".source[url].url", translated("`image_url`"), translated("`input_image`")),
		message(image+".source[file]", theirFiles),
		message(image+".transformations", noEffect("images are sent as they are")),
		message(image+".cache_control", cache),
		message(document+".source[base64]", translated("a `file` part"), translated("`input_file`")),
		message(document+".source[text]", translated("a `file` part"), translated("`input_file`")),
		message(document+".source[url].url", refused("it takes files as data only"), translated("`file_url`")),
		message(document+".source[file]", theirFiles),
		message(document+".source[content]", refused("send the blocks of the document as content")),
		message(document+".title", translated("`filename`; without a title, document.pdf or document.txt")),
		message(document+".context", refused("files have no context; send it as text")),
		message(document+".citations.enabled", refused("it has no citations")).or("false"),
		message(document+".cache_control", cache),
		message(content+"[search_result]", refused("it has no search results; send their text")),
	}
}

// turns are the other blocks of messages, and the system prompt.
func turns() []Row {
	const content = "messages[].content"
	rows := []Row{
		message("messages[].role", carried),
		message("messages[].output_config", refused("effort is of the whole request; use output_config")),
		message("messages[].clear_at", refused("it clears no messages")),
		message(content+"[thinking].thinking", translated("`reasoning_content` if it has no signature"),
			noEffect("only the provider's own encrypted reasoning can be sent back")),
		message(content+"[thinking].signature", noEffect("only Anthropic takes its reasoning back")),
		message(content+"[redacted_thinking]", noEffect("only Anthropic takes its reasoning back")),
		message(content+"[tool_use].id", carried),
		message(content+"[tool_use].name", carried),
		message(content+"[tool_use].input", translated("`arguments`")),
		message(content+"[tool_use].caller", hostedTool).or(`{"type":"direct"}`),
		message(content+"[tool_use].toolset_name", hostedTool),
		message(content+"[tool_use].cache_control", cache),
		message(content+"[tool_result].tool_use_id", translated("`tool_call_id`"), translated("`call_id`")),
		message(content+"[tool_result].is_error", noEffect("results are not marked as errors; the text says what failed")).
			or("false"),
		message(content+"[tool_result].toolset_name", hostedTool),
		message(content+"[tool_result].cache_control", cache),
		message(content+"[tool_result].content[tool_reference]", hostedTool),
		message(content+"[tool_result].content[browser_state]", hostedTool),
		message("system", translated("a system message")).own(chat.FormAnthropic,
			translated("a block, to mark it for the cache")),
		message("system[text].text", translated("a system message")),
		message("system[text].citations", citations),
		message("system[text].cache_control", cache),
	}
	for _, kind := range []string{
		"advisor_tool_result", "bash_code_execution_tool_result", "code_execution_tool_result", "compaction",
		"container_upload",
		"fallback", "mcp_tool_listing", "mcp_tool_result", "mcp_tool_use", "server_tool_use",
		"text_editor_code_execution_tool_result", "tool_addition", "tool_removal", "tool_search_tool_result",
		"web_fetch_tool_result", "web_search_tool_result",
	} {
		rows = append(rows, message(content+"["+kind+"]", hostedTool))
	}
	return rows
}

// messageControls are the fields that control the answer and the request.
func messageControls() []Row {
	return []Row{
		message("model", translated("the provider's name of the model")).own(chat.FormAnthropic,
			translated("the provider's name of the model")),
		message("stream", translated("the provider always streams")),
		message("max_tokens", translated("`max_tokens`, at OpenAI `max_completion_tokens`"),
			translated("`max_output_tokens`")),
		message("max_tokens[0]", refused("it cannot fill a cache without an answer")),
		message("temperature", carried),
		message("top_p", carried),
		message("top_k", refused("it has no top_k")),
		message("stop_sequences", translated("`stop`"), refused("it has no stop sequences")),
		message("thinking[enabled]", noEffect("it has no budget of reasoning; output_config.effort is translated")),
		message("thinking[adaptive]", noEffect("the model decides how much it reasons; output_config.effort is translated")),
		message("thinking[disabled]", noEffect("the model decides whether it reasons; output_config.effort is translated")),
		message("output_config.effort", translated("`reasoning_effort`"), translated("`reasoning.effort`")),
		message("output_config.format", translated("`response_format`"), translated("`text.format`")),
		message("output_config.task_budget", refused("it has no budget of tokens")),
		message("output_format", translated("`response_format`"), translated("`text.format`")),
		message("metadata.user_id", translated("`user`; its SHA-256 if it has more than 64 characters")),
		message("service_tier", translated("standard_only is default").only(`"standard_only"`)).or(`"auto"`),
		message("speed", cache).or(`"standard"`),
		message("inference_geo", refused("it has no choice of region")),
		message("cache_control", cache),
		message("compaction", refused("it does not summarize chats")),
		message("container", refused("it has no containers")),
		message("context_management.edits[clear_thinking_20251015]", noEffect("reasoning of Anthropic is not sent")),
		message("context_management.edits[clear_tool_uses_20250919]", refused("it clears no results of tools")),
		message("context_management.edits[compact_20260112]", refused("it does not summarize chats")),
		message("diagnostics", noEffect("it is about the cache of Anthropic")),
		message("fallbacks", refused("it has no fallback models")).or(`"default"`),
		message("fallback_credit_token", cache),
		message("mcp_servers", refused("declare the server in the Spicepod; MCP servers of requests are Anthropic's")),
		message("anthropic_beta", noEffect("betas of Anthropic")).own(chat.FormAnthropic,
			translated("the header anthropic-beta")),
	}
}

// messageTools are tools and the choice among them.
func messageTools() []Row {
	return []Row{
		message("tools[custom].name", carried),
		message("tools[custom].description", carried),
		message("tools[custom].input_schema", translated("`parameters`")),
		message("tools[custom].strict", carried),
		message("tools[custom].type", carried),
		message("tools[custom].input_examples", translated("a line of the description")),
		message("tools[custom].defer_loading", noEffect("every tool is sent")).or("false"),
		message("tools[custom].eager_input_streaming", noEffect("only the speed of the stream depends on it")),
		message("tools[custom].allowed_callers", hostedTool).or(`["direct"]`),
		message("tools[custom].cache_control", cache),
		message("tools[*]", hostedTool),
		message("tool_choice[auto]", carried),
		message("tool_choice[any]", translated("required")),
		message("tool_choice[none]", carried),
		message("tool_choice[tool].name", translated("a function")),
		message("tool_choice[tool].disable_parallel_tool_use", translated("`parallel_tool_calls`")),
	}
}
