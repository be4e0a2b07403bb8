package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestActiveListsTools cancels a tool's statement, then a tool call.
func TestActiveListsTools(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", podHead))
	for _, c := range []struct {
		cancel, want string
		status       int
	}{
		{"tool_statement", `"code":"cancelled","message":"the statement was cancelled by its owner"`, 499},
		{"tool_call", `"code":"cancelled","message":"the call was cancelled by its owner"`, 499},
	} {
		ended := make(chan reply, 1)
		go func() {
			ended <- p.do("POST", "/v1/tools/sql:invoke",
				`{"args":{"query":"SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE 'secret' <> a.range::VARCHAR"}}`)
		}()
		ids := map[string]string{}
		p.eventually("to list the call and its statement", func() bool {
			r := p.do("GET", "/v1/sql/active", "")
			var active struct {
				Queries []struct {
					ID      string `json:"query_id"`
					Kind    string
					Name    string
					Preview string `json:"sql_preview"`
				}
			}
			if err := json.Unmarshal([]byte(r.body), &active); err != nil {
				t.Fatal(err)
			}
			clear(ids)
			for _, q := range active.Queries {
				if ids[q.Kind] = q.ID; q.Name != "sql" || strings.Contains(q.Preview, "secret") || (q.Preview != "") != (q.Kind == "tool_statement") {
					t.Errorf("listed: %+v", q)
				}
			}
			return len(ids) == 2
		})
		if r := p.do("POST", "/v1/sql/"+ids[c.cancel]+"/cancel", ""); r.status != 200 {
			t.Fatalf("cancel: %+v", r)
		}
		if r := <-ended; r.status != c.status || !strings.Contains(r.body, c.want) {
			t.Errorf("%s: got %d %s", c.cancel, r.status, r.body)
		}
		p.eventually("to list nothing", func() bool { return strings.Contains(p.do("GET", "/v1/sql/active", "").body, `"total_count":0`) })
	}
}
