package responses_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/responses"
)

// FuzzParseRequest checks that a request is accepted or rejected with an error of the
// client's, and that an accepted one can be echoed.
func FuzzParseRequest(f *testing.F) {
	for _, body := range []string{
		`{"model":"m","input":"x"}`,
		`{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AA"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"}]}`,
		`{"model":"m","input":[{"type":"reasoning","id":"r","summary":[{"text":"t"}],"encrypted_content":"spiced.eyJmb3JtIjoiYSIsInJhdyI6MX0"},{"type":"item_reference","id":"i"}]}`,
		`{"model":"m","input":"x","tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}]},{"type":"web_search"}],"tool_choice":{"type":"function","name":"f"}}`,
		`{"model":"m","input":"x","text":{"format":{"type":"json_schema","name":"n","schema":{}}},"reasoning":{"effort":"low"}}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := responses.ParseRequest(body)
		if err != nil {
			var fault *chat.Error
			if !errors.As(err, &fault) || fault.Code != errcode.InvalidRequest || fault.Message == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		for _, m := range r.Messages {
			if m.Raw != nil && !json.Valid(m.Raw) {
				t.Fatalf("Raw is no JSON: %s", m.Raw)
			}
		}
		answer, err := responses.EncodeResponse(options(r), said("ok"))
		if err != nil || !json.Valid(answer) {
			t.Fatalf("%v: %s", err, answer)
		}
	})
}

// FuzzDecoder checks that any stream gives well-formed deltas, which our encoder
// accepts, and an end or an error.
func FuzzDecoder(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*.sse")
	for _, file := range files {
		wire, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		deltas, err := responses.DecodeEvents(bytes.Split(wire, []byte("\n")))
		ended := map[int]int{}
		calls := 0
		for i, d := range deltas {
			switch d.Kind {
			case chat.DeltaStart:
				if i > 0 {
					t.Fatal("a second start")
				}
			case chat.DeltaCall:
				if d.Index != calls || d.Call.ID == "" {
					t.Fatalf("call %d has the index %d and the id %q", calls, d.Index, d.Call.ID)
				}
				calls++
			case chat.DeltaCallEnd:
				if ended[d.Index]++; ended[d.Index] > 1 || d.Index >= calls {
					t.Fatalf("call %d ends wrongly", d.Index)
				}
			case chat.DeltaFinish:
				if i != len(deltas)-1 || err != nil {
					t.Fatalf("something follows the end: %v", err)
				}
			}
		}
		if err == nil && (len(deltas) == 0 || deltas[len(deltas)-1].Kind != chat.DeltaFinish) {
			t.Fatal("neither an end nor an error")
		}
		wellFormed(t, stream(t, options(nil), deltas...))
	})
}
