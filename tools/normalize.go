package tools

import (
	"encoding/json"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// normalize adds defaults and writes whole numbers without a fraction.
func (r *repair) normalize(s *jsonschema.Schema, v any, depth int) any {
	if s = target(s); s == nil || depth > MaxDepth {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		return r.normalizeMembers(s, v, depth)
	case []any:
		items := itemsOf(s)
		if items == nil {
			return v
		}
		var normalized []any
		for i, item := range v {
			changed := r.normalize(items, item, depth+1)
			if normalized == nil && !identical(item, changed) {
				normalized = slices.Clone(v)
			}
			if normalized != nil {
				normalized[i] = changed
			}
		}
		if normalized != nil {
			return normalized
		}
	case json.Number:
		if wantsInteger(s) {
			return whole(v)
		}
	}
	return v
}

func (r *repair) normalizeMembers(s *jsonschema.Schema, object map[string]any, depth int) any {
	normalized := object
	set := func(name string, value any) {
		if sameMap(normalized, object) {
			normalized = maps.Clone(object)
		}
		normalized[name] = value
	}
	for name, p := range s.Properties {
		member, ok := object[name]
		if !ok {
			if p = target(p); p == nil || p.Default == nil || !r.valid(p, *p.Default) {
				continue
			}
			member = deepClone(*p.Default)
		}
		if changed := r.normalize(p, member, depth+1); !ok || !identical(member, changed) {
			set(name, changed)
		}
	}
	return normalized
}

// whole writes a whole number without fraction and exponent.
func whole(n json.Number) json.Number {
	if !strings.ContainsAny(string(n), ".eE") || !computable(n) {
		return n
	}
	if r, ok := new(big.Rat).SetString(string(n)); ok && r.IsInt() {
		return json.Number(r.Num().String())
	}
	return n
}

// identical reports whether nothing was changed: equal scalars, or the same
// list or object.
func identical(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && sameMap(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// sameMap reports whether two maps are the same object.
func sameMap(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// deepClone copies lists and objects, so that callers may modify a default.
func deepClone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		clone := make(map[string]any, len(v))
		for name, member := range v {
			clone[name] = deepClone(member)
		}
		return clone
	case []any:
		clone := make([]any, len(v))
		for i, item := range v {
			clone[i] = deepClone(item)
		}
		return clone
	}
	return value
}
