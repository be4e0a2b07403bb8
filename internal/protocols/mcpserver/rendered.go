package mcpserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/peers/peermeta"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// rendered caches what clients see of the definitions of one catalog.
type rendered struct {
	catalog *registry.Catalog
	id      string                     // of the runtime
	shown   sync.Map                   // *tools.Definition → *shown
	all     func() []*tools.Definition // the list for sessions that see all tools
	sum     func() string              // its checksum
}

// current returns what clients see of the current catalog.
func (s *Server) current() *rendered {
	catalog := s.opts.Registry.Current()
	if cached := s.rendered.Load(); cached != nil && cached.catalog == catalog {
		return cached
	}
	fresh := &rendered{catalog: catalog, id: s.opts.ID}
	fresh.all = sync.OnceValue(catalog.All)
	fresh.sum = sync.OnceValue(func() string { return fingerprint(fresh.all()) })
	s.rendered.Store(fresh)
	return fresh
}

// fingerprint identifies a list of tools.
func fingerprint(list []*tools.Definition) string {
	h := sha256.New()
	for _, def := range list {
		fmt.Fprintf(h, "%s %s\n", def.Name, def.Checksum)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// form is how a tool's result becomes structured content.
type form int

// MCP requires an object. Other results are wrapped in one.
const (
	formNone form = iota // no schema
	formObject
	formWrapped // {"result": …}
)

// shown is a tool as clients see it.
type shown struct {
	tool   json.RawMessage        // MCP's Tool
	viewed func() json.RawMessage // the same for clients that show views: see apps.go
	form   form                   // of the results
}

// show returns how clients see a tool.
func (f *rendered) show(def *tools.Definition) *shown {
	if found, ok := f.shown.Load(def); ok {
		return found.(*shown)
	}
	made := render(def, f.id)
	f.shown.Store(def, made)
	return made
}

func render(def *tools.Definition, id string) *shown {
	output, form := outputSchema(def.Returns)
	a := def.Annotations
	tool := &mcp.Tool{
		Name: def.Name, Description: def.Text(), InputSchema: inputSchema(def.Parameters),
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: a.ReadOnly, IdempotentHint: a.Idempotent, DestructiveHint: &a.Destructive, OpenWorldHint: &a.OpenWorld,
		},
		Meta: mcp.Meta{peermeta.Checksum: def.Checksum, peermeta.Source: def.Source, peermeta.Owner: def.Owner},
	}
	if len(def.Tags) > 0 {
		tool.Meta[peermeta.Tags] = def.Tags
	}
	if id != "" {
		tool.Meta[peermeta.Via] = peermeta.Extend(def.Via, id)
	}
	if form != formNone {
		tool.OutputSchema = output
	}
	text, _ := tools.Encode(tool) // all fields are JSON
	viewed := sync.OnceValue(func() json.RawMessage {
		text, _ := tools.Encode(withView(tool, viewOf(def)))
		return text
	})
	return &shown{text, viewed, form}
}

// inputSchema is the schema of a tool's parameters. MCP requires a type;
// foreign schemas may omit it.
func inputSchema(parameters json.RawMessage) json.RawMessage {
	if bytes.Contains(parameters, []byte(headerAnnotation)) {
		parameters = withoutHeaders(parameters)
	}
	if typeOf(parameters) == "object" {
		return parameters
	}
	var schema map[string]json.RawMessage
	if json.Unmarshal(parameters, &schema) != nil || schema["type"] != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	schema["type"] = json.RawMessage(`"object"`)
	text, _ := tools.Encode(schema)
	return text
}

// headerAnnotation marks arguments that a tool's own server also wants in the
// request header. Between a client and this server they are only in the body.
const headerAnnotation = "x-mcp-header"

// withoutHeaders removes the annotations from a schema.
func withoutHeaders(schema json.RawMessage) json.RawMessage {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(schema))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return schema
	}
	takeOut(value)
	text, _ := tools.Encode(value) // it was decoded from JSON
	return text
}

func takeOut(value any) {
	switch value := value.(type) {
	case map[string]any:
		if _, named := value[headerAnnotation].(map[string]any); !named { // an argument of that name has a schema
			delete(value, headerAnnotation)
		}
		for _, v := range value {
			takeOut(v)
		}
	case []any:
		for _, v := range value {
			takeOut(v)
		}
	}
}

// outputSchema is the schema of a tool's structured content.
func outputSchema(returns json.RawMessage) (json.RawMessage, form) {
	switch {
	case len(returns) == 0:
		return nil, formNone
	case typeOf(returns) == "object":
		return returns, formObject
	case bytes.Contains(returns, []byte(`"$ref"`)), bytes.Contains(returns, []byte(`"$dynamicRef"`)):
		return nil, formNone // references would not resolve in a wrapper
	}
	wrapped := fmt.Appendf(nil, `{"type":"object","properties":{"result":%s},"required":["result"],%q:true}`, returns,
		tools.WrappedResult)
	return wrapped, formWrapped
}

// typeOf is the type in a schema, if there is exactly one.
func typeOf(schema json.RawMessage) string {
	var s struct {
		Type json.RawMessage `json:"type"`
	}
	var name string
	if json.Unmarshal(schema, &s) != nil || json.Unmarshal(s.Type, &name) != nil {
		return ""
	}
	return name
}
