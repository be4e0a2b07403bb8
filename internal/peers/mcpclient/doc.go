// Package mcpclient connects to the MCP servers that a Spicepod declares and
// offers their tools as tools of the runtime.
//
// A [Manager] lives as long as the daemon and owns the sessions across
// generations. A server whose declaration is unchanged in the next generation
// keeps its session:
//
//	m := mcpclient.New(mcpclient.Options{Log: log, Changed: reload})
//	defer m.Close()
//	servers, problems := m.Prepare(ctx, pod)
//	for _, s := range servers {
//		list = append(list, s.Tools()...)
//	}
//	m.Publish(servers) // once the generation serves
//
// `from: mcp:<command>` starts a process and uses its stdin and stdout; `from:
// mcp:https://…` uses streamable HTTP, or HTTP+SSE of revision 2024-11-05 with
// a server that supports only that. The client requests revision 2025-11-25 and
// accepts earlier ones
// (https://modelcontextprotocol.io/specification/2025-11-25).
//
// An unavailable server is a warning, and the manager keeps retrying. Its
// tools, once listed, stay in the catalog and report that they are unavailable
// (see [tools.Conditional]) until it is back.
//
// What a server sends is untrusted: names are sanitized, texts and results are
// bounded, and requests to the client (sampling, elicitation, roots) are
// refused.
package mcpclient
