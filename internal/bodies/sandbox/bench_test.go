package sandbox_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// BenchmarkCall calls a function on batches of 2,048 rows; the unit is a batch.
func BenchmarkCall(b *testing.B) {
	for _, c := range []struct {
		name, source string
		typ          arrow.DataType
		value        func(i int) string
	}{
		{"int64", "def f(x: int) -> int: return x * 2 + 1", int64s, func(i int) string { return fmt.Sprint(i) }},
		{"utf8", "def f(x: str) -> str: return x.upper() + '!'", texts, func(i int) string { return fmt.Sprintf("%q", fmt.Sprint("name ", i)) }},
	} {
		for _, rows := range []int{1, 2048} {
			b.Run(fmt.Sprintf("%s/%d", c.name, rows), func(b *testing.B) {
				values := make([]string, rows)
				for i := range values {
					values[i] = c.value(i)
				}
				p := newPool(b, options(b))
				batch := batchOf(b, column{"x", c.typ, "[" + strings.Join(values, ",") + "]"})
				f := function(b, c.source, c.typ, batch)
				if err := p.Load(b.Context(), f); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					got, err := p.Call(b.Context(), f, batch)
					if err != nil {
						b.Fatal(err)
					}
					got.Release()
				}
			})
		}
	}
}

// BenchmarkStart starts a worker, loads a function, and ends it.
func BenchmarkStart(b *testing.B) {
	o := options(b)
	batch := batchOf(b)
	f := function(b, "def f(): return 'x'", texts, batch)
	for b.Loop() {
		p := newPool(b, o)
		if err := p.Load(b.Context(), f); err != nil {
			b.Fatal(err)
		}
		p.Close()
	}
}
