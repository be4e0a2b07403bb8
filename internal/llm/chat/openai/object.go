package openai

import (
	"bytes"

	"github.com/spiced-sql/spiced/tools"
)

// object writes a JSON object with fields in order. Values that are JSON already are
// copied.
type object struct{ b []byte }

func (o *object) key(name string) {
	if len(o.b) == 0 {
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	o.b = append(o.b, '"', ':')
}

func (o *object) raw(name string, value []byte) {
	o.key(name)
	o.b = append(o.b, value...)
}

// value encodes a value that cannot fail to encode: strings, numbers, and the wire
// types of this package.
func (o *object) value(name string, value any) {
	encoded, _ := tools.Encode(value)
	o.raw(name, encoded)
}

// fields appends the fields of another object.
func (o *object) fields(other []byte) {
	inner := bytes.TrimSpace(other[1:])
	if inner[0] == '}' {
		return
	}
	o.b = append(append(o.b, ','), inner[:len(inner)-1]...)
}

func (o *object) end() []byte {
	if len(o.b) == 0 {
		return []byte("{}")
	}
	return append(o.b, '}')
}

// list appends JSON values as a JSON list.
func list(b []byte, values [][]byte) []byte {
	b = append(b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}
