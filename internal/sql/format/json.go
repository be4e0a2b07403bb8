package format

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

const hexDigits = "0123456789abcdef"

// jsonSafe are the bytes that need no escape in a JSON string.
var jsonSafe = func() (safe [256]bool) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		safe[c] = c != '"' && c != '\\'
	}
	return safe
}()

// AppendString appends s as a JSON string. What is not UTF-8 becomes U+FFFD.
func AppendString[S string | []byte](buf []byte, s S) []byte {
	buf = append(buf, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if jsonSafe[c] {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			buf = appendEscaped(append(buf, s[done:i]...), c)
			i++
			done = i
			continue
		}
		r, size := decodeRune(s[i:])
		if r == utf8.RuneError && size == 1 {
			buf = append(append(buf, s[done:i]...), "\uFFFD"...)
			done = i + size
		}
		i += size
	}
	return append(append(buf, s[done:]...), '"')
}

func decodeRune[S string | []byte](s S) (rune, int) {
	var room [utf8.UTFMax]byte
	return utf8.DecodeRune(room[:copy(room[:], s[:min(len(s), utf8.UTFMax)])])
}

func appendEscaped(buf []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(buf, '\\', c)
	case '\n':
		return append(buf, '\\', 'n')
	case '\r':
		return append(buf, '\\', 'r')
	case '\t':
		return append(buf, '\\', 't')
	}
	return append(buf, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// JSON appends value i of a vector, which may be NULL, as JSON. It compiles the type
// on each call; use a Writer for many values.
func JSON(buf []byte, v *engine.Vector, i int) []byte { return jsonOrNull(v.Type)(buf, v, i) }

// jsonOrNull is jsonValue for values that may be NULL.
func jsonOrNull(t *engine.Type) appender {
	value := jsonValue(t)
	return func(buf []byte, v *engine.Vector, i int) []byte {
		if !v.Valid(i) {
			return append(buf, "null"...)
		}
		return value(buf, v, i)
	}
}

// jsonValue returns the appender of a type's values as JSON.
func jsonValue(t *engine.Type) appender {
	if f := number(t); f != nil {
		return f
	}
	switch t.ID {
	case engine.Boolean:
		return appendBool
	case engine.Float:
		return func(buf []byte, v *engine.Vector, i int) []byte {
			return appendJSONFloat(buf, float64(engine.Value[float32](v, i)), 32)
		}
	case engine.Double:
		return func(buf []byte, v *engine.Vector, i int) []byte {
			return appendJSONFloat(buf, engine.Value[float64](v, i), 64)
		}
	case engine.Varchar:
		if t.JSON {
			return appendEmbedded
		}
		return func(buf []byte, v *engine.Vector, i int) []byte { return AppendString(buf, v.Bytes(i)) }
	case engine.Enum:
		return jsonEnum(t)
	case engine.List:
		return jsonList(t, func(v *engine.Vector, i int) (from, to int) {
			e := engine.Value[engine.ListEntry](v, i)
			return int(e.Offset), int(e.Offset + e.Length)
		})
	case engine.Array:
		return jsonList(t, func(_ *engine.Vector, i int) (from, to int) { return i * t.Size, (i + 1) * t.Size })
	case engine.Struct:
		return jsonStruct(t)
	case engine.Map:
		return jsonMap(t)
	case engine.Union:
		return jsonUnion(t)
	}
	if f := plain(t); f != nil {
		return func(buf []byte, v *engine.Vector, i int) []byte {
			return append(f(append(buf, '"'), v, i), '"')
		}
	}
	return func(buf []byte, _ *engine.Vector, _ int) []byte { return append(buf, "null"...) }
}

func appendJSONFloat(buf []byte, f float64, bitSize int) []byte {
	if !finite(f) {
		return append(buf, "null"...)
	}
	return appendFloat(buf, f, bitSize)
}

func appendEmbedded(buf []byte, v *engine.Vector, i int) []byte {
	return AppendEmbedded(buf, v.Bytes(i))
}

// AppendEmbedded appends the text of a JSON column as it is, on one line, or as a
// string if it is not valid JSON: DuckDB accepts NaN, for example.
func AppendEmbedded(buf, s []byte) []byte {
	if !json.Valid(s) || !utf8.Valid(s) {
		return AppendString(buf, s)
	}
	if bytes.IndexByte(s, '\n') < 0 && bytes.IndexByte(s, '\r') < 0 {
		return append(buf, s...)
	}
	var line bytes.Buffer
	if json.Compact(&line, s) != nil {
		return AppendString(buf, s)
	}
	return append(buf, line.Bytes()...)
}

func jsonEnum(t *engine.Type) appender {
	quoted := make([][]byte, len(t.Values))
	for i, s := range t.Values {
		quoted[i] = AppendString(nil, s)
	}
	return func(buf []byte, v *engine.Vector, i int) []byte { return append(buf, quoted[v.EnumIndex(i)]...) }
}

func jsonList(t *engine.Type, bounds func(v *engine.Vector, i int) (from, to int)) appender {
	elem := jsonOrNull(t.Elem)
	return func(buf []byte, v *engine.Vector, i int) []byte {
		buf = append(buf, '[')
		from, to := bounds(v, i)
		for at := from; at < to; at++ {
			if at > from {
				buf = append(buf, ',')
			}
			buf = elem(buf, v.Elem(), at)
		}
		return append(buf, ']')
	}
}

// jsonStruct writes an object, or an array when no member has a name.
func jsonStruct(t *engine.Type) appender {
	names := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		names[i] = f.Name
	}
	unnamed := !slices.ContainsFunc(names, func(s string) bool { return s != "" })
	opening, closing := byte('{'), byte('}')
	if unnamed {
		opening, closing = '[', ']'
	}
	keys := make([][]byte, len(names))
	values := make([]appender, len(names))
	for i, f := range t.Fields {
		if i > 0 {
			keys[i] = append(keys[i], ',')
		}
		if !unnamed {
			keys[i] = append(AppendString(keys[i], f.Name), ':')
		}
		values[i] = jsonOrNull(f.Type)
	}
	return func(buf []byte, v *engine.Vector, i int) []byte {
		buf = append(buf, opening)
		for f, key := range keys {
			buf = values[f](append(buf, key...), v.Field(f), i)
		}
		return append(buf, closing)
	}
}

