// Package toolloop lets a language model use the runtime's tools while it answers. It
// owns the loop: send a request, make the calls of the answer, send another request
// with their results, until the model calls no more tools.
//
//	loop := &toolloop.Loop{Provider: provider, Invoker: registry, Memory: memory, Log: log}
//	for event, err := range loop.Run(ctx, request, tools, scope) {
//		...
//	}
//
// A call starts as soon as its arguments are complete, while the answer still streams,
// and calls run concurrently. The model receives their results in the order of the
// calls, exactly one per call, whatever fails. The type answer ensures that; it starts
// no goroutine and reads no clock.
//
// Calls of tools that the client brought pass through to the client, and the turn ends
// with them. What the runtime did in that turn stays in the [Memory] until the client
// sends the results.
package toolloop
