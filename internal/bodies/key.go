package bodies

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// keys are the keys of rows, one after another, and where each ends.
type keys struct {
	all  []byte
	ends []int
}

// read replaces the keys by those of the rows of a vector.
func (k *keys) read(args *engine.Chunk, columns int) {
	k.all, k.ends = k.all[:0], slices.Grow(k.ends[:0], args.Len())
	for i := range args.Len() {
		k.all = appendRow(k.all, args, columns, i)
		k.ends = append(k.ends, len(k.all))
	}
}

func (k *keys) at(i int) []byte {
	if i == 0 {
		return k.all[:k.ends[0]]
	}
	return k.all[k.ends[i-1]:k.ends[i]]
}

// rowTable numbers different keys from 0. It is a hash table without pointers.
type rowTable struct {
	keys   keys
	hashes []uint32 // of the keys
	slots  []int32  // the number of a key, from 1, or 0; a power of two, twice as many as keys or more
}

var hashSeed = maphash.MakeSeed()

// leastSlots is enough for the rows of one vector.
const leastSlots = 2 * engine.ChunkRows

// add returns the number of a key, and whether it is new.
func (t *rowTable) add(key []byte) (number int, added bool) {
	if 2*len(t.hashes) >= len(t.slots) {
		t.grow()
	}
	hash := uint32(maphash.Bytes(hashSeed, key))
	slot := t.slot(hash)
	for n := t.slots[slot]; n != 0; n = t.slots[slot] {
		if i := int(n) - 1; t.hashes[i] == hash && bytes.Equal(t.keys.at(i), key) {
			return i, false
		}
		slot = (slot + 1) & (len(t.slots) - 1)
	}
	t.keys.all = append(t.keys.all, key...)
	t.keys.ends = append(t.keys.ends, len(t.keys.all))
	t.hashes = append(t.hashes, hash)
	t.slots[slot] = int32(len(t.hashes))
	return len(t.hashes) - 1, true
}

// slot is the first slot of a hash.
func (t *rowTable) slot(hash uint32) int { return int(hash) & (len(t.slots) - 1) }

func (t *rowTable) grow() {
	t.slots = make([]int32, max(leastSlots, 2*len(t.slots)))
	for i, hash := range t.hashes {
		slot := t.slot(hash)
		for t.slots[slot] != 0 {
			slot = (slot + 1) & (len(t.slots) - 1)
		}
		t.slots[slot] = int32(i + 1)
	}
}

// reset removes all keys.
func (t *rowTable) reset() {
	t.keys = keys{t.keys.all[:0], t.keys.ends[:0]}
	t.hashes = t.hashes[:0]
	clear(t.slots)
}

// appendRow appends a key of row i: rows have equal keys if and only if their values are
// equal as bytes. It tells -0 from 0, and NaNs apart.
func appendRow(buf []byte, args *engine.Chunk, columns, i int) []byte {
	for c := range columns {
		buf = appendKey(buf, args.Column(c), i)
	}
	return buf
}

// appendKey appends value i of a vector. Each part has a known length, or begins with it.
func appendKey(buf []byte, v *engine.Vector, i int) []byte {
	if v.Type.ID == engine.Null || !v.Valid(i) {
		return append(buf, 0)
	}
	buf = append(buf, 1)
	switch v.Type.ID {
	case engine.Varchar, engine.Blob, engine.Bit:
		text := v.Bytes(i)
		return append(binary.LittleEndian.AppendUint32(buf, uint32(len(text))), text...)
	case engine.List, engine.Map:
		e := engine.Value[engine.ListEntry](v, i)
		buf = binary.LittleEndian.AppendUint64(buf, e.Length)
		return appendKeys(buf, v.Elem(), int(e.Offset), int(e.Offset+e.Length))
	case engine.Array:
		return appendKeys(buf, v.Elem(), i*v.Type.Size, (i+1)*v.Type.Size)
	case engine.Struct:
		for n := range v.Type.Fields {
			buf = appendKey(buf, v.Field(n), i)
		}
		return buf
	case engine.Union:
		for n := range len(v.Type.Fields) + 1 { // the tag first
			buf = appendKey(buf, v.Field(n), i)
		}
		return buf
	}
	size := v.Type.ValueSize()
	return append(buf, engine.Values[byte](v, (i+1)*size)[i*size:]...)
}

func appendKeys(buf []byte, v *engine.Vector, from, to int) []byte {
	for i := from; i < to; i++ {
		buf = appendKey(buf, v, i)
	}
	return buf
}
