//go:build !linux && !darwin

package main

import "time"

var started = time.Now()

// limitMemory does nothing: the system has no such limit.
func limitMemory(uint64) error { return nil }

// cpuTime is the time since this process started: the system has no better one.
func cpuTime() time.Duration { return time.Since(started) }
