// Package toolloop lets a language model use the runtime's tools while it
// answers. It owns the loop: ask the model, make the calls that its answer
// asks for, ask again with their results, until it has said all it has to say.
//
//	loop := &toolloop.Loop{Provider: provider, Door: registry, Memory: memory, Log: log}
//	for event, err := range loop.Run(ctx, request, tools, scope) {
//		...
//	}
//
// A call starts the moment its arguments are complete, while the answer still
// streams, and calls run side by side. Their results reach the model in the
// order of the calls, each call with exactly one, whatever breaks: that is the
// matter of the type answer, which starts no goroutine and reads no clock.
//
// Tools that the client brought are the client's: their calls pass through,
// and the turn ends with them. What the runtime did in that turn stays in the
// [Memory] until the client comes back with its results.
package toolloop
