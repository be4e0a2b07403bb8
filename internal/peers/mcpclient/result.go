package mcpclient

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/tools"
)

// unwrapped is an output schema without its wrapper, if it has one (see
// [tools.WrappedResult]).
func unwrapped(schema any) (inner any, wrapped bool) {
	object, _ := schema.(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	result, ok := properties["result"].(map[string]any)
	if object[tools.WrappedResult] != true || !ok || len(properties) != 1 || object["$defs"] != nil {
		return schema, false
	}
	return result, true
}

// output is the result of a call as JSON: the structured content, without its wrapper;
// else a single text, as JSON if it is an object or array; else the list of contents in
// wire form.
func output(r *mcp.CallToolResult, wrapped bool) (tools.Output, error) {
	value, err := valueOf(r, wrapped)
	switch {
	case err != nil:
		return tools.Output{}, err
	case len(value) > MaxResult:
		return tools.Output{}, tooLong()
	}
	return tools.Output{Value: value, Content: contentOf(r, value)}, nil
}

func tooLong() *tools.Error {
	return tools.NewError(errcode.Limit, fmt.Sprintf("the result has more than %d MiB", MaxResult>>20), "ask for less")
}

func valueOf(r *mcp.CallToolResult, wrapped bool) (json.RawMessage, error) {
	if content, ok := r.StructuredContent.(json.RawMessage); ok {
		var wrapper fields
		if wrapped && json.Unmarshal(content, &wrapper) == nil && len(wrapper) == 1 && len(wrapper["result"]) > 0 {
			content = wrapper["result"]
		}
		return tools.Canonical(content)
	}
	if len(r.Content) == 0 {
		return json.RawMessage("null"), nil
	}
	if text, ok := r.Content[0].(*mcp.TextContent); ok && len(r.Content) == 1 {
		if value := object(text.Text); value != nil {
			return value, nil
		}
		return tools.Encode(text.Text)
	}
	return json.Marshal(r.Content)
}

// object returns the JSON object or array in a text, or nil.
func object(text string) json.RawMessage {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return nil
	}
	value, err := tools.Canonical([]byte(text))
	if err != nil {
		return nil
	}
	return value
}

// complaint is the text of an error result. Media are named: an error is a text.
func complaint(r *mcp.CallToolResult) string {
	var texts []string
	for _, content := range r.Content {
		c := modelContent(content)
		if c.Media() {
			c.Text = fmt.Sprintf("(%s of %d bytes is not shown)", c.MediaType, len(c.Data))
		}
		if text := strings.TrimSpace(c.Text); text != "" {
			texts = append(texts, text)
		}
	}
	if len(texts) > 0 {
		return strings.Join(texts, "\n")
	}
	if value, err := valueOf(r, false); err == nil && string(value) != "null" {
		return string(value)
	}
	return "the tool failed and does not say why"
}
