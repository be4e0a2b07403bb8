package sqlapi

import (
	"io"
	"net/http"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/schema"
	"github.com/spiced-sql/spiced/registry"
)

// PathMCP is where the MCP server is.
const PathMCP = "/v1/mcp"

// headerMCPSession is the session's id.
const headerMCPSession = "Mcp-Session-Id"

const aboutMCP = "The Model Context Protocol over streamable HTTP: requests are JSON-RPC 2.0. Since " +
	"revision 2026-07-28 " +
	"each is independent and has the headers Mcp-Protocol-Version, Mcp-Method and Mcp-Name; before, they belong to a " +
	"session. Tools are those of GET /v1/tools; " +
	"?mode=registry lists tool_search, tool_invoke, list_datasets and the pinned ones instead, ?mode=direct " +
	"all. Datasets and " +
	"functions are resources. See docs/mcp.md."

// mcpHandler passes requests on to the MCP server.
type mcpHandler struct {
	server http.Handler
	guard  *Guard
	tools  *registry.Registry
	bodies bodyReader
}

// serve passes the request on to the MCP server, with its scope in the context. The
// Host header counts over any connection, as in Spice.
func (m *mcpHandler) serve(w http.ResponseWriter, r *http.Request) error {
	if m.server == nil {
		return newError(codeNotServed, "", "MCP is not served here")
	}
	if !m.guard.hostAllowed(hostname(r.Host)) {
		return hostError(r)
	}
	who, err := callerOf(w, r, caller.MCP)
	if err != nil {
		return err
	}
	nameGeneration(w, m.tools)
	r = r.WithContext(caller.With(r.Context(), who))
	if r.ContentLength != 0 {
		r.Body = &timedBody{ReadCloser: r.Body, control: http.NewResponseController(w), timeout: m.bodies.timeout}
	}
	m.server.ServeHTTP(w, r)
	return nil
}

// timedBody is a body that has a time to arrive from when it is read.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	timeout time.Duration
	read    bool
}

func (b *timedBody) Read(p []byte) (int, error) {
	if !b.read {
		b.read = true
		_ = b.control.SetReadDeadline(time.Now().Add(b.timeout)) // a recorder has none
	}
	return b.ReadCloser.Read(p)
}

// mcpListens reports whether a message opens the stream of changed lists. Since revision
// 2026-07-28 of the protocol a header names the method, and the server refuses a header
// that differs from the body.
func mcpListens(r *http.Request) bool {
	return r.Header.Get("Mcp-Protocol-Version") >= "2026-07-28" && r.Header.Get("Mcp-Method") == "subscriptions/listen"
}

// mcpRoute is one method of the server.
func mcpRoute(h handler, method, id, summary, about string, answers ...answer) route {
	return route{
		method: method, path: PathMCP, id: id, tag: "MCP", summary: summary, about: about,
		params: []param{{
			"mode", "query", "what tools/list shows; without it as runtime.mcp.mode says",
			oneOf("direct", "registry"),
		}},
		answers: append(answers,
			answer{http.StatusInternalServerError, "An internal error of the runtime.", asJSON(ref("Error"), "")}),
		failed: object, // of JSON-RPC, or ours
		is:     scoped | textErrors,
		failures: failures{
			http.StatusBadRequest: "The request is not MCP, or a header is wrong.",
			http.StatusForbidden:  "The Host or Origin header is not allowed.",
			http.StatusNotFound:   "The session has ended, there is no such method, or this process does not serve MCP.",
		},
		handle: h,
	}
}

// jsonRPC is a message of JSON-RPC 2.0.
var jsonRPC = schema.Schema{
	"type": "object", "required": []string{"jsonrpc"},
	"properties": schema.Schema{
		"jsonrpc": schema.Schema{"const": "2.0"}, "method": text,
	},
	"anyOf": []any{
		schema.Schema{"required": []string{"method"}},
		schema.Schema{"required": []string{"id", "result"}},
		schema.Schema{"required": []string{"id", "error"}},
	},
}

// sessionParam names a session; it is required.
var sessionParam = param{
	headerMCPSession, "header", "the session, from the answer to initialize",
	schema.Schema{"type": "string", "minLength": 1},
}

func mcpRoutes(h handler) []route {
	message := []content{{"application/json", object, ""}, {"text/event-stream", nil, ""}}
	post := mcpRoute(h, "POST", "mcp_send", "Send a message to the MCP server.", aboutMCP,
		answer{http.StatusOK, "The answer, at once or as a stream.", message},
		answer{http.StatusAccepted, "The notification or answer was accepted.", nil},
		answer{http.StatusRequestEntityTooLarge, "The body is over 32 MiB.", nil})
	post.failures[http.StatusUnsupportedMediaType] = "The body is not JSON."
	post.waits = mcpListens
	post.body = asJSON(jsonRPC,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sql","arguments":{"query":"SELECT 1"}}}`)
	listen := mcpRoute(h, "GET", "mcp_listen", "Listen to the MCP server for changed lists and progress.",
		"This belongs to a session. Since revision 2026-07-28, clients send subscriptions/listen instead.",
		answer{http.StatusOK, "The stream of a session.", []content{{"text/event-stream", nil, ""}}})
	listen.is |= free
	sessionless := answer{
		http.StatusMethodNotAllowed, "The header names a revision without sessions.",
		[]content{{"text/plain", nil, ""}},
	}
	listen.params = append(listen.params, sessionParam)
	listen.answers = append(listen.answers, sessionless)
	end := mcpRoute(h, "DELETE", "mcp_end", "End an MCP session.", "Since revision 2026-07-28 there are no sessions.",
		answer{http.StatusNoContent, "It has ended.", nil}, sessionless)
	end.params = append(end.params, sessionParam)
	return []route{post, listen, end}
}
