package udf

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// shownTests is how many tests of a function are shown as examples.
const shownTests = 3

// credential matches names of arguments that hold secrets, and key the values that providers
// give out as such.
var (
	credential = regexp.MustCompile(`(?i)(^|_)(password|passwd|passphrase|secret|token|credentials?|auth|authorization|` +
		`cookie|(api|access|private|secret|signing|encryption)_?key|pin|otp|ssn|iban|card_?number|cvv)(_|$)`)
	key = regexp.MustCompile(`\b(sk|pk|rk)[-_][A-Za-z0-9_-]{8,}|\bgh[pousr]_[A-Za-z0-9]{16,}|\bAKIA[0-9A-Z]{12,}|` +
		`\bxox[abprs]-[A-Za-z0-9-]{8,}|\beyJ[A-Za-z0-9_-]{8,}\.|-----BEGIN|://[^/\s:@]+:[^/\s@]+@`)
)

// documentOf returns the document of a function: what it declares and, if it has no examples,
// up to three of its tests.
func documentOf(f *functions.Function, o ToolOptions, parameters []byte) tools.Document {
	d := tools.DocumentOf(f.Declared.Use(), o.Documents)
	if len(d.Examples) > 0 || !o.Documents.Tests || len(f.Declared.Tests) == 0 {
		return d
	}
	if d.Withheld = withheld(f, o.traits(f)); d.Withheld != "" {
		return d
	}
	schema, err := tools.Compile(parameters)
	if err != nil {
		return d
	}
	d.Examples, d.FromTests = examplesOf(f, schema), true
	return d
}

// withheld returns why the tests of a function are not shown: models and callers would see data
// that a row filter or a column mask hides from them, or credentials. "" if they are shown.
func withheld(f *functions.Function, t engine.Traits) string {
	switch {
	case t.Protected:
		return "it reads a dataset with a row filter or a column mask"
	case t.Caller:
		return "its result depends on the caller"
	}
	for _, a := range f.Args {
		if credential.MatchString(words(a.Name)) {
			return "the argument " + a.Name + " looks like a credential"
		}
	}
	for _, t := range f.Declared.Tests {
		text, err := tools.Encode([]any{t.Args, t.Returns, t.Rows})
		if err == nil && key.Match(text) {
			return "a test has a value that looks like a credential"
		}
	}
	return ""
}

// words writes apiKey as api_Key.
func words(name string) string { return camel.ReplaceAllString(name, "${1}_${2}") }

var camel = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// examplesOf returns the tests that show most in few tokens: first the shortest one with a result,
// then each time the shortest of those that differ most from the chosen ones. Tests that expect an
// error or pass tables are no examples, nor are those whose arguments only SQL takes.
func examplesOf(f *functions.Function, schema *tools.Schema) []tools.Example {
	var list []tools.Example
	for _, t := range f.Declared.Tests {
		if e, ok := exampleOf(f, t); ok && e.Fits(schema) {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b tools.Example) int {
		return cmp.Or(cmp.Compare(empty(a), empty(b)), cmp.Compare(len(a.Line()), len(b.Line())),
			strings.Compare(a.Line(), b.Line()))
	})
	list = slices.CompactFunc(list, func(a, b tools.Example) bool { return string(a.Arguments) == string(b.Arguments) })
	var chosen []tools.Example
	for len(chosen) < shownTests && len(list) > 0 {
		best, most := 0, -1
		for i, e := range list {
			if n := difference(e, chosen); n > most {
				best, most = i, n
			}
		}
		chosen, list = append(chosen, list[best]), slices.Delete(list, best, best+1)
	}
	return chosen
}

// empty is 1 for an example whose result shows nothing, else 0.
func empty(e tools.Example) int {
	switch string(e.Result) {
	case `null`, `""`, `[]`, `{}`:
		return 1
	}
	return 0
}

func exampleOf(f *functions.Function, t spicepod.FunctionTest) (e tools.Example, ok bool) {
	if t.Expects() == spicepod.ExpectError || len(t.Tables) > 0 || len(t.Args) == 0 && len(f.Args) > 0 {
		return e, false
	}
	use := spicepod.Use{Examples: []spicepod.Example{{Arguments: t.Args, HasResult: true}}}
	if use.Examples[0].Result = t.Returns; t.Expects() == spicepod.ExpectRows {
		use.Examples[0].Result = t.Rows
	}
	d := tools.DocumentOf(use, spicepod.ToolDocuments{})
	if len(d.Examples) == 0 || len(d.Examples[0].Line()) > spicepod.MaxExample {
		return e, false
	}
	return d.Examples[0], true
}

// difference says how different an example is from the chosen ones: first by how much from the
// one that is most alike, then from all.
func difference(e tools.Example, chosen []tools.Example) int {
	least, sum := 0, 0
	for i, c := range chosen {
		n := differing(e, c)
		sum += n
		if i == 0 || n < least {
			least = n
		}
	}
	return least<<16 + sum
}

func differing(a, b tools.Example) int {
	n := 0
	if string(a.Result) != string(b.Result) {
		n++
	}
	left, right := arguments(a), arguments(b)
	for name, value := range left {
		if other, given := right[name]; !given || other != value {
			n++
		}
	}
	for name := range right {
		if _, given := left[name]; !given {
			n++
		}
	}
	return n
}

// arguments returns the arguments of an example as JSON, by name.
func arguments(e tools.Example) map[string]string {
	value, _ := tools.Decode(e.Arguments) // canonical JSON
	object, _ := value.(map[string]any)
	list := make(map[string]string, len(object))
	for name, v := range object {
		text, _ := tools.Encode(v) // decoded JSON
		list[name] = string(text)
	}
	return list
}
