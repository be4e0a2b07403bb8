package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// maxRepairs bounds the work of one repair, in subschemas applied.
const maxRepairs = 1 << 18

// wrappers are names under which models nest all arguments, and next to which
// they repeat the name of the tool.
var (
	wrappers = []string{"arguments", "args", "input", "inputs", "parameters", "params", "kwargs", "tool_input"}
	labels   = []string{"name", "tool", "tool_name", "tool_id", "function", "type", "id"}
)

// Repair returns arguments with nearly valid values corrected, and a notice of
// each change. It changes only invalid values, only if exactly one change makes
// a value valid, and no number loses a digit:
//
//   - text that is a number, true, false or null, where that is needed, and a
//     number or truth value where text is needed
//   - text that holds JSON where a list or an object is needed
//   - one value where a list of such values is needed
//   - one of an enumeration in another case or between spaces
//   - a list of one value where such a value is needed
//   - a name that differs only in case, - and _ from that of one property
//   - any name, if there is one argument and the schema has one property
//   - null and empty text for an optional property, which is removed
//   - all arguments within another object
//
// Two changes keep the meaning and have no notice: absent properties get their
// defaults, and whole numbers lose their fraction (3.0 becomes 3).
//
// The given arguments are not modified. The returned ones have at most as many
// faults, and repairing them again changes nothing.
func (s *Schema) Repair(args map[string]any) (map[string]any, []string) {
	if args == nil {
		args = map[string]any{}
	}
	if s.root == nil || s.fast.accepts(args) && !s.normalizes || outOfBounds(args, MaxDepth) != nil {
		return args, nil
	}
	before := s.count(args)
	r := &repair{schema: s, left: maxRepairs}
	fixed := args
	if before > 0 {
		fixed = r.arguments(args, before)
	}
	if normalized, ok := r.normalize(s.root, fixed, 0).(map[string]any); ok && !sameMap(normalized, fixed) &&
		s.count(normalized) <= s.count(fixed) {
		fixed = normalized
	}
	return fixed, r.notices
}

// count is the number of faults of a value.
func (s *Schema) count(value any) int {
	if s.fast.accepts(value) {
		return 0
	}
	return len(s.check(value))
}

// repair is the state of one Repair.
type repair struct {
	schema  *Schema
	left    int // see maxRepairs
	notices []string
}

// arguments repairs all arguments, and removes a wrapper if that helps.
func (r *repair) arguments(args map[string]any, before int) map[string]any {
	fixed, after := r.whole(args)
	if after > 0 {
		if name, inner := r.unwrap(args); inner != nil {
			other := &repair{schema: r.schema, left: r.left}
			if bare, n := other.whole(inner); n < min(after, before) {
				out := fmt.Sprintf("the arguments were inside %q; they were taken out of it", truncate.Runes(name, maxClip))
				r.left, r.notices = other.left, append([]string{out}, other.notices...)
				return bare
			}
		}
	}
	if after > before {
		r.notices = nil
		return args
	}
	return fixed
}

// whole repairs an object for the whole schema and counts the remaining faults.
func (r *repair) whole(args map[string]any) (map[string]any, int) {
	fixed, ok := r.value(r.schema.root, args, nil).(map[string]any)
	if !ok {
		r.notices, fixed = nil, args
	}
	return fixed, r.schema.count(fixed)
}

// unwrap finds an object that wraps all arguments.
func (r *repair) unwrap(args map[string]any) (string, map[string]any) {
	known := target(r.schema.root).Properties
	found := ""
	for name := range args {
		switch {
		case known[name] != nil:
			return "", nil
		case slices.Contains(wrappers, name) && found == "":
			found = name
		case !slices.Contains(labels, name) || typeName(args[name]) != "string":
			return "", nil
		}
	}
	switch v := args[found].(type) {
	case map[string]any:
		return found, v
	case string:
		if inner, ok := embedded(v).(map[string]any); ok {
			return found, inner
		}
	}
	return "", nil
}

