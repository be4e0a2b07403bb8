package sqlapi

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/embeddings"
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
