package sqltree

import (
	"strings"
	"testing"
	"time"
)

// TestScanIsLinear scans what made it look ahead to the end again and again.
func TestScanIsLinear(t *testing.T) {
	for _, unit := range []string{
		"$", "$$", "$a$ $b$", "$a$$a$", "/*", "*/", "/**/", "'", "''", `"`, "--\n", "e'\\", "::", "a.", ":a", "a$", "é", "\u2003",
		"(", "x'",
	} {
		sql := strings.Repeat(unit, (1<<20)/len(unit))
		late := time.AfterFunc(20*time.Second, func() { panic("scanning 1 MB of " + unit + " takes too long") })
		tokens := Scan(sql)
		if late.Stop(); len(tokens) > len(sql) {
			t.Errorf("%q: %d tokens", unit, len(tokens))
		}
	}
}
