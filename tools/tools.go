// Package tools says what a tool is: its definition, its implementation, a
// call and its outcome. It holds no list of tools; that is package registry.
//
//	tool, err := tools.New(tools.Definition{
//		Name: "time_now", Description: "The present time.", Source: tools.SourceBuiltin,
//		Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
//	}, func(ctx context.Context, in tools.Input) (tools.Output, error) {
//		return tools.JSON(time.Now().UTC().Format(time.RFC3339))
//	})
//
// Arguments reach a tool only after they were checked against its schema: see
// [Schema].
package tools

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spiced-sql/spiced/internal/access/caller"
)

// Tool is something that a model, a statement or a client may call. It is safe
// for concurrent use.
type Tool interface {
	// Definition describes the tool. It is complete (see [Define]) and never
	// changes.
	Definition() *Definition
	// Call runs the tool on arguments that its schema has accepted. An error
	// is the tool's own failure; an [*Error] keeps its code, any other becomes
	// [CodeExecution].
	Call(ctx context.Context, in Input) (Output, error)
}

// Conditional is a [Tool] that is not there in every scope.
type Conditional interface {
	Tool
	// Available returns "" or why the tool cannot be used in the scope.
	Available(Scope) (reason string)
}

// Planner is a [Tool] that can tell what a call would do without doing it.
type Planner interface {
	Tool
	Plan(ctx context.Context, in Input) (json.RawMessage, error)
}

// Stating is a [Tool] whose callers give it a SQL statement.
type Stating interface {
	Tool
	// Statement is the one in the arguments, which the schema has accepted.
	Statement(in Input) string
}

// Input is what a tool is called with.
type Input struct {
	Arguments map[string]any  // decoded with [json.Decoder.UseNumber], checked, defaults filled in
	Raw       json.RawMessage // the same as canonical JSON
	Scope     Scope
	Limits    Limits // of this call; zero fields are unlimited
}

// Output is what a tool gave.
type Output struct {
	Value json.RawMessage // JSON, never empty
	// Rows tells how many rows Value has, when it is a list of rows.
	Rows *Rows
}

// Rows is the extent of a result that is a list of rows. A result of exactly
// as many rows as are allowed is not truncated.
type Rows struct {
	Returned  int  `json:"returned"`
	Truncated bool `json:"truncated"`
	// More is how many more rows there are, when that is known for less than
	// the cost of reading them.
	More *int64 `json:"more,omitempty"`
}

// Cut is the output of a list of rows that has more than those returned, as many
// as more if it is known.
func Cut(value json.RawMessage, returned int, more *int64) Output {
	return Output{Value: value, Rows: &Rows{Returned: returned, Truncated: true, More: more}}
}

// JSON is the output of a value as JSON.
func JSON(value any) (Output, error) {
	b, err := json.Marshal(value)
	if err != nil {
		return Output{}, fmt.Errorf("encode the result: %w", err)
	}
	return Output{Value: b}, nil
}

// Scope is who calls a tool and what the call may reach. The zero Scope reaches
// everything.
type Scope struct {
	caller.Caller
	// Datasets limits what built-in tools may read; nil is everything.
	Datasets []string `json:"-"`
	// Through are the datasets of the tools that a call comes through, which
	// limit it as well.
	Through [][]string `json:"-"`
	// EmbeddingModel is the model that tool_search compares by; "" is the
	// runtime's.
	EmbeddingModel string `json:"-"`
	// Visible limits what tool_search finds; nil is every tool.
	Visible func(name string) bool `json:"-"`
}

// function is a tool made of a definition and a function.
type function struct {
	def  *Definition
	call func(context.Context, Input) (Output, error)
}

// New makes a tool of a definition, which it completes, and a function.
func New(def Definition, call func(context.Context, Input) (Output, error)) (Tool, error) {
	complete, err := Define(def)
	if err != nil {
		return nil, err
	}
	return &function{complete, call}, nil
}

func (f *function) Definition() *Definition { return f.def }

func (f *function) Call(ctx context.Context, in Input) (Output, error) { return f.call(ctx, in) }
