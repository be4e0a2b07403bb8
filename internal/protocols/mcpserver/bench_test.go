package mcpserver_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/spiced-sql/spiced/internal/protocols/mcpserver"
)

// BenchmarkCall measures tools/call over 32 connections.
func BenchmarkCall(b *testing.B) {
	f := start(b, mcpserver.Options{}, greet(b))
	const connections = 32
	sessions := make([]*raw, connections)
	for i := range sessions {
		sessions[i] = f.shake(b, "")
	}
	work := make(chan struct{}, connections)
	var running sync.WaitGroup
	for _, session := range sessions {
		running.Go(func() {
			for range work {
				request := session.request(b.Context(), http.MethodPost,
					`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}}`)
				response, err := session.client.Do(request)
				if err != nil {
					b.Error(err)
					return
				}
				body, _ := io.ReadAll(response.Body)
				response.Body.Close()
				if !strings.Contains(string(body), "hello Ada") {
					b.Errorf("%s", body)
				}
			}
		})
	}
	b.ResetTimer()
	for range b.N {
		work <- struct{}{}
	}
	close(work)
	running.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// BenchmarkList measures tools/list of 5,000 tools, all pages, without the
// time that a client needs to decode them.
func BenchmarkList(b *testing.B) {
	session := start(b, mcpserver.Options{}, many(b, 5000)...).shake(b, "")
	for b.Loop() {
		pages := 0
		for cursor := "{}"; cursor != ""; pages++ {
			body := session.ask("tools/list", cursor)
			if cursor = ""; strings.Contains(body[:200], `"nextCursor"`) {
				_, after, _ := strings.Cut(body, `"nextCursor":"`)
				after, _, _ = strings.Cut(after, `"`)
				cursor = `{"cursor":"` + after + `"}`
			}
		}
		if pages != 5 {
			b.Fatal(pages)
		}
	}
}
