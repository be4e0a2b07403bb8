package availability

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// setting is a value of runtime.tools.settings with its type.
type setting struct {
	typ   *types.Type
	value ref.Val
}

// defaults are the settings that built-in toolsets use.
var defaults = map[string]setting{"web_search": {types.BoolType, types.False}}

// settingName is a name that expressions can write after a dot.
var settingName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// reserved are words of CEL, which are no names of fields.
var reserved = []string{
	"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
	"namespace", "null", "package", "return", "true", "var", "void", "while",
}

func nameFault(name string) string {
	switch {
	case !settingName.MatchString(name):
		return "write a letter or _, then letters, digits and _, at most 64"
	case slices.Contains(reserved, name):
		return "it is a word of CEL; choose another name"
	}
	return ""
}

// typed returns a setting as YAML has it.
func typed(value any) (setting, error) {
	switch v := value.(type) {
	case bool:
		return setting{types.BoolType, types.Bool(v)}, nil
	case string:
		return setting{types.StringType, types.String(v)}, nil
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return setting{types.IntType, types.Int(n)}, nil
		}
		n, err := v.Float64()
		if err != nil {
			return setting{}, fmt.Errorf("the value is %s, which is too large", v)
		}
		return setting{types.DoubleType, types.Double(n)}, nil
	case float64: // .inf and .nan
		return setting{types.DoubleType, types.Double(v)}, nil
	case []any:
		return typedList(v)
	}
	return setting{}, fmt.Errorf("the value is %s", kindOf(value))
}

// typedList returns a list whose values are all of one type.
func typedList(list []any) (setting, error) {
	of, values := types.StringType, make([]ref.Val, len(list))
	for i, v := range list {
		one, err := typed(v)
		if err != nil || one.typ.Kind() == types.ListKind {
			return setting{}, fmt.Errorf("value %d of the list is %s", i+1, kindOf(v))
		}
		if i > 0 && !one.typ.IsExactType(of) {
			return setting{}, fmt.Errorf("value %d of the list is %s, and the first is %s", i+1, kindOf(v), kindOf(list[0]))
		}
		of, values[i] = one.typ, one.value
	}
	return setting{types.NewListType(of), types.NewRefValList(types.DefaultTypeAdapter, values)}, nil
}

// kindOf names a type of YAML.
func kindOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a text"
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return "a whole number"
		}
		return "a number"
	case float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	}
	return fmt.Sprintf("%T", value)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
