package flightsql

import (
	"bytes"
	"cmp"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// params makes parameters of row i of a batch: by the names of the columns,
// with $ before them or without, or by their order.
func (r *valueReader) params(batch arrow.RecordBatch, row int, named bool) (params engine.Params, err error) {
	defer func() {
		if recover() != nil { // wrong offsets are found when a value is read
			err = invalid("the parameters are not valid Arrow data")
		}
	}()
	if named {
		params.Named = make(map[string]any, batch.NumCols())
	}
	for i, column := range batch.Columns() {
		name := batch.ColumnName(i)
		param, err := r.item(name, column, row, 0)
		if err != nil {
			return engine.Params{}, invalid("parameter %q: %s", name, err)
		}
		if !named {
			params.Positional = append(params.Positional, param)
			continue
		}
		name = strings.TrimPrefix(name, "$")
		if _, twice := params.Named[name]; twice {
			return engine.Params{}, invalid("parameter %q is there twice", name)
		}
		params.Named[name] = param
	}
	return params, nil
}

// valueReader makes Go values of Arrow's, as [engine.Params] has them. They
// share no memory with it: where Arrow refers to a value many times, it is
// copied as often.
type valueReader struct {
	count       int // of the values read
	bytes, most int // that they take, and may take
}

// valueBytes is about what a value takes in addition to its text.
const valueBytes = 64

// take counts bytes.
func (r *valueReader) take(n int) error {
	if r.bytes += n; r.bytes > r.most {
		return fmt.Errorf("more than %d bytes", r.most)
	}
	return nil
}

// item is value i of an array, kept under a name.
func (r *valueReader) item(name string, a arrow.Array, i, depth int) (any, error) {
	if err := r.take(len(name)); err != nil {
		return nil, err
	}
	return r.value(a, i, depth)
}

// value is value i of an array, in lists of that depth.
func (r *valueReader) value(a arrow.Array, i, depth int) (any, error) {
	if r.count++; r.count > maxParams {
		return nil, fmt.Errorf("more than %d values", maxParams)
	}
	if err := r.take(valueBytes); err != nil {
		return nil, err
	}
	if depth > maxParamDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxParamDepth)
	}
	if a.IsNull(i) || a.DataType().ID() == arrow.NULL {
		return nil, nil
	}
	if v, ok := number(a, i); ok {
		return v, nil
	}
	if v, ok := a.(array.StringLike); ok {
		s := v.Value(i)
		return strings.Clone(s), r.take(len(s))
	}
	if v, err := temporal(a, i); v != nil || err != nil {
		return v, err
	}
	if b, ok := a.(interface{ Value(i int) []byte }); ok {
		v := bytes.Clone(b.Value(i))
		return v, r.take(len(v))
	}
	return r.nested(a, i, depth)
}

// number is a value of a type of numbers. What an int64 cannot hold keeps its
// digits.
func number(a arrow.Array, i int) (any, bool) {
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(i), true
	case *array.Int8:
		return int64(a.Value(i)), true
	case *array.Int16:
		return int64(a.Value(i)), true
	case *array.Int32:
		return int64(a.Value(i)), true
	case *array.Int64:
		return a.Value(i), true
	case *array.Uint8:
		return int64(a.Value(i)), true
	case *array.Uint16:
		return int64(a.Value(i)), true
	case *array.Uint32:
		return int64(a.Value(i)), true
	case *array.Uint64:
		return a.Value(i), true
	case *array.Float16:
		return float64(a.Value(i).Float32()), true
	case *array.Float32:
		return float64(a.Value(i)), true
	case *array.Float64:
		return a.Value(i), true
	case *array.Decimal32, *array.Decimal64:
		return value.Numeric(a.ValueStr(i)), true
	case *array.Decimal128:
		return decimal(a.Value(i), a), true
	case *array.Decimal256:
		return decimal(a.Value(i), a), true
	}
	return nil, false
}

// decimal is exact; Arrow's own text rounds to 38 digits.
func decimal(n interface{ BigInt() *big.Int }, a arrow.Array) value.Numeric {
	text := n.BigInt().String()
	if scale := a.DataType().(arrow.DecimalType).GetScale(); scale != 0 {
		text += "e" + strconv.Itoa(-int(scale))
	}
	return value.Numeric(text)
}

