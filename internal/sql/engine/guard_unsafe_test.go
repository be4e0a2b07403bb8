package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// TestUnsafeListIsOfThisDuckDB checks the form of the list, its order, and that
// statements may call each function: run make crash-fuzz when it fails.
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

// TestUnsafeIsRefusedInThisProcess: a statement that must be isolated and cannot be
// may not call what can end the process; others may.
func TestUnsafeIsRefusedInThisProcess(t *testing.T) {
	db, err := Open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for sql, refused := range map[string]bool{
		"SELECT json_structure('[1]')":                  true,
		"SELECT JSON_CONTAINS('[1]', '1')":              true,
		"SELECT 1::VARIANT":                             true,
		"SELECT CAST([1] AS VARIANT[])":                 true,
		"SELECT NULL::STRUCT(v VARIANT)":                true,
		"SELECT TRY_CAST('1' AS MAP(INTEGER, VARIANT))": true,
		"SELECT 1 AS variant":                           false,
		"SELECT list_sort([2, 1])":                      false,
		"SELECT variant FROM (SELECT 1) t(variant)":     false,
		"SELECT 1": false,
	} {
		for _, isolate := range []bool{true, false} {
			rows, err := db.Query(t.Context(), Request{SQL: sql, Isolate: isolate})
			if err == nil {
				rows.Close()
			}
			got := err != nil && AsError(err).Code == errcode.Refused && strings.Contains(err.Error(), "can end the process")
			if got != (refused && isolate) {
				t.Errorf("%s, isolate %v: got %v", sql, isolate, err)
			}
		}
	}
}

func TestUnsafeCastInATextOfABody(t *testing.T) {
	for text, want := range map[string]bool{
		"x::variant": true, "(x :: VARIANT)": true, "CAST(x AS VARIANT)": true, "cast(x as variant[])": true,
		"variant": false, "t.variant || x": false, "(SELECT a AS variant FROM t)": false, "x AS variant": false,
	} {
		if got := unsafeCast(text) != ""; got != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
}
