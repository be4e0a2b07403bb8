package bodies

import (
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// BenchmarkRows runs a function over a million rows, in this process and in a worker: with
// different arguments, with a thousand, and with a call for each row. The body takes no time
// to speak of.
func BenchmarkRows(b *testing.B) {
	for name, of := range map[string]struct{ argument, more string }{
		"different": {"range", ""}, "repeated": {"range % 1000", ""}, "each": {"range", ", risk: write"},
	} {
		for _, isolated := range []bool{false, true} {
			b.Run(name+map[bool]string{true: "/isolated"}[isolated], func(b *testing.B) {
				c := &code{call: integers(func(n int64) (int64, error) { return 2 * n, nil })}
				db := open(b, twice+of.more+"}\n", c, isolated)
				for b.Loop() {
					rows, err := db.Query(b.Context(), engine.Request{SQL: "SELECT sum(twice(" + of.argument + ")) FROM range(1000000)", Whole: true, Isolate: isolated})
					if err != nil {
						b.Fatal(err)
					}
					rows.Close()
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "Mrows/s")
			})
		}
	}
}
