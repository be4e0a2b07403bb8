package mcpclient

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/tools"
)

// decodeResult decodes the result of a call. Its structured content is a [json.RawMessage], with
// all digits of its numbers. A content that cannot be read becomes a text with the reason.
func decodeResult(raw json.RawMessage) (*mcp.CallToolResult, error) {
	var m fields
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return nil, errors.New("the result of the server is not an object")
	}
	contents, structured := m["content"], m["structuredContent"]
	delete(m, "content")
	delete(m, "structuredContent")
	rest, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	var r mcp.CallToolResult
	if err := json.Unmarshal(rest, &r); err != nil {
		return nil, fmt.Errorf("the result of the server cannot be read: %w", err)
	}
	if len(structured) > 0 && string(structured) != "null" {
		r.StructuredContent = structured
	}
	r.Content = decodeContents(contents)
	return &r, nil
}

// decodeContents decodes the contents of a result; one that is in no list, too.
func decodeContents(raw json.RawMessage) []mcp.Content {
	var list []json.RawMessage
	if len(raw) > 0 && json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	contents := make([]mcp.Content, len(list))
	for i, one := range list {
		contents[i] = decodeContent(one)
	}
	return contents
}

func decodeContent(raw json.RawMessage) mcp.Content {
	if c := known(raw); c != nil {
		return c
	}
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		return &mcp.TextContent{Text: text}
	}
	var m fields
	_ = json.Unmarshal(raw, &m) // nil if it is no object
	if simple := simplified(m, "resource"); simple[needs[m.text("type")]] != nil {
		raw, _ := json.Marshal(simple) // texts, and an object of texts
		if c := known(raw); c != nil {
			return c
		}
	}
	return &mcp.TextContent{Text: leftOut(m, len(raw))}
}

// needs are the types of contents, and the member without which a content has nothing to read.
var needs = map[string]string{
	"text": "text", "image": "data", "audio": "data", "resource": "resource",
	"resource_link": "uri",
}

// known decodes a content as the SDK does; nil: the SDK cannot.
func known(raw json.RawMessage) mcp.Content {
	var r mcp.CallToolResult
	if len(raw) == 0 || json.Unmarshal(fmt.Appendf(nil, `{"content":[%s]}`, raw), &r) != nil {
		return nil
	}
	return r.Content[0]
}

// simplified is a content with its texts only, its bytes in standard base64, and its member inner
// with the same. Bytes that are not base64 are missing, and so is an inner member without a text
// or bytes.
func simplified(m fields, inner string) map[string]any {
	simple := map[string]any{}
	for key, value := range m {
		var deeper fields
		var text string
		switch isText := json.Unmarshal(value, &text) == nil; {
		case key == inner && json.Unmarshal(value, &deeper) == nil:
			if deep := simplified(deeper, ""); deep["text"] != nil || deep["blob"] != nil {
				simple[key] = deep
			}
		case isText && (key == "data" || key == "blob"):
			if data, ok := standardBase64(text); ok {
				simple[key] = data
			}
		case isText:
			simple[key] = text
		}
	}
	return simple
}

// standardBase64 is base64 of another form in the standard one: in a data URL, in the alphabet of
// URLs, with white space, without padding.
func standardBase64(text string) (string, bool) {
	if rest, ok := strings.CutPrefix(text, "data:"); ok {
		_, text, _ = strings.Cut(rest, ",")
	}
	text = strings.Join(strings.Fields(text), "")
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	data, err := base64.RawStdEncoding.DecodeString(text)
	return base64.StdEncoding.EncodeToString(data), err == nil && len(data) > 0
}

// leftOut says which content of a result is missing, and why.
func leftOut(m fields, size int) string {
	kind, mediaType := truncate.Line(m.text("type"), maxWord), truncate.Line(m.text("mimeType"), maxWord)
	var resource fields
	if json.Unmarshal(m["resource"], &resource) == nil && mediaType == "" {
		mediaType = truncate.Line(resource.text("mimeType"), maxWord)
	}
	if mediaType != "" {
		mediaType = " (" + mediaType + ")"
	}
	why := "it cannot be read"
	switch {
	case m == nil:
		kind, why = "unknown", "it is not an object"
	case kind == "":
		kind, why = "unknown", "it has no type"
	case needs[kind] == "":
		why = "the type is unknown here"
	case m.text("data") != "" || resource.text("blob") != "":
		why = "its data are not base64"
	}
	return fmt.Sprintf("[a content of type %q%s, %d bytes, is left out: %s]", kind, mediaType, size, why)
}

// decodePage decodes a page of tools/list: its tools with their schemas as they were sent, those
// that cannot be decoded by name, and the cursor of the next page.
func decodePage(raw json.RawMessage) (list []*mcp.Tool, damaged []string, next string, err error) {
	var m fields
	var all []json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m.has("tools") && json.Unmarshal(m["tools"], &all) != nil {
		return nil, nil, "", errors.New("the page has no list of tools")
	}
	if m.has("nextCursor") && json.Unmarshal(m["nextCursor"], &next) != nil {
		return nil, nil, "", errors.New("the nextCursor of the page is not a text")
	}
	for _, one := range all {
		t, name := decodeTool(one)
		if t == nil {
			damaged = append(damaged, name)
			continue
		}
		list = append(list, t)
	}
	return list, damaged, next, nil
}

// decodeTool decodes a tool; nil: it cannot.
func decodeTool(raw json.RawMessage) (*mcp.Tool, string) {
	var m fields
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return nil, truncate.Line(string(raw), maxWord)
	}
	schemas := [2]any{schemaOf(m["inputSchema"]), schemaOf(m["outputSchema"])}
	delete(m, "inputSchema")
	delete(m, "outputSchema")
	rest, _ := json.Marshal(m) // it was decoded from JSON
	var t mcp.Tool
	if json.Unmarshal(rest, &t) != nil {
		return nil, m.text("name")
	}
	t.InputSchema, t.OutputSchema = schemas[0], schemas[1]
	return &t, ""
}

// schemaOf decodes a schema. Numbers are float64, which checksums of earlier versions were made of,
// unless a float64 may not have all their digits; then they are [json.Number].
func schemaOf(schema json.RawMessage) any {
	if len(schema) == 0 {
		return nil
	}
	value, _ := tools.Decode(schema) // it was decoded from JSON
	return short(value)
}

func short(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			value[key] = short(v)
		}
	case []any:
		for i, v := range value {
			value[i] = short(v)
		}
	case json.Number:
		if f, err := value.Float64(); err == nil && len(value) <= exactDigits {
			return f
		}
	}
	return value
}

// exactDigits is the number of digits that a float64 always has.
const exactDigits = 15
