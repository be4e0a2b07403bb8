package usage_test

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/find/usage"
)

var quiet = slog.New(slog.DiscardHandler)

func BenchmarkCall(b *testing.B) {
	for _, kind := range []string{"memory", "folder"} {
		b.Run(kind, func(b *testing.B) {
			dir := ""
			if kind == "folder" {
				dir = b.TempDir()
			}
			r, err := usage.Open(usage.Options{Dir: dir, Log: quiet})
			if err != nil {
				b.Fatal(err)
			}
			var tools [100]string
			for i := range tools {
				tools[i] = fmt.Sprintf("server/tool_%d", i)
			}
			var n atomic.Uint64
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				caller := fmt.Sprintf("agent-%d", n.Add(1))
				for i := 0; pb.Next(); i++ {
					r.Call(usage.Call{
						ID: "0193f0c2-7a3e-7b1f", Tool: tools[i%100], Owner: "geo", Caller: caller, Surface: "http", Source: "function",
						OK: i%10 != 0, Code: "timeout", Latency: time.Duration(i%1000) * time.Microsecond, Rows: 3, Bytes: 120,
						RequestID: "4bf92f3577b34da6a3ce929d0e0e4736", SessionID: caller,
					})
				}
			})
			if err := r.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func BenchmarkSearch(b *testing.B) {
	r, err := usage.Open(usage.Options{Log: quiet})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	tools := make([]string, 10)
	for i := range tools {
		tools[i] = fmt.Sprintf("server/tool_%d", i)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r.Search(usage.Search{Query: "distance between two cities", Caller: "hawken", Tools: tools, Latency: time.Millisecond})
		}
	})
}

// BenchmarkFullTable reads and writes 100,000 rows of usage.
func BenchmarkFullTable(b *testing.B) {
	dir := b.TempDir()
	open := func(b *testing.B) *usage.Recorder {
		r, err := usage.Open(usage.Options{Dir: dir, Log: quiet})
		if err != nil {
			b.Fatal(err)
		}
		return r
	}
	r := open(b)
	for i := range 100_000 {
		r.Call(usage.Call{Tool: fmt.Sprintf("tool_%d", i%1000), Caller: fmt.Sprintf("caller-%d", i), OK: true, Latency: time.Duration(i) * time.Microsecond})
	}
	b.Run("Usage", func(b *testing.B) {
		for b.Loop() {
			r.Usage()
		}
	})
	b.Run("Window", func(b *testing.B) {
		for b.Loop() {
			r.Window(time.Time{})
		}
	})
	b.Run("Totals", func(b *testing.B) {
		for b.Loop() {
			r.Totals("tool_7")
		}
	})
	b.Run("Calls", func(b *testing.B) {
		for b.Loop() {
			r.Calls()
		}
	})
	r.Close()
	b.Run("OpenAndClose", func(b *testing.B) {
		for b.Loop() {
			open(b).Close()
		}
	})
}
