package mcpserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/console"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// MCP Apps (the extension io.modelcontextprotocol/ui, specification 2026-01-26): a client that
// announces it learns of each tool which view shows its results, reads the view, and shows it
// inside the chat. The views are made of the console's modules (internal/console/src/apps). Other
// clients see no difference. A view gets what the client got, and can make no request of its own.

const (
	appsExtension = "io.modelcontextprotocol/ui"
	appsMedia     = "text/html;profile=mcp-app"
	viewScheme    = "ui://spiced/"
)

// view is a view of a tool's results.
type view string

const (
	viewNone     view = ""
	viewResult   view = "result"   // rows, as a table and a chart
	viewSearch   view = "search"   // tools, with what each owes its rank to
	viewTimeline view = "timeline" // the steps of an agent
	viewApproval view = "approval" // a call that waits for a person; the other views show it, too
)

// viewFiles are the files of the console that have the views.
var viewFiles = map[view]string{
	viewResult: "result", viewSearch: "cards", viewTimeline: "cards", viewApproval: "cards",
}

func (v view) uri() string { return viewScheme + string(v) }

// showsViews reports whether a client shows views inside chats.
func showsViews(c *mcp.ClientCapabilities) bool {
	if c == nil {
		return false
	}
	settings, _ := c.Extensions[appsExtension].(map[string]any)
	media, _ := settings["mimeTypes"].([]any)
	return slices.Contains(media, any(appsMedia)) && console.Included()
}

// viewOf is the view for the results of a tool.
func viewOf(def *tools.Definition) view {
	switch {
	case def.Name == registry.ToolSearch:
		return viewSearch
	case def.Source == tools.SourceAgent:
		return viewTimeline
	case returnsRows(def.Returns):
		return viewResult
	case def.Risk != spicepod.RiskRead:
		return viewApproval
	}
	return viewNone
}

// returnsRows reports whether the schema of a result, or one of the alternatives in it, is a list of
// objects.
func returnsRows(returns json.RawMessage) bool {
	type list struct {
		Type  any `json:"type"`
		Items struct {
			Type any `json:"type"`
		} `json:"items"`
	}
	var s struct {
		list
		AnyOf []list `json:"anyOf"`
	}
	if len(returns) == 0 || json.Unmarshal(returns, &s) != nil {
		return false
	}
	return slices.ContainsFunc(append(s.AnyOf, s.list), func(l list) bool {
		return l.Type == "array" && l.Items.Type == "object"
	})
}

// readView answers resources/read of a view.
func readView(req *mcp.ReadResourceRequest) (mcp.Result, error) {
	uri := req.Params.URI
	name := view(strings.TrimPrefix(uri, viewScheme))
	html, err := console.View(viewFiles[name])
	if err != nil {
		var known []string
		for v := range viewFiles {
			known = append(known, v.uri())
		}
		slices.Sort(known)
		return nil, &jsonrpc.Error{
			Code: notFoundCode(req.ProtocolVersion()),
			Message: fmt.Sprintf("there is no view %q; %s", truncate.Ellipsis(uri, maxShown),
				nearest.Hint(uri, known, "tools/list names the view of each tool")),
		}
	}
	// No csp: the view loads nothing, and the client's default lets it load nothing.
	return &mcp.ReadResourceResult{
		Cacheable: private,
		Contents: []*mcp.ResourceContents{{
			URI: uri, MIMEType: appsMedia, Text: html,
			Meta: mcp.Meta{"ui": map[string]any{"prefersBorder": true}},
		}},
	}, nil
}

// withView adds the view to a tool as clients see it that show views.
func withView(tool *mcp.Tool, v view) *mcp.Tool {
	if v == viewNone {
		return tool
	}
	shown := *tool
	shown.Meta = maps.Clone(tool.Meta)
	shown.Meta["ui"] = map[string]any{"resourceUri": v.uri()}
	shown.Meta["ui/resourceUri"] = v.uri() // for clients of the drafts of the extension
	return &shown
}

// TimelineKey is the _meta key of the result of an agent, for clients that show views: the steps of
// the agents that worked for it, as in progress notifications, each with at_ms since the call began.
const TimelineKey = "spiced/timeline"

// ConsoleKey is the _meta key of a result whose call needs approval, for clients that show views: the
// page of the console where an approver decides. The client itself cannot decide: its connection is
// the model's, too.
const ConsoleKey = "spiced/console"

// maxTimeline is the most steps of a timeline.
const maxTimeline = 500

// recorder records the steps of agents for the view of a result.
type recorder struct {
	began time.Time
	mu    sync.Mutex
	steps []map[string]any
	more  int // steps that were left out
}

// observe records a step. Several goroutines may call it. Pieces of answers are left out: the result
// of an agent has its answer.
func (r *recorder) observe(e registry.Event) {
	if e.AgentStep == nil || e.Type == registry.EventAgentChunk {
		return
	}
	step := stepOf(e)
	step["at_ms"] = float64(time.Since(r.began).Microseconds()) / 1000
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.steps) == maxTimeline {
		r.more++
		return
	}
	r.steps = append(r.steps, step)
}

// attach adds the steps, if there are any, to a result.
func (r *recorder) attach(result *mcp.CallToolResult) *mcp.CallToolResult {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.steps) == 0 {
		return result
	}
	meta := mcp.Meta{}
	maps.Copy(meta, result.Meta)
	meta[TimelineKey] = r.steps
	if r.more > 0 {
		meta[TimelineKey+"_more"] = r.more
	}
	result.Meta = meta
	return result
}
