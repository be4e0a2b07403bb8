package sqlstate

import (
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/test/doctable"
)

// TestDocsOfErrors compares docs/errors.md with the SQLSTATEs of codes.
func TestDocsOfErrors(t *testing.T) {
	documented := map[errcode.Code]bool{}
	for name, row := range doctable.Read(t, "../../../../docs/errors.md", "Code") {
		if want, ok := row["SQLSTATE"]; ok {
			documented[errcode.Code(name)] = true
			if got := states[errcode.Code(name)]; got != want {
				t.Errorf("%s: SQLSTATE %s is documented; it is %q", name, want, got)
			}
		}
	}
	for code := range states {
		if !documented[code] {
			t.Errorf("%s is not in docs/errors.md", code)
		}
	}
}
