package wasm

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/internal/test/arrowtest"
	"github.com/spiced-sql/spiced/internal/test/cputime"
)

// BenchmarkCall calls functions with full batches, on one processor:
//
//	go test ./internal/bodies/wasm -run - -bench Call -cpu 1
func BenchmarkCall(b *testing.B) {
	for _, c := range []struct{ name, declaration string }{
		{"numbers", "body_ref: numbers.wasm, entrypoint: add, " + two},
		{"arrow/int64", "body_ref: arrow.wasm, " + number},
		{"arrow/echo", "body_ref: hostile.wasm, entrypoint: echo, " + number},
		{"arrow/utf8", "body_ref: arrow.wasm, entrypoint: shout, signature: {args: [{name: s, type: utf8}], returns: utf8}"},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := function(b, c.declaration)
			rows := ramp(f.spec.Args, body.MaxRows)
			n, used := 0, cputime.Used(b)
			for b.Loop() {
				n++
				values, err := f.Call(b.Context(), rows)
				if err != nil {
					b.Fatal(err)
				}
				values.Release()
			}
			b.ReportMetric(float64(n)*body.MaxRows/(cputime.Used(b)-used).Seconds()/1e6, "Mrows/cpu-s")
		})
	}
}

// BenchmarkLoop runs a loop of a million iterations, to see what fuel costs.
func BenchmarkLoop(b *testing.B) {
	f := function(b, "body_ref: numbers.wasm, entrypoint: work, "+number)
	rows := arrowtest.Batch(b, f.spec.Args, `[{"x": 1000000}]`)
	n, used := 0, cputime.Used(b)
	for b.Loop() {
		n++
		if _, err := f.Call(context.Background(), rows); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cputime.Used(b)-used).Nanoseconds())/float64(n)/1e6, "cpu-ns/iteration")
}

// ramp returns rows of counting numbers, or of texts of them.
func ramp(schema *arrow.Schema, n int) arrow.RecordBatch {
	columns := make([]arrow.Array, schema.NumFields())
	for i, f := range schema.Fields() {
		builder := array.NewBuilder(memory.DefaultAllocator, f.Type)
		for row := range n {
			switch builder := builder.(type) {
			case *array.Int64Builder:
				builder.Append(int64(row))
			case *array.StringBuilder:
				builder.Append(fmt.Sprint("text ", row, strings.Repeat("x", row%10)))
			}
		}
		columns[i] = builder.NewArray()
	}
	return array.NewRecordBatch(schema, columns, int64(n))
}
