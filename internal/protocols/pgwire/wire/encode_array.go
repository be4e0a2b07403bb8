package wire

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// elements are the positions of value i's elements in their vector.
func elements(v *engine.Vector, i int) (from, n int) {
	if v.Type.ID == engine.Array {
		return i * v.Type.Size, v.Type.Size
	}
	entry := engine.Value[engine.ListEntry](v, i)
	return int(entry.Offset), int(entry.Length)
}

// textArray appends a list as {1,2,NULL,"a b"}.
func textArray(buf []byte, v *engine.Vector, i int) []byte {
	return textElements(buf, v, i, TypeOf(v.Elem().Type).text)
}

func textElements(buf []byte, v *engine.Vector, i int, encode encoder) []byte {
	elem := v.Elem()
	from, n := elements(v, i)
	buf = append(buf, '{')
	for at := from; at < from+n; at++ {
		if at > from {
			buf = append(buf, ',')
		}
		if !elem.Valid(at) {
			buf = append(buf, "NULL"...)
			continue
		}
		start := len(buf)
		buf = quoteElement(encode(buf, elem, at), start)
	}
	return append(buf, '}')
}

// quoteElement quotes what was appended from start on where an array needs it.
func quoteElement(buf []byte, start int) []byte {
	s := buf[start:]
	if len(s) > 0 && !bytes.ContainsAny(s, "{}\",\\ \t\n\r\v\f") && !strings.EqualFold(string(s), "null") {
		return buf
	}
	raw := bytes.Clone(s)
	buf = append(buf[:start], '"')
	for _, c := range raw {
		if c == '"' || c == '\\' {
			buf = append(buf, '\\')
		}
		buf = append(buf, c)
	}
	return append(buf, '"')
}

// binaryArray appends a list: the number of dimensions, whether there are
// NULLs, the type of the elements, of each dimension its length and first
// index, and the elements (PostgreSQL, array_send). An empty one has no
// dimension.
func binaryArray(buf []byte, v *engine.Vector, i int) []byte {
	t := TypeOf(v.Elem().Type)
	return arrayOfElements(buf, v, i, t.OID, t.binary)
}

// binaryOIDs is binaryArray for a list of BIGINT that is an oid[].
func binaryOIDs(buf []byte, v *engine.Vector, i int) []byte {
	return arrayOfElements(buf, v, i, pgtype.OIDOID, func(buf []byte, elem *engine.Vector, at int) []byte {
		return binary.BigEndian.AppendUint32(buf, uint32(engine.Value[int64](elem, at)))
	})
}

func arrayOfElements(buf []byte, v *engine.Vector, i int, oid uint32, encode encoder) []byte {
	elem := v.Elem()
	from, n := elements(v, i)
	nulls := uint32(0)
	for at := from; at < from+n; at++ {
		if !elem.Valid(at) {
			nulls = 1
		}
	}
	buf = binary.BigEndian.AppendUint32(buf, uint32(min(n, 1)))
	buf = binary.BigEndian.AppendUint32(buf, nulls)
	buf = binary.BigEndian.AppendUint32(buf, oid)
	if n == 0 {
		return buf
	}
	buf = binary.BigEndian.AppendUint32(buf, uint32(n))
	buf = binary.BigEndian.AppendUint32(buf, 1)
	for at := from; at < from+n; at++ {
		buf = appendValue(buf, encode, elem, at)
	}
	return buf
}

// null is the length that means NULL.
const null = 1<<32 - 1

// appendValue appends a value behind its length.
func appendValue(buf []byte, encode encoder, v *engine.Vector, i int) []byte {
	if !v.Valid(i) || v.Type.ID == engine.Null {
		return binary.BigEndian.AppendUint32(buf, null)
	}
	at := len(buf)
	buf = encode(append(buf, 0, 0, 0, 0), v, i)
	binary.BigEndian.PutUint32(buf[at:], uint32(len(buf)-at-4))
	return buf
}
