//go:build !linux

package main

import "runtime/debug"

// releaseStartup returns heap that only the start needed.
func releaseStartup() { debug.FreeOSMemory() }
