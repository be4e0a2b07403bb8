//go:build !linux

package wasm

import "time"

// pooled reports whether memories are reused by later calls. Other systems need not clear the
// pages that a program gives back, so wazero allocates each memory.
const pooled = false

func reserve(uint64) []byte { return nil }

func clean([]byte) bool { return false }

func release([]byte) {}

var started = time.Now()

// threadTime is the time that has passed: at least the processor time of this thread.
func threadTime() time.Duration { return time.Since(started) }
