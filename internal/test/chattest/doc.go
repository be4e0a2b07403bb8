// Package chattest is a provider of language models for tests: a server on
// 127.0.0.1 that speaks the published forms of OpenAI Chat Completions, OpenAI
// Responses and Anthropic Messages, streaming and not, and answers what a test
// tells it to.
//
//	model, err := chattest.Start()
//	...
//	defer model.Close()
//	model.Script(chattest.InTurn(
//		chattest.Say(chattest.Call("call_1", "sql", `{"query":`, `"SELECT 1"}`)),
//		chattest.Say(chattest.Text("It is ", "1."), chattest.Usage(90, 7, 64, 0)),
//	))
//	... // a client of model.URL + "/v1"
//	model.Requests()[1].Results["call_1"] // what the client sent for it
//
// The forms are written from the providers' references and share no code with
// the packages that they test:
//
//   - https://platform.openai.com/docs/api-reference/chat-streaming
//   - https://platform.openai.com/docs/api-reference/responses-streaming
//   - https://docs.claude.com/en/docs/build-with-claude/streaming
//
// Names, times and identifiers of an answer depend on the number of its request
// alone: the same script gives the same bytes.
package chattest
