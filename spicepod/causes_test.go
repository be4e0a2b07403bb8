package spicepod

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestCauses checks that each problem is a cause or waits for one, whatever the order, and that
// components which wait for each other, or for what has no error, are shown themselves.
func TestCauses(t *testing.T) {
	own := func(component string) Problem { return Problem{Component: component, Message: "broken"} }
	waits := func(component, other string) Problem { return Problem{Component: component}.Waits(other, "reads") }
	warning := own("dataset d")
	warning.Severity = Warning
	many := Problems{own("dataset d")}
	for i := range 12 {
		many = append(many, waits(fmt.Sprintf("view v%02d", i), "dataset d"))
	}
	for name, c := range map[string]struct {
		problems Problems
		want     string
	}{
		"through others": {
			Problems{waits("view b", "view a"), waits("view a", "dataset d"), own("dataset d"), own("dataset e")},
			"dataset d <- view b, view a; dataset e",
		},
		"its own fault first": {
			Problems{own("view a"), waits("view a", "dataset d"), own("dataset d"), waits("view b", "view a")},
			"view a <- view b; dataset d <- view a",
		},
		"two causes": {
			Problems{own("dataset d"), own("dataset e"), waits("view a", "dataset d"), waits("view a", "dataset e")},
			"dataset d <- view a; dataset e <- view a",
		},
		"two faults":           {Problems{own("dataset d"), own("dataset d"), waits("view a", "dataset d")}, "dataset d <- view a; dataset d"},
		"only a warning":       {Problems{warning, waits("view a", "dataset d")}, "dataset d; view a"},
		"nothing there":        {Problems{waits("view a", "dataset d")}, "view a"},
		"each for the other":   {Problems{waits("view a", "view b"), waits("view b", "view a")}, "view a <- view b"},
		"more than are listed": {many, "dataset d <- view v00, view v01, view v02, view v03, view v04, view v05, view v06, view v07, view v08, view v09 and 2 more"},
		"a structural problem": {Problems{{Message: "broken YAML"}, {Message: "again"}}, "; "},
	} {
		var got []string
		shown := map[string]bool{}
		for _, cause := range c.problems.Causes() {
			text := cause.Component
			if w := cause.WaitingText(); w != "" {
				text += " <- " + w
			}
			got = append(got, text)
			for _, component := range append([]string{cause.Component}, cause.Waiting...) {
				shown[component] = true
			}
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: got %s, want %s", name, strings.Join(got, "; "), c.want)
		}
		if slices.ContainsFunc(c.problems, func(p Problem) bool { return !shown[p.Component] }) {
			t.Errorf("%s: a problem is not shown", name)
		}
	}
}
