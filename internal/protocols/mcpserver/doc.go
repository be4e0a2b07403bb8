// Package mcpserver is the runtime's MCP server: it serves the registry's
// tools, and datasets and function docs as resources, to clients of the Model
// Context Protocol, over streamable HTTP and stdio.
//
//	s := mcpserver.New(mcpserver.Options{Registry: r, Scope: scopeOf, Settings: settings, Log: log})
//	mux.Handle("/v1/mcp", s)
//	err := s.Serve(ctx, os.Stdin, os.Stdout) // the same over stdio, for one client
//	s.Published()                            // after a reload: notifies clients of changes
//	s.Close()
//
// The official SDK implements the protocol (JSON-RPC, revisions, sessions,
// streams). This package implements lists and calls on the current catalog, so
// no session holds a copy of it, and every call goes through
// [registry.Registry.Invoke].
//
// Both transports support revisions 2024-11-05 to 2026-07-28. The last one has
// no sessions over HTTP: each request is independent.
package mcpserver

// sessionless is the first revision without sessions. Each request has in its
// _meta what the handshake had before.
const sessionless = "2026-07-28"
