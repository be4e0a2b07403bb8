package openai

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
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
	refuse(o, "functions", "tools")
	refuse(o, "function_call", "tool_choice")
	parseSettings(r, o)
	o.Read("stream", wire.Bool, &r.Stream)
	o.Object("stream_options").Read("include_usage", wire.Bool, &r.IncludeUsage)
	n := 1
	if o.Read("n", wire.Integer, &n); n != 1 {
		o.Fail("n", "is %d; only 1 is supported: send another request for another answer", n)
	}
	if err := o.Err(); err != nil {
		return nil, err
	}
	r.Extra = extra(o)
	return r, nil
}

// known are the fields that the runtime interprets.
var known = []string{
	"model", "messages", "tools", "tool_choice", "functions", "function_call", "temperature", "top_p", "stop",
	"response_format", "reasoning_effort", "parallel_tool_calls", "user", "stream", "stream_options", "n",
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

// refuse rejects a field of an older version of the API.
func refuse(o *wire.Object, name, instead string) {
	if o.Has(name) {
		o.Fail(name, "is no longer supported; use %s", instead)
	}
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
	s.Effort, s.User = o.Text("reasoning_effort"), o.Text("user")
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

// parseChoice decodes tool_choice; objects other than a named function stay as they are.
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
		c.Mode, c.Name = chat.ChoiceTool, o.Object("tool_choice").Object("function").Required("name")
	default:
		c.Raw = o.Fields["tool_choice"]
	}
}
