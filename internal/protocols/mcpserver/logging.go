package mcpserver

//lint:file-ignore SA1019 revision 2026-07-28 gives the client's log up; clients of those before it ask for it

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/tools"
)

// withLog adds the logging capability.
func withLog(c *mcp.ServerCapabilities) *mcp.ServerCapabilities {
	c.Logging = &mcp.LoggingCapabilities{}
	return c
}

// logCall sends the outcome of a call to the client's log, if the client requested
// one: failures as warnings, others for debugging.
func (s *Server) logCall(ctx context.Context, req *mcp.CallToolRequest, r tools.Result) {
	if req.Session == nil { // a plain call without a session requests no log
		return
	}
	entry := map[string]any{"tool": r.Tool.Name, "ok": r.OK, "latency_ms": r.Metrics.LatencyMS}
	level := mcp.LoggingLevel("debug")
	if r.Error != nil {
		level, entry["code"] = "warning", r.Error.Code
	}
	_ = req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: level, Logger: "tools", Data: entry}) // as with progress
}
