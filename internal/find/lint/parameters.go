package lint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/dialect"
)

// checkParameters reports parameters without a description, all in one finding. One
// that refers to another schema may be described there.
func checkParameters(d *tools.Definition) []Finding {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(d.Parameters, &schema) != nil {
		return nil // an invalid schema is reported elsewhere
	}
	var names []string
	for name, raw := range schema.Properties {
		var parameter struct {
			Description string `json:"description"`
			Ref         string `json:"$ref"`
		}
		if json.Unmarshal(raw, &parameter) == nil && strings.TrimSpace(parameter.Description) == "" && parameter.Ref == "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []Finding{finding(UndescribedParameters, d, "no description of "+list(names),
		"say what each means, in which unit or form")}
}

// checkSchema reports parameters that model providers refuse, all in one finding. Models are
// sent others: see package dialect.
func checkSchema(d *tools.Definition) []Finding {
	if len(d.Parameters) == 0 {
		return nil
	}
	faults := dialect.Say(d.Parameters, dialect.Anthropic).Faults
	if len(faults) == 0 {
		return nil
	}
	shown := faults[:min(len(faults), maxListed)]
	text := "model providers refuse the schema of its parameters: " + strings.Join(shown, "; ")
	if more := len(faults) - len(shown); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return []Finding{finding(RefusedSchema, d, text,
		"write draft 2020-12, with type object and properties at the top; until then models get a schema without it, and "+
			"the rest in the description")}
}

// list joins the first of several names.
func list(names []string) string {
	shown := make([]string, 0, maxListed)
	for _, name := range names[:min(len(names), maxListed)] {
		shown = append(shown, fmt.Sprintf("%q", truncate.Runes(name, maxExcerpt)))
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - maxListed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
