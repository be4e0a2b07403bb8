package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/schema"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Typed returns a tool implemented by a function over structs. The schema of
// the parameters is derived from In (see [Derive]); def has none.
//
// The arguments are decoded into In. Out is encoded as JSON; a
// [json.RawMessage] is used unchanged, and a type with the method Output()
// (Output, error) builds its output. An In with the method Statement() string
// makes the tool a [Stating] one.
func Typed[In, Out any](def Definition, call func(context.Context, In, Input) (Out, error)) (Tool, error) {
	if len(def.Parameters) > 0 {
		return nil, fmt.Errorf("tool %q: the schema of the parameters is derived from %s; leave Parameters empty", def.Name,
			reflect.TypeFor[In]())
	}
	var err error
	if def.Parameters, err = Derive(reflect.TypeFor[In]()); err != nil {
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

// Derive returns the JSON Schema of a struct, from its fields and their tags:
// json, doc, default, enum, min and max, as of [schema.Deriver]. Fields are
// text, booleans, numbers, lists, maps by text, structs and, for any value,
// [json.RawMessage] and any. No other properties are allowed.
func Derive(t reflect.Type) (json.RawMessage, error) {
	d := schema.Deriver{Key: "json"}
	s, err := d.Object(t)
	if err != nil {
		return nil, err
	}
	return Encode(s)
}
