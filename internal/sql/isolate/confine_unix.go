//go:build linux || darwin

package isolate

import (
	"fmt"
	"os/signal"
	"syscall"
)

// maxFiles bounds the files that a worker has open.
const maxFiles = 1024

// confine sets the limits of this process, and those of its own that make it
// the first to be ended when the machine runs out of memory. 0 is no limit.
func confine(memory int64) error {
	signal.Ignore(syscall.SIGXFSZ) // a write beyond the limit fails and does not end the process
	limits := map[int]uint64{syscall.RLIMIT_CORE: 0, syscall.RLIMIT_NOFILE: maxFiles}
	if memory > 0 {
		limits[syscall.RLIMIT_DATA] = uint64(memory)
		limits[syscall.RLIMIT_FSIZE] = uint64(spillFactor * memory)
	}
	for resource, value := range limits {
		if err := limit(resource, value); err != nil {
			return fmt.Errorf("resource %d to %d: %w", resource, value, err)
		}
	}
	offerMemory()
	return nil
}

// limit lowers a limit for good; one that is lower already stays.
func limit(resource int, value uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	value = min(value, now.Max)
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value})
}
