package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"slices"
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
// resources. Each provider gets the image and the PDF in its own form and reads what was left
// out, also through another runtime; clients get the JSON.
func TestMediaOfResults(t *testing.T) {
	t.Parallel()
	picture := pixels(t, 3, 2)
	url := webServer(t, func(s *mcp.Server) {
		s.AddTool(&mcp.Tool{
			Name: "shoot", Description: "Takes a screenshot.",
			InputSchema: map[string]any{"type": "object"},
		}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{
				&mcp.TextContent{Text: "the page"},
				&mcp.ImageContent{MIMEType: "image/jpeg", Data: picture}, // it is a PNG
				&mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("RIFFxxxxWAVE")},
				&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///log", MIMEType: "text/plain", Text: "all is well"}},
				&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a.pdf", MIMEType: "application/pdf", Blob: []byte("%PDF-1.7")}},
				&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b.pdf", MIMEType: "application/pdf", Blob: []byte("%PDF-1.7")}},
				&mcp.ResourceLink{URI: "file:///b", Name: "b", Description: "Another page."},
			}}, nil
		})
	})
	model := startModel(t)
	pod := podHead + "tools:\n" + httpServer("web", url) +
		strings.NewReplacer("MODEL_URL", model.URL, "TOOLS", "auto, tool_result_pdfs: 1", "PATIENCE", "20s").Replace(read(t, "testdata/chat/models.yaml"))
	p := start(t, folder(t, "spicepod.yaml", pod))
	p.connected("web")
	peer := start(t, folder(t, "spicepod.yaml",
		strings.Replace(pod, httpServer("web", url), "  - { name: web, from: 'spiced:"+strings.TrimSuffix(p.mcpURL(), "/v1/mcp")+"' }\n", 1)))
	peer.connected("web")
	passed := slices.DeleteFunc(peer.toolNames("?source=mcp:web"), func(name string) bool { return !strings.Contains(name, "shoot") })
	if len(passed) != 1 {
		t.Fatalf("the other runtime has %q", passed)
	}
	data := base64.StdEncoding.EncodeToString(picture)
	images := map[chat.Form]string{
		chat.FormOpenAI:    `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + data + `"}}`,
		chat.FormResponses: `{"type":"input_image","image_url":"data:image/png;base64,` + data + `"}`,
		chat.FormAnthropic: `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + data + `"}}`,
	}
	const file = "data:application/pdf;base64,JVBERi0xLjc="
	pdfs := map[chat.Form]string{
		chat.FormOpenAI:    `{"type":"file","file":{"filename":"a.pdf","file_data":"` + file + `"}}`,
		chat.FormResponses: `{"type":"input_file","filename":"a.pdf","file_data":"` + file + `"}`,
		chat.FormAnthropic: `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjc="},"title":"a.pdf"}`,
	}
	for form, image := range images {
		for name, ask := range map[string]*program{"web__shoot": p, passed[0]: peer} {
			model.Script(chattest.InTurn(chattest.Say(chattest.Call("c1", name, "{}")), chattest.Say(chattest.Text("I see."))))
			if got, err := goClients[form](ask, question{model: modelOf[form], text: "look"}); err != nil || got.text != "I see." {
				t.Fatalf("%s %s: %+v %v", form, name, got, err)
			}
			requests := model.Requests()
			body := string(requests[len(requests)-1].Body)
			for _, want := range []string{
				image, pdfs[form], "the page", "[left out: audio/wav, 12 bytes: only PNG", "Resource file:///log (text/plain):", "all is well",
				"[left out: file:///b.pdf, application/pdf, 8 bytes: the chat has 1 PDF already]", "Link to the resource file:///b", "Another page.",
			} {
				if !strings.Contains(body, want) {
					t.Errorf("%s %s: no %s in %s", form, name, want, body)
				}
			}
			if strings.Count(body, data) != 1 || strings.Count(body, "JVBERi") != 1 {
				t.Errorf("%s %s: media as text in %s", form, name, body)
			}
		}
	}
	if got := p.call("web__shoot", "{}"); !strings.Contains(string(got.Result), `{"type":"image","mimeType":"image/jpeg","data":"`+data+`"}`) {
		t.Errorf("%s", got.Result)
	}
}

// TestReferenceServersWithStrictProviders offers the tools of the reference servers to
// providers that refuse what they are reported to refuse, and calls those with media.
func TestReferenceServersWithStrictProviders(t *testing.T) {
	t.Parallel()
	npm := mcpPeers(t)
	model := startModel(t)
	pod := podHead + "tools:\n"
	for name, script := range map[string]string{
		"everything": "server-everything/dist/index.js", "memory": "server-memory/dist/index.js",
		"thinking": "server-sequential-thinking/dist/index.js",
	} {
		pod += fmt.Sprintf("  - { name: %s, from: 'mcp:%s', params: { mcp_args: '%s' } }\n", name, npm.node, npm.entry(script))
	}
	pod += strings.NewReplacer("MODEL_URL", model.URL, "TOOLS", "all", "PATIENCE", "20s").Replace(read(t, "testdata/chat/models.yaml")) +
		fmt.Sprintf("  - { name: gemini, from: 'openai:gemini-test', params: { endpoint: '%s/v1', tools: all, tool_schemas: subset } }\n", model.URL)
	p := start(t, folder(t, "spicepod.yaml", pod))
	p.connected("everything", "memory", "thinking")
	for name, how := range map[string]chattest.Strictness{
		"helper": chattest.AsVendor, "responder": chattest.AsVendor, "claude": chattest.AsVendor,
		"gemini": chattest.AsGemini,
	} {
		model.Judge(how)
		model.Script(chattest.InTurn(chattest.Say(
			chattest.Call("c1", "everything__get-tiny-image", "{}"), chattest.Call("c2", "everything__get-resource-links", `{"count":2}`),
			chattest.Call("c3", "everything__get-annotated-message", `{"messageType":"error","includeImage":true}`),
		), chattest.Say(chattest.Text("Seen."))))
		if got, err := askOpenAI(p, question{model: name, text: "look"}); err != nil || got.text != "Seen." {
			t.Errorf("%s: %+v %v", name, got, err)
			continue
		}
		requests := model.Requests()
		body := string(requests[len(requests)-1].Body)
		if n := strings.Count(body, `"data:image/png;base64,iVBOR`) + strings.Count(body, `"media_type":"image/png","data":"iVBOR`); n != 2 {
			t.Errorf("%s: %d images in %.3000s", name, n, body[max(0, len(body)-3000):])
		}
		if !strings.Contains(body, "Link to the resource demo://") {
			t.Errorf("%s: no link in %s", name, body[max(0, len(body)-3000):])
		}
	}
}
