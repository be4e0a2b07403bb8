package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/spiced-sql/spiced/internal/kit/arrowipc"
)

// Function is a function of the code in a sandbox.
type Function struct {
	Name string // of the declaration
	id   uint32 // in the frames of every worker
	load []byte // what loads it

	args    []typeSpec
	names   []string
	returns typeSpec
	typ     arrow.DataType
	arrow   bool // see Declaration.Arrow
}

// Declaration is what a [Function] is made of.
type Declaration struct {
	Name       string
	Source     string // the code
	File       string // its name in errors
	Entrypoint string
	Args       *arrow.Schema
	ArgTypes   []Type // of Args, in their order
	Returns    arrow.DataType
	ReturnType Type
	Arrow      bool // the function of Python takes and returns the columns of a batch, with pyarrow
}

// numbers are the numbers of functions.
var numbers atomic.Uint32

// NewFunction returns a function. The error is about its types.
func NewFunction(d Declaration, output int64) (*Function, error) {
	f := &Function{Name: d.Name, id: numbers.Add(1), typ: d.Returns, arrow: d.Arrow}
	type argument struct {
		Name string   `json:"name"`
		Type typeSpec `json:"type"`
	}
	arguments := []argument{}
	for i, field := range d.Args.Fields() {
		t, err := describe(field.Type, typeAt(d.ArgTypes, i))
		if err != nil {
			return nil, fmt.Errorf("argument %s: %w", field.Name, err)
		}
		f.args, f.names = append(f.args, t), append(f.names, field.Name)
		arguments = append(arguments, argument{field.Name, t})
	}
	var err error
	if f.returns, err = describe(d.Returns, d.ReturnType); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	spec := map[string]any{
		"source": d.Source, "file": d.File, "entrypoint": d.Entrypoint, "args": arguments, "returns": f.returns,
		"output": output,
	}
	if d.Arrow {
		none := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "value", Type: d.Returns, Nullable: true}}, nil),
			[]arrow.Array{array.MakeArrayOfNull(allocator, d.Returns, 0)}, 0)
		var stream bytes.Buffer
		if err := arrowipc.Encode(&stream, none); err != nil {
			return nil, fmt.Errorf("result: %w", err)
		}
		spec["arrow"] = stream.Bytes()
	}
	f.load, err = json.Marshal(spec)
	return f, err
}
