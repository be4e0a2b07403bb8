// Package mcpserver is the runtime's MCP server: it shows the registry's tools,
// and datasets and function docs as resources, to clients of the Model Context
// Protocol, over streamable HTTP and over stdio.
//
//	s := server.New(server.Options{Registry: r, Scope: scopeOf, Settings: settings, Log: log})
//	mux.Handle("/v1/mcp", s)
//	err := s.Serve(ctx, os.Stdin, os.Stdout) // the same over stdio, for one client
//	s.Published()                            // after a reload: clients hear of what changed
//	s.Close()
//
// The protocol itself (JSON-RPC, revisions, sessions, streams) is that of the
// official SDK. The lists and the calls are ours: they are answered from the
// current catalog, so no session holds a copy of it, and a call takes the same
// path as one from anywhere else, [registry.Registry.Invoke].
//
// Revisions from 2024-11-05 to 2026-07-28 are spoken over both. The last one has
// no sessions over HTTP: each request stands alone.
package mcpserver

// sessionless is the revision of the protocol that gives sessions up. Its
// requests say in their _meta what the handshake said before.
const sessionless = "2026-07-28"
