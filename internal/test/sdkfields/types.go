package sdkfields

import (
	"iter"
	"reflect"
	"strings"
)

// target returns what a pointer points to.
func target(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// isObject reports whether a type is a struct with fields of JSON, or a union of such.
func isObject(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !strings.HasPrefix(t.Name(), "Opt[")
}

// isConstant reports whether a field has one value only: it chooses a variant.
func isConstant(t reflect.Type) bool { return strings.HasSuffix(t.PkgPath(), "shared/constant") }

func isUnion(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	n := t.NumField()
	return n > 0 && t.Field(n-1).Name == "paramUnion"
}

// variants yields the types of a union.
func variants(t reflect.Type) iter.Seq[reflect.Type] {
	return func(yield func(reflect.Type) bool) {
		for i := range t.NumField() - 1 {
			if !yield(target(t.Field(i).Type)) {
				return
			}
		}
	}
}

// fields yields the fields of a struct by their names in JSON.
func fields(t reflect.Type) iter.Seq2[string, reflect.Type] {
	return func(yield func(string, reflect.Type) bool) {
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" && name != "-" && !yield(name, f.Type) {
				return
			}
		}
	}
}

// chosen are the variants that no constant chooses.
var chosen = map[string][]string{
	"EasyInputMessageParam":         {"message"},
	"ResponseInputItemMessageParam": {"message"},
	"ResponseComputerToolCallParam": {"computer_call"},
	"WebSearchToolParam":            {"web_search", "web_search_2025_08_26"},
	"WebSearchPreviewToolParam":     {"web_search_preview", "web_search_preview_2025_03_11"},
}

// names returns what chooses a struct among the variants of a union: its constant type,
// else its constant role, else its entry in [chosen], else "".
func names(t reflect.Type) []string {
	if list := chosen[t.Name()]; list != nil {
		return list
	}
	for _, choice := range []string{"type", "role"} {
		for name, field := range fields(t) {
			if name != choice || !isConstant(field) {
				continue
			}
			if method, ok := field.MethodByName("Default"); ok {
				return []string{method.Func.Call([]reflect.Value{reflect.Zero(field)})[0].String()}
			}
		}
	}
	return []string{""}
}
