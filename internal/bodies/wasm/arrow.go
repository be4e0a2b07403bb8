package wasm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/internal/kit/arrowipc"
)

// The names and types of what a module for Arrow exports, as Spice has them.
const (
	exportMemory  = "memory"
	exportAlloc   = "spice_alloc"
	exportDealloc = "spice_dealloc"
	exportEntry   = "spice_transform"
)

var (
	allocType   = funcType{[]byte{typeI32}, []byte{typeI32}}
	deallocType = funcType{[]byte{typeI32, typeI32}, nil}
	arrowType   = funcType{[]byte{typeI32, typeI32, typeI32, typeI32}, []byte{typeI64}}
)

// valueColumn is the name of the column of a scalar function's result.
const valueColumn = "value"

// scalar calls a scalar function once for all rows: its input are the rows, its arguments
// one row without columns, and its output one column with a value for each row.
func (b *Body) scalar(ctx context.Context, batch arrow.RecordBatch) (arrow.Array, error) {
	columns, err := b.transform(ctx, batch, emptyRow)
	if err != nil {
		return nil, err
	}
	if got, want := columns[0].Len(), int(batch.NumRows()); got != want {
		return nil, fmt.Errorf("WASM function call '%s' returned %d rows for %d rows of input; it must return one for each",
			b.entrypoint, got, want)
	}
	return columns[0], nil
}

var (
	emptyRow  = array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 1)
	emptyRows = array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 0)
)

// perRow calls a function once for each row, as Spice does: its input are the rows of the
// table input, if there is one, and its arguments one row.
func (b *Body) perRow(ctx context.Context, batch arrow.RecordBatch) (arrow.Array, error) {
	n := int(batch.NumRows())
	values := make([]arrow.Array, n)
	offsets := make([]int32, 1, n+1)
	total := 0
	for row := range n {
		columns, err := b.callRow(ctx, batch, row)
		if err != nil {
			return nil, &body.Error{Row: row, Err: err}
		}
		if values[row] = columns[0]; b.spec.IsTable() {
			fields := b.spec.Returns.(*arrow.ListType).Elem().(*arrow.StructType)
			values[row] = structOf(fields, columns)
		}
		if total += values[row].Len(); total > maxResultRows {
			return nil, &body.Error{Row: row, Err: fmt.Errorf("the function returned more than %d rows", maxResultRows)}
		}
		offsets = append(offsets, int32(total))
	}
	all, err := array.Concatenate(values, memory.DefaultAllocator)
	if err != nil || !b.spec.IsTable() {
		return all, err
	}
	return array.NewListData(array.NewData(b.spec.Returns, n,
		[]*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets))},
		[]arrow.ArrayData{all.Data()}, 0, 0)), nil
}

// maxResultRows is how many rows the tables of a batch have at most.
const maxResultRows = 10_000_000

// structOf returns columns as the values of a struct.
func structOf(t *arrow.StructType, columns []arrow.Array) arrow.Array {
	children := make([]arrow.ArrayData, len(columns))
	for i, c := range columns {
		children[i] = c.Data()
	}
	return array.NewStructData(array.NewData(t, columns[0].Len(), []*memory.Buffer{nil}, children, 0, 0))
}

// callRow calls a function for a row. A scalar function may return no row, which is NULL.
func (b *Body) callRow(ctx context.Context, batch arrow.RecordBatch, row int) ([]arrow.Array, error) {
	input, args := emptyRows, batch.NewSlice(int64(row), int64(row)+1)
	defer args.Release()
	if b.tables == 1 {
		table, err := tableOf(args.Column(0))
		if err != nil {
			return nil, err
		}
		input, args = table, withoutFirst(args)
	}
	columns, err := b.transform(ctx, input, args)
	if err != nil || b.spec.IsTable() {
		return columns, err
	}
	switch n := columns[0].Len(); n {
	case 0:
		columns[0] = array.MakeArrayOfNull(memory.DefaultAllocator, b.spec.Returns, 1)
	case 1:
	default:
		return nil, fmt.Errorf("WASM function call '%s' returned %d rows; a scalar function must return one", b.entrypoint, n)
	}
	return columns, nil
}

