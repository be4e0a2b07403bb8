package lint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/tools"
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
