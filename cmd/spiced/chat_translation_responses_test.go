package main

import (
	"slices"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// toOthers returns what providers of the Chat Completions and the Messages form get; ""
// is nothing.
func toOthers(completions, messages string) map[chat.Form]string {
	want := map[chat.Form]string{}
	if completions != "" {
		want[chat.FormOpenAI] = completions
	}
	if messages != "" {
		want[chat.FormAnthropic] = messages
	}
	return want
}

// inputPart is a request with a part of the user's message.
func inputPart(fields string) string {
	return `"input":[{"role":"user","content":[{"type":"input_text","text":"what?"},{` + fields + `}]}]`
}

// outputPart is a request with a part in the result of a call.
func outputPart(fields string) string { return callItems("", `"output":[{`+fields+`}]`) }

// callItems is a request with a call and its result, which have these fields too.
func callItems(call, output string) string {
	return `"input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}"` + call + `},` +
		`{"type":"function_call_output","call_id":"c1",` + output + `}]`
}

// inputItem is a request with an item before the question.
func inputItem(fields string) string {
	return `"input":[{"role":"user","content":"hi"},{` + fields + `},{"role":"user","content":"and?"}]`
}

// saidPart is a request with a part of an earlier answer.
func saidPart(fields string) string {
	return inputItem(`"type":"message","role":"assistant","content":[{` + fields + `}]`)
}

// functionTool is a request with fields of a tool.
func functionTool(fields string) string {
	return `"tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object","properties":{}}` + fields +
		`},{"type":"function","name":"g","parameters":{"type":"object","properties":{}}}]`
}

// contentSamples are the samples of the parts of content, by the function that puts one in
// a request.
func contentSamples(content string, request func(string) string, completions, messages place) []fieldSample {
	text, image, file := content+"[input_text]", content+"[input_image]", content+"[input_file]"
	png, data := `"type":"input_image","image_url":"`+pngURL+`"`, `"type":"input_file","filename":"a.pdf","file_data":"`+pdf+`"`
	parts := func(inCompletions, inMessages string) map[chat.Form]string {
		return toOthers(completions.part+inCompletions, messages.part+inMessages)
	}
	return []fieldSample{
		{text + ".text", request(`"type":"input_text","text":"abc"`), toOthers(completions.text+`="abc"`, messages.text+`="abc"`)},
		{text + ".prompt_cache_breakpoint", request(`"type":"input_text","text":"abc",` + breakpoint), nil},
		{image + ".image_url", request(png), parts(`.image_url.url="`+pngURL+`"`, `.source={"type":"base64","media_type":"image/png","data":"aGk="}`)},
		{image + ".file_id", request(`"type":"input_image","file_id":"file-1"`), nil},
		{image + ".detail", request(png + `,"detail":"low"`), toOthers(completions.part+`.image_url.detail="low"`, "")},
		{image + ".prompt_cache_breakpoint", request(png + "," + breakpoint), nil},
		{file + ".file_data", request(data), parts(`.file.file_data="`+pdf+`"`, `.source={"type":"base64","media_type":"application/pdf","data":"JVBERi0="}`)},
		{file + ".filename", request(data), parts(`.file.filename="a.pdf"`, `.title="a.pdf"`)},
		{
			file + ".file_url", request(`"type":"input_file","file_url":"https://a/b.pdf"`),
			toOthers("", messages.part+`.source={"type":"url","url":"https://a/b.pdf"}`),
		},
		{file + ".file_id", request(`"type":"input_file","file_id":"file-1"`), toOthers(completions.part+`.file.file_id="file-1"`, "")},
		{file + ".detail", request(data + `,"detail":"high"`), nil},
		{file + ".prompt_cache_breakpoint", request(data + "," + breakpoint), nil},
	}
}

// itemSamples are the samples of items.
func itemSamples() []fieldSample {
	list := []fieldSample{
		{"input", `"input":"abc"`, toAll(`messages.0.content="abc"`, `input.0.content.0.text="abc"`, `messages.0.content.0.text="abc"`)},
		{"input[message].content", `"input":[{"role":"user","content":"abc"}]`, toOthers(`messages.0.content="abc"`, `messages.0.content.0.text="abc"`)},
		{"input[message].role", saidPart(`"type":"output_text","text":"abc"`), toOthers(`messages.1.role="assistant"`, `messages.1.role="assistant"`)},
		{"input[message].type", saidPart(`"type":"output_text","text":"abc"`), toOthers(`messages.1.type=`, `messages.1.type=`)},
		{"input[message].id", inputItem(`"role":"assistant","id":"msg_1","content":"abc"`), toOthers(`messages.1.id=`, `messages.1.id=`)},
		{"input[message].status", inputItem(`"role":"assistant","status":"completed","content":"abc"`), toOthers(`messages.1.status=`, `messages.1.status=`)},
		{"input[message].phase", inputItem(`"role":"assistant","phase":"commentary","content":"abc"`), nil},
		{
			"input[message].content[output_text].text", saidPart(`"type":"output_text","text":"abc"`),
			toOthers(`messages.1.content="abc"`, `messages.1.content.0.text="abc"`),
		},
		{"input[message].content[output_text].annotations", saidPart(`"type":"output_text","text":"abc","annotations":[{"type":"file_path"}]`), nil},
		{"input[message].content[output_text].logprobs", saidPart(`"type":"output_text","text":"abc","logprobs":[{"token":"a"}]`), nil},
		{"input[message].content[text].text", saidPart(`"type":"text","text":"abc"`), toOthers(`messages.1.content="abc"`, `messages.1.content.0.text="abc"`)},
		{
			"input[message].content[refusal].refusal", saidPart(`"type":"refusal","refusal":"no"`),
			toOthers(`messages.1.refusal="no"`, `messages.1.content.0.text="no"`),
		},
		{"input[system later]", inputItem(`"role":"system","content":"abc"`), toAll(`messages.1.content="abc"`, `input.1.content="abc"`, "")},
		{"input[function_call].call_id", callItems("", `"output":"42"`), toOthers(`messages.1.tool_calls.0.id="c1"`, `messages.1.content.0.id="c1"`)},
		{"input[function_call].name", callItems("", `"output":"42"`), toOthers(`messages.1.tool_calls.0.function.name="f"`, `messages.1.content.0.name="f"`)},
		{
			"input[function_call].arguments", callItems("", `"output":"42"`),
			toOthers(`messages.1.tool_calls.0.function.arguments="{\"a\":1}"`, `messages.1.content.0.input={"a":1}`),
		},
		{"input[function_call].id", callItems(`,"id":"fc_1"`, `"output":"42"`), toOthers(`messages.1.tool_calls.0.id="c1"`, `messages.1.content.0.id="c1"`)},
		{
			"input[function_call].status", callItems(`,"status":"completed"`, `"output":"42"`),
			toOthers(`messages.1.tool_calls.0.status=`, `messages.1.content.0.status=`),
		},
		{"input[function_call].namespace", callItems(`,"namespace":"n"`, `"output":"42"`), nil},
		{"input[function_call].caller", callItems(`,"caller":{"type":"program","caller_id":"p"}`, `"output":"42"`), nil},
		{"input[function_call].async", callItems(`,"async":true`, `"output":"42"`), nil},
		{"input[function_call_output].output", callItems("", `"output":"42"`), toOthers(`messages.2.content="42"`, `messages.2.content.0.content.0.text="42"`)},
		{"input[function_call_output].call_id", callItems("", `"output":"42"`), toOthers(`messages.2.tool_call_id="c1"`, `messages.2.content.0.tool_use_id="c1"`)},
		{"input[function_call_output].id", callItems("", `"output":"42","id":"fco_1"`), toOthers(`messages.2.id=`, `messages.2.content.0.id=`)},
		{"input[function_call_output].status", callItems("", `"output":"42","status":"completed"`), toOthers(`messages.2.status=`, `messages.2.content.0.status=`)},
		{"input[function_call_output].name", callItems("", `"output":"42","name":"f"`), nil},
		{"input[function_call_output].namespace", callItems("", `"output":"42","namespace":"n"`), nil},
		{"input[function_call_output].caller", callItems("", `"output":"42","caller":{"type":"program","caller_id":"p"}`), nil},
		{"input[reasoning].id", inputItem(`"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"`), toOthers(`messages.1.id=`, `messages.1.id=`)},
		{
			"input[reasoning].status", inputItem(`"type":"reasoning","status":"completed","summary":[],"encrypted_content":"e"`),
			toOthers(`messages.1.status=`, `messages.1.status=`),
		},
		{
			"input[reasoning].summary", inputItem(`"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"e"`),
			toOthers(`messages.1.content="and?"`, `messages.1=`),
		},
		{
			"input[reasoning].content", inputItem(`"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]`),
			toOthers(`messages.1.reasoning_content="hm"`, ""),
		},
		{
			"input[reasoning unencrypted]", inputItem(`"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]`),
			toOthers(`messages.1.reasoning_content="hm"`, ""),
		},
		{
			"input[reasoning].encrypted_content", inputItem(`"type":"reasoning","summary":[],"encrypted_content":"e"`),
			toOthers(`messages.0.encrypted_content=`, `messages.0.encrypted_content=`),
		},
		{"input[reasoning of OpenAI]", inputItem(`"type":"reasoning","summary":[],"encrypted_content":"e"`), nil},
		{
			"input[reasoning of Anthropic]",
			inputItem(`"type":"reasoning","summary":[],"encrypted_content":"spiced.eyJmb3JtIjoiYW50aHJvcGljIiwicmF3Ijp7InR5cGUiOiJ0aGlua2luZyIsInRoaW5raW5nIjoiaG0iLCJzaWduYXR1cmUiOiJzIn19"`), toOthers("", `messages.1.content.0={"type":"thinking","thinking":"hm","signature":"s"}`),
		},
		{
			"input[item_reference]", `"input":[{"role":"user","content":"hi"},{"type":"item_reference","id":"$ITEM"},{"role":"user","content":"and?"}]`,
			toAll(`messages.1.content="yes"`, `input.1.content.0.text="yes"`, `messages.1.content.0.text="yes"`),
		},
	}
	for _, kind := range []string{
		"additional_tools", "apply_patch_call", "apply_patch_call_output", "code_interpreter_call", "compaction", "compaction_trigger",
		"computer_call", "computer_call_output", "configuration_update", "custom_tool_call", "custom_tool_call_output",
		"file_search_call", "image_generation_call", "local_shell_call", "local_shell_call_output", "mcp_approval_request",
		"mcp_approval_response", "mcp_call", "mcp_list_tools", "program", "program_output", "shell_call", "shell_call_output",
		"tool_search_call", "tool_search_output", "web_search_call",
	} {
		list = append(list, fieldSample{"input[" + kind + "]", inputItem(`"type":"` + kind + `","id":"x"`), nil})
	}
	return list
}

// responsesSamples are the samples of Responses.
var responsesSamples = slices.Concat(
	contentSamples("input[message].content", inputPart, place{"messages.0.content.1.text", "messages.0.content.1"},
		place{"messages.0.content.1.text", "messages.0.content.1"}),
	contentSamples("input[function_call_output].output", outputPart, place{"messages.2.content", "messages.3.content.1"},
		place{"messages.2.content.0.content.0.text", "messages.2.content.0.content.0"}),
	itemSamples(),
	[]fieldSample{
		{"model", ``, toAll(`model="gpt-test"`, `model="gpt-test"`, `model="claude-test"`)},
		{"stream", `"stream":true`, toOthers(`stream=true`, `stream=true`)},
		{"stream_options", `"stream":true,"stream_options":{"include_obfuscation":true}`, nil},
		{"instructions", `"instructions":"abc"`, toAll(`messages.0.content="abc"`, `input.0.content.0.text="abc"`, `system.0.text="abc"`)},
		{
			"previous_response_id", `"previous_response_id":"$ANSWER"`,
			toAll(`messages.1.content="yes"`, `input.1.content.0.text="yes"`, `messages.1.content.0.text="yes"`),
		},
		{"conversation", `"conversation":"conv_1"`, nil},
		{"background", `"background":true`, nil},
		{"store", `"store":true`, toAll(`store=`, `store=false`, `store=`)},
		{"prompt", `"prompt":{"id":"pmpt_1"}`, nil},
		{"context_management", `"context_management":[{"type":"compaction","compact_threshold":9}]`, nil},
		{"truncation", `"truncation":"auto"`, nil},
		{"include", `"include":["reasoning.encrypted_content"]`, toOthers(`logprobs=`, `include=`)},
		{"max_tool_calls", `"max_tool_calls":3`, nil},
		{"access_programs", `"access_programs":{"cyber":"x"}`, nil},

		{"max_output_tokens", `"max_output_tokens":7`, toOthers(`max_tokens=7`, `max_tokens=7`)},
		{"temperature", `"temperature":0.5`, toOthers(`temperature=0.5`, `temperature=0.5`)},
		{"temperature[above 1]", `"temperature":1.5`, toOthers(`temperature=1.5`, "")},
		{"top_p", `"top_p":0.5`, toOthers(`top_p=0.5`, `top_p=0.5`)},
		{"top_logprobs", `"top_logprobs":3`, toOthers("top_logprobs=3\nlogprobs=true", "")},
		{"reasoning.effort", `"reasoning":{"effort":"high"}`, toOthers(`reasoning_effort="high"`, `output_config.effort="high"`)},
		{"reasoning.summary", `"reasoning":{"summary":"auto"}`, nil},
		{"reasoning.generate_summary", `"reasoning":{"generate_summary":"auto"}`, nil},
		{"reasoning.context", `"reasoning":{"context":"all_turns"}`, nil},
		{"reasoning.mode", `"reasoning":{"mode":"x"}`, nil},
		{"text.format[text]", `"text":{"format":{"type":"text"}}`, toOthers(`response_format={"type":"text"}`, `output_config=`)},
		{
			"text.format[json_schema].schema", `"text":{"format":{"type":"json_schema","name":"a","schema":{"type":"object"}}}`,
			toOthers(`response_format={"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object"}}}`,
				`output_config.format={"type":"json_schema","schema":{"type":"object"}}`),
		},
		{
			"text.format[json_schema].name", `"text":{"format":{"type":"json_schema","name":"a","schema":{"type":"object"}}}`,
			toOthers(`response_format={"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object"}}}`,
				`output_config.format={"type":"json_schema","schema":{"type":"object"}}`),
		},
		{
			"text.format[json_schema].strict", `"text":{"format":{"type":"json_schema","name":"a","strict":true,"schema":{"type":"object"}}}`,
			toOthers(`response_format={"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":{"type":"object"}}}`,
				`output_config.format={"type":"json_schema","schema":{"type":"object"}}`),
		},
		{
			"text.format[json_schema].description", `"text":{"format":{"type":"json_schema","name":"a","description":"d","schema":{"type":"object"}}}`,
			toOthers(`response_format={"type":"json_schema","json_schema":{"name":"a","description":"d","schema":{"type":"object"}}}`, ""),
		},
		{"text.format[json_object]", `"text":{"format":{"type":"json_object"}}`, toOthers(`response_format={"type":"json_object"}`, "")},
		{"text.verbosity", `"text":{"verbosity":"low"}`, toOthers(`verbosity="low"`, "")},
		{"moderation", `"moderation":{"model":"omni"}`, toOthers(`moderation={"model":"omni"}`, "")},

		{"user", `"user":"ann","safety_identifier":"s"`, toOthers("user=\"ann\"\nsafety_identifier=\"s\"", `metadata={"user_id":"ann"}`)},
		{"safety_identifier[next to user]", `"user":"ann","safety_identifier":"s"`, toOthers(`safety_identifier="s"`, "")},
		{"safety_identifier", `"safety_identifier":"s"`, toOthers("user=\nsafety_identifier=\"s\"", `metadata={"user_id":"s"}`)},
		{"metadata", `"metadata":{"a":"b"}`, toOthers(`metadata=`, `metadata=`)},
		{"service_tier", `"service_tier":"default"`, toOthers(`service_tier="default"`, `service_tier="standard_only"`)},
		{"prompt_cache_key", `"prompt_cache_key":"k"`, toOthers(`prompt_cache_key="k"`, "")},
		{"prompt_cache_retention", `"prompt_cache_retention":"24h"`, toOthers(`prompt_cache_retention="24h"`, "")},
		{"prompt_cache_options", `"prompt_cache_options":{"mode":"explicit"}`, toOthers(`prompt_cache_options={"mode":"explicit"}`, "")},

		{"tools[function].name", functionTool(""), toOthers(`tools.0.function.name="f"`, `tools.0.name="f"`)},
		{"tools[function].description", functionTool(""), toOthers(`tools.0.function.description="d"`, `tools.0.description="d"`)},
		{
			"tools[function].parameters", functionTool(""),
			toOthers(`tools.0.function.parameters={"type":"object","properties":{}}`, `tools.0.input_schema={"type":"object","properties":{}}`),
		},
		{"tools[function].strict", functionTool(`,"strict":true`), toOthers(`tools.0.function.strict=true`, `tools.0.strict=true`)},
		{"tools[function].defer_loading", functionTool(`,"defer_loading":true`), toOthers("", `tools.0.defer_loading=true`)},
		{"tools[function].output_schema", functionTool(`,"output_schema":{"type":"object"}`), nil},
		{"tools[function].allowed_callers", functionTool(`,"allowed_callers":["program"]`), nil},
		{"tools[function].async", functionTool(`,"async":true`), nil},
		{"tools[*]", `"tools":[{"type":"web_search"}]`, nil},
		{"tool_choice", functionTool("") + `,"tool_choice":"required"`, toOthers(`tool_choice="required"`, `tool_choice={"type":"any"}`)},
		{
			"tool_choice[function].name", functionTool("") + `,"tool_choice":{"type":"function","name":"g"}`,
			toOthers(`tool_choice={"type":"function","function":{"name":"g"}}`, `tool_choice={"type":"tool","name":"g"}`),
		},
		{
			"tool_choice[allowed_tools].mode", functionTool("") + `,"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"g"}]}`,
			toOthers(`tool_choice.allowed_tools.mode="required"`, `tool_choice={"type":"any"}`),
		},
		{
			"tool_choice[allowed_tools].tools", functionTool("") + `,"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"g"}]}`,
			toOthers(`tool_choice.allowed_tools.tools=[{"type":"function","function":{"name":"g"}}]`, "tools.0.name=\"g\"\ntools.1="),
		},
		{
			"parallel_tool_calls", functionTool("") + `,"parallel_tool_calls":false`,
			toOthers(`parallel_tool_calls=false`, `tool_choice={"type":"auto","disable_parallel_tool_use":true}`),
		},
		{"tool_choice[*]", functionTool("") + `,"tool_choice":{"type":"mcp","server_label":"s"}`, nil},
	},
)
