package repl

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestArguments converts texts by the types that a schema names.
func TestArguments(t *testing.T) {
	const schema = `{"type":"object","additionalProperties":false,"properties":{
		"text":{"type":"string"}, "word":{"type":["string","null"]}, "whole":{"type":"integer"}, "number":{"type":["number","null"]},
		"flag":{"type":"boolean"}, "list":{"type":"array"}, "object":{"type":"object"}, "some":{"anyOf":[{"type":"integer"},{"type":"boolean"}]},
		"either":{"oneOf":[{"type":"string"},{"type":"integer"}]}, "any":{}}}`
	for pair, want := range map[string]string{
		"text=12":                            `{"text":"12"}`,
		"text=":                              `{"text":""}`,
		`text="a"`:                           `{"text":"\"a\""}`,
		"text=a=b":                           `{"text":"a=b"}`,
		"word=null":                          `{"word":"null"}`,
		"whole=9007199254740993":             `{"whole":9007199254740993}`,
		"whole=1.5":                          `--arg whole: "1.5" is not a whole number such as 3`,
		"whole=":                             `--arg whole: "" is not a whole number such as 3`,
		"number=2":                           `{"number":2}`,
		"number=1e3":                         `{"number":1e3}`,
		"number=null":                        `{"number":null}`,
		"number=2 3":                         `--arg number: "2 3" is not a number such as 1.5`,
		"flag=true":                          `{"flag":true}`,
		"flag=yes":                           `--arg flag: "yes" is not true or false`,
		`list=["a",1]`:                       `{"list":["a",1]}`,
		"list=a,b":                           `--arg list: "a,b" is not a JSON array such as ["a","b"]`,
		`object={"b":1,"a":2}`:               `{"object":{"a":2,"b":1}}`,
		"object=[]":                          `--arg object: "[]" is not a JSON object such as {"a":1}`,
		"some=false":                         `{"some":false}`,
		"some=x":                             `--arg some: "x" is not a whole number such as 3 or true or false`,
		"either=5":                           `{"either":5}`,
		"either=x":                           `{"either":"x"}`,
		"any=[1]":                            `{"any":[1]}`,
		"any=x":                              `{"any":"x"}`,
		"fleg=true":                          `--arg fleg: there is no argument "fleg"; did you mean "flag"?`,
		"nothing=1":                          `--arg nothing: there is no argument "nothing"; the arguments are any, either, flag, list`,
		"=1":                                 `--arg "=1" must be name=value`,
		"whole=" + strings.Repeat("x", 1000): `--arg whole: "xxx`,
	} {
		got, err := arguments(json.RawMessage(schema), []string{pair})
		text := string(got)
		if err != nil {
			text = err.Error()
		}
		if text != want && !(err != nil && strings.HasPrefix(text, want)) || len(text) > 200 {
			t.Errorf("%s: got %s, want %s", pair, text, want)
		}
	}
	if got, err := arguments(json.RawMessage(`true`), []string{"a=1", "b=x"}); err != nil || string(got) != `{"a":1,"b":"x"}` {
		t.Errorf("without a schema: %s, %v", got, err)
	}
}

// TestDefinitionOfSearch has the tool whose path is another route.
func TestDefinitionOfSearch(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/tools/search", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `[{"name":"tool_search"}]`) })
	mux.HandleFunc("GET /v1/tools", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("view") == "full" {
			io.WriteString(w, `[{"name":"other"},{"name":"search","description":"Rows."}]`)
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	var out strings.Builder
	o := CallOptions{Options: Options{URL: server.URL, Out: &out, Err: io.Discard}, Tool: "search"}
	if err := DescribeTool(t.Context(), o); err != nil || !strings.Contains(out.String(), `"description": "Rows."`) {
		t.Errorf("%q, %v", out.String(), err)
	}
}
