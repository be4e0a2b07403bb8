// Package arrowtest makes Arrow data from JSON for tests.
package arrowtest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Batch reads a JSON array of objects. Without fields, it has a row for each object.
func Batch(t testing.TB, schema *arrow.Schema, rows string) arrow.RecordBatch {
	t.Helper()
	if schema.NumFields() == 0 {
		return array.NewRecordBatch(schema, nil, int64(strings.Count(rows, "{")))
	}
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Stream writes an IPC stream with one batch for each text, as [Batch] reads it.
func Stream(t testing.TB, fields []arrow.Field, rows ...string) []byte {
	t.Helper()
	schema := arrow.NewSchema(fields, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	for _, r := range rows {
		if err := w.Write(Batch(t, schema, r)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
