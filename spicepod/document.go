package spicepod

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Limits of what a declaration says about the use of a tool.
const (
	// MaxUseText is the size of when_to_use and of not_for, in bytes.
	MaxUseText = 2 << 10
	// MaxExamples is the number of examples of a tool.
	MaxExamples = 10
	// MaxExample is the size of the arguments and of the result of an example as JSON, and of its
	// description, in bytes.
	MaxExample = 4 << 10
)

// Example is one entry of `examples:` of a function, a tool or an agent: a call of it.
type Example struct {
	Arguments   map[string]any `yaml:"arguments" required:"true" doc:"Arguments of the call by name; they must fit the parameters of the tool."`
	Description string         `yaml:"description" doc:"What the call is for."`
	Result      any            `yaml:"result" presence:"HasResult" doc:"What the call returns."`

	// HasResult reports whether result is present; it distinguishes `result: null` from no
	// result.
	HasResult bool `yaml:"-"`
}

// Use is what a declaration says about the use of a tool, in addition to its description.
type Use struct {
	WhenToUse string
	NotFor    string
	Examples  []Example
}

// Use returns when_to_use, not_for and examples.
func (f *Function) Use() Use { return Use{f.WhenToUse, f.NotFor, f.Examples} }

// Use returns when_to_use, not_for and examples.
func (t *Tool) Use() Use { return Use{t.WhenToUse, t.NotFor, t.Examples} }

// Use returns when_to_use, not_for and examples.
func (a *Agent) Use() Use { return Use{a.WhenToUse, a.NotFor, a.Examples} }

// Use returns when_to_use, not_for and examples.
func (t *ToolDocument) Use() Use { return Use{t.WhenToUse, t.NotFor, t.Examples} }

// ToolDocument is one entry of `documents:` of an MCP server in `tools:`: texts for one of its
// tools.
type ToolDocument struct {
	Tool        string    `yaml:"tool" required:"true" doc:"Name of the tool, as the server lists it."`
	Description string    `yaml:"description" doc:"What the tool does; replaces the server's description."`
	WhenToUse   string    `yaml:"when_to_use" doc:"When a model should call the tool. See docs/models.md."`
	NotFor      string    `yaml:"not_for" doc:"What the tool is not for, and which tool is."`
	Examples    []Example `yaml:"examples" doc:"Calls that show how to use the tool, at most 10."`
}

// checkUse applies the limits of when_to_use, not_for and examples.
func (d *decoder) checkUse(u Use, o *object) {
	for key, text := range map[string]string{"when_to_use": u.WhenToUse, "not_for": u.NotFor} {
		switch {
		case o.value(key) != nil && strings.TrimSpace(text) == "" && isBlankText(o.value(key)):
			d.failPath(key, key+" is empty", "write a sentence, or leave it out")
		case len(text) > MaxUseText:
			d.failPath(key, fmt.Sprintf("%s has %d bytes; the limit is %d", key, len(text), MaxUseText),
				"a sentence or two help a model more than a page")
		case strings.ContainsFunc(text, unseen):
			d.failPath(key, key+" has control characters", "remove them")
		}
	}
	if n := len(u.Examples); n > MaxExamples {
		d.failPath("examples", fmt.Sprintf("there are %d examples; the limit is %d", n, MaxExamples),
			"keep the shortest ones that differ most")
	}
	for i := range u.Examples {
		d.checkExample(fmt.Sprintf("examples[%d]", i), &u.Examples[i])
	}
}

func (d *decoder) checkExample(path string, e *Example) {
	if n := len(e.Description); n > MaxExample {
		d.failPath(path+".description", fmt.Sprintf("the description has %d bytes; the limit is %d", n, MaxExample), "")
	}
	values := map[string]any{"result": e.Result}
	if e.Arguments != nil {
		values["arguments"] = e.Arguments
	}
	for key, value := range values {
		text, err := json.Marshal(value)
		switch {
		case err != nil:
			d.failPath(path+"."+key, "the "+key+" cannot be written as JSON: "+truncate.Line(err.Error(), maxShown),
				"use numbers, texts, booleans, lists and mappings")
		case len(text) > MaxExample:
			d.failPath(path+"."+key, fmt.Sprintf("the %s of an example has %d bytes as JSON; the limit is %d", key, len(text),
				MaxExample), "use a smaller example")
		}
	}
}

// unseen reports whether a character moves the cursor or is not seen. Line ends and tabs are
// fine.
func unseen(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }

// checkDocuments checks the documents of an entry of tools.
func (d *decoder) checkDocuments(t *Tool, o *object) {
	if !t.Server() {
		if len(t.Documents) > 0 {
			d.failPath("documents", "documents are for the tools of an MCP server",
				"write description, when_to_use, not_for and examples in the entry itself")
		}
		return
	}
	for _, key := range []string{"when_to_use", "not_for", "examples"} {
		if o.value(key) != nil {
			d.failPath(key, fmt.Sprintf("a server has many tools; %s is about one", key),
				"write it in an entry of documents, with tool: and the name of the tool")
		}
	}
	for i, doc := range t.Documents {
		same := func(other ToolDocument) bool { return other.Tool == doc.Tool && doc.Tool != "" }
		if slices.ContainsFunc(t.Documents[:i], same) {
			d.failPath(fmt.Sprintf("documents[%d].tool", i), fmt.Sprintf("the tool %q has documents already",
				truncate.Runes(doc.Tool, maxShown)), "write them in one entry")
		}
	}
}
