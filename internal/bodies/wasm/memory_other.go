//go:build !linux

package wasm

// pooled reports whether memories are kept between calls. Other systems need not clear the
// pages that a program gives back, so wazero allocates each memory.
const pooled = false

func reserve(uint64) []byte { return nil }

func clean([]byte) bool { return false }

func release([]byte) {}
