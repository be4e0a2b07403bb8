package spicepod

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Fingerprint returns the hex SHA-256 of a component: equal for equal declarations
// wherever they are in the file, and different if anything else differs, including the
// text of body_ref and sql_ref and the value of a secret. Unexported fields and positions
// are ignored.
func Fingerprint(v any) string {
	f := fingerprinter{hash: sha256.New()}
	f.add(reflect.ValueOf(v))
	return hex.EncodeToString(f.hash.Sum(nil))
}

// fingerprinter writes a value as a sequence of tagged, length-prefixed parts, so that
// different values have different bytes.
type fingerprinter struct {
	hash    hash.Hash
	scratch [9]byte
}

func (f *fingerprinter) number(tag byte, n uint64) {
	f.scratch[0] = tag
	binary.BigEndian.PutUint64(f.scratch[1:], n)
	f.hash.Write(f.scratch[:])
}

func (f *fingerprinter) text(tag byte, s string) {
	f.number(tag, uint64(len(s)))
	f.hash.Write([]byte(s))
}

func (f *fingerprinter) add(v reflect.Value) {
	if !v.IsValid() {
		f.number('0', 0)
		return
	}
	if text, ok := v.Interface().(Text); ok {
		f.text('t', text.Raw)
		f.text('t', text.Reveal())
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		f.add(v.Elem())
	case reflect.String:
		f.text('s', v.String())
	case reflect.Bool:
		f.text('b', map[bool]string{true: "1"}[v.Bool()])
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		f.number('i', uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		f.number('u', v.Uint())
	case reflect.Float32, reflect.Float64:
		f.number('f', math.Float64bits(v.Float()))
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.IsNil() {
			f.number('0', 0)
			return
		}
		f.number('l', uint64(v.Len()))
		for i := range v.Len() {
			f.add(v.Index(i))
		}
	case reflect.Map:
		f.mapping(v)
	case reflect.Struct:
		f.structure(v)
	}
}

func (f *fingerprinter) mapping(v reflect.Value) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	f.number('m', uint64(len(keys)))
	for _, key := range keys {
		f.text('k', key.String())
		f.add(v.MapIndex(key))
	}
}

func (f *fingerprinter) structure(v reflect.Value) {
	t := v.Type()
	if t == reflect.TypeFor[Position]() {
		return
	}
	f.text('{', t.Name())
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			f.text('k', t.Field(i).Name)
			f.add(v.Field(i))
		}
	}
	f.number('}', 0)
}
