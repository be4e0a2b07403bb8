package wasm

import (
	"errors"
	"testing"

	"github.com/spiced-sql/spiced/internal/bodies/body"
)

const (
	number = "signature: {args: [{name: x, type: int64}], returns: int64}"
	two    = "signature: {args: [{name: a, type: int64}, {name: b, type: int64}], returns: int64}"
)

func TestCalls(t *testing.T) {
	for _, c := range []struct{ name, declaration, rows, want string }{
		{"numbers", "body_ref: numbers.wasm, entrypoint: add, " + two, `[{"a": 1, "b": 2}, {"a": -1, "b": -9007199254740992}]`, `[3,-9007199254740993]`},
		{"params.module", "params: {module: numbers.wasm, entrypoint: add}, " + two, `[{"a": 1, "b": 2}]`, `[3]`},
		{"a NULL is NULL", "body_ref: numbers.wasm, entrypoint: add, " + two, `[{"a": null, "b": 2}, {"a": 1, "b": 1}, {"a": 1, "b": null}]`, `[null,2,null]`},
		{
			"each number", "body_ref: numbers.wasm, entrypoint: mix, signature: {args: [{name: a, type: int32}, {name: b, type: int64}, {name: c, type: float32}, " +
				"{name: d, type: float64}], returns: float64}",
			`[{"a": -1, "b": 10, "c": 0.5, "d": 0.25}]`, `[9.75]`,
		},
		{
			"narrow numbers", "body_ref: numbers.wasm, entrypoint: double, signature: {args: [{name: x, type: int8}], returns: int16}", `[{"x": -100}, {"x": 127}]`,
			`[-200,254]`,
		},
		{
			"unsigned numbers", "body_ref: numbers.wasm, entrypoint: double, signature: {args: [{name: x, type: uint32}], returns: uint32}", `[{"x": 2000000000}]`,
			`[4000000000]`,
		},
		{
			"floats", "body_ref: numbers.wasm, entrypoint: half, signature: {args: [{name: x, type: float32}], returns: float32}", `[{"x": 3}, {"x": null}]`,
			`[1.5,null]`,
		},
		{
			"booleans", "body_ref: numbers.wasm, entrypoint: is_even, signature: {args: [{name: x, type: int32}], returns: boolean}",
			`[{"x": 3}, {"x": -4}, {"x": null}]`, `[false,true,null]`,
		},
		{"no arguments, and nothing is kept", "body_ref: numbers.wasm, entrypoint: answer, signature: {returns: int64}", `[{}, {}]`, `[42,42]`},
		{"Arrow data", "body_ref: arrow.wasm, " + number, `[{"x": 1}, {"x": null}, {"x": -1}]`, `[2,null,0]`},
		{
			"texts", "body_ref: arrow.wasm, entrypoint: shout, signature: {args: [{name: s, type: utf8}], returns: utf8}", `[{"s": "grüezi"}, {"s": null}, {"s": ""}]`,
			`["GRüEZI!",null,"!"]`,
		},
		{
			"lists", "body_ref: arrow.wasm, entrypoint: total, signature: {args: [{name: l, type: list<int64>}], returns: int64}",
			`[{"l": [1, 2, null]}, {"l": []}, {"l": null}, {"l": [-5]}]`, `[3,null,null,-5]`,
		},
		{
			"a table of a table", "body_ref: arrow.wasm, entrypoint: tokens, kind: table, signature: {tables: [{name: input, columns: [{name: doc, type: utf8}]}], " +
				"args: [{name: least, type: int64}], " +
				"returns: [{name: token, type: utf8}, {name: position, type: int64}]}",
			`[{"input": [{"doc": "a bc"}, {"doc": null}, {"doc": "def"}], "least": 2}, {"input": [], "least": 0}, {"input": [{"doc": "x"}], "least": 1}]`,
			`[[{"position":1,"token":"bc"},{"position":0,"token":"def"}],[],[{"position":0,"token":"x"}]]`,
		},
		{
			"a table of arguments",
			"body_ref: arrow.wasm, entrypoint: span, kind: table, signature: {args: [{name: n, type: int64}], returns: [{name: i, type: int64}]}",
			`[{"n": 2}, {"n": 0}, {"n": 1}]`, `[[{"i":0},{"i":1}],[],[{"i":0}]]`,
		},
		{
			"a value of a table", "body_ref: arrow.wasm, entrypoint: largest, signature: {tables: [{name: input, columns: [{name: value, type: int64}]}], " +
				"returns: int64}",
			`[{"input": [{"value": 3}, {"value": 7}, {"value": null}]}, {"input": []}]`, `[7,null]`,
		},
		{
			"Spice's identity guest",
			"body_ref: hostile.wasm, params: {entrypoint: echo}, kind: table, signature: {tables: [{name: input, columns: [{name: value, type: int64}]}], returns: " +
				"[{name: value, type: int64}]}",
			`[{"input": [{"value": 1}, {"value": null}, {"value": 3}]}]`, `[[{"value":1},{"value":null},{"value":3}]]`,
		},
		{
			"no output is no rows",
			"body_ref: hostile.wasm, entrypoint: nothing, kind: table, signature: {args: [{name: x, type: utf8}], returns: [{name: a, type: utf8}]}",
			`[{"x": "y"}]`, `[[]]`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := function(t, c.declaration)
			for range 2 { // an instance does not see the one before
				got, err := call(t, b, c.rows)
				if err != nil || got != c.want {
					t.Fatalf("got %s, %v; want %s", got, err, c.want)
				}
			}
		})
	}
}

