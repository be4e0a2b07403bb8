package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/translation"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
)

// ParseRequest decodes the body of POST /v1/chat/completions. Messages retain their
// original JSON; unknown fields are in Extra. Errors are [*chat.Error] with the path of
// the field, such as messages[2].content[0].type.
func ParseRequest(body []byte) (*chat.Request, error) {
	if !utf8.Valid(body) {
		return nil, chat.Invalid("", "the request is not UTF-8")
	}
	o, err := wire.Parse(body, "%s[%d]")
	if err != nil {
		return nil, err
	}
	r := &chat.Request{Form: chat.FormOpenAI, Model: o.Required("model")}
	list := o.Objects("messages", "messages", chat.MaxMessages)
	if o.Need("messages", "a list") && len(list) == 0 {
		o.Fail("messages", "is empty: at least one message is required")
	}
	for _, m := range list {
		r.Messages = append(r.Messages, parseMessage(m))
	}
	for _, tool := range o.Objects("tools", "tools", chat.MaxTools) {
		r.Tools = append(r.Tools, parseTool(tool))
	}
	parseChoice(r, o)
	parseSettings(r, o)
	o.Read("stream", wire.Bool, &r.Stream)
	o.Object("stream_options").Only("include_usage", "include_obfuscation")
	o.Object("stream_options").Read("include_usage", wire.Bool, &r.IncludeUsage)
	r.Uses = slices.Concat(translation.Find(chat.FormOpenAI, o), later(list), translation.Warm(r.Settings.Temperature),
		translation.Shadowed(o.Text("user"), o.Text("safety_identifier")))
	if err := o.Err(); err != nil {
		return nil, err
	}
	r.Extra = extra(o)
	return r, nil
}

// known are the fields that the runtime interprets.
var known = []string{
	"model", "messages", "tools", "tool_choice", "functions", "function_call", "temperature", "top_p", "stop",
	"response_format", "reasoning_effort", "parallel_tool_calls", "stream", "stream_options", "n",
}

// maxTokens are the two names of the token limit. Extra has the one that the client used;
// the last one wins.
var maxTokens = []string{"max_tokens", "max_completion_tokens"}

func extra(o *wire.Object) map[string]json.RawMessage {
	for _, name := range known {
		delete(o.Fields, name)
	}
	for _, name := range maxTokens {
		if !o.Has(name) {
			delete(o.Fields, name)
		}
	}
	return o.Fields
}

// later returns the use of the first system message that follows another message: not
// every provider has one in that position.
func later(messages []*wire.Object) []chat.Use {
	others := false
	for _, m := range messages {
		role := m.Text("role")
		switch system := role == "system" || role == "developer"; {
		case !system:
			others = true
		case others:
			return []chat.Use{translation.Note("messages["+role+" later]", m.Path(""))}
		}
	}
	return nil
}

func parseSettings(r *chat.Request, o *wire.Object) {
	s := &r.Settings
	for _, name := range maxTokens {
		if o.Read(name, wire.Integer, &s.MaxTokens); o.Has(name) && s.MaxTokens < 1 {
			o.Fail(name, "must be at least 1, got %d", s.MaxTokens)
		}
	}
	o.Read("temperature", wire.Number, &s.Temperature)
	o.Read("top_p", wire.Number, &s.TopP)
	if o.Is("stop") {
		s.Stop = []string{o.Text("stop")}
	} else {
		o.Read("stop", "a string or a list of strings", &s.Stop)
	}
	if n := len(s.Stop); n > MaxStop {
		o.Fail("stop", "has %d texts; at most %d", n, MaxStop)
	}
	if o.Has("response_format") {
		o.Object("response_format").Required("type")
		s.Format = o.Fields["response_format"]
	}
	s.Effort, s.User = o.Text("reasoning_effort"), cmp.Or(o.Text("user"), o.Text("safety_identifier"))
	o.Read("parallel_tool_calls", wire.Bool, &s.ParallelCalls)
}

// parseTool decodes a function; any other tool is the provider's.
func parseTool(o *wire.Object) chat.Tool {
	t := chat.Tool{Raw: o.Raw}
	if o.Required("type") != "function" {
		return t
	}
	f := o.Object("function")
	t.Name, t.Description, t.Parameters = f.Text("name"), f.Text("description"), json.RawMessage(noParameters)
	if t.Name == "" || len(t.Name) > MaxName {
		f.Fail("name", "must have 1 to %d bytes", MaxName)
	}
	f.Read("strict", wire.Bool, &t.Strict)
	if f.Has("parameters") {
		if t.Parameters = f.Fields["parameters"]; t.Parameters[0] != '{' {
			f.Fail("parameters", "must be a JSON Schema of an object, got %s", truncate.Ellipsis(string(t.Parameters), maxShown))
		}
	}
	return t
}

// noParameters is the schema of a tool without parameters.
const noParameters = `{"type":"object","properties":{}}`

// parseChoice decodes tool_choice. Objects other than a named function are sent as they
// are to providers of this form.
func parseChoice(r *chat.Request, o *wire.Object) {
	switch c := &r.Choice; {
	case !o.Has("tool_choice"):
	case o.Is("tool_choice"):
		switch c.Mode = chat.ChoiceMode(o.Text("tool_choice")); c.Mode {
		case chat.ChoiceAuto, chat.ChoiceNone, chat.ChoiceRequired:
		default:
			o.Fail("tool_choice", "must be auto, none, required or an object, got %q", c.Mode)
		}
	case o.Object("tool_choice").Required("type") == "function":
		choice := o.Object("tool_choice")
		choice.Only("type", "function")
		choice.Object("function").Only("name")
		c.Mode, c.Name = chat.ChoiceTool, choice.Object("function").Required("name")
	default:
		c.Raw = o.Fields["tool_choice"]
		if o.Object("tool_choice").Text("type") == "allowed_tools" {
			parseAllowed(c, o.Object("tool_choice").Object("allowed_tools"))
		}
	}
}

// parseAllowed decodes a choice among some of the tools.
func parseAllowed(c *chat.Choice, o *wire.Object) {
	switch c.Mode = chat.ChoiceMode(o.Required("mode")); c.Mode {
	case chat.ChoiceAuto, chat.ChoiceRequired:
	default:
		o.Fail("mode", "must be auto or required, got %q", c.Mode)
	}
	c.Allowed = []string{}
	for _, tool := range o.Objects("tools", "tools", chat.MaxTools) {
		if tool.Required("type") != "function" {
			tool.Fail("type", "must be function, got %q", tool.Text("type"))
		}
		c.Allowed = append(c.Allowed, tool.Object("function").Required("name"))
	}
}

// Limits of the API, in addition to those of package chat.
const (
	// MaxStop limits the stop sequences.
	MaxStop = 64
	// MaxName limits the bytes of a tool name.
	MaxName = 128

	maxShown = 40 // bytes of a value in a message
)