// value repairs one value for a schema; it returns the value unchanged if it is
// valid or cannot be repaired.
func (r *repair) value(s *jsonschema.Schema, v any, at []string) any {
	if s = target(s); s == nil || r.valid(s, v) {
		return v
	}
	types := typesOf(s)
	switch part := v.(type) {
	case map[string]any:
		if len(types) == 0 || slices.Contains(types, "object") {
			v = r.object(s, part, at)
		}
	case []any:
		if len(types) == 0 || slices.Contains(types, "array") {
			v = r.list(s, part, at)
		}
	}
	if r.valid(s, v) {
		return v
	}
	if branches := slices.Concat(s.AnyOf, s.OneOf); len(branches) > 0 {
		return r.branch(s, branches, v, at)
	}
	var candidates []any
	for _, c := range r.conversions(s, types, v, at) {
		if r.valid(s, c) && !slices.ContainsFunc(candidates, func(other any) bool { return show(other) == show(c) }) {
			candidates = append(candidates, c)
		}
	}
	if len(candidates) != 1 {
		return v
	}
	r.say(at, "was %s; it was read as %s", show(v), show(candidates[0]))
	return candidates[0]
}

// branch repairs a value for the only branch for which it can be repaired.
func (r *repair) branch(s *jsonschema.Schema, branches []*jsonschema.Schema, v any, at []string) any {
	found, notices := v, []string(nil)
	seen := ""
	for _, b := range branches {
		try := &repair{schema: r.schema, left: r.left}
		fixed := try.value(b, v, at)
		r.left = try.left
		if len(try.notices) == 0 || !r.valid(s, fixed) {
			continue
		}
		text, err := Encode(fixed)
		if err != nil || seen != "" && seen != string(text) {
			return v // ambiguous
		}
		found, notices, seen = fixed, try.notices, string(text)
	}
	r.notices = append(r.notices, notices...)
	return found
}

func (r *repair) object(s *jsonschema.Schema, object map[string]any, at []string) map[string]any {
	for _, part := range s.AllOf {
		r.left-- // conversions may double at every level
		if part = target(part); part != nil && r.left > 0 {
			object = r.object(part, object, at)
		}
	}
	object = r.names(s, object, at)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		p := s.Properties[name]
		if p == nil {
			continue
		}
		member, where := object[name], append(slices.Clone(at), name)
		fixed := r.value(p, member, where)
		if empty(fixed) && !slices.Contains(s.Required, name) && !r.valid(p, fixed) {
			object = maps.Clone(object)
			delete(object, name)
			r.say(where, "was %s; it was left out", show(member))
			continue
		}
		if !identical(member, fixed) {
			object = maps.Clone(object)
			object[name] = fixed
		}
	}
	return object
}

