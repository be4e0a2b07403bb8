package builtin_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// BenchmarkSearch searches a table of 100,000 rows with 30 words each, which
// was read by the first call.
func BenchmarkSearch(b *testing.B) {
	w := newWorld(b)
	err := w.DB.Publish(b.Context(), w.DB.Current().Renew(), func(tx *engine.Tx) error {
		return tx.Exec(fmt.Sprintf(`CREATE OR REPLACE TABLE spice.public.notes AS
			SELECT i // 30 AS key, string_agg(translate(to_base((hash(i) %% 20000)::BIGINT + 20000, 16), '0123456789', 'qrstuvwxyz'), ' ') AS note
			FROM range(%d) AS t(i) GROUP BY 1`, 30*builtin.MaxSearchRows))
	})
	if err != nil {
		b.Fatal(err)
	}
	tool := w.tool("search")
	args, _ := json.Marshal(map[string]any{"text": "find the row with usyx and vyzz", "datasets": []string{"notes"}})
	before, start := heap(), time.Now()
	if _, err := tool.Call(b.Context(), tools.Input{Raw: args}); err != nil {
		b.Fatal(err)
	}
	took, size := time.Since(start), heap()-before
	for b.Loop() {
		if _, err := tool.Call(b.Context(), tools.Input{Raw: args}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(took.Seconds(), "s/build") // after Loop, which forgets others
	b.ReportMetric(float64(size)/(1<<20), "MiB")
	runtime.KeepAlive(tool)
}

// heap is the memory in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