// tableOf returns the rows of the first value of a list<struct>.
func tableOf(a arrow.Array) (arrow.RecordBatch, error) {
	list, ok := a.(*array.List)
	if !ok {
		return nil, fmt.Errorf("the table input has the type %s", a.DataType())
	}
	from, to := list.ValueOffsets(0)
	rows, ok := array.NewSlice(list.ListValues(), from, to).(*array.Struct)
	if !ok {
		return nil, fmt.Errorf("the table input has the type %s", a.DataType())
	}
	columns := make([]arrow.Array, rows.NumField())
	for i := range columns {
		columns[i] = rows.Field(i)
	}
	return array.NewRecordBatch(arrow.NewSchema(rows.DataType().(*arrow.StructType).Fields(), nil), columns, to-from), nil
}

// withoutFirst returns a batch without its first column.
func withoutFirst(batch arrow.RecordBatch) arrow.RecordBatch {
	return array.NewRecordBatch(arrow.NewSchema(batch.Schema().Fields()[1:], nil), batch.Columns()[1:], batch.NumRows())
}

// transform calls the entry point with two Arrow IPC streams and reads the one it returns.
func (b *Body) transform(ctx context.Context, input, args arrow.RecordBatch) (columns []arrow.Array, err error) {
	buf := streams.Get().(*bytes.Buffer)
	defer func() {
		if buf.Reset(); buf.Cap() <= maxPooled {
			streams.Put(buf)
		}
	}()
	if err := encode(buf, input); err != nil {
		return nil, err
	}
	size := buf.Len()
	if err := encode(buf, args); err != nil {
		return nil, err
	}
	in, arguments := buf.Bytes()[:size], buf.Bytes()[size:]
	err = b.with(ctx, b.config, func(ctx context.Context, i *instance) error {
		from, err := i.write(ctx, in)
		if err != nil {
			return err
		}
		argsFrom, err := i.write(ctx, arguments)
		if err != nil {
			return err
		}
		packed, err := i.call(ctx, b.entrypoint, from, uint64(len(in)), argsFrom, uint64(len(arguments)))
		if err != nil {
			return err
		}
		output, err := i.read(packed[0])
		if err != nil {
			return err
		}
		columns, err = readStream(output, b.results, b.spec.IsTable(), int(b.limits.memory))
		return err
	})
	return columns, err
}

// streams has buffers for the streams of calls, of at most maxPooled bytes.
var streams = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const maxPooled = 1 << 20

// encode appends a batch as an Arrow IPC stream.
func encode(to *bytes.Buffer, batch arrow.RecordBatch) error {
	if err := arrowipc.Encode(to, batch); err != nil {
		return fmt.Errorf("failed to serialize Arrow IPC stream for WASM function: %w", err)
	}
	return nil
}

// readStream reads an Arrow IPC stream that a module has made, with Spice's messages.
func readStream(data []byte, want []arrow.Field, named bool, limit int) ([]arrow.Array, error) {
	columns, err := arrowipc.Read(data, want, arrowipc.ReadOptions{Named: named, Limit: limit})
	var fault *arrowipc.Fault
	if !errors.As(err, &fault) {
		return columns, err
	}
	switch fault.Kind {
	case arrowipc.Damaged:
		err = fmt.Errorf("failed to decode Arrow IPC stream returned by WASM function: %w", err)
	case arrowipc.OtherTypes:
		err = fmt.Errorf("WASM function output schema does not match declared return schema: %w", err)
	case arrowipc.TooLarge:
		err = fmt.Errorf("the result is larger than the %d bytes that params.max_memory_bytes allows", limit)
	}
	return nil, err
}
