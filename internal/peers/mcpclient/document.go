package mcpclient

import (
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// This file has the texts that a Spicepod writes for the tools of a server: `documents:`. They
// are not part of what `spiced mcp pin` approves, which is the server's.

// documentOf returns the index of the entry of documents for a tool, or -1.
func (m *maker) documentOf(tool string) int {
	return slices.IndexFunc(m.declared.Documents, func(d spicepod.ToolDocument) bool { return d.Tool == tool })
}

// declaredDescription returns the description that an entry of documents has for a tool, or "".
func (m *maker) declaredDescription(document int) string {
	if document < 0 {
		return ""
	}
	return strings.TrimSpace(m.declared.Documents[document].Description)
}

func (m *maker) document(document int) tools.Document {
	if document < 0 {
		return tools.Document{}
	}
	return tools.DocumentOf(m.declared.Documents[document].Use(), m.Pod.Runtime.Tools.Documents)
}

// checkExamples reports the examples of an entry of documents that do not fit the parameters.
func (m *maker) checkExamples(def *tools.Definition, document int) {
	if document < 0 {
		return
	}
	for _, f := range tools.CheckExamples(def, m.declared.Documents[document].Examples) {
		m.Fail(fmt.Sprintf(".documents[%d].examples%s", document, f.Path), f.Hint, "%s", f.Message)
	}
}

// unknownDocuments reports entries of documents for tools that the server does not list.
func (m *maker) unknownDocuments(listed []*mcp.Tool) {
	names := make([]string, len(listed))
	for i, t := range listed {
		names[i] = t.Name
	}
	for i, d := range m.declared.Documents {
		if !slices.Contains(names, d.Tool) {
			hint := nearest.Hint(d.Tool, names, "write the name as the server lists it")
			p := m.Problem(fmt.Sprintf(".documents[%d].tool", i), hint,
				"the server lists no tool %q", truncate.Line(d.Tool, maxLine))
			p.Severity = spicepod.Warning
			m.Problems = append(m.Problems, *p)
		}
	}
}
