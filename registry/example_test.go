package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// greetings returns a registry of two tools.
func greetings() *registry.Registry {
	type in struct {
		Name string `json:"name" doc:"Whom to greet."`
	}
	reply := func(text string) func(context.Context, in, tools.Input) (string, error) {
		return func(_ context.Context, who in, _ tools.Input) (string, error) { return text + " " + who.Name, nil }
	}
	hello := registry.Must(tools.Typed(tools.Definition{Name: "hello", Description: "Greet a person who arrives.", Source: tools.SourceBuiltin}, reply("hello")))
	goodbye := registry.Must(tools.Typed(tools.Definition{Name: "goodbye", Description: "Take leave of a person.", Source: tools.SourceBuiltin}, reply("goodbye")))
	r := registry.New(registry.Options{})
	catalog, err := registry.NewCatalog(r.Current(), registry.Contents{Generation: 1, Tools: []tools.Tool{hello, goodbye}, Search: search.Default()})
	if err != nil {
		log.Fatal(err)
	}
	r.Publish(catalog)
	return r
}

// Every call passes the registry, whatever protocol it came over.
func ExampleRegistry_Invoke() {
	result := greetings().Invoke(context.Background(), registry.Call{Name: "hello", Arguments: json.RawMessage(`{"name": "Ada"}`)})
	fmt.Println(result.OK, string(result.Result))
	// Output: true "hello Ada"
}

// A failed call is a result that says what would be right.
func ExampleRegistry_Invoke_error() {
	result := greetings().Invoke(context.Background(), registry.Call{Name: "helo"})
	fmt.Println(result.OK, result.Error.Code, result.Error.DidYouMean)
	// Output: false tool_not_found [hello]
}

// A dry run checks the arguments and does not run the tool.
func ExampleRegistry_Invoke_dryRun() {
	result := greetings().Invoke(context.Background(), registry.Call{Name: "hello", DryRun: true})
	fmt.Println(result.OK, result.Error.Code)
	// Output: false invalid_arguments
}

func ExampleRegistry_Search() {
	found, err := greetings().Search(context.Background(), registry.SearchRequest{Query: "greet someone who arrives", Limit: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.Tools[0].ToolID)
	// Output: hello
}
