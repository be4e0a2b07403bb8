package rpcid

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
)

// member is a member of a JSON object, and the offset of its value.
type member struct {
	key   string
	value []byte
	at    int
}

type list []member

// members returns the members of an object in their order, keys that are repeated too; nil: the
// text is no object, or is no JSON.
func members(object []byte) list {
	d := json.NewDecoder(bytes.NewReader(object))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil
	}
	var all list
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return nil
		}
		name, _ := key.(string)
		all = append(all, member{name, value, int(d.InputOffset()) - len(value)})
	}
	return all
}

// find returns the value that applies to a key, the last one, or nil.
func (l list) find(key string) []byte {
	all := l.named(key)
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1].value
}

// named returns the members with a key.
func (l list) named(key string) list {
	var found list
	for _, m := range l {
		if m.key == key {
			found = append(found, m)
		}
	}
	return found
}

// moved returns the members with larger offsets.
func (l list) moved(by int) list {
	for i := range l {
		l[i].at += by
	}
	return l
}

func (l list) sort() { slices.SortFunc(l, func(a, b member) int { return cmp.Compare(a.at, b.at) }) }
