package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/tools"
)

type searchIn struct {
	Query  string   `json:"query" doc:"What to look for." min:"1"`
	Limit  int      `json:"limit" doc:"How many at most." default:"10" min:"1" max:"50"`
	Detail string   `json:"detail,omitempty" enum:"short,full"`
	Since  *float64 `json:"since"`
	Tags   []string `json:"tags,omitempty"`
	Any    any      `json:"any,omitempty"`
}

const searchSchema = `{"additionalProperties":false,"properties":{"any":{},"detail":{"enum":["short","full"],"type":"string"},` +
	`"limit":{"default":10,"description":"How many at most.","maximum":50,"minimum":1,"type":"integer"},` +
	`"query":{"description":"What to look for.","minLength":1,"type":"string"},"since":{"type":"number"},` +
	`"tags":{"items":{"type":"string"},"type":"array"}},"required":["query"],"type":"object"}`

func TestTypedDerivesItsSchema(t *testing.T) {
	tool, err := tools.Typed(tools.Definition{Name: "search"}, func(_ context.Context, in searchIn, _ tools.Input) (map[string]any, error) {
		return map[string]any{"q": in.Query, "n": in.Limit}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	parameters := tool.Definition().Parameters
	if diff := cmp.Diff(searchSchema, string(parameters)); diff != "" {
		t.Error(diff)
	}
	args, _ := compile(t, string(parameters)).Repair(map[string]any{"query": "a"})
	out, err := tool.Call(t.Context(), tools.Input{Arguments: args})
	if err != nil || string(out.Value) != `{"n":10,"q":"a"}` {
		t.Errorf("%s, %v", out.Value, err)
	}
}

func TestTypedRefusesASecondSchema(t *testing.T) {
	def := tools.Definition{Name: "t", Parameters: json.RawMessage(`{"type":"object"}`)}
	_, err := tools.Typed(def, func(context.Context, searchIn, tools.Input) (any, error) { return nil, nil })
	if err == nil || !strings.Contains(err.Error(), "leave Parameters empty") {
		t.Error(err)
	}
}

type ownOutput struct{}

func (ownOutput) Output() (tools.Output, error) {
	return tools.Output{Value: json.RawMessage(`[]`), Rows: &tools.Rows{Returned: 0}}, nil
}

func TestTypedOutputs(t *testing.T) {
	for _, c := range []struct {
		out  any
		want string
	}{
		{json.RawMessage(`{"a":1.0}`), `{"a":1.0}`},
		{json.RawMessage(nil), `null`},
		{ownOutput{}, `[]`},
		{struct{ A int }{1}, `{"A":1}`},
		{json.RawMessage(`{`), ""},
		{func() {}, ""},
	} {
		tool, err := tools.Typed(tools.Definition{Name: "t"}, func(context.Context, struct{}, tools.Input) (any, error) { return c.out, nil })
		if err != nil {
			t.Fatal(err)
		}
		out, err := tool.Call(t.Context(), tools.Input{Raw: json.RawMessage(`{}`)})
		if string(out.Value) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%T: %s, %v", c.out, out.Value, err)
		}
	}
	tool, err := tools.Typed(tools.Definition{Name: "t"}, func(context.Context, searchIn, tools.Input) (any, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	var e *tools.Error
	if _, err := tool.Call(t.Context(), tools.Input{Raw: json.RawMessage(`{"limit":1.5}`)}); !errors.As(err, &e) || e.Code != errcode.InvalidArguments {
		t.Errorf("arguments that do not fit: %v", err)
	}
}

type loop struct {
	Next *loop `json:"next"`
}

func TestDeriveSaysWhatItCannot(t *testing.T) {
	for want, v := range map[string]any{
		"a struct, not": 5,
		"holds itself":  loop{},
		"no chan":       struct{ A chan int }{},
		"not texts":     struct{ A map[int]int }{},
		"default": struct {
			A int `default:"x"`
		}{},
		"enum": struct {
			A int `enum:"a"`
		}{},
		"bound": struct {
			A bool `min:"1"`
		}{},
	} {
		if _, err := tools.Derive(reflect.TypeOf(v)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v, want %q", v, err, want)
		}
	}
}

func TestWriteXML(t *testing.T) {
	var definitions []*tools.Definition
	for _, d := range []tools.Definition{
		{
			Name: "haversine_km", Description: "Distance in <km> & \"more\"\x00.", Parameters: json.RawMessage(haversine),
			Returns: json.RawMessage(`{"type":"number"}`),
		},
		{Name: "search", Description: "Finds.", Parameters: json.RawMessage(searchSchema)},
		{Name: "now"},
	} {
		defined, err := tools.Define(d)
		if err != nil {
			t.Fatal(err)
		}
		definitions = append(definitions, defined)
	}
	var b bytes.Buffer
	if err := tools.WriteXML(&b, definitions); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/tools.xml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Error(diff)
	}
	for d := xml.NewDecoder(&b); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
