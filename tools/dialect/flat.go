package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/tools"
)

// flat writes the top of a schema as one object with properties: no provider takes oneOf,
// anyOf, allOf, not, enum, const or a reference there.
type flat struct {
	defs   map[string]any
	left   int            // combinations that are still followed
	lost   map[string]any // keywords that the top no longer has
	faults []string
}

func (f *flat) lose(keyword string, value any) {
	if f.lost == nil {
		f.lost = map[string]any{}
	}
	f.lost[keyword] = value
	f.faults = append(f.faults, keyword+" at the top")
}

// arguments flattens the schema of all arguments, which are an object.
func (f *flat) arguments(root map[string]any) map[string]any {
	for _, keyword := range []string{"oneOf", "anyOf", "not", "enum", "const"} {
		if value, ok := root[keyword]; ok {
			f.lose(keyword, value)
		}
	}
	if _, ok := root["$ref"]; ok {
		f.faults = append(f.faults, "$ref at the top")
	}
	if _, ok := root["allOf"]; ok {
		f.lose("allOf", root["allOf"])
	}
	if root["type"] != "object" && len(root) > 0 {
		f.faults = append(f.faults, "no type object at the top")
	}
	root = f.object(root, 0)
	root["type"] = "object"
	if properties, ok := root["properties"].(map[string]any); !ok {
		root["properties"] = map[string]any{}
	} else {
		root["properties"] = maps.Clone(properties)
	}
	return root
}

// maxFlat limits how deep references and combinations at the top are followed.
const maxFlat = 8

