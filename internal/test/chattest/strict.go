package chattest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/tools"
)

// Strictness is how a server judges the schemas of tools.
type Strictness int

// The kinds of strictness. Each refuses what the providers are reported to refuse, with
// their words; decision 0076 has the reports.
const (
	Lenient  Strictness = iota // takes everything
	AsVendor                   // as OpenAI and Anthropic, by the API of the request
	AsGemini                   // as Gemini behind its OpenAI-compatible endpoint
)

// Judge sets how the schemas of tools, and the names of calls in the history, are judged from now
// on. A request with one that is refused is answered with status 400, before the script.
func (s *Server) Judge(how Strictness) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strictness = how
}

// judged returns the answer to a request whose tools or calls are refused.
func (s *Server) judged(r Request) (Answer, bool) {
	s.mu.Lock()
	how := s.strictness
	s.mu.Unlock()
	if how == Lenient {
		return Answer{}, false
	}
	var body struct {
		Tools []json.RawMessage `json:"tools"`
	}
	_ = json.Unmarshal(r.Body, &body)
	for i, raw := range body.Tools {
		if why := refused(how, r.Form, i, raw); why != "" {
			return Answer{fault: &fault{kind: faultRequest, message: why}}, true
		}
	}
	for _, name := range calledNames(r.Body) {
		if !callName.MatchString(name) || r.Form == chat.FormOpenAI && len(name) > 64 {
			return Answer{fault: &fault{kind: faultRequest, message: fmt.Sprintf("the name of the call %q is invalid", name)}}, true
		}
	}
	return Answer{}, false
}

// callName is what the name of a call in the history must match, with 64 characters in Chat
// Completions.
var callName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

// calledNames returns the names of the calls in the history of a request, in each API.
func calledNames(body []byte) (names []string) {
	type call struct {
		Type, Name string
		Function   struct{ Name string }
	}
	var r struct {
		Input    json.RawMessage
		Messages []struct {
			Calls   []call          `json:"tool_calls"`
			Content json.RawMessage `json:"content"`
		}
	}
	_ = json.Unmarshal(body, &r)
	var calls []call
	_ = json.Unmarshal(r.Input, &calls) // a text has none
	for _, m := range r.Messages {
		var blocks []call
		_ = json.Unmarshal(m.Content, &blocks)
		calls = append(append(calls, m.Calls...), blocks...)
	}
	for _, c := range calls {
		switch c.Type {
		case "function", "function_call", "tool_use":
			names = append(names, cmp.Or(c.Name, c.Function.Name))
		}
	}
	return names
}

