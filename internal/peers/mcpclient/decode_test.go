package mcpclient

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestContentsThatCannotBeRead has a text before and after each: they always arrive.
func TestContentsThatCannotBeRead(t *testing.T) {
	const good = `{"type":"text","text":"good"}`
	for content, want := range map[string]string{
		`{"type":"video","data":"AAAA","mimeType":"video/mp4"}`:                                      `{"type":"text","text":"[a content of type \"video\" (video/mp4), 53 bytes, is left out: the type is unknown here]"}`,
		`{"type":"image","data":"not base64!","mimeType":"image/png"}`:                               `{"type":"text","text":"[a content of type \"image\" (image/png), 60 bytes, is left out: its data are not base64]"}`,
		`{"type":"image","data":7,"mimeType":"image/png"}`:                                           `{"type":"text","text":"[a content of type \"image\" (image/png), 48 bytes, is left out: it cannot be read]"}`,
		`{"type":"image","data":"data:image/png;base64,AQID","mimeType":"image/png"}`:                `{"type":"image","mimeType":"image/png","data":"AQID"}`,
		`{"type":"image","data":"AQ\nID","mimeType":"image/png"}`:                                    `{"type":"image","mimeType":"image/png","data":"AQID"}`,
		`{"type":"audio","data":"-_8","mimeType":"audio/wav"}`:                                       `{"type":"audio","mimeType":"audio/wav","data":"+/8="}`,
		`{"type":"resource","resource":{"uri":"file:///x","blob":"@","mimeType":"application/pdf"}}`: `{"type":"text","text":"[a content of type \"resource\" (application/pdf), 90 bytes, is left out: its data are not base64]"}`,
		`{"type":"resource","resource":{"uri":"file:///x","text":"y","_meta":7}}`:                    `{"type":"resource","resource":{"uri":"file:///x","text":"y"}}`,
		`{"type":"text","text":"x","annotations":{"priority":"high"}}`:                               `{"type":"text","text":"x"}`,
		`{"type":"resource_link","uri":"file:///x","name":"x","size":1.5}`:                           `{"type":"resource_link","uri":"file:///x","name":"x"}`,
		`null`:                           `{"type":"text","text":"[a content of type \"unknown\", 4 bytes, is left out: it is not an object]"}`,
		`7`:                              `{"type":"text","text":"[a content of type \"unknown\", 1 bytes, is left out: it is not an object]"}`,
		`"words"`:                        `{"type":"text","text":"words"}`,
		`{}`:                             `{"type":"text","text":"[a content of type \"unknown\", 2 bytes, is left out: it has no type]"}`,
		`{"text":"x"}`:                   `{"type":"text","text":"[a content of type \"unknown\", 12 bytes, is left out: it has no type]"}`,
		`{"type":"text","text":{"a":1}}`: `{"type":"text","text":"[a content of type \"text\", 30 bytes, is left out: it cannot be read]"}`,
	} {
		r, err := decodeResult(json.RawMessage(`{"content":[` + good + `,` + content + `,` + good + `],"_meta":{"a":1}}`))
		if err != nil || len(r.Content) != 3 || r.Meta["a"] == nil {
			t.Errorf("%s: %v %+v", content, err, r)
			continue
		}
		got, _ := json.Marshal(r.Content[1])
		if first, last := r.Content[0].(*mcp.TextContent), r.Content[2].(*mcp.TextContent); string(got) != want || first.Text != "good" || last.Text != "good" {
			t.Errorf("%s: %s, want %s", content, got, want)
		}
	}
}

// TestNumbersOfSchemas keeps all digits, and the checksums of earlier versions.
func TestNumbersOfSchemas(t *testing.T) {
	const page = `{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"n":{"maximum":9007199254740993,"minimum":1.0,"multipleOf":1e2,"default":0.1}}}},7,{"name":"b","title":7},{"name":"c","inputSchema":true}],"nextCursor":"x"}`
	list, damaged, next, err := decodePage(json.RawMessage(page))
	if err != nil || len(list) != 2 || strings.Join(damaged, ",") != "7,b" || next != "x" {
		t.Fatalf("%v %v %q %v", list, damaged, next, err)
	}
	text, _ := json.Marshal(list[0].InputSchema)
	if want := `{"properties":{"n":{"default":0.1,"maximum":9007199254740993,"minimum":1,"multipleOf":100}},"type":"object"}`; string(text) != want {
		t.Errorf("%s, want %s", text, want)
	}
}
