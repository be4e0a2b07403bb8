//go:build linux || darwin

package main

import "syscall"

// limitMemory bounds the memory of this process and turns core dumps off.
func limitMemory(size uint64) error {
	for resource, value := range map[int]uint64{syscall.RLIMIT_CORE: 0, syscall.RLIMIT_DATA: size} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value}); err != nil {
			return err
		}
	}
	return nil
}
