package ollama

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// request is the body of POST /api/chat.
type request struct {
	Model     string                     `json:"model"`
	Messages  []message                  `json:"messages"`
	Tools     []tool                     `json:"tools,omitempty"`
	Format    json.RawMessage            `json:"format,omitempty"` // "json", or a schema
	Options   map[string]json.RawMessage `json:"options,omitempty"`
	Think     json.RawMessage            `json:"think,omitempty"`
	KeepAlive json.RawMessage            `json:"keep_alive,omitempty"`
	Stream    bool                       `json:"stream"`

	// Without these two, which servers have since 0.12.6, Ollama drops the beginning of what
	// exceeds num_ctx, the tools and the system prompt, and answers the rest with status 200.
	Truncate bool `json:"truncate"`
	Shift    bool `json:"shift"`
}

type message struct {
	Role     string   `json:"role"`
	Content  string   `json:"content"`
	Thinking string   `json:"thinking,omitempty"`
	Images   []string `json:"images,omitempty"` // base64
	Calls    []call   `json:"tool_calls,omitempty"`
	ToolName string   `json:"tool_name,omitempty"` // of a result
}

type call struct {
	Function calledFunction `json:"function"`
}

type calledFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // an object
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// encode returns the body of a request.
func (p *provider) encode(r *chat.Request) ([]byte, error) {
	body := request{Model: p.options.Model, KeepAlive: p.options.KeepAlive, Think: p.options.Think, Stream: true}
	body.Options = maps.Clone(p.options.Options)
	if body.Options == nil {
		body.Options = map[string]json.RawMessage{}
	}
	names := map[string]string{} // of tools, by id of the call
	for i, m := range r.Messages {
		list, err := messages(m, names)
		if err != nil {
			return nil, chat.Invalid(fmt.Sprintf("messages[%d]", i), "%s", err)
		}
		body.Messages = append(body.Messages, list...)
	}
	if err := cmp.Or(body.settings(r.Settings), body.extra(r), body.tools(r)); err != nil {
		return nil, err
	}
	return json.Marshal(body)
}

// messages returns a message as Ollama has it: each result of a call is one.
func messages(m chat.Message, names map[string]string) (list []message, err error) {
	said := message{Role: string(m.Role)}
	for _, part := range m.Parts {
		switch part.Kind {
		case chat.PartText, chat.PartRefusal:
			said.Content += part.Text
		case chat.PartThinking:
			said.Thinking += part.Text
		case chat.PartImage:
			if err := said.image(part.Image); err != nil {
				return nil, err
			}
		case chat.PartCall:
			names[part.Call.ID] = part.Call.Name
			said.Calls = append(said.Calls, call{calledFunction{part.Call.Name, object(part.Call.Arguments)}})
		case chat.PartResult:
			result := message{
				Role: string(chat.RoleTool), Content: part.Result.Text(),
				ToolName: cmp.Or(part.Result.Name, names[part.Result.ID]),
			}
			for _, inner := range part.Result.Parts {
				if inner.Kind == chat.PartImage {
					if err := result.image(inner.Image); err != nil {
						return nil, err
					}
				}
			}
			list = append(list, result)
		case chat.PartFile:
			return nil, errors.New("a file is sent, which Ollama does not take: send its text")
		default:
			return nil, errors.New("the content is neither text, image nor a call of a tool, which is what Ollama takes")
		}
	}
	if len(list) > 0 && said.Content == "" && said.Calls == nil && said.Images == nil {
		return list, nil // a message of results
	}
	return append(list, said), nil
}

// image adds an image. Ollama fetches none.
func (m *message) image(i *chat.Image) error {
	if i == nil || i.Data == "" {
		return errors.New("an image is sent by URL, which Ollama does not fetch: send the data as a data: URL")
	}
	m.Images = append(m.Images, i.Data)
	return nil
}

// object returns the arguments of a call; those that are no object, which the model then
// reads in the error of the call, become {}.
func object(arguments string) json.RawMessage {
	raw := bytes.TrimSpace([]byte(arguments))
	if !json.Valid(raw) || len(raw) == 0 || raw[0] != '{' {
		return json.RawMessage("{}")
	}
	return raw
}

