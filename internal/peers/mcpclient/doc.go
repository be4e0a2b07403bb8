// Package mcpclient connects to the MCP servers that a Spicepod declares and
// offers their tools as tools of the runtime.
//
// A [Manager] lives as long as the daemon and owns the sessions; generations
// come and go. A server whose declaration is the same in the next generation
// keeps its session:
//
//	m := client.New(client.Options{Log: log, Changed: reload})
//	defer m.Close()
//	servers, problems := m.Prepare(ctx, pod)
//	for _, s := range servers {
//		list = append(list, s.Tools()...)
//	}
//	m.Publish(servers) // once the generation serves
//
// `from: mcp:<command>` starts a process and speaks over its stdin and stdout;
// `from: mcp:https://…` speaks streamable HTTP and, with a server that only
// knows it, HTTP+SSE of revision 2024-11-05. The revision asked for is
// 2025-11-25; earlier ones are accepted
// (https://modelcontextprotocol.io/specification/2025-11-25).
//
// A server that is not there is a warning and is tried again and again. Its
// tools, once known, stay in the catalog and say that they are not available
// (see [tools.Conditional]) until it is back.
//
// What a server says is data of a stranger: names are made safe, texts and
// answers bounded, and nothing that it asks of the client (sampling,
// elicitation, roots) is granted.
package mcpclient
