package wasm

import (
	"context"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/tetratelabs/wazero/api"

	"github.com/spiced-sql/spiced/internal/bodies/body"
)

// numberTypes are the types of values that are numbers of WebAssembly, too.
var numberTypes = map[arrow.Type]byte{
	arrow.BOOL: typeI32, arrow.INT8: typeI32, arrow.INT16: typeI32, arrow.INT32: typeI32,
	arrow.UINT8: typeI32, arrow.UINT16: typeI32, arrow.UINT32: typeI32,
	arrow.INT64: typeI64, arrow.UINT64: typeI64, arrow.FLOAT32: typeF32, arrow.FLOAT64: typeF64,
}

// directType returns the type of a function that takes and returns the values themselves.
func directType(spec body.Spec) (t funcType, ok bool) {
	result, ok := numberTypes[spec.Returns.ID()]
	t.results = []byte{result}
	for _, f := range spec.Args.Fields() {
		param, known := numberTypes[f.Type.ID()]
		t.params, ok = append(t.params, param), ok && known
	}
	return t, ok
}

// direct calls a function that takes and returns numbers, once for each row. A row with a
// NULL is NULL without a call.
func (b *Body) direct(ctx context.Context, batch arrow.RecordBatch) (result arrow.Array, err error) {
	n := int(batch.NumRows())
	out := newNumbers(b.spec.Returns, n)
	columns := make([]func(int) uint64, batch.NumCols())
	var nullable []arrow.Array
	for i := range columns {
		a := batch.Column(i)
		if columns[i] = load(a); columns[i] == nil {
			return nil, fmt.Errorf("argument %q has the type %s", b.spec.Args.Field(i).Name, a.DataType())
		}
		if a.NullN() > 0 {
			nullable = append(nullable, a)
		}
	}
	err = b.with(ctx, b.config, func(ctx context.Context, i *instance) error {
		f := i.module.ExportedFunction(b.entrypoint)
		stack := make([]uint64, max(1, len(columns)))
	rows:
		for row := range n {
			for _, a := range nullable {
				if a.IsNull(row) {
					out.null(row)
					continue rows
				}
			}
			for c, value := range columns {
				stack[c] = value(row)
			}
			if err := f.CallWithStack(ctx, stack); err != nil {
				return &body.Error{Row: row, Err: i.failed(b.entrypoint, err)}
			}
			if err := out.set(row, stack[0]); err != nil {
				return &body.Error{Row: row, Err: err}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out.array(), nil
}

// load returns a function that returns a value of an array as WebAssembly has it.
func load(a arrow.Array) func(i int) uint64 {
	switch a := a.(type) {
	case *array.Boolean:
		return func(i int) uint64 {
			if a.Value(i) {
				return 1
			}
			return 0
		}
	case *array.Int8:
		return func(i int) uint64 { return api.EncodeI32(int32(a.Value(i))) }
	case *array.Int16:
		return func(i int) uint64 { return api.EncodeI32(int32(a.Value(i))) }
	case *array.Int32:
		return func(i int) uint64 { return api.EncodeI32(a.Value(i)) }
	case *array.Uint8:
		return func(i int) uint64 { return uint64(a.Value(i)) }
	case *array.Uint16:
		return func(i int) uint64 { return uint64(a.Value(i)) }
	case *array.Uint32:
		return func(i int) uint64 { return uint64(a.Value(i)) }
	case *array.Int64:
		return func(i int) uint64 { return uint64(a.Value(i)) }
	case *array.Uint64:
		return func(i int) uint64 { return a.Value(i) }
	case *array.Float32:
		return func(i int) uint64 { return api.EncodeF32(a.Value(i)) }
	case *array.Float64:
		return func(i int) uint64 { return api.EncodeF64(a.Value(i)) }
	}
	return nil
}

// numbers are the results of calls.
type numbers struct {
	typ    arrow.DataType
	n      int
	valid  []byte // nil if no value is NULL
	values []byte
	set    func(i int, bits uint64) error
}

func newNumbers(t arrow.DataType, n int) *numbers {
	bits := t.(arrow.FixedWidthDataType).BitWidth()
	o := &numbers{typ: t, n: n, values: make([]byte, (n*bits+63)/64*8)}
	switch t.ID() {
	case arrow.BOOL:
		o.set = func(i int, bits uint64) error {
			if uint32(bits) != 0 {
				o.values[i/8] |= 1 << (i % 8)
			}
			return nil
		}
	case arrow.INT8:
		o.set = setter(o, arrow.Int8Traits.CastFromBytes, func(v int32) bool {
			return v >= math.MinInt8 && v <= math.MaxInt8
		})
	case arrow.INT16:
		o.set = setter(o, arrow.Int16Traits.CastFromBytes, func(v int32) bool {
			return v >= math.MinInt16 && v <= math.MaxInt16
		})
	case arrow.UINT8:
		o.set = setter(o, arrow.Uint8Traits.CastFromBytes, func(v int32) bool { return v >= 0 && v <= math.MaxUint8 })
	case arrow.UINT16:
		o.set = setter(o, arrow.Uint16Traits.CastFromBytes, func(v int32) bool { return v >= 0 && v <= math.MaxUint16 })
	case arrow.INT32, arrow.UINT32, arrow.FLOAT32:
		values := arrow.Uint32Traits.CastFromBytes(o.values)
		o.set = func(i int, bits uint64) error { values[i] = uint32(bits); return nil }
	default:
		values := arrow.Uint64Traits.CastFromBytes(o.values)
		o.set = func(i int, bits uint64) error { values[i] = bits; return nil }
	}
	return o
}

// setter returns a function that sets a value that is narrower than those of WebAssembly.
func setter[T int8 | int16 | uint8 | uint16](o *numbers, cast func([]byte) []T,
	fits func(int32) bool,
) func(int, uint64) error {
	values := cast(o.values)
	return func(i int, bits uint64) error {
		v := int32(uint32(bits))
		if !fits(v) {
			return fmt.Errorf("the function returned %d, which is not a value of the type %s", v, o.typ)
		}
		values[i] = T(v)
		return nil
	}
}

// null makes a value NULL.
func (o *numbers) null(i int) {
	if o.valid == nil {
		o.valid = make([]byte, (o.n+63)/64*8)
		for j := range o.valid {
			o.valid[j] = 0xFF
		}
	}
	o.valid[i/8] &^= 1 << (i % 8)
}

func (o *numbers) array() arrow.Array {
	var valid *memory.Buffer
	nulls := 0
	if o.valid != nil {
		valid, nulls = memory.NewBufferBytes(o.valid), array.UnknownNullCount
	}
	return array.MakeFromData(array.NewData(o.typ, o.n, []*memory.Buffer{valid, memory.NewBufferBytes(o.values)},
		nil, nulls, 0))
}
