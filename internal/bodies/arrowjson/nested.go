package arrowjson

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
)

// list is the form of lists and of arrays, which are lists of a size.
func (f *Form) list(carried arrow.ListLikeType) error {
	elem, err := f.of(f.Type.Elem, carried.Elem())
	if err != nil {
		return err
	}
	f.append = func(buf []byte, a arrow.Array, i int) []byte {
		l := a.(array.ListLike)
		buf = append(buf, '[')
		from, to := l.ValueOffsets(i)
		for at := from; at < to; at++ {
			if at > from {
				buf = append(buf, ',')
			}
			buf = elem.Append(buf, l.ListValues(), int(at))
		}
		return append(buf, ']')
	}
	f.decode = func(s *scanner, b array.Builder) error {
		into := b.(array.ListLikeBuilder)
		into.Append(true)
		n := 0
		err := s.elements(func() error {
			err := elem.read(s, into.ValueBuilder())
			if err != nil {
				err = fmt.Errorf("element %d: %w", n, err)
			}
			n++
			return err
		})
		if err == nil && f.Type.ID == engine.Array && n != f.Type.Size {
			err = fmt.Errorf("%d elements are not a valid %s: it has %d", n, f.Type, f.Type.Size)
		}
		return err
	}
	return nil
}

// object is the form of structs. Members that the type does not have are ignored; those that
// are missing are null.
func (f *Form) object(carried *arrow.StructType) error {
	members := make([]*Form, len(f.Type.Fields))
	keys := make([][]byte, len(members))
	index := make(map[string]int, len(members))
	for i, field := range f.Type.Fields {
		var err error
		if members[i], err = f.of(field.Type, carried.Field(i).Type); err != nil {
			return err
		}
		if i > 0 {
			keys[i] = []byte{','}
		}
		keys[i] = append(format.AppendString(keys[i], field.Name), ':')
		index[field.Name] = i
	}
	f.append = func(buf []byte, a arrow.Array, i int) []byte {
		s := a.(*array.Struct)
		buf = append(buf, '{')
		for m, key := range keys {
			buf = members[m].Append(append(buf, key...), s.Field(m), i)
		}
		return append(buf, '}')
	}
	f.decode = func(s *scanner, b array.Builder) error {
		into := b.(*array.StructBuilder)
		into.Append(true)
		places := make([]int, len(members)) // of the values, from 1
		err := s.members(func(key string) error {
			if m, ok := index[key]; ok {
				places[m] = s.at + 1
			}
			s.skip()
			return nil
		})
		if err != nil {
			return err
		}
		for m, place := range places {
			if place == 0 {
				into.FieldBuilder(m).AppendNull()
				continue
			}
			at := scanner{data: s.data, at: place - 1}
			if err := members[m].read(&at, into.FieldBuilder(m)); err != nil {
				return fmt.Errorf("field %q: %w", f.Type.Fields[m].Name, err)
			}
		}
		return nil
	}
	return nil
}

// mapping is the form of maps: an object whose keys are the text of the map's keys.
func (f *Form) mapping(carried *arrow.MapType) error {
	key, err1 := f.of(f.Type.Elem.Fields[0].Type, carried.KeyType())
	val, err2 := f.of(f.Type.Elem.Fields[1].Type, carried.ItemType())
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	f.append = func(buf []byte, a arrow.Array, i int) []byte {
		m := a.(*array.Map)
		var scratch []byte
		buf = append(buf, '{')
		from, to := m.ValueOffsets(i)
		for at := from; at < to; at++ {
			if at > from {
				buf = append(buf, ',')
			}
			if scratch = key.Append(scratch[:0], m.Keys(), int(at)); scratch[0] == '"' {
				buf = append(buf, scratch...)
			} else {
				buf = format.AppendString(buf, scratch)
			}
			buf = val.Append(append(buf, ':'), m.Items(), int(at))
		}
		return append(buf, '}')
	}
	f.decode = func(s *scanner, b array.Builder) error {
		into := b.(*array.MapBuilder)
		into.Append(true)
		seen := map[string]bool{}
		return s.members(func(name string) error {
			if seen[name] {
				return fmt.Errorf("key %q appears twice", name)
			}
			seen[name] = true
			if err := key.read(&scanner{data: keyText(key.Type, name)}, into.KeyBuilder()); err != nil {
				return fmt.Errorf("key %q: %w", name, err)
			}
			if err := val.read(s, into.ItemBuilder()); err != nil {
				return fmt.Errorf("key %q: %w", name, err)
			}
			return nil
		})
	}
	return nil
}

// keyText is the text of a map's key as a value in JSON.
func keyText(t *engine.Type, name string) []byte {
	if t.ID == engine.Boolean && (name == "true" || name == "false") {
		return []byte(name)
	}
	return format.AppendString(nil, name)
}
