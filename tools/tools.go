// Package tools defines what a tool is: its definition, its implementation, a
// call and its outcome. It holds no list of tools; see package registry.
//
//	tool, err := tools.New(tools.Definition{
//		Name: "time_now", Description: "The present time.", Source: tools.SourceBuiltin,
//		Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
//	}, func(ctx context.Context, in tools.Input) (tools.Output, error) {
//		return tools.JSON(time.Now().UTC().Format(time.RFC3339))
//	})
//
// Arguments are checked against the schema before they reach a tool: see
// [Schema].
package tools

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spiced-sql/spiced/internal/access/caller"
)

// Tool is a function that a model, a statement or a client may call. It is safe
// for concurrent use.
type Tool interface {
	// Definition describes the tool. It is complete (see [Define]) and never
	// changes.
	Definition() *Definition
	// Call runs the tool on arguments that its schema has accepted. An error is
	// a failure of the tool; an [*Error] keeps its code, any other becomes
	// [errcode.Execution].
	Call(ctx context.Context, in Input) (Output, error)
}

// Conditional is a [Tool] that is not available in every scope.
type Conditional interface {
	Tool
	// Unavailable returns "", or the reason why the tool is unavailable in the
	// scope.
	Unavailable(Scope) (reason string)
}

// Planner is a [Tool] that can report what a call would do without doing it.
type Planner interface {
	Tool
	Plan(ctx context.Context, in Input) (json.RawMessage, error)
}

// Versioned is a [Tool] whose equal calls give equal results as long as the data that it
// reads has the same version.
type Versioned interface {
	Tool
	// DataVersion returns the version of the data that a call reads; 0 if results must
	// not be cached.
	DataVersion() uint64
}

// Accepting is a [Tool] whose calls take more than the parameters of its definition show,
// such as numbers as text.
type Accepting interface {
	Tool
	// Accepts returns the JSON Schema of the arguments that are passed to Call, which checks
	// what that schema does not.
	Accepts() (json.RawMessage, error)
}

// Stating is a [Tool] with a SQL statement in its arguments.
type Stating interface {
	Tool
	// Statement returns the statement in the arguments, which the schema has
	// accepted.
	Statement(in Input) string
}

// Deferrable is a [Tool] whose calls may also run as submitted statements.
type Deferrable interface {
	Tool
	// Deferred returns the statement of a call, with the values of its parameters. sql is ""
	// if calls of the tool only run at once.
	Deferred(in Input) (sql string, params []any, err error)
}

// Input is the input of a call.
type Input struct {
	Arguments map[string]any  // decoded with [json.Decoder.UseNumber], checked, defaults filled in
	Raw       json.RawMessage // the same as canonical JSON
	Scope     Scope
	Limits    Limits // of this call; zero fields are unlimited
}

// Output is the output of a call.
type Output struct {
	Value json.RawMessage // JSON, never empty
	// Content is Value as a model reads it; nil: the JSON itself.
	Content []Content
	// Rows is the number of rows in Value, if it is a list of rows.
	Rows *Rows
	// Version is the [Versioned.DataVersion] that Value was computed from; 0 if it is not
	// known.
	Version uint64
	Usage   *Usage   // of an agent; nil: Value has it, or there is none
	Notices []string // what Value lacks of what the tool gave
}

// Rows is the extent of a result that is a list of rows. A result with exactly
// the maximum number of rows is not truncated.
type Rows struct {
	Returned  int    `json:"returned" doc:"Number of rows, if the result has rows."`
	Truncated bool   `json:"truncated" doc:"Whether the result has more rows than allowed."`
	More      *int64 `json:"more,omitempty" doc:"How many more there are, if known."` // without reading them
}

// Cut is the output for a truncated list of rows; more is the number of
// remaining rows, or nil.
func Cut(value json.RawMessage, returned int, more *int64) Output {
	return Output{Value: value, Rows: &Rows{Returned: returned, Truncated: true, More: more}}
}

// JSON encodes a value as output.
func JSON(value any) (Output, error) {
	b, err := json.Marshal(value)
	if err != nil {
		return Output{}, fmt.Errorf("encode the result: %w", err)
	}
	return Output{Value: b}, nil
}

// Scope is the caller of a tool and what the call may access. The zero Scope
// has full access.
type Scope struct {
	caller.Caller
	// Datasets limits what built-in tools may read; nil means all.
	Datasets []string `json:"-"`
	// Through are the datasets of the tools through which a call was made,
	// which limit it as well.
	Through [][]string `json:"-"`
	// EmbeddingModel is the embedding model of tool_search; "" means the
	// runtime's.
	EmbeddingModel string `json:"-"`
	// Visible limits the results of tool_search; nil means every tool.
	Visible func(name string) bool `json:"-"`
	// Unrestricted: no expression of available hides a tool. It is for the runtime's own
	// calls and searches, never for those of a client.
	Unrestricted bool `json:"-"`
	// Callable limits the tools that may be called; nil means every tool.
	Callable func(name string) bool `json:"-"`
}

// MayCall reports whether the scope permits calls of a tool.
func (s Scope) MayCall(name string) bool { return s.Callable == nil || s.Callable(name) }

// function is a tool implemented by a function.
type function struct {
	def  *Definition
	call func(context.Context, Input) (Output, error)
}

// New returns a tool with a definition, which it completes, and a function.
func New(def Definition, call func(context.Context, Input) (Output, error)) (Tool, error) {
	complete, err := Define(def)
	if err != nil {
		return nil, err
	}
	return &function{complete, call}, nil
}

func (f *function) Definition() *Definition { return f.def }

func (f *function) Call(ctx context.Context, in Input) (Output, error) { return f.call(ctx, in) }
