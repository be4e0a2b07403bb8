package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// webServer serves MCP until the test ends.
func webServer(t *testing.T, add func(*mcp.Server)) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "fake", Version: "1"}, nil)
	add(server)
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(s.Close)
	return s.URL
}

// pixels is a PNG.
func pixels(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestMediaOfResults has a tool of an MCP server that returns a text, an image, a sound and
// resources. Each provider gets the image in its own form and reads what was left out, also
// through another runtime; clients get the JSON.
func TestMediaOfResults(t *testing.T) {
	t.Parallel()
	picture := pixels(t, 3, 2)
	url := webServer(t, func(s *mcp.Server) {
		s.AddTool(&mcp.Tool{Name: "shoot", Description: "Takes a screenshot.", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{
				&mcp.TextContent{Text: "the page"},
				&mcp.ImageContent{MIMEType: "image/jpeg", Data: picture}, // it is a PNG
				&mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("RIFFxxxxWAVE")},
				&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///log", MIMEType: "text/plain", Text: "all is well"}},
				&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a.pdf", MIMEType: "application/pdf", Blob: []byte("%PDF-1.7")}},
				&mcp.ResourceLink{URI: "file:///b", Name: "b", Description: "Another page."},
			}}, nil
		})
	})
	model := startModel(t)
	pod := podHead + "tools:\n" + httpServer("web", url) + strings.NewReplacer("MODEL_URL", model.URL, "TOOLS", "auto", "PATIENCE", "20s").Replace(read(t, "testdata/chat/models.yaml"))
	p := start(t, folder(t, "spicepod.yaml", pod))
	p.connected("web")
	peer := start(t, folder(t, "spicepod.yaml", strings.Replace(pod, httpServer("web", url), "  - { name: web, from: 'spiced:"+strings.TrimSuffix(p.mcpURL(), "/v1/mcp")+"' }\n", 1)))
	peer.connected("web")
	data := base64.StdEncoding.EncodeToString(picture)
	images := map[chat.Form]string{
		chat.FormOpenAI:    `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + data + `"}}`,
		chat.FormResponses: `{"type":"input_image","image_url":"data:image/png;base64,` + data + `"}`,
		chat.FormAnthropic: `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + data + `"}}`,
	}
	for form, image := range images {
		for name, ask := range map[string]*program{"web__shoot": p, "web__web_-_shoot": peer} {
			model.Script(chattest.InTurn(chattest.Say(chattest.Call("c1", name, "{}")), chattest.Say(chattest.Text("I see."))))
			if got, err := goClients[form](ask, question{model: modelOf[form], text: "look"}); err != nil || got.text != "I see." {
				t.Fatalf("%s %s: %+v %v", form, name, got, err)
			}
			requests := model.Requests()
			body := string(requests[len(requests)-1].Body)
			for _, want := range []string{image, "the page", "[left out: audio/wav, 12 bytes: only PNG", "Resource file:///log (text/plain):", "all is well", "[left out: file:///a.pdf, application/pdf, 8 bytes: only PNG", "Link to the resource file:///b", "Another page."} {
				if !strings.Contains(body, want) {
					t.Errorf("%s %s: no %s in %s", form, name, want, body)
				}
			}
			if strings.Count(body, data) != 1 || strings.Contains(body, "JVBERi") {
				t.Errorf("%s %s: media as text in %s", form, name, body)
			}
		}
	}
	if got := p.call("web__shoot", "{}"); !strings.Contains(string(got.Result), `{"type":"image","mimeType":"image/jpeg","data":"`+data+`"}`) {
		t.Errorf("%s", got.Result)
	}
}
