package spicepod

import (
	"errors"
	"strings"
	"testing"
)

// orders is the entry of most cases, as it is written with an indentation.
var orders = NewDataset{From: "postgres:orders", Name: "orders", Params: []NewParam{{"pg_port", "5433"}, {"pg_pass", "${env:PG_PASS}"}}}

func ordersAt(indent string) string {
	return indent + "- from: postgres:orders\n" + indent + "  name: orders\n" + indent + "  params:\n" + indent + "    pg_port: 5433\n" + indent +
		"    pg_pass: ${env:PG_PASS}\n"
}

func TestAddToKeepsTheText(t *testing.T) {
	const head = "version: v1\nkind: Spicepod\nname: shop\n"
	for name, c := range map[string]struct{ before, after, indent string }{
		"no datasets":              {head, "", "  "},
		"no line feed at the end":  {strings.TrimSuffix(head, "\n"), "", "  "},
		"empty":                    {head + "datasets:\n", "", "  "},
		"empty, with a comment":    {head + "datasets: # none yet\n", "", "  "},
		"empty at the end":         {head + "datasets:", "", "  "},
		"last section":             {head + "datasets:\n  - from: file:a.csv  # the first\n    name: a\n", "", "  "},
		"without a line feed":      {head + "datasets:\n  - { from: file:a.csv, name: a }", "", "  "},
		"not indented":             {head + "datasets:\n- from: file:a.csv\n  name: a\n", "\n# The views.\nviews: []\n", ""},
		"indented by four":         {head + "datasets:\n    - from: file:a.csv\n      name: a\n", "runtime: {}\n", "    "},
		"comments of what follows": {head + "datasets:\n  - from: file:a.csv\n    name: a\n", "\n# Views\n\nviews: []\n", "  "},
		"comments of the list":     {head + "datasets:\n  - from: file:a.csv\n    name: a\n    # the end of a\n  # more\n", "\nviews: []\n", "  "},
		"a block of text": {
			head + "datasets:\n  - from: file:a.csv\n    name: a\n    description: |\n      # not a comment\n\n      text\n",
			"\nviews: []\n", "  ",
		},
		"a block with blank lines": {head + "datasets:\n  - from: file:a.csv\n    name: a\n    description: |+\n      text\n\n\n", "views: []\n", "  "},
		"a value named datasets":   {head + "metadata: { for: datasets }\ndatasets:\n  - { from: file:a.csv, name: a }\n", "functions: []\n", "  "},
		"anchors":                  {head + "datasets:\n  - &a { from: file:a.csv, name: a }\n  - { <<: *a, name: b }\n", "\n", "  "},
		"not ASCII": {
			"version: v1\nkind: Spicepod\nname: größe\nmetadata: { é: \u2028 }\ndatasets:\n  - { from: file:ä.csv, name: ä }\n",
			"views: []\n", "  ",
		},
	} {
		want := c.before
		if !strings.HasSuffix(want, "\n") {
			want += "\n"
		}
		if !strings.Contains(want, "datasets:") {
			want += "datasets:\n"
		}
		want += ordersAt(c.indent) + c.after
		if got, err := orders.AddTo(c.before + c.after); err != nil || got != want {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", name, err, got, want)
		}
		dos := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
		if got, err := orders.AddTo(dos(c.before + c.after)); err != nil || strings.Contains(c.before+c.after, "\n") && got != dos(want) {
			t.Errorf("%s, lines of DOS: %v, got\n%q\nwant\n%q", name, err, got, dos(want))
		}
	}
	for before, want := range map[string]string{
		"datasets: []\nviews: []\n": "datasets:\n" + ordersAt("  ") + "views: []\n",
		"datasets: [ ] # none\n":    "datasets: # none\n" + ordersAt("  "),
		"datasets: null\n":          "datasets:\n" + ordersAt("  "),
		"datasets: [{ from: file:a, name: a }]": "datasets: [{from: 'postgres:orders', name: orders, params: {pg_port: 5433, pg_pass: '${env:PG_PASS}'}}, { from: " +
			"file:a, name: a }]",
		"datasets: [ { from: file:a, name: a }]": "datasets: [ {from: 'postgres:orders', name: orders, params: {pg_port: 5433, pg_pass: " +
			"'${env:PG_PASS}'}}, { from: " +
			"file:a, name: a }]",
	} {
		if got, err := orders.AddTo(before); err != nil || got != want {
			t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
		}
	}
}

func TestAddToRefuses(t *testing.T) {
	for _, text := range []string{"{ version: v1, kind: Spicepod }", "- a\n", "a: &l [x]\ndatasets: *l\n", "a: 1\n...\n", "datasets: text\n"} {
		if got, err := orders.AddTo(text); !errors.Is(err, ErrNoPlace) {
			t.Errorf("%q: %v, got %q", text, err, got)
		}
	}
	if _, err := orders.AddTo("a: ["); err == nil {
		t.Error("a text that is not YAML")
	}
}

func FuzzAddTo(f *testing.F) {
	for _, text := range []string{
		"a: 1\ndatasets:\n- b\n\n# c\nd: |+\n  e\n\n", "datasets: [a]\n", "datasets:\n  - |\n   # x\n",
		"datasets: # x\r\n  - a: b\r\n",
	} {
		f.Add(text, "file:a b.csv", "a: b # c")
	}
	f.Fuzz(func(t *testing.T, text, from, value string) {
		d := NewDataset{From: from, Name: "n", Params: []NewParam{{"p", value}}}
		got, err := d.AddTo(text)
		if err == nil && !d.isAdded(text, got) {
			t.Errorf("%q became %q", text, got)
		}
	})
}
