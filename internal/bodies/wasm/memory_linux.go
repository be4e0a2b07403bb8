package wasm

import (
	"time"

	"golang.org/x/sys/unix"
)

// pooled reports whether memories are reused by later calls.
const pooled = true

// reserve returns an address range of zeros, or nil. Only the pages that are written take
// memory.
func reserve(size uint64) []byte {
	region, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil
	}
	return region
}

// clean gives the pages back, and reports whether they are zeros again.
func clean(region []byte) bool { return unix.Madvise(region, unix.MADV_DONTNEED) == nil }

func release(region []byte) { _ = unix.Munmap(region) }

// threadTime is the processor time of this thread.
func threadTime() time.Duration {
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
