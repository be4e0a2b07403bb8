// Package lint reports what makes tools hard to choose, expensive or dangerous: names
// and descriptions that look alike, descriptions that are missing or too long,
// undescribed parameters, instructions to the model in a description. It also estimates
// the tokens of definitions.
//
//	for _, f := range lint.Check(catalog.All()) {
//		fmt.Println(f.Declared, f.Severity, f.Tool, f.Message)
//	}
//	fmt.Println(lint.Cost(catalog.All(), lint.OpenAI), "tokens")
//
// It reads definitions only and does not modify them.
package lint

import (
	"cmp"
	"slices"

	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// The rules. The severity of a finding is that of the rule.
const (
	NoDescription         = "no-description"         // error
	Instructions          = "instructions"           // error: text that gives orders to the model
	HiddenText            = "hidden-text"            // error: text that people cannot see
	ShortDescription      = "short-description"      // warning
	LongDescription       = "long-description"       // warning
	UndescribedParameters = "undescribed-parameters" // warning
	SimilarName           = "similar-name"           // warning
	SimilarDescription    = "similar-description"    // warning
	CostlyTool            = "costly-tool"            // warning
	RefusedSchema         = "refused-schema"         // warning: model providers refuse the parameters
)

var errorRules = []string{NoDescription, Instructions, HiddenText, AsksForSecrets, Shadowing, DisguisedName}

// Thresholds, and limits on the work and on what is reported.
const (
	// MaxCompared is how many tools are compared with each other: the first by name.
	MaxCompared = 10_000
	// MaxAlike is how many other tools one rule reports as similar to one tool, most
	// similar first.
	MaxAlike = 3
	// similarity is the cosine from which descriptions are similar.
	similarity = .9
	// minDescription and maxDescription bound the tokens of a description.
	minDescription = 3
	maxDescription = 400
	// maxCharacters limits a description with its document: OpenAI's reasoning models and Azure
	// refuse longer ones, see decision 0100.
	maxCharacters = 1024
	// maxTokens limits the tokens of a whole definition.
	maxTokens = 1000
	// maxListed is how many names a message lists.
	maxListed = 8
	// maxExcerpt is how many characters of a text a message shows.
	maxExcerpt = 60
)

// Finding is what a rule reports about a tool.
type Finding struct {
	Rule     string            `json:"rule"`
	Severity spicepod.Severity `json:"severity"`
	Tool     string            `json:"tool"`
	Other    string            `json:"other,omitempty"` // the tool that it looks like
	Message  string            `json:"message"`
	Hint     string            `json:"hint,omitempty"`
	// Declared is where the tool is declared, file:line.
	Declared string `json:"declared"`
	// Path is the path in the Spicepod of what is wrong, and Component what has it; "": the
	// name of the tool, and the tool.
	Path      string `json:"path,omitempty"`
	Component string `json:"component,omitempty"`
}

// Check returns the findings of all rules, sorted by tool, rule and the other tool,
// never nil. Built-in tools are compared with others but not checked themselves: users
// cannot change them.
func Check(definitions []*tools.Definition) []Finding {
	definitions = slices.Clone(definitions)
	slices.SortFunc(definitions, func(a, b *tools.Definition) int { return cmp.Compare(a.Name, b.Name) })
	compared := definitions[:min(len(definitions), MaxCompared)]
	found := append([]Finding{}, similarNames(compared)...)
	found = append(found, similarDescriptions(compared)...)
	alike := map[[2]string]bool{}
	for _, f := range found {
		alike[pairOf(f.Tool, f.Other)] = true
	}
	found = append(found, confused(compared, alike)...)
	found = append(found, checkTrust(definitions)...)
	for _, d := range definitions {
		if !builtIn(d) {
			found = append(found, checkDescription(d)...)
			found = append(found, checkParameters(d)...)
			found = append(found, checkSchema(d)...)
			found = append(found, checkTexts(d)...)
			found = append(found, checkCost(d)...)
			found = append(found, checkUse(d)...)
		}
	}
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Other, b.Other),
			cmp.Compare(a.Message, b.Message))
	})
	return found
}

// builtIn reports whether the definition is ours; an entry of `tools:` that changes a
// built-in tool belongs to the Spicepod.
func builtIn(d *tools.Definition) bool { return d.Declared == "built in" }

// finding returns a finding about one tool.
func finding(rule string, d *tools.Definition, message, hint string) Finding {
	severity := spicepod.Warning
	if slices.Contains(errorRules, rule) {
		severity = spicepod.Error
	}
	return Finding{Rule: rule, Severity: severity, Tool: d.Name, Message: message, Hint: hint, Declared: d.Declared}
}

// pair returns a finding about two tools, for the one that is not built in, or of two
// for the later name.
func pair(rule string, a, b *tools.Definition, message func(other string) string, hint string) Finding {
	if a.Name > b.Name {
		a, b = b, a
	}
	if builtIn(b) {
		a, b = b, a
	}
	f := finding(rule, b, message(a.Name), hint)
	f.Other = a.Name
	return f
}
