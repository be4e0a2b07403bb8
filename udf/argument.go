package udf

import (
	"errors"
	"fmt"
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
	carrier  *engine.Type   // of the parameter
	casts    []*engine.Type // of the parameter, one after the other; the last one is the type
}

func newArguments(f *functions.Function) []argument {
	args := make([]argument, len(f.Args))
	for i, a := range f.Args {
		casts := a.Type.Carriers()
		args[i] = argument{a.Name, f.Declared.Signature.Args[i], a.Type, casts[0], casts}
	}
	return args
}

// sql is the expression of the argument, passed as parameter $n.
func (a *argument) sql(n int) string { return cast("$"+strconv.Itoa(n), a.casts, "") }

// each is the expression of the arguments of a batch, passed as a list in parameter $n.
// DuckDB serializes no statement that names a list of an ENUM.
func (a *argument) each(n int) string {
	lists := len(a.casts)
	if a.typ.Duck().ID == engine.Enum {
		lists--
	}
	list := cast("$"+strconv.Itoa(n), a.casts[:lists], "[]")
	return cast("unnest("+list+")", a.casts[lists:], "")
}

// column is the expression of the argument in a column of the carrier's type.
func (a *argument) column(name string) string {
	return cast(name, a.casts[min(1, len(a.casts)-1):], "")
}

func cast(text string, types []*engine.Type, list string) string {
	for _, t := range types {
		text = "CAST(" + text + " AS " + t.String() + list + ")"
	}
	return text
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
