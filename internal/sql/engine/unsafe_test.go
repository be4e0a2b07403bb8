package engine

import (
	"slices"
	"strings"
	"testing"
)

// TestUnsafeListIsOfThisDuckDB checks the form of the list, its order, and that
// statements may call each function: run internal/test/crashfuzz when it fails.
func TestUnsafeListIsOfThisDuckDB(t *testing.T) {
	db := open(t)
	classes := []string{UnsafeCrash, UnsafeCrashVariant, UnsafeInvalidates, UnsafeHang, UnsafeMemory}
	lines := slices.Collect(strings.Lines(unsafeList))
	if !slices.IsSorted(lines) || len(lines) == 0 {
		t.Error("unsafe.txt is not sorted")
	}
	for _, line := range lines {
		entry, sql, _ := strings.Cut(line, " # ")
		at := strings.LastIndexByte(entry, ' ')
		name, class := entry[:max(at, 0)], entry[at+1:]
		if !slices.Contains(classes, class) || sql == "" {
			t.Errorf("want name class # statement: %.100s", line)
		}
		b := db.Builtins()
		if !strings.HasPrefix(name, "(") && (!b.Has(name) || !b.Allows(name, false) && !b.Allows(name, true)) {
			t.Errorf("statements may not call %s: remove it", name)
		}
		if !strings.HasPrefix(name, "(") && !slices.Contains(b.Unsafe(strings.ToUpper(name)), class) {
			t.Errorf("Unsafe(%q) = %q, want %s", name, b.Unsafe(name), class)
		}
	}
	if got := db.Builtins().Unsafe("lower"); len(got) > 0 {
		t.Errorf("lower is %q", got)
	}
	if got := UnsafeCast("Variant"); !slices.Contains(got, UnsafeCrash) {
		t.Errorf("a cast to VARIANT is %q", got)
	}
}
