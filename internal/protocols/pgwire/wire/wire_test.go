package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

func codeOf(err error) string {
	if e, ok := errors.AsType[*sqlstate.Error](err); ok {
		return e.Code
	}
	return sqlstate.Internal
}

func FuzzParameter(f *testing.F) {
	f.Add(uint32(pgtype.NumericOID), int16(1), []byte{0, 2, 0, 0, 0x40, 0, 0, 2, 0, 12, 0x0d, 0x48})
	f.Add(uint32(pgtype.Int4ArrayOID), int16(1),
		[]byte("\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x17\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x04\x00\x00\x00\x07"))
	f.Add(uint32(pgtype.TextArrayOID), int16(0), []byte(`{a,"b\"",{NULL}}`))
	f.Add(uint32(pgtype.ByteaOID), int16(0), []byte(`\x00ff`))
	f.Add(uint32(pgtype.IntervalOID), int16(1), make([]byte, 16))
	f.Add(uint32(pgtype.IntervalOID), int16(0), []byte("1 year -2 mons +04:05:06.7"))
	f.Add(uint32(pgtype.IntervalOID), int16(0), []byte("P1Y2M3DT4H5M6S"))
	f.Add(uint32(pgtype.DateArrayOID), int16(0), []byte(`{"0044-03-15 BC"}`))
	f.Add(uint32(pgtype.TimetzOID), int16(1), []byte("\xff\xff\xff\xff\xff\xff\xff\xff\x80\x00\x00\x00"))
	f.Add(uint32(pgtype.DateOID), int16(1), []byte{0x80, 0, 0, 1})
	f.Add(uint32(pgtype.VarbitOID), int16(1), []byte{0, 0, 0, 9, 0xaa, 0x80})
	f.Fuzz(func(t *testing.T, oid uint32, format int16, data []byte) {
		v, err := decode(oid, format&1, data)
		if err != nil {
			if codeOf(err) == sqlstate.Internal {
				t.Fatal(err)
			}
			return
		}
		if n, ok := v.(value.Numeric); ok && strings.Trim(string(n), "0123456789+-.eE") != "" {
			t.Fatalf("%q is no number", n)
		}
	})
}

func TestDecodeNumeric(t *testing.T) {
	for _, tt := range []struct {
		high, low uint64
		negative  bool
		scale     int
		want      string
	}{
		{0, 0, false, 0, "0"},
		{0, 0, false, 3, "0.000"},
		{0, 1, true, 5, "-0.00001"},
		{0, 10_000, false, 0, "10000"},
		{0, 10_000, false, 4, "1.0000"},
		{0, 123_456_789, false, 2, "1234567.89"},
		{0, 100_000_000, false, 0, "100000000"},
		{math.MaxUint64, math.MaxUint64, false, 0, "340282366920938463463374607431768211455"},
		{math.MaxUint64 >> 1, math.MaxUint64, true, 38, "-1.70141183460469231731687303715884105727"},
	} {
		got, err := decodeNumeric(binaryNumeric(nil, tt.high, tt.low, tt.negative, tt.scale))
		if err != nil || got != value.Numeric(tt.want) {
			t.Errorf("binary: got %v, %v; want %s", got, err, tt.want)
		}
		if again := numericOfText(nil, tt.want); !bytes.Equal(again, binaryNumeric(nil, tt.high, tt.low, tt.negative, tt.scale)) {
			t.Errorf("%s as text: got %x", tt.want, again)
		}
		text := value.AppendUnsigned(nil, tt.high, tt.low, tt.scale)
		if string(text) != strings.TrimPrefix(tt.want, "-") {
			t.Errorf("text: got %s, want %s", text, tt.want)
		}
	}
}

