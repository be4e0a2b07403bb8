package spicepod

import (
	"strings"
)

// FunctionKind says what a function returns.
type FunctionKind string

// Kinds of functions.
const (
	KindScalar FunctionKind = "scalar"
	KindTable  FunctionKind = "table"
)

// Volatility says whether calls with equal arguments return equal results.
type Volatility string

// Volatilities, from the most to the least predictable.
const (
	Immutable Volatility = "immutable"
	Stable    Volatility = "stable"
	Volatile  Volatility = "volatile"
)

// Risk is what a call may do.
type Risk string

// Risks, from the least to the greatest.
const (
	RiskRead        Risk = "read"
	RiskWrite       Risk = "write"
	RiskDestructive Risk = "destructive"
)

// Writes reports whether a call may do more than read. "" is [RiskRead].
func (r Risk) Writes() bool { return r != "" && r != RiskRead }

// Condition is a CEL expression, or true or false in YAML; "": false.
type Condition string

// Function is one entry of `functions:`. Body has the SQL wherever it was written;
// BodyRef is left as declared.
type Function struct {
	Name        string         `yaml:"name" required:"true" doc:"Name in SQL and as a tool: letters, digits, _ and -, at most 64."`
	From        string         `yaml:"from" required:"true" doc:"Where the body runs: sql; exec, in a sandbox; wasm; or http(s)://, the URL of a service."`
	Enabled     bool           `yaml:"enabled" default:"true" doc:"Serve the function. If false, the declaration is only checked."`
	Description string         `yaml:"description" doc:"What the function does; shown to people and to models."`
	WhenToUse   string         `yaml:"when_to_use" doc:"When a model should call the function, in a sentence. See docs/models.md."`
	NotFor      string         `yaml:"not_for" doc:"What the function is not for, and which tool is."`
	Examples    []Example      `yaml:"examples" doc:"Calls that show how to use the function, at most 10. Without it: up to three of the tests."`
	Kind        FunctionKind   `yaml:"kind" enum:"scalar,table" default:"scalar" doc:"One value per call, or a table."`
	Volatility  Volatility     `yaml:"volatility" enum:"immutable,stable,volatile" default:"volatile" doc:"Whether equal arguments give equal results."`
	Signature   Signature      `yaml:"signature" required:"true" doc:"Inputs and output."`
	Body        string         `yaml:"body" doc:"The code. SQL is one expression for a scalar function, one SELECT for a table function."`
	BodyRef     string         `yaml:"body_ref" file:"Body" doc:"File with the body, in the Spicepod's folder, relative to the file that names it. Instead of body."`
	Version     string         `yaml:"version" default:"0.1.0" doc:"Version of the function."`
	Tags        []string       `yaml:"tags" doc:"Words to find the function by."`
	AsTool      *bool          `yaml:"as_tool" default:"true" doc:"Offer the function to models. Without it: true for scalar functions, false for table functions."`
	Tests       []FunctionTest `yaml:"tests" doc:"Calls with their expected results; run at load."`
	Metadata    map[string]any `yaml:"metadata" doc:"Free-form notes; stored, never interpreted."`
	Params      Params         `yaml:"params" doc:"Settings of the source."`
	DependsOn   []string       `yaml:"dependsOn" doc:"Components that must be loaded first."`
	Owner       string         `yaml:"owner" doc:"Agent that the tool belongs to: an entry of agents, if there are any; else any name. Without it: runtime."`
	Available   string         `yaml:"available" doc:"CEL expression over ctx and tool: who may see and call the function, in SQL and as a tool. Without it: everyone. See docs/availability.md."`
	Limits      Limits         `yaml:"limits" doc:"Limits on each call as a tool."`
	Dispatch    string         `yaml:"dispatch" enum:"early,after_response" doc:"When a chat starts a call: as soon as its arguments are complete, which is the default, or after the model's answer."`
	Parallel    *bool          `yaml:"parallel" default:"true" doc:"Whether a chat may run several calls of the function at once."`
	Metrics     any            `yaml:"metrics" served:"no" instead:"the metrics of tools at '/metrics', and 'spiced.tool_usage'" doc:"Metrics of the function."`

	Sandbox      string   `yaml:"sandbox" doc:"The entry of sandboxes that an exec or wasm body runs in. Without it: default."`
	Dependencies []string `yaml:"dependencies" doc:"Packages that the body needs, in addition to those of its sandbox, as pip takes them: pandas, or pandas==2.2.3."`
	Secrets      []string `yaml:"secrets" doc:"Names of environment variables that the body reads, in addition to those of its sandbox."`
	Entrypoint   string   `yaml:"entrypoint" doc:"The function of the code that a call runs. Without it: the function's name."`
	Async        bool     `yaml:"async" default:"false" doc:"Whether a call may also run as a job: POST to :invoke with Prefer: respond-async answers 202. See docs/bodies.md."`

	// BodyKind is the kind of the body; nil: none that is served.
	BodyKind *BodyKind `yaml:"-"`

	// Environment differs when the sandbox of the body, or any code in it, does: see
	// [Pod.WithEnvironments].
	Environment string `yaml:"-"`

	Risk             Risk      `yaml:"risk" enum:"read,write,destructive" doc:"What a call may do: read, write, or destroy what cannot be brought back. Without it: read. Results of the others are not cached."`
	RequiresApproval Condition `yaml:"requires_approval" doc:"Whether a person has to approve each call: true, or a CEL expression over ctx and tool. See docs/approvals.md."`
}

