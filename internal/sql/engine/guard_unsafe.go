package engine

import (
	_ "embed" // the list
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
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
// internal/test/lab/crashfuzz found them. A line is a name, a class, and a statement.
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

// variant is the type whose values make many operators and functions unsafe. Without
// a cast to it, a statement has none, unless it reads a column of that type.
const variant = "variant"

// unsafeType returns VARIANT if a statement names the type.
func unsafeType(st *sqltree.Statement) string {
	if slices.ContainsFunc(st.Types, func(t sqltree.Type) bool { return sqltree.Fold(t.Name) == variant }) {
		return strings.ToUpper(variant)
	}
	return ""
}

// unsafeCast is unsafeType for a text, by its words: x::VARIANT, CAST(x AS VARIANT) and
// lists of it.
func unsafeCast(text string) string {
	tokens := sqltree.Scan(text)
	after := func(i int, symbol string) bool { return i+1 < len(tokens) && tokens[i+1].Is(text, symbol) }
	for i := 1; i < len(tokens); i++ {
		cast := tokens[i-1].Is(text, "::") || sqltree.Are(text, tokens, i-1, "as") && (after(i, ")") || after(i, "["))
		if cast && sqltree.Fold(tokens[i].Name(text)) == variant {
			return strings.ToUpper(variant)
		}
	}
	return ""
}

// corrupts reports whether a statement may damage the memory of its process: by values
// of the type VARIANT, which many functions take for others.
func (t Traits) corrupts() bool { return strings.EqualFold(t.Unsafe, variant) }

// checkUnsafe refuses a statement that must be isolated, cannot be, and names what
// can end the process.
func (v *verdict) checkUnsafe() error {
	if v.traits.Unsafe == "" {
		return nil
	}
	return NewError(errcode.Refused, "read a dataset that is not writable, or accelerate it in a file",
		"%s can end the process, so it runs in isolated workers only, and none can run this statement", v.traits.Unsafe)
}
