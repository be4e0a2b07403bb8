package mcpclient_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/memory"
)

// TestResultsWithoutMemory has large results, as one document and as an event, while
// other requests hold the memory for them: the call fails alone.
func TestResultsWithoutMemory(t *testing.T) {
	const mib = 1 << 20
	large := `{"content":[{"type":"text","text":"` + strings.Repeat("x", 2*mib) + `"}]}`
	strict := newStrict(map[string]func(w http.ResponseWriter, id string){
		"document": func(w http.ResponseWriter, id string) { result(w, id, large) },
		"event": func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", id, large)
		},
	})
	server := newWeb(t).open(newSite(t, strict).entry())

	budget := memory.NewBudget(16 * mib)
	for name, bytes := range map[string]int64{"bob": 2 * mib, "eve": mib / 2} {
		ctx, end := budget.Begin(t.Context(), name)
		defer end()
		if err := memory.Take(ctx, bytes); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"document", "event"} {
		ctx, end := budget.Begin(t.Context(), "ann")
		// Those that hold a part and are the only ones to wait fail at once.
		if err := memory.Take(ctx, mib/4); err != nil {
			t.Fatal(err)
		}
		_, err := call(ctx, tool(t, server, "web__"+name), `{}`)
		if err == nil || err.Code != errcode.Busy ||
			!strings.Contains(err.Message, "the result is large, and was given up: large requests that run already hold as much memory as they may") {
			t.Errorf("%s: %v", name, err)
		}
		end()
	}
	if got, err := call(t.Context(), tool(t, server, "web__good"), `{}`); err != nil || !strings.Contains(got, "good") {
		t.Errorf("the next call: %s %v", got, err)
	}
}
