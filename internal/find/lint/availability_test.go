package lint_test

import (
	"fmt"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/availability"
	"github.com/spiced-sql/spiced/internal/find/lint"
	"github.com/spiced-sql/spiced/internal/test/podtest"
)

func TestCheckAvailability(t *testing.T) {
	pod := podtest.Load(t, `
runtime:
  tools:
    settings: { region: eu, beta: true, web_search: true }
functions:
  - { name: f, from: sql, body: "1", signature: { returns: int64 }, available: "ctx.now > timestamp('2026-01-01T00:00:00Z')" }
  - { name: g, from: sql, body: "1", signature: { returns: int64 }, available: ctx.settings.region == 'eu' }
`)
	policy, problems := availability.Compile(pod, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	got := ""
	for _, f := range lint.CheckAvailability(policy) {
		got += fmt.Sprintf("%s %s %s %s\n", f.Severity, f.Rule, f.Tool, f.Path)
	}
	want := "warning time-in-available f functions[0].available\nwarning unused-setting beta runtime.tools.settings.beta\n"
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
