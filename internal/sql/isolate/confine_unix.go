//go:build linux || darwin

package isolate

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// maxFiles is the limit of open files of a worker.
const maxFiles = 1024

// confine sets the limits of this process and those that make it the first to be
// killed when the machine runs out of memory. 0 is no limit.
func confine(memory int64) error {
	signal.Ignore(syscall.SIGXFSZ) // a write beyond the limit fails instead of killing the process
	limits := map[int]uint64{syscall.RLIMIT_CORE: 0, syscall.RLIMIT_NOFILE: maxFiles}
	if memory > 0 {
		limits[syscall.RLIMIT_DATA] = uint64(memory)
		limits[syscall.RLIMIT_FSIZE] = uint64(fileFactor * memory)
	}
	for resource, value := range limits {
		if err := limit(resource, value); err != nil {
			return fmt.Errorf("resource %d to %d: %w", resource, value, err)
		}
	}
	preferOOMKill()
	return nil
}

// limit lowers a limit permanently; a limit that is already lower stays.
func limit(resource int, value uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	value = min(value, now.Max)
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value})
}

// polled returns the pipe f as one on which goroutines wait without a thread. A read
// of a standard stream would keep the processor from other goroutines for some time.
func polled(f *os.File) *os.File {
	if err := syscall.SetNonblock(int(f.Fd()), true); err != nil {
		return f
	}
	return os.NewFile(f.Fd(), f.Name())
}
