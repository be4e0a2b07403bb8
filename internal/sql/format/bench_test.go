package format_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
)

// benchRows has five columns as an application would have them.
const benchRows = `SELECT range AS id, range * 0.37 AS price, 'customer ' || (range % 1000) AS name,
	DATE '2020-01-01' + (range % 3650)::INTEGER AS day, range % 3 = 0 AS paid FROM range(2000000)`

func readOnly(b testing.TB, db *engine.DB) time.Duration {
	b.Helper()
	start := time.Now()
	rows, err := db.Query(context.Background(), engine.Request{SQL: benchRows})
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	for _, err := range rows.Chunks() {
		if err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}

// BenchmarkForms reports each form's time as a multiple of the time that only
// reading the chunks takes.
func BenchmarkForms(b *testing.B) {
	db := open(b)
	read := readOnly(b, db)
	for range 4 {
		read = min(read, readOnly(b, db))
	}
	for _, form := range format.Forms() {
		b.Run(form.Name, func(b *testing.B) {
			b.ReportAllocs()
			counter := &counting{}
			for b.Loop() {
				rows, err := db.Query(context.Background(), engine.Request{SQL: benchRows})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := format.Copy(form.NewWriter(counter), rows); err != nil {
					b.Fatal(err)
				}
				rows.Close()
			}
			b.SetBytes(counter.n / int64(b.N))
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(read), "×read")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2e6, "ns/row")
		})
	}
}

type counting struct{ n int64 }

func (c *counting) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

var _ io.Writer = (*counting)(nil)
