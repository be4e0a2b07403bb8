package chat

import (
	"encoding/json"
	"slices"
)

// Form is an API for chats.
type Form string

// The forms that are spoken.
const (
	FormOpenAI    Form = "openai"    // POST /v1/chat/completions
	FormResponses Form = "responses" // POST /v1/responses, of OpenAI
	FormAnthropic Form = "anthropic" // POST /v1/messages
)

// Limits on a request.
const (
	MaxRequestBytes = 64 << 20 // of its body; images are within it
	MaxMessages     = 10_000
	MaxTools        = 4_096
	MaxParts        = 10_000 // of one message
)

// Request asks a model for its next message.
type Request struct {
	Model    string // as the client names it
	Messages []Message
	Tools    []Tool
	Choice   Choice
	Settings Settings

	Stream       bool // the client wants a stream
	IncludeUsage bool // with the tokens at its end, in [FormOpenAI]

	// Form is what the client speaks. Extra is what else its request has at
	// the top level; a provider of that form sends it as it is.
	Form  Form
	Extra map[string]json.RawMessage
}

// Clone returns a copy whose lists can be changed.
func (r *Request) Clone() *Request {
	c := *r
	c.Messages, c.Tools = slices.Clone(r.Messages), slices.Clone(r.Tools)
	return &c
}

// Settings are how the model shall answer; nil, 0 and "" leave it to the
// provider.
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

// Choice says whether the model calls a tool.
type Choice struct {
	Mode ChoiceMode
	Name string // with [ChoiceTool]
	// Raw is a choice in the request's form that the modes do not cover.
	Raw json.RawMessage
}

// ChoiceMode is a kind of [Choice].
type ChoiceMode string

// The modes; "" leaves it to the provider.
const (
	ChoiceAuto     ChoiceMode = "auto"
	ChoiceNone     ChoiceMode = "none"
	ChoiceRequired ChoiceMode = "required" // some tool
	ChoiceTool     ChoiceMode = "tool"     // the one that is named
)

// Tool is a tool that the model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of an object
	Strict      *bool
	// Deferred tools are not shown to the model before a search has found
	// them; for providers with a search of their own.
	Deferred bool
	// Namespace groups deferred tools, for providers that have namespaces.
	Namespace string
	// Raw is a client's tool as it was written, in the request's form. Without
	// Name and Parameters it is one that the provider brings (a web search,
	// say), which other providers cannot have.
	Raw json.RawMessage
}

// Hosted reports whether it is a tool that the provider brings.
func (t Tool) Hosted() bool { return t.Raw != nil && t.Name == "" }

// Role is who speaks.
type Role string

// The roles. Results of calls may stand in messages of the roles user and
// tool.
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
	// Raw is the message as the client wrote it, in Form; a provider of that
	// form sends it in place of Parts. Whoever changes Parts clears it.
	Raw  json.RawMessage
	Form Form
}

// Text returns a message of text.
func Text(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{{Kind: PartText, Text: text}}}
}

// Text is the text of the message, its parts joined.
func (m Message) Text() string {
	var text []byte
	for _, p := range m.Parts {
		if p.Kind == PartText {
			text = append(text, p.Text...)
		}
	}
	return string(text)
}

// Calls are the calls of tools in the message.
func (m Message) Calls() []*Call {
	var calls []*Call
	for _, p := range m.Parts {
		if p.Kind == PartCall {
			calls = append(calls, p.Call)
		}
	}
	return calls
}

// PartKind says what a [Part] holds.
type PartKind string

// The kinds of parts.
const (
	PartText     PartKind = "text"
	PartImage    PartKind = "image"
	PartThinking PartKind = "thinking" // Text, which may be empty; Raw has the rest
	PartRefusal  PartKind = "refusal"  // Text
	PartCall     PartKind = "call"
	PartResult   PartKind = "result"
	PartOther    PartKind = "other" // Raw only: what has no meaning here
)

// Part is a piece of a message.
type Part struct {
	Kind   PartKind
	Text   string
	Image  *Image
	Call   *Call
	Result *CallResult
	// Raw is the part as its author wrote it, in Form. A provider of that form
	// sends it in place of the rest, except for calls of tools, whose
	// arguments may have been mended.
	Raw  json.RawMessage
	Form Form
}

// Image is a picture, by URL or by its bytes.
type Image struct {
	URL       string // http, https
	MediaType string // image/png …, with Data
	Data      string // base64
	Detail    string // OpenAI's: auto, low, high
}

// Call is a model's call of a tool.
type Call struct {
	ID        string
	Name      string
	Namespace string // of a tool that has one
	Arguments string // JSON of an object; what else a model writes is a fault of the call
}

// CallResult is the answer to a [Call].
type CallResult struct {
	ID    string // of the call
	Name  string // of its tool; "" when the client did not say
	Parts []Part // text and images
	Error bool   // the call failed
	// Found are the names of tools that a search has found, for providers
	// that show deferred tools by name.
	Found []string
}

// Text is the text of the result, its parts joined.
func (r *CallResult) Text() string { return Message{Parts: r.Parts}.Text() }
