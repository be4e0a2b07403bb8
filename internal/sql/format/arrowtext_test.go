package format_test

import (
	"encoding/binary"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
)

// batchOf is the texts of the one column of a batch; nil is NULL.
func batchOf(t testing.TB, texts ...any) []any {
	t.Helper()
	columns := []engine.Column{{Name: "s", Type: &engine.Type{ID: engine.Varchar}}}
	valid := make([]byte, 8*(len(texts)/64+1))
	var all, ends []byte
	for i, s := range texts {
		if s != nil {
			valid[i/8] |= 1 << (i % 8)
			all = append(all, s.(string)...)
		}
		ends = binary.LittleEndian.AppendUint32(ends, uint32(len(all)))
	}
	column := engine.Vector{Type: columns[0].Type}
	column.SetValidity(valid)
	column.SetTexts(all, ends)
	chunk := engine.NewChunk(len(texts), []engine.Vector{column}, nil)
	var got []any
	take := func(batch arrow.RecordBatch) error {
		column := batch.Column(0).(*array.String)
		for i := range column.Len() {
			if column.IsNull(i) {
				got = append(got, nil)
				continue
			}
			got = append(got, string([]byte(column.Value(i)))) // a copy: the batch ends here
		}
		return nil
	}
	b := format.NewBatcher(columns)
	if err := b.Add(chunk, take); err != nil {
		t.Fatal(err)
	}
	if err := b.Emit(take); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestArrowTextIsUTF8 has texts that are UTF-8 only together, and faults next to
// texts without.
func TestArrowTextIsUTF8(t *testing.T) {
	const bad = "\uFFFD"
	for _, c := range []struct {
		name        string
		texts, want []any
	}{
		{"one without a fault", []any{"a", "", "é", "語"}, []any{"a", "", "é", "語"}},
		{"a character over two texts", []any{"a\xc3", "\xa9b"}, []any{"a" + bad, bad + "b"}},
		{"a character over NULL and nothing", []any{"\xe8\xaa", nil, "", "\x9e"}, []any{bad, nil, "", bad}},
		{"a fault in the middle", []any{"é", "a\xffb", nil, "語"}, []any{"é", "a" + bad + "b", nil, "語"}},
		{"a fault at the end", []any{"é", "\xc3"}, []any{"é", bad}},
		{"nothing", []any{"", nil}, []any{"", nil}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, batchOf(t, c.texts...)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestArrowTextIsUTF8InEveryRun has a fault in one run of rows and none in the
// others, which are looked at by themselves.
func TestArrowTextIsUTF8InEveryRun(t *testing.T) {
	texts := make([]any, engine.ChunkRows)
	want := make([]any, engine.ChunkRows)
	for i := range texts {
		texts[i], want[i] = "ü", "ü"
	}
	texts[700], want[700] = "\xbc", "\uFFFD"
	if d := cmp.Diff(want, batchOf(t, texts...)); d != "" {
		t.Error(d)
	}
}
