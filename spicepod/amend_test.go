package spicepod

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const amended = `# A shop.
functions:
  - name: freight # by weight

    description: freight   # too short
    body: |
      weight
tools:
- from: mcp:wiki
  name: wiki
  documents:
    # The first.
    - tool: search
      when_to_use: x
`

func TestAmend(t *testing.T) {
	for name, c := range map[string]struct {
		texts ToolTexts
		want  string
	}{
		"a function": {ToolTexts{Line: 3, Column: 5, Description: `Says "how much": #1`, WhenToUse: "Before\nsending."}, `# A shop.
functions:
  - name: freight # by weight
    when_to_use: "Before\nsending."

    description: "Says \"how much\": #1" # too short
    body: |
      weight
tools:
- from: mcp:wiki
  name: wiki
  documents:
    # The first.
    - tool: search
      when_to_use: x
`},
		"another tool of a server": {ToolTexts{Line: 9, Column: 3, Tool: "read", NotFor: "y"}, `# A shop.
functions:
  - name: freight # by weight

    description: freight   # too short
    body: |
      weight
tools:
- from: mcp:wiki
  name: wiki
  documents:
    - tool: "read"
      not_for: "y"
    # The first.
    - tool: search
      when_to_use: x
`},
		"a tool of a server": {ToolTexts{Line: 9, Column: 3, Tool: "search", Description: "<d>", WhenToUse: "z"}, `# A shop.
functions:
  - name: freight # by weight

    description: freight   # too short
    body: |
      weight
tools:
- from: mcp:wiki
  name: wiki
  documents:
    # The first.
    - tool: search
      description: "<d>"
      when_to_use: "z"
`},
	} {
		got, err := c.texts.AmendIn(amended)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// What cannot be amended line by line is refused; it is never written otherwise.
func TestAmendRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"braces":          "functions:\n  - { name: f }\n",
		"a text in lines": "functions:\n  - name: f\n    description: >\n      a\n      b\n",
		"another place":   "functions:\n    - name: f\n",
		"a long name":     "functions:\n  - name: \"f\n      g\"\n",
	} {
		texts := ToolTexts{Line: 2, Column: 5, Description: "d"}
		if got, err := texts.AmendIn(text); !errors.Is(err, ErrNoPlace) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	if got, err := (ToolTexts{Line: 2, Column: 5, WhenToUse: "w"}).AmendIn("functions:\r\n  - name: f"); err != nil ||
		got != "functions:\r\n  - name: f\r\n    when_to_use: \"w\"\r\n" {
		t.Errorf("%q, %v", got, err)
	}
}
