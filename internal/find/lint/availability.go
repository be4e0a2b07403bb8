package lint

import (
	"fmt"

	"github.com/spiced-sql/spiced/internal/access/availability"
	"github.com/spiced-sql/spiced/spicepod"
)

// The rules about `available`. They are warnings.
const (
	// TimeInAvailable: an expression reads ctx.now.
	TimeInAvailable = "time-in-available"
	// UnusedSetting: no expression reads a setting.
	UnusedSetting = "unused-setting"
)

// CheckAvailability returns the findings about the expressions of a Spicepod. Each has
// a Path, and names its component.
func CheckAvailability(p *availability.Policy) []Finding {
	var found []Finding
	for _, rule := range p.All() {
		if rule.Fields().Now() {
			found = append(found, Finding{
				Rule: TimeInAvailable, Severity: spicepod.Warning, Tool: rule.Name(), Path: rule.Path, Component: rule.Declared,
				Message: "its available reads ctx.now: the list of tools changes with the time, so that providers of " +
					"models cannot " +
					"cache prompts, and it is evaluated for each request",
				Hint: "let what the time decides be a setting, or a property of the caller",
			})
		}
	}
	for _, name := range p.Unused() {
		found = append(found, Finding{
			Rule: UnusedSetting, Severity: spicepod.Warning, Tool: name, Path: "runtime.tools.settings." + name,
			Component: "setting " + name,
			Message:   fmt.Sprintf("no available reads the setting %q", name),
			Hint:      "write ctx.settings." + name + " in an expression, or remove it",
		})
	}
	return found
}
