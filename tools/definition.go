package tools

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/spiced-sql/spiced/spicepod"
)

// SchemaVersion is the version of the schemas of [Definition], [Result] and the
// requests for them.
const SchemaVersion = "0.1.0"

// Sources of tools. The source of an MCP server's tool is "mcp:" and the
// server's name.
const (
	SourceBuiltin  = "builtin"  // part of the runtime
	SourceFunction = "function" // a declared function
	SourceAgent    = "agent"    // a declared agent
)

// OwnerRuntime owns what no agent owns.
const OwnerRuntime = "runtime"

// DefaultVersion is the version of a tool without a declared one.
const DefaultVersion = "0.1.0"

// Limits of a definition.
const (
	MaxName        = 64
	MaxDescription = 64 << 10
	MaxSchema      = 1 << 20
)

// Definition describes a tool to those who select and call it.
type Definition struct {
	Name        string `json:"name" doc:"Letters, digits, _ and -, at most 64. A tool of an MCP server is server__tool."`
	Description string `json:"description"`
	Document
	Version    string          `json:"version" doc:"Of the tool."`
	Parameters json.RawMessage `json:"parameters" type:"object" doc:"JSON Schema of the arguments, canonical."`
	Returns    json.RawMessage `json:"returns,omitempty" type:"object" doc:"JSON Schema of the result, canonical."`
	Tags       []string        `json:"tags,omitempty"` // sorted
	Source     string          `json:"source" doc:"builtin, function, agent, or mcp: and the server's name."`
	Owner      string          `json:"owner" doc:"The agent that owns the tool, or runtime."`

	// Risk is what Annotations say: see [Annotations.Of].
	Risk spicepod.Risk `json:"risk" enum:"read,write,destructive" doc:"What a call may do: read, write, or destroy what cannot be brought back."`

	SchemaVersion string      `json:"schema_version" doc:"Of this shape."`
	UID           string      `json:"uid" doc:"A UUID of version 5 of the name."`
	Checksum      string      `json:"checksum" doc:"Changes with the definition and the implementation."` // 16 hex digits
	Annotations   Annotations `json:"annotations"`
	Cacheable     bool        `json:"cacheable,omitempty" doc:"Equal arguments give equal results until the checksum changes."`
	Limits        *Limits     `json:"limits,omitempty"`
	// Dispatch and Parallel control when a chat starts a call of the tool.
	Dispatch Dispatch `json:"dispatch,omitempty" enum:"early,after_response" doc:"When a chat starts a call: with its arguments, the default, or at the end of the model's response."`
	Parallel *bool    `json:"parallel,omitempty" doc:"false: the calls of a response run one at a time."` // nil: true

	// Datasets are patterns of the datasets that the tool's statements, and
	// tools that they call, may read; nil means all.
	Datasets []string `json:"-"`
	// Via are the runtimes that pass the tool on, the nearest first; nil if it is not another
	// runtime's.
	Via []string `json:"-"`
	// Implementation is a checksum of the implementation; it is part of
	// Checksum.
	Implementation string `json:"-"`
	// Declared is the position of the definition, for messages: file:line, or
	// "built in".
	Declared string `json:"-"`
}

// Dispatch is when a chat starts a call that a model requests.
type Dispatch string

// Kinds of dispatch.
const (
	DispatchEarly         Dispatch = "early"          // when its arguments are complete
	DispatchAfterResponse Dispatch = "after_response" // when the model's response is complete
)

// AfterResponse reports whether calls wait for the end of the model's response:
// because its definition requires it, or by default for a destructive tool.
func (d *Definition) AfterResponse() bool {
	return d.Dispatch == DispatchAfterResponse || d.Dispatch == "" && d.Annotations.Destructive
}

// Serial reports whether the calls of one response run one at a time.
func (d *Definition) Serial() bool { return d.Parallel != nil && !*d.Parallel }

// Annotations describe the effects of a call, in the terms of MCP's
// ToolAnnotations.
type Annotations struct {
	ReadOnly    bool `json:"read_only"`
	Idempotent  bool `json:"idempotent"`
	Destructive bool `json:"destructive"`
	OpenWorld   bool `json:"open_world" doc:"It accesses systems outside the runtime."`
}

// risk is the risk that the annotations say.
func (a Annotations) risk() spicepod.Risk {
	switch {
	case a.Destructive:
		return spicepod.RiskDestructive
	case a.ReadOnly:
		return spicepod.RiskRead
	}
	return spicepod.RiskWrite
}

// Of returns the annotations of a tool with a declared risk; "": as they are.
func (a Annotations) Of(risk spicepod.Risk) Annotations {
	if risk != "" {
		a.ReadOnly, a.Destructive = risk == spicepod.RiskRead, risk == spicepod.RiskDestructive
	}
	return a
}

