// Package xmltools gives tools to models that have none: the tools are told in
// the system text, and calls are read from the model's own text. It owns the
// words that say how to call, how calls and results stand in the history, and
// what of a text is a call.
//
//	provider = xmltools.Wrap(provider) // params.tool_format: xml
//	for delta, err := range provider.Chat(ctx, request) {
//		... // DeltaCall, DeltaArguments, DeltaCallEnd as of any other provider
//	}
//
// A call is written as Hermes and Qwen models write theirs, or as Llama models
// do:
//
//	<tool_call>{"name": "search", "arguments": {"query": "tides"}}</tool_call>
//	<function=search>{"query": "tides"}</function>
//
// An answer that is nothing but code blocks of JSON is read as calls too, when
// each of them is {"name": …, "arguments": {…}} with the name of a tool of the
// request.
//
// What is quoted is no call: within code blocks and code spans of Markdown, and
// in <think>…</think> at the beginning of an answer. A code span is taken to
// end with its line; a code block that is never closed goes to the end of the
// answer. So a call behind an odd backtick in the same line stays text.
//
// https://github.com/NousResearch/Hermes-Function-Calling
package xmltools

// Limits on what is kept back of an answer. What is longer is text.
const (
	MaxCall  = 1 << 20  // bytes of one call
	MaxBlock = 64 << 10 // bytes of an answer that may be calls in code blocks
	MaxSpace = 256      // bytes of white space between a tag and what it opens
)
