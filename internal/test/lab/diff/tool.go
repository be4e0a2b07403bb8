package diff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// toolCall is a call of a function as a tool.
type toolCall struct {
	function
	args map[string]any
}

// toolSelect calls a function with literals, in SQL and as a tool.
func toolSelect(g *generator, _ int) (expr, bool) {
	var of []function
	for _, f := range append(scalars[:len(scalars):len(scalars)], tableFunctions...) {
		if f.callable() {
			of = append(of, f)
		}
	}
	f := pick(g.r, of)
	g.tool = &toolCall{f, map[string]any{}}
	var calls, inline []string
	for _, a := range f.args {
		value, sql := g.argumentValue(a.kind)
		g.tool.args[a.name] = value
		calls, inline = append(calls, sql), append(inline, sql)
	}
	call := f.name + "(" + strings.Join(calls, ", ") + ")"
	if f.columns != nil {
		return expr{"SELECT * FROM " + call, "SELECT * FROM " + f.derived(inline)}, false
	}
	return expr{"SELECT " + call + " AS v", "SELECT " + f.written(inline) + " AS v"}, true
}

// callable reports whether every argument has a JSON form here.
func (f function) callable() bool {
	for _, a := range f.args {
		if a.kind > text && a.kind != list {
			return false
		}
	}
	return len(f.args) > 0
}

// argumentValue is a value for a tool, and the same in SQL.
func (g *generator) argumentValue(k kind) (value any, sql string) {
	if k == list {
		values := make([]any, g.r.IntN(4))
		parts := make([]string, len(values))
		for i := range values {
			values[i], parts[i] = g.argumentValue(integer)
		}
		return values, "CAST([" + strings.Join(parts, ", ") + "] AS BIGINT[])"
	}
	p := param{kind: k}
	switch k {
	case boolean:
		p.value = g.chance(2)
	case integer:
		p.value = int64(g.r.IntN(300) - 20)
	case double:
		p.value = float64(g.r.IntN(1000)) / 8
	default:
		p.value = pick(g.r, []string{"a", "", "é漢", "it's"})
	}
	return p.value, fmt.Sprintf("CAST(%s AS %s)", literal(p.value), sqlTypes[k].sql)
}

// askTool calls the statement's tool.
func (s *server) askTool(ctx context.Context, st statement) (result, error) {
	body, err := json.Marshal(map[string]any{"args": st.tool.args})
	if err != nil {
		return result{}, err
	}
	text, err := s.Do(ctx, http.MethodPost, "/v1/tools/"+st.tool.name+":invoke", "", string(body))
	if err != nil {
		return result{}, err
	}
	var answer struct {
		OK     bool
		Result json.RawMessage
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return result{}, err
	}
	if !answer.OK {
		return result{}, errors.New(string(text))
	}
	return st.tool.result(answer.Result)
}

// result is what a tool returned: the rows of a table function, or one value.
func (t toolCall) result(value json.RawMessage) (result, error) {
	value = longInteger.ReplaceAll(value, []byte("$1"))
	if t.columns != nil {
		return jsonRows(value)
	}
	return result{rows: []string{`{"v":` + string(value) + `}`}}, nil
}

// askMCP calls the statement's tool over MCP, without a session.
func (s *server) askMCP(ctx context.Context, st statement) (result, error) {
	const revision = "2026-07-28"
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"name": st.tool.name, "arguments": st.tool.args, "_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion": revision, "io.modelcontextprotocol/clientCapabilities": map[string]any{},
			"io.modelcontextprotocol/clientInfo": map[string]any{"name": "diff", "version": "1"},
		},
	}})
	if err != nil {
		return result{}, err
	}
	text, err := s.Send(ctx, http.MethodPost, "/v1/mcp", string(body), map[string]string{
		"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": revision, "Mcp-Method": "tools/call", "Mcp-Name": st.tool.name,
	})
	if err != nil {
		return result{}, err
	}
	var answer struct {
		Result struct {
			IsError           bool
			StructuredContent json.RawMessage
			Content           []struct{ Text string }
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Result.IsError || len(answer.Result.Content) == 0 {
		return result{}, errors.New(string(text))
	}
	value := answer.Result.StructuredContent
	switch {
	case st.tool.columns != nil || value == nil:
		value = json.RawMessage(answer.Result.Content[0].Text)
	default:
		if inner, wrapped := strings.CutPrefix(string(value), `{"result":`); wrapped {
			value = json.RawMessage(strings.TrimSuffix(inner, "}"))
		}
	}
	return st.tool.result(value)
}

// longInteger matches a number that tools return as text: more digits than a JSON
// number has in most clients.
var longInteger = regexp.MustCompile(`"(-?\d{16,19})"`)