// temporal is a date, a time or an interval; nil for values of other types.
func temporal(a arrow.Array, i int) (any, error) {
	switch a := a.(type) {
	case *array.Date32:
		return value.Date(a.Value(i)), nil
	case *array.Date64:
		days, _ := value.FloorDiv(int64(a.Value(i)), (24 * time.Hour).Milliseconds())
		if days != int64(int32(days)) {
			return nil, fmt.Errorf("the date %d ms is out of range", a.Value(i))
		}
		return value.Date(days), nil
	case *array.Time32:
		n, err := micros(int64(a.Value(i)), a.DataType().(*arrow.Time32Type).Unit)
		return value.Time(n), cmp.Or(err, value.Time(n).Check())
	case *array.Time64:
		if a.DataType().(*arrow.Time64Type).Unit == arrow.Nanosecond {
			t := value.TimeNS(a.Value(i))
			return t, t.Check()
		}
		t := value.Time(a.Value(i))
		return t, t.Check()
	case *array.Timestamp:
		return timestamp(int64(a.Value(i)), a.DataType().(*arrow.TimestampType))
	case *array.Duration:
		n, err := micros(int64(a.Value(i)), a.DataType().(*arrow.DurationType).Unit)
		return value.Interval{Micros: n}, err
	case *array.MonthInterval:
		return value.Interval{Months: int32(a.Value(i))}, nil
	case *array.DayTimeInterval:
		v := a.Value(i)
		return value.Interval{Days: v.Days, Micros: int64(v.Milliseconds) * 1000}, nil
	case *array.MonthDayNanoInterval:
		v := a.Value(i)
		return value.Interval{Months: v.Months, Days: v.Days, Micros: v.Nanoseconds / 1000}, nil
	}
	return nil, nil
}

// timestamp is in UTC when Arrow's type has a time zone, whatever the zone.
func timestamp(n int64, t *arrow.TimestampType) (any, error) {
	if t.TimeZone == "" && t.Unit == arrow.Nanosecond {
		return value.TimestampNS(n), nil
	}
	at, err := micros(n, t.Unit)
	if t.TimeZone != "" {
		return value.TimestampTZ(at), err
	}
	return value.Timestamp(at), err
}

// micros converts a number of a unit to microseconds; infinite ones stay infinite.
func micros(n int64, unit arrow.TimeUnit) (int64, error) {
	out := value.Micros(n, int64(time.Second/unit.Multiplier()))
	if value.Infinite(out, value.Infinity) && out != n {
		return 0, fmt.Errorf("%d %s is out of range", n, unit)
	}
	return out, nil
}

// nested is a value made of others: a list, a struct, a map, or one that a
// dictionary, a union or an extension holds.
func (r *valueReader) nested(a arrow.Array, i, depth int) (any, error) {
	switch a := a.(type) {
	case *array.Map:
		return r.entries(a, i, depth)
	case array.ListLike:
		from, to := a.ValueOffsets(i)
		return r.list(a.ListValues(), from, to, depth)
	case *array.Struct:
		fields := a.DataType().(*arrow.StructType).Fields()
		out := make(map[string]any, len(fields))
		for f, field := range fields {
			v, err := r.item(field.Name, a.Field(f), i, depth+1)
			if err != nil {
				return nil, err
			}
			out[field.Name] = v
		}
		return out, nil
	case *array.Dictionary:
		return r.value(a.Dictionary(), a.GetValueIndex(i), depth+1)
	case *array.SparseUnion:
		return r.value(a.Field(a.ChildID(i)), i, depth+1)
	case *array.DenseUnion:
		return r.value(a.Field(a.ChildID(i)), int(a.ValueOffset(i)), depth+1)
	case array.ExtensionArray:
		return r.value(a.Storage(), i, depth+1)
	}
	return nil, fmt.Errorf("values of Arrow type %s are not supported", a.DataType())
}

func (r *valueReader) list(a arrow.Array, from, to int64, depth int) ([]any, error) {
	if to-from > int64(maxParams-r.count) {
		return nil, fmt.Errorf("more than %d values", maxParams)
	}
	out := make([]any, 0, max(to-from, 0))
	for i := from; i < to; i++ {
		v, err := r.value(a, int(i), depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// entries is a map. Its keys may be of any type.
func (r *valueReader) entries(a *array.Map, i, depth int) (any, error) {
	from, to := a.ValueOffsets(i)
	keys, err := r.list(a.Keys(), from, to, depth)
	if err != nil {
		return nil, err
	}
	values, err := r.list(a.Items(), from, to, depth)
	return value.Map{Keys: keys, Values: values}, err
}
