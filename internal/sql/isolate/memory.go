package isolate

import (
	"sync"
	"sync/atomic"
)

// memory is the payload of a frame of rows. It is used again when all chunks in it
// were destroyed: otherwise a large result keeps the garbage collector busy.
type memory struct {
	payload []byte
	users   atomic.Int32 // the decoder, until it has read the payload, and the chunks
}

func newMemory(payload []byte) *memory {
	m := &memory{payload: payload}
	m.users.Store(1)
	return m
}

// release takes one user away.
func (m *memory) release() {
	if m.users.Add(-1) == 0 && cap(m.payload) == slabBytes {
		slabs.Put((*[slabBytes]byte)(m.payload[:slabBytes]))
	}
}

// Sizes of the payloads in memory that is used again; others are allocated.
const (
	slabBytes = 512 << 10
	leastSlab = 16 << 10
)

// slabs has the memory that is not in use.
var slabs sync.Pool

func newPayload(n int64) []byte {
	if n < leastSlab || n > slabBytes {
		return make([]byte, n)
	}
	if s, ok := slabs.Get().(*[slabBytes]byte); ok {
		return s[:n]
	}
	return make([]byte, n, slabBytes)
}
