package mcpclient

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/tools"
)

// contentOf is a result as a model reads it: nil if value, its JSON, says it all, because
// the contents are a single text or repeat structured content as texts.
func contentOf(r *mcp.CallToolResult, value json.RawMessage) []tools.Content {
	var list []tools.Content
	structured := r.StructuredContent != nil
	if structured {
		list = []tools.Content{{Text: string(value)}}
	}
	for _, c := range r.Content {
		if _, text := c.(*mcp.TextContent); !text || !structured {
			list = append(list, modelContent(c))
		}
	}
	if len(list) == 0 || len(list) == 1 && !list[0].Media() && (structured || isText(r.Content[0])) {
		return nil
	}
	return list
}

func isText(c mcp.Content) bool {
	_, ok := c.(*mcp.TextContent)
	return ok
}

// modelContent is one content for a model. Of a resource the text or the bytes count, of a
// link what the server says about it.
func modelContent(content mcp.Content) tools.Content {
	switch c := content.(type) {
	case *mcp.TextContent:
		return tools.Content{Text: c.Text}
	case *mcp.ImageContent:
		return media(cmp.Or(c.MIMEType, "image"), c.Data, "")
	case *mcp.AudioContent:
		return media(cmp.Or(c.MIMEType, "audio"), c.Data, "")
	case *mcp.EmbeddedResource:
		switch resource := c.Resource; {
		case resource == nil:
			return tools.Content{Text: "an empty resource"}
		case resource.Blob != nil:
			return media(cmp.Or(resource.MIMEType, "application/octet-stream"), resource.Blob, resource.URI)
		default:
			return tools.Content{Text: fmt.Sprintf("%s:\n%s", described("Resource", resource.URI, resource.MIMEType),
				resource.Text)}
		}
	case *mcp.ResourceLink:
		text := described("Link to the resource", c.URI, c.MIMEType)
		for _, said := range []string{c.Title, c.Description} {
			if said = strings.TrimSpace(said); said != "" {
				text += "\n" + said
			}
		}
		return tools.Content{Text: text}
	}
	text, _ := json.Marshal(content) // it came from JSON
	return tools.Content{Text: string(text)}
}

func media(mediaType string, data []byte, name string) tools.Content {
	if data == nil {
		data = []byte{}
	}
	return tools.Content{MediaType: mediaType, Data: data, Name: name}
}

func described(what, uri, mediaType string) string {
	if mediaType == "" {
		return what + " " + uri
	}
	return fmt.Sprintf("%s %s (%s)", what, uri, mediaType)
}
