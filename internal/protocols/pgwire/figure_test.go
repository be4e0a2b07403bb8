package pgwire

import (
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/internal/test/cputime"
)

// TestFigureIsLinear reads expressions that are nested as deeply as a client likes.
// Reading each level to its end took 74 s for the CASE.
func TestFigureIsLinear(t *testing.T) {
	const levels = 40000
	for _, form := range [][2]string{{"(", ")"}, {"CASE WHEN a THEN 1 ELSE ", " END"}, {"CAST(", " AS int)"}, {"(", ""}, {"ARRAY[", ""}, {"f(", ")"}} {
		sql := "SELECT " + strings.Repeat(form[0], levels) + "a" + strings.Repeat(form[1], levels)
		tokens := sqltree.Scan(sql)
		within := cputime.Limit(t, 5*time.Second)
		titlesOf(sql, tokens)
		within()
	}
}

// TestFigureOfNested gives no name to what is nested too deeply.
func TestFigureOfNested(t *testing.T) {
	for levels, want := range map[int]string{1: "a", maxFigured: "a", maxFigured + 1: ""} {
		sql := strings.Repeat("(", levels) + "a" + strings.Repeat(")", levels)
		if got, _ := figure(sql, sqltree.Scan(sql)); got != want {
			t.Errorf("%d levels: %q, want %q", levels, got, want)
		}
	}
}
