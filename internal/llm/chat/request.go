package chat

import (
	"encoding/json"
	"slices"

	"github.com/spiced-sql/spiced/tools"
)

// Form is an API for chats.
type Form string

// The supported APIs.
const (
	FormOpenAI    Form = "openai"    // POST /v1/chat/completions
	FormResponses Form = "responses" // POST /v1/responses, of OpenAI
	FormAnthropic Form = "anthropic" // POST /v1/messages
)

// Limits on a request.
const (
	MaxRequestBytes = 64 << 20 // of the body, including images
	MaxMessages     = 10_000
	MaxTools        = 4_096
	MaxParts        = 10_000 // of one message
)

// Request asks a model for its next message.
type Request struct {
	Model    string // as named by the client
	Messages []Message
	Tools    []Tool
	Choice   Choice
	Settings Settings

	Stream       bool // the client wants a stream
	IncludeUsage bool // with usage at its end, for [FormOpenAI]

	// Form is the client's API. Extra has the other fields at the top level of the
	// request; a provider of that form sends them unchanged.
	Form Form
	// Session names the requests that keep their tools: see models.Pins; "" means none. No
	// provider gets it.
	Session string `json:"-"`
	Extra   map[string]json.RawMessage

	// Uses are the fields of the client's request that providers of other forms do not
	// take as they are: see package translation.
	Uses []Use `json:"-"`
	// Ignored are those of Uses that have no effect at the model's provider, by their
	// names in the table of package translation.
	Ignored []string `json:"-"`
}

// Use is a field of a client's request, or a part of its content.
type Use struct {
	Field string // its name in the table of package translation; "" is unknown
	Path  string // in the request, as errors show it
	Value string // as JSON, if it is short
	// Known lists the values that the runtime knows of the field, if Value is unknown.
	Known string
	// Earlier is a use in the chat that the request continues; Path is the field that
	// names the chat.
	Earlier bool
}

// Clone returns a copy whose slices can be modified.
func (r *Request) Clone() *Request {
	c := *r
	c.Messages, c.Tools = slices.Clone(r.Messages), slices.Clone(r.Tools)
	return &c
}

// Settings control the answer; nil, 0 and "" mean the provider's default.
type Settings struct {
	MaxTokens     int // of the answer
	Temperature   *float64
	TopP          *float64
	Stop          []string
	ParallelCalls *bool           // whether one answer may have several calls
	Effort        string          // of reasoning: none, minimal, low, medium, high …
	Format        json.RawMessage // of the answer, as OpenAI's response_format: {"type":"json_schema","json_schema":{…}}
	User          string          // on whose behalf, for the provider's abuse detection
}

// Choice controls whether the model calls a tool.
type Choice struct {
	Mode ChoiceMode
	Name string // with [ChoiceTool]
	// Allowed are the tools that the model may call, by name; nil means all of them.
	Allowed []string `json:",omitempty"`
	// Raw is a choice in the request's form that no mode covers.
	Raw json.RawMessage
}

// Allows reports whether the model may call a tool.
func (c Choice) Allows(tool string) bool { return c.Allowed == nil || slices.Contains(c.Allowed, tool) }

// ChoiceMode is a kind of [Choice].
type ChoiceMode string

// The modes; "" means the provider's default.
const (
	ChoiceAuto     ChoiceMode = "auto"
	ChoiceNone     ChoiceMode = "none"
	ChoiceRequired ChoiceMode = "required" // some tool
	ChoiceTool     ChoiceMode = "tool"     // the named one
)

// Tool is a tool that the model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of an object
	// Examples are calls; their arguments fit Parameters. Forms without a place for them have
	// them in the description: see [Tool.Text].
	Examples []tools.Example
	Strict   *bool
	// Deferred tools are hidden from the model until a search finds them, for providers
	// that have such a search.
	Deferred bool
	// Namespace groups deferred tools, for providers that have namespaces.
	Namespace string
	// Raw is a client's tool as written, in the request's form. Without Name and
	// Parameters it is a hosted tool of the provider (web search, for example), which
	// other providers lack.
	Raw json.RawMessage
}

// Text returns the description with a line for each example.
func (t Tool) Text() string { return tools.WithExamples(t.Description, t.Examples) }

// Hosted reports whether the provider runs the tool.
func (t Tool) Hosted() bool { return t.Raw != nil && t.Name == "" }

// Role is the author of a message.
type Role string

// The roles. Results of calls may be in messages of roles user and tool.
const (
	RoleSystem    Role = "system" // and OpenAI's developer
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of a chat.
type Message struct {
	Role  Role
	Parts []Part
	// Raw is the message as the client wrote it, in Form; a provider of that form sends
	// it instead of Parts. Code that changes Parts clears it.
	Raw  json.RawMessage
	Form Form
}

// Text returns a message of text.
func Text(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{{Kind: PartText, Text: text}}}
}

// Text returns the text of the message, its parts joined.
func (m Message) Text() string {
	var text []byte
	for _, p := range m.Parts {
		if p.Kind == PartText {
			text = append(text, p.Text...)
		}
	}
	return string(text)
}

// Calls returns the tool calls in the message.
func (m Message) Calls() []*Call {
	var calls []*Call
	for _, p := range m.Parts {
		if p.Kind == PartCall {
			calls = append(calls, p.Call)
		}
	}
	return calls
}

// PartKind is the kind of a [Part].
type PartKind string

// The kinds of parts.
const (
	PartText     PartKind = "text"
	PartImage    PartKind = "image"
	PartFile     PartKind = "file"
	PartThinking PartKind = "thinking" // Text, which may be empty; Raw has the rest
	PartRefusal  PartKind = "refusal"  // Text
	PartCall     PartKind = "call"
	PartResult   PartKind = "result"
	PartOther    PartKind = "other" // Raw only: unknown to this package
)

// Part is a piece of a message.
type Part struct {
	Kind   PartKind
	Text   string
	Image  *Image
	File   *File `json:",omitempty"`
	Call   *Call
	Result *CallResult
	// Raw is the part as written by its author, in Form. A provider of that form sends
	// it instead of the other fields, except for calls, whose arguments may have been
	// repaired.
	Raw  json.RawMessage
	Form Form
}

// Image is an image, by URL or as data.
type Image struct {
	URL       string // http, https
	MediaType string // image/png …, with Data
	Data      string // base64
	Detail    string // OpenAI's: auto, low, high
}

// File is a document, as data, by URL, or by its id at the provider.
type File struct {
	Name      string // as the user named it, or ""
	MediaType string // with Data; "" is unknown
	Data      string // base64
	URL       string // http, https
	ID        string // of a file that was uploaded to the provider of Form
	Form      Form   // with ID
	Path      string // in the client's request, for errors
}

// Call is a model's call of a tool.
type Call struct {
	ID        string
	Name      string
	Namespace string // of a tool that has one
	Arguments string // a JSON object; anything else is an error of the call
}

// CallResult is the answer to a [Call].
type CallResult struct {
	ID    string // of the [Call]
	Name  string // of the tool; "" if the client did not name it
	Parts []Part // text and images
	Error bool   // the call failed
	// Found are names of tools that a search found, for providers that show deferred
	// tools by name.
	Found []string
}

// Unexplained is the text of a failed call whose result has none: Anthropic rejects it, and
// other models would see an empty result.
const Unexplained = "The tool failed and does not say why."

// Text returns the text of the result, its parts joined.
func (r *CallResult) Text() string { return Message{Parts: r.Parts}.Text() }
