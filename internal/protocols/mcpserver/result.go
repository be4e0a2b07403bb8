package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/kit/plural"
	"github.com/spiced-sql/spiced/internal/peers/peermeta"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// success is the result of a successful call: its JSON as text, a string
// unquoted; then the notes; and the JSON as structured content if the tool
// declares a return schema.
func success(r tools.Result, f form) *mcp.CallToolResult {
	value := r.Result
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: textOf(value)}}}
	if notes := notes(r); notes != "" {
		result.Content = append(result.Content, &mcp.TextContent{Text: notes})
	}
	if r.Rows != nil && r.Rows.Truncated {
		result.Meta = mcp.Meta{peermeta.Rows: r.Rows}
	}
	if r.Content != nil && value[0] == '[' {
		result.Meta = mcp.Meta{peermeta.Content: true}
	}
	switch {
	case f == formWrapped:
		result.StructuredContent = json.RawMessage(`{"result":` + string(value) + `}`)
	case f == formObject && value[0] == '{':
		result.StructuredContent = value
	}
	return result
}

// textOf is a JSON value as text for a model.
func textOf(value json.RawMessage) string {
	var text string
	if value[0] == '"' && json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// notes reports what was changed in the arguments and the result.
func notes(r tools.Result) string {
	list := r.Notices
	if r.Rows != nil && r.Rows.Truncated {
		cut := "the result was cut off after " + plural.Of(int(r.Rows.Returned), "row")
		if r.Rows.More != nil {
			cut += fmt.Sprintf("; there are %d more", *r.Rows.More)
		}
		list = append(list[:len(list):len(list)], cut)
	}
	return strings.Join(list, "\n")
}

// ApprovalKey is the _meta key of a result whose call needs approval: a
// [tools.NeedsApproval].
const ApprovalKey = "spiced/approval"

// failure is the result of a failed call: the error and all hints.
func failure(r tools.Result) *mcp.CallToolResult {
	err := r.Error
	if !registry.Reserved(r.Tool.Name) { // an error of the tool that tool_invoke called contains its name
		err = err.Of(r.Tool.Name)
	}
	meta := mcp.Meta{peermeta.Error: r.Error}
	if err.NeedsApproval != nil {
		meta[ApprovalKey] = err.NeedsApproval
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Explain()}}, Meta: meta}
}
