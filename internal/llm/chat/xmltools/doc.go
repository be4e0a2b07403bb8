// Package xmltools adds tool calls to models without native support: the system message
// describes the tools, and calls are parsed from the model's text. It owns the
// instructions, the text of calls and results in the history, and the parser.
//
//	provider = xmltools.Wrap(provider) // params.tool_format: xml
//	for delta, err := range provider.Chat(ctx, request) {
//		... // DeltaCall, DeltaArguments, DeltaCallEnd as of any other provider
//	}
//
// A call has the syntax of Hermes and Qwen models, or of Llama models:
//
//	<tool_call>{"name": "search", "arguments": {"query": "tides"}}</tool_call>
//	<function=search>{"query": "tides"}</function>
//
// An answer that consists only of JSON code blocks is parsed as calls too, if each is
// {"name": …, "arguments": {…}} with the name of a tool of the request.
//
// Quoted text is not a call: code blocks and code spans of Markdown, and
// <think>…</think> at the beginning of an answer. A code span ends at the end of the
// line; an unclosed code block extends to the end of the answer. So a call after an odd
// backtick in the same line remains text.
//
// https://github.com/NousResearch/Hermes-Function-Calling
package xmltools

// Limits on what is buffered of an answer. Anything longer is text.
const (
	MaxCall  = 1 << 20  // bytes of one call
	MaxBlock = 64 << 10 // bytes of an answer that may be calls in code blocks
	MaxSpace = 256      // bytes of white space between a tag and its object
)
