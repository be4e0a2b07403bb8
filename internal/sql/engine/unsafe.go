package engine

import (
	_ "embed" // the list
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// The classes of unsafe functions.
const (
	UnsafeCrash        = "crash"         // ends the process
	UnsafeCrashVariant = "crash-variant" // ends the process if a value is, or holds, a VARIANT
	UnsafeInvalidates  = "invalidates"   // an internal error, after which DuckDB refuses every statement
	UnsafeHang         = "hang"          // cannot be interrupted
	UnsafeMemory       = "memory"        // takes memory that memory_limit does not count
)

// unsafeList has the functions of the linked DuckDB that can harm the process, as
// internal/test/crashfuzz found them. A line is a name, a class, and a statement.
//
//go:embed unsafe.txt
var unsafeList string

// unsafeFunctions are the classes of each function of unsafeList.
var unsafeFunctions = parseUnsafe(unsafeList)

func parseUnsafe(list string) map[string][]string {
	classes := map[string][]string{}
	for line := range strings.Lines(list) {
		entry, _, _ := strings.Cut(line, " # ")
		at := strings.LastIndexByte(entry, ' ')
		classes[entry[:at]] = append(classes[entry[:at]], entry[at+1:])
	}
	return classes
}

// Unsafe returns the ways in which a call of the built-in function can harm the
// process, such as [UnsafeCrash]; none for most functions.
func (b *Builtins) Unsafe(name string) []string {
	return slices.Clone(unsafeFunctions[sqltree.Fold(name)])
}

// UnsafeCast is [Builtins.Unsafe] for a cast to the type of that name, such as
// VARIANT, at any depth: to VARIANT[] and STRUCT(v VARIANT), too.
func UnsafeCast(typeName string) []string {
	return slices.Clone(unsafeFunctions["(cast to "+sqltree.Fold(typeName)+")"])
}

// Allows reports whether statements may call the built-in function, in FROM or in
// an expression.
func (b *Builtins) Allows(name string, inFrom bool) bool {
	return !b.refuses(sqltree.Fold(name), inFrom)
}
