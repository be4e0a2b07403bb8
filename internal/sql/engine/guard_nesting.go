package engine

import (
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// refuseLimit refuses what takes too long to plan.
func refuseLimit(text string, limit *sqltree.LimitError) error {
	e := NewError(errcode.Refused, limit.Hint, "%s", limit.Message)
	e.nesting = true
	return e.at(text, limit.Offset)
}

// structureArgument are DuckDB's functions whose second argument describes a type as
// JSON. DuckDB reads it recursively: 20,000 levels end the process.
var structureArgument = set("from_json from_json_strict json_transform json_transform_strict")

const mostStructureLevels = 100

// checkStructure refuses a description of a type that is nested too deeply. One that
// is not a literal is not known here; traits isolates such calls.
func checkStructure(text string, c sqltree.Call) error {
	if !structureArgument[sqltree.Fold(c.Name)] {
		return nil
	}
	for _, a := range c.Args {
		if a.Kind == sqltree.StringLiteral && jsonLevels(a.Text) > mostStructureLevels {
			return NewError(errcode.Refused, "read the inner levels with a second call",
				"the type that %s reads is nested deeper than %d", c.Name, mostStructureLevels).at(text, c.Offset)
		}
	}
	return nil
}

// jsonLevels returns how deep arrays and objects are nested in a JSON text.
func jsonLevels(text string) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\':
			i++ // what is escaped
		case quoted:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest
}
