//go:build !linux && !darwin

package main

// limitMemory does nothing: the system has no such limit.
func limitMemory(uint64) error { return nil }
