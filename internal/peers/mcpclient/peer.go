package mcpclient

import (
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/peers/peermeta"
	"github.com/spiced-sql/spiced/tools"
)

// peerError returns the error that another runtime sent with the text of a result; nil if it sent none.
// Its code is kept, so that callers can act on it as at the other runtime.
func (s *session) peerError(r *mcp.CallToolResult) *tools.Error {
	var e tools.Error
	if !peermeta.Decode(r.Meta[peermeta.Error], &e) || e.Message == "" || len(e.Code) == 0 ||
		len(e.Code) > peermeta.MaxWord {
		return nil
	}
	e.Message = truncate.Ellipsis(s.target.redact(e.Message), maxErrorText)
	e.Hint = truncate.Ellipsis(s.target.redact(e.Hint), maxErrorText)
	e.DidYouMean = nil    // they are names of the other runtime
	e.NeedsApproval = nil // its approvals are given there; the message has the id
	switch {
	case e.Code == errcode.Internal, !e.Code.Known(): // it is no bug of this runtime
		e.Code = errcode.Execution
	// it is not this caller's request
	case slices.Contains([]errcode.Code{errcode.Cancelled, errcode.ToolNotFound}, e.Code):
		e.Code, e.Retryable = errcode.ToolUnavailable, true
	}
	return &e
}

// peerOutput is the result of another runtime's tool: the first content, with what the
// others say in words.
func peerOutput(r *mcp.CallToolResult, wrapped bool) (tools.Output, error) {
	first := *r
	first.Content = r.Content[:min(len(r.Content), 1)]
	out, err := output(&first, wrapped)
	var rows tools.Rows
	if err == nil && peermeta.Decode(r.Meta[peermeta.Rows], &rows) && rows.Returned >= 0 {
		out.Rows = &rows
	}
	var list mcp.CallToolResult
	if err == nil && r.Meta[peermeta.Content] == true &&
		json.Unmarshal([]byte(`{"content":`+string(out.Value)+`}`), &list) == nil {
		out.Content = contentOf(&list, nil)
	}
	return out, err
}
