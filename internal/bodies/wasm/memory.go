package wasm

import (
	"sync"

	"github.com/tetratelabs/wazero/experimental"
)

// memories are the linear memories of the instances of a module. A call has a new
// instance, so that nothing of one call is visible in another; what is pooled is the address
// range, whose pages are given back to the system after each call. Clearing and copying
// the memory of each instance would take longer than most calls.
type memories struct {
	size uint64 // of each

	mu     sync.Mutex
	free   [][]byte
	most   int // pooled
	closed bool
}

// Allocate implements [experimental.MemoryAllocator].
func (m *memories) Allocate(_, _ uint64) experimental.LinearMemory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.free); n > 0 {
		region := m.free[n-1]
		m.free = m.free[:n-1]
		return &linear{m, region}
	}
	return &linear{m, reserve(m.size)}
}

// put takes back a region.
func (m *memories) put(region []byte) {
	if region == nil {
		return
	}
	if !clean(region) {
		release(region)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || len(m.free) >= m.most {
		release(region)
		return
	}
	m.free = append(m.free, region)
}

func (m *memories) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for _, region := range m.free {
		release(region)
	}
	m.free = nil
}

// linear is the memory of one instance.
type linear struct {
	owner  *memories
	region []byte
}

// Reallocate implements [experimental.LinearMemory].
func (m *linear) Reallocate(size uint64) []byte {
	if size > uint64(len(m.region)) {
		return nil
	}
	return m.region[:size:size]
}

// Free implements [experimental.LinearMemory].
func (m *linear) Free() {
	m.owner.put(m.region)
	m.region = nil
}
