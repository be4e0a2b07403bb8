package sqlapi

// These types describe what every client of the chat protocols sends and gets;
// OpenAI and Anthropic describe the rest. Package chat reads and writes it.

type chatBody struct {
	_      struct{} `open:"true"`
	Model  string   `json:"model" doc:"A name in the models section."`
	Stream *bool    `json:"stream,omitempty" nullable:"true"`
	Tools  any      `json:"tools,omitempty" type:"[]object"`
}

type chatAnswer struct {
	_            struct{}         `open:"true"`
	ID           string           `json:"id"`
	Model        string           `json:"model"`
	SpicedEvents []typedCallEvent `json:"spiced_events,omitempty"`
}

type completionsBody struct {
	chatBody
	Messages any `json:"messages" type:"[]object"`
}

type completionsAnswer struct {
	chatAnswer
	Object  string `json:"object" enum:"chat.completion"`
	Created int64  `json:"created"`
	Choices any    `json:"choices" type:"[]object"`
	Usage   any    `json:"usage,omitempty" type:"object"`
}

type messagesBody struct {
	chatBody
	Messages  any   `json:"messages" type:"[]object"`
	MaxTokens int64 `json:"max_tokens"`
}

type messagesAnswer struct {
	chatAnswer
	Type       string  `json:"type" enum:"message"`
	Role       string  `json:"role" enum:"assistant"`
	Content    any     `json:"content" type:"[]object"`
	StopReason *string `json:"stop_reason" required:"true" nullable:"true"`
	Usage      any     `json:"usage" type:"object"`
}

type responsesBody struct {
	chatBody
	Input              any     `json:"input" type:"string|[]object" doc:"A text, or a list of items."`
	PreviousResponseID *string `json:"previous_response_id,omitempty" nullable:"true" doc:"An answer that this request continues."`
	Store              *bool   `json:"store,omitempty" nullable:"true" doc:"Whether the answer can be continued; true if left out."`
}

type responsesAnswer struct {
	chatAnswer
	Object    string  `json:"object" enum:"response"`
	CreatedAt float64 `json:"created_at"`
	Status    string  `json:"status"`
	Output    any     `json:"output" type:"[]object"`
}

type anthropicError struct {
	_     struct{}           `open:"true"`
	Type  string             `json:"type" enum:"error"`
	Error anthropicErrorBody `json:"error"`
}

type anthropicErrorBody struct {
	_       struct{} `open:"true"`
	Type    string   `json:"type"`
	Message string   `json:"message"`
}
