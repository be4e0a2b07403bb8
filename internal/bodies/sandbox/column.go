package sandbox

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// A column in a frame: one byte, its form; the numbers of nulls and of bytes, 32 bits
// each; the rows that are null, 32 bits each; the bytes. Integers are little-endian. The
// bytes are, by the kind of the type:
//
//	int, float   the values as Arrow has them; bool: a byte each
//	text, json   formJoined: the texts with a zero byte between
//	text, bytes  formOffsets: the end of each value, 32 bits, and then the values
//	others       a JSON array: dates in days, timestamps in their unit, decimals as text,
//	             bytes in base64, a struct as an object, a map as a list of {key, value}
const (
	formPlain   = 0
	formJoined  = 1
	formOffsets = 2
)

// appendColumn appends the column of an argument.
func appendColumn(buf []byte, t *typeSpec, values arrow.Array) []byte {
	head := len(buf)
	buf = append(buf, make([]byte, 9)...)
	nulls := 0
	if values.NullN() > 0 {
		for i := range values.Len() {
			if values.IsNull(i) {
				buf = binary.LittleEndian.AppendUint32(buf, uint32(i))
				nulls++
			}
		}
	}
	start := len(buf)
	var form byte
	form, buf = appendValues(buf, t, values)
	buf[head] = form
	binary.LittleEndian.PutUint32(buf[head+1:], uint32(nulls))
	binary.LittleEndian.PutUint32(buf[head+5:], uint32(len(buf)-start))
	return buf
}

func appendValues(buf []byte, t *typeSpec, values arrow.Array) (byte, []byte) {
	switch values := values.(type) {
	case *array.Boolean:
		for i := range values.Len() {
			if values.IsValid(i) && values.Value(i) {
				buf = append(buf, 1)
			} else {
				buf = append(buf, 0)
			}
		}
		return formPlain, buf
	case *array.String:
		return appendTexts(buf, values)
	case *array.Binary:
		return formOffsets, appendParts(buf, values.Len(), values.ValueLen, func(i int) string {
			return values.ValueString(i)
		})
	case *array.Dictionary:
		if words, ok := values.Dictionary().(*array.String); ok {
			texts := array.NewStringBuilder(allocator)
			defer texts.Release()
			for i := range values.Len() {
				if values.IsNull(i) {
					texts.AppendNull()
				} else {
					texts.Append(words.Value(values.GetValueIndex(i)))
				}
			}
			list := texts.NewStringArray()
			defer list.Release()
			return appendTexts(buf, list)
		}
	}
	if t.Code != "" {
		return formPlain, append(buf, fixedBytes(values)...)
	}
	buf = append(buf, '[')
	for i := range values.Len() {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = appendJSON(buf, values, i)
	}
	return formPlain, append(buf, ']')
}

// fixedBytes are the bytes of values of fixed width.
func fixedBytes(values arrow.Array) []byte {
	data := values.Data()
	width := data.DataType().(arrow.FixedWidthDataType).Bytes()
	return data.Buffers()[1].Bytes()[data.Offset()*width : (data.Offset()+data.Len())*width]
}

// appendTexts joins the texts, unless one has a zero byte. Nulls are empty.
func appendTexts(buf []byte, values *array.String) (byte, []byte) {
	start := len(buf)
	for i := range values.Len() {
		if i > 0 {
			buf = append(buf, 0)
		}
		if values.IsValid(i) {
			buf = append(buf, values.Value(i)...)
		}
	}
	if bytes.Count(buf[start:], []byte{0}) == values.Len()-1 {
		return formJoined, buf
	}
	return formOffsets, appendParts(buf[:start], values.Len(), values.ValueLen, values.Value)
}

func appendParts(buf []byte, n int, size func(int) int, value func(int) string) []byte {
	end := 0
	for i := range n {
		end += size(i)
		buf = binary.LittleEndian.AppendUint32(buf, uint32(end))
	}
	for i := range n {
		buf = append(buf, value(i)...)
	}
	return buf
}

