package mcpserver

//lint:file-ignore SA1019 revision 2026-07-28 gives the client's log up; clients of those before it ask for it

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/tools"
)

// withLog adds that clients may ask for a log.
func withLog(c *mcp.ServerCapabilities) *mcp.ServerCapabilities {
	c.Logging = &mcp.LoggingCapabilities{}
	return c
}

// tell writes how a call went into the client's log, if it has asked for one:
// failures as warnings, the others for debugging.
func (s *Server) tell(ctx context.Context, req *mcp.CallToolRequest, r tools.Result) {
	if req.Session == nil { // a plain call of a client without a session asks for none
		return
	}
	entry := map[string]any{"tool": r.Tool.Name, "ok": r.OK, "latency_ms": r.Metrics.LatencyMS}
	level := mcp.LoggingLevel("debug")
	if r.Error != nil {
		level, entry["code"] = "warning", r.Error.Code
	}
	_ = req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: level, Logger: "tools", Data: entry}) // as with progress
}
