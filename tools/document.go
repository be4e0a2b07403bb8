package tools

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/tokens"
	"github.com/spiced-sql/spiced/spicepod"
)

// Document is what a definition says about the use of a tool, in addition to its description.
type Document struct {
	WhenToUse string    `json:"when_to_use,omitempty"`
	NotFor    string    `json:"not_for,omitempty" doc:"What the tool is not for, and which tool is."`
	Examples  []Example `json:"examples,omitempty"`

	// Budget is how many tokens models are sent of it at most: see [Document.Shown].
	Budget int `json:"-"`
	// FromTests reports whether Examples are tests of the function, not those of the declaration.
	FromTests bool `json:"-"`
	// Withheld is why the tests of a function are not among Examples; "": they are, or there is
	// no reason.
	Withheld string `json:"-"`
}

// Example is a call of a tool.
type Example struct {
	Arguments   json.RawMessage `json:"arguments" type:"object"` // canonical
	Description string          `json:"description,omitempty"`
	Result      json.RawMessage `json:"result,omitempty" doc:"What the call returns, where the declaration says it."`
}

// DocumentOf returns the document of a declaration. An example that is no JSON has been reported
// when the Spicepod was read, and is left out.
func DocumentOf(u spicepod.Use, settings spicepod.ToolDocuments) Document {
	d := Document{
		WhenToUse: strings.TrimSpace(u.WhenToUse), NotFor: strings.TrimSpace(u.NotFor), Budget: settings.Tokens,
	}
	for _, declared := range u.Examples {
		if e, err := exampleOf(declared); err == nil {
			d.Examples = append(d.Examples, e)
		}
	}
	return d
}

func exampleOf(declared spicepod.Example) (Example, error) {
	e := Example{Description: strings.TrimSpace(declared.Description)}
	var err, err2 error
	if e.Arguments, err = Encode(declared.Arguments); declared.Arguments == nil {
		e.Arguments = json.RawMessage("{}")
	}
	if declared.HasResult {
		e.Result, err2 = Encode(declared.Result)
	}
	return e, errors.Join(err, err2)
}

// Fits reports whether the arguments of an example fit a schema.
func (e Example) Fits(schema *Schema) bool {
	value, err := Decode(e.Arguments)
	return err == nil && len(schema.Check(value)) == 0
}

// fitting returns the examples whose arguments fit a schema; all if it does not compile, as it
// then takes any object.
func fitting(list []Example, parameters json.RawMessage) []Example {
	if len(list) == 0 {
		return nil
	}
	schema, err := Compile(parameters)
	if err != nil {
		return list
	}
	var fit []Example
	for _, e := range list {
		if e.Fits(schema) {
			fit = append(fit, e)
		}
	}
	return fit
}

// ExampleFault is why an example of a declaration does not fit the parameters of its tool.
type ExampleFault struct {
	Path    string // below the list of examples: "[0].arguments.from"
	Message string
	Hint    string
}

// CheckExamples returns a fault for each argument of a declared example that does not fit the
// parameters. [Define] leaves such examples out.
func CheckExamples(d *Definition, list []spicepod.Example) []ExampleFault {
	schema, err := Compile(d.Parameters)
	if err != nil || len(list) == 0 {
		return nil // what is wrong with the schema is reported with the tool
	}
	doc, _ := Decode(d.Parameters)
	var names []string
	for _, p := range propertiesOf(doc) {
		names = append(names, p.Name)
	}
	var faults []ExampleFault
	for i, declared := range list {
		e, err := exampleOf(declared)
		if err != nil {
			continue
		}
		value, err := Decode(e.Arguments)
		if err != nil {
			continue
		}
		for _, f := range schema.Check(value) {
			path, hint := fmt.Sprintf("[%d].arguments", i), ""
			first, _, _ := strings.Cut(strings.TrimPrefix(f.Path, "/"), "/")
			argument, given := declared.Arguments[first]
			if given {
				path += "." + first
			}
			switch {
			case !slices.Contains(names, first):
				hint = nearest.Hint(first, names, "the tool takes "+cmp.Or(strings.Join(names, ", "), "no arguments"))
			case given && argument == nil:
				hint = "leave an argument out that the call does not pass"
			}
			faults = append(faults, ExampleFault{path, "the example does not fit the parameters: " + f.Message, hint})
		}
	}
	return faults
}

// Shown is what models are sent of a [Document].
type Shown struct {
	Text     string    // lines of when_to_use and not_for
	Examples []Example // those that fit the budget
	Left     []string  // what does not fit the budget: "not_for", "examples[2]"
	Tokens   int       // of Text and Examples, estimated
}

// Shown returns what models are sent of the document within its budget: in the order of
// when_to_use, not_for and the examples, each item that still fits, whole. Equal documents give
// equal texts, so that the prompt caches of providers hold.
func (d *Document) Shown() Shown {
	var s Shown
	fits := func(what, line string) bool {
		n := tokens.Count("\n" + line)
		if s.Tokens+n > d.Budget {
			s.Left = append(s.Left, what)
			return false
		}
		s.Tokens += n
		return true
	}
	var lines []string
	for _, item := range []struct{ key, label, text string }{
		{"when_to_use", "Use when", d.WhenToUse}, {"not_for", "Not for", d.NotFor},
	} {
		if item.text == "" {
			continue
		}
		if line := labelled(item.label, item.text); fits(item.key, line) {
			lines = append(lines, line)
		}
	}
	s.Text = strings.Join(lines, "\n")
	for i, e := range d.Examples {
		if fits(fmt.Sprintf("examples[%d]", i), e.Line()) {
			s.Examples = append(s.Examples, e)
		}
	}
	return s
}

// labelled returns a text as one line after a label, unless it begins like that already.
func labelled(label, text string) string {
	text = strings.Join(strings.Fields(text), " ")
	first, _, _ := strings.Cut(label, " ")
	if len(text) > len(first) && strings.EqualFold(text[:len(first)], first) && text[len(first)] == ' ' {
		return text
	}
	return label + ": " + text
}

// Line returns the example as one line of a description.
func (e Example) Line() string {
	line := "Example"
	if e.Description != "" {
		line += " (" + strings.Join(strings.Fields(e.Description), " ") + ")"
	}
	line += ": " + string(e.Arguments)
	if len(e.Result) > 0 {
		line += " → " + string(e.Result)
	}
	return line
}

// Text returns the description for models that have no other place for the rest of the
// document: with lines for when_to_use, not_for and the examples.
func (d *Definition) Text() string {
	text, examples := d.Parts()
	return WithExamples(text, examples)
}

// Parts returns the description with lines for when_to_use and not_for, and the examples for
// models that have a place for them.
func (d *Definition) Parts() (text string, examples []Example) {
	shown := d.Shown()
	return joined(d.Description, shown.Text), shown.Examples
}

// WithExamples returns a description with a line for each example.
func WithExamples(description string, examples []Example) string {
	for _, e := range examples {
		description = joined(description, e.Line())
	}
	return description
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
