package isolate

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// Parameters have their own encoding, since JSON has no NaN, no bytes and a single
// kind of number. A value is a tag and its content; lengths and counts are unsigned
// varints, numbers little-endian (encoding/binary):
//
//	n                     nil
//	t, f                  bool
//	s length bytes        string
//	b length bytes        []byte
//	# length bytes        json.Number
//	. length bytes        value.Numeric
//	[ count values        []any
//	{ count (length bytes value)…   map[string]any, by key
//	m keys values         value.Map, its keys and values as []any
//	another               a value of the type in fixed, its numbers one after another
const maxDepth = 64 // of lists and maps; the engine's limit is lower

// fixed are the types of a fixed length, by tag.
var fixed = map[byte]reflect.Type{
	'i': reflect.TypeFor[int64](),
	'u': reflect.TypeFor[uint64](),
	'd': reflect.TypeFor[float64](),
	'D': reflect.TypeFor[value.Date](),
	'C': reflect.TypeFor[value.Time](),
	'c': reflect.TypeFor[value.TimeNS](),
	'z': reflect.TypeFor[value.TimeTZ](),
	'T': reflect.TypeFor[value.Timestamp](),
	'Z': reflect.TypeFor[value.TimestampTZ](),
	'N': reflect.TypeFor[value.TimestampNS](),
	'I': reflect.TypeFor[value.Interval](),
}

var errParams = errors.New("malformed parameters")

// appendParams appends both kinds of parameters.
func appendParams(buf []byte, p engine.Params) ([]byte, error) {
	var positional, named any
	if p.Positional != nil {
		positional = p.Positional
	}
	if p.Named != nil {
		named = p.Named
	}
	buf, err := appendValue(buf, positional, 0)
	if err != nil {
		return nil, err
	}
	return appendValue(buf, named, 0)
}

func appendValue(buf []byte, param any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("a parameter is nested deeper than %d", maxDepth)
	}
	switch v := param.(type) {
	case nil:
		return append(buf, 'n'), nil
	case bool:
		if v {
			return append(buf, 't'), nil
		}
		return append(buf, 'f'), nil
	case int:
		return appendValue(buf, int64(v), depth)
	case int64:
		return binary.LittleEndian.AppendUint64(append(buf, 'i'), uint64(v)), nil
	case float64:
		return binary.LittleEndian.AppendUint64(append(buf, 'd'), math.Float64bits(v)), nil
	case string:
		return appendText(append(buf, 's'), v), nil
	case []byte:
		return appendText(append(buf, 'b'), v), nil
	case json.Number:
		return appendText(append(buf, '#'), v), nil
	case value.Numeric:
		return appendText(append(buf, '.'), v), nil
	case []any:
		return appendList(append(buf, '['), v, depth)
	case map[string]any:
		return appendMap(append(buf, '{'), v, depth)
	case value.Map:
		buf, err := appendList(append(buf, 'm'), v.Keys, depth)
		if err != nil {
			return nil, err
		}
		return appendList(buf, v.Values, depth)
	}
	for tag, t := range fixed {
		if t == reflect.TypeOf(param) {
			return binary.Append(append(buf, tag), binary.LittleEndian, param)
		}
	}
	return nil, fmt.Errorf("values of Go type %T are not supported", param)
}

func appendText[T ~string | ~[]byte](buf []byte, s T) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(s))), s...)
}

func appendList(buf []byte, list []any, depth int) (_ []byte, err error) {
	buf = binary.AppendUvarint(buf, uint64(len(list)))
	for _, v := range list {
		if buf, err = appendValue(buf, v, depth+1); err != nil {
			return nil, err
		}
	}
	return buf, nil
}

func appendMap(buf []byte, m map[string]any, depth int) (_ []byte, err error) {
	buf = binary.AppendUvarint(buf, uint64(len(m)))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if buf, err = appendValue(appendText(buf, name), m[name], depth+1); err != nil {
			return nil, err
		}
	}
	return buf, nil
}

// readParams reads the output of appendParams.
func readParams(buf []byte) (p engine.Params, err error) {
	r := &paramReader{buf: buf}
	positional, named := r.value(0), r.value(0)
	if len(r.buf) > 0 {
		r.fail()
	}
	var ok bool
	if p.Positional, ok = positional.([]any); !ok && positional != nil {
		r.fail()
	}
	if p.Named, ok = named.(map[string]any); !ok && named != nil {
		r.fail()
	}
	return p, r.err
}

// paramReader reads values from a buffer. After the first error every value is nil.
type paramReader struct {
	buf []byte
	err error
}

func (r *paramReader) fail() {
	r.buf, r.err = nil, errParams
}

// take returns the next n bytes.
func (r *paramReader) take(n int) []byte {
	if n < 0 || n > len(r.buf) {
		r.fail()
		return nil
	}
	b := r.buf[:n]
	r.buf = r.buf[n:]
	return b
}

// count reads a length or a number of values, each of at least one byte.
func (r *paramReader) count() int {
	n, size := binary.Uvarint(r.buf)
	if size <= 0 || n > uint64(len(r.buf)-size) {
		r.fail()
		return 0
	}
	r.buf = r.buf[size:]
	return int(n)
}

func (r *paramReader) fixed(t reflect.Type) any {
	v := reflect.New(t)
	n, err := binary.Decode(r.buf, binary.LittleEndian, v.Interface())
	if err != nil {
		r.fail()
		return nil
	}
	r.buf = r.buf[n:]
	return v.Elem().Interface()
}

func (r *paramReader) value(depth int) any {
	tag := r.take(1)
	if tag == nil || depth > maxDepth {
		r.fail()
		return nil
	}
	switch tag[0] {
	case 'n':
		return nil
	case 't', 'f':
		return tag[0] == 't'
	case 's':
		return string(r.take(r.count()))
	case 'b':
		return slices.Clone(r.take(r.count()))
	case '#':
		return json.Number(r.take(r.count()))
	case '.':
		return value.Numeric(r.take(r.count()))
	case '[':
		return r.list(depth)
	case '{':
		return r.fields(depth)
	case 'm':
		return value.Map{Keys: r.list(depth), Values: r.list(depth)}
	}
	if t, ok := fixed[tag[0]]; ok {
		return r.fixed(t)
	}
	r.fail()
	return nil
}

func (r *paramReader) list(depth int) []any {
	n := r.count()
	list := make([]any, 0, min(n, 1024))
	for range n {
		list = append(list, r.value(depth+1))
		if r.err != nil {
			return nil
		}
	}
	return list
}

func (r *paramReader) fields(depth int) map[string]any {
	n := r.count()
	m := make(map[string]any, min(n, 1024))
	for range n {
		name := string(r.take(r.count()))
		m[name] = r.value(depth + 1)
		if r.err != nil {
			return nil
		}
	}
	return m
}
