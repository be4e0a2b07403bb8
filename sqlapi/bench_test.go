package sqlapi

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/kit/feed"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/registry"
)

// BenchmarkInvoke calls a tool over a real listener, with 32 connections, and
// without one.
func BenchmarkInvoke(b *testing.B) {
	r, set := fakeRegistry(b, "local")
	r.CacheLimit(0)
	api := New(Options{Tools: r, Embeddings: func() *embeddings.Set { return set }})
	const body = `{"schema_version":"0.1.0","args":` + berlinParis + `}`
	b.Run("listener", func(b *testing.B) {
		server := httptest.NewServer(api)
		defer server.Close()
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
		defer client.CloseIdleConnections()
		b.SetParallelism(16)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				res, err := client.Post(server.URL+"/v1/tools/haversine_km:invoke", "application/json", strings.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				io.Copy(io.Discard, res.Body)
				res.Body.Close()
				if res.StatusCode != http.StatusOK {
					b.Errorf("got %d", res.StatusCode)
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
	})
	b.Run("handler", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w := httptest.NewRecorder()
			api.ServeHTTP(w, httptest.NewRequest("POST", "/v1/tools/haversine_km:invoke", bytes.NewReader([]byte(body))))
			if w.Code != http.StatusOK {
				b.Fatalf("got %d", w.Code)
			}
		}
	})
}

// BenchmarkChatDelta is what a delta costs between a provider and its client:
// encoded, written and flushed to a connection.
func BenchmarkChatDelta(b *testing.B) {
	for _, form := range forms {
		b.Run(form.name, func(b *testing.B) {
			piece := says("Berlin ")
			f := serveChats(b, &fakeChats{chat: func(context.Context, *chat.Request, caller.Caller) (chatEvents, error) {
				return func(yield func(toolloop.Event, error) bool) {
					yield(starts, nil)
					for b.Loop() {
						yield(piece, nil)
					}
					for _, e := range ends(chat.ReasonStop) {
						yield(e, nil)
					}
				}, nil
			}}, nil)
			res := f.open(b.Context(), form.path, form.stream())
			if _, err := io.Copy(io.Discard, res.Body); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkCallFollowed measures a call of a tool while clients follow the event stream over real
// connections; every client receives the event of the call.
func BenchmarkCallFollowed(b *testing.B) {
	for _, clients := range []int{0, 1, 10} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			var tools *registry.Registry
			f, _ := serveEvents(b, feed.Options{}, func(o *Options) { tools = o.Tools })
			tools.CacheLimit(0)
			var read sync.WaitGroup
			for range clients {
				s, _ := f.follow("")
				read.Go(func() { io.Copy(io.Discard, s.res.Body) })
				b.Cleanup(func() { s.stop(); read.Wait() })
			}
			b.ReportAllocs()
			for b.Loop() {
				if r := tools.Invoke(b.Context(), registry.Call{Name: "haversine_km", Arguments: []byte(berlinParis)}); !r.OK {
					b.Fatal(r.Error)
				}
			}
		})
	}
}
