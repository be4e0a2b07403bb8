package documents

import (
	_ "embed" // definitions.yaml
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/spiced-sql/spiced/tools"
)

// Toolset is what the `from` of a toolset calls these tools: builtin:documents.
const Toolset = "documents"

//go:embed definitions.yaml
var definitionsYAML []byte

// categoryWeb is the category of tools that read no document.
const categoryWeb = "web"

// definition is an entry of definitions.yaml.
type definition struct {
	Name        string         `yaml:"name"`
	Category    string         `yaml:"category"` // navigation, search, document or web: a tag of the tool
	Available   string         `yaml:"available"`
	Description string         `yaml:"description"`
	Parameters  map[string]any `yaml:"parameters"`
	Needs       []Role         `yaml:"needs"`
	Rows        string         `yaml:"rows"`
	SQL         string         `yaml:"sql"`

	params []string // the names of parameters in SQL
}

// definitions are the tools, in the order of the file.
var definitions = mustParse(definitionsYAML)

// mustParse parses a text that is part of the program.
func mustParse(text []byte) []*definition {
	var list []*definition
	if err := yaml.Unmarshal(text, &list); err != nil {
		panic(fmt.Sprintf("definitions.yaml: %v", err))
	}
	for _, d := range list {
		for _, m := range namedParameter.FindAllStringSubmatch(d.SQL, -1) {
			if !slices.Contains(d.params, m[1]) {
				d.params = append(d.params, m[1])
			}
		}
	}
	return list
}

// namedParameter is a parameter in a statement; a path of JSON in it begins with a quote and $.
var namedParameter = regexp.MustCompile(`\$([a-z_]+)`)

// Names lists the tools.
func Names() []string {
	names := make([]string, len(definitions))
	for i, d := range definitions {
		names[i] = d.Name
	}
	return names
}

// Conditions returns the expressions of `available` by tool; tools without one are available to
// everyone.
func Conditions() map[string]string {
	all := map[string]string{}
	for _, d := range definitions {
		if d.Available != "" {
			all[d.Name] = d.Available
		}
	}
	return all
}

// tool returns the definition of the tool for a toolset that is declared at a position, without some of
// the parameters.
func (d *definition) tool(c Config, without ...string) tools.Definition {
	parameters := d.Parameters
	if len(without) > 0 {
		properties := map[string]any{}
		for name, value := range parameters["properties"].(map[string]any) {
			if !slices.Contains(without, name) {
				properties[name] = value
			}
		}
		parameters = map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
		required, _ := d.Parameters["required"].([]any)
		required = slices.DeleteFunc(slices.Clone(required), func(name any) bool {
			return slices.Contains(without, name.(string))
		})
		if len(required) > 0 {
			parameters["required"] = required
		}
	}
	schema, _ := tools.Encode(parameters) // of YAML: texts, numbers, lists and maps
	settings, _ := json.Marshal(c)
	return tools.Definition{
		Name: d.Name, Description: strings.TrimSpace(d.Description), Parameters: schema,
		Tags: []string{d.Category, Toolset}, Source: tools.SourceBuiltin, Declared: c.Declared,
		Annotations:    tools.Annotations{ReadOnly: true, Idempotent: true, OpenWorld: d.Category == categoryWeb},
		Implementation: "documents:" + d.Name + ":" + string(settings),
	}
}
