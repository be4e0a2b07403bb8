package functions_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// A type is known by the names of Arrow, and shown in those of DuckDB.
func ExampleParseType() {
	for _, text := range []string{"int64", "list<utf8>", "decimal(10,2)", "timestamp(ms)"} {
		t, err := functions.ParseType(text)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(t, t.SQL(), t.Arrow())
	}
	// Output:
	// int64 BIGINT Int64
	// list<utf8> VARCHAR[] List(Utf8)
	// decimal(10,2) DECIMAL(10,2) Decimal128(10, 2)
	// timestamp(ms) TIMESTAMP_MS Timestamp(Millisecond, None)
}

// A literal of a type is SQL text that no value can break out of.
func ExampleType_Literal() {
	t, err := functions.ParseType("utf8")
	if err != nil {
		log.Fatal(err)
	}
	text, err := t.Literal("it's")
	fmt.Println(text, err)
	// Output: CAST('it''s' AS VARCHAR) <nil>
}

// compile compiles the functions of a Spicepod in a database without datasets.
func compile(declared string) (*functions.Set, spicepod.Problems) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	text := "version: v1\nkind: Spicepod\nname: example\nfunctions:\n" + declared
	if err := os.WriteFile(filepath.Join(dir, "spicepod.yaml"), []byte(text), 0o600); err != nil {
		log.Fatal(err)
	}
	pod, err := spicepod.Load(dir)
	if err != nil {
		log.Fatal(err)
	}
	db, err := engine.Open(context.Background(), engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	return functions.Compile(context.Background(), db, pod, nil, nil)
}

// Functions call each other; callees come first.
func ExampleCompile() {
	set, problems := compile(`
  - { name: quadruple, from: sql, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: "twice(twice(x))" }
  - { name: twice, from: sql, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: "2 * x" }
`)
	for _, f := range set.All() {
		fmt.Println(f.Signature(), f.Uses.Functions)
	}
	fmt.Println(len(problems), "problems")
	// Output:
	// twice(x int64) → int64 []
	// quadruple(x int64) → int64 [twice]
	// 0 problems
}

// A body that cannot work is a problem with its position in the file.
func ExampleCompile_problems() {
	_, problems := compile(`
  - { name: f, from: sql, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: "x + y" }
`)
	fmt.Println(problems[0].Component, problems[0].Line, problems[0].Column)
	fmt.Println(problems[0].Message)
	// Output:
	// function f 6 103
	// "y" is not an argument of f(x int64) → int64
}

// The statements that create a function are typed macros of DuckDB.
func ExampleFunction_DDL() {
	set, _ := compile(`
  - { name: twice, from: sql, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: "2 * x" }
`)
	for _, sql := range set.Get("twice").DDL(functions.Published()) {
		fmt.Println(sql)
	}
	// Output:
	// CREATE OR REPLACE MACRO spice."public"."twice"("x" BIGINT) AS CAST((
	// 2 * x
	// ) AS BIGINT)
}
