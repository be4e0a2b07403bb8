package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Typed returns a tool implemented by a function over structs. Without
// def.Parameters, the schema is derived from In (see [Derive]), so that the
// arguments are declared once; with it, the two must have the same properties,
// required properties and compatible types, and the error names the first
// difference.
//
// The arguments are decoded into In. Out is encoded as JSON; a
// [json.RawMessage] is used unchanged, and a type with the method Output()
// (Output, error) builds its output. An In with the method Statement() string
// makes the tool a [Stating] one.
func Typed[In, Out any](def Definition, call func(context.Context, In, Input) (Out, error)) (Tool, error) {
	derived, err := Derive(reflect.TypeFor[In]())
	if err != nil {
		return nil, fmt.Errorf("tool %q: %w", def.Name, err)
	}
	if len(def.Parameters) == 0 {
		def.Parameters = derived
	} else if err := agree(def.Parameters, derived); err != nil {
		return nil, fmt.Errorf("tool %q: %w", def.Name, err)
	}
	tool, err := New(def, func(ctx context.Context, in Input) (Output, error) {
		args, err := decodeInput[In](in)
		if err != nil {
			return Output{}, err
		}
		out, err := call(ctx, args, in)
		if err != nil {
			return Output{}, err
		}
		return output(out)
	})
	if _, states := any(*new(In)).(stater); states && err == nil {
		return stating[In]{tool}, nil
	}
	return tool, err
}

// stater is a type of arguments with a statement.
type stater interface{ Statement() string }

// stating is a [Stating] tool whose arguments are [stater]s.
type stating[In any] struct{ Tool }

func (stating[In]) Statement(in Input) string {
	args, err := decodeInput[In](in)
	if err != nil {
		return "" // the call will fail, too
	}
	return any(args).(stater).Statement()
}

func decodeInput[In any](in Input) (args In, err error) {
	raw := in.Raw
	if len(raw) == 0 {
		if raw, err = Encode(in.Arguments); err != nil {
			return args, fmt.Errorf("encode the arguments: %w", err)
		}
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		e := NewError(errcode.InvalidArguments, "the arguments cannot be read: "+err.Error(), "")
		e.Cause = err
		return args, e
	}
	return args, nil
}

// output encodes the result of a typed tool.
func output(out any) (Output, error) {
	switch v := out.(type) {
	case interface{ Output() (Output, error) }:
		return v.Output()
	case json.RawMessage:
		if len(v) == 0 {
			v = json.RawMessage("null")
		}
		if !json.Valid(v) {
			return Output{}, fmt.Errorf("the result %q is not JSON", truncate.Runes(string(v), maxClip))
		}
		return Output{Value: v}, nil
	}
	return JSON(out)
}

// agree compares a declared schema with the one derived from a struct.
func agree(written, derived json.RawMessage) error {
	w, err := Decode(written)
	if err != nil {
		return fmt.Errorf("the schema of the parameters: %w", err)
	}
	d, err := Decode(derived)
	if err != nil {
		return err
	}
	fields := propertiesOf(d)
	byName := map[string]Property{}
	for _, f := range fields {
		byName[f.Name] = f
	}
	for _, p := range propertiesOf(w) {
		f, ok := byName[p.Name]
		switch {
		case !ok:
			return fmt.Errorf("the property %q has no field", p.Name)
		case p.Required != f.Required:
			return fmt.Errorf("%q is %s in the schema and %s by its field", p.Name, need(p.Required), need(f.Required))
		case !compatible(w, p, f):
			return fmt.Errorf("%q is %s in the schema and %s by its field", p.Name, p.Type, f.Type)
		}
		delete(byName, p.Name)
	}
	for _, f := range fields {
		if _, left := byName[f.Name]; left {
			return fmt.Errorf("the field of %q is no property of the schema", f.Name)
		}
	}
	return nil
}

func need(required bool) string {
	if required {
		return "required"
	}
	return "optional"
}

// compatible reports whether every type that the schema allows fits the field;
// an optional field accepts null as absent.
func compatible(doc any, written, field Property) bool {
	w, err := Decode(written.Schema)
	if err != nil {
		return false
	}
	f, err := Decode(field.Schema)
	if err != nil {
		return false
	}
	takes := typeSet(resolve(nil, f))
	if len(takes) == 0 {
		return true // any
	}
	gives := typeSet(resolve(doc, w))
	if len(gives) == 0 {
		return false
	}
	return !slices.ContainsFunc(gives, func(t string) bool {
		absent := t == "null" && !field.Required
		integral := t == "integer" && slices.Contains(takes, "number")
		return !slices.Contains(takes, t) && !absent && !integral
	})
}

// typeSet are the types in a subschema, or the types of enum and const.
func typeSet(object map[string]any) []string {
	switch t := object["type"].(type) {
	case string:
		return []string{t}
	case []any:
		return texts(t)
	}
	values, _ := object["enum"].([]any)
	if constant, ok := object["const"]; ok {
		values = []any{constant}
	}
	var types []string
	for _, v := range values {
		t := typeName(v)
		if n, ok := v.(json.Number); ok && !strings.ContainsAny(string(n), ".eE") {
			t = "integer"
		}
		if !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	return types
}

// tagName is the JSON name of a field, or "".
func tagName(f reflect.StructField) (name string, omittable bool) {
	tag := f.Tag.Get("json")
	if tag == "-" || !f.IsExported() {
		return "", false
	}
	name, options, _ := strings.Cut(tag, ",")
	if name == "" {
		name = f.Name
	}
	list := strings.Split(options, ",")
	return name, slices.Contains(list, "omitempty") || slices.Contains(list, "omitzero")
}
