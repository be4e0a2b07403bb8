package udf_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/udf"
)

const declared = `version: v1
kind: Spicepod
name: example
functions:
- { name: double, from: sql, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: x * 2 }
- { name: inner_part, from: sql, as_tool: false, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: x + 1 }
`

// publish opens a database and publishes the functions of a Spicepod in it.
func publish(ctx context.Context) (*engine.DB, *functions.Set) {
	dir, err := os.MkdirTemp("", "example")
	check(err)
	defer os.RemoveAll(dir)
	check(os.WriteFile(filepath.Join(dir, "spicepod.yaml"), []byte(declared), 0o600))
	pod, err := spicepod.Load(dir)
	check(err)
	db, err := engine.Open(ctx, engine.Options{})
	check(err)
	udf.Serve(db, nil)
	set, problems := functions.Compile(ctx, db, pod, nil, nil)
	if problems.HasErrors() {
		log.Fatal(problems)
	}
	catalog := engine.NewCatalog(engine.Contents{
		Generation: 1, Relations: udf.Relations(), Functions: append(set.Engine(), udf.Functions()...),
	})
	check(db.Publish(ctx, catalog, func(tx *engine.Tx) error {
		if err := udf.Setup(tx, db.Builtins()); err != nil {
			return err
		}
		for _, f := range set.All() {
			if p := f.Create(tx, pod, functions.Published()); p != nil {
				return p
			}
		}
		return udf.Fill(tx, pod, set, nil, udf.Loading{})
	}))
	return db, set
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A published function is a tool, which is called with JSON.
func ExampleTool() {
	ctx := context.Background()
	db, set := publish(ctx)
	defer db.Close()
	tool, err := udf.Tool(db, set.Get("double"), udf.ToolOptions{Functions: set})
	check(err)
	out, err := tool.Call(ctx, tools.Input{Arguments: map[string]any{"x": json.Number("21")}})
	check(err)
	fmt.Println(string(out.Value))
	// Output: 42
}

// The tools of a generation, and why other functions are not tools.
func ExampleNewToolSet() {
	db, set := publish(context.Background())
	defer db.Close()
	offered := udf.NewToolSet(db, set, udf.ToolOptions{}, nil)
	for _, t := range offered.Tools {
		fmt.Println(t.Definition().Name, "by", t.Definition().Owner)
	}
	for _, n := range offered.NoTools {
		fmt.Printf("%s: %s\n", n.Name, n.Reason)
	}
	// Output:
	// double by runtime
	// inner_part: it has as_tool: false
}
