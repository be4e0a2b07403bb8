package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/spiced-sql/spiced/internal/kit/plural"
)

var allocator = memory.NewGoAllocator()

func decode(reply []byte, t *typeSpec, dt arrow.DataType, rows int) (values arrow.Array, err error) {
	defer func() {
		if v := recover(); v != nil { // of the decoder of JSON
			values, err = nil, errReply(fmt.Sprint(v))
		}
	}()
	c, err := parseColumn(reply, rows)
	if err != nil {
		return nil, err
	}
	valid, err := c.valid(rows)
	if err != nil {
		return nil, err
	}
	switch {
	case t.Code != "":
		return c.fixed(dt, rows, valid)
	case t.Kind == "bool":
		return c.bools(rows, valid)
	case dt.ID() == arrow.STRING:
		return c.texts(rows, valid)
	case dt.ID() == arrow.BINARY:
		return c.blobs(rows, valid)
	case dt.ID() == arrow.DICTIONARY:
		return nil, errReply("an enum cannot be a result")
	}
	values, _, err = array.FromJSON(allocator, dt, bytes.NewReader(c.data))
	if err != nil {
		return nil, errReply(err.Error())
	}
	if values.Len() != rows {
		n := values.Len()
		values.Release()
		return nil, errReply(plural.Of(n, "value") + " for " + plural.Of(rows, "row"))
	}
	return values, nil
}

// fixed returns numbers.
func (c column) fixed(dt arrow.DataType, rows int, valid []bool) (arrow.Array, error) {
	width := dt.(arrow.FixedWidthDataType).Bytes()
	if c.form != formPlain || len(c.data) != width*rows {
		return nil, errReply("it has another number of values")
	}
	var bitmap *memory.Buffer
	nulls := 0
	if valid != nil {
		bits := make([]byte, (rows+7)/8)
		for i, ok := range valid {
			if ok {
				bits[i/8] |= 1 << (i % 8)
			} else {
				nulls++
			}
		}
		bitmap = memory.NewBufferBytes(bits)
	}
	data := array.NewData(dt, rows, []*memory.Buffer{bitmap, memory.NewBufferBytes(aligned(c.data))}, nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data), nil
}

// aligned copies bytes to where values of 8 bytes may be.
func aligned(data []byte) []byte {
	words := make([]uint64, (len(data)+7)/8)
	out := asBytes(words)[:len(data)]
	copy(out, data)
	return out
}

func (c column) bools(rows int, valid []bool) (arrow.Array, error) {
	if c.form != formPlain || len(c.data) != rows {
		return nil, errReply("it has another number of values")
	}
	b := array.NewBooleanBuilder(allocator)
	defer b.Release()
	b.Reserve(rows)
	for i, v := range c.data {
		if valid != nil && !valid[i] {
			b.AppendNull()
		} else {
			b.Append(v != 0)
		}
	}
	return b.NewArray(), nil
}

func (c column) texts(rows int, valid []bool) (arrow.Array, error) {
	if !utf8.Valid(c.data) && c.form == formJoined {
		return nil, errReply("a text is not UTF-8")
	}
	b := array.NewStringBuilder(allocator)
	defer b.Release()
	b.Reserve(rows)
	b.ReserveData(len(c.data))
	err := c.each(rows, func(i int, part []byte) error {
		switch {
		case valid != nil && !valid[i]:
			b.AppendNull()
		case c.form == formOffsets && !utf8.Valid(part):
			return errReply("a text is not UTF-8")
		default:
			b.BinaryBuilder.Append(part)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return b.NewArray(), nil
}

func (c column) blobs(rows int, valid []bool) (arrow.Array, error) {
	b := array.NewBinaryBuilder(allocator, arrow.BinaryTypes.Binary)
	defer b.Release()
	b.Reserve(rows)
	b.ReserveData(len(c.data))
	err := c.each(rows, func(i int, part []byte) error {
		if valid != nil && !valid[i] {
			b.AppendNull()
		} else {
			b.Append(part)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return b.NewArray(), nil
}

// each calls add with each value of a column of texts or bytes.
func (c column) each(rows int, add func(i int, part []byte) error) error {
	switch c.form {
	case formJoined:
		return eachJoined(c.data, rows, add)
	case formOffsets:
		return eachPart(c.data, rows, add)
	}
	return errReply("its form is unknown")
}

func eachJoined(data []byte, rows int, add func(int, []byte) error) error {
	for i := range rows {
		part, rest, more := bytes.Cut(data, []byte{0})
		if more != (i < rows-1) {
			return errReply("it has another number of values")
		}
		if err := add(i, part); err != nil {
			return err
		}
		data = rest
	}
	return nil
}

func eachPart(data []byte, rows int, add func(int, []byte) error) error {
	if len(data) < 4*rows {
		return errReply("it has another number of values")
	}
	ends, data, start := data[:4*rows], data[4*rows:], 0
	for i := range rows {
		end := int(binary.LittleEndian.Uint32(ends[4*i:]))
		if end < start || end > len(data) {
			return errReply("a value is out of range")
		}
		if err := add(i, data[start:end]); err != nil {
			return err
		}
		start = end
	}
	return nil
}
