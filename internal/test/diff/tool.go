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
	name string
	args map[string]any
}

// toolSelect calls a function with literals, in SQL and as a tool.
func toolSelect(g *generator, _ int) (expr, bool) {
	var of []function
	for _, f := range scalars {
		if f.callable() {
			of = append(of, f)
		}
	}
	f := pick(g.r, of)
	g.tool = &toolCall{f.name, map[string]any{}}
	var calls, inline []string
	for _, a := range f.args {
		value, sql := g.argumentValue(a.kind)
		g.tool.args[a.name] = value
		calls, inline = append(calls, sql), append(inline, sql)
	}
	return expr{
		fmt.Sprintf("SELECT %s(%s) AS v", f.name, strings.Join(calls, ", ")),
		fmt.Sprintf("SELECT %s AS v", f.written(inline)),
	}, true
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
	text, err := s.do(ctx, http.MethodPost, "/v1/tools/"+st.tool.name+":invoke", "", string(body))
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
	return result{rows: []string{`{"v":` + longInteger.ReplaceAllString(string(answer.Result), "$1") + `}`}}, nil
}

// longInteger matches a number that tools return as text: more digits than a JSON
// number has in most clients.
var longInteger = regexp.MustCompile(`"(-?\d{16,19})"`)
