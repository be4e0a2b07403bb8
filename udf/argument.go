package udf

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// argument describes how an argument of a function is passed to DuckDB.
type argument struct {
	name     string
	declared spicepod.Arg
	typ      *functions.Type
	carrier  *engine.Type
}

func newArguments(f *functions.Function) []argument {
	args := make([]argument, len(f.Args))
	for i, a := range f.Args {
		args[i] = argument{a.Name, f.Declared.Signature.Args[i], a.Type, carrier(a.Type.Duck())}
	}
	return args
}

// carrier is the type of the parameter that takes a value of type t. It is the type that
// [engine.Params] gives to the output of [functions.Type.Value]: if the two differ, DuckDB
// plans the statement again at each execution.
func carrier(t *engine.Type) *engine.Type {
	switch t.ID {
	case engine.TinyInt, engine.SmallInt, engine.Integer, engine.UTinyInt, engine.USmallInt, engine.UInteger:
		return &engine.Type{ID: engine.BigInt}
	case engine.Float:
		return &engine.Type{ID: engine.Double}
	case engine.TimestampS, engine.TimestampMS:
		return &engine.Type{ID: engine.Timestamp}
	case engine.List:
		return &engine.Type{ID: engine.List, Elem: carrier(t.Elem)}
	case engine.Struct:
		fields := make([]engine.Field, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = engine.Field{Name: f.Name, Type: carrier(f.Type)}
		}
		slices.SortFunc(fields, func(a, b engine.Field) int { return strings.Compare(a.Name, b.Name) })
		return &engine.Type{ID: engine.Struct, Fields: fields}
	}
	return t
}

// sql is the expression of the argument, passed as parameter $n; list is [] in a batch,
// for lists of values.
func (a *argument) sql(n int, list string) string {
	param, from, to := "$"+strconv.Itoa(n), a.carrier.String()+list, a.typ.SQL()+list
	if from == to {
		return "CAST(" + param + " AS " + to + ")"
	}
	return "CAST(CAST(" + param + " AS " + from + ") AS " + to + ")"
}

// value is the argument's value in a call: nil, a bool, json.Number, float64, string,
// []any or map[string]any.
func (a *argument) value(given map[string]any) (any, error) {
	value, ok := given[a.name]
	switch {
	case ok:
		return value, nil
	case a.declared.HasDefault:
		return a.declared.Default, nil
	case a.declared.IsRequired():
		return nil, errors.New("it is missing")
	}
	return nil, nil
}

// convertAll returns the values of a call for [engine.Params], in the order of the
// signature. The error is a [*tools.Error].
func convertAll(args []argument, given map[string]any) ([]any, error) {
	values := make([]any, len(args), len(args)+1) // batches have one more parameter
	for i := range args {
		value, err := args[i].value(given)
		if err == nil {
			value, err = args[i].typ.Value(value)
		}
		if err != nil {
			return nil, wrongArgument(args[i].name, err)
		}
		values[i] = value
	}
	return values, nil
}

func wrongArgument(name string, err error) *tools.Error {
	e := tools.NewError(errcode.InvalidArguments, fmt.Sprintf("argument %q: %s", name, err), "")
	pointer := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	e.Faults = []tools.Fault{{Path: pointer, Keyword: "type", Message: err.Error()}}
	return e
}
