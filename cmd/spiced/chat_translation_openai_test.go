package main

import "github.com/spiced-sql/spiced/internal/llm/chat"

// to returns what providers of the Responses and the Messages form get; "" is nothing.
func to(responses, messages string) map[chat.Form]string {
	want := map[chat.Form]string{}
	if responses != "" {
		want[chat.FormResponses] = responses
	}
	if messages != "" {
		want[chat.FormAnthropic] = messages
	}
	return want
}

// toAll is to with what the client's own form gets.
func toAll(openai, responses, messages string) map[chat.Form]string {
	want := to(responses, messages)
	want[chat.FormOpenAI] = openai
	return want
}

const (
	breakpoint = `"prompt_cache_breakpoint":{"mode":"explicit"}`
	pdf        = `data:application/pdf;base64,JVBERi0=`
	pngURL     = `data:image/png;base64,aGk=`
	called     = `{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},`
	tooled     = `"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object","properties":{}},"strict":true}},{"type":"function","function":{"name":"g"}}],`
)

// asks is a request with a part of the user's message.
func userPart(part string) string { return `"messages":[{"role":"user","content":[` + part + `]}]` }

// answered is a request with an earlier answer.
func answered(fields string) string {
	return `"messages":[{"role":"user","content":"hi"},{"role":"assistant",` + fields + `},{"role":"user","content":"and?"}]`
}

// withResult is a request with the result of a call.
func withResult(fields string) string {
	return `"messages":[` + called + `{"role":"tool",` + fields + `}]`
}