// TestDatesInArrays: DuckDB parses all elements if it must parse one.
func TestDatesInArrays(t *testing.T) {
	for text, want := range map[string][]any{
		"{1970-01-02,NULL,-infinity}": {value.Date(1), nil, value.Date(-value.DateInfinity)},
		"{1970-01-02,epoch}":          {"1970-01-02", "epoch"},
	} {
		got, err := decode(pgtype.DateArrayOID, FormatText, []byte(text))
		if list, _ := got.([]any); err != nil || !slices.Equal(list, want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// TestTextsThatDuckDBParses has times with more than a value of their type keeps.
func TestTextsThatDuckDBParses(t *testing.T) {
	for text, want := range map[string]any{
		"2024-02-29 12:30:00.123456":    value.Timestamp(1709209800123456),
		"2024-02-29":                    value.Timestamp(1709164800000000),
		"2024-02-29 12:30:00.123456789": "2024-02-29 12:30:00.123456789",
		"2024-02-29 12:30:00+02":        "2024-02-29 12:30:00+02",
		"2024-02-29T12:30:00Z":          "2024-02-29T12:30:00Z",
	} {
		if got, err := decode(pgtype.TimestampOID, FormatText, []byte(text)); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if got, err := decode(pgtype.TimestamptzOID, FormatText, []byte("2024-02-29 12:30:00-00:00:01")); err != nil || got != value.TimestampTZ(1709209801000000) {
		t.Errorf("an offset of a second: %v, %v", got, err)
	}
}

// TestOutOfRange has what DuckDB has no value for.
func TestOutOfRange(t *testing.T) {
	number := func(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }
	for _, c := range []struct {
		oid    uint32
		format int16
		data   []byte
		want   string
	}{
		{pgtype.TimeOID, FormatBinary, number(1 << 62), "are not a time of day"},
		{pgtype.TimeOID, FormatBinary, number(-1), "are not a time of day"},
		{pgtype.TimetzOID, FormatBinary, binary.BigEndian.AppendUint32(number(0), 86400), "an offset from UTC"},
		{pgtype.TimestamptzOID, FormatBinary, number(math.MaxInt64 - 1), "is out of range"},
		{pgtype.IntervalOID, FormatBinary, append(number(math.MaxInt64), "\x7f\xff\xff\xff\x7f\xff\xff\xff"...), "no infinite interval"},
		{pgtype.TimeArrayOID, FormatBinary, append([]byte("\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04\x3b\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x08"),
			number(-1)...), "are not a time of day"},
		{
			pgtype.Int4ArrayOID, FormatBinary, []byte("\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x17\x00\x00\x00\x01\x00\x00\x00\x02\xff\xff\xff\xff"),
			"first element is not number 1",
		},
		{pgtype.Int4ArrayOID, FormatText, []byte("[0:1]={1,2}"), "first element is not number 1"},
		{pgtype.Int4ArrayOID, FormatText, []byte("[1:1][2:3]={{1,2}}"), "first element is not number 1"},
	} {
		if got, err := decode(c.oid, c.format, c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, %v; want %s", c.data, got, err, c.want)
		}
	}
	if got, err := decode(pgtype.Int4ArrayOID, FormatText, []byte("[1:2]={1,2}")); err != nil || !slices.Equal(got.([]any), []any{int64(1), int64(2)}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestHeldParameters counts what is held of parameters that grow when they are
// read.
func TestHeldParameters(t *testing.T) {
	bits := append([]byte{0, 0, 0x1f, 0x40}, make([]byte, 1000)...)
	nulls := append([]byte{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 23, 0, 0, 0, 100, 0, 0, 0, 1}, bytes.Repeat([]byte{0xff}, 400)...)
	for _, tt := range []struct {
		oid   uint32
		data  []byte
		least int
	}{{pgtype.VarbitOID, bits, 8000}, {pgtype.Int4ArrayOID, nulls, 1600}, {pgtype.ByteaOID, bits, 1000}, {pgtype.TextOID, nil, 1}} {
		_, size, err := Params([]uint32{tt.oid}, []int16{FormatBinary}, [][]byte{tt.data})
		if err != nil || size < tt.least || size > 2*len(tt.data)+tt.least+100 {
			t.Errorf("type %d: %d bytes, %v; want %d", tt.oid, size, err, tt.least)
		}
	}
}

// Parameters that would grow too much are refused before they do.
func TestParametersThatGrow(t *testing.T) {
	array := func(n uint32, data []byte, lengths ...uint32) []byte {
		buf := []byte{0, 0, 0, byte(len(lengths) + 1), 0, 0, 0, 1, 0, 0, 0, 23}
		for _, n := range append([]uint32{n}, lengths...) {
			buf = append(binary.BigEndian.AppendUint32(buf, n), 0, 0, 0, 1)
		}
		return append(buf, data...)
	}
	large := make([]byte, 32<<20)
	bits := binary.BigEndian.AppendUint32(nil, uint32(8*len(large)))
	nulls := bytes.Repeat([]byte{0xff}, len(large))
	half := bytes.Repeat([]byte{0xff}, len(large)/2)
	for name, tt := range map[string]struct {
		oid    uint32
		format int16
		params [][]byte
	}{
		"bits":         {pgtype.VarbitOID, FormatBinary, [][]byte{append(bits, large...)}},
		"NULLs":        {pgtype.Int4ArrayOID, FormatBinary, [][]byte{array(uint32(len(nulls)/4), nulls)}},
		"deep NULLs":   {pgtype.Int4ArrayOID, FormatBinary, [][]byte{array(uint32(len(half)/4), half, 1, 1, 1, 1, 1)}},
		"empty arrays": {pgtype.Int4ArrayOID, FormatBinary, [][]byte{array(uint32(len(nulls)), nulls, 0)}},
		"arrays":       {pgtype.Int4ArrayOID, FormatText, [][]byte{[]byte("{{}" + strings.Repeat(",{}", len(large)/3))}},
		"several": {
			pgtype.Int4ArrayOID, FormatBinary,
			[][]byte{array(uint32(len(half)/5), half[:len(half)/5*4]), array(uint32(len(half)/5), half[:len(half)/5*4])},
		},
	} {
		_, _, err := Params(slices.Repeat([]uint32{tt.oid}, len(tt.params)), []int16{tt.format}, tt.params)
		if err == nil || codeOf(err) != sqlstate.Limit {
			t.Errorf("%s: %v", name, err)
		}
	}
}
