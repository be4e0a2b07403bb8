package flightsql

import (
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/test/doctable"
)

// TestDocsOfErrors compares docs/errors.md with the statuses of codes.
func TestDocsOfErrors(t *testing.T) {
	documented := map[errcode.Code]bool{}
	for name, row := range doctable.Read(t, "../../../docs/errors.md", "Code") {
		if want, ok := row["gRPC"]; ok {
			documented[errcode.Code(name)] = true
			if got := statusCodes[errcode.Code(name)].String(); got != want {
				t.Errorf("%s: status %s is documented; it is %s", name, want, got)
			}
		}
	}
	for code := range statusCodes {
		if !documented[code] {
			t.Errorf("%s is not in docs/errors.md", code)
		}
	}
}
