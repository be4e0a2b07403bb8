package bodies

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// gather returns the values of refs, in their order.
func gather(t arrow.DataType, refs []ref) (arrow.Array, error) {
	if whole := refs[0].from.values; whole.Len() == len(refs) && run(refs, 0) == len(refs) {
		return whole, nil
	}
	switch t := t.(type) {
	case *arrow.StringType:
		return gatherTexts(refs), nil
	case arrow.FixedWidthDataType:
		if _, plain := refs[0].from.values.(interface{ ValueStr(int) string }); plain && t.Bytes() > 0 && len(refs[0].from.values.Data().Children()) == 0 && t.ID() != arrow.BOOL {
			return gatherFixed(t, refs), nil
		}
	}
	var parts []arrow.Array
	for from := 0; from < len(refs); {
		to := run(refs, from)
		parts = append(parts, array.NewSlice(refs[from].from.values, int64(refs[from].at), int64(refs[to-1].at+1)))
		from = to
	}
	return array.Concatenate(parts, memory.DefaultAllocator)
}

// run returns the end of the values from a ref on that are beside each other.
func run(refs []ref, from int) int {
	to := from + 1
	for to < len(refs) && refs[to].from == refs[from].from && refs[to].at == refs[to-1].at+1 {
		to++
	}
	return to
}

func gatherTexts(refs []ref) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.Reserve(len(refs))
	for _, r := range refs {
		if a := r.from.values.(*array.String); a.IsValid(r.at) {
			b.Append(a.Value(r.at))
		} else {
			b.AppendNull()
		}
	}
	return b.NewArray()
}

// gatherFixed is gather for values of fixed width.
func gatherFixed(t arrow.FixedWidthDataType, refs []ref) arrow.Array {
	width := t.Bytes()
	values := make([]byte, len(refs)*width)
	valid := make([]byte, bitutil.BytesForBits(int64(len(refs))))
	nulls := 0
	for i, r := range refs {
		data := r.from.values.Data()
		if r.from.values.IsNull(r.at) {
			nulls++
			continue
		}
		bitutil.SetBit(valid, i)
		from := (data.Offset() + r.at) * width
		copy(values[i*width:], data.Buffers()[1].Bytes()[from:from+width])
	}
	data := array.NewData(t, len(refs), []*memory.Buffer{memory.NewBufferBytes(valid), memory.NewBufferBytes(values)}, nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}