// Scheme returns the part of From before the first colon, in lower case.
func (f Function) Scheme() string { return schemeOf(f.From) }

// AsToolEffective reports whether the function is offered as a tool: as_tool
// where written, else true for scalar and false for table functions.
func (f Function) AsToolEffective() bool {
	if f.AsTool != nil {
		return *f.AsTool
	}
	return f.Kind != KindTable
}

// Signature is the inputs and the output of a function.
type Signature struct {
	Tables  []TableInput `yaml:"tables" doc:"Table inputs; they come before the arguments in a call."`
	Args    []Arg        `yaml:"args" doc:"Scalar arguments in call order."`
	Returns Returns      `yaml:"returns" doc:"Type of the result, or the columns of the resulting table."`
}

// TableInput is one entry of `signature.tables`.
type TableInput struct {
	Name    string   `yaml:"name" required:"true" doc:"Name of the table inside the body; args is reserved."`
	Columns []Column `yaml:"columns" required:"true" doc:"Columns of the table."`
}

// Arg is one entry of `signature.args`.
type Arg struct {
	Name        string `yaml:"name" required:"true" doc:"Name of the argument inside the body."`
	Type        string `yaml:"type" required:"true" doc:"Type of the argument, for example int64, date, list<float64>; see docs/types.md."`
	Description string `yaml:"description" doc:"What the argument means; shown to models."`
	Default     any    `yaml:"default" presence:"HasDefault" doc:"Value of an argument that the caller omits, in SQL and as a tool."`
	Required    *bool  `yaml:"required" doc:"Whether the caller must pass it. Without it: true unless there is a default."`

	// HasDefault reports whether default is present; it distinguishes `default: null`
	// from no default.
	HasDefault bool `yaml:"-"`
}

// IsRequired reports whether the caller must pass the argument.
func (a Arg) IsRequired() bool {
	if a.Required != nil {
		return *a.Required
	}
	return !a.HasDefault
}

// Column is one column of a table input or of a table result.
type Column struct {
	Name        string `yaml:"name" required:"true" doc:"Name of the column."`
	Type        string `yaml:"type" required:"true" doc:"Type of the column; see docs/types.md."`
	Description string `yaml:"description" doc:"What the column means."`
}

// Returns is `signature.returns`: a type, or a list of columns.
type Returns struct {
	// Type is the type of a scalar result; empty for a table.
	Type string
	// Columns are the columns of a table result; nil for a scalar.
	Columns []Column
}

// IsZero reports whether returns is absent.
func (r Returns) IsZero() bool { return r.Type == "" && r.Columns == nil }

// FunctionTest is one entry of `functions[].tests`: a call, and exactly one of
// a value, rows or an error.
type FunctionTest struct {
	Name      string                      `yaml:"name" doc:"Name of the test in reports."`
	Args      map[string]any              `yaml:"args" doc:"Arguments of the call by name."`
	Tables    map[string][]map[string]any `yaml:"tables" doc:"Rows of each table input."`
	Returns   any                         `yaml:"returns" doc:"The value that the call must return; null for NULL."`
	Tolerance float64                     `yaml:"tolerance" min:"0" doc:"Allowed error of a floating-point result."`
	Rows      []any                       `yaml:"rows" doc:"The rows that the call must return, each a mapping by column or a list in column order."`
	Error     string                      `yaml:"error" doc:"The error that the call must end with: its code, for example execution_error, or text that its message contains."`
}

// Expectation is the kind of result that a FunctionTest expects.
type Expectation string

// The kinds of expected results.
const (
	ExpectReturns Expectation = "returns"
	ExpectRows    Expectation = "rows"
	ExpectError   Expectation = "error"
)

// Expects says what the test expects; a nil Returns then means NULL.
func (t FunctionTest) Expects() Expectation {
	switch {
	case t.Error != "":
		return ExpectError
	case t.Rows != nil:
		return ExpectRows
	default:
		return ExpectReturns
	}
}

// schemeOf is the part before the first colon, in lower case.
func schemeOf(from string) string {
	scheme, _, _ := strings.Cut(from, ":")
	return strings.ToLower(strings.TrimSpace(scheme))
}