// completionsSamples are the samples of Chat Completions.
var completionsSamples = func() []fieldSample {
	list := []fieldSample{
		{"messages[user].content", `"messages":[{"role":"user","content":"abc"}]`, to(`input.0.content.0.text="abc"`, `messages.0.content.0.text="abc"`)},
		{"messages[user].content[text].text", userPart(`{"type":"text","text":"abc"}`), to(`input.0.content.0.text="abc"`, `messages.0.content.0.text="abc"`)},
		{"messages[user].content[text].prompt_cache_breakpoint", userPart(`{"type":"text","text":"abc",` + breakpoint + `}`), nil},
		{
			"messages[user].content[image_url].image_url.url", userPart(`{"type":"image_url","image_url":{"url":"` + pngURL + `"}}`),
			to(`input.0.content.0.image_url="`+pngURL+`"`, `messages.0.content.0.source={"type":"base64","media_type":"image/png","data":"aGk="}`),
		},
		{
			"messages[user].content[image_url].image_url.detail", userPart(`{"type":"image_url","image_url":{"url":"https://a/b.png","detail":"low"}}`),
			to(`input.0.content.0.detail="low"`, ""),
		},
		{"messages[user].content[image_url].prompt_cache_breakpoint", userPart(`{"type":"image_url","image_url":{"url":"https://a/b.png"},` + breakpoint + `}`), nil},
		{"messages[user].content[input_audio]", userPart(`{"type":"text","text":"what?"},{"type":"input_audio","input_audio":{"data":"aGk=","format":"wav"}}`), nil},
		{
			"messages[user].content[file].file.file_data", userPart(`{"type":"file","file":{"filename":"a.pdf","file_data":"` + pdf + `"}}`),
			to(`input.0.content.0.file_data="`+pdf+`"`, `messages.0.content.0.source={"type":"base64","media_type":"application/pdf","data":"JVBERi0="}`),
		},
		{
			"messages[user].content[file].file.filename", userPart(`{"type":"file","file":{"filename":"a.txt","file_data":"aGk="}}`),
			to(`input.0.content.0.filename="a.txt"`, "messages.0.content.0.title=\"a.txt\"\nmessages.0.content.0.source.data=\"hi\""),
		},
		{"messages[user].content[file].file.file_id", userPart(`{"type":"file","file":{"file_id":"file-1"}}`), to(`input.0.content.0.file_id="file-1"`, "")},
		{
			"messages[user].content[file].prompt_cache_breakpoint",
			userPart(`{"type":"file","file":{"filename":"a.pdf","file_data":"` + pdf + `"},` + breakpoint + `}`), nil,
		},
		{"messages[user].name", `"messages":[{"role":"user","name":"ann","content":"hi"}]`, nil},

		{"messages[assistant].content", answered(`"content":"abc"`), to(`input.1.content="abc"`, `messages.1.content.0.text="abc"`)},
		{
			"messages[assistant].content[text].text", answered(`"content":[{"type":"text","text":"abc"}]`),
			to(`input.1.content="abc"`, `messages.1.content.0.text="abc"`),
		},
		{"messages[assistant].content[text].prompt_cache_breakpoint", answered(`"content":[{"type":"text","text":"abc",` + breakpoint + `}]`), nil},
		{
			"messages[assistant].content[refusal].refusal", answered(`"content":[{"type":"refusal","refusal":"no"}]`),
			to(`input.1.content.0.refusal="no"`, `messages.1.content.0.text="no"`),
		},
		{"messages[assistant].refusal", answered(`"refusal":"no"`), to(`input.1.content.0.refusal="no"`, `messages.1.content.0.text="no"`)},
		{"messages[assistant].reasoning_content", answered(`"content":"a","reasoning_content":"hm"`), nil},
		{"messages[assistant].name", answered(`"content":"a","name":"bo"`), nil},
		{"messages[assistant].audio", answered(`"content":"a","audio":{"id":"audio_1"}`), nil},
		{"messages[assistant].function_call", answered(`"content":"a","function_call":{"name":"f","arguments":"{}"}`), nil},
		{"messages[assistant].tool_calls[function].id", withResult(`"tool_call_id":"c1","content":"1"`), to(`input.1.call_id="c1"`, `messages.1.content.0.id="c1"`)},
		{
			"messages[assistant].tool_calls[function].index",
			`"messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"index":1,"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"1"}]`, nil,
		},
		{
			"messages[assistant].tool_calls[function].function.name", withResult(`"tool_call_id":"c1","content":"1"`),
			to(`input.1.name="f"`, `messages.1.content.0.name="f"`),
		},
		{
			"messages[assistant].tool_calls[function].function.arguments", withResult(`"tool_call_id":"c1","content":"1"`),
			to(`input.1.arguments="{\"a\":1}"`, `messages.1.content.0.input={"a":1}`),
		},
		{"messages[assistant].tool_calls[custom]", answered(`"tool_calls":[{"id":"c1","type":"custom","custom":{"name":"f","input":"x"}}]`), nil},
		{"messages[assistant].*", answered(`"content":"a","annotations":[{"type":"url_citation"}]`), nil},

		{"messages[tool].content", withResult(`"tool_call_id":"c1","content":"42"`), to(`input.2.output="42"`, `messages.2.content.0.content.0.text="42"`)},
		{
			"messages[tool].content[text].text", withResult(`"tool_call_id":"c1","content":[{"type":"text","text":"42"}]`),
			to(`input.2.output="42"`, `messages.2.content.0.content.0.text="42"`),
		},
		{"messages[tool].content[text].prompt_cache_breakpoint", withResult(`"tool_call_id":"c1","content":[{"type":"text","text":"42",` + breakpoint + `}]`), nil},
		{
			"messages[tool].content[image_url].image_url.url", withResult(`"tool_call_id":"c1","content":[{"type":"image_url","image_url":{"url":"https://a/b.png"}}]`),
			to(`input.2.output.0.image_url="https://a/b.png"`, `messages.2.content.0.content.0.source.url="https://a/b.png"`),
		},
		{
			"messages[tool].content[image_url].image_url.detail",
			withResult(`"tool_call_id":"c1","content":[{"type":"image_url","image_url":{"url":"https://a/b.png","detail":"low"}}]`),
			to(`input.2.output.0.detail="low"`, ""),
		},
		{"messages[tool].tool_call_id", withResult(`"tool_call_id":"c1","content":"42"`), to(`input.2.call_id="c1"`, `messages.2.content.0.tool_use_id="c1"`)},
		{"messages[tool].name", withResult(`"tool_call_id":"c1","content":"42","name":"f"`), nil},
		{"messages[function]", `"messages":[{"role":"function","name":"f","content":"1"}]`, nil},

		{"model", ``, toAll(`model="gpt-test"`, `model="gpt-test"`, `model="claude-test"`)},
		{"stream", `"stream":true`, to(`stream=true`, `stream=true`)},
		{"stream_options.include_usage", `"stream":true,"stream_options":{"include_usage":true}`, to(`stream=true`, `stream=true`)},
		{"stream_options.include_obfuscation", `"stream":true,"stream_options":{"include_obfuscation":true}`, nil},
		{"functions", `"functions":[{"name":"f"}]`, nil},
		{"function_call", `"function_call":"auto"`, nil},
		{"n", `"n":2`, nil},

		{"max_tokens", `"max_tokens":7`, to(`max_output_tokens=7`, `max_tokens=7`)},
		{"max_completion_tokens", `"max_completion_tokens":7`, to(`max_output_tokens=7`, `max_tokens=7`)},
		{"temperature", `"temperature":0.5`, to(`temperature=0.5`, `temperature=0.5`)},
		{"temperature[above 1]", `"temperature":1.5`, to(`temperature=1.5`, "")},
		{"top_p", `"top_p":0.5`, to(`top_p=0.5`, `top_p=0.5`)},
		{"stop", `"stop":["END"]`, to("", `stop_sequences=["END"]`)},
		{"frequency_penalty", `"frequency_penalty":0.5`, nil},
		{"presence_penalty", `"presence_penalty":-1`, nil},
		{"logit_bias", `"logit_bias":{"7":1}`, nil},
		{"seed", `"seed":7`, nil},
		{"logprobs", `"logprobs":true`, to(`include.0="message.output_text.logprobs"`, "")},
		{"top_logprobs", `"top_logprobs":3`, to(`top_logprobs=3`, "")},
		{"reasoning_effort", `"reasoning_effort":"high"`, to(`reasoning.effort="high"`, `output_config.effort="high"`)},
		{"verbosity", `"verbosity":"low"`, to(`text.verbosity="low"`, "")},
		{"modalities", `"modalities":["text","audio"]`, nil},
		{"audio", `"audio":{"voice":"alloy","format":"wav"}`, nil},
		{"moderation", `"moderation":{"model":"omni"}`, to(`moderation={"model":"omni"}`, "")},
		{"prediction", `"prediction":{"type":"content","content":"abc"}`, nil},
		{"web_search_options", `"web_search_options":{"search_context_size":"low"}`, nil},
		{"response_format[text]", `"response_format":{"type":"text"}`, to(`text.format={"type":"text"}`, `output_config=`)},
		{
			"response_format[json_schema].json_schema.schema",
			`"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":{"type":"object"}}}`,
			to(`text.format={"type":"json_schema","name":"a","strict":true,"schema":{"type":"object"}}`,
				`output_config.format={"type":"json_schema","schema":{"type":"object"}}`),
		},
		{
			"response_format[json_schema].json_schema.name",
			`"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":{"type":"object"}}}`,
			to(`text.format={"type":"json_schema","name":"a","strict":true,"schema":{"type":"object"}}`,
				`output_config.format={"type":"json_schema","schema":{"type":"object"}}`),
		},
		{
			"response_format[json_schema].json_schema.strict",
			`"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":{"type":"object"}}}`,
			to(`text.format={"type":"json_schema","name":"a","strict":true,"schema":{"type":"object"}}`,
				`output_config.format={"type":"json_schema","schema":{"type":"object"}}`),
		},
		{
			"response_format[json_schema].json_schema.description",
			`"response_format":{"type":"json_schema","json_schema":{"name":"a","description":"d","schema":{"type":"object"}}}`,
			to(`text.format={"type":"json_schema","name":"a","description":"d","schema":{"type":"object"}}`, ""),
		},
		{"response_format[json_object]", `"response_format":{"type":"json_object"}`, to(`text.format={"type":"json_object"}`, "")},

		{"tools[function].function.name", tooled + `"tool_choice":"auto"`, to(`tools.0.name="f"`, `tools.0.name="f"`)},
		{"tools[function].function.description", tooled + `"tool_choice":"auto"`, to(`tools.0.description="d"`, `tools.0.description="d"`)},
		{
			"tools[function].function.parameters", tooled + `"tool_choice":"auto"`,
			to(`tools.0.parameters={"type":"object","properties":{}}`, `tools.0.input_schema={"type":"object","properties":{}}`),
		},
		{"tools[function].function.strict", tooled + `"tool_choice":"auto"`, to(`tools.0.strict=true`, `tools.0.strict=true`)},
		{"tools[custom]", `"tools":[{"type":"custom","custom":{"name":"f"}}]`, nil},
		{"tool_choice", tooled + `"tool_choice":"required"`, to(`tool_choice="required"`, `tool_choice={"type":"any"}`)},
		{
			"tool_choice[function].function.name", tooled + `"tool_choice":{"type":"function","function":{"name":"g"}}`,
			to(`tool_choice={"type":"function","name":"g"}`, `tool_choice={"type":"tool","name":"g"}`),
		},
		{
			"tool_choice[allowed_tools].allowed_tools.mode", tooled +
				`"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"g"}}]}}`,
			to(`tool_choice.mode="required"`, `tool_choice={"type":"any"}`),
		},
		{
			"tool_choice[allowed_tools].allowed_tools.tools", tooled +
				`"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"g"}}]}}`,
			to("tool_choice.tools=[{\"type\":\"function\",\"name\":\"g\"}]\ntools.0.name=\"f\"", "tools.0.name=\"g\"\ntools.1="),
		},
		{"tool_choice[custom]", tooled + `"tool_choice":{"type":"custom","custom":{"name":"g"}}`, nil},
		{
			"parallel_tool_calls", tooled + `"parallel_tool_calls":false`,
			to(`parallel_tool_calls=false`, `tool_choice={"type":"auto","disable_parallel_tool_use":true}`),
		},

		{"user", `"user":"ann","safety_identifier":"s"`, to("user=\"ann\"\nsafety_identifier=\"s\"", `metadata={"user_id":"ann"}`)},
		{"safety_identifier[next to user]", `"user":"ann","safety_identifier":"s"`, to(`safety_identifier="s"`, "")},
		{"safety_identifier", `"safety_identifier":"s"`, to("user=\nsafety_identifier=\"s\"", `metadata={"user_id":"s"}`)},
		{"metadata", `"metadata":{"a":"b"}`, to(`metadata={"a":"b"}`, "")},
		{"store", `"store":true`, nil},
		{"service_tier", `"service_tier":"default"`, to(`service_tier="default"`, `service_tier="standard_only"`)},
		{"prompt_cache_key", `"prompt_cache_key":"k"`, to(`prompt_cache_key="k"`, "")},
		{"prompt_cache_retention", `"prompt_cache_retention":"24h"`, to(`prompt_cache_retention="24h"`, "")},
		{"prompt_cache_options", `"prompt_cache_options":{"mode":"explicit"}`, to(`prompt_cache_options={"mode":"explicit"}`, "")},
	}
	for _, role := range []string{"developer", "system"} {
		says := func(fields string) string {
			return `"messages":[{"role":"` + role + `",` + fields + `},{"role":"user","content":"hi"}]`
		}
		list = append(
			list,
			fieldSample{"messages[" + role + "].content", says(`"content":"abc"`), to(`input.0.content.0.text="abc"`, `system.0.text="abc"`)},
			fieldSample{
				"messages[" + role + "].content[text].text", says(`"content":[{"type":"text","text":"abc"}]`),
				to(`input.0.content.0.text="abc"`, `system.0.text="abc"`),
			},
			fieldSample{"messages[" + role + "].content[text].prompt_cache_breakpoint", says(`"content":[{"type":"text","text":"abc",` + breakpoint + `}]`), nil},
			fieldSample{"messages[" + role + "].name", says(`"content":"abc","name":"bo"`), nil},
			fieldSample{
				"messages[" + role + " later]", `"messages":[{"role":"user","content":"hi"},{"role":"` + role + `","content":"abc"}]`,
				to(`input.1.content.0.text="abc"`, ""),
			},
		)
	}
	return list
}()
