package sqltree

import (
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// decodeJSON is json.Unmarshal to an any, in less than half the time: most of what it
// reads are the same few keys and types of nodes. Decoding is a quarter of what a new
// statement costs before DuckDB plans it.
func decodeJSON(text []byte) (any, error) {
	d := decoder{text: text, seen: make(map[string]any, 64)}
	v := d.value(0)
	if d.space(); d.err == nil && d.at != len(text) {
		d.fail()
	}
	return v, d.err
}

type decoder struct {
	text []byte
	at   int
	seen map[string]any // short strings, so that each is allocated once
	err  error
}

// maxJSONDepth is that of encoding/json.
const maxJSONDepth = 10_000

func (d *decoder) fail() any {
	if d.err == nil {
		d.err = errors.New("invalid JSON at byte " + strconv.Itoa(d.at))
	}
	return nil
}

func (d *decoder) space() {
	for d.at < len(d.text) {
		switch d.text[d.at] {
		case ' ', '\t', '\n', '\r':
			d.at++
		default:
			return
		}
	}
}

// is reads a symbol if it is next.
func (d *decoder) is(symbol byte) bool {
	if d.space(); d.at < len(d.text) && d.text[d.at] == symbol {
		d.at++
		return true
	}
	return false
}

func (d *decoder) value(depth int) any {
	if d.err != nil || depth > maxJSONDepth {
		return d.fail()
	}
	switch {
	case d.is('{'):
		return d.object(depth)
	case d.is('['):
		return d.array(depth)
	case d.is('"'):
		return d.str()
	}
	return d.rest()
}

func (d *decoder) object(depth int) any {
	m := make(map[string]any, 9) // most nodes have 9 to 14 keys; a map for 8 would grow
	for !d.is('}') {
		if len(m) > 0 && !d.is(',') || !d.is('"') {
			return d.fail()
		}
		key, _ := d.str().(string)
		if !d.is(':') {
			return d.fail()
		}
		if m[key] = d.value(depth + 1); d.err != nil {
			return nil
		}
	}
	return m
}

func (d *decoder) array(depth int) any {
	list := []any{}
	for !d.is(']') {
		if len(list) > 0 && !d.is(',') {
			return d.fail()
		}
		if list = append(list, d.value(depth+1)); d.err != nil {
			return nil
		}
	}
	return list
}

// str reads the rest of a string, as a string in an any.
func (d *decoder) str() any {
	start, plain := d.at, true
	for ; d.at < len(d.text) && d.text[d.at] != '"'; d.at++ {
		if c := d.text[d.at]; c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			plain = false
			if c == '\\' {
				d.at++
			}
		}
	}
	if d.at >= len(d.text) {
		return d.fail()
	}
	raw := d.text[start:d.at]
	d.at++
	if !plain {
		return d.other(d.text[start-1 : d.at])
	}
	if s, ok := d.seen[string(raw)]; ok {
		return s
	}
	var s any = string(raw)
	if len(raw) < 64 {
		d.seen[string(raw)] = s
	}
	return s
}

// rest reads a number, true, false or null.
func (d *decoder) rest() any {
	start := d.at
	for ; d.at < len(d.text); d.at++ {
		switch d.text[d.at] {
		case ',', ']', '}', ' ', '\t', '\n', '\r':
			return d.word(d.text[start:d.at])
		}
	}
	return d.word(d.text[start:])
}

func (d *decoder) word(word []byte) any {
	switch string(word) {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	}
	return d.other(word)
}

// other decodes what is not frequent.
func (d *decoder) other(token []byte) (v any) {
	if err := json.Unmarshal(token, &v); err != nil && d.err == nil {
		d.err = err
	}
	return v
}
