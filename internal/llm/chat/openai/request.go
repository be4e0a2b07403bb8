package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// ParseRequest decodes the body of POST /v1/chat/completions. Messages retain their
// original JSON; unknown fields are in Extra. Errors are [*chat.Error] with the path of
// the field, such as messages[2].content[0].type.
func ParseRequest(body []byte) (*chat.Request, error) {
	if len(body) > chat.MaxRequestBytes {
		return nil, &chat.Error{Code: errcode.RequestTooLarge, Message: fmt.Sprintf("the request has %d bytes; at most %d", len(body), chat.MaxRequestBytes)}
	}
	if !utf8.Valid(body) {
		return nil, chat.Invalid("", "the request is not UTF-8")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, notJSON(err)
	}
	r := &chat.Request{Form: chat.FormOpenAI}
	for _, f := range known {
		raw := fields[f.name]
		if raw == nil || isNull(raw) {
			continue
		}
		if err := f.set(r, f.name, raw); err != nil {
			return nil, err
		}
	}
	if err := complete(r); err != nil {
		return nil, err
	}
	r.Extra = extra(fields)
	return r, nil
}

func notJSON(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return chat.Invalid("", "the request is not JSON: %s at byte %d", syntax, syntax.Offset)
	}
	return chat.Invalid("", "the request must be a JSON object")
}

func complete(r *chat.Request) error {
	if r.Model == "" {
		return chat.Invalid("model", "model is missing: the name of the model to use")
	}
	if len(r.Messages) == 0 {
		return chat.Invalid("messages", "messages is missing: at least one message is required")
	}
	return nil
}

// field is a field of the request that the runtime interprets.
type field struct {
	name string
	set  func(r *chat.Request, name string, raw json.RawMessage) error
	// kept means that Extra has it too: which of two names the client used.
	kept bool
}

// known are the fields, in the order in which errors are reported.
var known = []field{
	{name: "model", set: into(func(r *chat.Request) *string { return &r.Model })},
	{name: "messages", set: setMessages},
	{name: "tools", set: setTools},
	{name: "tool_choice", set: setChoice},
	{name: "functions", set: legacy("tools")},
	{name: "function_call", set: legacy("tool_choice")},
	{name: "max_tokens", set: setMaxTokens, kept: true},
	{name: "max_completion_tokens", set: setMaxTokens, kept: true},
	{name: "temperature", set: into(func(r *chat.Request) **float64 { return &r.Settings.Temperature })},
	{name: "top_p", set: into(func(r *chat.Request) **float64 { return &r.Settings.TopP })},
	{name: "stop", set: setStop},
	{name: "response_format", set: setFormat},
	{name: "reasoning_effort", set: into(func(r *chat.Request) *string { return &r.Settings.Effort })},
	{name: "parallel_tool_calls", set: into(func(r *chat.Request) **bool { return &r.Settings.ParallelCalls })},
	{name: "user", set: into(func(r *chat.Request) *string { return &r.Settings.User })},
	{name: "stream", set: into(func(r *chat.Request) *bool { return &r.Stream })},
	{name: "stream_options", set: setStreamOptions},
	{name: "n", set: setN},
}

func extra(fields map[string]json.RawMessage) map[string]json.RawMessage {
	for _, f := range known {
		if raw := fields[f.name]; !f.kept || raw == nil || isNull(raw) {
			delete(fields, f.name)
		}
	}
	return fields
}

func isNull(raw []byte) bool { return string(raw) == "null" }

// into decodes a field into target.
func into[T any](target func(*chat.Request) *T) func(*chat.Request, string, json.RawMessage) error {
	return func(r *chat.Request, name string, raw json.RawMessage) error {
		return decode(name, raw, target(r))
	}
}

// decode decodes one value; its error names the expected type.
func decode(param string, raw json.RawMessage, target any) error {
	if json.Unmarshal(raw, target) == nil {
		return nil
	}
	return chat.Invalid(param, "%s must be %s, got %s", param, kindOf(target), truncate.Ellipsis(string(raw), maxShown))
}

func kindOf(target any) string {
	switch target.(type) {
	case *string, **string:
		return "a string"
	case *bool, **bool:
		return "true or false"
	case *int:
		return "an integer"
	case **float64:
		return "a number"
	case *[]json.RawMessage:
		return "a list"
	}
	return "an object"
}

func legacy(instead string) func(*chat.Request, string, json.RawMessage) error {
	return func(_ *chat.Request, name string, _ json.RawMessage) error {
		return chat.Invalid(name, "%s is no longer supported; use %s", name, instead)
	}
}

// setMaxTokens handles both names; max_completion_tokens comes later and wins.
func setMaxTokens(r *chat.Request, name string, raw json.RawMessage) error {
	if err := decode(name, raw, &r.Settings.MaxTokens); err != nil {
		return err
	}
	if r.Settings.MaxTokens < 1 {
		return chat.Invalid(name, "%s must be at least 1, got %d", name, r.Settings.MaxTokens)
	}
	return nil
}

