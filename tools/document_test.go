package tools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

var freight = spicepod.Use{
	WhenToUse: "Somebody asks what\n a parcel costs.", NotFor: "Orders that were sent; call order_total.",
	Examples: []spicepod.Example{
		{Arguments: map[string]any{"weight": 2.5, "express": true}, Result: 7.5, HasResult: true},
		{Arguments: map[string]any{"weight": 1}, Description: "a letter"},
		{Arguments: map[string]any{"wieght": 1}},
		{Arguments: map[string]any{"weight": 1}, HasResult: true},
	},
}

func define(t *testing.T, u spicepod.Use, budget int) *tools.Definition {
	t.Helper()
	d, err := tools.Define(tools.Definition{
		Name: "freight", Description: "Cost of a parcel.", Document: tools.DocumentOf(u, spicepod.ToolDocuments{Tokens: budget}),
		Parameters: json.RawMessage(`{"type":"object","properties":{"weight":{"type":"number"},"express":{"type":"boolean"}},` +
			`"required":["weight"],"additionalProperties":false}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// What is shown is in a fixed order; what does not fit is left out whole, and named.
func TestShown(t *testing.T) {
	for _, c := range []struct {
		budget int
		text   string
		left   []string
	}{
		{1000, `Cost of a parcel.
Use when: Somebody asks what a parcel costs.
Not for: Orders that were sent; call order_total.
Example: {"express":true,"weight":2.5} → 7.5
Example (a letter): {"weight":1}
Example: {"weight":1} → null`, nil},
		{38, `Cost of a parcel.
Use when: Somebody asks what a parcel costs.
Not for: Orders that were sent; call order_total.
Example (a letter): {"weight":1}`, []string{"examples[0]", "examples[2]"}},
		{14, "Cost of a parcel.\nUse when: Somebody asks what a parcel costs.", []string{
			"not_for", "examples[0]", "examples[1]", "examples[2]",
		}},
		{0, "Cost of a parcel.", []string{"when_to_use", "not_for", "examples[0]", "examples[1]", "examples[2]"}},
	} {
		d := define(t, freight, c.budget)
		if diff := cmp.Diff(c.text, d.Text()); diff != "" {
			t.Errorf("budget %d: %s", c.budget, diff)
		}
		shown := d.Shown()
		if diff := cmp.Diff(c.left, shown.Left); diff != "" || shown.Tokens > c.budget {
			t.Errorf("budget %d: %d tokens, left out %s", c.budget, shown.Tokens, diff)
		}
	}
}

// A text that begins like its label gets none.
func TestLabels(t *testing.T) {
	for text, want := range map[string]string{
		"use this for parcels":    "use this for parcels",
		"Useful for parcels":      "Use when: Useful for parcels",
		"Somebody asks for a fee": "Use when: Somebody asks for a fee",
	} {
		if d := define(t, spicepod.Use{WhenToUse: text}, 60); d.Shown().Text != want {
			t.Errorf("%q: %q", text, d.Shown().Text)
		}
	}
	if d := define(t, spicepod.Use{NotFor: "not for letters"}, 60); d.Shown().Text != "not for letters" {
		t.Error(d.Shown().Text)
	}
}

func TestDefinitionWithoutDocument(t *testing.T) {
	if d := define(t, spicepod.Use{}, 60); d.Text() != "Cost of a parcel." || d.Shown().Tokens != 0 {
		t.Errorf("%q, %+v", d.Text(), d.Shown())
	}
}

func TestCheckExamples(t *testing.T) {
	d := define(t, freight, 60)
	list := append(freight.Examples, spicepod.Example{Arguments: map[string]any{"weight": "heavy"}},
		spicepod.Example{Arguments: map[string]any{"weight": 1, "express": nil}})
	var got []string
	for _, f := range tools.CheckExamples(d, list) {
		got = append(got, f.Path+": "+f.Message+" / "+f.Hint)
	}
	want := []string{
		`[2].arguments: the example does not fit the parameters: "weight" is missing; a number is needed / `,
		`[2].arguments.wieght: the example does not fit the parameters: there is no argument "wieght"; did you mean "weight"? / did you mean "weight"?`,
		`[4].arguments.weight: the example does not fit the parameters: "weight" is text; a number is needed / `,
		`[5].arguments.express: the example does not fit the parameters: "express" is null; true or false is needed / ` +
			`leave an argument out that the call does not pass`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := len(d.Examples); n != 3 || strings.Contains(d.Text(), "wieght") {
		t.Errorf("%d examples: %s", n, d.Text())
	}
}