// settings sets the options of the request. ParallelCalls has no counterpart.
func (b *request) settings(s chat.Settings) error {
	set := func(name string, value any) {
		b.Options[name], _ = json.Marshal(value) // of numbers and texts
	}
	if s.MaxTokens > 0 {
		set("num_predict", s.MaxTokens)
	}
	if s.Temperature != nil {
		set("temperature", *s.Temperature)
	}
	if s.TopP != nil {
		set("top_p", *s.TopP)
	}
	if len(s.Stop) > 0 {
		set("stop", s.Stop)
	}
	switch s.Effort {
	case "":
	case "none":
		b.Think = json.RawMessage("false")
	case "minimal", "low":
		b.Think = json.RawMessage(`"low"`)
	case "medium":
		b.Think = json.RawMessage(`"medium"`)
	default:
		b.Think = json.RawMessage(`"high"`)
	}
	if s.ParallelCalls != nil && !*s.ParallelCalls {
		return chat.Invalid("parallel_tool_calls", "Ollama cannot limit an answer to one call; leave parallel_tool_calls out")
	}
	var format struct {
		Type   string `json:"type"`
		Schema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	if s.Format != nil {
		if err := json.Unmarshal(s.Format, &format); err != nil {
			return chat.Invalid("response_format", "response_format is not valid: %s", err)
		}
	}
	switch format.Type {
	case "", "text":
	case "json_object":
		b.Format = json.RawMessage(`"json"`)
	case "json_schema":
		b.Format = format.Schema.Schema
	default:
		return chat.Invalid("response_format", "Ollama takes a response_format of text, json_object or json_schema, not %q",
			format.Type)
	}
	return nil
}

// options are fields of Chat Completions that are options of Ollama with the same name.
var options = []string{"seed", "frequency_penalty", "presence_penalty"}

// harmless are fields that are settings already, and those that do not change what the model
// says.
var harmless = []string{
	"max_tokens", "max_completion_tokens", "user", "store", "metadata", "stream_options", "prompt_cache_key", "prompt_cache_retention", "safety_identifier",
	"service_tier",
}

// extra sets the options of the client's other fields, and refuses those that Ollama lacks.
func (b *request) extra(r *chat.Request) error {
	if r.Form == chat.FormResponses {
		return lacking(r)
	} else if r.Form != chat.FormOpenAI {
		return nil // all of it is translated, or refused by package translation
	}
	for _, name := range slices.Sorted(maps.Keys(r.Extra)) {
		value := r.Extra[name]
		switch text := string(bytes.TrimSpace(value)); {
		case text == "null" || text == "false" || name == "n" && text == "1" || slices.Contains(harmless, name):
		case slices.Contains(options, name):
			b.Options[name] = value
		default:
			return unknown(name)
		}
	}
	return nil
}

// lacking refuses the fields of the Responses API that Chat Completions has but Ollama lacks.
func lacking(r *chat.Request) error {
	var top int
	var include []string
	var text struct{ Verbosity string }
	_ = json.Unmarshal(r.Extra["top_logprobs"], &top) // of another type: none
	_ = json.Unmarshal(r.Extra["include"], &include)
	_ = json.Unmarshal(r.Extra["text"], &text)
	switch moderation := r.Extra["moderation"]; {
	case top > 0:
		return unknown("top_logprobs")
	case slices.Contains(include, "message.output_text.logprobs"):
		return unknown("include[message.output_text.logprobs]")
	case text.Verbosity != "":
		return unknown("text.verbosity")
	case len(moderation) > 0 && string(moderation) != "null":
		return unknown("moderation")
	}
	return nil
}

func unknown(field string) error {
	return chat.Invalid(field, "Ollama has no field %s; leave it out", field)
}

// tools sets the tools that the choice allows. Ollama decides itself whether to call one.
func (b *request) tools(r *chat.Request) error {
	switch c := r.Choice; {
	case c.Mode == chat.ChoiceNone:
		return nil
	case c.Mode == chat.ChoiceRequired, c.Mode == chat.ChoiceTool:
		return chat.Invalid("tool_choice", "Ollama cannot be made to call a tool: tool_choice takes auto and none")
	case c.Raw != nil && c.Mode == "":
		return chat.Invalid("tool_choice", "Ollama takes a tool_choice of auto and none")
	}
	for i, t := range r.Tools {
		if t.Hosted() {
			return chat.Invalid(fmt.Sprintf("tools[%d]", i), "Ollama has no tools of its own; send functions")
		}
		if r.Choice.Allows(t.Name) {
			parameters := t.Parameters
			if len(parameters) == 0 {
				parameters = json.RawMessage(`{"type":"object","properties":{}}`)
			}
			b.Tools = append(b.Tools, tool{"function", function{t.Name, t.Description, parameters}})
		}
	}
	return nil
}
