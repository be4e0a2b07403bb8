// Package chattest is a model provider for tests: a server on 127.0.0.1 that implements
// the published APIs of OpenAI Chat Completions, OpenAI Responses and Anthropic
// Messages, streaming and not, and answers as scripted by a test.
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
// The APIs are implemented from the providers' references and share no code with the
// packages under test:
//
// - https://platform.openai.com/docs/api-reference/chat-streaming -
// https://platform.openai.com/docs/api-reference/responses-streaming -
// https://docs.claude.com/en/docs/build-with-claude/streaming
//
// Names, times and ids of an answer depend only on the number of the request: equal
// scripts give equal bytes.
package chattest
