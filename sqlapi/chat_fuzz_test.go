package sqlapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/query"
)

// FuzzChatEndpoints sends any body to any chat endpoint whose model echoes: what comes back is
// an answer, a stream with an end, or an error of the client's in the endpoint's
// form.
func FuzzChatEndpoints(f *testing.F) {
	for door, form := range forms {
		f.Add(door, form.whole())
		f.Add(door, form.stream())
		f.Add(door, strings.Replace(form.stream(), "helper", "provider_error", 1))
		f.Add(door, strings.Replace(form.whole(), "hi", `\ud800 \u0000 \"}`, 1))
	}
	f.Add(0, `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":[{"type":"text","text":"s"}]}],"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}]}`)
	f.Add(1, `{"model":"m","stream":true,"max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"s"}]}],"tools":[{"name":"f","input_schema":{"type":"object"}},{"type":"web_search_20250305","name":"web_search"}]}`)
	f.Add(2, `{"model":"m","stream":true,"instructions":"i","input":[{"role":"user","content":[{"type":"input_text","text":"s"}]},{"type":"item_reference","id":"x"}],"tools":[{"type":"function","name":"f","parameters":{}}]}`)
	f.Add(2, `{"model":"m","input":"x","previous_response_id":"resp_1"}`)
	api := New(Options{Queries: query.New(query.Options{}), Chats: echoes()})
	f.Fuzz(func(t *testing.T, door int, body string) {
		form := forms[(door%len(forms)+len(forms))%len(forms)]
		r := httptest.NewRequest(http.MethodPost, form.path, strings.NewReader(body))
		r.Header.Set(headerEvents, eventsInclude)
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		if err := sound(w); err != nil {
			t.Errorf("%s: %v: %d %s", form.name, err, w.Code, w.Body)
		}
	})
}

// sound checks an answer of any endpoint.
func sound(w *httptest.ResponseRecorder) error {
	body := w.Body.String()
	switch {
	case w.Code == http.StatusInternalServerError:
		return fmt.Errorf("an internal fault")
	case w.Header().Get("Content-Type") != "text/event-stream":
		if !json.Valid([]byte(body)) {
			return fmt.Errorf("not JSON")
		}
		return nil
	case w.Code != http.StatusOK || !strings.HasSuffix(body, "\n\n"):
		return fmt.Errorf("not the end of a stream")
	}
	for line := range strings.SplitSeq(body, "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if ok && data != "[DONE]" && !json.Valid([]byte(data)) {
			return fmt.Errorf("the event %q is not JSON", data)
		}
	}
	return nil
}
