package main

import (
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/diff"
)

// TestStatementsAgreeWithDuckDB runs a slice of the differential tester.
func TestStatementsAgreeWithDuckDB(t *testing.T) {
	t.Parallel()
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

// TestSQLLogicFiles runs our own files in the format of DuckDB's tests.
func TestSQLLogicFiles(t *testing.T) {
	t.Parallel()
	var differences strings.Builder
	counts, err := diff.RunFiles(t.Context(), diff.Options{Program: []string{"spiced"}, Out: &differences}, "../../internal/test/diff/testdata/sqllogic")
	if err != nil || counts.Different+counts.WronglyRefused > 0 {
		t.Errorf("%s: %v\n%s", counts, err, &differences)
	}
	if counts.Files != 2 || counts.Equal < 30 || counts.Documented != 3 || counts.Errors < 2 || counts.Skipped != 1 {
		t.Errorf("got %s", counts)
	}
}
