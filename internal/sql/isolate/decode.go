package isolate

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// decode returns the rows of a payload of an [encoder]. It trusts nothing: a
// malformed payload is an error, and memory use is bounded by the bytes received.
func decode(payload []byte, columns []engine.Column) (*engine.Chunk, error) {
	f := filler{rest: payload, elements: 4*len(payload) + bareElements}
	n, err := f.number()
	if err != nil {
		return nil, err
	}
	if n < 1 || n > engine.ChunkRows {
		return nil, fmt.Errorf("%w: %d rows in a frame", errFrame, n)
	}
	chunk := engine.NewChunk(columns)
	for i, c := range columns {
		if err := f.vector(chunk.Column(i), c.Type, n); err != nil {
			chunk.Destroy()
			return nil, fmt.Errorf("%w: column %d: %w", errFrame, i+1, err)
		}
	}
	if len(f.rest) > 0 {
		chunk.Destroy()
		return nil, fmt.Errorf("%w: %d bytes after the rows", errFrame, len(f.rest))
	}
	chunk.SetLen(n)
	return chunk, nil
}

// bareElements is the memory, in bytes, that list elements in a frame may take in
// addition to four times the frame's size, the factor of texts: NULLs without a type
// take no bytes in a frame.
const bareElements = 1 << 20

var errShort = errors.New("fewer bytes than values")

// filler fills the vectors of one chunk with the values of a payload.
type filler struct {
	rest     []byte  // of the payload
	elements int     // remaining bytes for list elements
	bounds   []int32 // of the texts of a vector
}

// bytes takes n bytes.
func (f *filler) bytes(n int) ([]byte, error) {
	if n > len(f.rest) {
		return nil, errShort
	}
	b := f.rest[:n]
	f.rest = f.rest[n:]
	return b, nil
}

func (f *filler) number() (int, error) {
	b, err := f.bytes(4)
	if err != nil {
		return 0, err
	}
	return int(binary.LittleEndian.Uint32(b)), nil
}

// vector fills the first n values of v, which is of type t.
func (f *filler) vector(v *engine.Vector, t *engine.Type, n int) error {
	if t.ID == engine.Null {
		setNulls(v, make([]byte, (n+7)/8), n)
		return nil
	}
	if err := f.mask(v, n); err != nil {
		return err
	}
	switch t.ID {
	case engine.Boolean:
		return f.booleans(v, n)
	case engine.Varchar, engine.Blob, engine.Bit:
		return f.texts(v, t, n)
	case engine.List, engine.Map:
		return f.lists(v, t, n)
	case engine.Array:
		return f.vector(v.Elem(), t.Elem, n*t.Size)
	case engine.Struct, engine.Union:
		return f.members(v, t, n)
	}
	return f.numbers(v, t, n)
}

// mask sets the NULLs of v.
func (f *filler) mask(v *engine.Vector, n int) error {
	masked, err := f.bytes(1)
	if err != nil || masked[0] == 0 {
		return err
	}
	mask, err := f.bytes((n + 7) / 8)
	if err != nil {
		return err
	}
	setNulls(v, mask, n)
	return nil
}
