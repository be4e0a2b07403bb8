package translation

import (
	"slices"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// completions are the fields of OpenAI's Chat Completions.
func completions() []Row {
	return slices.Concat(questions(), history(), controls(), toolUse())
}

// completion returns a row of Chat Completions with its verdicts for providers of the
// Responses and the Messages form. One verdict is for both.
func completion(field string, to ...Verdict) Row {
	return Row{Field: field, To: map[chat.Form]Verdict{chat.FormResponses: to[0], chat.FormAnthropic: to[len(to)-1]}}
}

// never returns a row of a field that the runtime takes for no provider.
func never(field, why string) Row {
	return completion(field, refused(why)).own(chat.FormOpenAI, refused(why))
}

// Verdicts on several fields.
var (
	cache  = noEffect("only the price and the speed of the answer depend on it")
	names  = noEffect("messages have no names")
	audio  = refused("it has no audio")
	custom = refused("custom tools are not translated")
)

// questions are messages of the system and of users.
func questions() []Row {
	var rows []Row
	for _, role := range []string{"developer", "system"} {
		m := "messages[" + role + "]"
		rows = append(rows,
			completion(m+".content", carried, translated("`system`")),
			completion(m+".content[text].text", carried, translated("`system`")),
			completion(m+".content[text].prompt_cache_breakpoint", cache),
			completion(m+".name", names),
			completion("messages["+role+" later]", carried,
				noEffect("there is one system prompt: the message moves to its end")),
		)
	}
	return append(rows,
		completion("messages[user].content", carried),
		completion("messages[user].content[text].text", carried),
		completion("messages[user].content[image_url].image_url.url", translated("`input_image`"),
			translated("an `image` block")),
		completion("messages[user].content[image_url].image_url.detail", carried,
			noEffect("images have no levels of detail")).or(`"auto"`),
		completion("messages[user].content[input_audio]", audio),
		completion("messages[user].content[file].file.file_data", translated("`input_file`"),
			translated("a `document` block; PDF and plain text")),
		completion("messages[user].content[file].file.filename", carried, translated("`title` of the block")),
		completion("messages[user].content[file].file.file_id", carried,
			refused("it cannot read files of OpenAI; send file_data")),
		completion("messages[user].content[text].prompt_cache_breakpoint", cache),
		completion("messages[user].content[image_url].prompt_cache_breakpoint", cache),
		completion("messages[user].content[file].prompt_cache_breakpoint", cache),
		completion("messages[user].name", names),
	)
}

// history are earlier answers, and results of calls.
func history() []Row {
	return []Row{
		completion("messages[assistant].content", carried),
		completion("messages[assistant].content[text].text", carried),
		completion("messages[assistant].content[text].prompt_cache_breakpoint", cache),
		completion("messages[assistant].content[refusal].refusal", carried, translated("text")),
		completion("messages[assistant].refusal", carried, translated("text")),
		completion("messages[assistant].reasoning_content",
			noEffect("only the provider's own signed or encrypted reasoning can be sent back")),
		completion("messages[assistant].name", names),
		completion("messages[assistant].audio", audio),
		never("messages[assistant].function_call", "use tool_calls"),
		completion("messages[assistant].tool_calls[function].id", carried,
			translated("the `id`, its characters limited to letters, digits, _ and -")),
		completion("messages[assistant].tool_calls[function].index", noEffect("calls are in order")),
		completion("messages[assistant].tool_calls[function].function.name", carried, carried),
		completion("messages[assistant].tool_calls[function].function.arguments", carried,
			translated("`input`; text that is not a JSON object is its field INVALID_JSON")),
		completion("messages[assistant].tool_calls[custom]", custom),
		completion("messages[assistant].*", noEffect("fields of answers are not fields of requests")),

		completion("messages[tool].content", translated("`function_call_output`"), translated("a `tool_result` block")),
		completion("messages[tool].content[text].text", carried),
		completion("messages[tool].content[text].prompt_cache_breakpoint", cache),
		completion("messages[tool].content[image_url].image_url.url", translated("`input_image`"),
			translated("an `image` block")),
		completion("messages[tool].content[image_url].image_url.detail", carried,
			noEffect("images have no levels of detail")).or(`"auto"`),
		completion("messages[tool].tool_call_id", translated("`call_id`"), translated("`tool_use_id`")),
		completion("messages[tool].name", noEffect("results have the call's id")),
		never("messages[function]", "use role tool with tool_call_id"),
	}
}

// controls are the fields that control the answer, its tokens and its format.
func controls() []Row {
	return []Row{
		completion("model", translated("the provider's name of the model")).own(chat.FormOpenAI,
			translated("the provider's name of the model")),
		completion("stream", translated("the provider always streams")),
		completion("stream_options.include_usage", translated("the runtime asks for usage itself")),
		completion("stream_options.include_obfuscation", noEffect("the runtime's streams have no padding")).
			own(chat.FormOpenAI, noEffect("the runtime's streams have no padding")),
		never("functions", "use tools"),
		never("function_call", "use tool_choice"),
		never("n", "only 1 answer; send another request for another").or("1"),

		completion("max_tokens", translated("`max_output_tokens`"), carried),
		completion("max_completion_tokens", translated("`max_output_tokens`"), translated("`max_tokens`")),
		completion("temperature", carried),
		completion("temperature[above 1]", carried, noEffect("1 is sent, which is the most")),
		completion("top_p", carried),
		completion("stop", refused("it has no stop sequences"),
			translated("`stop_sequences`; each needs a character that is not white space")),
		completion("frequency_penalty", refused("it has no penalties")).or("0"),
		completion("presence_penalty", refused("it has no penalties")).or("0"),
		completion("logit_bias", refused("it has no bias of tokens")),
		completion("seed", refused("it has no seed")),
		completion("logprobs", translated("`include` of message.output_text.logprobs"),
			refused("it has no log probabilities")).or("false"),
		completion("top_logprobs", carried, refused("it has no log probabilities")).or("0"),
		completion("reasoning_effort", translated("`reasoning.effort`"),
			translated("`output_config.effort`: minimal is low; none is `thinking` disabled")),
		completion("verbosity", translated("`text.verbosity`"), refused("it has no verbosity")).or(`"medium"`),
		completion("modalities", refused("it answers with text only")).or(`["text"]`),
		completion("audio", audio),
		completion("moderation", carried, refused("it has no moderation")),
		completion("prediction", noEffect("only the speed of the answer depends on it")),
		completion("web_search_options", refused("web search is not translated")).even(),
		completion("response_format[text]", translated("`text.format`"), carried),
		completion("response_format[json_schema].json_schema.schema", translated("`text.format`"),
			translated("`output_config.format`")),
		completion("response_format[json_schema].json_schema.name", translated("`text.format`"),
			translated("`output_config.format`, which has no name")),
		completion("response_format[json_schema].json_schema.description", translated("`text.format`"),
			noEffect("`output_config.format` has no description")),
		completion("response_format[json_schema].json_schema.strict", translated("`text.format`"),
			translated("`output_config.format`, which is always strict")),
		completion("response_format[json_object]", translated("`text.format`"),
			refused("it has no JSON without a schema; use json_schema")),
	}
}

// toolUse are tools and the choice among them, and the fields about the request.
func toolUse() []Row {
	return []Row{
		completion("tools[function].function.name", carried, carried),
		completion("tools[function].function.description", carried, carried),
		completion("tools[function].function.parameters", carried, translated("`input_schema`")),
		completion("tools[function].function.strict", carried),
		completion("tools[custom]", custom),
		completion("tool_choice", carried, translated("`tool_choice` of the same meaning; required is any")),
		completion("tool_choice[function].function.name", carried, translated("tool")),
		completion("tool_choice[allowed_tools].allowed_tools.mode", carried, translated("auto or any")),
		completion("tool_choice[allowed_tools].allowed_tools.tools", carried, translated("the other tools are not sent")),
		completion("tool_choice[custom]", custom),
		completion("parallel_tool_calls", carried, translated("`tool_choice.disable_parallel_tool_use`")),

		completion("user", carried, translated("`metadata.user_id`")),
		completion("safety_identifier", carried, translated("`metadata.user_id`")),
		completion("safety_identifier[next to user]", carried, noEffect("`metadata.user_id` is the user")),
		completion("metadata", carried, noEffect("only stored with answers, and none is stored")),
		completion("store", noEffect("the runtime asks the provider to store nothing")).or("false"),
		completion("service_tier", carried, translated("auto is auto, default is standard_only").only(`"auto"`, `"default"`)),
		completion("prompt_cache_key", carried, cache),
		completion("prompt_cache_retention", carried, cache),
		completion("prompt_cache_options", carried, cache),
	}
}
