package main

import (
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/diff"
)

// TestStatementsAgreeWithDuckDB runs a slice of the differential tester.
func TestStatementsAgreeWithDuckDB(t *testing.T) {
	for _, isolation := range []string{"none", "process"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			var differences strings.Builder
			o := diff.Options{Program: []string{"spiced"}, Seed: 1, Statements: 16, Isolations: []string{isolation}, Out: &differences}
			report, err := diff.Run(t.Context(), o)
			if err != nil || report.Differences > 0 {
				t.Errorf("%s: %v\n%s", report, err, &differences)
			}
			if report.Compared < 100 || report.Errors > report.Compared/4 {
				t.Errorf("too little was compared: %s", report)
			}
		})
	}
}
