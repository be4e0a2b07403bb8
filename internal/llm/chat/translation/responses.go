package translation

import (
	"slices"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// responses are the fields of OpenAI's Responses.
func responses() []Row {
	return slices.Concat(items(), contents("input[message].content"), contents("input[function_call_output].output"),
		responseControls(), responseTools())
}

// response returns a row of Responses with its verdicts for providers of the Chat
// Completions and the Messages form. One verdict is for both.
func response(field string, to ...Verdict) Row {
	return Row{Field: field, To: map[chat.Form]Verdict{chat.FormOpenAI: to[0], chat.FormAnthropic: to[len(to)-1]}}
}

// unsupported returns a row of a field that the runtime takes for no provider.
func unsupported(field, why string) Row {
	return response(field, refused(why)).own(chat.FormResponses, refused(why))
}

// Verdicts on several fields of Responses.
var (
	theirTool   = refused("tools of the Responses API are not translated")
	answerField = translated("the runtime has its own")
)

// contents are the parts of content that users and tools write.
func contents(content string) []Row {
	text, image, file := content+"[input_text]", content+"[input_image]", content+"[input_file]"
	return []Row{
		response(content, carried),
		response(text+".text", carried),
		response(text+".prompt_cache_breakpoint", cache),
		response(image+".image_url", translated("`image_url`"), translated("an `image` block")),
		response(image+".file_id", refused("its images have no ids of files; send image_url")),
		response(image+".detail", carried, noEffect("images have no levels of detail")).or(`"auto"`),
		response(image+".prompt_cache_breakpoint", cache),
		response(file+".file_data", translated("a `file` part"), translated("a `document` block; PDF and plain text")),
		response(file+".filename", carried, translated("`title` of the block")),
		response(file+".file_url", refused("it takes files as data only"), translated("a `document` block")),
		response(file+".file_id", carried, refused("it cannot read files of OpenAI; send file_data")),
		response(file+".detail", noEffect("files have no levels of detail")).or(`"auto"`),
		response(file+".prompt_cache_breakpoint", cache),
	}
}

// items are the items of the input.
func items() []Row {
	rows := []Row{
		response("input", translated("a message of the user")).own(chat.FormResponses, translated("a message of the user")),
		response("input[message].role", carried),
		response("input[message].type", translated("a message")),
		response("input[message].id", answerField),
		response("input[message].status", answerField),
		response("input[message].phase", noEffect("messages have no phases")),
		response("input[message].content[output_text].text", carried),
		response("input[message].content[output_text].annotations",
			noEffect("annotations of earlier answers are not translated")),
		response("input[message].content[output_text].logprobs", noEffect("fields of answers are not fields of requests")),
		response("input[message].content[text].text", carried),
		response("input[message].content[refusal].refusal", carried, translated("text")),
		response("input[system later]", carried, noEffect("there is one system prompt: the message moves to its end")),
		response("input[function_call].call_id", translated("`id`"),
			translated("the `id`, its characters limited to letters, digits, _ and -")),
		response("input[function_call].name", carried),
		response("input[function_call].arguments", carried,
			translated("`input`; text that is not a JSON object is its field INVALID_JSON")),
		response("input[function_call].id", answerField),
		response("input[function_call].status", answerField),
		response("input[function_call].namespace", noEffect("calls have no namespaces")),
		response("input[function_call].caller", theirTool).or(`{"type":"direct"}`),
		response("input[function_call].async", theirTool).or("false"),
		response("input[function_call_output].call_id", translated("`tool_call_id`"), translated("`tool_use_id`")),
		response("input[function_call_output].id", answerField),
		response("input[function_call_output].status", answerField),
		response("input[function_call_output].name", noEffect("results have the call's id")),
		response("input[function_call_output].namespace", noEffect("results have the call's id")),
		response("input[function_call_output].caller", theirTool).or(`{"type":"direct"}`),
		response("input[reasoning].id", answerField),
		response("input[reasoning].status", answerField),
		response("input[reasoning].summary", translated("part of the reasoning: see the next rows")),
		response("input[reasoning].content", translated("`reasoning_content`, if it is not encrypted"),
			noEffect("only the provider's own reasoning can be sent back")),
		response("input[reasoning].encrypted_content", translated("the reasoning in it, if it is the provider's own")),
		response("input[reasoning unencrypted]", translated("`reasoning_content`"),
			noEffect("only the provider's own reasoning can be sent back")).
			own(chat.FormResponses, noEffect("only encrypted reasoning can be sent back")),
		response("input[reasoning of OpenAI]", noEffect("only the provider's own reasoning can be sent back")),
		response("input[reasoning of Anthropic]", noEffect("only the provider's own reasoning can be sent back"),
			translated("a `thinking` block")).
			own(chat.FormResponses, noEffect("only the provider's own reasoning can be sent back")),
		response("input[item_reference]", translated("the item")).own(chat.FormResponses, translated("the item")),
	}
	for _, kind := range []string{
		"additional_tools", "apply_patch_call", "apply_patch_call_output", "code_interpreter_call", "compaction",
		"compaction_trigger",
		"computer_call", "computer_call_output", "configuration_update", "custom_tool_call", "custom_tool_call_output",
		"file_search_call", "image_generation_call", "local_shell_call", "local_shell_call_output", "mcp_approval_request",
		"mcp_approval_response", "mcp_call", "mcp_list_tools", "program", "program_output", "shell_call", "shell_call_output",
		"tool_search_call", "tool_search_output", "web_search_call",
	} {
		rows = append(rows, response("input["+kind+"]", theirTool))
	}
	return rows
}

// responseControls are the fields that control the answer and the request.
func responseControls() []Row {
	return []Row{
		response("model", translated("the provider's name of the model")).own(chat.FormResponses,
			translated("the provider's name of the model")),
		response("stream", translated("the provider always streams")),
		response("stream_options", noEffect("the runtime's streams have no padding")).own(chat.FormResponses,
			noEffect("the runtime's streams have no padding")).or(`{"include_obfuscation":false}`),
		response("instructions", translated("a system message"), translated("`system`")).own(chat.FormResponses,
			translated("a system message")),
		response("previous_response_id", translated("the messages up to that answer")).own(chat.FormResponses,
			translated("the items up to that answer")),
		unsupported("conversation", "send the whole input, or previous_response_id"),
		unsupported("background", "read the answer from the stream").or("false"),
		response("store", translated("the runtime stores the answer")).own(chat.FormResponses,
			translated("the runtime stores the answer, the provider does not")),
		response("prompt", refused("prompts are stored at OpenAI; send their text")),
		response("context_management", refused("it does not compact chats")),
		response("truncation", refused("it drops no messages of a chat that is too long")).or(`"disabled"`),
		response("include", translated("`logprobs`; reasoning is always included").only(`"message.output_text.logprobs"`,
			`"reasoning.encrypted_content"`), translated("reasoning is always included").only(`"reasoning.encrypted_content"`)),
		response("max_tool_calls", refused("it limits tools of the Responses API")),
		response("access_programs", refused("it has no access programs")),

		response("max_output_tokens", translated("`max_tokens`, at OpenAI `max_completion_tokens`"),
			translated("`max_tokens`")),
		response("temperature", carried),
		response("temperature[above 1]", carried, noEffect("1 is sent, which is the most")),
		response("top_p", carried),
		response("top_logprobs", carried, refused("it has no log probabilities")).or("0"),
		response("reasoning.effort", translated("`reasoning_effort`"),
			translated("`output_config.effort`: minimal is low; none is `thinking` disabled")),
		response("reasoning.summary", noEffect("reasoning comes as the model writes it")),
		response("reasoning.generate_summary", noEffect("reasoning comes as the model writes it")),
		response("reasoning.context", refused("it has no choice of the reasoning that is sent")).or(`"auto"`),
		response("reasoning.mode", refused("it has no modes of reasoning")),
		response("text.format[text]", translated("`response_format`"), carried),
		response("text.format[json_schema].schema", translated("`response_format`"), translated("`output_config.format`")),
		response("text.format[json_schema].name", translated("`response_format`"),
			translated("`output_config.format`, which has no name")),
		response("text.format[json_schema].description", translated("`response_format`"),
			noEffect("`output_config.format` has no description")),
		response("text.format[json_schema].strict", translated("`response_format`"),
			translated("`output_config.format`, which is always strict")),
		response("text.format[json_object]", translated("`response_format`"),
			refused("it has no JSON without a schema; use json_schema")),
		response("text.verbosity", translated("`verbosity`"), refused("it has no verbosity")).or(`"medium"`),
		response("moderation", carried, refused("it has no moderation")),

		response("user", carried, translated("`metadata.user_id`")),
		response("safety_identifier", carried, translated("`metadata.user_id`")),
		response("safety_identifier[next to user]", carried, noEffect("`metadata.user_id` is the user")),
		response("metadata", translated("it is in the answer")),
		response("service_tier", carried, translated("auto is auto, default is standard_only").only(`"auto"`, `"default"`)),
		response("prompt_cache_key", carried, cache),
		response("prompt_cache_retention", carried, cache),
		response("prompt_cache_options", carried, cache),
	}
}

// responseTools are tools and the choice among them.
func responseTools() []Row {
	return []Row{
		response("tools[function].name", carried),
		response("tools[function].description", carried),
		response("tools[function].parameters", carried, translated("`input_schema`")),
		response("tools[function].strict", carried),
		response("tools[function].defer_loading", noEffect("every tool is sent"), carried).or("false"),
		response("tools[function].output_schema", noEffect("tools have no schema of results")),
		response("tools[function].allowed_callers", theirTool).or(`["direct"]`),
		response("tools[function].async", theirTool).or("false"),
		response("tools[*]", theirTool),
		response("tool_choice", carried, translated("`tool_choice` of the same meaning; required is any")),
		response("tool_choice[function].name", carried, translated("tool")),
		response("tool_choice[allowed_tools].mode", carried, translated("auto or any")),
		response("tool_choice[allowed_tools].tools", carried, translated("the other tools are not sent")),
		response("tool_choice[*]", theirTool),
		response("parallel_tool_calls", carried, translated("`tool_choice.disable_parallel_tool_use`")),
	}
}