// jsonMap writes an object whose keys are the text of the map's keys.
func jsonMap(t *engine.Type) appender {
	key, value := text(t.Elem.Fields[0].Type), jsonOrNull(t.Elem.Fields[1].Type)
	return func(buf []byte, v *engine.Vector, i int) []byte {
		var scratch []byte
		keys, values := v.Elem().Field(0), v.Elem().Field(1)
		e := engine.Value[engine.ListEntry](v, i)
		buf = append(buf, '{')
		for at := int(e.Offset); at < int(e.Offset+e.Length); at++ {
			if at > int(e.Offset) {
				buf = append(buf, ',')
			}
			scratch = key(scratch[:0], keys, at)
			buf = append(AppendString(buf, scratch), ':')
			buf = value(buf, values, at)
		}
		return append(buf, '}')
	}
}

// jsonUnion writes an object with the current member of the value.
func jsonUnion(t *engine.Type) appender {
	keys := make([][]byte, len(t.Fields))
	values := make([]appender, len(t.Fields))
	for i, f := range t.Fields {
		keys[i] = append(AppendString([]byte{'{'}, f.Name), ':')
		values[i] = jsonOrNull(f.Type)
	}
	return func(buf []byte, v *engine.Vector, i int) []byte {
		tag := int(engine.Value[uint8](v.Field(0), i))
		buf = values[tag](append(buf, keys[tag]...), v.Field(tag+1), i)
		return append(buf, '}')
	}
}
