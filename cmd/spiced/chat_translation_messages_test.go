package main

import (
	"slices"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// toOpenAI returns what providers of the Chat Completions and the Responses form get; ""
// is nothing.
func toOpenAI(completions, responses string) map[chat.Form]string {
	want := map[chat.Form]string{}
	if completions != "" {
		want[chat.FormOpenAI] = completions
	}
	if responses != "" {
		want[chat.FormResponses] = responses
	}
	return want
}

// userBlock is a request with a block of the user's message.
func userBlock(fields string) string {
	return `"messages":[{"role":"user","content":[{"type":"text","text":"what?"},{` + fields + `}]}]`
}

// resultBlock is a request with a block in the result of a call.
func resultBlock(fields string) string { return callBlocks("", `"content":[{`+fields+`}]`) }

// callBlocks is a request with a call and its result, which have these fields too.
func callBlocks(call, result string) string {
	return `"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{"a":1}` + call + `}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1",` + result + `}]}]`
}

// saidBlock is a request with a block of an earlier answer.
func saidBlock(fields string) string {
	return `"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{` + fields +
		`},{"type":"text","text":"yes"}]},{"role":"user","content":"and?"}]`
}

// toolBlock is a request with fields of a tool.
func toolBlock(fields string) string {
	return `"tools":[{"name":"f","description":"d","input_schema":{"type":"object","properties":{}}` + fields + `}]`
}

const (
	ephemeral = `,"cache_control":{"type":"ephemeral"}`
	pngSource = `"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}`
	pdfSource = `"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}`
	txtSource = `"type":"document","title":"a.txt","source":{"type":"text","media_type":"text/plain","data":"hi"}`
)

// place is where providers get a block: the paths of a text, and of other parts.
type place struct{ text, part string }

// blockSamples are the samples of the blocks of content, by the function that puts one in
// a request.
func blockSamples(content string, request func(string) string, completions, responses place) []fieldSample {
	text, image, document := content+"[text]", content+"[image]", content+"[document]"
	parts := func(inCompletions, inResponses string) map[chat.Form]string {
		return toOpenAI(completions.part+inCompletions, responses.part+inResponses)
	}
	return []fieldSample{
		{text + ".text", request(`"type":"text","text":"abc"`), toOpenAI(completions.text+`="abc"`, responses.text+`="abc"`)},
		{text + ".citations", request(`"type":"text","text":"abc","citations":[{"type":"char_location"}]`), nil},
		{text + ".cache_control", request(`"type":"text","text":"abc"` + ephemeral), nil},
		{image + ".source[base64]", request(pngSource), parts(`.image_url.url="`+pngURL+`"`, `.image_url="`+pngURL+`"`)},
		{
			image + ".source[url].url", request(`"type":"image","source":{"type":"url","url":"https://a/b.png"}`),
			parts(`.image_url.url="https://a/b.png"`, `.image_url="https://a/b.png"`),
		},
		{image + ".source[file]", request(`"type":"image","source":{"type":"file","file_id":"file_1"}`), nil},
		{image + ".transformations", request(pngSource + `,"transformations":{"oversized_image":"reject"}`), nil},
		{image + ".cache_control", request(pngSource + ephemeral), nil},
		{
			document + ".source[base64]", request(pdfSource),
			parts(`.file={"filename":"document.pdf","file_data":"`+pdf+`"}`, `={"type":"input_file","filename":"document.pdf","file_data":"`+pdf+`"}`),
		},
		{document + ".source[text]", request(txtSource), parts(`.file.file_data="data:text/plain;base64,aGk="`, `.file_data="data:text/plain;base64,aGk="`)},
		{
			document + ".source[url].url", request(`"type":"document","source":{"type":"url","url":"https://a/b.pdf"}`),
			toOpenAI("", responses.part+`={"type":"input_file","file_url":"https://a/b.pdf"}`),
		},
		{document + ".source[file]", request(`"type":"document","source":{"type":"file","file_id":"file_1"}`), nil},
		{document + ".source[content]", request(`"type":"document","source":{"type":"content","content":"abc"}`), nil},
		{document + ".title", request(txtSource), parts(`.file.filename="a.txt"`, `.filename="a.txt"`)},
		{document + ".context", request(pdfSource + `,"context":"c"`), nil},
		{document + ".citations.enabled", request(pdfSource + `,"citations":{"enabled":true}`), nil},
		{document + ".cache_control", request(pdfSource + ephemeral), nil},
		{content + "[search_result]", request(`"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"abc"}]`), nil},
	}
}

// turnSamples are the samples of the other blocks, and of the system prompt.
func turnSamples() []fieldSample {
	const content = "messages[].content"
	list := []fieldSample{
		{content, `"messages":[{"role":"user","content":"abc"}]`, toOpenAI(`messages.0.content="abc"`, `input.0.content.0.text="abc"`)},
		{content + "[tool_result].content", callBlocks("", `"content":"42"`), toOpenAI(`messages.2.content="42"`, `input.2.output="42"`)},
		{"messages[].role", saidBlock(`"type":"text","text":"a"`), toOpenAI(`messages.1.role="assistant"`, `input.1.role="assistant"`)},
		{"messages[].output_config", `"messages":[{"role":"user","content":"hi","output_config":{"effort":"low"}}]`, nil},
		{"messages[].clear_at", `"messages":[{"role":"user","content":"hi","clear_at":{"type":"input_tokens","value":7}}]`, nil},
		{content + "[thinking].thinking", saidBlock(`"type":"thinking","thinking":"hm","signature":""`), toOpenAI(`messages.1.reasoning_content="hm"`, "")},
		{content + "[thinking].signature", saidBlock(`"type":"thinking","thinking":"hm","signature":"s"`), nil},
		{content + "[redacted_thinking]", saidBlock(`"type":"redacted_thinking","data":"s"`), nil},
		{content + "[tool_use].id", callBlocks("", `"content":"42"`), toOpenAI(`messages.1.tool_calls.0.id="t1"`, `input.1.call_id="t1"`)},
		{content + "[tool_use].name", callBlocks("", `"content":"42"`), toOpenAI(`messages.1.tool_calls.0.function.name="f"`, `input.1.name="f"`)},
		{
			content + "[tool_use].input", callBlocks("", `"content":"42"`),
			toOpenAI(`messages.1.tool_calls.0.function.arguments="{\"a\":1}"`, `input.1.arguments="{\"a\":1}"`),
		},
		{content + "[tool_use].caller", callBlocks(`,"caller":{"type":"code_execution_20250825","tool_id":"s"}`, `"content":"42"`), nil},
		{content + "[tool_use].toolset_name", callBlocks(`,"toolset_name":"s"`, `"content":"42"`), nil},
		{content + "[tool_use].cache_control", callBlocks(ephemeral, `"content":"42"`), nil},
		{content + "[tool_result].tool_use_id", callBlocks("", `"content":"42"`), toOpenAI(`messages.2.tool_call_id="t1"`, `input.2.call_id="t1"`)},
		{content + "[tool_result].is_error", callBlocks("", `"is_error":true,"content":"no"`), nil},
		{content + "[tool_result].toolset_name", callBlocks("", `"content":"42","toolset_name":"s"`), nil},
		{content + "[tool_result].cache_control", callBlocks("", `"content":"42"`+ephemeral), nil},
		{content + "[tool_result].content[tool_reference]", resultBlock(`"type":"tool_reference","tool_name":"f"`), nil},
		{content + "[tool_result].content[browser_state]", resultBlock(`"type":"browser_state","tabs":[]`), nil},
		{
			"system", `"system":"abc"`,
			toAll(`messages.0={"role":"system","content":"abc"}`, "input.0.role=\"system\"\ninput.0.content.0.text=\"abc\"", `system.0.text="abc"`),
		},
		{"system[text].text", `"system":[{"type":"text","text":"abc"}]`, toOpenAI(`messages.0.content="abc"`, `input.0.content.0.text="abc"`)},
		{"system[text].citations", `"system":[{"type":"text","text":"abc","citations":[{"type":"char_location"}]}]`, nil},
		{"system[text].cache_control", `"system":[{"type":"text","text":"abc"` + ephemeral + `}]`, nil},
	}
	for _, kind := range []string{
		"advisor_tool_result", "bash_code_execution_tool_result", "code_execution_tool_result", "compaction", "container_upload",
		"fallback", "mcp_tool_listing", "mcp_tool_result", "mcp_tool_use", "server_tool_use",
		"text_editor_code_execution_tool_result", "tool_addition", "tool_removal", "tool_search_tool_result",
		"web_fetch_tool_result", "web_search_tool_result",
	} {
		list = append(list, fieldSample{content + "[" + kind + "]", saidBlock(`"type":"` + kind + `","id":"x"`), nil})
	}
	return list
}

// messagesSamples are the samples of Messages.
var messagesSamples = slices.Concat(
	blockSamples("messages[].content", userBlock, place{"messages.0.content.1.text", "messages.0.content.1"},
		place{"input.0.content.1.text", "input.0.content.1"}),
	blockSamples("messages[].content[tool_result].content", resultBlock, place{"messages.2.content", "messages.3.content.1"},
		place{"input.2.output", "input.2.output.0"}),
	turnSamples(),
	[]fieldSample{
		{"model", ``, toAll(`model="gpt-test"`, `model="gpt-test"`, `model="claude-test"`)},
		{"stream", `"stream":true`, toOpenAI(`stream=true`, `stream=true`)},
		{"max_tokens", `"max_tokens":7`, toOpenAI(`max_tokens=7`, `max_output_tokens=7`)},
		{"max_tokens[0]", `"max_tokens":0`, nil},
		{"temperature", `"temperature":0.5`, toOpenAI(`temperature=0.5`, `temperature=0.5`)},
		{"top_p", `"top_p":0.5`, toOpenAI(`top_p=0.5`, `top_p=0.5`)},
		{"top_k", `"top_k":5`, nil},
		{"stop_sequences", `"stop_sequences":["END"]`, toOpenAI(`stop=["END"]`, "")},
		{"thinking[enabled]", `"thinking":{"type":"enabled","budget_tokens":1024}`, nil},
		{"thinking[adaptive]", `"thinking":{"type":"adaptive"}`, nil},
		{"thinking[disabled]", `"thinking":{"type":"disabled"}`, nil},
		{"output_config.effort", `"output_config":{"effort":"max"}`, toOpenAI(`reasoning_effort="max"`, `reasoning.effort="max"`)},
		{
			"output_config.format", `"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}`,
			toOpenAI(`response_format.json_schema.schema={"type":"object"}`, `text.format.schema={"type":"object"}`),
		},
		{"output_config.task_budget", `"output_config":{"task_budget":{"type":"tokens","total":9}}`, nil},
		{
			"output_format", `"output_format":{"type":"json_schema","schema":{"type":"object"}}`,
			toOpenAI(`response_format.json_schema.schema={"type":"object"}`, `text.format.schema={"type":"object"}`),
		},
		{"metadata.user_id", `"metadata":{"user_id":"ann"}`, toOpenAI(`user="ann"`, `user="ann"`)},
		{"service_tier", `"service_tier":"standard_only"`, toOpenAI(`service_tier="default"`, `service_tier="default"`)},
		{"speed", `"speed":"fast"`, nil},
		{"inference_geo", `"inference_geo":"eu"`, nil},
		{"cache_control", `"cache_control":{"type":"ephemeral"}`, nil},
		{"compaction", `"compaction":{"type":"summarize"}`, nil},
		{"container", `"container":"c"`, nil},
		{"context_management.edits[clear_thinking_20251015]", `"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`, nil},
		{"context_management.edits[clear_tool_uses_20250919]", `"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}`, nil},
		{"context_management.edits[compact_20260112]", `"context_management":{"edits":[{"type":"compact_20260112"}]}`, nil},
		{"diagnostics", `"diagnostics":{"previous_message_id":"msg_1"}`, nil},
		{"fallbacks", `"fallbacks":[{"model":"m"}]`, nil},
		{"fallback_credit_token", `"fallback_credit_token":"t"`, nil},
		{"mcp_servers", `"mcp_servers":[{"type":"url","name":"s","url":"https://a/mcp"}]`, nil},
		{"anthropic_beta", `"anthropic_beta":["b"]`, map[chat.Form]string{chat.FormAnthropic: "anthropic_beta="}},

		{"tools[custom].name", toolBlock(""), toOpenAI(`tools.0.function.name="f"`, `tools.0.name="f"`)},
		{"tools[custom].description", toolBlock(""), toOpenAI(`tools.0.function.description="d"`, `tools.0.description="d"`)},
		{
			"tools[custom].input_schema", toolBlock(""),
			toOpenAI(`tools.0.function.parameters={"type":"object","properties":{}}`, `tools.0.parameters={"type":"object","properties":{}}`),
		},
		{"tools[custom].strict", toolBlock(`,"strict":true`), toOpenAI(`tools.0.function.strict=true`, `tools.0.strict=true`)},
		{"tools[custom].type", toolBlock(`,"type":"custom"`), toOpenAI(`tools.0.type="function"`, `tools.0.type="function"`)},
		{
			"tools[custom].input_examples", toolBlock(`,"input_examples":[{"a":1}]`),
			toOpenAI(`tools.0.function.description="d\n\nExamples of arguments: [{\"a\":1}]"`, `tools.0.description="d\n\nExamples of arguments: [{\"a\":1}]"`),
		},
		{"tools[custom].defer_loading", toolBlock(`,"defer_loading":true`), toOpenAI("", `tools.0.name="f"`)},
		{"tools[custom].eager_input_streaming", toolBlock(`,"eager_input_streaming":true`), nil},
		{"tools[custom].allowed_callers", toolBlock(`,"allowed_callers":["code_execution_20250825"]`), nil},
		{"tools[custom].cache_control", toolBlock(ephemeral), nil},
		{"tools[*]", `"tools":[{"type":"web_search_20250305","name":"web_search"}]`, nil},
		{"tool_choice[auto]", toolBlock("") + `,"tool_choice":{"type":"auto"}`, toOpenAI(`tool_choice="auto"`, `tool_choice="auto"`)},
		{"tool_choice[any]", toolBlock("") + `,"tool_choice":{"type":"any"}`, toOpenAI(`tool_choice="required"`, `tool_choice="required"`)},
		{"tool_choice[none]", toolBlock("") + `,"tool_choice":{"type":"none"}`, toOpenAI(`tool_choice="none"`, `tool_choice="none"`)},
		{
			"tool_choice[tool].name", toolBlock("") + `,"tool_choice":{"type":"tool","name":"f"}`,
			toOpenAI(`tool_choice={"type":"function","function":{"name":"f"}}`, `tool_choice={"type":"function","name":"f"}`),
		},
		{
			"tool_choice[tool].disable_parallel_tool_use", toolBlock("") + `,"tool_choice":{"type":"tool","name":"f","disable_parallel_tool_use":true}`,
			toOpenAI(`parallel_tool_calls=false`, `parallel_tool_calls=false`),
		},
	},
)