// Limits bound one call; zero fields are unlimited.
type Limits struct {
	Timeout     time.Duration `json:"-"`
	MaxRows     int           `json:"max_rows,omitempty"`
	MaxBytes    int64         `json:"max_bytes,omitempty" doc:"Maximum size of the result as JSON."`
	Concurrency int           `json:"concurrency,omitempty" doc:"Concurrent calls of the tool."`
	// MaxCallsPerSession limits how often a session may call the tool.
	MaxCallsPerSession int `json:"max_calls_per_session,omitempty" doc:"Calls of the tool in a session."`
}

// MarshalJSON encodes the time limit as text, such as "30s".
func (l Limits) MarshalJSON() ([]byte, error) { return json.Marshal(l.JSONForm()) }

// JSONForm returns the value that [Limits.MarshalJSON] encodes.
func (l Limits) JSONForm() any {
	type plain Limits
	shown := struct {
		Timeout string `json:"timeout,omitempty" doc:"A duration such as 30s."`
		plain
	}{plain: plain(l)}
	if l.Timeout > 0 {
		shown.Timeout = l.Timeout.String()
	}
	return shown
}

// Planner returns the short view of a definition that a planner selects by.
func (d *Definition) Planner() PlannerView { return PlannerView{d.Name, d.Description} }

// PlannerView is a tool's name and description.
type PlannerView struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// names are the tool names that model providers and MCP accept.
var names = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// ValidName reports whether models can call a tool by that name.
func ValidName(name string) bool { return names.MatchString(name) }

// namespace is the UUID namespace of the uids of tools.
var namespace = uuid.MustParse("0f4de7a6-6a39-5d0a-9d6b-3a3c1a7b5e10")

// Define completes a definition: version, owner, risk, uid and checksum, and
// canonical schemas. An invalid name or a schema that is not JSON is an error;
// [Compile] checks whether a schema compiles.
func Define(d Definition) (*Definition, error) {
	if !ValidName(d.Name) {
		return nil, fmt.Errorf("%q is not a name for a tool: letters, digits, _ and -, at most %d", d.Name, MaxName)
	}
	if len(d.Description) > MaxDescription {
		return nil, fmt.Errorf("the description of %q has %d bytes; the limit is %d", d.Name, len(d.Description),
			MaxDescription)
	}
	if len(d.Parameters) == 0 || string(d.Parameters) == "null" {
		d.Parameters = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	for what, schema := range map[string]*json.RawMessage{"parameters": &d.Parameters, "returns": &d.Returns} {
		if len(*schema) == 0 {
			continue
		}
		canonical, err := Canonical(*schema)
		if err == nil && len(canonical) > MaxSchema {
			err = fmt.Errorf("it has %d bytes; the limit is %d", len(canonical), MaxSchema)
		}
		if err != nil {
			return nil, fmt.Errorf("the schema of the %s of %q: %w", what, d.Name, err)
		}
		*schema = canonical
	}
	d.Examples = fitting(d.Examples, d.Parameters)
	d.Tags = slices.Sorted(slices.Values(d.Tags))
	d.Description = strings.TrimSpace(d.Description)
	d.SchemaVersion = SchemaVersion
	if d.Version == "" {
		d.Version = DefaultVersion
	}
	if d.Owner == "" {
		d.Owner = OwnerRuntime
	}
	d.Risk = d.Annotations.risk()
	d.UID = uuid.NewSHA1(namespace, []byte(d.Name)).String()
	return &d, d.sum()
}

// sum computes the checksum over all other fields; Annotations have the risk.
func (d *Definition) sum() error {
	d.Checksum = ""
	type summed struct { // Definition without what another field says
		*Definition
		Risk string `json:"risk,omitempty"`
	}
	b, err := json.Marshal(summed{Definition: d})
	if err != nil {
		return fmt.Errorf("definition of %q: %w", d.Name, err)
	}
	h := sha256.Sum256(append(b, d.Implementation...))
	d.Checksum = hex.EncodeToString(h[:8])
	return nil
}

// WrappedResult marks an output schema of MCP whose property "result" is the schema of the
// result itself, which is no object: before MCP 2026-07-28, structured content was only an
// object. The mark is FastMCP's (https://gofastmcp.com/servers/tools, "Output Schemas").
const WrappedResult = "x-fastmcp-wrap-result"

// Canonical encodes JSON canonically: without white space, keys sorted
// bytewise, numbers as written. Equal documents have equal bytes.
func Canonical(raw []byte) (json.RawMessage, error) {
	value, err := Decode(raw)
	if err != nil {
		return nil, err
	}
	return Encode(value)
}

// Decode decodes one JSON value, numbers as [json.Number].
func Decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("not JSON: something follows the value at byte %d", d.InputOffset())
	}
	return value, nil
}

// Encode encodes a decoded value as canonical JSON.
func Encode(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil { // encodes maps with sorted keys
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// DeclaredLimits converts declared limits; nil if all are unset.
func DeclaredLimits(l spicepod.Limits) *Limits {
	if l == (spicepod.Limits{}) {
		return nil
	}
	return &Limits{
		Timeout: l.Timeout, MaxRows: l.MaxRows, MaxBytes: int64(l.MaxBytes), Concurrency: l.Concurrency,
		MaxCallsPerSession: l.MaxCallsPerSession,
	}
}