// refused returns why a provider refuses a tool, or "".
func refused(how Strictness, form chat.Form, i int, raw json.RawMessage) string {
	var tool struct {
		Name        string
		Parameters  json.RawMessage
		InputSchema json.RawMessage `json:"input_schema"`
		Examples    []any           `json:"input_examples"`
		Strict      bool
		Function    struct {
			Name       string
			Parameters json.RawMessage
			Strict     bool
		}
		Tools []json.RawMessage
	}
	_ = json.Unmarshal(raw, &tool)
	for _, inner := range tool.Tools {
		if why := refused(how, form, i, inner); why != "" {
			return why
		}
	}
	for _, schema := range []json.RawMessage{tool.Parameters, tool.InputSchema, tool.Function.Parameters} {
		doc, err := tools.Decode(schema)
		if err != nil {
			continue
		}
		why := ""
		switch {
		case how == AsGemini:
			why = geminiRefuses(doc, fmt.Sprintf("tools[0].function_declarations[%d].parameters", i))
		case form == chat.FormAnthropic:
			at := fmt.Sprintf("tools.%d.custom.", i)
			why = cmp.Or(anthropicRefuses(doc, at+"input_schema"), misfit(schema, tool.Examples, at+"input_examples"))
		case tool.Strict || tool.Function.Strict:
			why = cmp.Or(strictRefuses(doc, tool.Name+tool.Function.Name), openAIRefuses(doc, tool.Name+tool.Function.Name))
		default:
			why = openAIRefuses(doc, tool.Name+tool.Function.Name)
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// misfit judges input_examples as the Messages API does: each must fit the schema.
func misfit(schema json.RawMessage, examples []any, at string) string {
	compiled, err := tools.Compile(schema)
	if err != nil {
		return ""
	}
	for i, e := range examples {
		if faults := compiled.Check(e); len(faults) > 0 {
			return fmt.Sprintf("%s.%d: Input does not match schema: %s", at, i, tools.FaultsText(faults))
		}
	}
	return ""
}

// strictRefuses refuses the keyword examples, as strict schemas of OpenAI do
// (openai/openai-python#2274).
func strictRefuses(value any, name string) string {
	switch v := value.(type) {
	case map[string]any:
		if v["examples"] != nil {
			return "Invalid schema for function '" + name + "': In context=(), 'examples' is not permitted."
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if why := strictRefuses(v[key], name); why != "" {
				return why
			}
		}
	case []any:
		for _, item := range v {
			if why := strictRefuses(item, name); why != "" {
				return why
			}
		}
	}
	return ""
}

var atTop = []string{"oneOf", "anyOf", "allOf"}

// anthropicRefuses judges as the Messages API does.
func anthropicRefuses(doc any, at string) string {
	root, _ := doc.(map[string]any)
	switch {
	case root["type"] == nil:
		return at + ".type: Field required"
	case root["type"] != "object":
		return at + ".type: Input should be 'object'"
	case hasAny(root, atTop):
		return at + ": input_schema does not support oneOf, allOf, or anyOf at the top level"
	case !follows2020(root):
		return at + ": JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use " +
			"at https://docs.claude.com/en/docs/tool-use."
	}
	properties, _ := root["properties"].(map[string]any)
	for name := range properties {
		if !propertyKey.MatchString(name) {
			return at + ".properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"
		}
	}
	return ""
}

var propertyKey = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

func hasAny(object map[string]any, keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { _, ok := object[key]; return ok })
}

// follows2020 reports whether a schema follows draft 2020-12, whatever it says it follows.
func follows2020(root map[string]any) bool {
	copied := maps.Clone(root)
	copied["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	text, err := tools.Encode(copied)
	if err != nil {
		return false
	}
	_, err = tools.Compile(text)
	return err == nil
}

// openAIRefuses judges as Chat Completions and the Responses API do without strict.
func openAIRefuses(doc any, name string) string {
	refuse := func(why string) string { return "Invalid schema for function '" + name + "': " + why }
	root, ok := doc.(map[string]any)
	switch {
	case !ok || root["type"] != "object" && !hasAny(root, atTop):
		return refuse(fmt.Sprintf(`schema must be a JSON Schema of 'type: "object"', got 'type: %q'.`, fmt.Sprint(root["type"])))
	case root["type"] != "object", hasAny(root, append(slices.Clone(atTop), "enum", "const", "not")):
		return refuse("schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level.")
	case root["properties"] == nil:
		return refuse("In context=(), object schema missing properties.")
	}
	if where, found := arrayWithoutItems(root, nil); found {
		return refuse("In context=(" + where + "), array schema missing items.")
	}
	if !follows2020(root) {
		return refuse("it is not valid under any of the given schemas.")
	}
	return ""
}

// arrayWithoutItems returns where a schema of lists says nothing about their items.
func arrayWithoutItems(value any, path []string) (string, bool) {
	switch v := value.(type) {
	case map[string]any:
		list, _ := v["type"].([]any)
		if _, ok := v["items"].(map[string]any); !ok && (v["type"] == "array" || slices.Contains(list, any("array"))) {
			return strings.Join(path, ", "), true
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if where, found := arrayWithoutItems(v[key], append(path, "'"+key+"'")); found && key != "enum" && key != "default" && key != "const" {
				return where, true
			}
		}
	case []any:
		for i, item := range v {
			if where, found := arrayWithoutItems(item, append(path, fmt.Sprintf("'%d'", i))); found {
				return where, true
			}
		}
	}
	return "", false
}

// geminiFields are those of Gemini's Schema that all its versions have.
var geminiFields = []string{
	"type", "format", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required", "items", "anyOf",
	"minimum", "maximum",
}

// geminiRefuses judges as generateContent does, to which the compatible endpoint translates.
func geminiRefuses(value any, at string) string {
	schema, ok := value.(map[string]any)
	if !ok {
		return "Invalid value at '" + at + "'"
	}
	for _, key := range slices.Sorted(maps.Keys(schema)) {
		if !slices.Contains(geminiFields, key) {
			return fmt.Sprintf("Invalid JSON payload received. Unknown name %q at '%s': Cannot find field.", key, at)
		}
	}
	if list, ok := schema["anyOf"].([]any); ok {
		if len(schema) > 1 {
			return at + " schema specified other fields alongside any_of. When using any_of, it must be the only field set."
		}
		for i, branch := range list {
			if why := geminiRefuses(branch, fmt.Sprintf("%s.any_of[%d]", at, i)); why != "" {
				return why
			}
		}
		return ""
	}
	typ, ok := schema["type"].(string)
	switch {
	case schema["type"] == nil:
		return at + ".type: must be specified when not using one_of, any_of or all_of fields"
	case !ok:
		return fmt.Sprintf("Invalid JSON payload received. Unknown name \"type\" at '%s': Proto field is not repeating, cannot start list.", at)
	case !slices.Contains([]string{"string", "number", "integer", "boolean", "array", "object"}, typ):
		return fmt.Sprintf("Invalid value at '%s.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), %q", at, typ)
	case typ == "array" && schema["items"] == nil:
		return at + ".items: missing field."
	case typ != "object" && hasAny(schema, []string{"properties", "required"}):
		return at + ".properties: only allowed for OBJECT type"
	case typ == "string" && schema["format"] != nil && schema["format"] != "enum" && schema["format"] != "date-time":
		return at + ".format: only 'enum' and 'date-time' are supported for STRING type"
	}
	if values, ok := schema["enum"].([]any); ok {
		for i, v := range values {
			if text, ok := v.(string); !ok || text == "" || typ != "string" {
				return fmt.Sprintf("Invalid value at '%s.enum[%d]' (TYPE_STRING), %v", at, i, v)
			}
		}
	}
	if items, ok := schema["items"]; ok {
		if why := geminiRefuses(items, at+".items"); why != "" {
			return why
		}
	}
	return geminiRefusesMembers(schema, at)
}

func geminiRefusesMembers(schema map[string]any, at string) string {
	properties, ok := schema["properties"].(map[string]any)
	if ok && len(properties) == 0 {
		return at + ".properties: should be non-empty for OBJECT type"
	}
	required, _ := schema["required"].([]any)
	for i, name := range required {
		if text, _ := name.(string); properties[text] == nil {
			return fmt.Sprintf("%s.required[%d]: property is not defined", at, i)
		}
	}
	for name, property := range properties {
		if why := geminiRefuses(property, fmt.Sprintf("%s.properties[%s]", at, name)); why != "" {
			return why
		}
	}
	return ""
}