// names renames members whose name resembles that of a property.
func (r *repair) names(s *jsonschema.Schema, object map[string]any, at []string) map[string]any {
	meant := map[string][]string{} // schema names by plain name
	for name := range s.Properties {
		meant[plainName(name)] = append(meant[plainName(name)], name)
	}
	given := map[string]int{}
	for name := range object {
		given[plainName(name)]++
	}
	closed := s.AdditionalProperties == false
	if closed && len(at) == 0 && len(object) == 1 && len(s.Properties) == 1 {
		for right := range s.Properties {
			for name := range object {
				meant[plainName(name)], given[plainName(name)] = []string{right}, 1
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		plain := plainName(name)
		if s.Properties[name] != nil || len(meant[plain]) != 1 || given[plain] != 1 {
			continue
		}
		right := meant[plain][0]
		if !closed && !slices.Contains(s.Required, right) {
			continue // another name is allowed
		}
		object = maps.Clone(object)
		object[right] = object[name]
		delete(object, name)
		r.say(append(slices.Clone(at), name), "was renamed to %q", right)
	}
	return object
}

func (r *repair) list(s *jsonschema.Schema, list []any, at []string) []any {
	items := itemsOf(s)
	if items == nil {
		return list
	}
	fixed := slices.Clone(list)
	for i, item := range list {
		fixed[i] = r.value(items, item, append(slices.Clone(at), fmt.Sprint(i)))
	}
	return fixed
}

// conversions are the values that a value may have been meant as.
func (r *repair) conversions(s *jsonschema.Schema, types []string, v any, at []string) []any {
	var out []any
	if text, ok := v.(string); ok {
		trimmed := strings.TrimSpace(text)
		out = append(out, literal(trimmed), trimmed)
		if inner := embedded(text); inner != nil {
			quiet := &repair{schema: r.schema, left: r.left}
			out = append(out, quiet.value(s, inner, at))
			r.left = quiet.left
		}
		if s.Enum != nil {
			out = append(out, sameName(trimmed, s.Enum.Values)...)
		}
		if s.Const != nil {
			out = append(out, sameName(trimmed, []any{*s.Const})...)
		}
	}
	switch v := v.(type) {
	case json.Number:
		out = append(out, string(v))
	case bool:
		out = append(out, fmt.Sprint(v))
	}
	if list, ok := v.([]any); ok && len(list) == 1 && !slices.Contains(types, "array") {
		quiet := &repair{schema: r.schema, left: r.left}
		out = append(out, quiet.value(s, list[0], at))
		r.left = quiet.left
	}
	if slices.Contains(types, "array") && v != nil && !isList(v) && !slices.ContainsFunc(out, isList) {
		item := v
		if items := itemsOf(s); items != nil {
			quiet := &repair{schema: r.schema, left: r.left}
			item = quiet.value(items, v, at)
			r.left = quiet.left
		}
		out = append(out, []any{item})
	}
	return out
}

func isList(v any) bool {
	_, ok := v.([]any)
	return ok
}

// literal parses text as a number, truth value or null; else it stays text.
func literal(text string) any {
	switch strings.ToLower(text) {
	case "true":
		return true
	case "false":
		return false
	case "null", "none":
		return nil
	}
	if n := json.Number(text); computable(n) {
		return whole(n)
	}
	return text
}

// embedded decodes text that holds a list or an object; nil otherwise.
func embedded(text string) any {
	bare, _ := Unfence(text)
	if !strings.HasPrefix(bare, "{") && !strings.HasPrefix(bare, "[") {
		return nil
	}
	value, err := Decode([]byte(bare))
	if err != nil || outOfBounds(value, MaxDepth) != nil {
		return nil
	}
	return value
}

// sameName returns the values that differ from text only in case, -, _ and
// spaces.
func sameName(text string, values []any) []any {
	var out []any
	for _, v := range values {
		if name, ok := v.(string); ok && plainName(name) == plainName(text) {
			out = append(out, v)
		}
	}
	return out
}

var plainer = strings.NewReplacer("_", "", "-", "", " ", "")

// plainName is the common form of customerId, customer_id and Customer-ID.
func plainName(name string) string { return strings.ToLower(plainer.Replace(name)) }

// empty reports whether a value means that the property is absent.
func empty(v any) bool {
	if text, ok := v.(string); ok {
		return strings.TrimSpace(text) == "" || literal(strings.TrimSpace(text)) == nil
	}
	return v == nil
}

// valid checks with the library, within the budget of the repair.
func (r *repair) valid(s *jsonschema.Schema, v any) bool {
	m := meter{r.left}
	ok := m.affords(s, v)
	r.left = max(m.left, 0)
	return ok && outOfBounds(v, MaxDepth) == nil && s.Validate(v) == nil
}

func (r *repair) say(at []string, format string, values ...any) {
	r.notices = append(r.notices, subject(at)+" "+fmt.Sprintf(format, values...))
}

// target follows the references of a schema that is only a reference.
func target(s *jsonschema.Schema) *jsonschema.Schema {
	for range maxNodes {
		if s == nil || s.Ref == nil || s.Types != nil || s.Properties != nil {
			break
		}
		s = s.Ref
	}
	return s
}

// itemsOf is the schema of all items of a list, if there is one.
func itemsOf(s *jsonschema.Schema) *jsonschema.Schema {
	if s.Items2020 != nil && len(s.PrefixItems) == 0 {
		return s.Items2020
	}
	items, _ := s.Items.(*jsonschema.Schema)
	return items
}

func typesOf(s *jsonschema.Schema) []string {
	if s.Types == nil {
		return nil
	}
	return s.Types.ToStrings()
}

func wantsInteger(s *jsonschema.Schema) bool {
	types := typesOf(s)
	return slices.Contains(types, "integer") && !slices.Contains(types, "number")
}
