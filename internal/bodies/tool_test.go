package bodies

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/udf"
)

// TestTools calls functions as tools, with arguments that DuckDB converts and others.
func TestTools(t *testing.T) {
	c := &code{call: same}
	declared := "- {name: none, from: exec, body: x, signature: {args: [{name: x, type: int64, default: 7}], returns: int64}}\n"
	types := map[string]struct{ given, want string }{
		"int64":                       {`12`, `12`},
		"int32":                       {`12`, `12`},
		"uint64":                      {`18446744073709551615`, `"18446744073709551615"`},
		"float64":                     {`1.5`, `1.5`},
		"utf8":                        {`"é"`, `"é"`},
		"boolean":                     {`true`, `true`},
		"date":                        {`"2024-02-29"`, `"2024-02-29"`},
		"timestamp":                   {`"2024-02-29T12:30:00"`, `"2024-02-29T12:30:00"`},
		"decimal(9,2)":                {`"12.50"`, `"12.50"`},
		"list<int64>":                 {`[1, null]`, `[1,null]`},
		"struct<a: int64, b: utf8>":   {`{"a": 1, "b": "x"}`, `{"a":1,"b":"x"}`},
		"map<utf8, int64>":            {`{"k": 1}`, `{"k":1}`},
		"uuid":                        {`"6fd4a5f0-92f2-4d3c-8f1f-6f5f2f1f0e0d"`, `"6fd4a5f0-92f2-4d3c-8f1f-6f5f2f1f0e0d"`},
		"json":                        {`{"a": [1]}`, `{"a":[1]}`},
		"list<struct<a: list<utf8>>>": {`[{"a": ["x"]}]`, `[{"a":["x"]}]`},
	}
	names := map[string]string{}
	for name := range types {
		f := "f_" + strings.Trim(strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
				return r
			}
			return '_'
		}, name), "_")
		names[f] = name
		declared += "- {name: " + f + ", from: exec, body: x, signature: {args: [{name: x, type: \"" + name + "\"}], returns: \"" + name + "\"}}\n"
	}
	db := open(t, declared, c, false)
	set := udf.NewToolSet(db, db.compiled, udf.ToolOptions{Batch: db.Batch}, nil)
	if len(set.NoTools) > 0 {
		t.Fatal(set.NoTools)
	}
	call := func(tool tools.Tool, args string) (string, error) {
		in := tools.Input{Raw: json.RawMessage(args)}
		d := json.NewDecoder(strings.NewReader(args))
		d.UseNumber()
		if err := d.Decode(&in.Arguments); err != nil {
			t.Fatal(err)
		}
		out, err := tool.Call(t.Context(), in)
		return string(out.Value), err
	}
	for _, tool := range set.Tools {
		name := tool.Definition().Name
		if name == "none" {
			if got, err := call(tool, `{}`); got != "7" || err != nil {
				t.Errorf("the default: %s, %v", got, err)
			}
			continue
		}
		of := types[names[name]]
		for given, want := range map[string]string{of.given: of.want, "null": "null"} {
			if got, err := call(tool, `{"x": `+given+`}`); got != want || err != nil {
				t.Errorf("%s: %s, %v, want %s", names[name], got, err, want)
			}
		}
	}
	c.call = integers(func(int64) (int64, error) { return 0, errors.New("no such thing") })
	for _, tool := range set.Tools {
		if tool.Definition().Name != "f_int64" {
			continue
		}
		_, err := call(tool, `{"x": 5}`)
		if e, ok := errors.AsType[*tools.Error](err); !ok || e.Message != "function 'f_int64' failed for (x := 5): no such thing" {
			t.Errorf("%v", err)
		}
	}
}
