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
)

// SchemaVersion is the version of the shapes of [Definition] and [Result] and
// of the requests that lead to them.
const SchemaVersion = "0.1.0"

// Where tools come from. A tool of an MCP server has "mcp:" and the server's
// name.
const (
	SourceBuiltin  = "builtin"  // brought by the runtime
	SourceFunction = "function" // a declared function
)

// OwnerRuntime owns what no agent does.
const OwnerRuntime = "runtime"

// DefaultVersion is the version of a tool that declares none.
const DefaultVersion = "0.1.0"

// Limits on a definition.
const (
	MaxName        = 64
	MaxDescription = 64 << 10
	MaxSchema      = 1 << 20
)

// Definition describes a tool to those who choose and call it.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Version     string          `json:"version"`
	Parameters  json.RawMessage `json:"parameters"`        // JSON Schema of an object, canonical
	Returns     json.RawMessage `json:"returns,omitempty"` // JSON Schema of the result, canonical
	Tags        []string        `json:"tags,omitempty"`    // sorted
	Source      string          `json:"source"`
	Owner       string          `json:"owner"`

	SchemaVersion string      `json:"schema_version"`
	UID           string      `json:"uid"`      // UUID version 5 (RFC 9562) of the name
	Checksum      string      `json:"checksum"` // 16 hex digits over the definition and the implementation
	Annotations   Annotations `json:"annotations"`
	// Cacheable says that equal arguments give equal results as long as the
	// checksum stays.
	Cacheable bool    `json:"cacheable,omitempty"`
	Limits    *Limits `json:"limits,omitempty"`
	// Dispatch and Parallel say when a chat starts a call of the tool.
	Dispatch Dispatch `json:"dispatch,omitempty"` // "": early
	Parallel *bool    `json:"parallel,omitempty"` // false: one call of it after the other; nil: true

	// Datasets are patterns of what the tool's statements may read, and tools
	// that these call; nil is everything.
	Datasets []string `json:"-"`
	// Implementation is a checksum of what runs; it goes into Checksum.
	Implementation string `json:"-"`
	// Declared is where the definition stands, for messages: file:line, or
	// "built in".
	Declared string `json:"-"`
}

// Dispatch says when a chat starts a call that a model asks for.
type Dispatch string

// The kinds of dispatch.
const (
	DispatchEarly         Dispatch = "early"          // once its arguments are complete
	DispatchAfterResponse Dispatch = "after_response" // once the model has said all it has to say
)

// AfterResponse reports whether calls wait for the end of the model's answer:
// the definition says so, or says nothing and the tool destroys.
func (d *Definition) AfterResponse() bool {
	return d.Dispatch == DispatchAfterResponse || d.Dispatch == "" && d.Annotations.Destructive
}

// Serial reports whether the calls of one answer run one after the other.
func (d *Definition) Serial() bool { return d.Parallel != nil && !*d.Parallel }

// Annotations tell what a call may do, in the terms of MCP's ToolAnnotations.
type Annotations struct {
	ReadOnly    bool `json:"read_only"`
	Idempotent  bool `json:"idempotent"`
	Destructive bool `json:"destructive"`
	OpenWorld   bool `json:"open_world"` // reaches beyond the runtime
}

// Limits bound one call; zero fields are unlimited.
type Limits struct {
	Timeout     time.Duration `json:"-"`
	MaxRows     int           `json:"max_rows,omitempty"`
	MaxBytes    int64         `json:"max_bytes,omitempty"`   // of the result as JSON
	Concurrency int           `json:"concurrency,omitempty"` // calls of the tool at once
}

// MarshalJSON shows the time limit as text, such as "30s".
func (l Limits) MarshalJSON() ([]byte, error) {
	type plain Limits
	shown := struct {
		Timeout string `json:"timeout,omitempty"`
		plain
	}{plain: plain(l)}
	if l.Timeout > 0 {
		shown.Timeout = l.Timeout.String()
	}
	return json.Marshal(shown)
}

// Planner is the short view of a definition that a planner chooses by.
func (d *Definition) Planner() PlannerView { return PlannerView{d.Name, d.Description} }

// PlannerView is a tool's name and description.
type PlannerView struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// names are the tool names that model providers and MCP accept.
var names = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// ValidName reports whether models can call a tool of that name.
func ValidName(name string) bool { return names.MatchString(name) }

// namespace is the UUID under which tools' uids are made.
var namespace = uuid.MustParse("0f4de7a6-6a39-5d0a-9d6b-3a3c1a7b5e10")

// Define completes a definition: version, owner, uid and checksum, and both
// schemas in canonical form. A wrong name or schema that is no JSON is an
// error; whether a schema compiles is found by [Compile].
func Define(d Definition) (*Definition, error) {
	if !ValidName(d.Name) {
		return nil, fmt.Errorf("%q is no name for a tool: letters, digits, _ and -, at most %d", d.Name, MaxName)
	}
	if len(d.Description) > MaxDescription {
		return nil, fmt.Errorf("the description of %q has %d bytes; the limit is %d", d.Name, len(d.Description), MaxDescription)
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
	d.Tags = slices.Sorted(slices.Values(d.Tags))
	d.Description = strings.TrimSpace(d.Description)
	d.SchemaVersion = SchemaVersion
	if d.Version == "" {
		d.Version = DefaultVersion
	}
	if d.Owner == "" {
		d.Owner = OwnerRuntime
	}
	d.UID = uuid.NewSHA1(namespace, []byte(d.Name)).String()
	return &d, d.sum()
}

// sum computes the checksum over everything else.
func (d *Definition) sum() error {
	d.Checksum = ""
	b, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("definition of %q: %w", d.Name, err)
	}
	h := sha256.Sum256(append(b, d.Implementation...))
	d.Checksum = hex.EncodeToString(h[:8])
	return nil
}

// Canonical renders JSON in one way only: without white space, keys sorted
// bytewise, numbers as they were written. Equal documents have equal bytes.
func Canonical(raw []byte) (json.RawMessage, error) {
	value, err := Decode(raw)
	if err != nil {
		return nil, err
	}
	return Encode(value)
}

// Decode reads one JSON value, numbers as [json.Number].
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

// Encode renders a decoded value as canonical JSON.
func Encode(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil { // maps leave with sorted keys
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