func TestInstancesKeepNothing(t *testing.T) {
	b := function(t, "body_ref: numbers.wasm, entrypoint: count, signature: {returns: int64}")
	for range 3 {
		if got, err := call(t, b, `[{}, {}]`); err != nil || got != `[1,2]` {
			t.Fatalf("got %s, %v: an instance of a call must be new", got, err)
		}
	}
}

func TestErrorsOfCalls(t *testing.T) {
	const replayed = "body_ref: hostile.wasm, signature: {args: [{name: x, type: int64}], returns: int64}, "
	for _, c := range []struct {
		name, declaration, rows, want string
		row                           int
	}{
		{
			"trap of a number", "body_ref: numbers.wasm, entrypoint: divide, " + two, `[{"a": 4, "b": 2}, {"a": 1, "b": 0}]`,
			"WASM function call 'divide' failed: unreachable", 1,
		},
		{
			"a result that is too wide", "body_ref: numbers.wasm, entrypoint: double, signature: {args: [{name: x, type: int8}], returns: int8}",
			`[{"x": 1}, {"x": 2}, {"x": 100}]`,
			"the function returned 200, which is not a value of the type int8", 2,
		},
		{
			"fuel of a loop", "body_ref: numbers.wasm, entrypoint: spin, params: {fuel: 5000}, " + number, `[{"x": 1}]`,
			"the call used up its fuel of 5000 instructions; raise params.fuel, or let the function do less", -1,
		},
		{
			"fuel of calls", "body_ref: numbers.wasm, entrypoint: branch, " + number, `[{"x": 64}]`,
			"the call used up its fuel of 100000000 instructions; raise params.fuel, or let the function do less", -1,
		},
		{
			"a deep call", "body_ref: numbers.wasm, entrypoint: dive, params: {fuel: 100000000000}, " + number, `[{"x": 100000000}]`,
			"WASM function call 'dive' failed: stack overflow", 0,
		},
		{"trap", replayed + "entrypoint: trap", `[{"x": 1}]`, "WASM function call 'trap' failed: unreachable", -1},
		{
			"loop", replayed + "entrypoint: spin", `[{"x": 1}]`,
			"the call used up its fuel of 100000000 instructions; raise params.fuel, or let the function do less", -1,
		},
		{
			"memory", replayed + "entrypoint: grow, params: {max_memory_bytes: 1MiB}", `[{"x": 1}]`,
			"WASM function call 'grow' failed: unreachable; it had 1048576 bytes of the 1048576 that params.max_memory_bytes allows", -1,
		},
		{
			"pointer outside", replayed + "entrypoint: outside", `[{"x": 1}]`,
			"WASM module returned an invalid memory range ptr=4294967280 len=32: the memory has 196608 bytes", -1,
		},
		{
			"length outside", replayed + "entrypoint: huge", `[{"x": 1}]`,
			"WASM module returned an invalid memory range ptr=8 len=4294967295: the memory has 196608 bytes", -1,
		},
		{
			"no rows", replayed + "entrypoint: nothing", `[{"x": 1}, {"x": 2}]`,
			"WASM function call 'nothing' returned 0 rows for 2 rows of input; it must return one for each", -1,
		},
		{
			"another column", replayed + "entrypoint: echo_args", `[{"x": 1}]`,
			"WASM function output schema does not match declared return schema: expected 1 column(s), got 0 column(s)", -1,
		},
		{
			"another type", "body_ref: hostile.wasm, entrypoint: echo, signature: {args: [{name: x, type: int32}], returns: int64}", `[{"x": 1}]`,
			"WASM function output schema does not match declared return schema: column 0 expected 'x: int64', got 'x: int32'", -1,
		},
		{
			"another name", "body_ref: hostile.wasm, entrypoint: echo_args, kind: table, signature: {args: [{name: x, type: int32}], returns: [{name: y, type: int32}]}",
			`[{"x": 1}]`,
			"WASM function output schema does not match declared return schema: column 0 expected 'y: int32', got 'x: int32'", 0,
		},
		{
			"two rows of a scalar function",
			"body_ref: hostile.wasm, entrypoint: echo, signature: {tables: [{name: t, columns: [{name: x, type: int32}]}], returns: int32}",
			`[{"t": [{"x": 1}]}, {"t": [{"x": 1}, {"x": 2}]}]`,
			"WASM function call 'echo' returned 2 rows; a scalar function must return one", 1,
		},
		{"an allocator outside", "body_ref: badalloc.wasm, " + number, `[{"x": 1}]`, "spice_alloc returned an invalid memory range", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := function(t, c.declaration)
			for range 2 { // an error does not affect the next call
				_, err := call(t, b, c.rows)
				var row *body.Error
				switch {
				case err == nil || len(err.Error()) < len(c.want) || err.Error()[:len(c.want)] != c.want:
					t.Fatalf("got error %v, want %s", err, c.want)
				case errors.As(err, &row) != (c.row >= 0), row != nil && row.Row != c.row:
					t.Errorf("the error %v is about row %v, want %d", err, row, c.row)
				}
			}
		})
	}
}
