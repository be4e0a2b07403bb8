package mcpclient

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestSkim(t *testing.T) {
	for message, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"result":{"id":8,"a":["id",{"id":9}]}}`:       "7",
		`{"result":{"id":8,"text":"\",\"id\":9,{[\\"},"jsonrpc":"2.0","id":7}`: "7",
		"{ \"result\" : [ ] ,\r\n\t\"id\" : \"7\" }":                           "7",
		`{"id":7,"result":{},"method":"x"}`:                                    "",
		`{"method":"notifications/message","params":{"id":7}}`:                 "",
		`{"result":{},"id":7`:        "",
		`[{"id":7,"result":{}}]`:     "",
		`{"id":{"id":7},"result":1}`: "",
		``:                           "",
	} {
		var s skim
		for _, part := range strings.SplitAfter(message, "") {
			_, _ = s.Write([]byte(part))
		}
		if got := s.answers(); got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}

// FuzzSkim compares it with a decoder.
func FuzzSkim(f *testing.F) {
	f.Add(`{"a":{"id":1}}`, "x", true)
	f.Add(`[1,"]"]`, `"\`, false)
	f.Fuzz(func(t *testing.T, result, text string, first bool) {
		quoted, _ := json.Marshal(text)
		form := `{"id":12,"text":%s,"result":%s}`
		if !first {
			form = `{"result":%[2]s,"text":%[1]s,"id":12}`
		}
		message := fmt.Sprintf(form, quoted, result)
		var m map[string]json.RawMessage
		if json.Unmarshal([]byte(message), &m) != nil || string(m["id"]) != "12" || m["method"] != nil || len(m) != 3 {
			return
		}
		var s skim
		_, _ = s.Write([]byte(message))
		if got := s.answers(); got != "12" {
			t.Errorf("%s: %q", message, got)
		}
	})
}

// TestIDsOfServers answers a request of a server with its id, byte for byte.
func TestIDsOfServers(t *testing.T) {
	for _, id := range []string{`1764208000000000001`, `1.0`, `"\ud800"`, `7`} {
		x := &exchange{}
		received := x.receive([]byte(`{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`), "")
		request, err := jsonrpc.DecodeMessage(received)
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: request.(*jsonrpc.Request).ID, Result: json.RawMessage(`{}`)})
		if err != nil {
			t.Fatal(err)
		}
		if sent, _ := x.send(t.Context(), encoded); string(sent) != `{"jsonrpc":"2.0","id":`+id+`,"result":{}}` {
			t.Errorf("%s", sent)
		}
	}
}
