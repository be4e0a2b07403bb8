package arrowjson

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// decoder reads a value that is not null and appends it.
type decoder func(s *scanner, b array.Builder) error

// read reads a value and appends it.
func (f *Form) read(s *scanner, b array.Builder) error {
	if s.peek() == 'n' {
		s.skip()
		b.AppendNull()
		return nil
	}
	from := s.at
	err := f.decode(s, b)
	if errors.Is(err, errNoList) || errors.Is(err, errNoObject) || errors.Is(err, errValue) {
		at := scanner{data: s.data, at: from}
		err = fmt.Errorf("%s is not a valid %s", show(at.skip()), f.Type)
	}
	return err
}

// errValue is replaced by an error that shows the value and the type.
var errValue = errors.New("not a value of the type")

func show(raw []byte) string { return truncate.Line(string(raw), 60) }

// ValueError is what is wrong with one value of a list.
type ValueError struct {
	Index int
	Err   error
}

// Error returns the message.
func (e *ValueError) Error() string { return fmt.Sprintf("value %d: %s", e.Index, e.Err) }

// Unwrap returns the cause.
func (e *ValueError) Unwrap() error { return e.Err }

// Array reads a list of about n values, which is valid JSON. An error is a [*ValueError], or
// that it is no list.
func (f *Form) Array(list []byte, n int) (arrow.Array, error) {
	b := f.NewBuilder()
	defer b.Release()
	b.Reserve(n)
	s := &scanner{data: list}
	err := s.elements(func() error {
		n := b.Len()
		if err := f.read(s, b); err != nil {
			return &ValueError{n, err}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return b.NewArray(), nil
}

// Read reads a value, which is valid JSON, and appends it to a builder of [Form.NewBuilder].
func (f *Form) Read(raw []byte, b array.Builder) error { return f.read(&scanner{data: raw}, b) }

// Elements is the number of elements of a list, which is valid JSON.
func Elements(list []byte) (n int, err error) {
	s := &scanner{data: list}
	err = s.elements(func() error {
		s.skip()
		n++
		return nil
	})
	return n, err
}

// NewBuilder returns a builder of values of the type.
func (f *Form) NewBuilder() array.Builder {
	return array.NewBuilder(memory.DefaultAllocator, f.Arrow)
}

func simpleDecoder(t *engine.Type) (decoder, error) {
	switch t.ID {
	case engine.Boolean:
		return readBool, nil
	case engine.Float, engine.Double:
		return readFloat, nil
	case engine.Decimal:
		return decimalDecoder(t), nil
	case engine.Varchar:
		if t.JSON {
			return readJSON, nil
		}
		return readText, nil
	case engine.Blob:
		return readHex, nil
	}
	parsed, err := functions.ParseType(t.String())
	if err != nil {
		return nil, err
	}
	return func(s *scanner, b array.Builder) error {
		raw := s.skip()
		if fast(raw, b) {
			return nil
		}
		var given any = json.Number(raw)
		switch raw[0] {
		case '"':
			given = unquote(raw)
		case '{', '[', 't', 'f':
			return errValue
		}
		v, err := parsed.Value(given)
		if err != nil {
			return err
		}
		return store(t, v, b)
	}, nil
}

// fast appends a whole number in its plain form.
func fast(raw []byte, b array.Builder) bool {
	switch b := b.(type) {
	case *array.Int64Builder:
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err == nil {
			b.Append(n)
		}
		return err == nil
	case *array.Int32Builder:
		n, err := strconv.ParseInt(string(raw), 10, 32)
		if err == nil {
			b.Append(int32(n))
		}
		return err == nil
	}
	return false
}

func readBool(s *scanner, b array.Builder) error {
	switch raw := s.skip(); raw[0] {
	case 't', 'f':
		b.(*array.BooleanBuilder).Append(raw[0] == 't')
		return nil
	}
	return errValue
}

// readFloat takes numbers, also as text, and the texts NaN, Infinity and -Infinity.
func readFloat(s *scanner, b array.Builder) error {
	raw := s.skip()
	text := string(raw)
	if raw[0] == '"' {
		text = strings.TrimSpace(unquote(raw))
	}
	bits := 64
	single, isSingle := b.(*array.Float32Builder)
	if isSingle {
		bits = 32
	}
	f, err := strconv.ParseFloat(text, bits)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%s is out of the range of %s", show(raw), [...]string{32: "float32", 64: "float64"}[bits])
	case err != nil:
		return errValue
	case isSingle:
		single.Append(float32(f))
	default:
		b.(*array.Float64Builder).Append(f)
	}
	return nil
}

func decimalDecoder(t *engine.Type) decoder {
	return func(s *scanner, b array.Builder) error {
		raw := s.skip()
		text := string(raw)
		if raw[0] == '"' {
			text = strings.TrimSpace(unquote(raw))
		}
		if _, ok := value.Rational(text); !ok {
			return errValue
		}
		n, err := value.ParseDecimal(text, t.Width, t.Scale)
		if err == nil {
			b.(*array.Decimal128Builder).Append(decimal128.New(n.High, n.Low))
		}
		return err
	}
}

func readText(s *scanner, b array.Builder) error {
	raw := s.skip()
	if raw[0] != '"' {
		return errValue
	}
	b.(*array.StringBuilder).Append(unquote(raw))
	return nil
}

// readJSON takes any value as the text of a JSON column.
func readJSON(s *scanner, b array.Builder) error {
	var line bytes.Buffer
	if err := json.Compact(&line, s.skip()); err != nil {
		return err
	}
	b.(*array.StringBuilder).Append(strings.ToValidUTF8(line.String(), "\uFFFD"))
	return nil
}

func readHex(s *scanner, b array.Builder) error {
	raw := s.skip()
	if raw[0] != '"' {
		return errValue
	}
	data, err := hex.DecodeString(unquote(raw))
	if err != nil {
		return fmt.Errorf("%s is not hexadecimal text, which is the form of binary data", show(raw))
	}
	b.(*array.BinaryBuilder).Append(data)
	return nil
}

func readBase64(s *scanner, b array.Builder) error {
	raw := s.skip()
	if raw[0] != '"' {
		return errValue
	}
	data, err := base64.StdEncoding.DecodeString(unquote(raw))
	if err != nil {
		return fmt.Errorf("%s is not base64 text, which is the form of binary data", show(raw))
	}
	b.(*array.BinaryBuilder).Append(data)
	return nil
}

// store appends a value of [functions.Type.Value].
func store(t *engine.Type, v any, b array.Builder) error {
	switch b := b.(type) {
	case *array.Int8Builder:
		b.Append(int8(v.(int64)))
	case *array.Int16Builder:
		b.Append(int16(v.(int64)))
	case *array.Int32Builder:
		b.Append(int32(v.(int64)))
	case *array.Int64Builder:
		b.Append(v.(int64))
	case *array.Uint8Builder:
		b.Append(uint8(v.(int64)))
	case *array.Uint16Builder:
		b.Append(uint16(v.(int64)))
	case *array.Uint32Builder:
		b.Append(uint32(v.(int64)))
	case *array.Uint64Builder:
		b.Append(v.(uint64))
	case *array.Decimal128Builder: // HUGEINT
		n, err := value.ParseDecimal(v.(string), value.MaxDigits, 0)
		if err != nil {
			return err
		}
		b.Append(decimal128.New(n.High, n.Low))
	case *array.StringBuilder:
		b.Append(v.(string))
	case *array.Date32Builder:
		b.Append(arrow.Date32(v.(value.Date)))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(count(t, v)))
	case *array.Time64Builder:
		at, err := arrow.Time64FromString(v.(string), b.Type().(*arrow.Time64Type).Unit)
		if err != nil {
			return errValue
		}
		b.Append(at)
	case *array.MonthDayNanoIntervalBuilder:
		i := v.(value.Interval)
		const most = 1<<63 - 1
		if i.Micros > most/1000 || i.Micros < -most/1000 {
			return errors.New("the interval is longer than Arrow can hold")
		}
		b.Append(arrow.MonthDayNanoInterval{Months: i.Months, Days: i.Days, Nanoseconds: i.Micros * 1000})
	default:
		return errValue
	}
	return nil
}

// count is a timestamp in the unit of its type.
func count(t *engine.Type, v any) int64 {
	var micros int64
	switch v := v.(type) {
	case value.TimestampNS:
		return int64(v)
	case value.Timestamp:
		micros = int64(v)
	case value.TimestampTZ:
		micros = int64(v)
	}
	if value.Infinite(micros, value.Infinity) {
		return micros
	}
	switch t.ID {
	case engine.TimestampS:
		micros, _ = value.FloorDiv(micros, 1e6)
	case engine.TimestampMS:
		micros, _ = value.FloorDiv(micros, 1e3)
	}
	return micros
}
