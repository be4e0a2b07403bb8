package bodies

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// gather returns the values of the refs, in their order.
func (f *found) gather(t arrow.DataType) (arrow.Array, error) {
	first := f.flights[f.refs[0].flight].values
	if f.run(0) == len(f.refs) && f.refs[0].at == 0 && first.Len() == len(f.refs) {
		return first, nil
	}
	switch t := t.(type) {
	case *arrow.StringType:
		return f.gatherTexts(), nil
	case arrow.FixedWidthDataType:
		if _, plain := first.(interface{ ValueStr(int) string }); plain && t.Bytes() > 0 &&
			len(first.Data().Children()) == 0 && t.ID() != arrow.BOOL {
			return f.gatherFixed(t), nil
		}
	}
	var parts []arrow.Array
	for from := 0; from < len(f.refs); {
		to := f.run(from)
		parts = append(parts, array.NewSlice(f.flights[f.refs[from].flight].values, int64(f.refs[from].at),
			int64(f.refs[to-1].at+1)))
		from = to
	}
	return array.Concatenate(parts, memory.DefaultAllocator)
}

// run returns the end of the values from a ref on that are next to each other.
func (f *found) run(from int) int {
	to := from + 1
	for to < len(f.refs) && f.refs[to].flight == f.refs[from].flight && f.refs[to].at == f.refs[to-1].at+1 {
		to++
	}
	return to
}

func (f *found) gatherTexts() arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.Reserve(len(f.refs))
	for _, r := range f.refs {
		if a := f.flights[r.flight].values.(*array.String); a.IsValid(int(r.at)) {
			b.Append(a.Value(int(r.at)))
		} else {
			b.AppendNull()
		}
	}
	return b.NewArray()
}

// gatherFixed is gather for values of fixed width.
func (f *found) gatherFixed(t arrow.FixedWidthDataType) arrow.Array {
	width := t.Bytes()
	values := make([]byte, len(f.refs)*width)
	valid := make([]byte, bitutil.BytesForBits(int64(len(f.refs))))
	nulls := 0
	for i, r := range f.refs {
		from := f.flights[r.flight].values
		if from.IsNull(int(r.at)) {
			nulls++
			continue
		}
		bitutil.SetBit(valid, i)
		at := (from.Data().Offset() + int(r.at)) * width
		copy(values[i*width:], from.Data().Buffers()[1].Bytes()[at:at+width])
	}
	data := array.NewData(t, len(f.refs), []*memory.Buffer{memory.NewBufferBytes(valid), memory.NewBufferBytes(values)},
		nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}
