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
		"no pair":         "functions:\n  - {}\n",
		"a list first":    "functions:\n  - { tags: [a], name: f }\n",
		"an anchor":       "functions:\n  - { name: f, description: &d x }\n",
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

// Entries in braces stay in braces, whatever their texts have.
func TestAmendInBraces(t *testing.T) {
	function := ToolTexts{Line: 2, Column: 5, Description: `a "b", {c}: #`, NotFor: "n"}
	server := ToolTexts{Line: 2, Column: 5, Tool: "read", WhenToUse: "w"}
	for text, c := range map[string]struct {
		texts ToolTexts
		want  string
	}{
		`{ name: f, from: sql } # x`: {function, `{ name: f, description: "a \"b\", {c}: #", not_for: "n", from: sql } # x`},
		`{name: "größe, {}", not_for: 'it''s, } so', description: plain, x: 1}`: {
			function, `{name: "größe, {}", not_for: "n", description: "a \"b\", {c}: #", x: 1}`,
		},
		`{ description: d, name: f }`: {function, `{ description: "a \"b\", {c}: #", not_for: "n", name: f }`},
		"{ name: f,\n      description: d,\n      body: b }": {
			function, "{ name: f, not_for: \"n\",\n      description: \"a \\\"b\\\", {c}: #\",\n      body: b }",
		},
		`{ name: s, from: "mcp:x" }`: {server, `{ name: s, documents: [{ tool: "read", when_to_use: "w" }], from: "mcp:x" }`},
		`{ name: s, documents: [{ tool: read, not_for: x }] }`: {
			server, `{ name: s, documents: [{ tool: read, when_to_use: "w", not_for: x }] }`,
		},
		`{ name: s, documents: [{ tool: list }] }`: {
			server, `{ name: s, documents: [{ tool: "read", when_to_use: "w" }, { tool: list }] }`,
		},
		"name: s\n    documents: []":                    {server, "name: s\n    documents: [{ tool: \"read\", when_to_use: \"w\" }]"},
		"name: s\n    documents:\n    - { tool: read }": {server, "name: s\n    documents:\n    - { tool: read, when_to_use: \"w\" }"},
	} {
		got, err := c.texts.AmendIn("entries:\n  - " + text + "\n")
		if diff := cmp.Diff("entries:\n  - "+c.want+"\n", got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
}