// appendJSON appends one value in the form of a column of JSON.
func appendJSON(buf []byte, values arrow.Array, i int) []byte {
	if values.IsNull(i) {
		return append(buf, "null"...)
	}
	switch v := values.(type) {
	case *array.Date32:
		return strconv.AppendInt(buf, int64(v.Value(i)), 10)
	case *array.Timestamp:
		return strconv.AppendInt(buf, int64(v.Value(i)), 10)
	case *array.Time64:
		return strconv.AppendInt(buf, int64(v.Value(i)), 10)
	case *array.Binary:
		return appendQuoted(buf, base64.StdEncoding.EncodeToString(v.Value(i)))
	case *array.String:
		return appendQuoted(buf, v.Value(i))
	case *array.Float32, *array.Float64:
		return appendQuoted(buf, v.ValueStr(i))
	case *array.Boolean, *array.Int8, *array.Int16, *array.Int32, *array.Int64, *array.Uint8, *array.Uint16, *array.Uint32,
		*array.Uint64:
		return append(buf, v.ValueStr(i)...)
	case *array.Struct:
		buf = append(buf, '{')
		fields := v.DataType().(*arrow.StructType).Fields()
		for f := range fields {
			if f > 0 {
				buf = append(buf, ',')
			}
			buf = append(appendQuoted(buf, fields[f].Name), ':')
			buf = appendJSON(buf, v.Field(f), i)
		}
		return append(buf, '}')
	case *array.Map:
		from, to := v.ValueOffsets(i)
		buf = append(buf, '[')
		for j := int(from); j < int(to); j++ {
			if j > int(from) {
				buf = append(buf, ',')
			}
			buf = appendJSON(append(buf, `{"key":`...), v.Keys(), j)
			buf = append(appendJSON(append(buf, `,"value":`...), v.Items(), j), '}')
		}
		return append(buf, ']')
	case array.ListLike:
		from, to := v.ValueOffsets(i)
		buf = append(buf, '[')
		for j := int(from); j < int(to); j++ {
			if j > int(from) {
				buf = append(buf, ',')
			}
			buf = appendJSON(buf, v.ListValues(), j)
		}
		return append(buf, ']')
	case *array.MonthDayNanoInterval:
		text, _ := json.Marshal(v.Value(i))
		return append(buf, text...)
	}
	return appendQuoted(buf, values.ValueStr(i)) // decimals and enums
}

func appendQuoted(buf []byte, s string) []byte {
	text, _ := json.Marshal(s)
	return append(buf, text...)
}

// column is a column of a reply, whose writer is not trusted.
type column struct {
	form  byte
	nulls []byte
	data  []byte
}

// parseColumn takes a reply of one column apart.
func parseColumn(reply []byte, rows int) (column, error) {
	if len(reply) < 9 {
		return column{}, errReply("it is too short")
	}
	c := column{form: reply[0]}
	nulls, size := int64(binary.LittleEndian.Uint32(reply[1:])), int64(binary.LittleEndian.Uint32(reply[5:]))
	if nulls > int64(rows) || 9+4*nulls+size != int64(len(reply)) {
		return column{}, errReply("its sizes do not fit")
	}
	c.nulls, c.data = reply[9:9+4*nulls], reply[9+4*nulls:]
	return c, nil
}

// valid returns which rows are not null; nil: all.
func (c column) valid(rows int) ([]bool, error) {
	if len(c.nulls) == 0 {
		return nil, nil
	}
	valid := make([]bool, rows)
	for i := range valid {
		valid[i] = true
	}
	for at := 0; at < len(c.nulls); at += 4 {
		row := binary.LittleEndian.Uint32(c.nulls[at:])
		if int64(row) >= int64(rows) {
			return nil, errReply("a null row is out of range")
		}
		valid[row] = false
	}
	return valid, nil
}

// errReply is the error of a reply that no worker sends whose code leaves the frames alone.
func errReply(what string) error { return fmt.Errorf("the worker's reply is damaged: %s", what) }

// asBytes views words as bytes.
func asBytes(words []uint64) []byte {
	if len(words) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))
}
