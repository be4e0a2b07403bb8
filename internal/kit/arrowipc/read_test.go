package arrowipc_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/spiced-sql/spiced/internal/kit/arrowipc"
	"github.com/spiced-sql/spiced/internal/sql/arrowrows"
	"github.com/spiced-sql/spiced/internal/test/arrowtest"
)

// allTypes are columns of the types that a module may return.
var allTypes = []arrow.Field{
	{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "o", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	{Name: "d", Type: &arrow.Decimal128Type{Precision: 9, Scale: 2}, Nullable: true},
	{Name: "t", Type: arrow.FixedWidthTypes.Time64us, Nullable: true},
	{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	{Name: "f", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), Nullable: true},
	{Name: "r", Type: arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int8, Nullable: true},
		arrow.Field{Name: "b", Type: arrow.BinaryTypes.Binary, Nullable: true}), Nullable: true},
	{Name: "m", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32), Nullable: true},
}

const allRows = `[
	{"i": 1, "s": "é", "o": true, "d": "-1234567.89", "t": "12:30:00", "l": ["a", null], "f": [1, null], "r": {"a": 1, "b": "aGk="}, "m": [{"key": "k", "value": 1}]},
	{"i": null, "s": null, "o": null, "d": null, "t": null, "l": null, "f": null, "r": null, "m": null},
	{"i": -1, "s": "", "o": false, "d": "0.00", "t": "00:00:00", "l": [], "f": [null, 2], "r": {"a": null, "b": null}, "m": []}]`

func TestRead(t *testing.T) {
	columns, err := arrowipc.Read(arrowtest.Stream(t, allTypes, allRows, `[]`, allRows), allTypes, arrowipc.ReadOptions{Named: true, Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	schema := arrow.NewSchema(allTypes, nil)
	one := arrowtest.Batch(t, schema, allRows)
	for i, c := range columns {
		if !arrow.TypeEqual(c.DataType(), allTypes[i].Type) || c.Len() != 6 {
			t.Errorf("column %s: %d values of the type %s", allTypes[i].Name, c.Len(), c.DataType())
		}
		for _, from := range []int64{0, 3} {
			if part := array.NewSlice(c, from, from+3); !array.Equal(part, one.Column(i)) {
				t.Errorf("column %s: got %v, want %v", allTypes[i].Name, part, one.Column(i))
			}
		}
	}
}

func TestLargeOffsets(t *testing.T) {
	got := []arrow.Field{
		{Name: "a", Type: arrow.BinaryTypes.LargeString, Nullable: true},
		{Name: "b", Type: arrow.LargeListOf(arrow.PrimitiveTypes.Int64), Nullable: true},
	}
	want := []arrow.Field{{Name: "a", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "b", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64), Nullable: true}}
	rows := `[{"a": "x", "b": [1, 2]}, {"a": null, "b": null}, {"a": "yz", "b": []}]`
	columns, err := arrowipc.Read(arrowtest.Stream(t, got, rows), want, arrowipc.ReadOptions{Named: true, Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range columns {
		if one := arrowtest.Batch(t, arrow.NewSchema(want, nil), rows).Column(i); !array.Equal(c, one) {
			t.Errorf("got %v, want %v", c, one)
		}
	}
}

// TestHostileStreams reads invalid streams. Each gives the error that names its fault.
func TestHostileStreams(t *testing.T) {
	text := []arrow.Field{{Name: "value", Type: arrow.BinaryTypes.String, Nullable: true}}
	good := arrowtest.Stream(t, text, `[{"value": "abcdefghijklmnop"}]`)
	words := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	var packed bytes.Buffer
	schema := arrow.NewSchema(text, nil)
	w := ipc.NewWriter(&packed, ipc.WithSchema(schema), ipc.WithZstd())
	if err := w.Write(arrowtest.Batch(t, schema, `[{"value": "`+strings.Repeat("x", 4<<20)+`"}]`)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	deep := arrow.DataType(arrow.PrimitiveTypes.Int8)
	for range 40 {
		deep = arrow.ListOf(deep)
	}
	for _, c := range []struct {
		name   string
		stream []byte
		kind   arrowipc.FaultKind
	}{
		{"junk", []byte("not Arrow data"), arrowipc.Damaged},
		{"half a stream", good[:len(good)-40], arrowipc.Damaged},
		{"dictionaries", arrowtest.Stream(t, []arrow.Field{{Name: "value", Type: words}}, `[{"value": "a"}]`), arrowipc.Damaged},
		{"nested too deep", arrowtest.Stream(t, []arrow.Field{{Name: "value", Type: deep}}), arrowipc.Damaged},
		{"text that is not UTF-8", bytes.ReplaceAll(good, []byte("abcdefgh"), []byte("abc\xFF\xFEfgh")), arrowipc.WrongValue},
		{"another type", arrowtest.Stream(t, []arrow.Field{{Name: "value", Type: arrow.PrimitiveTypes.Int64}}, `[{"value": 1}]`), arrowipc.OtherTypes},
		{"another name", arrowtest.Stream(t, []arrow.Field{{Name: "other", Type: arrow.BinaryTypes.String}}, `[{"other": "x"}]`), arrowipc.OtherTypes},
		{"packed", packed.Bytes(), arrowipc.TooLarge},
	} {
		columns, err := arrowipc.Read(c.stream, text, arrowipc.ReadOptions{Named: true, Limit: 1 << 20})
		var fault *arrowipc.Fault
		if !errors.As(err, &fault) || fault.Kind != c.kind {
			t.Errorf("%s: %v %v", c.name, columns, err)
		}
	}
}

// TestLengthsThatAreLies: a word of a stream that claims more than there is does not end the process.
func TestLengthsThatAreLies(t *testing.T) {
	good, refused := arrowtest.Stream(t, allTypes, allRows), 0
	for at := 0; at+4 <= len(good); at += 2 {
		for _, lie := range []uint32{0x10000000, 0x7fffffff, 0xfffffff0} {
			changed := bytes.Clone(good)
			binary.LittleEndian.PutUint32(changed[at:], lie)
			if _, err := arrowipc.Read(changed, allTypes, arrowipc.ReadOptions{Named: true, Limit: 1 << 20}); err != nil {
				refused++
			}
		}
	}
	if refused == 0 {
		t.Error("no length was refused")
	}
}

// FuzzRead reads streams. What is read must be readable by DuckDB.
func FuzzRead(f *testing.F) {
	f.Add(arrowtest.Stream(f, allTypes, allRows))
	f.Add(arrowtest.Stream(f, allTypes, allRows, allRows))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		columns, err := arrowipc.Read(data, allTypes, arrowipc.ReadOptions{Named: true, Limit: 1 << 20})
		if err != nil {
			return
		}
		for i, c := range columns {
			if c.Len() != columns[0].Len() || !arrow.TypeEqual(c.DataType(), allTypes[i].Type) {
				t.Fatalf("column %d has %d values of the type %s", i, c.Len(), c.DataType())
			}
			if _, err := c.MarshalJSON(); err != nil {
				t.Fatal(err)
			}
			if c.Len() > 2048 {
				c = array.NewSlice(c, 0, 2048)
			}
			if _, err := arrowrows.Column(arrowrows.TypeOf(c.DataType()), c); err != nil {
				t.Fatal(err)
			}
		}
	})
}