func setStop(r *chat.Request, name string, raw json.RawMessage) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		r.Settings.Stop = []string{one}
		return nil
	}
	if json.Unmarshal(raw, &r.Settings.Stop) != nil {
		return chat.Invalid(name, "%s must be a string or a list of strings, got %s", name, truncate.Ellipsis(string(raw), maxShown))
	}
	if n := len(r.Settings.Stop); n > MaxStop {
		return chat.Invalid(name, "%s has %d texts; at most %d", name, n, MaxStop)
	}
	return nil
}

func setFormat(r *chat.Request, name string, raw json.RawMessage) error {
	if _, err := typeOf(name, raw); err != nil {
		return err
	}
	r.Settings.Format = raw
	return nil
}

func setStreamOptions(r *chat.Request, name string, raw json.RawMessage) error {
	var options struct {
		IncludeUsage json.RawMessage `json:"include_usage"`
	}
	if err := decode(name, raw, &options); err != nil || options.IncludeUsage == nil {
		return err
	}
	return decode(name+".include_usage", options.IncludeUsage, &r.IncludeUsage)
}

func setN(_ *chat.Request, name string, raw json.RawMessage) error {
	var n int
	if err := decode(name, raw, &n); err != nil {
		return err
	}
	if n != 1 {
		return chat.Invalid(name, "%s is %d; only 1 is supported: send another request for another answer", name, n)
	}
	return nil
}

// typeOf returns the required field type of an object.
func typeOf(param string, raw json.RawMessage) (string, error) {
	var object struct {
		Type json.RawMessage `json:"type"`
	}
	if json.Unmarshal(raw, &object) != nil || isNull(raw) {
		return "", chat.Invalid(param, "%s must be an object, got %s", param, truncate.Ellipsis(string(raw), maxShown))
	}
	var kind string
	if json.Unmarshal(object.Type, &kind) != nil || kind == "" {
		return "", chat.Invalid(param+".type", "%s.type is missing or not a string", param)
	}
	return kind, nil
}

func setTools(r *chat.Request, name string, raw json.RawMessage) error {
	var list []json.RawMessage
	if err := decode(name, raw, &list); err != nil {
		return err
	}
	if len(list) > chat.MaxTools {
		return chat.Invalid(name, "%s has %d tools; at most %d", name, len(list), chat.MaxTools)
	}
	for i, raw := range list {
		tool, err := parseTool(fmt.Sprintf("%s[%d]", name, i), raw)
		if err != nil {
			return err
		}
		r.Tools = append(r.Tools, tool)
	}
	return nil
}

// parseTool decodes a function; any other tool is the provider's.
func parseTool(param string, raw json.RawMessage) (chat.Tool, error) {
	kind, err := typeOf(param, raw)
	if err != nil {
		return chat.Tool{}, err
	}
	tool := chat.Tool{Raw: raw}
	if kind != "function" {
		return tool, nil
	}
	var form struct {
		Function struct {
			Name        json.RawMessage `json:"name"`
			Description json.RawMessage `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
			Strict      json.RawMessage `json:"strict"`
		} `json:"function"`
	}
	param += ".function"
	if json.Unmarshal(raw, &form) != nil {
		return tool, chat.Invalid(param, "%s must be an object", param)
	}
	f := form.Function
	for _, part := range []struct {
		name   string
		raw    json.RawMessage
		target any
	}{{".name", f.Name, &tool.Name}, {".description", f.Description, &tool.Description}, {".strict", f.Strict, &tool.Strict}} {
		if part.raw == nil {
			continue
		}
		if err := decode(param+part.name, part.raw, part.target); err != nil {
			return tool, err
		}
	}
	if tool.Name == "" || len(tool.Name) > MaxName {
		return tool, chat.Invalid(param+".name", "%s.name must have 1 to %d bytes", param, MaxName)
	}
	tool.Parameters, err = parameters(param+".parameters", f.Parameters)
	return tool, err
}

// noParameters is the schema of a tool without parameters.
const noParameters = `{"type":"object","properties":{}}`

func parameters(param string, raw json.RawMessage) (json.RawMessage, error) {
	if raw == nil || isNull(raw) {
		return json.RawMessage(noParameters), nil
	}
	if raw[0] != '{' {
		return nil, chat.Invalid(param, "%s must be a JSON Schema of an object, got %s", param, truncate.Ellipsis(string(raw), maxShown))
	}
	return raw, nil
}

// setChoice decodes tool_choice; objects other than a named function stay as they are.
func setChoice(r *chat.Request, name string, raw json.RawMessage) error {
	var mode string
	if json.Unmarshal(raw, &mode) == nil {
		switch m := chat.ChoiceMode(mode); m {
		case chat.ChoiceAuto, chat.ChoiceNone, chat.ChoiceRequired:
			r.Choice.Mode = m
			return nil
		}
		return chat.Invalid(name, "%s must be auto, none, required or an object, got %q", name, mode)
	}
	kind, err := typeOf(name, raw)
	if err != nil {
		return err
	}
	if kind != "function" {
		r.Choice.Raw = raw
		return nil
	}
	var form struct{ Function struct{ Name string } }
	if json.Unmarshal(raw, &form) != nil || form.Function.Name == "" {
		return chat.Invalid(name+".function.name", "%s.function.name is missing or not a string", name)
	}
	r.Choice = chat.Choice{Mode: chat.ChoiceTool, Name: form.Function.Name}
	return nil
}