// object returns a copy of a schema of objects without combinations at its top. It accepts
// every object that the schema accepts.
func (f *flat) object(schema map[string]any, depth int) map[string]any {
	out := maps.Clone(schema)
	for _, keyword := range []string{"$ref", "allOf", "anyOf", "oneOf", "not", "enum", "const"} {
		delete(out, keyword)
	}
	if f.left--; depth == maxFlat || f.left < 0 {
		return out
	}
	if ref, ok := schema["$ref"].(string); ok {
		if target, ok := f.defs[strings.TrimPrefix(ref, refersTo)].(map[string]any); ok {
			f.and(out, f.object(target, depth+1))
		}
	}
	all, _ := schema["allOf"].([]any)
	for _, branch := range all {
		if branch, ok := branch.(map[string]any); ok {
			f.and(out, f.object(branch, depth+1))
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if list, ok := schema[keyword].([]any); ok {
			f.or(out, list, depth)
		}
	}
	if depth == 0 && (all != nil || schema["anyOf"] != nil || schema["oneOf"] != nil) {
		delete(out, "unevaluatedProperties") // it depends on them
	}
	return out
}

// and adds what another schema also asks for. Where both have a keyword, the first stays.
func (f *flat) and(out, other map[string]any) {
	conditional := hasKey(out, "if")
	for keyword, value := range other {
		switch mine, ok := out[keyword]; {
		case keyword == "unevaluatedProperties":
		case keyword == "if" || keyword == "then" || keyword == "else":
			if !conditional {
				out[keyword] = value
			}
		case keyword == "properties" && ok:
			out[keyword] = merged(mine, value)
		case keyword == "required" && ok:
			out[keyword] = union(mine, value)
		case !ok:
			out[keyword] = value
		}
	}
}

func merged(first, second any) map[string]any {
	a, _ := first.(map[string]any)
	b, _ := second.(map[string]any)
	out := maps.Clone(b)
	maps.Copy(out, a)
	return out
}

func union(first, second any) []any {
	a, _ := first.([]any)
	b, _ := second.([]any)
	out := slices.Clone(a)
	for _, name := range b {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// or adds the properties of alternatives, and requires what all of them require.
func (f *flat) or(out map[string]any, alternatives []any, depth int) {
	found := map[string][]any{} // schemas by property
	var required []any
	first := true
	for _, alternative := range alternatives {
		branch, ok := alternative.(map[string]any)
		if !ok {
			continue
		}
		branch = f.object(branch, depth+1)
		if branch["type"] != nil && !hasType(branch, "object") {
			continue // arguments are never that
		}
		properties, _ := branch["properties"].(map[string]any)
		for name, schema := range properties {
			found[name] = append(found[name], schema)
		}
		needs, _ := branch["required"].([]any)
		if first {
			required, first = needs, false
		}
		required = slices.DeleteFunc(slices.Clone(required), func(name any) bool { return !slices.Contains(needs, name) })
	}
	own, _ := out["properties"].(map[string]any)
	properties := map[string]any{}
	for name, schemas := range found {
		if _, ok := own[name]; !ok && out["additionalProperties"] != false {
			properties[name] = either(schemas)
		}
	}
	maps.Copy(properties, own)
	if len(properties) > 0 {
		out["properties"] = properties
	}
	if len(required) > 0 {
		out["required"] = union(out["required"], required)
	}
}

// either is a schema of what one of the schemas accepts.
func either(schemas []any) any {
	var distinct []any
	seen := map[string]bool{}
	for _, s := range schemas {
		text, _ := tools.Encode(s) // of JSON
		if !seen[string(text)] {
			distinct, seen[string(text)] = append(distinct, s), true
		}
	}
	if len(distinct) == 1 {
		return distinct[0]
	}
	if values, ok := listed(distinct); ok { // kinds of a tagged union
		out := map[string]any{"enum": values}
		if typ := distinct[0].(map[string]any)["type"]; typ != nil {
			out["type"] = typ
		}
		return out
	}
	return map[string]any{"anyOf": distinct}
}

// listed returns the values of schemas that list theirs and have equal types.
func listed(schemas []any) (values []any, ok bool) {
	var typ any
	for i, s := range schemas {
		object, _ := s.(map[string]any)
		list, _ := object["enum"].([]any)
		if constant, ok := object["const"]; ok && list == nil {
			list = []any{constant}
		}
		name, _ := object["type"].(string)
		if i == 0 {
			typ = name
		}
		if list == nil || typ != name || object["type"] != nil && name == "" {
			return nil, false
		}
		for _, v := range list {
			if !slices.ContainsFunc(values, func(w any) bool { return equal(v, w) }) {
				values = append(values, v)
			}
		}
	}
	return values, true
}

func equal(a, b any) bool {
	x, err1 := tools.Encode(a)
	y, err2 := tools.Encode(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// argumentNames are the names of arguments that Anthropic takes.
var argumentNames = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// rename gives arguments names that providers take, and returns the declared ones by them.
func (f *flat) rename(root map[string]any) map[string]string {
	properties := root["properties"].(map[string]any)
	var unfit []string
	for name := range properties {
		if !argumentNames.MatchString(name) {
			unfit = append(unfit, name)
		}
	}
	if unfit == nil {
		return nil
	}
	slices.Sort(unfit)
	declared, sent := map[string]string{}, map[string]string{}
	for _, name := range unfit {
		fit := fitName(name, properties)
		declared[fit], sent[name] = name, fit
		properties[fit] = named(properties[name], name)
		delete(properties, name)
		f.faults = append(f.faults, fmt.Sprintf("the name %.80q of an argument", name))
	}
	if required, ok := root["required"].([]any); ok {
		required = slices.Clone(required)
		for i, name := range required {
			if text, _ := name.(string); sent[text] != "" {
				required[i] = sent[text]
			}
		}
		root["required"] = required
	}
	for _, keyword := range []string{
		"if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies",
		"propertyNames", "patternProperties", "unevaluatedProperties",
	} {
		if value, ok := root[keyword]; ok { // it has the declared names
			f.lose(keyword, value)
			delete(root, keyword)
		}
	}
	if root["additionalProperties"] == nil && f.lost["patternProperties"] == nil {
		return declared
	}
	if root["additionalProperties"] != false || f.lost["patternProperties"] != nil {
		delete(root, "additionalProperties")
	}
	return declared
}

// fitName is a name that providers take and no other argument has.
func fitName(name string, taken map[string]any) string {
	sum := sha256.Sum256([]byte(name))
	fit := unfitName.ReplaceAllString(name, "_")
	suffix := "_" + hex.EncodeToString(sum[:4])
	if _, there := taken[fit]; !there && argumentNames.MatchString(fit) {
		return fit
	}
	fit = fit[:min(len(fit), 64-len(suffix))] + suffix
	for _, there := taken[fit]; there; _, there = taken[fit] {
		fit = "_" + fit[:63]
	}
	return fit
}

// named describes a renamed argument.
func named(schema any, name string) any {
	object, _ := schema.(map[string]any)
	out := map[string]any{}
	maps.Copy(out, object)
	text, _ := out["description"].(string)
	out["description"] = strings.TrimSpace(fmt.Sprintf("%q. %s", name, text))
	return out
}
