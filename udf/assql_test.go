package udf_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/udf"
)

// TestDeclaredResults compares declared results with the schema of a tool's results.
func TestDeclaredResults(t *testing.T) {
	const wrapped = `{"type":"object","properties":{"result":{"type":"integer"}},"required":["result"]}`
	for _, c := range []struct{ schema, returns, want string }{
		{`{"type":"integer"}`, "int64", ""},
		{`{"type":"integer"}`, "list<int64>", "the tool returns integer"},
		{`{"type":"object"}`, "int64", "the tool returns object"},
		{wrapped, "int64", ""},
		{wrapped, "json", ""},
		{wrapped, "struct<result: int64>", ""},
		{wrapped, "list<int64>", "the tool returns object or integer"},
		{`{"type":"object","properties":{"result":{}}}`, "boolean", ""},
		{`{"type":"object","properties":{"result":{"type":"integer"},"more":{}}}`, "int64", "the tool returns object"},
		{`{"type":"object","properties":{"other":{"type":"integer"}}}`, "int64", "the tool returns object"},
	} {
		pod := &spicepod.Pod{Tools: []spicepod.Tool{{
			Name: "f", From: "tool:x__f", AsSQL: true,
			Signature: &spicepod.Signature{Returns: spicepod.Returns{Type: c.returns}},
		}}}
		def := &tools.Definition{Name: "x__f", Parameters: json.RawMessage(`{"type":"object"}`), Returns: json.RawMessage(c.schema)}
		got := ""
		if _, p := udf.DeclareTool(pod, 0, "x__f", def); p != nil {
			got = p.Message
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s as %s: got %q, want %q", c.schema, c.returns, got, c.want)
		}
	}
}
