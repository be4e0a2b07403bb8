package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"reflect"
	"strings"

	"github.com/spiced-sql/spiced/tools"
)

type distanceIn struct {
	From string `json:"from" doc:"IATA code." min:"3" max:"3"`
	To   string `json:"to" doc:"IATA code." min:"3" max:"3"`
	Unit string `json:"unit" enum:"km,mi" default:"km"`
}

// A typed tool derives the schema from the struct of the arguments.
func ExampleTyped() {
	tool, err := tools.Typed(tools.Definition{Name: "distance", Description: "The distance between two airports."},
		func(_ context.Context, in distanceIn, _ tools.Input) (string, error) {
			return fmt.Sprintf("%s to %s in %s", in.From, in.To, in.Unit), nil
		})
	if err != nil {
		log.Fatal(err)
	}
	out, err := tool.Call(context.Background(), tools.Input{Arguments: map[string]any{"from": "LHR", "to": "JFK", "unit": "mi"}})
	fmt.Println(string(out.Value), err)
	// Output: "LHR to JFK in mi" <nil>
}

func ExampleNew() {
	tool, err := tools.New(tools.Definition{
		Name: "greet", Description: "Greet someone.",
		Parameters: json.RawMessage(`{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}`),
	}, func(_ context.Context, in tools.Input) (tools.Output, error) {
		return tools.JSON(fmt.Sprint("hello, ", in.Arguments["name"]))
	})
	if err != nil {
		log.Fatal(err)
	}
	out, err := tool.Call(context.Background(), tools.Input{Arguments: map[string]any{"name": "Ada"}})
	fmt.Println(tool.Definition().Name, string(out.Value), err)
	// Output: greet "hello, Ada" <nil>
}

func ExampleDerive() {
	schema, err := tools.Derive(reflect.TypeFor[distanceIn]())
	fmt.Println(strings.ReplaceAll(string(schema), "},", "},\n"), err)
	// Output:
	// {"additionalProperties":false,"properties":{"from":{"description":"IATA code.","maxLength":3,"minLength":3,"type":"string"},
	// "to":{"description":"IATA code.","maxLength":3,"minLength":3,"type":"string"},
	// "unit":{"default":"km","enum":["km","mi"],"type":"string"}},
	// "required":["from","to"],"type":"object"} <nil>
}

// Arguments are checked before a tool is called.
func ExampleSchema_Check() {
	schema, err := tools.Compile(json.RawMessage(`{"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}`))
	if err != nil {
		log.Fatal(err)
	}
	args, err := tools.Decode([]byte(`{"n": 0}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tools.FaultsText(schema.Check(args)))
	// Output: "n" is 0; at least 1 is needed
}

// Models write arguments that are almost right; Repair says what it changed.
func ExampleSchema_Repair() {
	schema, err := tools.Compile(json.RawMessage(`{"type": "object", "properties": {"n": {"type": "integer"}, "unit": {"type": "string", "default": "km"}}, "required": ["n"]}`))
	if err != nil {
		log.Fatal(err)
	}
	args, notices := schema.Repair(map[string]any{"n": "12"})
	fmt.Println(args["n"], args["unit"], notices)
	// Output: 12 km ["n" was "12"; it was read as 12]
}

// The arguments of a call may arrive as text in a code fence.
func ExampleParse() {
	args, notices, fault := tools.Parse(json.RawMessage("\"```json\\n{\\\"n\\\": 1}\\n```\""))
	fmt.Println(args, fault == nil)
	for _, notice := range notices {
		fmt.Println(notice)
	}
	// Output:
	// map[n:1] true
	// the arguments were text that holds JSON; they were read as the object
	// the arguments were in a Markdown code fence; they were taken out of it
}

func ExampleCanonical() {
	raw, err := tools.Canonical([]byte(`{ "b": 1.0, "a": [ 2 ] }`))
	fmt.Println(string(raw), err)
	// Output: {"a":[2],"b":1.0} <nil>
}

func ExampleWriteXML() {
	def, err := tools.Define(tools.Definition{Name: "now", Description: "The present time."})
	if err != nil {
		log.Fatal(err)
	}
	if err := tools.WriteXML(os.Stdout, []*tools.Definition{def}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// <tools>
	//   <tool>
	//     <name>now</name>
	//     <description>The present time.</description>
	//     <parameters>
	//     </parameters>
	//   </tool>
	// </tools>
}
