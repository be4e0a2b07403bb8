//go:build linux || darwin

package main

import (
	"syscall"
	"time"
)

// limitMemory bounds the memory of this process and turns core dumps off.
func limitMemory(size uint64) error {
	for resource, value := range map[int]uint64{syscall.RLIMIT_CORE: 0, syscall.RLIMIT_DATA: size} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value}); err != nil {
			return err
		}
	}
	return nil
}

// cpuTime is the processor time that this process has taken.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
