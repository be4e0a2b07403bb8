package mcpserver

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Since revision 2026-07-28 there are no sessions over HTTP: the _meta and the
// header of each request say what the handshake said before. Here each such
// request has a session for its duration.

// metaLogLevel asks for a log of the request.
const metaLogLevel = "io.modelcontextprotocol/logLevel"

// standsAlone reports whether a request uses a revision without sessions, by
// its header, or else by its body, which can then be read again.
func standsAlone(w http.ResponseWriter, r *http.Request) (bool, error) {
	if revision := r.Header.Get(headerRevision); revision != "" || r.Method != http.MethodPost ||
		r.Header.Get(headerSession) != "" {
		return revision >= sessionless, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return false, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var message struct {
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(body, &message) != nil {
		return false, nil // the SDK reports the fault
	}
	return params(message.Params.Meta).text(mcp.MetaKeyProtocolVersion) >= sessionless, nil
}

// serveAlone answers a request of a revision without sessions.
func (s *Server) serveAlone(w http.ResponseWriter, r *http.Request) {
	sess, err := s.begin(r)
	if err != nil {
		refuse(w, statusOf(err), err)
		return
	}
	defer s.leave(sess)
	// Names that a header cannot hold are encoded; the SDK compares them
	// undecoded.
	if name, ok := headerText(r.Header.Get(headerName)); ok {
		r.Header.Set(headerName, name)
	}
	if !s.fastPath(w, r, sess) {
		s.serve(s.stateless, w, r, sess)
	}
}

// headerText decodes a header of the form =?base64?…?=; false: another form.
func headerText(value string) (string, bool) {
	value, ok := strings.CutPrefix(value, "=?base64?")
	value, end := strings.CutSuffix(value, "?=")
	text, err := base64.StdEncoding.Strict().DecodeString(value)
	return string(text), ok && end && err == nil
}

// announced reports whether the header and the _meta of a standalone request
// have the required fields and nothing special: no progress, and no log of its own.
func (m *message) announced(header http.Header) bool {
	if header.Get(headerMethod) != m.method || header.Get(headerName) != m.params.text("name") {
		return false
	}
	var meta params
	if json.Unmarshal(m.params["_meta"], &meta) != nil || meta.text(mcp.MetaKeyProtocolVersion) != m.revision {
		return false
	}
	var capabilities *mcp.ClientCapabilities
	if json.Unmarshal(meta[mcp.MetaKeyClientCapabilities], &capabilities) != nil || capabilities == nil {
		return false
	}
	var client *mcp.Implementation
	if info := meta[mcp.MetaKeyClientInfo]; info != nil && (json.Unmarshal(info, &client) != nil || client == nil) {
		return false
	}
	return meta["progressToken"] == nil && meta[metaLogLevel] == nil
}

// complete is a result that needs no further input from the client, which
// results declare since revision 2026-07-28. The SDK adds the field in its own
// handlers.
type complete struct{ mcp.Result }

// finish completes a result for clients of that revision.
func finish(revision string, result mcp.Result) mcp.Result {
	if result == nil || revision < sessionless {
		return result
	}
	if call, ok := result.(*mcp.CallToolResult); ok && call.InputRequests != nil {
		return inputRequired{result}
	}
	return complete{result}
}

// inputRequired is a result that asks the client for something.
type inputRequired struct{ mcp.Result }

// MarshalJSON adds the type to the fields of the result, which is never empty.
func (c inputRequired) MarshalJSON() ([]byte, error) { return typed(c.Result, "input_required") }

// MarshalJSON adds the type to the fields of the result, which is never empty.
func (c complete) MarshalJSON() ([]byte, error) {
	return typed(c.Result, "complete")
}

func typed(result mcp.Result, as string) ([]byte, error) {
	text, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	return append([]byte(`{"resultType":"`+as+`",`), bytes.TrimPrefix(text, []byte(`{`))...), nil
}
